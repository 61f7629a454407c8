/* The bare pipeline: what is there, BATCH at most, into one INSERT, one COMMIT, one acknowledgement. No checks but the
 * unique keys, no retries, no timers, no events, nothing that a crash would be survived by. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

#define BODY_MAX 512

static const char *queue;
static long count, batch;
static atomic_long done;

/* One order of orderload's, as a row. */
static char *add_row(char *end, bool first, const amqp_bytes_t *body)
{
    char text[BODY_MAX], order_no[41];
    long activity, user, sku, amount;
    int quantity;

    if (body->len >= sizeof text)
        limit_fail("a message is too long to be an order");
    memcpy(text, body->bytes, body->len);
    text[body->len] = '\0';
    if (sscanf(text,
               "{\"v\":1,\"order_no\":\"%40[^\"]\",\"activity_id\":%ld,\"user_id\":%ld,\"user_seq\":%*d,\"sku_id\":%ld,"
               "\"quantity\":%d,\"amount\":%ld",
               order_no, &activity, &user, &sku, &quantity, &amount) != 6)
        limit_fail("not an order: %s", text);
    return end + sprintf(end, "%s('%s',%ld,%ld,%ld,%d,%ld)", first ? "" : ",", order_no, activity, user, sku, quantity,
                         amount);
}

static void wait_for_some(amqp_connection_state_t broker)
{
    struct pollfd fd = {.fd = amqp_get_sockfd(broker), .events = POLLIN};

    if (!amqp_data_in_buffer(broker) && !amqp_frames_enqueued(broker))
        (void)poll(&fd, 1, 100);
}

static void *work(void *arg)
{
    amqp_connection_state_t broker = limit_broker();
    MYSQL *mysql = table_open();
    char *text = malloc((size_t)batch * TABLE_ROOM + TABLE_ROOM);

    limit_consume(broker, queue, 4 * batch);
    while (atomic_load(&done) < count) {
        char *end = text + sprintf(text, TABLE_INSERT);
        amqp_envelope_t message;
        uint64_t tag = 0;
        long n = 0;

        wait_for_some(broker);
        for (; n < batch && limit_take(broker, false, &message); n++) {
            end = add_row(end, n == 0, &message.message.body);
            tag = message.delivery_tag;
            amqp_destroy_envelope(&message);
        }
        amqp_maybe_release_buffers(broker);
        if (n == 0)
            continue;
        end += table_finish(end, n);
        limit_sql(mysql, text, (size_t)(end - text));
        limit_ack(broker, tag);
        atomic_fetch_add(&done, n);
    }
    amqp_connection_close(broker, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(broker);
    mysql_close(mysql);
    free(text);
    return arg;
}

void limit_pipe(char **arguments)
{
    long threads = limit_number(arguments[3], 1, 64);
    pthread_t ids[64];
    MYSQL *mysql = table_open();
    double began;

    queue = arguments[0];
    count = limit_number(arguments[1], 1, 100000000);
    batch = limit_number(arguments[2], 1, 10000);
    table_make(mysql);
    began = limit_seconds();
    for (long i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, NULL))
            limit_fail("no thread");
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    limit_print("pipe", count, limit_seconds() - began);
    mysql_close(mysql);
}
