/* What was done in the last second: one line in the log when anything was, and the service manager's status line. */
#include "daemon.h"

#include <inttypes.h>

#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/notify.h"
#include "orderd/relay.h"

/* A lane that has not gone round for so long is stuck in a call that nothing ends: let the service manager restart us.
 * Above the longest legal stay: a statement (mysql.read_timeout) and a broker call, each at most a minute or two. */
int64_t report_beat_limit_ms(const struct conf *conf)
{
    return 2 * (conf->mysql_read_timeout + conf->broker_call_timeout) + 10000;
}

static bool alive(const struct daemon *d, int64_t now)
{
    int64_t limit = report_beat_limit_ms(atomic_load_explicit(&d->shared.conf, memory_order_acquire));

    return lanes_alive(d, now, limit) && keepers_alive(d, now, limit) &&
           (relay_state(d->shared.relay) == LANE_STOPPED || now - relay_beat(d->shared.relay) < limit);
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
static void note_readiness(struct daemon *d, unsigned ready)
{
    bool now = ready == d->lane_count;

    if (now == d->ready)
        return;
    d->ready = now;
    if (now && !d->was_ready)
        notify_ready();
    d->was_ready = d->was_ready || now;
    log_event(now ? LOG_EVENT_READY : LOG_EVENT_NOT_READY, LOG_INT("lanes_ready", ready),
              LOG_INT("lanes", d->lane_count));
}

static void tell_manager(struct daemon *d, const struct metric_sum *now, unsigned ready, bool draining, int64_t at)
{
    int64_t interval = notify_watchdog_interval_ms();

    notify_status("%s; %u of %u lanes consuming; %" PRIu64 " orders/s; created %" PRIu64 ", duplicate %" PRIu64
                  ", dead-lettered %" PRIu64 "; oldest local message %" PRId64 " ms overdue",
                  draining ? "draining" : "running", ready, d->lane_count, delta(now, d, METRIC_ORDERS_CREATED),
                  now->counters[METRIC_ORDERS_CREATED], now->counters[METRIC_ORDERS_DUPLICATE],
                  now->counters[METRIC_ORDERS_DEAD_LETTERED], relay_oldest_ms(d->shared.relay));
    if (interval > 0 && at - d->watchdog_at >= interval && alive(d, at)) {
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
    struct metric_sum now;
    int64_t at = clock_mono_ms();
    unsigned ready = lanes_ready(d);

    metric_read(&now);
    if (!draining)
        note_readiness(d, ready);
    log_rate(d, &now, at - d->last_at);
    note_rates(d, &now, at - d->last_at);
    tell_manager(d, &now, ready, draining, at);
    view_tell_fleet(d, draining && d->lane_count == 0);
    d->last = now;
    d->last_at = at;
}
