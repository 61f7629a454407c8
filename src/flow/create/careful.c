/* A message that kills whoever takes it comes back after each crash, and every crash costs all deliveries in hand one
 * of the few that the queue's delivery limit allows. So the window is narrow where that may be happening: a lane
 * subscribes with a prefetch of one and widens it when the first message is above suspicion; where a suspect turns up
 * in a full window, the lane takes no more, works on what it has in hand one by one, and goes on with a window of one.
 * Only the message at fault then runs into the limit and becomes a dead letter; nothing is ever handed back for this.
 */
#include "lane.h"

#include <stdio.h>
#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/dead_letter.h"
#include "orderd/log.h"

/* Handed out so often before, and a crash is the likely reason. (Returns and outages count too on brokers before 4.3.)
 */
#define SUSPECT_DELIVERIES 3

bool suspicious(const struct create_lane *lane)
{
    for (size_t i = 0; i < lane->batch.count; i++) {
        if (dead_letter_deliveries(&lane->batch.items[i].delivery) >= SUSPECT_DELIVERIES)
            return true;
    }
    return false;
}

bool subscribe(struct create_lane *lane, bool careful, struct error *err)
{
    unsigned prefetch = careful ? 1 : (unsigned)lane->conf->create_prefetch;
    char tag[sizeof lane->worker + 16];

    /* Never the same tag twice on a channel: a quorum queue takes it for the same consumer come back, and hands out
     * again what the cancelled one still has in hand (seen on 3.10: one message in about fifty subscriptions came
     * twice). */
    snprintf(tag, sizeof tag, "%s #%u", lane->worker, ++lane->subscriptions);
    lane->careful = careful;
    return broker_cancel(lane->consumer, err) &&
           broker_consume(lane->consumer, lane->conf->create_queue, prefetch, tag, err);
}

void note_suspicion(struct create_lane *lane, bool suspect)
{
    if (suspect == lane->alarmed)
        return;
    lane->alarmed = suspect;
    log_event(suspect ? LOG_EVENT_LANE_CAREFUL : LOG_EVENT_LANE_CONFIDENT, LOG_INT("messages", lane->batch.count));
}

/* One delivery through all steps to its acknowledgement. false: the consumer is lost, and the rest with it. */
static bool work_one(struct create_lane *lane, struct item *item)
{
    struct batch *batch = &lane->batch;

    batch_release(lane);
    batch->items[batch->count++] = *item;
    *item = (struct item){0};
    batch_decode(lane);
    lane_work(lane);
    return lane->consumer != NULL;
}

static bool work_rest(struct create_lane *lane, struct error *err)
{
    while (lane->consumer && broker_inbox(lane->consumer) > 0 && !lane_stopping(lane)) {
        struct item item = {0};
        size_t got;

        if (!broker_take(lane->consumer, &item.delivery, 1, 0, &got, err))
            return false;
        if (got == 1 && !work_one(lane, &item))
            return true;
    }
    return true;
}

bool work_singly(struct create_lane *lane, struct error *err)
{
    size_t count = lane->batch.count;
    struct item *aside = check_malloc(count * sizeof *aside);
    bool ok;

    if (!broker_cancel(lane->consumer, err)) {
        free(aside);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        aside[i] = lane->batch.items[i];
    lane->batch.count = 0; /* they are ours now: not to be released with the batch */
    for (size_t i = 0; i < count; i++) {
        if (lane->consumer)
            (void)work_one(lane, &aside[i]);
        else
            broker_delivery_release(&aside[i].delivery);
    }
    free(aside);
    ok = work_rest(lane, err);
    batch_release(lane);
    return ok && (!lane->consumer || lane_stopping(lane) || subscribe(lane, true, err));
}
