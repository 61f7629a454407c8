/* Which queue, of a kind that has several (lane_kind.queue): each lane takes one. */
#include "engine.h"

#include "orderd/log.h"

void queue_choose(struct lane *lane)
{
    const struct lane_kind *kind = lane->kind;

    if (!kind->queue)
        return;
    kind->queue_name(lane->conf, kind->queue(lane->conf, lane->index), lane->queue);
    lane->settings.queue = lane->queue;
    lane->spare = lane->index >= lane->settings.lanes;
}

/* Somebody deleted the queue that this lane was to empty: that is how it should end, and no operator must act. */
bool queue_there(struct lane *lane, struct error *err)
{
    enum broker_presence presence;
    unsigned number;

    if (!lane->spare || lane->cancelled)
        return true;
    if (!broker_find_queue(lane->consumer, lane->settings.queue, &presence, err))
        return false;
    if (presence != BROKER_MISSING)
        return true;
    lane->over = true;
    number = lane->kind->queue(lane->conf, lane->index);
    (void)atomic_compare_exchange_strong(&lane->shared->create_queues, &number, number - 1);
    log_event(LOG_EVENT_LANE_OVER, LOG_STR("queue", lane->settings.queue));
    return false;
}

/* The retry queue keeps the key that names where the message comes back to: a queue that is not used any more may be
 * deleted while the message waits, and then nothing takes it. */
const char *queue_home(struct lane *lane, const struct lane_item *item)
{
    if (item->home == 0)
        return lane->settings.queue;
    lane->kind->queue_name(lane->conf, item->home, lane->home);
    return lane->home;
}
