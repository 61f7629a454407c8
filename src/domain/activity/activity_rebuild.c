#include "activity_rebuild_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "activity_sql.h"
#include "orderd/activity_restock.h"
#include "orderd/activity_store.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/fault.h"

void rebuild_progress(const struct rebuild *r, enum activity_rebuild_step step)
{
    if (r->how->progress)
        r->how->progress(r->how->arg, step, r->out);
}

/* ---- whether at all ---- */

static bool rebuildable(const struct activity *a, struct error *err)
{
    if (a->state == ACTIVITY_REVIEW || a->state == ACTIVITY_SETTLED)
        return error_set(err, ERROR_REFUSED, "activity %" PRId64 " is %s; only one that was preheated can be rebuilt",
                         a->id, a->state == ACTIVITY_REVIEW ? "in review" : "settled");
    return a->preheated || error_set(err, ERROR_REFUSED,
                                     "activity %" PRId64 " was not preheated; `orderctl activity preheat %" PRId64
                                     "` makes its shards, and completes a preheat that was cut short",
                                     a->id, a->id);
}

/* ---- 1 pause ---- */

static bool look(struct rebuild *r)
{
    struct activity_look seen;

    if (!activity_look(r->how->kv, r->how->activity, r->audits, &seen, r->err))
        return false;
    r->redis_now = seen.redis_now;
    return activity_store_now(r->how->db, &r->paused_at, r->err);
}

/* One of a later epoch than MySQL's (a database that was restored) can only be stopped by its own. */
static bool pause_shard(struct rebuild *r, int32_t shard)
{
    const struct activity *a = r->how->activity;
    int64_t epoch = r->audits[shard].epoch > a->epoch ? r->audits[shard].epoch : a->epoch;
    struct stock_paused answer;

    if (stock_pause(r->how->kv, &(struct stock_pause){a->id, shard, true, epoch}, &answer, r->err)) {
        FAULT(REBUILD_AFTER_PAUSE);
        return answer.code != STOCK_PAUSE_OTHER_EPOCH ||
               error_set(r->err, ERROR_REFUSED,
                         "shard %" PRId32 " of activity %" PRId64 " got another epoch meanwhile; run this again", shard,
                         a->id);
    }
    if (r->err->code != ERROR_KV_DATA) /* a key of a foreign type: deduct takes nothing there either */
        return false;
    error_clear(r->err);
    return true;
}

static bool pause_all(struct rebuild *r)
{
    for (int32_t i = 0; i < r->how->activity->shards; i++) {
        if (r->audits[i].code != STOCK_AUDIT_NO_SHARD && !pause_shard(r, i))
            return false;
    }
    return look(r);
}

/* ---- 4 epoch ---- */

static int32_t next_epoch(const struct rebuild *r)
{
    int64_t epoch = r->how->activity->epoch;

    for (int32_t i = 0; i < r->how->activity->shards; i++)
        epoch = r->audits[i].epoch > epoch && r->audits[i].epoch < ORDER_EPOCH_MAX ? r->audits[i].epoch : epoch;
    return (int32_t)epoch + 1;
}

/* Its state may move by time while we look: once by its start, once by its end. */
#define EPOCH_TRIES 3

static bool commit_epoch(struct rebuild *r)
{
    struct activity *a = r->how->activity;
    char set[48], where[48];
    bool moved = false;

    snprintf(set, sizeof set, ",epoch=%" PRId32, r->out->epoch);
    snprintf(where, sizeof where, " AND epoch=%" PRId32, a->epoch);
    for (int i = 0; i < EPOCH_TRIES && !moved; i++) {
        if (!activity_store_get(r->how->db, a->id, a, r->err) ||
            !activity_sql_move(r->how->db, a->id, a->state, a->state, set, where, &moved, r->err))
            return false;
    }
    if (!moved)
        return error_set(r->err, ERROR_DB_CONFLICT, "activity %" PRId64 " was changed by others; run this again",
                         a->id);
    a->epoch = r->out->epoch;
    FAULT(REBUILD_AFTER_EPOCH);
    return true;
}

/* ---- 5 rebuild ---- */

/* Orders that are closed in these days need the shard after the end of a sale as well. */
static int64_t expiry(const struct rebuild *r, int64_t planned)
{
    int64_t least = r->redis_now + (planned - r->how->activity->ends_at);

    return planned > least ? planned : least;
}

static bool plan_caps(struct rebuild *r)
{
    const struct activity *a = r->how->activity;
    size_t n = (size_t)a->shards;
    int64_t *lo = check_calloc(3 * n, sizeof *lo), *hi = lo + n, *caps = lo + 2 * n, sum;

    for (int32_t i = 0; i < a->shards; i++) {
        lo[i] = r->live[i] + r->out->shards[i].kept;
        hi[i] = a->total_stock > lo[i] ? a->total_stock : lo[i];
    }
    sum = activity_split(a->total_stock, lo, hi, a->shards, caps);
    for (int32_t i = 0; i < a->shards; i++) {
        activity_plan(a, i, &r->plans[i]);
        r->plans[i].cap = r->out->shards[i].cap = caps[i];
        r->plans[i].epoch = r->out->epoch;
        r->plans[i].expire_at = expiry(r, r->plans[i].expire_at);
        r->out->shards[i].live = r->live[i];
    }
    free(lo);
    return sum == a->total_stock ||
           error_set(r->err, ERROR_REFUSED,
                     "live orders and reservations of activity %" PRId64 " have %" PRId64
                     " units, more than its %" PRId64 "; see `orderctl reconcile --activity %" PRId64 "`",
                     a->id, sum, a->total_stock, a->id);
}

