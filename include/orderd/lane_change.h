/* Changes of orders by a lane: what a batch of messages asks for becomes transactions of many wishes
 * (order_change_run). Where one cannot be written it is halved, until a wish stands alone and is blamed only for what
 * happened to it alone. Only src/flow includes this; in the lane's thread. */
#ifndef ORDERD_LANE_CHANGE_H
#define ORDERD_LANE_CHANGE_H

#include "orderd/lane_engine.h"
#include "orderd/order_change.h"

/* A wish of a message. change.verdict is REASON_NONE until it is durable or refused, and stays then, so that a batch
 * that met an outage goes on with the rest. */
struct lane_wish {
    struct order_change change;
    const struct lane_item *item; /* whose message it is */
    const char *why;              /* where the database refuses it alone (CONSTRAINT, ERROR_UNKNOWN): a sentence */
};

/* What a lane needs for it: lane->own of such a kind, or a part of it. Zeroed at first. */
struct lane_changing {
    unsigned probe;                             /* while a storm is on, another wish asks each time */
    struct order_change room[ORDER_CHANGE_MAX]; /* of one transaction; free for other use between calls */
    struct lane_wish **list;                    /* see lane_changing_list */
    size_t list_room;
};

/* Room for a list of count wishes, until the next call. Kept between batches, not in their arena: a call of work that
 * is repeated in an outage would fill that. */
struct lane_wish **lane_changing_list(struct lane_changing *changing, size_t count);
void lane_changing_end(struct lane_changing *changing); /* frees what it holds, not itself */

/* Gives every wish of the list its verdict: in this order, at_once (1 .. ORDER_CHANGE_MAX) in one transaction. Those
 * that have one are passed over, and gone from the list afterwards. What is committed is handed to the relay. false: a
 * server is away, the schema is wrong or a storm is on, as work() of a kind says it. */
ORDERD_MUST_CHECK bool lane_change(struct lane *lane, struct lane_changing *changing, struct lane_wish **wishes,
                                   size_t count, size_t at_once, struct error *err);

#endif
