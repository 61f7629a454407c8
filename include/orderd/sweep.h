/* The sweep: closes the orders whose timers were lost on their way (DESIGN section 8). One thread per process with a
 * database connection of its own; of all processes one at a time sweeps, every release.sweep_interval. It closes what
 * is overdue by more than release.sweep_grace, in batches, as a timer would have: so a lost timer costs a minute, not
 * the stock. What it closes is counted apart and an alarm: in normal running it finds nothing.
 *
 * Crash windows: those of order_change_run; it keeps nothing, and the election dies with the connection. */
#ifndef ORDERD_SWEEP_H
#define ORDERD_SWEEP_H

#include <stdint.h>
#include "orderd/lane.h"

struct sweep;

/* Starts the thread "sweep". shared->conf, relay and stop are used; it ends within a second of shared->stop, or when
 * the transaction in hand is done, and must be joined before the relay is stopped. */
struct sweep *sweep_start(struct lane_shared *shared);

/* CONSUMING while it sweeps or waits for the next time, CONNECTING while the database is away. */
enum lane_state sweep_state(const struct sweep *sweep);

/* When it last went from one step to the next, monotonic ms. */
int64_t sweep_beat(const struct sweep *sweep);

/* Waits for the thread to end (see lane_shared.stop) and frees it. */
void sweep_join(struct sweep **sweep);

#endif
