/* Three kinds of time, kept apart by name: _mono (since boot, never steps; for waiting and measuring), _wall (UTC,
 * may step; only to compare with stamps from outside and for logs), and durations. Due times of orders and messages
 * are never computed here: the database clock decides them (DESIGN section 4). */
#ifndef ORDERD_CLOCK_H
#define ORDERD_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
int64_t clock_wall_ms(void);
int64_t clock_wall_us(void);

/* Sleeps at most ms (shorter when a signal arrives); ms <= 0 returns at once. */
void clock_sleep_ms(int64_t ms);

/* Writes wall time as "2026-11-29T18:32:38.123Z". size >= 25. */
void clock_format_iso(char *out, size_t size, int64_t wall_ms);

/* Writes wall time as MySQL wants it in UTC, "2026-11-29 18:32:38.123". size >= 24. */
void clock_format_sql(char *out, size_t size, int64_t wall_ms);

#endif
