/* When the past of the orders (survey_past.h) is counted: slice after slice with long rests between them, so that a
 * past of any size takes a fiftieth of one core; and, when all of it is known, again, more slowly still. */
#include "survey_private.h"

#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/survey_count.h"

/* So long after it was due an order is past. New orders are due later than now, so this is for how long a transaction
 * may be open, or by how much the clock of the database may be set back, and nothing is missed. */
#define PAST_MS (10 * INT64_C(60000))
/* The front goes on by so much at least. */
#define ADVANCE_MS 5000
/* Rest after a slice, per ms that it took; when it is counted again; after all of it was. */
#define REST       50
#define AGAIN_REST 200
#define AGAIN_MS   5000
#define NOTHING_MS 1000

/* ---- whose ---- */

/* A clock that was set back lets new orders be due in what was counted as past. While others surveyed, or nobody could,
 * the front stood still. */
static void mind_the_front(struct surveyor *s)
{
    int64_t horizon = s->now - PAST_MS;

    if (s->past.front == 0 || s->now < s->past.front + PAST_MS / 2) {
        survey_past_begin(&s->past, horizon);
        s->recounting = false;
    } else if (s->new_here && horizon > s->past.front + PAST_MS / 2) {
        survey_past_jump(&s->past, horizon);
    }
    s->new_here = false;
}

bool past_prepare(struct surveyor *s, size_t count, struct error *err)
{
    int64_t activities[SURVEY_ACTIVITIES_MAX];

    mind_the_front(s);
    for (size_t i = 0; i < count; i++)
        activities[i] = s->sales[i]->activity.id;
    survey_past_keep(&s->past, activities, count);
    for (size_t i = 0; i < count; i++) {
        if (!survey_count_join(s->db, &s->past, &s->sales[i]->activity, err))
            return false;
    }
    return true;
}

/* ---- whether what it says may be told ---- */

static void hurry(struct surveyor *s)
{
    s->hurry = true;
    s->step_next = 0;
    if (!s->hurried)
        s->recounting = false;
}

bool past_trusts(struct surveyor *s, struct sale *sale, const struct survey_rows *rows)
{
    int64_t off = survey_rows_off(rows);

    if (off == 0 || off == SURVEY_UNKNOWN) {
        sale->doubt = 0;
        return true;
    }
    if (sale->activity.created_at >= s->past.front)
        return true;
    if (sale->doubt == 0) {
        sale->doubt = s->recounts_begun + 1;
        hurry(s);
    }
    return s->recounts_done >= sale->doubt;
}

/* ---- slices ---- */

static void step(struct surveyor *s, struct survey_past *past, int64_t horizon, int64_t factor)
{
    int64_t began = clock_mono_ms(), rest;
    struct error err = {0};
    bool done;

    keeper_beats(&s->base);
    if (!survey_count_past(s->db, past, horizon, SURVEY_SLICE_ORDERS, &done, &err)) {
        if (err.code != ERROR_DB_RESOURCE || !db_usable(s->db))
            surveyor_lose_db(s, &err);
        else
            log_event(LOG_EVENT_SURVEY_FAILED, LOG_STR("server", survey_dependency_name(SURVEY_MYSQL)), LOG_ERR(&err));
    }
    rest = (clock_mono_ms() - began) * factor;
    s->step_next = clock_mono_ms() + (!done && rest < NOTHING_MS ? NOTHING_MS : rest);
}

/* All of them from their beginnings. */
static void begin_again(struct surveyor *s)
{
    survey_past_begin(&s->again, s->past.front);
    for (size_t i = 0; i < s->sale_count; i++) {
        if (survey_past_find(&s->past, s->sales[i]->activity.id))
            survey_past_join(&s->again, s->sales[i]->activity.id, s->sales[i]->activity.created_at);
    }
    s->recounting = true;
    s->recounts_begun++;
    s->hurried = s->hurry;
    s->hurry = false;
}

static void count_again(struct surveyor *s)
{
    struct survey_slice slice;

    if (survey_past_next(&s->again, s->past.front, &slice)) {
        step(s, &s->again, s->past.front, s->hurried ? REST : AGAIN_REST);
        return;
    }
    s->recounting = false;
    s->again_next = clock_mono_ms() + AGAIN_MS;
    if (survey_past_adopt(&s->past, &s->again))
        s->recounts_done = s->recounts_begun;
}

static bool may_advance(const struct surveyor *s)
{
    return s->now - PAST_MS >= s->past.front + ADVANCE_MS;
}

static void go_on(struct surveyor *s)
{
    int64_t now = clock_mono_ms(), horizon = may_advance(s) ? s->now - PAST_MS : s->past.front;
    struct survey_slice slice;

    if (survey_past_next(&s->past, horizon, &slice)) {
        step(s, &s->past, horizon, REST);
        return;
    }
    if (!s->recounting && (s->hurry || now >= s->again_next))
        begin_again(s);
    if (s->recounting)
        count_again(s);
    else
        s->step_next = now + NOTHING_MS;
}

static bool has_past(const struct surveyor *s)
{
    return s->db && s->elected && s->past.front != 0;
}

int64_t past_turn(struct surveyor *s)
{
    if (has_past(s) && clock_mono_ms() >= s->step_next)
        go_on(s);
    return has_past(s) ? s->step_next : INT64_MAX;
}
