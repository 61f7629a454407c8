#include "orderd/clock.h"

#include <stdio.h>
#include <time.h>

#include "orderd/check.h"

static int64_t read_us(clockid_t id)
{
    struct timespec t;

    CHECK_ZERO(clock_gettime(id, &t));
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_mono_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}

int64_t clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}

int64_t clock_wall_ms(void)
{
    return clock_wall_us() / 1000;
}

void clock_sleep_ms(int64_t ms)
{
    struct timespec t;

    if (ms <= 0)
        return;
    t.tv_sec = (time_t)(ms / 1000);
    t.tv_nsec = (long)(ms % 1000) * 1000000;
    (void)nanosleep(&t, NULL);
}

static void format(char *out, size_t size, int64_t wall_ms, char between, const char *zone)
{
    time_t sec = (time_t)(wall_ms / 1000);
    struct tm tm;

    CHECK(gmtime_r(&sec, &tm) != NULL);
    snprintf(out, size, "%04d-%02d-%02d%c%02d:%02d:%02d.%03d%s", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, between,
             tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(wall_ms % 1000), zone);
}

void clock_format_iso(char *out, size_t size, int64_t wall_ms)
{
    format(out, size, wall_ms, 'T', "Z");
}

void clock_format_sql(char *out, size_t size, int64_t wall_ms)
{
    format(out, size, wall_ms, ' ', "");
}
