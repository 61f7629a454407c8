/* What is done about the findings of a page: first what sells a unit that would be lost, then what puts units back. */
#include "walk_private.h"

#include <inttypes.h>

#include "orderd/fault.h"
#include "orderd/log.h"

static bool is_ours(const struct balance_finding *f)
{
    return finding_mender(f->kind) == FINDING_MENDER_WALK && f->kind != FINDING_UNRECOVERABLE &&
           f->kind != FINDING_LOST_MESSAGE;
}

/* Those of a page that are lost messages, or all the others that are to be mended. */
static size_t choose(struct visit *v, const struct balance_finding *findings, size_t count, bool lost)
{
    size_t chosen = 0;

    for (size_t i = 0; i < count; i++) {
        struct balance_finding f = findings[i];

        if (lost ? f.kind != FINDING_LOST_MESSAGE : !is_ours(&f))
            continue;
        if (f.kind == FINDING_FORFEITED_RECLAIMABLE) {
            f.units = memory_note(v->memory, &f);
            if (f.units == 0)
                continue;
        }
        v->mending[chosen++] = f;
    }
    return chosen;
}

/* ---- what came of it ---- */

static enum metric metric_of(enum finding_kind kind)
{
    switch (kind) {
    case FINDING_LOST_MESSAGE:
        return METRIC_WALK_RECOVERED;
    case FINDING_RETURN_DUE:
    case FINDING_RETURN_FORGOTTEN:
        return METRIC_WALK_RETURNED;
    case FINDING_SETTLE_DUE:
        return METRIC_WALK_SETTLED;
    case FINDING_KEYS_WITHOUT_TTL:
    case FINDING_TTL_TOO_SHORT:
        return METRIC_WALK_KEPT;
    case FINDING_FORFEITED_RECLAIMABLE:
        return METRIC_WALK_UNITS_RECLAIMED;
    default:
        return METRIC_WALK_ADOPTED;
    }
}

static void count_mended(struct visit *v, const struct balance_finding *f, const struct balance_outcome *outcome)
{
    bool lost = f->kind == FINDING_LOST_MESSAGE;
    bool units = f->kind == FINDING_FORFEITED_RECLAIMABLE;

    metric_add(v->walk->base.metrics, metric_of(f->kind), units ? (uint64_t)f->units : 1);
    v->done.recovered += lost;
    v->done.mended += !lost;
    if (lost)
        log_event(LOG_EVENT_WALK_RECOVERED, LOG_STR("order_no", f->order.order_no),
                  LOG_INT("activity_id", f->activity_id), LOG_INT("age_ms", f->age_ms),
                  LOG_INT("recovery", f->recoveries + 1), LOG_STR("done", outcome->text));
}

static void count_failed(struct visit *v, const struct balance_finding *f, const struct balance_outcome *outcome)
{
    metric_add(v->walk->base.metrics, METRIC_WALK_NOT_MENDED, 1);
    log_event(LOG_EVENT_WALK_NOT_MENDED, LOG_STR("kind", finding_name(f->kind)), LOG_INT("activity_id", f->activity_id),
              LOG_INT("shard", f->shard), LOG_STR("order_no", f->order.order_no), LOG_STR("why", outcome->text));
}

static void count(struct visit *v, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (v->outcomes[i].mended == BALANCE_MENDED)
            count_mended(v, &v->mending[i], &v->outcomes[i]);
        else if (v->outcomes[i].mended == BALANCE_MENDED_NOT)
            count_failed(v, &v->mending[i], &v->outcomes[i]);
    }
}

static bool repair(struct visit *v, size_t chosen)
{
    if (!balance_repair(v->walk->db, v->walk->kv, &v->report.activity, v->mending, chosen, v->outcomes, v->err))
        return false;
    keeper_beats(&v->walk->base);
    return true;
}

static bool recover(struct visit *v, const struct balance_finding *findings, size_t n)
{
    size_t chosen = choose(v, findings, n, true);

    if (chosen == 0)
        return true;
    FAULT(WALK_BEFORE_RECOVER);
    if (!repair(v, chosen))
        return false;
    FAULT(WALK_AFTER_RECOVER);
    count(v, chosen);
    return true;
}

static bool complete(struct visit *v, const struct balance_finding *findings, size_t n)
{
    size_t chosen = choose(v, findings, n, false);

    if (chosen == 0)
        return true;
    FAULT(WALK_BEFORE_MEND);
    if (!repair(v, chosen))
        return false;
    FAULT(WALK_AFTER_MEND);
    count(v, chosen);
    return true;
}

/* What cannot be taken back is done only while nothing waits, when there is no doubt that the order was tried. */
static bool give_up(struct visit *v, const struct balance_finding *findings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (findings[i].kind != FINDING_UNRECOVERABLE)
            continue;
        if (v->walk->view.waiting > 0)
            v->done.deferred++;
        else if (!walk_give_up(v, &findings[i]))
            return false;
        keeper_beats(&v->walk->base);
    }
    return true;
}

bool walk_mend(struct visit *v, const struct balance_finding *findings, size_t n)
{
    return recover(v, findings, n) && complete(v, findings, n) && give_up(v, findings, n);
}
