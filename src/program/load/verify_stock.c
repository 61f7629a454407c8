/* The Redis half: counters, reservations, what is gone and the buyers' marks of every shard. */
#include "verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/stock.h"
#include "orderd/units.h"

#define PAGE 1000

/* So often, and so long apart, units are between shards before that is no transfer any more. */
#define BETWEEN_LOOKS   20
#define BETWEEN_REST_MS 100

struct shard {
    struct verify *v;
    int number;
    int64_t held_units, held_orders; /* as the list says */
};

static void compare(struct shard *s, uint32_t index, const struct stock_entry *held)
{
    struct verify *v = s->v;
    const struct book_entry *e = &v->book->entries[index];
    const struct {
        const char *name;
        int64_t accepted, held;
    } members[] = {
        {"user", e->user, held->user},
        {"user_seq", e->user_seq, held->user_seq},
        {"quantity", e->quantity, held->quantity},
        {"amount", e->amount, held->amount},
        {"epoch", e->epoch, held->epoch},
        {"reserved_at", e->reserved_at, held->reserved_at},
        {"shard", e->shard, s->number},
    };

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (members[i].accepted == members[i].held)
            continue;
        v->held_wrong++;
        report_example(v->report, REPORT_HELD_WRONG, "%s: %s is %" PRId64 ", accepted was %" PRId64,
                       idset_text(&v->book->ids, index), members[i].name, members[i].held, members[i].accepted);
        return;
    }
}

/* Redis may show one twice. */
static bool on_held(const struct stock_entry *held, void *data)
{
    struct shard *s = data;
    struct verify *v = s->v;
    uint32_t index = book_see(v->book, held->order_no);
    struct book_entry *e = &v->book->entries[index];

    if (e->seen & BOOK_HELD)
        return true;
    e->seen |= BOOK_HELD;
    s->held_orders++;
    s->held_units += held->quantity;
    e->held_quantity = (int32_t)held->quantity;
    if (!held->valid) {
        v->held_wrong++;
        report_example(v->report, REPORT_HELD_WRONG, "%s: cannot be read: \"%.*s\"", idset_text(&v->book->ids, index),
                       (int)held->value.len, held->value.ptr);
    } else if (e->how == BOOK_REPLAYED && !(e->seen & BOOK_ROW)) { /* judged as lost */
        e->user_seq = (uint16_t)held->user_seq;
    } else if (e->how != BOOK_NOT_ACCEPTED) {
        compare(s, index, held);
    } else { /* its own words are all there is */
        e->user = held->user;
        e->user_seq = (uint16_t)held->user_seq;
        v->stray++;
        report_example(v->report, REPORT_STRAY, "%s of user %" PRId64 ", %" PRId64 " units, in shard %d",
                       idset_text(&v->book->ids, index), held->user, held->quantity, s->number);
    }
    return true;
}

static bool on_gone(const struct stock_entry *gone, void *data)
{
    struct shard *s = data;
    uint32_t index = book_see(s->v->book, gone->order_no); /* the entries may move */
    struct book_entry *e = &s->v->book->entries[index];

    e->seen |= BOOK_GONE;
    if (gone->gone == STOCK_GONE_SOLD)
        e->seen |= BOOK_SOLD;
    return true;
}

static void bad_mark(struct verify *v, struct slice field, struct slice value)
{
    v->bad_marks++;
    report_example(v->report, REPORT_MARKS, "mark %.*s = %.*s belongs to no order that holds units", (int)field.len,
                   field.ptr, (int)value.len, value.ptr);
}

/* "user:seq" = "order_no|quantity". A mark outlives its order where the buyer may not buy again. */
static void on_mark(struct verify *v, struct slice field, struct slice value)
{
    const char *bar = memchr(value.ptr, '|', value.len);
    struct slice order_no = {value.ptr, bar ? (size_t)(bar - value.ptr) : 0};
    uint32_t index = order_no.len ? idset_find(&v->book->ids, order_no) : IDSET_NONE;
    struct book_entry *e = index == IDSET_NONE ? NULL : &v->book->entries[index];
    char mine[64];
    unsigned may_have = BOOK_HELD | BOOK_SOLD | (v->activity.rebuy_after_release ? 0u : BOOK_GONE);

    if (!e || !(e->seen & may_have)) {
        bad_mark(v, field, value);
        return;
    }
    snprintf(mine, sizeof mine, "%" PRId64 ":%u", e->user, e->user_seq);
    if (slice_is(field, mine))
        e->seen |= BOOK_MARK;
    else if (e->how != BOOK_NOT_ACCEPTED || e->seen & BOOK_HELD)
        bad_mark(v, field, value);
}

