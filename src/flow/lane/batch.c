#include "engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/dead_letter.h"
#include "orderd/log.h"

#define BATCH_ARENA_CHUNK ((size_t)64 * 1024)

void batch_init(struct lane *lane)
{
    lane->arena = arena_create(BATCH_ARENA_CHUNK);
}

void batch_release(struct lane *lane)
{
    struct lane_batch *batch = &lane->batch;

    for (size_t i = 0; i < batch->count; i++) {
        if (settle_outcome(lane_item(lane, i)) == BROKER_OUTCOME_PENDING)
            lane_close_publisher(lane); /* it would still write there */
        free(lane_item(lane, i)->outcome);
        broker_delivery_release(&lane_item(lane, i)->delivery);
    }
    batch->count = 0;
    batch->acked = batch->decoded = 0;
    arena_reset(lane->arena);
}

void batch_destroy(struct lane *lane)
{
    batch_release(lane);
    free(lane->batch.items);
    lane->batch = (struct lane_batch){0};
    arena_destroy(&lane->arena);
}

const char *lane_detail(struct lane *lane, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return arena_strndup(lane->arena, text, strlen(text));
}

void lane_decide(struct lane *lane, struct lane_item *item, enum reason reason, const char *detail)
{
    CHECK(item->reason == REASON_NONE && reason != REASON_NONE);
    item->reason = reason;
    item->detail = detail;
    lane->kind->report(lane, item);
}

void lane_log_refused(const struct lane *lane, const struct lane_item *item)
{
    log_event(LOG_EVENT_MESSAGE_REFUSED, LOG_STR("reason", reason_name(item->reason)),
              LOG_STR("detail", item->detail[0] ? item->detail : reason_sentence(item->reason)),
              LOG_STR("next", lane_next(lane, item)), LOG_SLICE("message_id", item->delivery.message_id),
              LOG_SLICE("trace_id", dead_letter_trace_id(&item->delivery)), LOG_INT("bytes", item->delivery.body.len));
}

static void decode(struct lane *lane, struct lane_item *item)
{
    item->detail = "";
    item->attempt = dead_letter_attempt(&item->delivery);
    metric_add(lane->metrics, METRIC_MESSAGES_RECEIVED, 1);
    if (item->delivery.redelivered)
        metric_add(lane->metrics, METRIC_MESSAGES_REDELIVERED, 1);
    lane->kind->decode(lane, item);
}

#define TAKE_AT_ONCE 256

bool batch_take(struct lane *lane, struct error *err)
{
    struct lane_batch *batch = &lane->batch;
    size_t max = (size_t)lane->settings.batch_max, size = lane->kind->item_size;
    struct broker_delivery taken[TAKE_AT_ONCE];
    size_t got = 1;

    if (max > batch->capacity) {
        batch->items = check_realloc(batch->items, max * size);
        batch->capacity = max;
    }
    while (got > 0 && batch->count < max) {
        size_t room = max - batch->count < TAKE_AT_ONCE ? max - batch->count : TAKE_AT_ONCE;

        if (!broker_take(lane->consumer, taken, room, 0, &got, err))
            return false;
        memset(batch->items + batch->count * size, 0, got * size);
        for (size_t i = 0; i < got; i++)
            lane_item(lane, batch->count++)->delivery = taken[i];
    }
    if (batch->count > 0)
        FAULT_AT(lane->kind->taken);
    return true;
}

void batch_decode(struct lane *lane)
{
    for (; lane->batch.decoded < lane->batch.count; lane->batch.decoded++)
        decode(lane, lane_item(lane, lane->batch.decoded));
}

bool lane_open_items(const struct lane *lane)
{
    for (size_t i = 0; i < lane->batch.count; i++) {
        if (lane_item(lane, i)->reason == REASON_NONE)
            return true;
    }
    return false;
}
