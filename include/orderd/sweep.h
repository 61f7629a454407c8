/* The sweep: closes the orders whose timers were lost on their way (DESIGN section 8). One thread per process with a
 * database connection of its own; of all processes one at a time sweeps, every release.sweep_interval. It closes what
 * is overdue by more than release.sweep_grace, in batches, as a timer would have: so a lost timer costs a minute, not
 * the stock. What it closes is counted apart and an alarm: in normal running it finds nothing.
 *
 * Crash windows: those of order_change_run; it keeps nothing, and the election dies with the connection. */
#ifndef ORDERD_SWEEP_H
#define ORDERD_SWEEP_H

#include <stdint.h>
#include "orderd/keeper.h"

extern const struct keeper_kind sweep_keeper;

#endif
