/* What the admin endpoint shows of this process, put together under a lock that is never held across a wait. */
#include "daemon.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/relay.h"
#include "orderd/survey_board.h"

/* How often to try to listen where the address was not to be had. */
#define SERVE_AGAIN_MS 5000

void view_lock(struct daemon *d)
{
    CHECK_ZERO(pthread_mutex_lock(&d->view_lock));
}

void view_unlock(struct daemon *d)
{
    CHECK_ZERO(pthread_mutex_unlock(&d->view_lock));
}

void view_set_phase(struct daemon *d, enum admin_phase phase, const char *why)
{
    view_lock(d);
    d->phase = phase;
    snprintf(d->why, sizeof d->why, "%s", why);
    view_unlock(d);
}

void view_set_rates(struct daemon *d, const struct admin_rates *rates)
{
    view_lock(d);
    d->rates = *rates;
    view_unlock(d);
}

void view_beat(struct daemon *d)
{
    atomic_store_explicit(&d->beat, clock_mono_ms(), memory_order_relaxed);
}

/* The largest configuration has 64 + 3 * 16 lanes. */
static struct admin_worker *add(struct admin_view *view, enum admin_role role, const char *name, int64_t beat)
{
    struct admin_worker *w;

    CHECK(view->worker_count < ADMIN_WORKERS_MAX);
    w = &view->workers[view->worker_count++];
    w->role = role;
    w->beat_age_ms = clock_mono_ms() - beat;
    snprintf(w->name, sizeof w->name, "%s", name);
    return w;
}

static void add_helper(struct admin_view *view, const char *name, int64_t beat)
{
    add(view, ADMIN_HELPER, name, beat)->condition.state = LANE_CONSUMING;
}

/* With the lock: while one ends, it is not looked at. */
static void add_helpers(struct daemon *d, struct admin_view *view)
{
    struct relay *relay = d->shared.relay;

    if (relay)
        relay_cleaner_condition(relay, &add(view, ADMIN_HELPER, "cleaner", relay_cleaner_beat(relay))->condition);
    if (d->guarded)
        add_helper(view, "guard", atomic_load_explicit(&d->guard_beat, memory_order_relaxed));
    if (d->admin)
        add_helper(view, "admin", admin_beat(d->admin));
}

static void add_workers(struct daemon *d, struct admin_view *view)
{
    for (unsigned i = 0; i < d->lane_count; i++)
        lane_condition_of(d->lanes[i],
                          &add(view, ADMIN_LANE, lane_name_of(d->lanes[i]), lane_beat_of(d->lanes[i]))->condition);
    for (size_t i = 0; i < DAEMON_KEEPERS_MAX; i++) {
        struct keeper *k = d->keepers[i];

        if (k)
            keeper_condition(k, &add(view, ADMIN_KEEPER, keeper_name(k), keeper_beat(k))->condition);
    }
    if (d->shared.relay) {
        relay_condition(d->shared.relay, &add(view, ADMIN_RELAY, "relay", relay_beat(d->shared.relay))->condition);
        view->relay_oldest_ms = relay_oldest_ms(d->shared.relay);
    }
    add_helpers(d, view);
}

static void collect(void *arg, struct admin_view *view)
{
    struct daemon *d = arg;
    const struct conf *conf = atomic_load_explicit(&d->shared.conf, memory_order_acquire);

    view->instance = d->instance;
    view->board = d->shared.board;
    view->started_at = d->started_at;
    view->pid = getpid();
    view->pid_ticks = d->pid_ticks;
    view->quiet = atomic_load_explicit(&d->shared.quiet, memory_order_relaxed);
    view->beat_limit_ms = report_beat_limit_ms(conf);
    view->ready_grace_ms = conf->admin_ready_grace;
    view->main_age_ms = clock_mono_ms() - atomic_load_explicit(&d->beat, memory_order_relaxed);
    metric_read(&view->sum);
    view_lock(d);
    view->phase = d->phase;
    snprintf(view->why, sizeof view->why, "%s", d->why);
    snprintf(view->refused, sizeof view->refused, "%s", d->refused);
    view->configured_at = d->configured_at;
    view->rates = d->rates;
    add_workers(d, view);
    view_unlock(d);
}

const struct admin_view *view_look(struct daemon *d)
{
    memset(d->seen, 0, sizeof *d->seen);
    collect(d, d->seen);
    return d->seen;
}

/* ---- for the fleet ---- */

static void add_reason(const struct admin_view *view, struct survey_self *self)
{
    for (size_t i = 0; i < view->worker_count; i++) {
        const struct admin_worker *w = &view->workers[i];

        if (!admin_role_decides(w->role) || admin_worker_ready(view, w))
            continue;
        snprintf(self->why, sizeof self->why, "%s %s%s%.300s", w->name,
                 admin_worker_stuck(view, w) ? "stuck" : lane_state_name(w->condition.state),
                 w->condition.why[0] ? ": " : "", w->condition.why);
        return;
    }
    snprintf(self->why, sizeof self->why, "%s", view->why);
}

static void add_address(const struct daemon *d, struct survey_self *self)
{
    const struct conf *conf = d->confs[0];
    bool colons = strchr(conf->admin_host, ':') != NULL;
    struct error err = {0};
    int port;

    if (d->admin && admin_port(conf, d->instance, &port, &err))
        snprintf(self->admin, sizeof self->admin, "%s%s%s:%d", colons ? "[" : "", conf->admin_host, colons ? "]" : "",
                 port);
}

void view_tell_fleet(struct daemon *d, const struct admin_view *view, bool stopped)
{
    struct survey_self self = {.stopped = stopped, .started_at = d->started_at};

    if (view->phase == ADMIN_DRAINING)
        self.state = REPLICA_DRAINING;
    else if (view->phase == ADMIN_QUIET)
        self.state = REPLICA_QUIET;
    else
        self.state = admin_view_ready(view) ? REPLICA_READY : REPLICA_NOT_READY;
    if (self.state == REPLICA_NOT_READY)
        add_reason(view, &self);
    add_address(d, &self);
    survey_board_set_self(d->shared.board, &self);
}

/* ---- the endpoint ---- */

void view_serve(struct daemon *d)
{
    const struct conf *conf = d->confs[0];
    struct error err = {0};
    struct admin *admin;

    if (d->admin || !conf->admin_enabled || clock_mono_ms() < d->admin_next)
        return;
    admin = admin_start(conf, d->instance, collect, d, &err);
    view_lock(d);
    d->admin = admin;
    view_unlock(d);
    d->admin_next = clock_mono_ms() + SERVE_AGAIN_MS;
    if (!d->admin)
        log_event(LOG_EVENT_ADMIN_DOWN, LOG_ERR(&err));
}
