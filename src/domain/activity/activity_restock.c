#include "orderd/activity_restock.h"

#include <inttypes.h>
#include <stdlib.h>

#include "orderd/activity_apply.h"
#include "orderd/activity_store.h"
#include "orderd/activity_transfer.h"
#include "orderd/check.h"
#include "orderd/fault.h"
#include "orderd/order_store.h"

struct restock {
    struct db *db;
    struct kv *kv;
    struct activity *activity;
    int64_t wanted;
    struct activity_cap *caps;
    struct activity_restocked *out;
    struct order_stock stock;              /* MySQL's row */
    struct stock_audit *audits;            /* of the last look */
    int64_t *bounds[2], *planned, cap_sum; /* by that look */
    struct error *err;
};

/* ---- whether at all ---- */

static bool restockable(const struct restock *r)
{
    const struct activity *a = r->activity;

    if (a->state == ACTIVITY_REVIEW)
        return error_set(r->err, ERROR_REFUSED,
                         "activity %" PRId64 " is in review; only an approved one can be restocked", a->id);
    if (a->state == ACTIVITY_SETTLED)
        return error_set(r->err, ERROR_REFUSED,
                         "activity %" PRId64 " is settled: its books are closed, and more units need a new activity",
                         a->id);
    if (r->wanted < a->shards)
        return error_set(r->err, ERROR_REFUSED,
                         "%" PRId64 " units are less than one for each of %" PRId32
                         " shards; `orderctl activity end` ends a sale",
                         r->wanted, a->shards);
    return r->stock.exists || error_set(r->err, ERROR_REFUSED,
                                        "activity %" PRId64 " has no row in activity_stock; restore it first", a->id);
}

static bool shards_ready(const struct restock *r, const struct activity_look *look)
{
    const struct activity *a = r->activity;

    if (!a->preheated)
        return look->faults[SHARD_MISSING] == a->shards ||
               error_set(r->err, ERROR_REFUSED,
                         "a preheat of activity %" PRId64 " was cut short; run `orderctl activity preheat %" PRId64
                         "` first",
                         a->id, a->id);
    if (!activity_look_whole(a, look, r->err))
        return false;
    return look->faults[SHARD_PAUSED] == 0 ||
           error_set(r->err, ERROR_REFUSED,
                     "shard %" PRId32 " of activity %" PRId64 " %s; finish that first, with `orderctl activity rebuild "
                     "%" PRId64 "`",
                     look->first[SHARD_PAUSED], a->id, shard_fault_what(SHARD_PAUSED), a->id);
}

/* ---- the caps ---- */

/* The least that a cap can be lowered to; the script has the last word. */
static int64_t floor_of(const struct stock_audit *s)
{
    int64_t used = s->held + s->sold + s->forfeited, gone = s->cap - s->left;
    int64_t most = used > gone ? used : gone;

    return most < s->cap ? (most > 0 ? most : 0) : s->cap;
}

/* Caps only rise, or only fall. Answers what they will add up to. */
static int64_t plan(struct restock *r)
{
    int64_t *lo = r->bounds[0], *hi = r->bounds[1];

    for (int32_t i = 0; i < r->activity->shards; i++) {
        bool rise = r->wanted >= r->cap_sum;

        lo[i] = rise ? r->audits[i].cap : floor_of(&r->audits[i]);
        hi[i] = rise ? (r->wanted > lo[i] ? r->wanted : lo[i]) : r->audits[i].cap;
    }
    return activity_split(r->wanted, lo, hi, r->activity->shards, r->planned);
}

static bool look(struct restock *r)
{
    struct activity_look seen;

    if (!activity_look(r->kv, r->activity, r->audits, &seen, r->err) || !shards_ready(r, &seen))
        return false;
    r->cap_sum = seen.cap;
    return seen.transfer == 0 ||
           error_set(r->err, ERROR_REFUSED,
                     "%" PRId64 " units of activity %" PRId64
                     " are on their way between its shards; the daemon's walk ends that, try again after it",
                     seen.transfer, r->activity->id);
}

static void note_caps(const struct restock *r, bool first)
{
    for (int32_t i = 0; i < r->activity->shards; i++) {
        if (first) {
            r->caps[i].was = r->activity->preheated ? r->audits[i].cap : -1;
            r->caps[i].left = r->audits[i].left;
        }
        r->caps[i].cap = r->planned[i];
    }
}

static bool set_cap(struct restock *r, int32_t shard)
{
    const struct stock_restock what = {r->activity->id, shard, r->audits[shard].cap, r->planned[shard],
                                       r->activity->epoch};
    struct stock_restocked answer;

    if (!stock_restock(r->kv, &what, &answer, r->err))
        return false;
    switch (answer.code) {
    case STOCK_RESTOCK_RESTOCKED:
        r->out->changed = true;
        FAULT(RESTOCK_AFTER_SHARD);
        return true;
    case STOCK_RESTOCK_ALREADY:
    case STOCK_RESTOCK_TOO_LOW: /* sold meanwhile: the next look plans with less */
    case STOCK_RESTOCK_CHANGED:
        return true;
    default:
        return error_set(r->err, ERROR_REFUSED, "shard %" PRId32 " of activity %" PRId64 ": %s (%s)", shard,
                         r->activity->id, stock_code_sentence(STOCK_SCRIPT_RESTOCK, answer.code), answer.note);
    }
}

