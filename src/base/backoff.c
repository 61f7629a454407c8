#include "orderd/backoff.h"

#include <sys/random.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/clock.h"

void backoff_init(struct backoff *b, int64_t min_ms, int64_t max_ms, uint64_t seed)
{
    CHECK(min_ms > 0 && min_ms <= max_ms);
    b->min_ms = min_ms;
    b->max_ms = max_ms;
    b->next_ms = min_ms;
    b->random = seed | 1;
}

/* xorshift64*: plenty for jitter. */
static uint64_t draw(struct backoff *b)
{
    b->random ^= b->random >> 12;
    b->random ^= b->random << 25;
    b->random ^= b->random >> 27;
    return b->random * UINT64_C(2685821657736338717);
}

int64_t backoff_next(struct backoff *b)
{
    int64_t half = b->next_ms / 2;
    int64_t wait = half + (int64_t)(draw(b) % (uint64_t)(b->next_ms - half + 1));

    b->next_ms = b->next_ms > b->max_ms / 2 ? b->max_ms : b->next_ms * 2;
    return wait > 0 ? wait : 1;
}

void backoff_reset(struct backoff *b)
{
    b->next_ms = b->min_ms;
}

uint64_t backoff_seed(void)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = (uint64_t)clock_mono_us() ^ ((uint64_t)getpid() << 32);
    return seed;
}
