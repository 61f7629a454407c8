#include "spread.h"

#include <math.h>

/* Below SPREAD_STEPS one bucket to a microsecond; above, the octave and its next five bits. */
static unsigned bucket_of(int64_t us)
{
    unsigned octave;

    if (us < SPREAD_STEPS)
        return (unsigned)us;
    octave = 63u - (unsigned)__builtin_clzll((unsigned long long)us); /* >= 5 */
    if (octave - 4 >= SPREAD_OCTAVES)
        return SPREAD_OCTAVES * SPREAD_STEPS - 1;
    return (octave - 4) * SPREAD_STEPS + (unsigned)(us >> (octave - 5)) % SPREAD_STEPS;
}

/* The largest span that falls into it. */
static int64_t upper(unsigned bucket)
{
    unsigned octave = bucket / SPREAD_STEPS, step = bucket % SPREAD_STEPS;

    if (octave == 0)
        return step;
    return (((int64_t)SPREAD_STEPS + step + 1) << (octave - 1)) - 1;
}

void spread_add(struct spread *spread, int64_t us, uint64_t times)
{
    if (us < 0)
        us = 0;
    spread->buckets[bucket_of(us)] += times;
    spread->count += times;
    if (times > 0 && us > spread->most_us)
        spread->most_us = us;
}

int64_t spread_quantile(const struct spread *spread, double q)
{
    uint64_t wanted = (uint64_t)ceil(q * (double)spread->count), seen = 0;

    for (unsigned i = 0; i < SPREAD_OCTAVES * SPREAD_STEPS && wanted > 0; i++) {
        seen += spread->buckets[i];
        if (seen >= wanted)
            return upper(i) < spread->most_us ? upper(i) : spread->most_us;
    }
    return 0;
}
