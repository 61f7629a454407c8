#include "orderd/lane_health.h"

#include <stdio.h>

#include "orderd/check.h"
#include "orderd/clock.h"

void lane_health_init(struct lane_health *health)
{
    atomic_init(&health->state, LANE_CONNECTING);
    atomic_init(&health->in_hand, 0);
    CHECK_ZERO(pthread_mutex_init(&health->lock, NULL));
    health->unready_at = LANE_NEVER_READY;
    health->state_at = clock_mono_ms();
    health->last_at = 0;
    health->why[0] = health->last[0] = '\0';
}

void lane_health_destroy(struct lane_health *health)
{
    CHECK_ZERO(pthread_mutex_destroy(&health->lock));
}

/* A lane says so once in each turn, and then nothing has to be written. */
static bool nothing_new(const struct lane_health *health, enum lane_state state)
{
    return (lane_state_ready(state) || state == LANE_QUIET) && lane_health_state(health) == state;
}

/* With the lock. */
static void note_reason(struct lane_health *health, enum lane_state state, const struct error *why)
{
    if (lane_state_ready(state) || state == LANE_QUIET)
        health->why[0] = '\0';
    else if (why)
        snprintf(health->why, sizeof health->why, "%s", why->text);
    if (!why || !why->text[0])
        return;
    snprintf(health->last, sizeof health->last, "%s", why->text);
    health->last_at = clock_mono_ms();
}

void lane_health_set(struct lane_health *health, enum lane_state state, const struct error *why)
{
    if (nothing_new(health, state))
        return;
    CHECK_ZERO(pthread_mutex_lock(&health->lock));
    note_reason(health, state, why);
    if (lane_state_ready(state))
        health->unready_at = 0;
    else if (health->unready_at == 0)
        health->unready_at = clock_mono_ms();
    if (lane_health_state(health) != state)
        health->state_at = clock_mono_ms();
    atomic_store_explicit(&health->state, state, memory_order_release);
    CHECK_ZERO(pthread_mutex_unlock(&health->lock));
}

void lane_health_read(struct lane_health *health, struct lane_condition *out)
{
    int64_t now = clock_mono_ms();

    CHECK_ZERO(pthread_mutex_lock(&health->lock));
    out->state = lane_health_state(health);
    out->unready_ms = health->unready_at;
    if (health->unready_at != 0 && health->unready_at != LANE_NEVER_READY)
        out->unready_ms = now - health->unready_at + 1; /* never 0 */
    out->state_ms = now - health->state_at;
    out->last_ms = health->last[0] ? now - health->last_at : 0;
    snprintf(out->why, sizeof out->why, "%s", health->why);
    snprintf(out->last, sizeof out->last, "%s", health->last);
    CHECK_ZERO(pthread_mutex_unlock(&health->lock));
    out->in_hand = atomic_load_explicit(&health->in_hand, memory_order_relaxed);
}
