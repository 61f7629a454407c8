#include "orderd/metric.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

#define CACHE_LINE 64

static struct {
    pthread_mutex_t lock; /* guards the list, not the numbers */
    struct metric_block *first;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct {
    const char *name, *help;
} metrics[] = {
#define X(metric, name, help) {name, help},
#include "orderd/tbl/metric.h"
#undef X
};

/* A block begins and ends at cache lines: two threads' counters never share one. */
struct metric_block *metric_register(void)
{
    size_t size = (sizeof(struct metric_block) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    struct metric_block *block = aligned_alloc(CACHE_LINE, size);

    CHECK(block != NULL);
    memset(block, 0, size);
    CHECK_ZERO(pthread_mutex_lock(&registry.lock));
    block->next = registry.first;
    registry.first = block;
    CHECK_ZERO(pthread_mutex_unlock(&registry.lock));
    return block;
}

/* Bucket i holds the whole numbers from 2^(i/4) up to, but not including, 2^((i+1)/4); the first also 0, the last also
 * everything above. The place within the octave is found by comparing with the powers of 2^(1/4), scaled by 2^31. */
static size_t bucket_of(int64_t microseconds)
{
    static const uint64_t quarters[] = {2553802834, 3037000500, 3611622603};
    uint64_t n = microseconds > 1 ? (uint64_t)microseconds : 1;
    unsigned octave = 63u - (unsigned)__builtin_clzll(n);
    uint64_t scaled = octave > 31 ? n >> (octave - 31) : n << (31 - octave);
    size_t i = (size_t)octave * 4;

    for (size_t q = 0; q < 3 && scaled >= quarters[q]; q++)
        i++;
    return i < METRIC_BUCKETS ? i : METRIC_BUCKETS - 1;
}

/* The largest whole number in bucket i. */
static int64_t bucket_top(size_t i)
{
    return (int64_t)ceil(exp2((double)(i + 1) / 4)) - 1;
}

static void add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

void metric_observe(struct metric_block *block, enum metric_span span, int64_t microseconds)
{
    add(&block->spans[span][bucket_of(microseconds)], 1);
    add(&block->span_us[span], microseconds > 0 ? (uint64_t)microseconds : 0);
}

static void add_all(uint64_t *sums, const _Atomic uint64_t *counters, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sums[i] += atomic_load_explicit(&counters[i], memory_order_relaxed);
}

void metric_read(struct metric_sum *sum)
{
    memset(sum, 0, sizeof *sum);
    CHECK_ZERO(pthread_mutex_lock(&registry.lock));
    for (const struct metric_block *b = registry.first; b; b = b->next) {
        add_all(sum->counters, b->counters, METRIC_COUNT);
        add_all(sum->span_us, b->span_us, METRIC_SPAN_COUNT);
        for (int span = 0; span < METRIC_SPAN_COUNT; span++)
            add_all(sum->spans[span], b->spans[span], METRIC_BUCKETS);
    }
    CHECK_ZERO(pthread_mutex_unlock(&registry.lock));
}

uint64_t metric_below(const struct metric_sum *sum, enum metric_span span, unsigned power)
{
    uint64_t count = 0;

    CHECK(power >= 1 && power * 4 < METRIC_BUCKETS);
    for (size_t i = 0; i < (size_t)power * 4; i++)
        count += sum->spans[span][i];
    return count;
}

int64_t metric_quantile_of(const uint64_t buckets[METRIC_BUCKETS], double q)
{
    uint64_t total = 0, seen = 0, rank;

    CHECK(q > 0 && q <= 1);
    for (size_t i = 0; i < METRIC_BUCKETS; i++)
        total += buckets[i];
    if (total == 0)
        return 0;
    rank = (uint64_t)ceil(q * (double)total);
    for (size_t i = 0; i < METRIC_BUCKETS; i++) {
        seen += buckets[i];
        if (seen >= rank)
            return bucket_top(i);
    }
    return bucket_top(METRIC_BUCKETS - 1);
}

int64_t metric_quantile(const struct metric_sum *before, const struct metric_sum *now, enum metric_span span, double q)
{
    uint64_t between[METRIC_BUCKETS];

    for (size_t i = 0; i < METRIC_BUCKETS; i++)
        between[i] = now->spans[span][i] - before->spans[span][i];
    return metric_quantile_of(between, q);
}

static const struct {
    const char *name, *help;
} spans[] = {
#define X(span, name, help) {name, help},
#include "orderd/tbl/metric_span.h"
#undef X
};

const char *metric_span_name(enum metric_span span)
{
    return spans[span].name;
}

const char *metric_span_help(enum metric_span span)
{
    return spans[span].help;
}

const char *metric_name(enum metric metric)
{
    return metrics[metric].name;
}

const char *metric_help(enum metric metric)
{
    return metrics[metric].help;
}
