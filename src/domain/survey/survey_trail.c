#include <math.h>

#include "orderd/survey.h"

/* So many fill the window and leave some to spare. */
#define STEPS (SURVEY_TRAIL_MAX - 16)

static size_t place(const struct survey_trail *t, size_t i)
{
    return (t->first + i) % SURVEY_TRAIL_MAX;
}

void survey_trail_add(struct survey_trail *t, int64_t at, int64_t value, int64_t window_ms)
{
    if (t->count > 0 && at - t->at[place(t, t->count - 1)] < window_ms / STEPS)
        return;
    if (t->count == SURVEY_TRAIL_MAX) {
        t->first = place(t, 1);
        t->count--;
    }
    t->at[place(t, t->count)] = at;
    t->value[place(t, t->count)] = value;
    t->count++;
}

bool survey_trail_before(const struct survey_trail *t, int64_t at, int64_t age_ms, int64_t *then, int64_t *value)
{
    for (size_t i = t->count; i > 0; i--) {
        size_t n = place(t, i - 1);

        if (at - t->at[n] >= age_ms) {
            *then = t->at[n];
            *value = t->value[n];
            return true;
        }
    }
    return false;
}

double survey_trail_fall(const struct survey_trail *t, int64_t at, int64_t value, int64_t window_ms)
{
    int64_t then = at, was = value;

    if (!survey_trail_before(t, at, window_ms, &then, &was) && t->count > 0) {
        then = t->at[t->first];
        was = t->value[t->first];
    }
    return at - then >= 1000 ? (double)(was - value) * 1000 / (double)(at - then) : NAN;
}
