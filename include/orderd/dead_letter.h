/* Dead letters on their way into the queue order.dead: the original bytes, headers and properties, and why. */
#ifndef ORDERD_DEAD_LETTER_H
#define ORDERD_DEAD_LETTER_H

#include <stdbool.h>
#include "orderd/broker.h"
#include "orderd/error.h"
#include "orderd/reason.h"

struct dead_letter {
    const struct broker_delivery *delivery;
    enum reason reason;
    const char *detail; /* what exactly; "" : the reason's own sentence */
    const char *stage;  /* "create" ... */
    const char *origin; /* the queue it was taken from */
    const char *worker; /* who decided, e.g. "orderd@1 create.0" */
};

/* Publishes it (persistent, mandatory) with the headers orderd-reason, orderd-detail, orderd-stage, orderd-origin,
 * orderd-worker, orderd-attempt, orderd-first-failed-at, orderd-failed-at; the first failure and the attempts of an
 * earlier try are kept. Only CONFIRMED in *outcome means that it is there (see broker_publish). */
ORDERD_MUST_CHECK bool dead_letter_publish(struct broker *publisher, const struct dead_letter *letter,
                                           enum broker_outcome *outcome, struct error *err);

/* The trace id of a W3C `traceparent` header (32 hex digits), or an empty slice. Never fails a message. */
struct slice dead_letter_trace_id(const struct broker_delivery *delivery);

#endif