/* stock_walk knows the two hashes that are keyed by order; this one is keyed by buyer. */
static bool walk_marks(struct shard *s, struct kv *kv, const char *key, struct error *err)
{
    char cursor[24] = "0", page[16];

    snprintf(page, sizeof page, "%d", PAGE);
    do {
        const struct slice argv[] = {slice_of("HSCAN"), slice_of(key), slice_of(cursor), slice_of("COUNT"),
                                     slice_of(page)};
        struct kv_reply *reply = kv_command(kv, argv, sizeof argv / sizeof *argv, err);
        const struct kv_reply *list = reply ? kv_reply_at(reply, 1) : NULL;
        struct slice next;

        if (!reply)
            return false;
        for (size_t i = 0; list && i + 1 < kv_reply_count(list); i += 2)
            on_mark(s->v, kv_reply_text(kv_reply_at(list, i)), kv_reply_text(kv_reply_at(list, i + 1)));
        next = kv_reply_text(kv_reply_at(reply, 0));
        snprintf(cursor, sizeof cursor, "%.*s", (int)next.len, next.ptr);
        kv_reply_free(&reply);
    } while (strcmp(cursor, "0") != 0 && cursor[0]);
    return true;
}

static void judge_counters(struct shard *s, const struct stock_audit *a)
{
    struct verify *v = s->v;

    if (a->code != STOCK_AUDIT_PRESENT || !stock_audit_balances(a) || a->epoch != v->activity.epoch) {
        v->unbalanced++;
        report_example(v->report, REPORT_SHARDS,
                       "shard %d: %s; epoch %" PRId64 ", cap %" PRId64 ", left %" PRId64 " + held %" PRId64
                       " + sold %" PRId64 " + forfeited %" PRId64 " = %" PRId64,
                       s->number, stock_code_name(STOCK_SCRIPT_AUDIT, a->code), a->epoch, a->cap, a->left, a->held,
                       a->sold, a->forfeited, a->left + a->held + a->sold + a->forfeited);
    }
    if (a->held != s->held_units || a->held_orders != s->held_orders) {
        v->ledger++;
        report_example(v->report, REPORT_LEDGER,
                       "shard %d: counts %" PRId64 " units held, its list has %" PRId64 " in %" PRId64 " orders",
                       s->number, a->held, s->held_units, s->held_orders);
    }
    v->left += a->left + a->out;
    v->forfeited += a->forfeited;
    v->caps += a->cap + a->out;
    v->reservations += s->held_orders;
}

static bool read_shard(struct verify *v, struct kv *kv, int number, struct error *err)
{
    struct shard s = {.v = v, .number = number};
    struct stock_walk held = {v->activity.id, number, STOCK_KEY_HELD, PAGE, 0};
    struct stock_walk gone = {v->activity.id, number, STOCK_KEY_GONE, PAGE, 0};
    struct stock_audit audit;
    struct stock_keys keys;

    stock_keys_of(&keys, v->activity.id, number);
    if (!stock_walk(kv, &held, on_held, &s, err) || !stock_walk(kv, &gone, on_gone, &s, err) ||
        !walk_marks(&s, kv, keys.text[STOCK_KEY_BUYERS], err) || !stock_audit(kv, v->activity.id, number, &audit, err))
        return false;
    judge_counters(&s, &audit);
    return true;
}

static bool between(struct verify *v, struct kv *kv, int64_t *units, struct error *err)
{
    size_t shards = (size_t)v->activity.shards;
    struct stock_audit *audits = check_calloc(shards, sizeof *audits);
    struct error *errs = check_calloc(shards, sizeof *errs);
    bool ok = stock_audit_many(kv, v->activity.id, v->activity.shards, audits, errs, err);

    *units = 0;
    for (size_t i = 0; i < shards && ok; i++)
        *units += errs[i].code == ERROR_NONE ? audits[i].out : 0;
    free(audits);
    free(errs);
    return ok;
}

/* Caps add up with what is between shards, whatever was lost or made on the way. A transfer takes milliseconds. */
static bool judge_between(struct verify *v, struct kv *kv, struct error *err)
{
    int64_t units;

    for (int look = 0; look < BETWEEN_LOOKS; look++) {
        if (!between(v, kv, &units, err))
            return false;
        if (units == 0)
            return true;
        clock_sleep_ms(BETWEEN_REST_MS);
    }
    v->unbalanced++;
    report_example(v->report, REPORT_SHARDS, "%" PRId64 " units %s", units < 0 ? -units : units,
                   units < 0 ? "came to shards and never left one" : "left shards and never came to one");
    return true;
}

bool verify_read_stock(struct verify *v, struct error *err)
{
    struct kv *kv = kv_open(v->conf, "orderload-verify", err);
    bool ok = kv != NULL;

    for (int shard = 0; ok && shard < v->activity.shards; shard++)
        ok = read_shard(v, kv, shard, err);
    ok = ok && (v->activity.shards < 2 || judge_between(v, kv, err));
    kv_close(&kv);
    return ok || error_prefix(err, "reading stock");
}
