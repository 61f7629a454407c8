/* Bytes to order. Foreign bytes end here: what passes is a struct of checked numbers and an order number of a known
 * alphabet. */
#include "orderd/order.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct reading {
    const json_t *object;
    char *detail;
    size_t detail_size;
};

static enum reason say(struct reading *r, enum reason reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static enum reason say(struct reading *r, enum reason reason, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(r->detail, r->detail_size, fmt, ap);
    va_end(ap);
    return reason;
}

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {"an object", "an array", "a string", "an integer",
                                        "a real",    "true",     "false",    "null"};
    return names[json_typeof(value)];
}

static enum reason read_integer(struct reading *r, const char *name, int64_t min, int64_t max, int64_t *out)
{
    const json_t *value = json_object_get(r->object, name);

    if (!value)
        return say(r, REASON_MEMBER_MISSING, "member %s is missing", name);
    if (!json_is_integer(value))
        return say(r, REASON_MEMBER_TYPE, "member %s is %s (expected an integer)", name, type_name(value));
    *out = json_integer_value(value);
    if (*out < min || *out > max)
        return say(r, REASON_MEMBER_RANGE, "member %s is %" PRId64 " (expected %" PRId64 " to %" PRId64 ")", name, *out,
                   min, max);
    return REASON_NONE;
}

static enum reason read_order_no(struct reading *r, struct order *out)
{
    const json_t *value = json_object_get(r->object, "order_no");
    struct slice text;

    if (!value)
        return say(r, REASON_MEMBER_MISSING, "member order_no is missing");
    if (!json_is_string(value))
        return say(r, REASON_MEMBER_TYPE, "member order_no is %s (expected a string)", type_name(value));
    text = (struct slice){json_string_value(value), json_string_length(value)};
    if (!order_no_valid(text))
        return say(r, REASON_ORDER_NO_INVALID, "order_no has %zu bytes or others than [0-9A-Za-z_]", text.len);
    memcpy(out->order_no, text.ptr, text.len);
    out->order_no[text.len] = '\0';
    return REASON_NONE;
}

static enum reason read_version(struct reading *r)
{
    const json_t *value = json_object_get(r->object, "v");

    if (!value)
        return say(r, REASON_MEMBER_MISSING, "member v is missing");
    if (!json_is_integer(value))
        return say(r, REASON_MEMBER_TYPE, "member v is %s (expected an integer)", type_name(value));
    if (json_integer_value(value) != 1)
        return say(r, REASON_VERSION_UNKNOWN, "message version %" JSON_INTEGER_FORMAT " (expected 1)",
                   json_integer_value(value));
    return REASON_NONE;
}

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

static enum reason read_members(struct reading *r, struct order *out)
{
    int64_t n[INTEGERS];
    enum reason reason = read_version(r);

    if (reason == REASON_NONE)
        reason = read_order_no(r, out);
    for (int i = 0; i < INTEGERS && reason == REASON_NONE; i++)
        reason = read_integer(r, rules[i].name, rules[i].min, rules[i].max, &n[i]);
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

/* jansson says in words what it refused; a member twice is worth its own reason. */
static enum reason parse_failed(struct reading *r, const json_error_t *error)
{
    enum reason reason =
        json_error_code(error) == json_error_duplicate_key ? REASON_MEMBER_DUPLICATE : REASON_BODY_NOT_JSON;

    return say(r, reason, "at byte %d: %s", error->position, error->text);
}

enum reason order_decode(struct slice body, struct order *out, char *detail, size_t detail_size)
{
    struct reading r = {NULL, detail, detail_size};
    json_error_t error;
    json_t *root;
    enum reason reason;

    detail[0] = '\0';
    if (body.len > ORDER_BODY_MAX)
        return say(&r, REASON_BODY_TOO_LARGE, "the body has %zu bytes (expected at most %zu)", body.len,
                   ORDER_BODY_MAX);
    /* Without flags jansson already refuses: invalid UTF-8, bytes behind the value, NUL in strings, integers over 64
     * bits, nesting deeper than 2048. */
    root = json_loadb(body.ptr ? body.ptr : "", body.len, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return parse_failed(&r, &error);
    r.object = root;
    reason = json_is_object(root)
                 ? read_members(&r, out)
                 : say(&r, REASON_BODY_NOT_JSON, "the body is %s (expected an object)", type_name(root));
    json_decref(root);
    return reason;
}
