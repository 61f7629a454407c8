/* order.paid, order.cancel and order.unpaid (timers): the same bytes go through all three decoders. */
#include "fuzz.h"
#include "orderd/order_request.h"

static void check_answer(enum reason reason, const char *detail)
{
    CHECK((reason == REASON_NONE) == (detail[0] == '\0'));
}

static void paid(struct slice body)
{
    char detail[256];
    struct order_change c;
    enum reason reason = order_paid_decode(body, &c, detail, sizeof detail);

    check_answer(reason, detail);
    if (reason != REASON_NONE)
        return;
    CHECK(c.wish == ORDER_WISH_PAY && order_no_valid(slice_of(c.order_no)));
    CHECK(payment_ref_valid(slice_of(c.payment_ref)) && strlen(c.payment_ref) <= PAYMENT_REF_MAX);
    CHECK(c.amount >= 0 && c.amount <= ORDER_AMOUNT_MAX);
}

static void cancel(struct slice body)
{
    char detail[256], why[ORDER_CANCEL_WHY_MAX + 1];
    struct order_change c;
    enum reason reason = order_cancel_decode(body, &c, why, detail, sizeof detail);

    check_answer(reason, detail);
    if (reason == REASON_NONE)
        CHECK(c.wish == ORDER_WISH_CANCEL && order_no_valid(slice_of(c.order_no)) && why[0]);
}

static void unpaid(struct slice body)
{
    static struct order_change list[ORDER_LIST_MAX], back[ORDER_LIST_MAX];
    static const char *order_nos[ORDER_LIST_MAX];
    struct strbuf text = STRBUF_INIT;
    char detail[256];
    size_t count, count_back;
    enum reason reason = order_unpaid_decode(body, list, &count, detail, sizeof detail);

    check_answer(reason, detail);
    CHECK((reason == REASON_NONE) == (count > 0) && count <= ORDER_LIST_MAX);
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        CHECK(list[i].wish == ORDER_WISH_EXPIRE && order_no_valid(slice_of(list[i].order_no)));
        order_nos[i] = list[i].order_no;
    }
    order_unpaid_encode(order_nos, count, &text);
    CHECK(order_unpaid_decode((struct slice){text.data, text.len}, back, &count_back, detail, sizeof detail) ==
          REASON_NONE);
    CHECK(count_back == count);
    for (size_t i = 0; i < count; i++)
        CHECK(strcmp(back[i].order_no, list[i].order_no) == 0);
    strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice body = fuzz_slice(data, size);

    paid(body);
    cancel(body);
    unpaid(body);
    return 0;
}
