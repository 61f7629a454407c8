/* Listening to order.event. */
#include "pay.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/order_event.h"
#include "orderd/topology.h"

#define KEPT_MS     60000
#define AGAIN_MS    500
#define PREFETCH    500
#define TAKE        100
#define MICROS_1970 "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))"

static bool declare(struct pay_ear *ear, struct error *err)
{
    const struct broker_argument expires = {.name = "x-expires", .integer = KEPT_MS};
    struct broker *broker = broker_open(ear->conf, "orderload events", err);
    enum broker_presence presence = BROKER_MISSING;
    struct error detail = {0};
    bool ok;

    if (!broker)
        return false;
    ok = broker_declare_queue(broker, ear->queue, &expires, 1, true, &presence, &detail, err);
    if (ok && presence != BROKER_PRESENT) {
        *err = detail;
        ok = error_prefix(err, "a queue for events");
    }
    ok = ok && broker_bind_queue(broker, ear->queue, topology_name(TOPOLOGY_EXCHANGE_EVENT), "#", err);
    broker_close(&broker, true);
    return ok;
}

static bool connect_ear(struct pay_ear *ear, struct error *err)
{
    ear->broker = broker_open(ear->conf, "orderload events", err);
    return ear->broker && broker_consume(ear->broker, ear->queue, PREFETCH, "orderload", err);
}

bool pay_ear_open(struct pay_ear *ear, const struct run *run, struct error *err)
{
    struct db *db = db_open(run->conf, err);
    bool ok = db != NULL;

    *ear = (struct pay_ear){.conf = run->conf, .activity = run->activity.id};
    snprintf(ear->queue, sizeof ear->queue, "orderload.events.%08x", run->salt);
    ok = ok && declare(ear, err) && connect_ear(ear, err) &&
         db_query_i64(db, slice_of("SELECT " MICROS_1970), 0, &ear->since_us, err);
    db_close(&db);
    return ok;
}

void pay_ear_close(struct pay_ear *ear)
{
    if (ear->broker)
        broker_close(&ear->broker, true);
    idset_release(&ear->ids);
    idset_release(&ear->orders);
    free(ear->heard);
}

/* ---- what was heard ---- */

static void count_up(uint8_t *n)
{
    *n = (uint8_t)(*n < UINT8_MAX ? *n + 1 : *n);
}

static void hear_refund(struct bill_heard *heard, const char *order_no, const char *payment_ref)
{
    char ref[64];

    for (unsigned n = 0; n < BILL_PAYMENTS; n++) {
        bill_payment_ref(ref, sizeof ref, order_no, n);
        if (payment_ref && strcmp(ref, payment_ref) == 0)
            count_up(&heard->refund[n]);
    }
}

static struct bill_heard *heard_of(struct pay_ear *ear, const char *order_no)
{
    bool fresh;
    uint32_t index = idset_add(&ear->orders, slice_of(order_no), &fresh);

    if (fresh && index >= ear->cap) {
        ear->cap = ear->cap ? ear->cap * 2 : 512;
        ear->heard = check_realloc(ear->heard, ear->cap * sizeof *ear->heard);
    }
    if (fresh)
        ear->heard[index] = (struct bill_heard){0};
    return &ear->heard[index];
}

static void hear(struct pay_ear *ear, const char *event, const json_t *entry)
{
    const char *order_no = json_string_value(json_object_get(entry, "order_no"));
    struct bill_heard *heard;

    if (!order_no || json_integer_value(json_object_get(entry, "activity_id")) != ear->activity)
        return;
    for (int kind = 0; kind < ORDER_EVENT_COUNT; kind++)
        ear->told[kind] += strcmp(event, order_event_name((enum order_event)kind)) == 0;
    heard = heard_of(ear, order_no);
    if (strcmp(event, order_event_name(ORDER_EVENT_CREATED)) == 0)
        count_up(&heard->created);
    else if (strcmp(event, order_event_name(ORDER_EVENT_PAID)) == 0)
        count_up(&heard->paid);
    else if (strcmp(event, order_event_name(ORDER_EVENT_CLOSED)) == 0)
        count_up(&heard->closed);
    else if (strcmp(event, order_event_name(ORDER_EVENT_REFUND_DUE)) == 0)
        hear_refund(heard, order_no, json_string_value(json_object_get(entry, "payment_ref")));
}

void pay_ear_take(struct pay_ear *ear, struct slice message_id, struct slice body)
{
    json_t *message = json_loadb(body.ptr, body.len, 0, NULL), *entry;
    const char *event = json_string_value(json_object_get(message, "event"));
    bool fresh = false;
    size_t i;

    (void)idset_add(&ear->ids, message_id, &fresh);
    ear->events += fresh;
    ear->repeats += !fresh;
    ear->unreadable += !event;
    if (event && fresh) {
        json_array_foreach(json_object_get(message, "orders"), i, entry) hear(ear, event, entry);
    }
    json_decref(message);
}

struct bill_heard pay_ear_heard(const struct pay_ear *ear, const char *order_no)
{
    uint32_t index = idset_find(&ear->orders, slice_of(order_no));

    return index == IDSET_NONE ? (struct bill_heard){0} : ear->heard[index];
}

/* ---- listening ---- */

static bool take_some(struct pay_ear *ear, size_t *count, struct error *err)
{
    struct broker_delivery got[TAKE];
    bool ok = broker_take(ear->broker, got, TAKE, 0, count, err);

    if (!ok)
        return false;
    for (size_t i = 0; i < *count; i++)
        pay_ear_take(ear, got[i].message_id, got[i].body);
    if (*count > 0)
        ok = broker_ack(ear->broker, got[*count - 1].tag, true, err);
    for (size_t i = 0; i < *count; i++)
        broker_delivery_release(&got[i]);
    return ok;
}

void pay_ear_listen(struct pay_ear *ear)
{
    struct error err = {0};
    size_t count = 0;
    bool ok = true;

    if (!ear->broker && clock_mono_ms() < ear->not_before_ms)
        return;
    if (!ear->broker)
        ok = connect_ear(ear, &err);
    do
        ok = ok && take_some(ear, &count, &err);
    while (ok && count == TAKE);
    if (ok)
        return;
    if (ear->broker)
        broker_close(&ear->broker, false);
    ear->not_before_ms = clock_mono_ms() + AGAIN_MS;
}
