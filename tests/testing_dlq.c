#include "testing_dlq.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/exitcode.h"
#include "orderd/topology.h"

static struct conf *conf;
static struct broker *publisher;
static struct error err;

static struct broker *open_broker(void)
{
    struct broker *b = broker_open(conf, "test dlq", &err);

    ck_assert_ok(b != NULL, &err);
    return b;
}

/* What an earlier test left. */
static void empty_queue(void)
{
    struct broker *b = open_broker();
    struct broker_delivery d;
    size_t got;

    ck_assert_ok(broker_consume(b, "order.dead", 100, "test", &err), &err);
    do {
        ck_assert_ok(broker_take(b, &d, 1, 150, &got, &err), &err);
        if (got) {
            ck_assert_ok(broker_ack(b, d.tag, false, &err), &err);
            broker_delivery_release(&d);
        }
    } while (got);
    broker_close(&b, true);
}

void dlq_open(void)
{
    conf = testing_conf(NULL);
    empty_queue();
    publisher = open_broker();
    ck_assert_ok(broker_confirm_select(publisher, 100, &err), &err);
}

void dlq_close(void)
{
    broker_close(&publisher, true);
    conf_destroy(&conf);
}

void dlq_setup(void)
{
    testing_ctl_setup();
    CTL("migrate", "up");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    dlq_open();
}

void dlq_teardown(void)
{
    dlq_close();
    testing_ctl_teardown();
}

void dlq_publish(const struct dlq_letter *l)
{
    struct broker_header headers[4];
    enum broker_outcome outcome;
    struct broker_publication p = {.exchange = "order",
                                   .routing_key = "order.dead",
                                   .message_id = slice_of(l->id),
                                   .body = l->body,
                                   .headers = headers};

    if (l->reason)
        headers[p.header_count++] =
            (struct broker_header){.name = slice_of("orderd-reason"), .value = slice_of(l->reason)};
    if (l->origin)
        headers[p.header_count++] =
            (struct broker_header){.name = slice_of("orderd-origin"), .value = slice_of(l->origin)};
    if (l->failed_at)
        headers[p.header_count++] =
            (struct broker_header){.name = slice_of("orderd-failed-at"), .value = slice_of(l->failed_at)};
    headers[p.header_count++] =
        (struct broker_header){.name = slice_of("orderd-attempt"), .is_integer = true, .integer = 3};
    ck_assert_ok(broker_publish(publisher, &p, &outcome, &err), &err);
    ck_assert_ok(broker_wait_confirms(publisher, 10000, &err), &err);
    ck_assert_int_eq(outcome, BROKER_OUTCOME_CONFIRMED);
}

void dlq_publish_orders(const char *prefix, int count)
{
    char id[40], body[200];

    for (int i = 1; i <= count; i++) {
        snprintf(id, sizeof id, "%s%d", prefix, i);
        snprintf(body, sizeof body, "{\"v\":1,\"order_no\":\"%s\",\"activity_id\":%d}", id, 1001 + i % 2);
        dlq_publish(
            &(struct dlq_letter){id, "stock_short", "order.create", "2026-11-29T10:00:00.123Z", slice_of(body)});
    }
}

void dlq_has_orders(const char *prefix, int count)
{
    char id[40];

    for (int i = 1; i <= count; i++) {
        snprintf(id, sizeof id, "%s%d", prefix, i);
        ck_assert_msg(
            testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE message_id='%s' AND order_no='%s' AND "
                               "times=1 AND state='open' AND JSON_VALUE(CONVERT(body USING utf8mb4),'$.order_no')='%s'",
                               id, id, id) == 1,
            "%s is not there once", id);
    }
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter"), count);
}

uint32_t dlq_depth(void)
{
    struct broker *b = open_broker();
    uint32_t messages, consumers;

    ck_assert_ok(broker_queue_depth(b, topology_name(TOPOLOGY_QUEUE_DEAD), &messages, &consumers, &err), &err);
    broker_close(&b, true);
    return messages;
}

int64_t dlq_member(const char *name)
{
    json_error_t where;
    json_t *json = json_loads(testing_ctl.out, 0, &where);
    int64_t value;

    ck_assert_msg(json_is_integer(json_object_get(json, name)), "%s: %s", name, testing_ctl.out);
    value = json_integer_value(json_object_get(json, name));
    json_decref(json);
    return value;
}

void dlq_killed(const char *fault, const char *const *argv)
{
    program_faults(fault);
    program_start(&testing_ctl, argv);
    program_wait(&testing_ctl);
    program_faults(NULL);
    ck_assert_msg(testing_ctl.code == 128 + SIGKILL, "%s: %d %s", fault, testing_ctl.code, testing_ctl.err);
}

int64_t dlq_id(const char *message_id)
{
    return testing_ctl_number("SELECT id FROM dead_letter WHERE message_id='%s'", message_id);
}
