/* The work queues of orders: create.queue alone, or `create.queues` of them, over which the activities are spread,
 * since a queue of RabbitMQ is one process, and at most one core. The first keeps the name of the only one
 * ("order.create"), so that publishers that know no other go on; the others are "order.create.2", "order.create.3" ...
 *
 * The publisher chooses, by the activity: all orders of an activity wait in one queue. Nothing depends on it: a lane
 * creates an order from whichever queue it came. What lies in a queue that is not used any more (create.queues was
 * lowered) is still taken, as long as the queue is there. */
#ifndef ORDERD_CREATE_QUEUE_H
#define ORDERD_CREATE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/broker.h"
#include "orderd/conf.h"
#include "orderd/error.h"
#include "orderd/strbuf.h"

#define CREATE_QUEUES_MAX     16  /* of create.queues */
#define CREATE_QUEUE_NAME_MAX 208 /* create.queue, a dot, two digits, NUL */

/* number: from 1, at most CREATE_QUEUES_MAX. */
void create_queue_name(const struct conf *conf, unsigned number, char out[CREATE_QUEUE_NAME_MAX]);

/* Which of 1..queues takes the orders of this activity. Where one more queue is used, only activities that belong to
 * the new one move (jump consistent hash, Lamping and Veach 2014; docs/web-tier.md has it in other languages). Pure. */
unsigned create_queue_number(int64_t activity_id, unsigned queues);

/* The name of the activity's queue, by create.queues. */
void create_queue_of(const struct conf *conf, int64_t activity_id, char out[CREATE_QUEUE_NAME_MAX]);

/* Whether a queue of this name takes orders, or did so under another create.queues. create_queue: the configuration's;
 * "order.create" counts too. */
bool create_queue_is(const char *create_queue, struct slice name);

/* How many there are: create.queues, and those beyond, one after the other, that the broker still has. *seen is false
 * where this account may not look (RabbitMQ 4.2.6 and 4.3.0 want the right to configure for that). One passive declare
 * for each and one more, which the broker logs as an error: not to be repeated every second. Use a connection that does
 * nothing else. false: the broker is away. */
ORDERD_MUST_CHECK bool create_queue_count(struct broker *broker, const struct conf *conf, unsigned *count, bool *seen,
                                          struct error *err);

/* What waits in them, and how far their lanes have come. Each queue is first in, first out, but one may be far behind
 * another. */
struct create_queues {
    unsigned used, count;               /* create.queues; that there are (create_queue_count) */
    int64_t waiting[CREATE_QUEUES_MAX]; /* messages ready in each, from the first on */
    int64_t sum;                        /* of those */
};

/* count: that there were; below create.queues counts as that many. Of those beyond, one that is gone holds nothing. */
ORDERD_MUST_CHECK bool create_queue_look(struct broker *broker, const struct conf *conf, unsigned count,
                                         struct create_queues *out, struct error *err);

/* Of `by_queue`, a time for each of the first `used` queues (of what their lanes made last), the earliest of those in
 * which something waits: 0 where one that is not used any more holds something, since nobody can say how old that is;
 * INT64_MAX where nothing waits. Pure. */
int64_t create_queue_reached(const struct create_queues *queues, const int64_t *by_queue);

#endif
