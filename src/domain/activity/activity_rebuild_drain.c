/* Orders that Redis accepted before the pause, on their way to becoming rows: they wait in the local message table, in
 * the work queue and the retry queues, and in the hands of lanes. */
#include "activity_rebuild_private.h"

#include <inttypes.h>
#include <stdio.h>

#include "orderd/balance.h"
#include "orderd/clock.h"
#include "orderd/topology.h"

#define LOOK_MS 200

static bool add_queue(struct rebuild *r, const char *name, int64_t *sum)
{
    uint32_t messages, consumers;

    if (!broker_queue_depth(r->how->broker, name, &messages, &consumers, r->err))
        return false;
    *sum += messages;
    return true;
}

/* Asked once: how many there are does not change meanwhile. */
static bool look_at_create_queues(struct rebuild *r)
{
    bool seen;

    if (r->create_queues == 0 && !create_queue_count(r->how->broker, r->how->conf, &r->create_queues, &seen, r->err))
        return false;
    return create_queue_look(r->how->broker, r->how->conf, r->create_queues, &r->queues, r->err);
}

/* *retrying: those in retry queues. */
static bool look_at_queues(struct rebuild *r, int64_t *retrying)
{
    const struct conf_delays *delays = &r->how->conf->retry_delays;

    *retrying = 0;
    if (!look_at_create_queues(r))
        return false;
    for (size_t i = 0; i < delays->count; i++) {
        char name[TOPOLOGY_RETRY_NAME_MAX];

        topology_retry_name(delays->ms[i], name);
        if (!add_queue(r, name, retrying))
            return false;
    }
    r->out->drain.waiting = r->queues.sum + *retrying;
    return true;
}

static bool look_at_local(struct rebuild *r)
{
    char paused_at[32], sql[240];

    clock_format_sql(paused_at, sizeof paused_at, r->paused_at);
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM local_message FORCE INDEX(k_due) WHERE state='pending' AND topic='order.create' AND "
             "created_at<='%s'",
             paused_at);
    return db_query_i64(r->how->db, slice_of(sql), 0, &r->out->drain.local, r->err);
}

bool rebuild_drain_look(struct rebuild *r)
{
    struct activity_drain *d = &r->out->drain;
    int64_t frontier, retrying;

    if (!look_at_local(r))
        return false;
    d->known = r->how->broker != NULL;
    if (!d->known)
        return true;
    if (!look_at_queues(r, &retrying) ||
        !balance_frontier(r->how->db, &r->queues, retrying, conf_retry_total(r->how->conf), &frontier, r->err))
        return false;
    d->passed = frontier > r->redis_now;
    return true;
}

static bool too_long(struct rebuild *r)
{
    const struct activity_drain *d = &r->out->drain;

    return error_set(r->err, ERROR_DB_CONFLICT,
                     "orders may still be on their way to becoming rows (%" PRId64 " messages in the queues, %" PRId64
                     " in the local message table); the sale stays paused",
                     d->waiting, d->local);
}

/* Nothing must wait for a while: a lane that has a batch in hand needs a moment, and where it has just lost its
 * database, a new connection. */
bool rebuild_drain(struct rebuild *r)
{
    int64_t now = clock_mono_ms(), deadline = now + r->how->drain_ms, quiet_since = now;

    for (;;) {
        const struct activity_drain *d = &r->out->drain;

        if (!rebuild_drain_look(r))
            return false;
        rebuild_progress(r, REBUILD_DRAINING);
        now = clock_mono_ms();
        if (!d->known || d->local > 0 || !d->passed)
            quiet_since = now;
        r->out->drained = d->known && now - quiet_since >= r->how->conf->mysql_reconnect_max;
        if (r->out->drained)
            return true;
        if (now >= deadline || !d->known)
            return r->how->force || too_long(r);
        clock_sleep_ms(LOOK_MS);
    }
}
