/* Whether Redis and MySQL agree about the units of an activity; the reasons are in survey.h. */
#include <stdlib.h>

#include "orderd/survey.h"

static void note_left(struct survey_stock *out, int64_t left, bool first)
{
    out->empty += left <= 0;
    if (first || left < out->left_least)
        out->left_least = left;
    if (first || left > out->left_most)
        out->left_most = left;
}

void survey_stock_sum(const struct activity *activity, const struct stock_audit *audits, struct survey_stock *out)
{
    bool first = true;

    *out = (struct survey_stock){0};
    for (int32_t i = 0; i < activity->shards; i++) {
        const struct stock_audit *a = &audits[i];

        if (a->code == STOCK_AUDIT_NO_SHARD) {
            out->missing++;
            continue;
        }
        if (a->code != STOCK_AUDIT_PRESENT || a->epoch != activity->epoch) {
            out->damaged++;
            continue;
        }
        note_left(out, a->left, first);
        first = false;
        out->paused += a->paused != 0;
        out->cap += a->cap;
        out->transfer += a->out;
        out->left += a->left;
        out->held += a->held;
        out->sold += a->sold;
        out->gone += a->forfeited;
        out->taken += a->held_orders + a->gone_orders;
        out->ended += a->gone_orders;
    }
    out->whole = out->missing == 0 && out->damaged == 0 && out->paused == 0;
}

int64_t survey_walk_late_ms(const struct survey_rows *rows, int64_t interval_ms)
{
    int64_t late;

    if (rows->walk_ago_ms == SURVEY_UNKNOWN)
        return 0;
    late = rows->walk_ago_ms - interval_ms;
    if (late > 5 * interval_ms)
        late = 5 * interval_ms;
    return 3 * rows->walk_took_ms + (late > 0 ? late : 0);
}

int64_t survey_drift_sum(int64_t redis_off, int64_t mysql_off, int64_t beyond)
{
    if (redis_off == SURVEY_UNKNOWN || mysql_off == SURVEY_UNKNOWN || beyond == SURVEY_UNKNOWN)
        return SURVEY_UNKNOWN;
    return llabs(redis_off) + llabs(mysql_off) + llabs(beyond);
}

static int64_t live_of(const struct survey_rows *rows)
{
    return rows->pending_units + rows->paid_units;
}

int64_t survey_rows_off(const struct survey_rows *rows)
{
    if (!rows->has_stock || rows->paid_units == SURVEY_UNKNOWN)
        return SURVEY_UNKNOWN;
    return rows->total - rows->available - live_of(rows);
}

/* Units reserved in Redis that can have no live order now. An order has at most limit units, since that many is what
 * its buyer may hold. */
static int64_t may_be_more(int64_t limit, const struct survey_stock *before, const struct survey_rows *rows,
                           const struct survey_stock *after, const struct survey_flight *flight)
{
    if (flight->window_orders == SURVEY_UNKNOWN || flight->queued == SURVEY_UNKNOWN || rows->messages == SURVEY_UNKNOWN)
        return INT64_MAX;
    return limit * (flight->window_orders + flight->queued + rows->messages + (after->ended - before->ended));
}

static void judge(const struct activity *activity, const struct survey_stock *before, const struct survey_rows *rows,
                  const struct survey_stock *after, const struct survey_flight *flight, struct survey_drift *out)
{
    int64_t limit = activity->per_user_limit, apart = before->held + before->sold - live_of(rows);
    int64_t units = llabs(apart), bound;

    bound = apart >= 0 ? may_be_more(limit, before, rows, after, flight) : limit * (after->taken - before->taken);
    out->beyond = units > bound ? units - bound : 0;
    out->in_flight = units - out->beyond;
}

/* One that was rebuilt while it was looked at says nothing. */
static bool still(const struct survey_stock *before, const struct survey_stock *after)
{
    return before->whole && after->whole && after->taken >= before->taken && after->ended >= before->ended;
}

/* While a restock is under way, the shards have the new caps a little later than MySQL the new total. */
static int64_t off_in_redis(const struct activity *activity, const struct survey_stock *s, bool caps_differ_long)
{
    int64_t all = caps_differ_long ? activity->total_stock - s->transfer : s->cap;

    return all - s->left - s->held - s->sold - s->gone;
}

void survey_drift_of(const struct activity *activity, const struct survey_stock *before, const struct survey_rows *rows,
                     const struct survey_stock *after, const struct survey_flight *flight, struct survey_drift *out)
{
    out->redis_off = out->mysql_off = out->in_flight = out->beyond = out->drift = SURVEY_UNKNOWN;
    if (rows)
        out->mysql_off = survey_rows_off(rows);
    if (!activity->reservations || !before)
        return;
    if (before->whole)
        out->redis_off = off_in_redis(activity, before, flight->caps_differ_long);
    if (out->mysql_off != SURVEY_UNKNOWN && after && still(before, after))
        judge(activity, before, rows, after, flight, out);
    out->drift = survey_drift_sum(out->redis_off, out->mysql_off, out->beyond);
}
