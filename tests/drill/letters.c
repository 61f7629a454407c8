/* What a drill needs of the broker:
 *
 *   drill_letters CONF take QUEUE           takes out and prints every message, until none has come for half a second:
 *                                           message id, reason (as orderd reads it), tries, deliveries
 *   drill_letters CONF put QUEUE ID <BODY   publishes one message
 *   drill_letters CONF fill QUEUE PREFIX N  publishes N dead letters of ids PREFIX1 and so on; every second one does
 * not say when it died drill_letters CONF listen QUEUE         makes a queue that gets all events drill_letters CONF
 * events QUEUE         takes out and prints every event, a line for each of its orders: message id, event, order number
 *
 * Ends with 1 and a sentence where the broker says no. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/broker.h"
#include "orderd/dead_letter.h"
#include "orderd/topology.h"

#define QUIET_MS 500
#define AT_ONCE  100

static int failed(const struct error *err)
{
    fprintf(stderr, "drill_letters: %s\n", err->text);
    return EXIT_FAILURE;
}

static void print(const struct broker_delivery *d)
{
    printf("%.*s\t%s\t%" PRId64 "\t%" PRId64 "\n", (int)d->message_id.len, d->message_id.ptr,
           reason_name(dead_letter_reason(d)), dead_letter_attempt(d), dead_letter_deliveries(d));
}

static void print_event(const struct broker_delivery *d)
{
    json_t *root = json_loadb(d->body.ptr, d->body.len, 0, NULL), *entry;
    size_t n;

    json_array_foreach(json_object_get(root, "orders"), n, entry) printf(
        "%.*s\t%s\t%s\n", (int)d->message_id.len, d->message_id.ptr, json_string_value(json_object_get(root, "event")),
        json_string_value(json_object_get(entry, "order_no")));
    json_decref(root);
}

static int listen_to_events(struct broker *b, const char *queue, struct error *err)
{
    static const struct broker_argument classic = {"x-queue-type", "classic", 0};
    enum broker_presence presence;
    struct error detail;

    if (!broker_declare_queue(b, queue, &classic, 1, true, &presence, &detail, err) ||
        !broker_bind_queue(b, queue, topology_name(TOPOLOGY_EXCHANGE_EVENT), "#", err))
        return failed(err);
    return presence == BROKER_PRESENT ? EXIT_SUCCESS : failed(&detail);
}

static int take(struct broker *b, const char *queue, void (*show)(const struct broker_delivery *), struct error *err)
{
    struct broker_delivery list[AT_ONCE];
    size_t got = 1;

    if (!broker_consume(b, queue, AT_ONCE, "drill", err))
        return failed(err);
    while (got > 0) {
        if (!broker_take(b, list, AT_ONCE, QUIET_MS, &got, err) ||
            (got > 0 && !broker_ack(b, list[got - 1].tag, true, err)))
            return failed(err);
        for (size_t i = 0; i < got; i++) {
            show(&list[i]);
            broker_delivery_release(&list[i]);
        }
    }
    return EXIT_SUCCESS;
}

static int put(struct broker *b, const char *queue, const char *id, struct error *err)
{
    static char body[65536];
    enum broker_outcome outcome;
    struct broker_publication p = {.exchange = topology_name(TOPOLOGY_EXCHANGE_ORDER),
                                   .routing_key = queue,
                                   .message_id = slice_of(id),
                                   .body = {body, fread(body, 1, sizeof body, stdin)}};

    if (!broker_confirm_select(b, 1, err) || !broker_publish(b, &p, &outcome, err) ||
        !broker_wait_confirms(b, 5000, err))
        return failed(err);
    return outcome == BROKER_OUTCOME_CONFIRMED ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool publish_letter(struct broker *b, const char *queue, const char *prefix, int n, struct error *err)
{
    static enum broker_outcome outcome;
    char id[64], body[160];
    const struct broker_header headers[] = {
        {.name = slice_of("orderd-origin"), .value = slice_of("order.create")},
        {.name = slice_of("orderd-reason"), .value = slice_of("stock_short")},
        {.name = slice_of("orderd-failed-at"), .value = slice_of("2026-11-29T10:00:00.123Z")},
    };
    struct broker_publication p = {.exchange = topology_name(TOPOLOGY_EXCHANGE_ORDER),
                                   .routing_key = queue,
                                   .headers = headers,
                                   .header_count = n % 2 ? 3 : 2};

    snprintf(id, sizeof id, "%s%d", prefix, n);
    snprintf(body, sizeof body, "{\"v\":1,\"order_no\":\"%s\",\"activity_id\":1001}", id);
    p.message_id = slice_of(id);
    p.body = slice_of(body);
    return broker_publish(b, &p, &outcome, err);
}

static int fill(struct broker *b, const char *queue, const char *prefix, int count, struct error *err)
{
    bool ok = broker_confirm_select(b, AT_ONCE, err);

    for (int i = 1; i <= count && ok; i++)
        ok = publish_letter(b, queue, prefix, i, err) && (i % AT_ONCE != 0 || broker_wait_confirms(b, 5000, err));
    return ok && broker_wait_confirms(b, 5000, err) ? EXIT_SUCCESS : failed(err);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct conf *conf = argc >= 4 ? conf_load(argv[1], &err) : NULL;
    struct broker *b = conf ? broker_open(conf, "drill letters", &err) : NULL;
    int code;

    if (!b)
        return failed(&err);
    if (strcmp(argv[2], "put") == 0 && argc == 5)
        code = put(b, argv[3], argv[4], &err);
    else if (strcmp(argv[2], "fill") == 0 && argc == 6)
        code = fill(b, argv[3], argv[4], (int)strtol(argv[5], NULL, 10), &err);
    else if (strcmp(argv[2], "listen") == 0)
        code = listen_to_events(b, argv[3], &err);
    else
        code = take(b, argv[3], strcmp(argv[2], "events") == 0 ? print_event : print, &err);
    broker_close(&b, true);
    conf_destroy(&conf);
    return code;
}
