/* Units between shards. A buyer is served by his home shard; so that "sold out" is said only when all are empty, a
 * shard that is empty gets half of what the fullest one has, within a second. What else is to be done about units
 * between shards, and about the last single ones, has its time in each walk. */
#include "walk_private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "orderd/activity_apply.h"
#include "orderd/activity_move.h"
#include "orderd/activity_transfer.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"

/* At most so many activities with several shards are looked at between their walks. */
#define SPREAD_MAX 64
/* Single units that nobody buys move at least once in 2 to the power of so many intervals. */
#define TURNS_MAX 7

/* After each whole turn in which none was sold the next steps come half as often: who does not come need not be looked
 * for every minute, and each step leaves rows and ids behind. */
static size_t rotate(struct turn *turn, const int64_t *left, int32_t shards, int64_t interval_ms,
                     struct activity_move moves[ACTIVITY_MOVES_MAX])
{
    int64_t units = 0, turns;
    size_t count;

    for (int32_t i = 0; i < shards; i++)
        units += left[i];
    if (units != turn->units)
        *turn = (struct turn){.units = units};
    count = clock_mono_ms() < turn->not_before ? 0 : activity_transfer_rotate(left, shards, moves);
    turns = count > 0 ? ++turn->steps / shards : 0;
    if (turns > 0)
        turn->not_before = clock_mono_ms() + (interval_ms << (turns < TURNS_MAX ? turns : TURNS_MAX)) - interval_ms / 2;
    return count;
}

/* turn NULL: single units stay where they are. */
static size_t plan(const struct stock_audit *audits, int32_t shards, struct turn *turn, int64_t interval_ms,
                   struct activity_move moves[ACTIVITY_MOVES_MAX])
{
    int64_t *left = check_calloc((size_t)shards, sizeof *left);
    size_t count;

    for (int32_t i = 0; i < shards; i++)
        left[i] = audits[i].left;
    count = activity_transfer_plan(left, shards, moves);
    if (count == 0 && turn)
        count = rotate(turn, left, shards, interval_ms, moves);
    free(left);
    return count;
}

static bool begin_new(struct walk *walk, const struct activity *a, const struct stock_audit *audits, struct turn *turn,
                      int64_t *units, struct error *err)
{
    struct activity_move moves[ACTIVITY_MOVES_MAX];
    size_t count = plan(audits, a->shards, turn, walk->base.conf->walk_interval, moves);

    return count == 0 || (activity_transfer_write(walk->db, a, moves, count, err) &&
                          activity_transfer_finish(walk->db, walk->kv, a, units, err));
}

static void tell_moved(struct walk *walk, int64_t id, int64_t begun, int64_t ended)
{
    if (ended + begun == 0)
        return;
    metric_add(walk->base.metrics, METRIC_WALK_UNITS_MOVED, (uint64_t)(ended + begun));
    log_event(LOG_EVENT_WALK_LEVELLED, LOG_INT("activity_id", id), LOG_INT("units", begun),
              LOG_INT("units_left_over", ended));
}

/* All that is written down has happened. What is between shards still, or came from nowhere, has no row: MySQL lost it,
 * or somebody wrote to Redis. No units move until that is mended. */
static bool none_between(struct visit *v, const struct activity *a, struct stock_audit *audits, struct error *err)
{
    struct activity_look look;

    return activity_look(v->walk->kv, a, audits, &look, err) &&
           (look.transfer == 0 || look.faults[SHARD_FINE] < a->shards ||
            error_set(err, ERROR_REFUSED,
                      "%" PRId64 " units of activity %" PRId64
                      " are between its shards, and no transfer is written down for them; "
                      "`orderctl activity rebuild %" PRId64 "` makes the shards anew",
                      look.transfer, a->id, a->id));
}

/* Repeats that mend nothing may take up one part in so many of the time: there may be hundreds of thousands, nobody
 * else changes the activity meanwhile, and what mends it, a rebuild, is such a change. */
#define REPEAT_SHARE 16

/* Cut short where the process ends: the next walk begins anew. */
static bool repeat_all(struct visit *v, const struct activity *a, int64_t *units, struct error *err)
{
    struct keeper *keeper = &v->walk->base;
    int64_t last = 0, came;

    do {
        if (keeper_stopping(keeper))
            return true;
        keeper_beats(keeper);
        if (!activity_transfer_repeat(v->walk->db, v->walk->kv, a, &last, &came, err))
            return false;
        *units += came;
    } while (last > 0);
    return true;
}

/* What was in vain is told in each walk, and done again after a rest. */
static bool repeat(struct visit *v, const struct activity *a, struct stock_audit *audits, int64_t *units,
                   struct error *err)
{
    struct memory *memory = v->memory;
    int64_t began = clock_mono_ms();

    if (began >= memory->repeat_after) {
        if (!repeat_all(v, a, units, err))
            return false;
        memory->repeat_after = clock_mono_ms() + (clock_mono_ms() - began) * (REPEAT_SHARE - 1);
    }
    if (keeper_stopping(&v->walk->base))
        return true; /* perhaps not all were */
    return none_between(v, a, audits, err);
}

