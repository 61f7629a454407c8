/* A distribution of time spans in a fixed table: 32 steps to an octave, so a quantile is at most about 3 % too high.
 * One owner. */
#ifndef ORDERD_LOAD_SPREAD_H
#define ORDERD_LOAD_SPREAD_H

#include <stdint.h>

#define SPREAD_STEPS   32
#define SPREAD_OCTAVES 40

struct spread {
    uint64_t buckets[SPREAD_OCTAVES * SPREAD_STEPS];
    uint64_t count;
    int64_t most_us;
};

void spread_add(struct spread *spread, int64_t us, uint64_t times); /* negative spans count as 0 */

/* The q-quantile (0 < q <= 1) in microseconds; 0 where nothing was added. */
int64_t spread_quantile(const struct spread *spread, double q);

#endif
