/* What the service manager is told (sd_notify); all of it is nothing where there is no manager or no libsystemd.
 * Main thread only. */
#ifndef ORDERD_NOTIFY_H
#define ORDERD_NOTIFY_H

#include <stdint.h>
#include "orderd/error.h"

void notify_ready(void);
/* within_ms: how long it may take at most, by which the manager waits longer than its own time-out where it must. */
void notify_stopping(int64_t within_ms);
void notify_reloading(void); /* with MONOTONIC_USEC; must be followed by notify_ready */
void notify_status(const char *fmt, ...) ORDERD_PRINTF(1, 2);
void notify_watchdog(void);

/* How often notify_watchdog must be called, in ms; 0: no watchdog is set. */
int64_t notify_watchdog_interval_ms(void);

#endif
