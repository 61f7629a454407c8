/* A message on its way to a retry queue or to the dead letters: the original bytes, headers and properties, and why. */
#ifndef ORDERD_DEAD_LETTER_H
#define ORDERD_DEAD_LETTER_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/broker.h"
#include "orderd/error.h"
#include "orderd/reason.h"

struct dead_letter {
    const struct broker_delivery *delivery;
    enum reason reason;
    const char *detail; /* what exactly; "" : the reason's own sentence */
    const char *stage;  /* "create" ... */
    const char *origin; /* the queue it was taken from */
    const char *home;   /* of a retry: the queue it comes back to */
    const char *worker; /* who decided, e.g. "orderd@1 create.0" */
    int64_t attempt;    /* retries so far */
};

/* Own headers, on retries and dead letters alike: orderd-reason, orderd-detail, orderd-stage, orderd-origin,
 * orderd-worker, orderd-attempt, orderd-failed-at, orderd-first-failed-at. Origin and first failure of an earlier try
 * are kept; headers that the broker owns (x-...) are left behind. Foreign headers travel on, but never so that ours
 * could not: where one frame cannot hold them all (or, in a local message, where JSON cannot name one),
 * orderd-headers-left-out says how many are missing. */

/* Publishes to order.dead, persistent and mandatory. Only CONFIRMED in *outcome means that it is there. */
ORDERD_MUST_CHECK bool dead_letter_publish(struct broker *publisher, const struct dead_letter *letter,
                                           enum broker_outcome *outcome, struct error *err);

/* Publishes to the delay queue order.retry.<delay_ms>, from which it comes back to its home with one attempt more. */
ORDERD_MUST_CHECK bool retry_publish(struct broker *publisher, const struct dead_letter *letter, int64_t delay_ms,
                                     enum broker_outcome *outcome, struct error *err);

/* The same headers, and message-id and content-type, as the JSON object of local_message.headers; ours come first.
 * Always valid UTF-8. */
void dead_letter_headers(const struct dead_letter *letter, struct strbuf *out);

/* Retries so far, from the delivery's own header; 0 where it is absent, negative or no number. */
int64_t dead_letter_attempt(const struct broker_delivery *delivery);

/* Why a message lies in order.dead: our header, or DELIVERY_LIMIT where the broker gave up by itself, also on a message
 * that had been retried before. NONE: nobody knows, e.g. somebody rejected it by hand. */
enum reason dead_letter_reason(const struct broker_delivery *delivery);

/* How often the broker has handed a message out before (0: never, or it does not say). */
int64_t dead_letter_deliveries(const struct broker_delivery *delivery);

/* The trace id of a W3C `traceparent` header (32 hex digits), or an empty slice. Never fails a message. */
struct slice dead_letter_trace_id(const struct broker_delivery *delivery);

#endif
