#include "walk_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/fault.h"
#include "orderd/log.h"
#include "orderd/replica.h"

/* Looking at the live orders too may take up one part in so many of the time; a small sale is looked at whole in every
 * walk, one of millions less often. */
#define DEEP_SHARE 4
/* And at what is over, which only grows, and where nothing but a failover leaves anything to do. */
#define HISTORY_SHARE 16
/* One walk goes no further in it than takes one part in so many of the interval: all other walks of this thread wait.
 * Where the live orders take longer than the interval, one part of that: they are looked at so much more seldom, and
 * the history only after them. */
#define HISTORY_SLICE 4

static bool stop_between_pages(void *arg)
{
    return keeper_stopping(&((struct visit *)arg)->walk->base);
}

static void beat_between_pages(void *arg, int64_t orders)
{
    (void)orders;
    keeper_beats(&((struct visit *)arg)->walk->base);
}

static bool on_findings(void *arg, const struct balance_finding *findings, size_t count)
{
    struct visit *v = arg;

    keeper_beats(&v->walk->base);
    return walk_mend(v, findings, count);
}

/* Without reservations a return moves units by the caller's word alone: only a person can know whether Redis forgot the
 * return, or the sale as well. */
static bool wants_history(const struct visit *v)
{
    return v->deep && v->activity.reservations && clock_mono_ms() >= v->memory->history_after;
}

static int64_t history_slice(const struct visit *v)
{
    int64_t interval = v->walk->base.conf->walk_interval, deep = v->memory->deep_ms;

    return (interval > deep ? interval : deep) / HISTORY_SLICE;
}

static bool scan(struct visit *v, struct error *err)
{
    const struct conf *conf = v->walk->base.conf;
    struct balance_options options = {
        .parts = BALANCE_LEDGER | (v->deep ? BALANCE_LIVE | BALANCE_SUMS : 0u) | (v->history ? BALANCE_DONE : 0u),
        .window = balance_window_of(conf),
        .worked_to = walk_frontier(&v->walk->view, conf->walk_in_flight, conf_retry_total(conf)),
        .page = (int)conf->walk_page,
        .pause_ms = conf->walk_pause,
        .stop = stop_between_pages,
        .progress = beat_between_pages,
        .arg = v,
        .history = &v->memory->history,
        .history_ms = history_slice(v),
    };

    if (!balance_scan(v->walk->db, v->walk->kv, v->memory->id, &options, on_findings, v, &v->report, err))
        return false;
    return v->err->code == ERROR_NONE;
}

/* ---- afterwards ---- */

/* Caps that are not the total are a restock under way, or one that was cut short: the walk's own, next time. So is half
 * of a transfer. */
static bool is_for_others(enum finding_kind kind)
{
    return (finding_mender(kind) == FINDING_MENDER_PERSON || finding_mender(kind) == FINDING_MENDER_REPAIR) &&
           kind != FINDING_CAP_TOTAL && kind != FINDING_TRANSFER_UNKNOWN;
}

static int64_t count_for_others(const struct balance_report *report)
{
    int64_t sum = 0;

    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++)
        sum += is_for_others((enum finding_kind)kind) ? report->by_kind[kind].findings : 0;
    return sum;
}

static void tell_others(const struct visit *v)
{
    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++) {
        const struct balance_count *found = &v->report.by_kind[kind];

        if (found->findings > 0 && is_for_others((enum finding_kind)kind))
            log_event(LOG_EVENT_WALK_NEEDS_PERSON, LOG_INT("activity_id", v->memory->id),
                      LOG_STR("kind", finding_name((enum finding_kind)kind)), LOG_INT("findings", found->findings),
                      LOG_INT("units", found->units), LOG_STR("what", finding_sentence((enum finding_kind)kind)),
                      LOG_STR("to_do", finding_mends((enum finding_kind)kind)));
    }
}

