#include "orderd/activity_settle.h"

#include <inttypes.h>
#include <stdio.h>

#include "orderd/activity_apply.h"
#include "orderd/activity_store.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/fault.h"

struct settle {
    const struct activity_settle *how;
    const struct activity *a;
    struct activity_settled *out;
    struct error *err;
    int64_t now;       /* the database clock */
    int64_t available; /* MySQL's, when no order was pending */
    bool expired;      /* its keys may have gone by themselves */
};

/* ---- 1 look ---- */

static bool over(const struct settle *s)
{
    const struct activity *a = s->a;
    char due[32];

    if (a->state != ACTIVITY_ENDED)
        return error_set(s->err, ERROR_REFUSED, "activity %" PRId64 " is %s; only one that has ended can be settled",
                         a->id, a->state == ACTIVITY_REVIEW ? "in review" : activity_state_name(a->state));
    clock_format_iso(due, sizeof due, a->ends_at + a->pay_timeout_ms);
    return s->now >= a->ends_at + a->pay_timeout_ms ||
           error_set(s->err, ERROR_REFUSED, "orders of activity %" PRId64 " may be paid until %s; settle it then",
                     a->id, due);
}

static bool nothing_pending(struct settle *s)
{
    struct activity_standing standing;

    if (!activity_store_standing(s->how->db, s->a->id, &standing, s->err))
        return false;
    s->available = standing.available;
    return standing.by_status[ORDER_PENDING].orders == 0 ||
           error_set(s->err, ERROR_REFUSED,
                     "%" PRId64 " orders of activity %" PRId64
                     " are pending; they are paid, or closed when they are due",
                     standing.by_status[ORDER_PENDING].orders, s->a->id);
}

struct waiting {
    int64_t pending, quarantined;
};

static bool take_waiting(void *arg, const struct slice *c, unsigned count)
{
    struct waiting *w = arg;
    int64_t rows;

    if (count != 2 || !db_column_i64(c[1], &rows))
        return false;
    *(slice_is(c[0], "pending") ? &w->pending : &w->quarantined) = rows;
    return true;
}

/* Payloads that name the activity, as ours do and as JSON libraries write it; one that is written in a third way still
 * has its reservation, which the scan finds. */
static void add_names(struct strbuf *sql, int64_t id)
{
    static const char *const colons[] = {":", ": "}, *const ends[] = {",", "}"};

    for (int i = 0; i < 4; i++)
        strbuf_addf(sql, "%s payload LIKE '%%\"activity_id\"%s%" PRId64 "%s%%'", i ? " OR" : "", colons[i / 2], id,
                    ends[i % 2]);
}

static bool nothing_undecided(const struct settle *s)
{
    struct strbuf sql = STRBUF_INIT;
    struct waiting w = {0};
    bool ok;

    strbuf_add_str(&sql,
                   "SELECT state,COUNT(*) FROM local_message FORCE INDEX(k_due) WHERE state "
                   "IN('pending','quarantined') AND topic IN('order.create','stock.return','stock.settle') AND (");
    add_names(&sql, s->a->id);
    strbuf_add_str(&sql, ") GROUP BY state");
    ok = db_query(s->how->db, (struct slice){sql.data, sql.len}, take_waiting, &w, s->err);
    strbuf_release(&sql);
    if (!ok)
        return false;
    return (w.pending == 0 && w.quarantined == 0) ||
           error_set(s->err, ERROR_REFUSED,
                     "local messages of activity %" PRId64 " wait: %" PRId64 " to be sent, %" PRId64
                     " quarantined; see `orderctl outbox list`",
                     s->a->id, w.pending, w.quarantined);
}

/* ---- 2 prove ---- */

static bool ignore(void *arg, const struct balance_finding *findings, size_t count)
{
    (void)arg;
    (void)findings;
    (void)count;
    return true;
}

/* Keys whose time is over are not missed, nor what they would add up to. */
static bool excused(const struct settle *s, enum finding_kind kind)
{
    return s->expired && (kind == FINDING_SHARD_MISSING || kind == FINDING_CAP_TOTAL || kind == FINDING_UNEXPLAINED);
}

