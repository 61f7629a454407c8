#include "orderd/order_request.h"

#include <string.h>

#include "message_reader.h"
#include "orderd/check.h"

static enum reason read_order_no(struct message_reader *r, struct order_change *out)
{
    const json_t *value;
    enum reason reason = message_member(r, "order_no", JSON_STRING, &value);

    return reason == REASON_NONE ? message_order_no(r, "order_no", value, out->order_no) : reason;
}

/* ---- order.paid ---- */

static enum reason read_payment_ref(struct message_reader *r, struct order_change *out)
{
    const json_t *value;
    struct slice text;
    enum reason reason = message_member(r, "payment_ref", JSON_STRING, &value);

    if (reason != REASON_NONE)
        return reason;
    text = (struct slice){json_string_value(value), json_string_length(value)};
    if (!payment_ref_valid(text))
        return message_refuse(r, REASON_PAYMENT_REF_INVALID,
                              "payment_ref has %zu bytes or others than printable ASCII without space, quote and "
                              "backslash (expected 1 to %d)",
                              text.len, PAYMENT_REF_MAX);
    memcpy(out->payment_ref, text.ptr, text.len);
    out->payment_ref[text.len] = '\0';
    return REASON_NONE;
}

enum reason order_paid_decode(struct slice body, struct order_change *out, char *detail, size_t detail_size)
{
    struct message_reader r;
    enum reason reason = message_open(&r, body, ORDER_BODY_MAX, detail, detail_size);

    *out = (struct order_change){.wish = ORDER_WISH_PAY};
    if (reason == REASON_NONE)
        reason = read_order_no(&r, out);
    if (reason == REASON_NONE)
        reason = read_payment_ref(&r, out);
    if (reason == REASON_NONE)
        reason = message_integer(&r, "amount", 0, ORDER_AMOUNT_MAX, &out->amount);
    if (reason == REASON_NONE)
        reason = message_integer(&r, "paid_at", ORDER_RESERVED_AT_MIN, ORDER_RESERVED_AT_MAX, &out->paid_at);
    message_close(&r);
    return reason;
}

/* ---- order.cancel ---- */

static enum reason read_why(struct message_reader *r, char *why)
{
    const json_t *value;
    size_t len;
    enum reason reason = message_member(r, "reason", JSON_STRING, &value);

    if (reason != REASON_NONE)
        return reason;
    len = json_string_length(value);
    if (len == 0 || len > ORDER_CANCEL_WHY_MAX)
        return message_refuse(r, REASON_MEMBER_RANGE, "member reason has %zu bytes (expected 1 to %d)", len,
                              ORDER_CANCEL_WHY_MAX);
    memcpy(why, json_string_value(value), len);
    why[len] = '\0';
    return REASON_NONE;
}

enum reason order_cancel_decode(struct slice body, struct order_change *out, char why[ORDER_CANCEL_WHY_MAX + 1],
                                char *detail, size_t detail_size)
{
    struct message_reader r;
    enum reason reason = message_open(&r, body, ORDER_BODY_MAX, detail, detail_size);

    *out = (struct order_change){.wish = ORDER_WISH_CANCEL};
    why[0] = '\0';
    if (reason == REASON_NONE)
        reason = read_order_no(&r, out);
    if (reason == REASON_NONE)
        reason = read_why(&r, why);
    message_close(&r);
    return reason;
}

/* ---- order.unpaid ---- */

static enum reason read_orders(struct message_reader *r, struct order_change *out, size_t *count)
{
    const json_t *list;
    size_t size;
    enum reason reason = message_member(r, "orders", JSON_ARRAY, &list);

    if (reason != REASON_NONE)
        return reason;
    size = json_array_size(list);
    if (size == 0 || size > ORDER_LIST_MAX)
        return message_refuse(r, REASON_MEMBER_RANGE, "member orders has %zu entries (expected 1 to %d)", size,
                              ORDER_LIST_MAX);
    for (size_t i = 0; i < size && reason == REASON_NONE; i++) {
        out[i] = (struct order_change){.wish = ORDER_WISH_EXPIRE};
        reason = message_order_no(r, "an entry of orders", json_array_get(list, i), out[i].order_no);
    }
    *count = reason == REASON_NONE ? size : 0;
    return reason;
}

enum reason order_unpaid_decode(struct slice body, struct order_change *out, size_t *count, char *detail,
                                size_t detail_size)
{
    struct message_reader r;
    enum reason reason = message_open(&r, body, ORDER_UNPAID_BODY_MAX, detail, detail_size);

    *count = 0;
    if (reason == REASON_NONE)
        reason = read_orders(&r, out, count);
    message_close(&r);
    return reason;
}

void order_unpaid_encode(const char *const *order_nos, size_t count, struct strbuf *out)
{
    CHECK(count > 0 && count <= ORDER_LIST_MAX);
    strbuf_add_str(out, "{\"v\":1,\"orders\":[\"");
    for (size_t i = 0; i < count; i++) {
        strbuf_add_str(out, i ? "\",\"" : "");
        strbuf_add_str(out, order_nos[i]); /* a valid number needs no escaping */
    }
    strbuf_add_str(out, "\"]}");
}
