/* Bytes to order. What passes is a struct of checked numbers and an order number of a known alphabet.
 *
 * Two ways lead there. Nearly every message is exactly the members that it must have, and is read in one go over its
 * bytes; whatever else comes (a member more, an escape, a number out of range, anything wrong) is left to the JSON
 * library, which alone refuses and says why. With the library alone the decoding was half of a draining daemon's time
 * and 35 of its 42 allocations an order. */
#include <string.h>

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

/* ---- in one go ---- */

struct scan {
    const char *at, *end;
};

static void skip_space(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool take(struct scan *s, char c)
{
    skip_space(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

/* Whoever calls accepts only words of plain letters, so that an escape or any other byte needs no look here. */
static bool take_word(struct scan *s, struct slice *out)
{
    const char *quote;

    if (!take(s, '"') || !(quote = memchr(s->at, '"', (size_t)(s->end - s->at))))
        return false;
    *out = (struct slice){s->at, (size_t)(quote - s->at)};
    s->at = quote + 1;
    return true;
}

/* As JSON writes it, and at most 18 digits: no overflow. A fraction or an exponent meets the comma that must follow. */
static bool take_integer(struct scan *s, int64_t *out)
{
    const char *first;
    int64_t n = 0;

    if (take(s, '0')) {
        *out = 0;
        return true;
    }
    for (first = s->at; s->at < s->end && *s->at >= '0' && *s->at <= '9' && s->at - first < 18; s->at++)
        n = n * 10 + (*s->at - '0');
    *out = n;
    return s->at > first;
}

enum { ORDER_NO = INTEGERS, VERSION, MEMBERS };

/* Members mostly come in the same order: the first guess is the one after the last. */
static int member_of(struct slice name, int guess)
{
    for (int i = 0; i < INTEGERS; i++, guess = (guess + 1) % INTEGERS) {
        if (slice_is(name, rules[guess].name))
            return guess;
    }
    return slice_is(name, "order_no") ? ORDER_NO : slice_is(name, "v") ? VERSION : MEMBERS;
}

/* What was read; written to the order only where all of it is right. */
struct members {
    struct slice order_no;
    int64_t n[INTEGERS];
};

static bool take_value(struct scan *s, int member, struct members *m)
{
    int64_t version;

    if (member == ORDER_NO)
        return take_word(s, &m->order_no) && order_no_valid(m->order_no);
    if (member == VERSION)
        return take_integer(s, &version) && version == 1;
    return take_integer(s, &m->n[member]) && m->n[member] >= rules[member].min && m->n[member] <= rules[member].max;
}

/* Each member once and no other. */
static bool take_members(struct scan *s, struct members *m)
{
    unsigned seen = 0;
    int last = 0;

    do {
        struct slice name;
        int member;

        if (!take_word(s, &name) || !take(s, ':'))
            return false;
        member = member_of(name, (last + 1) % INTEGERS);
        if (member == MEMBERS || (seen & 1U << member) || !take_value(s, member, m))
            return false;
        seen |= 1U << member;
        last = member < INTEGERS ? member : INTEGERS - 1;
    } while (take(s, ','));
    return seen == (1U << MEMBERS) - 1;
}

static void fill(struct order *out, const int64_t n[INTEGERS])
{
    out->activity_id = n[ACTIVITY_ID];
    out->user_id = n[USER_ID];
    out->user_seq = (int32_t)n[USER_SEQ];
    out->sku_id = n[SKU_ID];
    out->quantity = (int32_t)n[QUANTITY];
    out->amount = n[AMOUNT];
    out->shard = (int32_t)n[SHARD];
    out->epoch = (int32_t)n[EPOCH];
    out->reserved_at = n[RESERVED_AT];
}

static bool scan(struct slice body, struct order *out)
{
    struct scan s = {body.ptr, body.ptr + body.len};
    struct members m;

    if (body.len == 0 || body.len > ORDER_BODY_MAX || !take(&s, '{') || !take_members(&s, &m) || !take(&s, '}'))
        return false;
    skip_space(&s);
    if (s.at != s.end)
        return false;
    memcpy(out->order_no, m.order_no.ptr, m.order_no.len);
    out->order_no[m.order_no.len] = '\0';
    fill(out, m.n);
    return true;
}

/* ---- by the library ---- */

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
    fill(out, n);
    return REASON_NONE;
}

enum reason order_decode(struct slice body, struct order *out, char *detail, size_t detail_size)
{
    struct message_reader r;
    enum reason reason;

    if (scan(body, out)) {
        detail[0] = '\0';
        return REASON_NONE;
    }
    reason = message_open(&r, body, ORDER_BODY_MAX, detail, detail_size);
    if (reason == REASON_NONE)
        reason = read_members(&r, out);
    message_close(&r);
    return reason;
}
