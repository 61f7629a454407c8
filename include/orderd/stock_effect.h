/* The payload of the local message `stock.return:<order_no>`: what stock_return is called with, as JSON. Written in the
 * transaction that decided it, run by the relay, repeatable. */
#ifndef ORDERD_STOCK_EFFECT_H
#define ORDERD_STOCK_EFFECT_H

#include <stdbool.h>
#include "orderd/stock.h"
#include "orderd/strbuf.h"

void stock_effect_encode(const struct stock_giveback *giveback, struct strbuf *out);

/* A read payload; `order_no` is the room that giveback.order_no points into, so the struct may not be copied. */
struct stock_effect {
    struct stock_giveback giveback;
    char order_no[STOCK_ORDER_NO_MAX + 1];
};

/* false, with INPUT_INVALID and what is wrong, where the payload is not one of ours. */
ORDERD_MUST_CHECK bool stock_effect_decode(struct slice payload, struct stock_effect *out, struct error *err);

#endif
