/* What the payment and the cancel lane share; nobody else includes it.
 *
 *   payment.c  order.paid as a kind of lane
 *   cancel.c   order.cancel as a kind of lane
 *   request.c  a batch of either becomes changes of orders */
#ifndef ORDERD_REQUEST_H
#define ORDERD_REQUEST_H

#include "orderd/lane_engine.h"
#include "orderd/order_change.h"

struct request {
    struct lane_item base;
    struct order_change change; /* valid unless the bytes were refused */
    const char *why;            /* of a cancellation, in the arena */
};

/* lane_kind.own of both. */
struct request_own {
    unsigned probe; /* in a storm: which message asks next whether it is over */
};

/* lane_kind.work and lane_kind.report of both. */
bool request_work(struct lane *lane, struct error *err);
void request_report(struct lane *lane, const struct lane_item *base);

#endif
