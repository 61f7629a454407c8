/* The walk: what crashed in between is found (DESIGN section 9). One thread per process with connections of its own; of
 * all processes, one at a time walks an activity, from preheat until it is settled, every walk.interval.
 *
 * A walk goes through the ledger in Redis and through the live orders in MySQL in pages (balance.h), and completes what
 * it finds half-way: lost messages are sent again, returns and settlements repeated, forgotten orders adopted, keys
 * kept alive. So a web tier may crash right after its deduct, and the unit is still sold.
 *
 * Crash windows: the walk keeps nothing but counters and what it saw last. Every repair is idempotent, by the keys of
 * the local message table and by the scripts, so a walk that was cut short, or two at once, do nothing twice:
 *
 *   elected, nothing done        the lock dies with the connection; another process walks at its next look. A walker
 *                                that hangs, or vanished with its machine, loses its connection after one interval
 *                                and a few seconds
 *   message written, not sent    the relay finds the row
 *   units moved, not counted     the script answers "before" the next time
 *   given up, not handed over    the relay finds the rows
 *   all done, not recorded       walked once more
 *
 * What the reservations of a busy sale cost: one page in memory, HSCAN and two queries for each page, then a rest. */
#ifndef ORDERD_WALK_H
#define ORDERD_WALK_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/keeper.h"

/* It ends within a second of a stop where its servers answer or are down. */
extern const struct keeper_kind walk_keeper;

/* What the create queue and the newest rows say about how far the create lanes have come. */
struct walk_view {
    bool known;           /* the broker answered */
    int64_t waiting;      /* messages ready in the create queues */
    int64_t now;          /* by the clock of Redis, ms since 1970, before the broker was asked */
    int64_t newest_order; /* the median of reserved_at of the newest rows, of the same clock; of several queues, of that
                             in which something waits and which is farthest behind; 0: there are none */
};

/* The frontier: no queue can hold the first message of an order that was reserved before (ms since 1970, the clock of
 * Redis); 0 where nothing is known. Pure.
 *
 * Nothing waits: whatever was published is with a lane by now, or in a retry queue for at most retry_ms. Else the queue
 * is first in first out, so the lanes, which now create orders of about newest_order, have taken everything that was
 * published before. in_flight_ms: how long a web tier may go on between its deduct and its publish.
 *
 * Where it errs, it errs to one side. Too late a frontier would publish a message twice, which the order's key makes
 * harmless but which would feed a backlog with copies of itself. Too early a one only delays: while old orders become
 * rows (recovered ones, an outbox that caught up) the median lags behind; while no rows are made but messages wait, it
 * stands still; both end when the queue is empty or the lanes go on. */
int64_t walk_frontier(const struct walk_view *view, int64_t in_flight_ms, int64_t retry_ms);

#endif
