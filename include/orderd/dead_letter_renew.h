/* The letter of an order that is rejected for good: its buyer gets a new order (DESIGN section 10), by the deduct that
 * web tiers make, of the same buyer, quantity and shard, at the activity's price (where it lets amounts differ, at the
 * order's own).
 *
 *   1  the new number is written into the rejected row (order_renewal.h), with the letter's audit and the link between
 *      the two, in one transaction
 *   2  deduct in Redis, under that number
 *   3  the letter is replayed, and the row `order.create:<number>` of the local message table has the order's message,
 *      in one transaction; or, where the deduct says no for good, the new number is rejected (a tombstone, which takes
 *      back whatever a deduct may still take under it) and the letter stays open
 *
 * Crash windows; whoever replays the letter next goes on from there, since the number is the same and deduct answers as
 * it did the first time:
 *   before 1                 nothing happened
 *   1, answer lost           the number is there or not; both are gone on from
 *   between 1 and 2          a number without units: the next run takes them, or finds that it cannot
 *   2, answer lost           the same call again tells
 *   between 2 and 3          units are held under the number. The walk finds them too, and sends the message that it
 *                            rebuilds from the reservation: the same order, so whichever comes second is a duplicate
 *   3, answer lost or after  done; the relay sends the row
 *   the letter is discarded between 1 and 3
 *                            discard rejects the number that was begun (dead_letter_foresee_end). Where it came before
 *                            the deduct's answer, step 3 finds the letter not open and rejects the number itself
 * Two at the same time: a lock of the database, by the purchase, lets one of them through; where it is lost with a
 * connection, the number, the script and the keys of the tables still make one order of both.
 *
 * A letter of -r<n> is one of the same purchase: its new order is -r<n+1>, never a -r of a -r. */
#ifndef ORDERD_DEAD_LETTER_RENEW_H
#define ORDERD_DEAD_LETTER_RENEW_H

#include "orderd/dead_letter_store.h"
#include "orderd/kv.h"

/* Of a verdict that is RENEW, or the SEND of an order: what Redis says against it by now. It becomes REFUSE where that
 * can be foreseen: a new order would get no units; or the number is that of another purchase's reservation, or is done
 * with. Reads, changes nothing. */
ORDERD_MUST_CHECK bool dead_letter_foresee(struct db *db, struct kv *kv, const struct dead_letter_row *row,
                                           struct dead_letter_verdict *verdict, struct error *err);

struct dead_letter_renewing {
    struct db *db;
    struct kv *kv;
    const char *who;   /* for the audit */
    bool silent;       /* no event where the new order is rejected: events.enabled is false */
    int64_t due_in_us; /* of its message */
};

/* Does it. *verdict stays RENEW where it is done; else it is REFUSE, and says why. Waits up to 2 s for somebody who
 * does the same. Fault points: renew.after_number, renew.after_deduct, replay.before_commit, decide.before_commit,
 * decide.after_commit. */
ORDERD_MUST_CHECK bool dead_letter_renew(const struct dead_letter_renewing *with, const struct dead_letter_row *row,
                                         struct dead_letter_verdict *verdict, struct error *err);

#endif
