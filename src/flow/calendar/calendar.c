#include "calendar_private.h"

#include <stdlib.h>

#include "orderd/activity_move.h"
#include "orderd/activity_store.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"

/* ---- one turn ---- */

static void keep(void *arg, const struct activity *activity)
{
    struct calendar *c = arg;

    if (c->count == c->room) {
        c->room = c->room ? c->room * 2 : 16;
        c->all = check_realloc(c->all, c->room * sizeof *c->all);
    }
    c->all[c->count++] = *activity;
}

static bool read_rows(struct calendar *c, struct error *err)
{
    c->count = 0;
    return activity_store_now(c->db, &c->now, err) && activity_read_unsettled(c->db, keep, c, err);
}

static bool move(struct calendar *c, struct activity *a, struct error *err)
{
    enum activity_state to = activity_due_state(a, c->now);
    bool moved;

    if (to == a->state)
        return true;
    if (!activity_move_due(c->db, a, to, &moved, err))
        return false;
    if (!moved) /* somebody else did, or moved its times: the next turn reads them */
        return true;
    log_event(LOG_EVENT_ACTIVITY_MOVED, LOG_INT("activity_id", a->id), LOG_STR("from", activity_state_name(a->state)),
              LOG_STR("to", activity_state_name(to)));
    metric_add(c->base.metrics, METRIC_ACTIVITIES_MOVED, 1);
    a->state = to;
    return true;
}

static bool move_all(struct calendar *c, struct error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        if (!move(c, &c->all[i], err))
            return false;
    }
    return true;
}

static bool go_round(struct calendar *c, struct error *err)
{
    if (c->db && !db_usable(c->db))
        db_close(&c->db);
    if (!c->db)
        c->db = db_open(c->base.conf, err);
    return c->db && read_rows(c, err) && move_all(c, err) && calendar_tell(c, err);
}

/* ---- the keeper ---- */

static void close_connections(struct calendar *c)
{
    db_close(&c->db);
    kv_close(&c->kv);
}

static void open_calendar(struct keeper *keeper)
{
    struct calendar *c = (struct calendar *)keeper;

    backoff_init(&c->backoff, keeper->conf->mysql_reconnect_min, keeper->conf->mysql_reconnect_max, backoff_seed());
}

static int64_t turn(struct keeper *keeper)
{
    struct calendar *c = (struct calendar *)keeper;
    struct error err = {0};

    if (go_round(c, &err)) {
        backoff_reset(&c->backoff);
        keeper_set_state(keeper, LANE_CONSUMING, NULL);
        return keeper->conf->activity_calendar_interval;
    }
    /* Whatever failed, and wherever: the connections go, and with the one to the database the lock of an activity. */
    log_event(LOG_EVENT_CALENDAR_FAILED, LOG_ERR(&err));
    close_connections(c);
    keeper_set_state(keeper, LANE_CONNECTING, &err);
    return backoff_next(&c->backoff);
}

static void close_calendar(struct keeper *keeper)
{
    struct calendar *c = (struct calendar *)keeper;

    close_connections(c);
    free(c->all);
}

const struct keeper_kind calendar_keeper = {
    .name = "calendar",
    .size = sizeof(struct calendar),
    .open = open_calendar,
    .turn = turn,
    .close = close_calendar,
};
