/* The thread that ends broker calls which take too long: it shuts their sockets down. */
#include "daemon.h"

#include "orderd/broker.h"
#include "orderd/clock.h"

#define GUARD_MS 250

static void guard_run(void *data)
{
    struct daemon *d = data;
    struct metric_block *metrics = metric_register();

    while (!atomic_load_explicit(&d->guard_stop, memory_order_acquire)) {
        atomic_store_explicit(&d->guard_beat, clock_mono_ms(), memory_order_relaxed);
        metric_add(metrics, METRIC_BROKER_STUCK, broker_guard_check());
        clock_sleep_ms(GUARD_MS);
    }
}

void guard_start(struct daemon *d)
{
    atomic_init(&d->guard_beat, clock_mono_ms());
    d->guard = (struct thread){.name = "guard", .run = guard_run, .data = d};
    thread_start(&d->guard);
    view_lock(d);
    d->guarded = true;
    view_unlock(d);
}

void guard_stop(struct daemon *d)
{
    view_lock(d);
    d->guarded = false;
    view_unlock(d);
    atomic_store_explicit(&d->guard_stop, true, memory_order_release);
    thread_join(&d->guard);
}
