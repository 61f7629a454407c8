/* What is told on the topic exchange order.event (DESIGN section 2; docs/events.md): JSON of version 1,
 *
 *     {"v":1,"event":"order.closed","at":ms,"orders":[{"order_no","activity_id","user_id","sku_id","quantity","amount",
 *      "reason","payment_ref","payment_amount","expires_at"}, ...]}
 *
 * one message for the orders of one transaction that the same thing happened to, under the same message id however
 * often it is sent. */
#ifndef ORDERD_ORDER_EVENT_H
#define ORDERD_ORDER_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include "orderd/local_message.h"
#include "orderd/order.h"
#include "orderd/strbuf.h"

enum order_event {
#define X(event, name, prose) ORDER_EVENT_##event,
#include "orderd/tbl/order_event.h"
#undef X
    ORDER_EVENT_COUNT
};

/* The routing key: "order.closed". */
const char *order_event_name(enum order_event event);

struct order_event_entry {
    const struct order *order; /* valid; order_no, activity, user, SKU, quantity and amount are told */
    enum reason reason;        /* REASON_NONE: no member "reason" */
    const char *payment_ref;   /* any text; NULL: neither "payment_ref" nor "payment_amount" */
    int64_t payment_amount;    /* minor units */
    int64_t expires_at;        /* ms since 1970; 0: no member "expires_at" */
};

/* Appends the message about 1 to ORDER_LIST_MAX orders. at: ms since 1970. */
void order_event_encode(enum order_event event, const struct order_event_entry *list, size_t count, int64_t at,
                        struct strbuf *out);

/* Adds the local message that tells it, leased to owner, to what a transaction writes: topic "event.<event>", key
 * "event.<event>:<number of the first order>", so the message id is "<event>:<number of the first order>". REFUND_DUE
 * is told of one payment at a time and has the payment_ref (at most 64 bytes) in the place of the order number. */
void order_event_add(struct local_messages *list, enum order_event event, const struct order_event_entry *entries,
                     size_t count, int64_t at, const char *owner);

#endif