/* Shards that are not all there and on sale have another end: a rebuild. */
static bool level(struct visit *v, const struct activity *a, struct stock_audit *audits, struct error *err)
{
    struct db *db = v->walk->db;
    struct kv *kv = v->walk->kv;
    struct activity_look look;
    int64_t ended = 0, begun = 0;
    bool again = v->memory->transfer_off;

    if (!activity_look(kv, a, audits, &look, err))
        return false;
    if (look.faults[SHARD_FINE] < a->shards)
        return true;
    /* Nobody else moves units while the lock is held: what is between shards now was left there. */
    v->memory->transfer_off = look.transfer != 0;
    again = again && look.transfer != 0;
    if (!activity_transfer_finish(db, kv, a, &ended, err) || (again && !repeat(v, a, audits, &ended, err)))
        return false;
    /* What has just ended changed the shards; the next walk looks again. */
    if (a->state == ACTIVITY_RUNNING && look.transfer == 0 && ended == 0 &&
        !begin_new(v->walk, a, audits, &v->memory->turn, &begun, err))
        return false;
    tell_moved(v->walk, a->id, begun, ended);
    return true;
}

static bool level_locked(struct visit *v, struct error *err)
{
    struct activity now;
    struct stock_audit *audits;
    bool ok;

    if (!activity_store_get(v->walk->db, v->memory->id, &now, err))
        return false;
    if (now.shards < 2 || !now.preheated || now.state == ACTIVITY_SETTLED)
        return true;
    audits = check_calloc((size_t)now.shards, sizeof *audits);
    ok = level(v, &now, audits, err);
    free(audits);
    return ok;
}

bool walk_level(struct visit *v, struct error *err)
{
    struct db *db = v->walk->db;
    bool locked = false, ok;

    if (v->activity.shards < 2)
        return true;
    if (!activity_lock(db, v->memory->id, 0, &locked, err))
        return false;
    if (!locked)
        return true; /* a restock, a rebuild or a settlement; the next walk looks again */
    ok = level_locked(v, err);
    if (db_usable(db))
        activity_unlock(db, v->memory->id);
    if (ok || !db_usable(db) || error_class_of(err) == ERROR_CLASS_OUTAGE)
        return ok;
    v->done.need_person++;
    metric_add(v->walk->base.metrics, METRIC_WALK_NOT_MENDED, 1);
    log_event(LOG_EVENT_WALK_NEEDS_PERSON, LOG_INT("activity_id", v->memory->id), LOG_STR("kind", "transfer"),
              LOG_ERR(err));
    error_clear(err);
    return true;
}

/* ---- between the walks ---- */

/* Whether units should move, as far as an unlocked look can tell. */
static bool is_uneven(struct walk *walk, const struct activity_spread *s, bool *uneven, struct error *err)
{
    struct stock_audit *audits = check_calloc((size_t)s->shards, sizeof *audits);
    struct error *errs = check_calloc((size_t)s->shards, sizeof *errs);
    struct activity_move moves[ACTIVITY_MOVES_MAX];
    bool ok = stock_audit_many(walk->kv, s->id, s->shards, audits, errs, err), whole = ok;

    for (int32_t i = 0; i < s->shards && whole; i++)
        whole = errs[i].code == ERROR_NONE && audits[i].code == STOCK_AUDIT_PRESENT;
    *uneven = whole && plan(audits, s->shards, NULL, 0, moves) > 0;
    free(audits);
    free(errs);
    return ok;
}

/* As in a walk; but what is between shards already is left to that, which knows whether it was there before. */
static bool level_now(struct walk *walk, const struct activity *a, struct error *err)
{
    struct stock_audit *audits = check_calloc((size_t)a->shards, sizeof *audits);
    struct activity_look look;
    int64_t ended = 0, begun = 0;
    bool ok = activity_look(walk->kv, a, audits, &look, err);

    if (ok && look.faults[SHARD_FINE] == a->shards && look.transfer == 0)
        ok = activity_transfer_finish(walk->db, walk->kv, a, &ended, err) &&
             (ended > 0 || begin_new(walk, a, audits, NULL, &begun, err));
    tell_moved(walk, a->id, begun, ended);
    free(audits);
    return ok;
}

static bool level_again(struct walk *walk, int64_t id, struct error *err)
{
    struct activity now;
    bool locked = false, ok;

    if (!activity_lock(walk->db, id, 0, &locked, err))
        return false;
    if (!locked)
        return true; /* another walker, a restock, a rebuild or a settlement */
    ok = activity_store_get(walk->db, id, &now, err) &&
         (now.state != ACTIVITY_RUNNING || now.shards < 2 || level_now(walk, &now, err));
    if (db_usable(walk->db))
        activity_unlock(walk->db, id);
    return ok;
}

/* What is wrong with one activity is told by its walk, and keeps no other from being looked at. */
static bool is_over(struct walk *walk, const struct error *err)
{
    return !db_usable(walk->db) || error_class_of(err) == ERROR_CLASS_OUTAGE;
}

bool walk_level_all(struct walk *walk, struct error *err)
{
    struct activity_spread list[SPREAD_MAX];
    size_t count;

    if (!walk->levels && !activity_level_elect(walk->db, &walk->levels, err))
        return false;
    if (!walk->levels)
        return true;
    if (!activity_transfer_spread(walk->db, list, SPREAD_MAX, &count, err))
        return false;
    for (size_t i = 0; i < count && !keeper_stopping(&walk->base); i++) {
        bool uneven = false;

        keeper_beats(&walk->base);
        if ((!is_uneven(walk, &list[i], &uneven, err) || (uneven && !level_again(walk, list[i].id, err))) &&
            is_over(walk, err))
            return false;
        error_clear(err);
    }
    return true;
}
