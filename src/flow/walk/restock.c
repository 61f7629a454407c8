/* A restock that was cut short: the caps of the shards and MySQL's total differ (activity_restock.h). MySQL's total is
 * what counts: a rise is completed, a cut that MySQL never learnt of is taken back. Whoever meant it otherwise repeats
 * the command. */
#include "walk_private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "orderd/activity_move.h"
#include "orderd/activity_restock.h"
#include "orderd/check.h"
#include "orderd/log.h"

static void failed(struct visit *v, const struct error *err)
{
    v->done.need_person++;
    metric_add(v->walk->base.metrics, METRIC_WALK_NOT_MENDED, 1);
    log_event(LOG_EVENT_WALK_NEEDS_PERSON, LOG_INT("activity_id", v->memory->id),
              LOG_STR("kind", finding_name(FINDING_CAP_TOTAL)), LOG_INT("findings", 1),
              LOG_INT("units", v->report.by_kind[FINDING_CAP_TOTAL].units),
              LOG_STR("what", finding_sentence(FINDING_CAP_TOTAL)), LOG_STR("to_do", finding_mends(FINDING_CAP_TOTAL)),
              LOG_ERR(err));
}

static bool go_away(const struct visit *v, const struct error *err)
{
    return !db_usable(v->walk->db) || error_class_of(err) == ERROR_CLASS_OUTAGE;
}

/* With the lock of the activity's changes, so that no restock is under way any more. */
static bool to_total(struct visit *v, bool *done, struct error *err)
{
    struct activity now;
    struct activity_cap *caps;
    struct activity_restocked out;
    bool ok;

    if (!activity_store_get(v->walk->db, v->memory->id, &now, err))
        return false;
    caps = check_calloc((size_t)now.shards, sizeof *caps);
    ok = activity_restock(v->walk->db, v->walk->kv, &now, now.total_stock, false, caps, &out, err);
    free(caps);
    *done = ok && out.changed;
    return ok;
}

bool walk_restock(struct visit *v, struct error *err)
{
    const struct balance_count *found = &v->report.by_kind[FINDING_CAP_TOTAL];
    bool again = v->memory->caps_off;
    bool locked = false, done = false, ok;

    v->memory->caps_off = found->findings > 0;
    if (found->findings == 0 || !again)
        return true;
    if (!activity_lock(v->walk->db, v->memory->id, 0, &locked, err))
        return false;
    if (!locked)
        return true; /* somebody is at it */
    ok = to_total(v, &done, err);
    if (db_usable(v->walk->db))
        activity_unlock(v->walk->db, v->memory->id);
    if (!ok && go_away(v, err))
        return false;
    if (!ok) {
        failed(v, err);
        error_clear(err);
    }
    v->memory->caps_off = !ok;
    v->done.mended += done;
    metric_add(v->walk->base.metrics, METRIC_WALK_RESTOCKED, done);
    return true;
}
