/* Deliveries that have arrived and were not taken: a ring. One thread. */
#ifndef BROKER_INBOX_H
#define BROKER_INBOX_H

#include "orderd/broker.h"

struct inbox {
    struct broker_delivery *ring;
    size_t cap, head, count;
    size_t bytes; /* in the bodies */
};

/* Room for `extra` more than there are. */
void inbox_reserve(struct inbox *inbox, size_t extra);
bool inbox_full(const struct inbox *inbox);
void inbox_put(struct inbox *inbox, const struct broker_delivery *delivery); /* not when full; takes the message over */
void inbox_get(struct inbox *inbox, struct broker_delivery *out);            /* not when empty; gives it away */
void inbox_release(struct inbox *inbox);

#endif
