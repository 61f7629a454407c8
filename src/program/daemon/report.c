/* What was done in the last second: one line in the log when anything was, and the service manager's status line. */
#include "daemon.h"

#include <inttypes.h>

#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/notify.h"
#include "orderd/relay.h"

/* A lane that has not gone round for so long is stuck in a call that nothing ends: let the service manager restart us.
 * Above the longest legal stay: a statement (mysql.read_timeout) and a broker call, each at most a minute or two, and a
 * login at each server of mysql.hosts, with what db_open says it may take; or a new connection to a broker none of
 * whose hosts answers (orderd/broker.h says how long that may take). */
int64_t report_beat_limit_ms(const struct conf *conf)
{
    int64_t servers = conf_node_count(conf->mysql_hosts) > 0 ? (int64_t)conf_node_count(conf->mysql_hosts) : 1;
    int64_t calls =
        2 * (conf->mysql_read_timeout + conf->broker_call_timeout) + servers * 3 * conf->mysql_connect_timeout;
    int64_t connecting = 4 * conf->broker_connect_timeout + conf->broker_call_timeout;

    return (calls > connecting ? calls : connecting) + 10000;
}

static uint64_t delta(const struct metric_sum *now, const struct daemon *d, enum metric metric)
{
    return now->counters[metric] - d->last.counters[metric];
}

/* Local messages that have been due for so long are worth a line even where nothing else happens. */
#define OVERDUE_MS 5000

static void log_rate(const struct daemon *d, const struct metric_sum *now, int64_t elapsed_ms)
{
    if (delta(now, d, METRIC_MESSAGES_RECEIVED) == 0 && delta(now, d, METRIC_RETURNED_TO_BROKER) == 0 &&
        delta(now, d, METRIC_RELAY_SENT) == 0 && delta(now, d, METRIC_ORDERS_CLOSED) == 0 &&
        relay_oldest_ms(d->shared.relay) < OVERDUE_MS)
        return;
    log_event(
        LOG_EVENT_RATE, LOG_INT("received", delta(now, d, METRIC_MESSAGES_RECEIVED)),
        LOG_INT("created", delta(now, d, METRIC_ORDERS_CREATED)),
        LOG_INT("duplicate", delta(now, d, METRIC_ORDERS_DUPLICATE)),
        LOG_INT("retried", delta(now, d, METRIC_ORDERS_RETRIED)),
        LOG_INT("rejected", delta(now, d, METRIC_ORDERS_REJECTED)), LOG_INT("paid", delta(now, d, METRIC_ORDERS_PAID)),
        LOG_INT("closed", delta(now, d, METRIC_ORDERS_CLOSED)), LOG_INT("swept", delta(now, d, METRIC_ORDERS_SWEPT)),
        LOG_INT("release_lag_p99_ms", metric_quantile(&d->last, now, METRIC_SPAN_RELEASE, 0.99) / 1000),
        LOG_INT("dead_lettered", delta(now, d, METRIC_ORDERS_DEAD_LETTERED)),
        LOG_INT("relay_sent", delta(now, d, METRIC_RELAY_SENT)),
        LOG_INT("relay_oldest_ms", relay_oldest_ms(d->shared.relay)), LOG_INT("batches", delta(now, d, METRIC_BATCHES)),
        LOG_INT("p50_us", metric_quantile(&d->last, now, METRIC_SPAN_CREATE, 0.5)),
        LOG_INT("p99_us", metric_quantile(&d->last, now, METRIC_SPAN_CREATE, 0.99)),
        LOG_INT("returned", delta(now, d, METRIC_RETURNED_TO_BROKER)), LOG_INT("elapsed_ms", elapsed_ms));
}

/* READY=1 once, when all lanes consume for the first time; after that, readiness is a line in the log and the status.
 */
static void tell_ready(struct daemon *d)
{
    if (!d->was_ready)
        notify_ready();
    d->was_ready = true;
}

static void note_readiness(struct daemon *d, unsigned ready)
{
    bool now = ready == d->lane_count;

    if (now == d->ready)
        return;
    d->ready = now;
    if (now)
        tell_ready(d);
    log_event(now ? LOG_EVENT_READY : LOG_EVENT_NOT_READY, LOG_INT("lanes_ready", ready),
              LOG_INT("lanes", d->lane_count));
}

static bool all_rest(const struct admin_view *view)
{
    for (size_t i = 0; i < view->worker_count; i++) {
        if (view->workers[i].role == ADMIN_LANE && view->workers[i].condition.state != LANE_QUIET)
            return false;
    }
    return true;
}

/* Not to be ready is by order then, and no line is due for it. Who starts quiet has started when its lanes rest. */
static void note_rest(struct daemon *d, const struct admin_view *view)
{
    d->ready = false;
    if (d->rested || !all_rest(view))
        return;
    d->rested = true;
    log_write(LOG_EVENT_RESTS, NULL);
    tell_ready(d);
}