static bool clean(const struct settle *s)
{
    struct strbuf list = STRBUF_INIT;
    bool ok;

    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++) {
        int64_t findings = s->out->balance.by_kind[kind].findings;

        if (findings > 0 && !excused(s, (enum finding_kind)kind))
            strbuf_addf(&list, "%s%" PRId64 " %s", list.len ? ", " : "", findings,
                        finding_name((enum finding_kind)kind));
    }
    ok = list.len == 0 || error_set(s->err, ERROR_REFUSED,
                                    "the numbers of activity %" PRId64
                                    " do not add up: %s; see `orderctl reconcile --activity %" PRId64 "`",
                                    s->a->id, list.data, s->a->id);
    strbuf_release(&list);
    return ok;
}

static bool prove(struct settle *s)
{
    const struct balance_options options = {.parts = BALANCE_ALL,
                                            .window = {.in_flight_ms = s->how->in_flight_ms},
                                            .worked_to = INT64_MAX,
                                            .page = 500,
                                            .progress = s->how->progress,
                                            .arg = s->how->arg};

    return balance_scan(s->how->db, s->how->kv, s->a->id, &options, ignore, s->how->arg, &s->out->balance, s->err) &&
           clean(s);
}

/* ---- 3 close ---- */

/* Whoever creates an order has its row before the stock row, and takes units: either it is done, and there are others
 * available than when none was pending; or it waits for us, and finds the stock row closed. */
static bool close_books(struct settle *s)
{
    struct strbuf sql = STRBUF_INIT;
    int64_t id = s->a->id;
    bool done, ok;

    FAULT(SETTLE_BEFORE_DATABASE);
    strbuf_addf(&sql,
                "BEGIN;UPDATE activity SET state='%s' WHERE id=%" PRId64 " AND state='%s';" DB_GUARD_ONE_ROW
                ";UPDATE activity_stock SET takes_orders=FALSE WHERE activity_id=%" PRId64 " AND available=%" PRId64
                ";" DB_GUARD_ONE_ROW ";COMMIT",
                activity_state_name(ACTIVITY_SETTLED), id, activity_state_name(ACTIVITY_ENDED), id, s->available);
    ok = db_run_guarded(s->how->db, (struct slice){sql.data, sql.len}, &done, s->err);
    strbuf_release(&sql);
    if (!ok || !done)
        return ok && error_set(s->err, ERROR_DB_CONFLICT,
                               "activity %" PRId64
                               " got an order, or was changed, while its numbers were compared; run this again",
                               id);
    FAULT(SETTLE_AFTER_DATABASE);
    return activity_store_get(s->how->db, id, s->how->activity, s->err);
}

/* ---- 4 remove ---- */

#define REMOVE_PAGE     500
#define REMOVE_PAUSE_MS 2

static bool remove_keys(struct settle *s)
{
    const struct activity *a = s->a;
    const struct stock_announcement announcement = activity_announcement(a);
    const struct stock_removal removal = {a->id, a->shards, a->epoch, REMOVE_PAGE, REMOVE_PAUSE_MS};
    struct stock_announced announced;

    if (!stock_announce(s->how->kv, &announcement, &announced, s->err))
        return false;
    s->out->removed = stock_remove_all(s->how->kv, &removal, &s->out->removal, s->err);
    return s->out->removed;
}

/* ---- the whole ---- */

static bool books_closed(struct settle *s)
{
    struct stock_plan plan;

    if (!activity_store_now(s->how->db, &s->now, s->err))
        return false;
    activity_plan(s->a, 0, &plan);
    s->expired = !s->a->preheated || s->now >= plan.expire_at;
    if (!over(s) || !nothing_pending(s) || !nothing_undecided(s) || !prove(s))
        return false;
    s->out->changed = true;
    return s->how->dry_run || close_books(s);
}

bool activity_settle(const struct activity_settle *how, struct activity_settled *out, struct error *err)
{
    struct settle s = {.how = how, .a = how->activity, .out = out, .err = err};

    *out = (struct activity_settled){.removal = {.refused = -1}};
    if (how->activity->state != ACTIVITY_SETTLED && !books_closed(&s))
        return false;
    return how->dry_run || remove_keys(&s);
}
