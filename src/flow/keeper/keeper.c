#include "orderd/keeper.h"

#include <poll.h>
#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/clock.h"

/* Longest rest without a beat, which the watchdog sees. */
#define IDLE_MS 1000

static bool ending(const struct keeper *k)
{
    return atomic_load_explicit(&k->shared->stop, memory_order_acquire);
}

static bool quiet(const struct keeper *k)
{
    return k->kind->rest && atomic_load_explicit(&k->shared->quiet, memory_order_acquire);
}

bool keeper_stopping(const struct keeper *k)
{
    return ending(k) || quiet(k);
}

void keeper_beats(struct keeper *k)
{
    atomic_store_explicit(&k->beat, clock_mono_ms(), memory_order_relaxed);
}

void keeper_set_state(struct keeper *k, enum lane_state state, const struct error *why)
{
    lane_health_set(&k->health, state, why);
}

static void rest(struct keeper *k, int64_t ms)
{
    struct pollfd stop = {.fd = k->shared->stop_fd, .events = POLLIN};
    int64_t until = clock_mono_ms() + ms;

    for (int64_t left = ms; left > 0 && !ending(k) && quiet(k) == k->resting; left = until - clock_mono_ms()) {
        keeper_beats(k);
        (void)poll(&stop, 1, (int)(left < IDLE_MS ? left : IDLE_MS));
    }
}

/* A turn in the quiet mode, and the change into it and out of it. */
static bool rests(struct keeper *k)
{
    bool was = k->resting;

    k->resting = quiet(k);
    if (k->resting && !was)
        k->kind->rest(k);
    if (k->resting)
        keeper_set_state(k, LANE_QUIET, NULL);
    else if (was)
        keeper_set_state(k, LANE_CONSUMING, NULL); /* its turn says otherwise where it must */
    return k->resting;
}

static void run(void *data)
{
    struct keeper *k = data;

    k->metrics = metric_register();
    while (!ending(k)) {
        k->conf = atomic_load_explicit(&k->shared->conf, memory_order_acquire);
        keeper_beats(k);
        rest(k, rests(k) ? IDLE_MS : k->kind->turn(k));
    }
    if (k->kind->close)
        k->kind->close(k);
    keeper_set_state(k, LANE_STOPPED, NULL);
}

struct keeper *keeper_start(const struct keeper_kind *kind, struct lane_shared *shared)
{
    struct keeper *k = check_calloc(1, kind->size);

    k->kind = kind;
    k->shared = shared;
    k->conf = atomic_load_explicit(&shared->conf, memory_order_acquire);
    lane_health_init(&k->health);
    atomic_init(&k->beat, clock_mono_ms());
    if (kind->open)
        kind->open(k);
    snprintf(k->thread.name, sizeof k->thread.name, "%s", kind->name);
    k->thread.run = run;
    k->thread.data = k;
    thread_start(&k->thread);
    return k;
}

enum lane_state keeper_state(const struct keeper *k)
{
    return lane_health_state(&k->health);
}

void keeper_condition(struct keeper *k, struct lane_condition *out)
{
    lane_health_read(&k->health, out);
}

const char *keeper_name(const struct keeper *k)
{
    return k->kind->name;
}

int64_t keeper_beat(const struct keeper *k)
{
    return atomic_load_explicit(&k->beat, memory_order_relaxed);
}

void keeper_join(struct keeper **keeper)
{
    thread_join(&(*keeper)->thread);
    lane_health_destroy(&(*keeper)->health);
    free(*keeper);
    *keeper = NULL;
}
