/* A message that kills whoever takes it comes back after each crash, and every crash costs all deliveries in hand one
 * of the few that the queue's delivery limit allows. So the window is narrow where that may be happening: a lane
 * subscribes with a prefetch of one and widens it when the first message is above suspicion; where a suspect turns up
 * in a full window, the lane takes no more, works on what it has in hand in groups, the smaller the more often one of
 * them came back, and goes on with a window of one. Only the message at fault then runs into the limit and becomes a
 * dead letter; and where processes die for another reason, most of what is in hand is soon out of danger. Nothing is
 * ever handed back for this. */
#include "lane.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* How many may be worked on together with one that was handed out so often: half as many after each crash, so that the
 * one at fault is alone after about ten. */
static size_t group_max(int64_t deliveries)
{
    if (deliveries < SUSPECT_DELIVERIES)
        return SIZE_MAX;
    return deliveries < SUSPECT_DELIVERIES + 8 ? (size_t)256 >> (deliveries - SUSPECT_DELIVERIES) : 1;
}

/* The length of the first group; in order, since acknowledgements go up to a tag. */
static size_t next_group(const struct item *items, size_t count)
{
    size_t most = SIZE_MAX, n = 0;

    while (n < count) {
        size_t max = group_max(dead_letter_deliveries(&items[n].delivery));

        most = max < most ? max : most;
        if (n + 1 > most && n > 0)
            break;
        n++;
    }
    return n;
}

/* A group through all steps to its acknowledgement; nothing where the consumer is lost, and these with it. */
static void work_group(struct create_lane *lane, struct item *items, size_t count)
{
    struct batch *batch = &lane->batch;

    if (!lane->consumer) {
        for (size_t i = 0; i < count; i++)
            broker_delivery_release(&items[i].delivery);
        return;
    }
    batch_release(lane);
    memcpy(batch->items, items, count * sizeof *items);
    batch->count = count;
    batch_decode(lane);
    lane_work(lane);
}

/* The batch, group by group. */
static void work_groups(struct create_lane *lane)
{
    size_t count = lane->batch.count;
    struct item *aside = check_malloc(count * sizeof *aside);

    memcpy(aside, lane->batch.items, count * sizeof *aside);
    lane->batch.count = 0; /* they are ours now: not to be released with the batch */
    for (size_t done = 0, n; done < count; done += n) {
        n = next_group(aside + done, count - done);
        work_group(lane, aside + done, n);
    }
    free(aside);
    batch_release(lane);
}

bool work_carefully(struct create_lane *lane, struct error *err)
{
    if (!broker_cancel(lane->consumer, err))
        return false;
    while (lane->batch.count > 0) {
        work_groups(lane);
        if (lane->consumer && broker_inbox(lane->consumer) > 0 && !lane_stopping(lane) && !batch_take(lane, err))
            return false;
    }
    return !lane->consumer || lane_stopping(lane) || subscribe(lane, true, err);
}
