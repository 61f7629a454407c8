#include "sale_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The daemon's calendar looks every second. */
#define LATE_MS 5000

const char *sale_title(char out[SALE_TITLE_MAX], const struct sale_activity *a)
{
    if (a->id == SALE_UNKNOWN)
        snprintf(out, SALE_TITLE_MAX, "- %.900s", a->title);
    else
        snprintf(out, SALE_TITLE_MAX, "%" PRId64 " %.900s", a->id, a->title);
    return out;
}

static bool is_state(const struct sale_activity *a, const char *state)
{
    return strcmp(a->state, state) == 0;
}

bool sale_is_running(const struct sale_activity *a)
{
    return is_state(a, "running");
}

/* The instant that matters now; SALE_UNKNOWN: none does. */
static int64_t instant_of(const struct sale_activity *a)
{
    if (is_state(a, "scheduled"))
        return a->starts_at;
    return sale_is_running(a) || is_state(a, "ended") ? a->ends_at : SALE_UNKNOWN;
}

/* Until then; SALE_UNKNOWN. */
static int64_t until(int64_t instant, int64_t now)
{
    return instant < 0 || now < 0 ? SALE_UNKNOWN : instant - now;
}

bool sale_is_late(const struct sale_activity *a, int64_t now)
{
    int64_t ms = until(instant_of(a), now);

    return ms != SALE_UNKNOWN && ms < -LATE_MS && !is_state(a, "ended");
}

const char *sale_clock_short(char out[WORD_MAX], const struct sale_activity *a, int64_t now)
{
    int64_t ms = until(instant_of(a), now);
    char word[WORD_MAX];

    out[0] = '\0';
    if (ms == SALE_UNKNOWN)
        return strcpy(out, instant_of(a) == SALE_UNKNOWN ? "" : "-");
    if (sale_is_late(a, now))
        snprintf(out, WORD_MAX, "late %.20s", word_clock(word, -ms));
    else if (is_state(a, "ended"))
        snprintf(out, WORD_MAX, "%.20s ago", word_clock(word, -ms));
    else
        snprintf(out, WORD_MAX, sale_is_running(a) ? "%.20s left" : "in %.20s", word_clock(word, ms));
    return out;
}

const char *sale_clock(char out[2 * WORD_MAX], const struct sale_activity *a, int64_t now)
{
    int64_t ms = until(instant_of(a), now);
    const char *verb = sale_is_running(a) ? "end" : "start";
    char word[WORD_MAX];

    out[0] = '\0';
    if (ms == SALE_UNKNOWN)
        return out;
    if (sale_is_late(a, now))
        snprintf(out, 2 * WORD_MAX, "should have %sed %s ago", verb, word_clock(word, -ms));
    else if (is_state(a, "ended"))
        snprintf(out, 2 * WORD_MAX, ms < 0 ? "ended %s ago" : "ended %s early", word_clock(word, ms < 0 ? -ms : ms));
    else
        snprintf(out, 2 * WORD_MAX, "%ss in %s", verb, word_clock(word, ms));
    return out;
}

const char *sale_phase(char out[SALE_PHASE_MAX], const struct sale_activity *a, int64_t now)
{
    char clock[2 * WORD_MAX];

    sale_clock(clock, a, now);
    if (is_state(a, "ended") && clock[0])
        snprintf(out, SALE_PHASE_MAX, "%s", clock);
    else
        snprintf(out, SALE_PHASE_MAX, "%.32s%s%s", a->state[0] ? a->state : "-", clock[0] ? ", " : "", clock);
    return out;
}

bool sale_is_low(const struct sale_activity *a)
{
    return sale_is_running(a) && a->left >= 0 && a->total > 0 && (double)a->left < (double)a->total / 10;
}

enum frame_tint sale_drift_tint(const struct sale_activity *a)
{
    if (a->books.drift == SALE_UNKNOWN)
        return FRAME_WARN;
    return a->books.drift == 0 ? FRAME_GOOD : FRAME_ALARM;
}
