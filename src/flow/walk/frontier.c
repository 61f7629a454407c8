#include "walk_private.h"

#include <stdio.h>

#include "orderd/broker.h"
#include "orderd/create_queue.h"
#include "orderd/log.h"
#include "orderd/order_store.h"

/* Rows that the median is taken of: fewer than the batches of a lane, so that they are of now; many enough that single
 * old ones do not matter. */
#define NEWEST_ROWS 200

int64_t walk_frontier(const struct walk_view *view, int64_t in_flight_ms, int64_t retry_ms)
{
    int64_t reached = view->waiting > 0 ? view->newest_order : view->now;

    if (!view->known || reached <= in_flight_ms + retry_ms)
        return 0;
    return reached - in_flight_ms - retry_ms;
}

static bool redis_time(struct kv *kv, int64_t *out, struct error *err)
{
    const struct slice command = slice_of("TIME");
    struct kv_reply *reply = kv_command(kv, &command, 1, err);

    if (!reply)
        return false;
    *out = kv_reply_integer(kv_reply_at(reply, 0)) * 1000 + kv_reply_integer(kv_reply_at(reply, 1)) / 1000;
    kv_reply_free(&reply);
    return *out > 0 || error_set(err, ERROR_KV_DATA, "TIME: unexpected answer");
}

/* A connection for one question: a walk may take minutes, in which nobody would answer its heartbeats. */
static bool ask_broker(const struct walk *walk, struct create_queues *queues, struct error *err)
{
    char name[64];
    struct broker *broker;
    bool ok;

    snprintf(name, sizeof name, "orderd@%.32s walk", walk->base.shared->instance);
    broker = broker_open(walk->base.conf, name, err);
    ok = broker && create_queue_look(broker, walk->base.conf, walk->base.shared->create_queues, queues, err);
    broker_close(&broker, ok);
    return ok;
}

bool walk_look(struct walk *walk, struct error *err)
{
    unsigned used = (unsigned)walk->base.conf->create_queues;
    struct walk_view view = {0};
    struct create_queues queues = {0};
    struct order_recent recent;
    struct error why = {0};

    if (walk->looked)
        return true;
    if (!redis_time(walk->kv, &view.now, err) || !order_store_recent(walk->db, used, NEWEST_ROWS, &recent, err))
        return false;
    view.known = ask_broker(walk, &queues, &why);
    view.waiting = queues.sum;
    view.newest_order = create_queue_reached(&queues, recent.median);
    if (!view.known)
        log_event(LOG_EVENT_WALK_BLIND, LOG_STR("queue", walk->base.conf->create_queue), LOG_ERR(&why));
    walk->view = view;
    walk->looked = true;
    return true;
}
