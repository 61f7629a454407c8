/* What a lane, a keeper or the relay is doing, since when it cannot do its job, and why: set by its thread, read by
 * any thread at any time. */
#ifndef ORDERD_LANE_HEALTH_H
#define ORDERD_LANE_HEALTH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/error.h"
#include "orderd/lane.h"

#define LANE_NEVER_READY INT64_MAX

struct lane_health {
    _Atomic(enum lane_state) state;
    pthread_mutex_t lock;
    _Atomic int64_t in_hand;   /* messages taken and not finished */
    int64_t unready_at;        /* monotonic ms; 0: ready; LANE_NEVER_READY: has not been yet. Guarded by lock */
    int64_t state_at;          /* monotonic ms: since when it is in this state. Guarded by lock */
    char why[ERROR_TEXT_MAX];  /* "" while ready. Guarded by lock */
    char last[ERROR_TEXT_MAX]; /* the last reason there was, also when it is over; "": none. Guarded by lock */
    int64_t last_at;           /* monotonic ms: when. Guarded by lock */
};

/* One reading. */
struct lane_condition {
    enum lane_state state;
    int64_t unready_ms;        /* 0: ready; LANE_NEVER_READY */
    int64_t state_ms;          /* for how long it has been in this state */
    int64_t in_hand;           /* messages taken and not finished; 0 for those that take none */
    char why[ERROR_TEXT_MAX];  /* one sentence, or "" */
    char last[ERROR_TEXT_MAX]; /* the last failure since its start, also when it is over; "": none */
    int64_t last_ms;           /* how long ago that was */
};

/* CONNECTING, never ready. */
void lane_health_init(struct lane_health *health);
void lane_health_destroy(struct lane_health *health);

/* By the one thread whose health it is. why: the reason, kept while it is not ready and not QUIET; NULL leaves the one
 * before. Takes the lock only where something changes. */
void lane_health_set(struct lane_health *health, enum lane_state state, const struct error *why);

static inline enum lane_state lane_health_state(const struct lane_health *health)
{
    return atomic_load_explicit(&health->state, memory_order_acquire);
}

/* How many messages its thread has in hand. */
static inline void lane_health_in_hand(struct lane_health *health, size_t messages)
{
    atomic_store_explicit(&health->in_hand, (int64_t)messages, memory_order_relaxed);
}

void lane_health_read(struct lane_health *health, struct lane_condition *out);

#endif