/* ---- the service manager ---- */

static void add_first_trouble(struct strbuf *out, const struct admin_view *view)
{
    for (size_t i = 0; i < view->worker_count; i++) {
        const struct admin_worker *w = &view->workers[i];

        if (lane_state_ready(w->condition.state) || w->condition.state == LANE_QUIET || !w->condition.why[0])
            continue;
        strbuf_addf(out, "; %s %s: %s", w->name, lane_state_name(w->condition.state), w->condition.why);
        return;
    }
}

/* "running, ready; 1200 orders/s, 64 in hand; created 5120, ...": what is most wanted first, since it is often cut. */
static void add_status(struct strbuf *out, const struct daemon *d, const struct admin_view *view)
{
    const uint64_t *n = view->sum.counters;

    strbuf_addf(out, "%s", admin_phase_name(view->phase));
    if (view->phase == ADMIN_RUNNING)
        strbuf_add_str(out, admin_view_ready(view) ? ", ready" : ", not ready");
    if (view->phase == ADMIN_STARTING) {
        strbuf_addf(out, "%s%s", view->why[0] ? ": " : "", view->why);
        return;
    }
    if (view->refused[0])
        strbuf_addf(out, "; reload refused: %s", view->refused);
    if (admin_stuck(view))
        strbuf_addf(out, "; %s is stuck", admin_stuck(view));
    add_first_trouble(out, view);
    strbuf_addf(out, "; %u of %u lanes consuming, %" PRId64 " orders/s, %" PRId64 " messages in hand", lanes_ready(d),
                d->lane_count, view->rates.created, admin_in_hand(view));
    strbuf_addf(out,
                "; created %" PRIu64 ", duplicate %" PRIu64 ", dead-lettered %" PRIu64 "; oldest local message %" PRId64
                " ms overdue",
                n[METRIC_ORDERS_CREATED], n[METRIC_ORDERS_DUPLICATE], n[METRIC_ORDERS_DEAD_LETTERED],
                view->relay_oldest_ms);
}

static void tell_status(const struct daemon *d, const struct admin_view *view)
{
    struct strbuf out = STRBUF_INIT;

    add_status(&out, d, view);
    notify_status("%s", out.data);
    strbuf_release(&out);
}

void report_status(struct daemon *d)
{
    tell_status(d, view_look(d));
}

/* Whoever is stuck is named whether or not there is a watchdog. */
static void feed_watchdog(struct daemon *d, const struct admin_view *view, int64_t at)
{
    int64_t interval = notify_watchdog_interval_ms();
    const char *stuck = admin_stuck(view);

    if (stuck) {
        log_event(LOG_EVENT_THREAD_STUCK, LOG_STR("name", stuck), LOG_INT("limit_ms", view->beat_limit_ms));
    } else if (interval > 0 && at - d->watchdog_at >= interval) {
        d->watchdog_at = at;
        notify_watchdog();
    }
}

static void note_rates(struct daemon *d, const struct metric_sum *now, int64_t elapsed_ms)
{
    int64_t ms = elapsed_ms > 0 ? elapsed_ms : 1;
    struct admin_rates rates = {
        .received = (int64_t)delta(now, d, METRIC_MESSAGES_RECEIVED) * 1000 / ms,
        .created = (int64_t)delta(now, d, METRIC_ORDERS_CREATED) * 1000 / ms,
        .paid = (int64_t)delta(now, d, METRIC_ORDERS_PAID) * 1000 / ms,
        .closed = (int64_t)delta(now, d, METRIC_ORDERS_CLOSED) * 1000 / ms,
        .dead_lettered = (int64_t)delta(now, d, METRIC_ORDERS_DEAD_LETTERED) * 1000 / ms,
        .p50_us = metric_quantile(&d->last, now, METRIC_SPAN_CREATE, 0.5),
        .p99_us = metric_quantile(&d->last, now, METRIC_SPAN_CREATE, 0.99),
        .release_lag_p99_ms = metric_quantile(&d->last, now, METRIC_SPAN_RELEASE, 0.99) / 1000,
    };

    view_set_rates(d, &rates);
}

void report_second(struct daemon *d, bool draining)
{
    const struct admin_view *view;
    int64_t at = clock_mono_ms();

    view = view_look(d);
    if (view->phase == ADMIN_QUIET)
        note_rest(d, view);
    else if (!draining)
        note_readiness(d, lanes_ready(d));
    log_rate(d, &view->sum, at - d->last_at);
    note_rates(d, &view->sum, at - d->last_at);
    tell_status(d, view);
    feed_watchdog(d, view, at);
    view_tell_fleet(d, view, draining && d->lane_count == 0);
    d->last = view->sum;
    d->last_at = at;
}
