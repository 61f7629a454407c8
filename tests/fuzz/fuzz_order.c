/* order.create: bytes become an order, or a reason. */
#include "fuzz.h"
#include "orderd/order.h"

static void check_order(const struct order *o)
{
    CHECK(order_no_valid(slice_of(o->order_no)));
    CHECK(o->activity_id >= 1 && o->user_id >= 1 && o->sku_id >= 1);
    CHECK(o->user_seq >= 0 && o->user_seq <= ORDER_USER_SEQ_MAX && o->shard >= 0 && o->shard <= ORDER_SHARD_MAX);
    CHECK(o->quantity >= 1 && o->quantity <= ORDER_QUANTITY_MAX && o->amount >= 0 && o->amount <= ORDER_AMOUNT_MAX);
    CHECK(o->epoch >= 1 && o->epoch <= ORDER_EPOCH_MAX);
    CHECK(o->reserved_at >= ORDER_RESERVED_AT_MIN && o->reserved_at <= ORDER_RESERVED_AT_MAX);
}

/* What one of our own tools would write for it says the same. */
static void check_round_trip(const struct order *o)
{
    struct strbuf text = STRBUF_INIT, once_more = STRBUF_INIT;
    char detail[256];
    struct order back;

    order_encode(o, &text);
    CHECK(text.len <= ORDER_BODY_MAX);
    CHECK(order_decode((struct slice){text.data, text.len}, &back, detail, sizeof detail) == REASON_NONE);
    CHECK(order_same_content(o, &back));
    order_encode(&back, &once_more);
    CHECK(text.len == once_more.len && memcmp(text.data, once_more.data, text.len) == 0);
    strbuf_release(&text);
    strbuf_release(&once_more);
}

static void check_neighbours(const char *order_no)
{
    char before[ORDER_NO_MAX + 1], after[ORDER_NO_MAX + 1], back[ORDER_NO_MAX + 1];

    if (order_no_before(order_no, before))
        CHECK(order_no_valid(slice_of(before)) && order_no_after(before, back) && strcmp(back, order_no) == 0);
    if (order_no_after(order_no, after))
        CHECK(order_no_valid(slice_of(after)) && order_no_before(after, back) && strcmp(back, order_no) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char detail[256], narrow[1];
    struct order order, ignored;
    enum reason reason = order_decode(fuzz_slice(data, size), &order, detail, sizeof detail);

    CHECK(memchr(detail, '\0', sizeof detail) != NULL);
    CHECK((reason == REASON_NONE) == (detail[0] == '\0'));
    CHECK(order_decode(fuzz_slice(data, size), &ignored, narrow, sizeof narrow) == reason && narrow[0] == '\0');
    if (reason != REASON_NONE)
        return 0;
    check_order(&order);
    check_round_trip(&order);
    check_neighbours(order.order_no);
    return 0;
}
