/* What the payment and the cancel lane share; nobody else includes it.
 *
 *   payment.c  order.paid as a kind of lane
 *   cancel.c   order.cancel as a kind of lane
 *   request.c  a batch of either becomes changes of orders */
#ifndef ORDERD_REQUEST_H
#define ORDERD_REQUEST_H

#include "orderd/lane_change.h"
#include "orderd/lane_engine.h"

struct request {
    struct lane_item base;
    struct lane_wish wish; /* its change is valid unless the bytes were refused */
    const char *why;       /* of a cancellation, in the arena */
};

/* Of both kinds, whose lane->own is a struct lane_changing. */
bool request_work(struct lane *lane, struct error *err);
void request_close(struct lane *lane);
void request_report(struct lane *lane, const struct lane_item *base);

#endif