static void account(struct visit *v)
{
    struct metric_block *metrics = v->walk->base.metrics;
    struct activity_walk *done = &v->done;

    /* Who is lost waits for the next walk, and that for twice the time of this one; not for that of the history. */
    done->took_ms = v->report.took_ms - v->report.done_ms;
    done->reservations = v->report.held_orders;
    done->deferred += v->report.by_kind[FINDING_BACKLOG].findings;
    metric_add(metrics, METRIC_WALKS, 1);
    metric_add(metrics, METRIC_WALK_MS, (uint64_t)v->report.took_ms);
    metric_add(metrics, METRIC_WALK_DEFERRED, (uint64_t)done->deferred);
    metric_add(metrics, METRIC_WALK_NEED_PERSON, (uint64_t)done->need_person);
    log_event(done->recovered + done->deferred + done->mended + done->need_person > 0 ? LOG_EVENT_WALK_DONE
                                                                                      : LOG_EVENT_WALK_QUIET,
              LOG_INT("activity_id", v->memory->id), LOG_INT("reservations", done->reservations),
              LOG_INT("live_orders", v->report.live_orders), LOG_INT("recovered", done->recovered),
              LOG_INT("deferred", done->deferred), LOG_INT("mended", done->mended),
              LOG_INT("need_person", done->need_person), LOG_INT("took_ms", v->report.took_ms));
}

/* 0: in every walk. */
static int64_t due_after(const struct visit *v, int64_t took, int64_t share)
{
    return took > v->walk->base.conf->walk_interval / share ? clock_mono_ms() + took * (share - 1) : 0;
}

/* What the live orders cost is what a deep walk takes longer than the ledger alone; counted as all of it but the
 * history: a buyer may wait for a live order. */
static void plan_next(struct visit *v, int daemons)
{
    struct memory *memory = v->memory;

    if (!v->deep)
        return;
    memory_end(memory);
    if (v->history)
        memory->history_after = due_after(v, v->report.done_ms, HISTORY_SHARE * daemons);
    memory->deep_after = due_after(v, v->done.took_ms, DEEP_SHARE);
    memory->deep_ms = v->done.took_ms;
}

static void count_living(void *arg, const struct replica *replica, const struct replica_report *report)
{
    (void)report;
    *(int *)arg += replica_state_lives(replica->state);
}

/* Each process goes by its own memory, and together they are not to go through the history without an end. */
static bool count_daemons(struct visit *v, int *daemons, struct error *err)
{
    struct db *db = v->walk->db;

    *daemons = 0;
    if (v->history && !replica_read_all(db, v->walk->base.conf->survey_lost_after, count_living, daemons, err)) {
        if (!db_usable(db))
            return false;
        error_clear(err); /* the walk is not to fail for that */
    }
    *daemons += *daemons == 0;
    return true;
}

static bool finish(struct visit *v, struct error *err)
{
    int daemons;

    v->done.need_person = count_for_others(&v->report);
    if (v->done.need_person > 0)
        tell_others(v);
    if ((v->deep && !walk_restock(v, err)) || !walk_level(v, err) || !count_daemons(v, &daemons, err))
        return false;
    account(v);
    plan_next(v, daemons);
    snprintf(v->done.walker, sizeof v->done.walker, "%s", v->walk->name);
    FAULT(WALK_BEFORE_RECORD);
    return activity_walk_record(v->walk->db, v->memory->id, &v->done, err);
}

bool walk_visit(struct walk *walk, int64_t activity_id, struct error *err)
{
    struct visit v = {.walk = walk, .memory = memory_of(&walk->memory, activity_id), .err = err};
    size_t page = (size_t)walk->base.conf->walk_page;
    bool ok;

    v.deep = clock_mono_ms() >= v.memory->deep_after;
    memory_begin(v.memory);
    v.mending = check_calloc(page, sizeof *v.mending);
    v.outcomes = check_calloc(page, sizeof *v.outcomes);
    ok = activity_store_get(walk->db, activity_id, &v.activity, err) && walk_keep(&v, err) && walk_look(walk, err);
    v.history = ok && wants_history(&v);
    if (v.history) /* where this one comes to no end, the next ones are to */
        v.memory->history_after = clock_mono_ms() + walk->base.conf->walk_interval * HISTORY_SHARE;
    ok = ok && scan(&v, err);
    if (ok && v.report.complete)
        ok = finish(&v, err);
    free(v.mending);
    free(v.outcomes);
    return ok;
}
