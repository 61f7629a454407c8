/* Changes of orders that stand in the table: paid, cancelled, not paid in time (DESIGN section 8). The one function
 * that makes a pending order paid or closed: used by the release, payment and cancel lanes, the sweep and orderctl.
 * What is decided is the table tbl/order_transition.h; here is how it becomes durable, many at a time in one
 * transaction.
 *
 * Crash windows:
 *   before COMMIT             nothing happened
 *   COMMIT sent, answer lost  unknown: the same call again. What took effect is found in the rows and answered as done
 *                             before (paid_before, refund_before, payment_amount, closed_before); nothing moves twice
 *   committed, not handed on  the local messages are due when their lease ends */
#ifndef ORDERD_ORDER_CHANGE_H
#define ORDERD_ORDER_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/local_message.h"
#include "orderd/metric.h"
#include "orderd/order.h"

/* So many orders share one local message, and one transaction changes no more. */
#define ORDER_CHANGE_MAX ORDER_LIST_MAX

#define PAYMENT_REF_MAX  64

enum order_wish { ORDER_WISH_PAY, ORDER_WISH_CANCEL, ORDER_WISH_EXPIRE };

struct order_change {
    char order_no[ORDER_NO_MAX + 1]; /* valid (order_no_valid) */
    enum order_wish wish;

    /* of PAY: */
    char payment_ref[PAYMENT_REF_MAX + 1]; /* valid (payment_ref_valid) */
    int64_t amount;                        /* minor units, 0 .. ORDER_AMOUNT_MAX */
    int64_t paid_at;                       /* ms since 1970, ORDER_RESERVED_AT_MIN .. ORDER_RESERVED_AT_MAX */

    enum reason verdict; /* out: never REASON_NONE after success */
};

struct order_change_options {
    const char *owner; /* relay_owner of the relay that gets `committed`; "" where nobody does: due at once */
    int64_t lease_ms;  /* relay.lease; 0 with "" */
    bool events;       /* events.enabled */

    struct metric_block *metrics;  /* the caller's, or NULL: what changed, conflicts, how late orders were closed */
    void (*keep_alive)(void *arg); /* called before a conflict is waited for and tried again, or NULL */
    void *arg;
};

/* 1 to PAYMENT_REF_MAX of printable ASCII without space, quotes (', ", `) and backslash. */
bool payment_ref_valid(struct slice text);

/* Judges the wishes one after the other, each against what those before it left, and makes all of it durable in one
 * transaction, or nothing. Several may name the same order or the same payment. 1 <= count <= ORDER_CHANGE_MAX.
 *
 * true: each has its verdict, and what the transaction wrote for the relay is appended to `committed` (hand it to
 * relay_offer). false: no verdict is set; DB_LOST: it may have been committed, call again with the same wishes.
 * Deadlocks and lock waits are tried again here, ten times at most; DB_CONFLICT after that. Any other class than
 * TRANSIENT and OUTAGE is for the caller to narrow down, by calling with fewer wishes.
 *
 * A pending order is payable, and cancellable, as long as it is pending. EXPIRE closes only what is due by the database
 * clock; what is not gets one local message timer:<order_no> (topic order.unpaid) for when it is. Blocks for a few
 * round trips, or ten times mysql.lock_wait_timeout. Outside of a transaction; the thread that owns db. */
ORDERD_MUST_CHECK bool order_change_run(struct db *db, struct order_change *changes, size_t count,
                                        const struct order_change_options *options, struct local_messages *committed,
                                        struct error *err);

/* Whether its statements could run at all: tables, columns and privileges. Writes nothing. */
ORDERD_MUST_CHECK bool order_change_probe(struct db *db, struct error *err);

/* Up to max pending orders whose time-out has been over for more than grace_ms (>= 0), the longest overdue first, as
 * EXPIRE wishes in out. Reads what is committed now, locks nothing. */
ORDERD_MUST_CHECK bool order_change_due(struct db *db, int64_t grace_ms, size_t max, struct order_change *out,
                                        size_t *count, struct error *err);

#endif
