/* A message that kills whoever takes it comes back after each crash, and every crash costs all deliveries in hand one
 * of the few that the queue's delivery limit allows. So the window is narrow where that may be happening: a lane
 * subscribes with a prefetch of one and widens it when the first message is above suspicion; where a suspect turns up
 * in a full window, the lane takes no more, works on what it has in hand in groups, the smaller the more often one of
 * them came back, and goes on with a window of one. Only the message at fault then runs into the limit and becomes a
 * dead letter; and where processes die for another reason, most of what is in hand is soon out of danger. Nothing is
 * ever handed back for this. */
#include "engine.h"

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

bool lane_suspicious(const struct lane *lane)
{
    for (size_t i = 0; i < lane->batch.count; i++) {
        if (dead_letter_deliveries(&lane_item(lane, i)->delivery) >= SUSPECT_DELIVERIES)
            return true;
    }
    return false;
}

bool lane_subscribe(struct lane *lane, bool careful, struct error *err)
{
    unsigned prefetch = careful ? 1 : (unsigned)lane->settings.prefetch;
    char tag[sizeof lane->worker + 16];

    /* Never the same tag twice on a channel: a quorum queue takes it for the same consumer come back, and hands out
     * again what the cancelled one still has in hand (seen on 3.10: one message in about fifty subscriptions came
     * twice). */
    snprintf(tag, sizeof tag, "%s #%u", lane->worker, ++lane->subscriptions);
    lane->careful = careful;
    lane->cancelled = false;
    return broker_cancel(lane->consumer, err) &&
           broker_consume(lane->consumer, lane->settings.queue, prefetch, tag, err);
}

void lane_note_suspicion(struct lane *lane, bool suspect)
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

/* Deliveries of a batch, out of it. */
struct aside {
    unsigned char *items;
    size_t size;
};

static struct lane_item *aside_item(const struct aside *aside, size_t index)
{
    return (struct lane_item *)(void *)(aside->items + index * aside->size);
}

/* The length of the first group; in order, since acknowledgements go up to a tag. */
static size_t next_group(const struct aside *aside, size_t from, size_t end)
{
    size_t most = SIZE_MAX, n = 0;

    while (from + n < end) {
        size_t max = group_max(dead_letter_deliveries(&aside_item(aside, from + n)->delivery));

        most = max < most ? max : most;
        if (n + 1 > most && n > 0)
            break;
        n++;
    }
    return n;
}

/* A group through all steps to its acknowledgement; nothing where the consumer is lost, and these with it. */
static void work_group(struct lane *lane, const struct aside *aside, size_t from, size_t count)
{
    struct lane_batch *batch = &lane->batch;

    if (!lane->consumer) {
        for (size_t i = 0; i < count; i++)
            broker_delivery_release(&aside_item(aside, from + i)->delivery);
        return;
    }
    batch_release(lane);
    memcpy(batch->items, aside_item(aside, from), count * aside->size);
    batch->count = count;
    batch_decode(lane);
    lane_work(lane);
}

/* The batch, group by group. */
static void work_groups(struct lane *lane)
{
    size_t count = lane->batch.count;
    struct aside aside = {check_malloc(count * lane->kind->item_size), lane->kind->item_size};

    memcpy(aside.items, lane->batch.items, count * aside.size);
    lane->batch.count = 0; /* they are ours now: not to be released with the batch */
    for (size_t done = 0, n; done < count; done += n) {
        n = next_group(&aside, done, count);
        work_group(lane, &aside, done, n);
    }
    free(aside.items);
    batch_release(lane);
}

bool lane_work_carefully(struct lane *lane, struct error *err)
{
    if (!broker_cancel(lane->consumer, err))
        return false;
    while (lane->batch.count > 0) {
        work_groups(lane);
        if (lane->consumer && broker_inbox(lane->consumer) > 0 && !lane_stopping(lane) && !batch_take(lane, err))
            return false;
    }
    return !lane->consumer || lane->quiet || lane_stopping(lane) || lane_subscribe(lane, true, err);
}

bool lane_work_taken(struct lane *lane, struct error *err)
{
    bool suspect = lane_suspicious(lane);

    lane_note_suspicion(lane, suspect);
    if (suspect && !lane->careful)
        return lane_work_carefully(lane, err);
    batch_decode(lane);
    lane_work(lane);
    if (suspect || !lane->careful || !lane->consumer || lane->cancelled || lane->quiet || lane_stopping(lane))
        return true;
    return lane_subscribe(lane, false, err);
}
