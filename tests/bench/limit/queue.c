/* How fast RabbitMQ takes and gives persistent messages of an order's size. */
#include <stdio.h>
#include <string.h>

#include "limit.h"

#define NAME      "bench.limit"
#define IN_FLIGHT 2000 /* published and not confirmed, at most */

static void declare(amqp_connection_state_t broker, const char *type)
{
    amqp_table_entry_t entry = {.key = amqp_cstring_bytes("x-queue-type"),
                                .value = {.kind = AMQP_FIELD_KIND_UTF8, .value = {.bytes = amqp_cstring_bytes(type)}}};
    amqp_table_t arguments = {.num_entries = 1, .entries = &entry};

    amqp_queue_delete(broker, 1, amqp_cstring_bytes(NAME), 0, 0);
    limit_broker_ok(broker, "queue.delete");
    amqp_queue_declare(broker, 1, amqp_cstring_bytes(NAME), 0, 1, 0, 0, arguments);
    limit_broker_ok(broker, "queue.declare");
}

static void publish(amqp_connection_state_t broker, long i)
{
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_CONTENT_TYPE_FLAG,
                                          .content_type = amqp_cstring_bytes("application/json"),
                                          .delivery_mode = AMQP_DELIVERY_PERSISTENT};
    char body[256];

    snprintf(body, sizeof body,
             "{\"v\":1,\"order_no\":\"%019ld\",\"activity_id\":1001,\"user_id\":%ld,\"user_seq\":0,\"sku_id\":77,"
             "\"quantity\":1,\"amount\":9900,\"shard\":0,\"epoch\":1,\"reserved_at\":1764400000123}",
             i, i);
    if (amqp_basic_publish(broker, 1, amqp_empty_bytes, amqp_cstring_bytes(NAME), 0, 0, &properties,
                           amqp_cstring_bytes(body)) != AMQP_STATUS_OK)
        limit_fail("rabbitmq: no publish");
}

/* Takes confirms until so few are missing. Quorum queues confirm out of order: a multiple counts all up to its tag,
 * any other one; what a later multiple covers again would be counted twice, so the tags are kept. */
static struct {
    long published, confirmed;
    unsigned char seen[1 << 16];
    uint64_t low; /* all tags up to here are confirmed */
} confirms;

static void take_confirm(const amqp_basic_ack_t *ack)
{
    uint64_t from = ack->multiple ? confirms.low + 1 : ack->delivery_tag;

    for (uint64_t tag = from; tag <= ack->delivery_tag; tag++)
        confirms.seen[tag % sizeof confirms.seen] = 1;
    while (confirms.seen[(confirms.low + 1) % sizeof confirms.seen]) {
        confirms.low++;
        confirms.seen[confirms.low % sizeof confirms.seen] = 0;
        confirms.confirmed++;
    }
}

static void wait_until_missing(amqp_connection_state_t broker, long most)
{
    amqp_frame_t frame;

    while (confirms.published - confirms.confirmed > most) {
        if (amqp_simple_wait_frame(broker, &frame) != AMQP_STATUS_OK)
            limit_fail("rabbitmq: no confirm");
        if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_BASIC_ACK_METHOD)
            limit_fail("rabbitmq: a publish was refused");
        take_confirm(frame.payload.method.decoded);
        amqp_maybe_release_buffers(broker);
    }
}

void limit_queue(char **arguments)
{
    long count = limit_number(arguments[0], 1, 100000000), prefetch = limit_number(arguments[2], 4, 65535);
    amqp_connection_state_t broker = limit_broker(), consumer = limit_broker();
    amqp_envelope_t message;
    double began;

    declare(broker, arguments[1]);
    amqp_confirm_select(broker, 1);
    limit_broker_ok(broker, "confirm.select");
    began = limit_seconds();
    for (long i = 1; i <= count; i++) {
        publish(broker, i);
        confirms.published++;
        wait_until_missing(broker, IN_FLIGHT);
    }
    wait_until_missing(broker, 0);
    limit_print("publish", count, limit_seconds() - began);

    began = limit_seconds();
    limit_consume(consumer, NAME, prefetch);
    for (long i = 1; i <= count; i++) {
        limit_take(consumer, true, &message);
        if (i % (prefetch / 4) == 0 || i == count)
            limit_ack(consumer, message.delivery_tag);
        amqp_destroy_envelope(&message);
        amqp_maybe_release_buffers(consumer);
    }
    limit_print("consume", count, limit_seconds() - began);
    amqp_queue_delete(broker, 1, amqp_cstring_bytes(NAME), 0, 0);
    limit_broker_ok(broker, "queue.delete");
}
