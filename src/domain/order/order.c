#include "orderd/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

static bool base_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* "-r<n>", 1 <= n <= 9999, no leading zero. */
static bool replay_suffix(struct slice s)
{
    if (s.len < 3 || s.len > 6 || s.ptr[0] != '-' || s.ptr[1] != 'r' || s.ptr[2] == '0')
        return false;
    for (size_t i = 2; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    }
    return true;
}

bool order_no_valid(struct slice text)
{
    size_t base = 0;

    while (base < text.len && base_char(text.ptr[base]))
        base++;
    if (base == 0 || base > ORDER_NO_BASE_MAX)
        return false;
    return base == text.len || replay_suffix((struct slice){text.ptr + base, text.len - base});
}

const char *order_no_checked(const char *order_no)
{
    CHECK(order_no_valid(slice_of(order_no)));
    return order_no;
}

/* How often it was replayed: 0 where the number has no suffix. *base: its length without. */
static long replay_of(const char *order_no, int *base)
{
    const char *dash = strchr(order_no, '-');

    *base = (int)(dash ? (size_t)(dash - order_no) : strlen(order_no));
    return dash ? strtol(dash + 2, NULL, 10) : 0;
}

static void name_replay(const char *order_no, int base, long n, char out[ORDER_NO_MAX + 1])
{
    if (n > 0)
        snprintf(out, ORDER_NO_MAX + 1, "%.*s-r%ld", base, order_no, n);
    else
        snprintf(out, ORDER_NO_MAX + 1, "%.*s", base, order_no);
}

bool order_no_before(const char *order_no, char out[ORDER_NO_MAX + 1])
{
    int base;
    long n = replay_of(order_no, &base);

    out[0] = '\0';
    if (n > 0)
        name_replay(order_no, base, n - 1, out);
    return n > 0;
}

bool order_no_after(const char *order_no, char out[ORDER_NO_MAX + 1])
{
    int base;
    long n = replay_of(order_no, &base);

    out[0] = '\0';
    if (n < ORDER_REPLAY_MAX)
        name_replay(order_no, base, n + 1, out);
    return n < ORDER_REPLAY_MAX;
}

bool order_same_content(const struct order *a, const struct order *b)
{
    return a->activity_id == b->activity_id && a->user_id == b->user_id && a->sku_id == b->sku_id &&
           a->quantity == b->quantity && a->amount == b->amount;
}

void order_differences(const struct order *a, const char *in_a, const struct order *b, const char *in_b, bool placed,
                       char *out, size_t size)
{
    const struct {
        const char *name;
        int64_t a, b;
        bool counts;
    } members[] = {
        {"activity_id", a->activity_id, b->activity_id, true},
        {"user_id", a->user_id, b->user_id, true},
        {"sku_id", a->sku_id, b->sku_id, true},
        {"quantity", a->quantity, b->quantity, true},
        {"amount", a->amount, b->amount, true},
        {"shard", a->shard, b->shard, placed},
        {"user_seq", a->user_seq, b->user_seq, placed},
    };
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof members / sizeof *members && at < size; i++) {
        if (members[i].counts && members[i].a != members[i].b)
            at += (size_t)snprintf(out + at, size - at, "%s%s is %" PRId64 " in %s and %" PRId64 " in %s",
                                   at ? ", " : "", members[i].name, members[i].a, in_a, members[i].b, in_b);
    }
}

static void member(struct strbuf *out, const char *name, int64_t value)
{
    strbuf_add_str(out, ",\"");
    strbuf_add_str(out, name);
    strbuf_add_str(out, "\":");
    strbuf_add_i64(out, value);
}

void order_encode(const struct order *order, struct strbuf *out)
{
    strbuf_add_str(out, "{\"v\":1,\"order_no\":\"");
    strbuf_add_str(out, order->order_no);
    strbuf_add_char(out, '"');
    member(out, "activity_id", order->activity_id);
    member(out, "user_id", order->user_id);
    member(out, "user_seq", order->user_seq);
    member(out, "sku_id", order->sku_id);
    member(out, "quantity", order->quantity);
    member(out, "amount", order->amount);
    member(out, "shard", order->shard);
    member(out, "epoch", order->epoch);
    member(out, "reserved_at", order->reserved_at);
    strbuf_add_char(out, '}');
}
