/* Whether Redis and the gates know what the database says. The cheap question is asked in every turn: one round trip
 * for all activities. What it answers otherwise than expected is looked into under the activity's lock, so that nobody
 * works at it meanwhile (a rebuild for instance, whose half-made shards are no alarm). */
#include "calendar_private.h"

#include <stdio.h>
#include <stdlib.h>

#include "orderd/activity_apply.h"
#include "orderd/activity_move.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"

/* A shard that Redis threw back (a failover), or that foreign hands changed, differs although the announced state is
 * right; so all shards are looked at so often. */
#define CHECK_MS 30000

/* Its keys are there until the last payment can have timed out; later only the walk keeps some of them. */
static bool has_keys(const struct activity *a, int64_t now)
{
    struct stock_plan plan;

    activity_plan(a, 0, &plan);
    return a->preheated && plan.expire_at > now;
}

static size_t keep_those_with_keys(struct calendar *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->count; i++) {
        if (has_keys(&c->all[i], c->now))
            c->all[n++] = c->all[i];
    }
    return c->count = n;
}

static bool open_kv(struct calendar *c, struct error *err)
{
    char name[64];

    if (c->kv)
        return true;
    snprintf(name, sizeof name, "orderd-%.40s-calendar", c->base.shared->instance);
    c->kv = kv_open(c->base.conf, name, err);
    c->next_check = 0; /* another server perhaps, or one that lost its last second */
    return c->kv != NULL;
}

/* ---- one activity ---- */

static void note_row(void *arg, const struct activity *activity)
{
    *(struct activity *)arg = *activity;
}

static void alarm_of(const struct activity *a, const struct activity_look *look)
{
    enum shard_fault worst = SHARD_FINE;

    for (int fault = SHARD_FAULT_COUNT - 1; fault > SHARD_FINE; fault--) {
        if (look->faults[fault] > 0 && fault != SHARD_OTHER_WINDOW)
            worst = (enum shard_fault)fault;
    }
    if (worst == SHARD_FINE)
        return;
    log_event(LOG_EVENT_ACTIVITY_SHARDS, LOG_INT("activity_id", a->id), LOG_INT("shard", look->first[worst]),
              LOG_STR("what", shard_fault_what(worst)), LOG_INT("missing", look->faults[SHARD_MISSING]),
              LOG_INT("damaged", look->faults[SHARD_DAMAGED]), LOG_INT("other_epoch", look->faults[SHARD_OTHER_EPOCH]),
              LOG_INT("paused", look->faults[SHARD_PAUSED]));
}

static void note_told(struct calendar *c, const struct activity *a, const struct activity_applied *applied)
{
    bool announced = applied->announced.code == STOCK_ANNOUNCE_ANNOUNCED;

    if (applied->changed == 0 && !announced)
        return;
    log_event(LOG_EVENT_ACTIVITY_TOLD, LOG_INT("activity_id", a->id), LOG_STR("state", activity_state_name(a->state)),
              LOG_INT("shards_changed", applied->changed), LOG_INT("announced", announced));
    metric_add(c->base.metrics, METRIC_ACTIVITIES_TOLD, 1);
}

/* Where each shard has its times, the gates alone may have to be told; that also sets the TTL of what they read. */
static bool tell(struct calendar *c, const struct activity *a, const struct activity_look *look, struct error *err)
{
    struct stock_announcement announcement = activity_announcement(a);
    struct activity_applied applied = {.first_fault = -1};

    if (look->faults[SHARD_OTHER_WINDOW] > 0 ? !activity_apply(c->kv, a, &applied, err)
                                             : !stock_announce(c->kv, &announcement, &applied.announced, err))
        return false;
    note_told(c, a, &applied);
    return true;
}

/* The row again: it may have moved before the lock was had. */
static bool look_and_mend(struct calendar *c, int64_t id, struct error *err)
{
    struct activity a = {.state = ACTIVITY_SETTLED};
    struct activity_look look;
    struct stock_audit *audits;
    bool ok;

    if (!activity_read(c->db, &id, 1, note_row, &a, err))
        return false;
    if (a.state == ACTIVITY_SETTLED || !has_keys(&a, c->now))
        return true;
    audits = check_calloc((size_t)a.shards, sizeof *audits);
    ok = activity_look(c->kv, &a, audits, &look, err) && tell(c, &a, &look, err);
    free(audits);
    if (ok)
        alarm_of(&a, &look);
    return ok;
}

static bool mend(struct calendar *c, int64_t id, struct error *err)
{
    bool locked, ok;

    if (!activity_lock(c->db, id, 0, &locked, err))
        return false;
    if (!locked) /* somebody is at it */
        return true;
    ok = look_and_mend(c, id, err);
    activity_unlock(c->db, id);
    return ok;
}

/* ---- all of them ---- */

/* One round trip for so many. */
#define CHUNK 64

static bool tell_chunk(struct calendar *c, const struct activity *list, size_t count, bool check, struct error *err)
{
    struct stock_announcement wanted[CHUNK];
    struct stock_announced there[CHUNK];
    struct error errs[CHUNK] = {0};

    for (size_t i = 0; i < count; i++) {
        wanted[i] = activity_announcement(&list[i]);
        wanted[i].look = true;
    }
    if (!stock_announce_many(c->kv, wanted, count, there, errs, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        bool differs = errs[i].code != ERROR_NONE || there[i].code != STOCK_ANNOUNCE_ALREADY;

        if ((differs || check) && !mend(c, list[i].id, err))
            return false;
    }
    return true;
}

bool calendar_tell(struct calendar *c, struct error *err)
{
    size_t count = keep_those_with_keys(c);
    bool check;

    if (count == 0)
        return true;
    if (!open_kv(c, err))
        return false;
    check = clock_mono_ms() >= c->next_check;
    for (size_t i = 0; i < count; i += CHUNK) {
        if (!tell_chunk(c, c->all + i, count - i < CHUNK ? count - i : CHUNK, check, err))
            return false;
    }
    if (check)
        c->next_check = clock_mono_ms() + CHECK_MS;
    return true;
}
