/* Publishes with confirms, pipelined, and forgets nothing: what the broker did not confirm (connection lost, nack,
 * alarm, no queue) is published again until it does. Items are small; their messages are made when they are sent, so a
 * sale of any size needs no copy of its messages. One thread; it never waits for the broker but in publisher_turn
 * (wait_ms), while connecting, and, within broker.call_timeout, for a socket that takes no data. */
#ifndef ORDERD_LOAD_PUBLISH_H
#define ORDERD_LOAD_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/broker.h"
#include "orderd/conf.h"
#include "orderd/create_queue.h"
#include "spread.h"

enum publish_kind {
#define X(kind, name, label, dead) PUBLISH_##kind,
#include "orderd/tbl/load_publish.h"
#undef X
    PUBLISH_KINDS
};

struct publish_item {
    uint32_t number; /* of an order: its index in the book */
    uint8_t kind;
};

struct publish_message {
    struct strbuf body; /* empty when handed to the builder */
    char message_id[96];
    char traceparent[56];
    const char *routing_key;           /* the first create queue when handed to the builder */
    char queue[CREATE_QUEUE_NAME_MAX]; /* room for another one */
};

struct publish_calls {
    void (*build)(void *arg, const struct publish_item *item, struct publish_message *out);
    void (*sent)(void *arg,
                 const struct publish_item *item); /* handed to the broker, may come more than once; or NULL */
    void (*confirmed)(void *arg, const struct publish_item *item); /* once; it may add items; or NULL */
    void *arg;
};

struct publisher;

struct publisher *publisher_create(const struct conf *conf, const struct publish_calls *calls);
void publisher_destroy(struct publisher **publisher);

/* Puts an item behind those that wait. */
void publisher_add(struct publisher *publisher, struct publish_item item);

/* Sends what the window allows, takes confirms, reconnects when that is due; waits at most wait_ms for something to
 * arrive where there is nothing to send. */
void publisher_turn(struct publisher *publisher, int wait_ms);

/* Items that are not confirmed yet; of them, those not even sent. */
size_t publisher_open(const struct publisher *publisher);
size_t publisher_queued(const struct publisher *publisher);

/* How long nothing could be published, in ms, and why; 0 while it can. */
int64_t publisher_down_ms(const struct publisher *publisher, const struct error **why);

struct publish_totals {
    uint64_t confirmed[PUBLISH_KINDS];
    uint64_t again;     /* publications repeated because their outcome was unknown or a refusal */
    uint64_t too_large; /* given up: over the broker's own limit */
    uint64_t outages;
    struct spread latency; /* publish to confirm */
};

const struct publish_totals *publisher_totals(const struct publisher *publisher);
const char *publish_kind_name(enum publish_kind kind);
const char *publish_kind_label(enum publish_kind kind);
bool publish_kind_dead(enum publish_kind kind); /* ends as a dead letter */

#endif
