/* Bytes to order. What passes is a struct of checked numbers and an order number of a known alphabet. */
#include "message_reader.h"

struct rule {
    const char *name;
    int64_t min, max;
};

enum { ACTIVITY_ID, USER_ID, USER_SEQ, SKU_ID, QUANTITY, AMOUNT, SHARD, EPOCH, RESERVED_AT, INTEGERS };

static const struct rule rules[INTEGERS] = {
    [ACTIVITY_ID] = {"activity_id", 1, INT64_MAX},
    [USER_ID] = {"user_id", 1, INT64_MAX},
    [USER_SEQ] = {"user_seq", 0, ORDER_USER_SEQ_MAX},
    [SKU_ID] = {"sku_id", 1, INT64_MAX},
    [QUANTITY] = {"quantity", 1, ORDER_QUANTITY_MAX},
    [AMOUNT] = {"amount", 0, ORDER_AMOUNT_MAX},
    [SHARD] = {"shard", 0, ORDER_SHARD_MAX},
    [EPOCH] = {"epoch", 1, ORDER_EPOCH_MAX},
    [RESERVED_AT] = {"reserved_at", ORDER_RESERVED_AT_MIN, ORDER_RESERVED_AT_MAX},
};

static enum reason read_members(struct message_reader *r, struct order *out)
{
    int64_t n[INTEGERS];
    const json_t *order_no;
    enum reason reason = message_member(r, "order_no", JSON_STRING, &order_no);

    if (reason == REASON_NONE)
        reason = message_order_no(r, "order_no", order_no, out->order_no);
    for (int i = 0; i < INTEGERS && reason == REASON_NONE; i++)
        reason = message_integer(r, rules[i].name, rules[i].min, rules[i].max, &n[i]);
    if (reason != REASON_NONE)
        return reason;
    out->activity_id = n[ACTIVITY_ID];
    out->user_id = n[USER_ID];
    out->user_seq = (int32_t)n[USER_SEQ];
    out->sku_id = n[SKU_ID];
    out->quantity = (int32_t)n[QUANTITY];
    out->amount = n[AMOUNT];
    out->shard = (int32_t)n[SHARD];
    out->epoch = (int32_t)n[EPOCH];
    out->reserved_at = n[RESERVED_AT];
    return REASON_NONE;
}

enum reason order_decode(struct slice body, struct order *out, char *detail, size_t detail_size)
{
    struct message_reader r;
    enum reason reason = message_open(&r, body, ORDER_BODY_MAX, detail, detail_size);

    if (reason == REASON_NONE)
        reason = read_members(&r, out);
    message_close(&r);
    return reason;
}
