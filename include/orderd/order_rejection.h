/* The terminal decision about an order that never became live (DESIGN section 6): one transaction that leaves a
 * tombstone in the orders table, the return of its stock, its dead letter and its event; or nothing. Whoever's
 * tombstone comes first has decided. So no crash can dead-letter without giving back, give back twice, or let a late
 * copy become an order. */
#ifndef ORDERD_ORDER_REJECTION_H
#define ORDERD_ORDER_REJECTION_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/db.h"
#include "orderd/dead_letter.h"
#include "orderd/error.h"
#include "orderd/local_message.h"
#include "orderd/order.h"

struct order_rejection {
    const struct order *order;
    /* Together its quantity, or both 0 where nothing was taken for it. forfeited: what MySQL never had. */
    int32_t units_back, units_forfeited;
    bool reservations; /* the activity's: the web tier keeps reservations in Redis */

    bool silent;         /* no event: events.enabled is false */
    bool without_letter; /* no dead letter: it is about one that is there already */
    struct slice with;   /* further statements of the same transaction; ptr NULL: none */

    /* Why, and for whom the dead letter is. letter.reason is the tombstone's and the event's too; a buyer's second
     * order (BUYER_HAS_ORDER) leaves no letter. letter.delivery is NULL where no message is at hand: then the letter is
     * the order's own message, rebuilt. */
    struct dead_letter letter;
};

/* Runs the transaction, at most mysql.read_timeout. Its local messages are born leased to owner for lease_ms ("" and 0:
 * to nobody) and appended to *committed, for relay_offer. false: nothing is changed for all that is known, no
 * transaction is open, and *err says why: DB_DUPLICATE where the order has a row already or somebody else wrote one of
 * its local messages, so that this decision is void; DB_LOST where it may have been committed after all (another run
 * then says DB_DUPLICATE). Passes the fault points decide.before_commit and decide.after_commit. */
ORDERD_MUST_CHECK bool order_rejection_run(struct db *db, const struct order_rejection *rejection, const char *owner,
                                           int64_t lease_ms, struct local_messages *committed, struct error *err);

#endif
