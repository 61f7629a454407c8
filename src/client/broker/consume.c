#include "broker_private.h"

#include <stdio.h>

#include "orderd/check.h"

bool broker_consume(struct broker *b, const char *queue, unsigned prefetch, const char *consumer_tag, struct error *err)
{
    amqp_basic_qos_t qos = {.prefetch_count = (uint16_t)prefetch};
    amqp_basic_consume_t consume = {.queue = bytes_of_text(queue)};

    CHECK(!b->consuming && prefetch >= 1 && prefetch <= UINT16_MAX && strlen(consumer_tag) < sizeof b->consumer_tag);
    if (!broker_usable(b, err))
        return false;
    snprintf(b->consumer_tag, sizeof b->consumer_tag, "%s", consumer_tag);
    consume.consumer_tag = bytes_of_text(b->consumer_tag);
    if (!broker_call(b, BROKER_CHANNEL, AMQP_BASIC_QOS_METHOD, &qos, AMQP_BASIC_QOS_OK_METHOD, b->call_timeout_ms, err))
        return false;
    inbox_reserve(&b->inbox, prefetch);
    b->consuming = true; /* deliveries may come together with the answer */
    b->cancelled = false;
    return broker_call(b, BROKER_CHANNEL, AMQP_BASIC_CONSUME_METHOD, &consume, AMQP_BASIC_CONSUME_OK_METHOD,
                       b->call_timeout_ms, err);
}

bool broker_cancel(struct broker *b, struct error *err)
{
    amqp_basic_cancel_t m = {.consumer_tag = bytes_of_text(b->consumer_tag)};

    if (!broker_usable(b, err))
        return false;
    if (!b->consuming)
        return true;
    if (!broker_call(b, BROKER_CHANNEL, AMQP_BASIC_CANCEL_METHOD, &m, AMQP_BASIC_CANCEL_OK_METHOD, b->call_timeout_ms,
                     err))
        return false;
    b->consuming = false;
    return true;
}

bool broker_cancelled(const struct broker *b)
{
    return b->cancelled;
}

bool broker_take(struct broker *b, struct broker_delivery *out, size_t max, int wait_ms, size_t *count,
                 struct error *err)
{
    *count = 0;
    if (!broker_pump(b, b->inbox.count ? 0 : wait_ms, err))
        return false;
    while (*count < max && b->inbox.count)
        inbox_get(&b->inbox, &out[(*count)++]);
    return true;
}

size_t broker_inbox(const struct broker *b)
{
    return b->inbox.count;
}

bool broker_ack(struct broker *b, uint64_t tag, bool multiple, struct error *err)
{
    amqp_basic_ack_t m = {.delivery_tag = tag, .multiple = multiple};

    CHECK(tag > 0); /* 0 would mean all of them */
    return broker_send(b, BROKER_CHANNEL, AMQP_BASIC_ACK_METHOD, &m, err);
}

bool broker_nack(struct broker *b, uint64_t tag, bool multiple, bool requeue, struct error *err)
{
    amqp_basic_nack_t m = {.delivery_tag = tag, .multiple = multiple, .requeue = requeue};

    CHECK(tag > 0);
    return broker_send(b, BROKER_CHANNEL, AMQP_BASIC_NACK_METHOD, &m, err);
}
