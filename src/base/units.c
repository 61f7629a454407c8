#include "orderd/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit durations[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
static const struct unit sizes[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}, {"", 1}};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool parse(const char *text, const struct unit *units, size_t n, int64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    int64_t value;

    if (digits == 0 || digits > 18)
        return false;
    value = strtoll(text, NULL, 10);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text + digits, units[i].name) != 0)
            continue;
        if (__builtin_mul_overflow(value, units[i].factor, &value))
            return false;
        *out = value;
        return true;
    }
    return false;
}

bool units_parse_duration(const char *text, int64_t *out_ms)
{
    if (strcmp(text, "0") == 0) {
        *out_ms = 0;
        return true;
    }
    return parse(text, durations, COUNT(durations), out_ms);
}

bool units_parse_size(const char *text, int64_t *out_bytes)
{
    return parse(text, sizes, COUNT(sizes), out_bytes);
}

static void format(char *out, size_t size, int64_t value, const struct unit *units, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (value != 0 && value % units[i].factor == 0) {
            snprintf(out, size, "%" PRId64 "%s", value / units[i].factor, units[i].name);
            return;
        }
    }
    snprintf(out, size, "0");
}

void units_format_duration(char *out, size_t size, int64_t ms)
{
    format(out, size, ms, durations, COUNT(durations));
}

void units_format_size(char *out, size_t size, int64_t bytes)
{
    format(out, size, bytes, sizes, COUNT(sizes));
}

void units_format_version(char *out, size_t size, int version)
{
    snprintf(out, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

bool units_parse_i64(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    long long value;
    const char *digits = text[0] == '-' ? text + 1 : text;

    if (digits[0] < '0' || digits[0] > '9')
        return false;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno || *end || value < min || value > max)
        return false;
    *out = value;
    return true;
}