static bool rebuild_shard(struct rebuild *r, int32_t shard)
{
    struct stock_rebuilt answer;

    if (!stock_rebuild(r->how->kv, &r->plans[shard], &answer, r->err))
        return false;
    if (answer.code != STOCK_REBUILD_CREATED && answer.code != STOCK_REBUILD_REPLACED &&
        answer.code != STOCK_REBUILD_ALREADY)
        return error_set(r->err, ERROR_REFUSED, "shard %" PRId32 " of activity %" PRId64 ": %s (%s)", shard,
                         r->how->activity->id, stock_code_sentence(STOCK_SCRIPT_REBUILD, answer.code), answer.note);
    FAULT(REBUILD_AFTER_SHARD);
    return rebuild_adopt_kept(r, shard);
}

static bool rebuild_all(struct rebuild *r)
{
    for (int32_t i = 0; i < r->how->activity->shards; i++) {
        if (!rebuild_shard(r, i))
            return false;
    }
    return true;
}

/* ---- 7 verify ---- */

/* Orders become rows, and rows are closed, while we look; so a difference is looked at again, a few times. */
#define VERIFY_MAX      5
#define VERIFY_AGAIN_MS 200

/* Fewer units than its live orders have: one of them became a row after its page was read. More is an order that was
 * closed since, or one that was kept. */
static bool shard_complete(struct rebuild *r, int32_t shard, bool *complete)
{
    struct stock_audit audit;

    if (!stock_verify(r->how->kv, &r->plans[shard], r->err) ||
        !stock_audit(r->how->kv, r->how->activity->id, shard, &audit, r->err))
        return false;
    *complete = *complete && audit.held + audit.sold >= r->live[shard];
    return true;
}

static bool all_complete(struct rebuild *r, bool *complete)
{
    *complete = true;
    for (int32_t i = 0; i < r->how->activity->shards; i++) {
        if (!shard_complete(r, i, complete))
            return false;
    }
    return true;
}

static bool adopt_and_verify(struct rebuild *r)
{
    bool complete = false;

    for (int i = 0; i < VERIFY_MAX && !complete; i++) {
        if (i > 0)
            clock_sleep_ms(VERIFY_AGAIN_MS);
        if (!rebuild_adopt_rows(r))
            return false;
        rebuild_progress(r, REBUILD_VERIFYING);
        if (!rebuild_count_live(r) || !all_complete(r, &complete))
            return false;
    }
    return complete || r->out->short_orders > 0 ||
           error_set(r->err, ERROR_DB_CONFLICT,
                     "activity %" PRId64 " gets orders faster than they can be adopted; the sale stays paused",
                     r->how->activity->id);
}

/* ---- 8 resume ---- */

static bool resume_all(struct rebuild *r)
{
    const struct activity *a = r->how->activity;

    FAULT(REBUILD_BEFORE_RESUME);
    for (int32_t i = 0; i < a->shards; i++) {
        struct stock_paused answer;

        if (!stock_pause(r->how->kv, &(struct stock_pause){a->id, i, false, a->epoch}, &answer, r->err))
            return false;
        if (answer.code < 0)
            return error_set(r->err, ERROR_REFUSED, "shard %" PRId32 " of activity %" PRId64 ": %s", i, a->id,
                             stock_code_sentence(STOCK_SCRIPT_PAUSE, answer.code));
        FAULT(REBUILD_AFTER_RESUME);
    }
    return true;
}

/* Its state may have moved by time while we were at it. */
static bool announce(struct rebuild *r)
{
    struct stock_announcement announcement;

    if (!activity_store_get(r->how->db, r->how->activity->id, r->how->activity, r->err))
        return false;
    announcement = activity_announcement(r->how->activity);
    return stock_announce(r->how->kv, &announcement, &r->out->announced, r->err);
}

/* ---- the whole ---- */

static void note_faults(struct rebuild *r)
{
    for (int32_t i = 0; i < r->how->activity->shards; i++)
        r->out->shards[i].was = shard_fault_of(r->how->activity, &r->audits[i]);
}

static bool only_look(struct rebuild *r)
{
    r->out->epoch = next_epoch(r);
    return rebuild_drain_look(r) && rebuild_keep(r) && rebuild_count_live(r) && plan_caps(r);
}

static bool run(struct rebuild *r)
{
    if (!rebuildable(r->how->activity, r->err) || !look(r))
        return false;
    note_faults(r);
    if (r->how->dry_run)
        return only_look(r);
    /* Before anything is paused: can it end well? */
    if (!rebuild_count_live(r) || !plan_caps(r) || !pause_all(r) || !rebuild_drain(r))
        return false;
    r->out->epoch = next_epoch(r);
    return rebuild_keep(r) && rebuild_count_live(r) && plan_caps(r) && commit_epoch(r) && rebuild_all(r) &&
           adopt_and_verify(r) && resume_all(r) && announce(r);
}

bool activity_rebuild(const struct activity_rebuild *how, struct activity_rebuilt *out, struct error *err)
{
    size_t shards = (size_t)how->activity->shards;
    struct rebuild r = {.how = how, .out = out, .err = err};
    bool ok;

    r.audits = check_calloc(shards, sizeof *r.audits);
    r.plans = check_calloc(shards, sizeof *r.plans);
    r.live = check_calloc(shards, sizeof *r.live);
    ok = run(&r);
    free(r.audits);
    free(r.plans);
    free(r.live);
    free(r.kept);
    return ok;
}
