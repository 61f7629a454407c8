/* Points in time as people write them. */
#include "ctl.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "orderd/order.h"
#include "orderd/units.h"

#define RELATIVE_MAX_MS (3650 * INT64_C(86400000))

/* Digits of a second: "", ".5", ".123"; -1 for anything else. */
static int milliseconds(const char *text, size_t len)
{
    int ms = 0, unit = 100;

    if (len == 0)
        return 0;
    if (text[0] != '.' || len < 2 || len > 4)
        return -1;
    for (size_t i = 1; i < len; i++, unit /= 10) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        ms += (text[i] - '0') * unit;
    }
    return ms;
}

/* "2027-11-11T10:00:00" by its shape, since sscanf takes signs, spaces and short numbers. */
static bool shaped(const char *text)
{
    static const char shape[] = "dddd-dd-ddTdd:dd:dd";

    for (size_t i = 0; shape[i]; i++) {
        if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
            return false;
    }
    return true;
}

#define DATE_LENGTH 19

static bool parse_instant(const char *text, int64_t *out)
{
    struct tm tm = {0}, back;
    size_t len = strlen(text);
    int ms;
    time_t seconds;

    if (len < DATE_LENGTH + 1 || text[len - 1] != 'Z' || !shaped(text) ||
        (ms = milliseconds(text + DATE_LENGTH, len - DATE_LENGTH - 1)) < 0 ||
        sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
               &tm.tm_sec) != 6)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    back = tm;
    seconds = timegm(&back); /* makes 30 February the 2nd of March: then `back` differs */
    *out = (int64_t)seconds * 1000 + ms;
    return back.tm_year == tm.tm_year && back.tm_mon == tm.tm_mon && back.tm_mday == tm.tm_mday &&
           back.tm_hour == tm.tm_hour && back.tm_min == tm.tm_min && back.tm_sec == tm.tm_sec;
}

bool ctl_parse_past(const char *text, struct activity_when *out)
{
    if (text[0] != '-')
        return text[0] != '+' && ctl_parse_when(text, out);
    out->relative = true;
    return units_parse_duration(text + 1, &out->ms) && out->ms <= RELATIVE_MAX_MS;
}

bool ctl_parse_when(const char *text, struct activity_when *out)
{
    out->relative = text[0] == '+' || strcmp(text, "now") == 0;
    out->ms = 0;
    if (text[0] == '+')
        return units_parse_duration(text + 1, &out->ms) && out->ms <= RELATIVE_MAX_MS;
    if (out->relative)
        return true;
    /* The range in which milliseconds are not taken for seconds. */
    return parse_instant(text, &out->ms) && out->ms >= ORDER_RESERVED_AT_MIN && out->ms <= ORDER_RESERVED_AT_MAX;
}
