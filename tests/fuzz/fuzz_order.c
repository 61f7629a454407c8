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

/* A member that is not ours makes the decoder take its slow way, by the JSON library: it must say the same. A second
 * member of that name is the one case that it may see otherwise. */
static void check_slow_way(struct slice body, enum reason reason, const struct order *order)
{
    static const char more[] = "{\"none_of_ours\":0,";
    struct strbuf text = STRBUF_INIT;
    struct order other = {0};
    char detail[256];

    if (body.len < 2 || body.ptr[0] != '{' || body.len + sizeof more > ORDER_BODY_MAX ||
        memmem(body.ptr, body.len, "none_of", 7))
        return;
    strbuf_add_str(&text, more);
    strbuf_add(&text, body.ptr + 1, body.len - 1);
    if (reason == REASON_NONE) {
        CHECK(order_decode((struct slice){text.data, text.len}, &other, detail, sizeof detail) == REASON_NONE);
        CHECK(strcmp(order->order_no, other.order_no) == 0 && order_same_content(order, &other));
        CHECK(order->epoch == other.epoch && order->reserved_at == other.reserved_at);
    } else {
        CHECK(order_decode((struct slice){text.data, text.len}, &other, detail, sizeof detail) != REASON_NONE);
    }
    strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char detail[256], narrow[1];
    struct order order, ignored;
    enum reason reason = order_decode(fuzz_slice(data, size), &order, detail, sizeof detail);

    CHECK(memchr(detail, '\0', sizeof detail) != NULL);
    CHECK((reason == REASON_NONE) == (detail[0] == '\0'));
    CHECK(order_decode(fuzz_slice(data, size), &ignored, narrow, sizeof narrow) == reason && narrow[0] == '\0');
    check_slow_way(fuzz_slice(data, size), reason, &order);
    if (reason != REASON_NONE)
        return 0;
    check_order(&order);
    check_round_trip(&order);
    check_neighbours(order.order_no);
    return 0;
}
