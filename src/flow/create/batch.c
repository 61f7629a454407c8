#include "lane.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/dead_letter.h"
#include "orderd/fault.h"
#include "orderd/log.h"

#define BATCH_ARENA_CHUNK ((size_t)64 * 1024)

void batch_init(struct create_lane *lane)
{
    lane->arena = arena_create(BATCH_ARENA_CHUNK);
}

void batch_release(struct create_lane *lane)
{
    struct batch *batch = &lane->batch;

    for (size_t i = 0; i < batch->count; i++) {
        if (item_outcome(&batch->items[i]) == BROKER_OUTCOME_PENDING)
            lane_close_publisher(lane); /* it would still write there */
        free(batch->items[i].outcome);
        broker_delivery_release(&batch->items[i].delivery);
    }
    batch->count = 0;
    batch->acked = batch->decoded = 0;
    arena_reset(lane->arena);
}

void batch_destroy(struct create_lane *lane)
{
    batch_release(lane);
    free(lane->batch.items);
    lane->batch = (struct batch){0};
    arena_destroy(&lane->arena);
}

const char *item_detail(struct create_lane *lane, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return arena_strndup(lane->arena, text, strlen(text));
}

static void log_failed(const struct item *item)
{
    const char *detail = item->detail[0] ? item->detail : reason_sentence(item->reason);

    if (item->order.activity_id == 0) /* not read that far */
        log_event(LOG_EVENT_MESSAGE_REFUSED, LOG_STR("reason", reason_name(item->reason)), LOG_STR("detail", detail),
                  LOG_SLICE("message_id", item->delivery.message_id),
                  LOG_SLICE("trace_id", dead_letter_trace_id(&item->delivery)),
                  LOG_INT("bytes", item->delivery.body.len));
    else
        log_event(LOG_EVENT_ORDER_FAILED, LOG_STR("reason", reason_name(item->reason)), LOG_STR("detail", detail),
                  LOG_STR("order_no", item->order.order_no), LOG_INT("activity_id", item->order.activity_id),
                  LOG_INT("user_id", item->order.user_id), LOG_INT("attempt", item->attempt),
                  LOG_SLICE("trace_id", dead_letter_trace_id(&item->delivery)));
}

static void log_settled(const struct item *item, enum log_event event)
{
    if (log_wanted(event))
        log_event(event, LOG_STR("order_no", item->order.order_no), LOG_INT("activity_id", item->order.activity_id),
                  LOG_INT("user_id", item->order.user_id), LOG_INT("quantity", item->order.quantity),
                  LOG_SLICE("trace_id", dead_letter_trace_id(&item->delivery)));
}

void item_decide(struct create_lane *lane, struct item *item, enum reason reason, const char *detail)
{
    CHECK(item->reason == REASON_NONE && reason != REASON_NONE);
    item->reason = reason;
    item->detail = detail;
    if (reason == REASON_CREATED || reason == REASON_DUPLICATE)
        storm_note_fine(lane, reason == REASON_CREATED);
    if (reason == REASON_CREATED) {
        metric_add(lane->metrics, METRIC_ORDERS_CREATED, 1);
        log_settled(item, LOG_EVENT_ORDER_CREATED);
    } else if (reason == REASON_DUPLICATE) {
        metric_add(lane->metrics, METRIC_ORDERS_DUPLICATE, 1);
        log_settled(item, LOG_EVENT_ORDER_DUPLICATE);
    } else {
        log_failed(item);
    }
}

static void decode(struct create_lane *lane, struct item *item)
{
    char detail[256];
    enum reason reason;

    item->detail = "";
    item->attempt = dead_letter_attempt(&item->delivery);
    metric_add(lane->metrics, METRIC_MESSAGES_RECEIVED, 1);
    if (item->delivery.redelivered)
        metric_add(lane->metrics, METRIC_MESSAGES_REDELIVERED, 1);
    reason = order_decode(item->delivery.body, &item->order, detail, sizeof detail);
    if (reason != REASON_NONE)
        item_decide(lane, item, reason, item_detail(lane, "%s", detail));
    else if (item->order.user_id == FAULT_POISON_USER)
        FAULT(CREATE_POISON);
}

#define TAKE_AT_ONCE 256

bool batch_take(struct create_lane *lane, struct error *err)
{
    struct batch *batch = &lane->batch;
    size_t max = (size_t)lane->conf->create_batch_max;
    struct broker_delivery taken[TAKE_AT_ONCE];
    size_t got = 1;

    if (max > batch->capacity) {
        batch->items = check_realloc(batch->items, max * sizeof *batch->items);
        batch->capacity = max;
    }
    while (got > 0 && batch->count < max) {
        size_t room = max - batch->count < TAKE_AT_ONCE ? max - batch->count : TAKE_AT_ONCE;

        if (!broker_take(lane->consumer, taken, room, 0, &got, err))
            return false;
        for (size_t i = 0; i < got; i++)
            batch->items[batch->count++] = (struct item){.delivery = taken[i]};
    }
    if (batch->count > 0)
        FAULT(CREATE_TAKEN);
    return true;
}

void batch_decode(struct create_lane *lane)
{
    for (; lane->batch.decoded < lane->batch.count; lane->batch.decoded++)
        decode(lane, &lane->batch.items[lane->batch.decoded]);
}

bool batch_open(const struct create_lane *lane)
{
    for (size_t i = 0; i < lane->batch.count; i++) {
        if (lane->batch.items[i].reason == REASON_NONE)
            return true;
    }
    return false;
}
