#include "calendar_private.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

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
    metric_add(c->metrics, METRIC_ACTIVITIES_MOVED, 1);
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

static bool turn(struct calendar *c, struct error *err)
{
    if (c->db && !db_usable(c->db))
        db_close(&c->db);
    if (!c->db)
        c->db = db_open(c->conf, err);
    return c->db && read_rows(c, err) && move_all(c, err) && calendar_tell(c, err);
}

/* ---- the thread ---- */

static bool stopping(const struct calendar *c)
{
    return atomic_load_explicit(&c->stop, memory_order_acquire);
}

static void pause_for(const struct calendar *c, int64_t ms)
{
    struct pollfd wake = {.fd = c->wake_fd, .events = POLLIN};

    (void)poll(&wake, 1, (int)ms);
}

/* Whatever failed, and wherever: the connections go, and with the one to the database the lock of an activity. */
static int64_t give_up_turn(struct calendar *c, const struct error *err)
{
    log_event(LOG_EVENT_CALENDAR_FAILED, LOG_ERR(err));
    db_close(&c->db);
    kv_close(&c->kv);
    return backoff_next(&c->backoff);
}

static void run(void *data)
{
    struct calendar *c = data;

    c->metrics = metric_register();
    while (!stopping(c)) {
        struct error err = {0};
        int64_t wait;

        c->conf = atomic_load_explicit(&c->shared->conf, memory_order_acquire);
        atomic_store_explicit(&c->beat, clock_mono_ms(), memory_order_relaxed);
        if (turn(c, &err)) {
            backoff_reset(&c->backoff);
            wait = c->conf->activity_calendar_interval;
        } else {
            wait = give_up_turn(c, &err);
        }
        pause_for(c, wait);
    }
    kv_close(&c->kv);
    db_close(&c->db);
    free(c->all);
    atomic_store_explicit(&c->stopped, true, memory_order_release);
}

struct calendar *calendar_start(struct lane_shared *shared)
{
    struct calendar *c = check_calloc(1, sizeof *c);
    const struct conf *conf = atomic_load_explicit(&shared->conf, memory_order_acquire);

    c->shared = shared;
    c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(c->wake_fd >= 0);
    backoff_init(&c->backoff, conf->mysql_reconnect_min, conf->mysql_reconnect_max, backoff_seed());
    atomic_init(&c->beat, clock_mono_ms());
    c->thread = (struct thread){.name = "calendar", .run = run, .data = c};
    thread_start(&c->thread);
    return c;
}

int64_t calendar_beat(const struct calendar *c)
{
    return atomic_load_explicit(&c->beat, memory_order_relaxed);
}

void calendar_ask_stop(struct calendar *c)
{
    uint64_t one = 1;

    atomic_store_explicit(&c->stop, true, memory_order_release);
    CHECK(write(c->wake_fd, &one, sizeof one) == (ssize_t)sizeof one);
}

bool calendar_stopped(const struct calendar *c)
{
    return atomic_load_explicit(&c->stopped, memory_order_acquire);
}

void calendar_stop(struct calendar **calendar)
{
    struct calendar *c = *calendar;

    calendar_ask_stop(c);
    thread_join(&c->thread);
    close(c->wake_fd);
    free(c);
    *calendar = NULL;
}
