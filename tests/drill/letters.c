/* What a drill needs of the broker:
 *
 *   drill_letters CONF take QUEUE           takes out and prints every message, until none has come for half a second:
 *                                           message id, reason (as orderd reads it), tries, deliveries
 *   drill_letters CONF put QUEUE ID <BODY   publishes one message
 *
 * Ends with 1 and a sentence where the broker says no. */
#include <inttypes.h>
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

static int take(struct broker *b, const char *queue, struct error *err)
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
            print(&list[i]);
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

int main(int argc, char **argv)
{
    struct error err = {0};
    struct conf *conf = argc >= 4 ? conf_load(argv[1], &err) : NULL;
    struct broker *b = conf ? broker_open(conf, "drill letters", &err) : NULL;
    int code;

    if (!b)
        return failed(&err);
    code = strcmp(argv[2], "put") == 0 && argc == 5 ? put(b, argv[3], argv[4], &err) : take(b, argv[3], &err);
    broker_close(&b, true);
    conf_destroy(&conf);
    return code;
}
