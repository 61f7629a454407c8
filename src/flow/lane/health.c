#include "orderd/lane_health.h"

#include <stdio.h>

#include "orderd/check.h"
#include "orderd/clock.h"

void lane_health_init(struct lane_health *health)
{
    atomic_init(&health->state, LANE_CONNECTING);
    CHECK_ZERO(pthread_mutex_init(&health->lock, NULL));
    health->unready_at = LANE_NEVER_READY;
    health->why[0] = '\0';
}

void lane_health_destroy(struct lane_health *health)
{
    CHECK_ZERO(pthread_mutex_destroy(&health->lock));
}

/* A lane says so once in each turn, and then nothing has to be written. */
static bool nothing_new(const struct lane_health *health, enum lane_state state)
{
    return lane_state_ready(state) && lane_health_state(health) == state;
}

void lane_health_set(struct lane_health *health, enum lane_state state, const struct error *why)
{
    if (nothing_new(health, state))
        return;
    CHECK_ZERO(pthread_mutex_lock(&health->lock));
    if (lane_state_ready(state)) {
        health->unready_at = 0;
        health->why[0] = '\0';
    } else {
        if (health->unready_at == 0)
            health->unready_at = clock_mono_ms();
        if (why)
            snprintf(health->why, sizeof health->why, "%s", why->text);
    }
    atomic_store_explicit(&health->state, state, memory_order_release);
    CHECK_ZERO(pthread_mutex_unlock(&health->lock));
}

void lane_health_read(struct lane_health *health, struct lane_condition *out)
{
    CHECK_ZERO(pthread_mutex_lock(&health->lock));
    out->state = lane_health_state(health);
    out->unready_ms = health->unready_at;
    if (health->unready_at != 0 && health->unready_at != LANE_NEVER_READY)
        out->unready_ms = clock_mono_ms() - health->unready_at + 1; /* never 0 */
    snprintf(out->why, sizeof out->why, "%s", health->why);
    CHECK_ZERO(pthread_mutex_unlock(&health->lock));
}
