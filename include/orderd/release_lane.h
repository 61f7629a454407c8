/* The release lane: timers of order.unpaid close the orders that were not paid in time (DESIGN section 8). A kind of
 * lane on the engine (lane_engine.h); several timers become one transaction of up to release.batch_max orders.
 *
 * A timer only asks. Whether an order is pending and due is seen in its locked row, by the database's clock; so timers
 * that come twice, late, in any order or from strangers close nothing that is not to be closed. One that names an order
 * that does not exist is passed over for that order, one that is no timer goes to the dead letters, and one that comes
 * too early comes again when its order is due (order_change.h).
 *
 * Crash windows, and what makes each harmless:
 *   after take, before COMMIT     nothing is durable; the broker delivers again
 *   COMMIT sent, reply lost       the same orders are asked about again; those that are closed say so, nothing moves
 *   after COMMIT, before ack      delivered again, recognised by the orders' state, acknowledged
 *   retry confirmed, no ack       asked about twice; recognised in the same way
 *   after ack                     done
 *   a timer lost on its way       the sweep closes its orders (sweep.h) */
#ifndef ORDERD_RELEASE_LANE_H
#define ORDERD_RELEASE_LANE_H

#include "orderd/lane.h"

extern const struct lane_kind release_lane;

#endif
