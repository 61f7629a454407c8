/* How long to wait before the same thing is tried again: doubles from min to max, and each wait is drawn between half
 * of that and all of it, so that replicas that failed together do not come back together. Pure; one owner each. */
#ifndef ORDERD_BACKOFF_H
#define ORDERD_BACKOFF_H

#include <stdint.h>

struct backoff {
    int64_t min_ms, max_ms;
    int64_t next_ms;
    uint64_t random; /* state of the generator, seeded in backoff_init */
};

/* 0 < min_ms <= max_ms. seed: anything that differs between threads and processes. */
void backoff_init(struct backoff *b, int64_t min_ms, int64_t max_ms, uint64_t seed);

/* The next wait in ms, between next_ms / 2 and next_ms. */
int64_t backoff_next(struct backoff *b);

void backoff_reset(struct backoff *b);

/* A seed for backoff_init: the kernel's random bytes. */
uint64_t backoff_seed(void);

#endif
