/* When the next of a stream of events is due: the n-th at start + n / rate, whatever the ones before took. Who is
 * behind by more than a second (a server was away) catches up one second's worth and lets the rest of the schedule
 * slip, so that an outage does not end in a burst without measure. Pure; one owner. */
#ifndef ORDERD_LOAD_PACE_H
#define ORDERD_LOAD_PACE_H

#include <stddef.h>
#include <stdint.h>

struct pace {
    double per_second; /* 0: as fast as it goes */
    int64_t start_us;
    int64_t done;
};

void pace_init(struct pace *pace, double per_second, int64_t now_us);

/* How many are due now, at most max; they count as begun. */
size_t pace_due(struct pace *pace, int64_t now_us, size_t max);

/* Until the next one is due; 0: now. */
int64_t pace_wait_us(const struct pace *pace, int64_t now_us);

#endif
