#include "daemon.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "orderd/broker.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/db.h"
#include "orderd/log.h"
#include "orderd/notify.h"
#include "orderd/process.h"
#include "orderd/relay.h"
#include "orderd/survey_board.h"

static bool is_stop(int signal_)
{
    return signal_ == SIGTERM || signal_ == SIGINT;
}

/* Until the first TERM or INT. */
static void run_until_stop(struct daemon *d)
{
    int64_t next = clock_mono_ms();

    for (;;) {
        int64_t left = next - clock_mono_ms();
        int signal_ = signals_wait(left > 0 ? left : 0);

        if (is_stop(signal_))
            return;
        control_signal(d, signal_);
        view_beat(d);
        if (clock_mono_ms() >= next) {
            view_serve(d);
            report_second(d, false);
            next = clock_mono_ms() + 1000;
        }
    }
}

/* Nothing can be lost by it: what is not acknowledged goes back to the broker, what is committed is recognised when it
 * comes again. No destructor may block us now. */
__attribute__((noreturn)) static void end_at_once(const char *why)
{
    log_event(LOG_EVENT_STOP_FORCED, LOG_STR("why", why));
    broker_guard_shutdown_all();
    _exit(EXIT_TEMPORARY);
}

static void wait_stopped(struct daemon *d, bool (*stopped)(const struct daemon *), int64_t deadline)
{
    int64_t next = clock_mono_ms() + 1000;

    while (!stopped(d)) {
        int signal_ = signals_wait(20);

        view_beat(d);
        if (is_stop(signal_))
            end_at_once("a second signal asked for it");
        if (signal_ == SIGUSR2)
            control_dump(d);
        if (clock_mono_ms() > deadline)
            end_at_once("the drain took longer than daemon.drain_timeout");
        if (clock_mono_ms() >= next) {
            report_second(d, true);
            next = clock_mono_ms() + 1000;
        }
    }
}

static bool relay_stopped(const struct daemon *d)
{
    return relay_state(d->shared.relay) == LANE_STOPPED;
}

static void drain(struct daemon *d)
{
    struct relay *relay = d->shared.relay;
    const struct conf *conf = atomic_load_explicit(&d->shared.conf, memory_order_acquire);
    int64_t deadline = clock_mono_ms() + conf->daemon_drain_timeout;

    notify_stopping(conf->daemon_drain_timeout);
    view_set_phase(d, ADMIN_DRAINING, "");
    view_tell_fleet(d, view_look(d), false);
    report_status(d);
    log_event(LOG_EVENT_STOPPING, LOG_INT("drain_timeout_ms", conf->daemon_drain_timeout));
    lanes_ask_stop(d);
    wait_stopped(d, lanes_stopped, deadline);
    lanes_join(d);
    view_tell_fleet(d, view_look(d), true);
    wait_stopped(d, keepers_stopped, deadline);
    keepers_join(d);
    /* Only now: the last decisions of all of them are still handed over. */
    relay_ask_stop(d->shared.relay);
    wait_stopped(d, relay_stopped, deadline);
    view_lock(d);
    d->shared.relay = NULL;
    view_unlock(d);
    relay_stop(&relay);
}

static void log_totals(void)
{
    struct metric_sum sum;

    metric_read(&sum);
    log_event(LOG_EVENT_STOPPED, LOG_INT("received", sum.counters[METRIC_MESSAGES_RECEIVED]),
              LOG_INT("created", sum.counters[METRIC_ORDERS_CREATED]),
              LOG_INT("duplicate", sum.counters[METRIC_ORDERS_DUPLICATE]),
              LOG_INT("retried", sum.counters[METRIC_ORDERS_RETRIED]),
              LOG_INT("rejected", sum.counters[METRIC_ORDERS_REJECTED]),
              LOG_INT("paid", sum.counters[METRIC_ORDERS_PAID]), LOG_INT("closed", sum.counters[METRIC_ORDERS_CLOSED]),
              LOG_INT("dead_lettered", sum.counters[METRIC_ORDERS_DEAD_LETTERED]),
              LOG_INT("relay_sent", sum.counters[METRIC_RELAY_SENT]),
              LOG_INT("returned", sum.counters[METRIC_RETURNED_TO_BROKER]));
}

static void serve(struct daemon *d, const struct conf *conf)
{
    guard_start(d);
    view_lock(d);
    d->shared.relay = relay_start(&d->shared);
    view_unlock(d);
    control_running(d);
    lanes_start(d, conf);
    view_tell_fleet(d, view_look(d), false);
    keepers_start(d);
    run_until_stop(d);
    drain(d);
    guard_stop(d);
    log_totals();
}

enum exitcode daemon_run(struct conf **conf, const char *instance)
{
    struct daemon *d = check_calloc(1, sizeof *d);
    enum exitcode code;

    d->confs[d->conf_count++] = *conf;
    *conf = NULL;
    d->instance = instance;
    d->shared.instance = instance;
    d->shared.board = survey_board_create();
    d->shared.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(d->shared.stop_fd >= 0);
    atomic_init(&d->shared.conf, d->confs[0]);
    d->last_at = clock_mono_ms();
    d->started_at = d->configured_at = clock_wall_ms();
    if (!process_started(getpid(), &d->pid_ticks))
        d->pid_ticks = 0;
    atomic_init(&d->beat, clock_mono_ms());
    CHECK_ZERO(pthread_mutex_init(&d->view_lock, NULL));
    d->seen = check_calloc(1, sizeof *d->seen);
    signals_block();
    db_library_init();
    log_event(LOG_EVENT_STARTED, LOG_STR("version", ORDERD_VERSION), LOG_INT("pid", getpid()),
              LOG_STR("conf", d->confs[0]->path ? d->confs[0]->path : "built-in defaults"));
    view_serve(d);
    code = preflight(d, d->confs[0]);
    if (code == EXIT_OK && d->preflight_passed)
        serve(d, d->confs[0]);
    admin_stop(&d->admin);
    CHECK_ZERO(pthread_mutex_destroy(&d->view_lock));
    free(d->seen);
    db_library_end();
    survey_board_destroy(&d->shared.board);
    close(d->shared.stop_fd);
    while (d->conf_count > 0)
        conf_destroy(&d->confs[--d->conf_count]);
    free(d);
    return code;
}
