#include "orderd/notify.h"

#ifdef HAVE_SYSTEMD

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

#include "orderd/clock.h"

/* Nothing to do about a manager that does not listen: it will act on its own time-outs. */
static void tell(const char *state)
{
    (void)sd_notify(0, state);
}

void notify_ready(void)
{
    tell("READY=1");
}

/* A little more than it takes: the manager would kill it in the middle of its last words. */
#define STOP_SLACK_MS 5000

void notify_stopping(int64_t within_ms)
{
    char state[64];

    snprintf(state, sizeof state, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRId64, (within_ms + STOP_SLACK_MS) * 1000);
    tell(state);
}

/* The stamp lets the manager tell this reload from an earlier one: sd_notify(3), Type=notify-reload. */
void notify_reloading(void)
{
    char state[64];

    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_mono_us());
    tell(state);
}

void notify_status(const char *fmt, ...)
{
    char state[1024] = "STATUS=";
    size_t used = sizeof "STATUS=" - 1;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(state + used, sizeof state - used, fmt, ap);
    va_end(ap);
    for (char *c = state; *c; c++)
        *c = *c == '\n' ? ' ' : *c; /* a newline would begin another assignment */
    tell(state);
}

void notify_watchdog(void)
{
    tell("WATCHDOG=1");
}

/* Half of what the manager tolerates, as sd_watchdog_enabled(3) recommends. */
int64_t notify_watchdog_interval_ms(void)
{
    uint64_t usec = 0;

    return sd_watchdog_enabled(0, &usec) > 0 ? (int64_t)(usec / 2000) : 0;
}

#else

void notify_ready(void)
{
}

void notify_stopping(int64_t within_ms)
{
    (void)within_ms;
}

void notify_reloading(void)
{
}

void notify_status(const char *fmt, ...)
{
    (void)fmt;
}

void notify_watchdog(void)
{
}

int64_t notify_watchdog_interval_ms(void)
{
    return 0;
}

#endif