/* Rounds of look, plan and set; each that changes nothing meets a sale that was quicker than we are. */
#define ROUNDS_MAX 50

static bool move_caps(struct restock *r)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        bool more = false;

        if (!look(r))
            return false;
        (void)plan(r);
        note_caps(r, false);
        for (int32_t i = 0; i < r->activity->shards; i++) {
            if (r->planned[i] == r->audits[i].cap)
                continue;
            more = true;
            if (!set_cap(r, i))
                return false;
        }
        if (!more)
            return true;
    }
    return error_set(r->err, ERROR_DB_CONFLICT,
                     "the shards of activity %" PRId64 " change faster than their caps can be lowered; run this again",
                     r->activity->id);
}

/* ---- MySQL ---- */

static bool short_of_units(struct restock *r, int64_t total)
{
    struct order_stock now;

    if (!order_store_stock(r->db, r->activity->id, &now, r->err))
        return false;
    if (now.total != r->stock.total || now.available >= r->stock.total - total)
        return error_set(r->err, ERROR_DB_CONFLICT,
                         "the stock of activity %" PRId64 " is being changed by others; run this again",
                         r->activity->id);
    return error_set(r->err, ERROR_REFUSED,
                     "%" PRId64 " units came off the shards, but MySQL has only %" PRId64
                     " that are not in live orders; see `orderctl reconcile --activity %" PRId64
                     "`, or restock to %" PRId64 " to take it back",
                     r->stock.total - total, now.available, r->activity->id, r->stock.total);
}

/* Both rows as they were read, or neither. */
static bool set_total(struct restock *r, int64_t total)
{
    int64_t id = r->activity->id, more = total - r->stock.total;
    struct strbuf sql = STRBUF_INIT;
    bool done, ok;

    if (total == r->stock.total && total == r->activity->total_stock)
        return true;
    strbuf_addf(&sql,
                "BEGIN;UPDATE activity SET total_stock=%" PRId64 " WHERE id=%" PRId64 " AND total_stock=%" PRId64
                " AND epoch=%" PRId32 ";" DB_GUARD_ONE_ROW ";UPDATE activity_stock SET available=available+%" PRId64
                ",total=%" PRId64 " WHERE activity_id=%" PRId64 " AND total=%" PRId64 " AND available+%" PRId64
                ">=0;" DB_GUARD_ONE_ROW ";COMMIT",
                total, id, r->activity->total_stock, r->activity->epoch, more, total, id, r->stock.total, more);
    ok = db_run_guarded(r->db, (struct slice){sql.data, sql.len}, &done, r->err);
    strbuf_release(&sql);
    if (!ok || !done)
        return ok && short_of_units(r, total);
    r->out->changed = true;
    r->out->total = r->activity->total_stock = r->stock.total = total;
    return true;
}

/* ---- the whole ---- */

static bool rise_database(struct restock *r)
{
    if (r->wanted < r->stock.total)
        return true;
    if (!set_total(r, r->wanted))
        return false;
    FAULT(RESTOCK_AFTER_DATABASE);
    return true;
}

/* By what really came off. */
static bool cut_database(struct restock *r)
{
    if (r->cap_sum > r->stock.total)
        return error_set(r->err, ERROR_REFUSED,
                         "%" PRId64 " units of activity %" PRId64
                         " are sold or reserved in Redis, and MySQL has %" PRId64
                         "; see `orderctl reconcile --activity %" PRId64 "`",
                         r->cap_sum, r->activity->id, r->stock.total, r->activity->id);
    FAULT(RESTOCK_BEFORE_DATABASE);
    return set_total(r, r->cap_sum);
}

static bool run(struct restock *r, bool dry_run)
{
    int64_t reachable, moved;

    if (!restockable(r) ||
        (!dry_run && r->activity->preheated && !activity_transfer_finish(r->db, r->kv, r->activity, &moved, r->err)) ||
        !look(r))
        return false;
    reachable = r->activity->preheated ? plan(r) : r->wanted;
    note_caps(r, true);
    if (dry_run) {
        r->out->total = reachable;
        r->out->changed = reachable != r->stock.total || reachable != r->activity->total_stock ||
                          (r->activity->preheated && reachable != r->cap_sum);
        return true;
    }
    if (!r->activity->preheated)
        return set_total(r, r->wanted);
    return rise_database(r) && move_caps(r) && cut_database(r);
}

bool activity_restock(struct db *db, struct kv *kv, struct activity *activity, int64_t stock, bool dry_run,
                      struct activity_cap *caps, struct activity_restocked *out, struct error *err)
{
    struct restock r = {
        .db = db, .kv = kv, .activity = activity, .wanted = stock, .caps = caps, .out = out, .err = err};
    size_t shards = (size_t)activity->shards;
    bool ok;

    if (!order_store_stock(db, activity->id, &r.stock, err))
        return false;
    *out = (struct activity_restocked){.was = r.stock.total, .total = r.stock.total};
    r.audits = check_calloc(shards, sizeof *r.audits);
    r.planned = check_calloc(3 * shards, sizeof *r.planned);
    r.bounds[0] = r.planned + shards;
    r.bounds[1] = r.planned + 2 * shards;
    ok = run(&r, dry_run);
    free(r.audits);
    free(r.planned);
    return ok;
}
