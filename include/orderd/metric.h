/* Counters and a histogram for each span of time per thread, summed on reading: the hot path takes no lock and shares
 * no line.
 *
 * metric_add and metric_observe may be called only by the thread that owns the block; metric_read and
 * metric_quantile by any thread at any time (each number is whole, the set is not one instant). */
#ifndef ORDERD_METRIC_H
#define ORDERD_METRIC_H

#include <stdatomic.h>
#include <stdint.h>

enum metric {
#define X(metric, name, help) METRIC_##metric,
#include "orderd/tbl/metric.h"
#undef X
    METRIC_COUNT
};

enum metric_span {
#define X(span, name, help) METRIC_SPAN_##span,
#include "orderd/tbl/metric_span.h"
#undef X
    METRIC_SPAN_COUNT
};

/* Buckets grow by a quarter of a power of two, from 1 us to about 18 hours: 4 per octave, error at most 19 %. */
#define METRIC_BUCKETS 144

struct metric_block {
    _Atomic uint64_t counters[METRIC_COUNT];
    _Atomic uint64_t spans[METRIC_SPAN_COUNT][METRIC_BUCKETS];
    _Atomic uint64_t span_us[METRIC_SPAN_COUNT]; /* all of them together */
    struct metric_block *next;                   /* guarded by the registry's lock */
};

struct metric_sum {
    uint64_t counters[METRIC_COUNT];
    uint64_t spans[METRIC_SPAN_COUNT][METRIC_BUCKETS];
    uint64_t span_us[METRIC_SPAN_COUNT];
};

/* Adds a zeroed block to the registry; it is never removed, so that what a thread counted stays counted. */
struct metric_block *metric_register(void);

static inline void metric_add(struct metric_block *block, enum metric metric, uint64_t n)
{
    atomic_store_explicit(&block->counters[metric],
                          atomic_load_explicit(&block->counters[metric], memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Counts one time span; negative ones count as 0. */
void metric_observe(struct metric_block *block, enum metric_span span, int64_t microseconds);

void metric_read(struct metric_sum *sum);

/* How many of them were shorter than 2^power microseconds; power from 1 to 35. Exact. */
uint64_t metric_below(const struct metric_sum *sum, enum metric_span span, unsigned power);

/* The q-quantile (0 < q <= 1) in microseconds of what was observed between two readings, 0 where nothing was. */
int64_t metric_quantile(const struct metric_sum *before, const struct metric_sum *now, enum metric_span span, double q);

/* The same of buckets that were put together elsewhere, e.g. those of several processes. */
int64_t metric_quantile_of(const uint64_t buckets[METRIC_BUCKETS], double q);

const char *metric_name(enum metric metric);
const char *metric_help(enum metric metric);
const char *metric_span_name(enum metric_span span);
const char *metric_span_help(enum metric_span span);

#endif
