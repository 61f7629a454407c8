#include "orderd/survey_past.h"

#include <string.h>

#include "orderd/check.h"

void survey_past_begin(struct survey_past *past, int64_t front)
{
    past->front = front;
    past->count = past->late_count = 0;
}

void survey_past_jump(struct survey_past *past, int64_t front)
{
    if (past->front < front)
        past->front = front;
}

/* ---- who ---- */

static struct survey_past_sale *find(struct survey_past *past, int64_t activity)
{
    for (size_t i = 0; i < past->count; i++) {
        if (past->sales[i].activity == activity)
            return &past->sales[i];
    }
    return NULL;
}

const struct survey_past_sale *survey_past_find(const struct survey_past *past, int64_t activity)
{
    for (size_t i = 0; i < past->count; i++) {
        if (past->sales[i].activity == activity)
            return &past->sales[i];
    }
    return NULL;
}

void survey_past_join(struct survey_past *past, int64_t activity, int64_t since)
{
    if (find(past, activity))
        return;
    CHECK(past->count < SURVEY_ACTIVITIES_MAX);
    past->sales[past->count++] = (struct survey_past_sale){
        .activity = activity,
        .until = since < past->front ? since : past->front,
    };
}

static void drop_late_of(struct survey_past *past, int64_t activity)
{
    size_t n = 0;

    for (size_t i = 0; i < past->late_count; i++) {
        if (past->late[i].activity != activity)
            past->late[n++] = past->late[i];
    }
    past->late_count = n;
}

static bool is_among(int64_t activity, const int64_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == activity)
            return true;
    }
    return false;
}

void survey_past_keep(struct survey_past *past, const int64_t *activities, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < past->count; i++) {
        if (is_among(past->sales[i].activity, activities, count))
            past->sales[n++] = past->sales[i];
        else
            drop_late_of(past, past->sales[i].activity);
    }
    past->count = n;
}

bool survey_past_known(const struct survey_past *past, int64_t activity, struct survey_past_sums *out)
{
    const struct survey_past_sale *sale = survey_past_find(past, activity);

    if (!sale || sale->until != past->front)
        return false;
    *out = sale->sums;
    return true;
}

/* ---- slices ---- */

bool survey_past_next(const struct survey_past *past, int64_t horizon, struct survey_slice *out)
{
    int64_t from = past->front, end = past->front;

    for (size_t i = 0; i < past->count; i++) {
        if (past->sales[i].until < from)
            from = past->sales[i].until;
    }
    for (size_t i = 0; i < past->count; i++) {
        if (past->sales[i].until > from && past->sales[i].until < end)
            end = past->sales[i].until;
    }
    *out = (struct survey_slice){from, from < past->front ? end : horizon};
    return out->from < out->end;
}

void survey_slice_cut(struct survey_slice *slice, int64_t at)
{
    int64_t least = slice->from + 1;

    if (at < least)
        at = least;
    if (at < slice->end)
        slice->end = at;
}

bool survey_past_wants(const struct survey_past *past, const struct survey_slice *slice, int64_t activity)
{
    const struct survey_past_sale *sale = survey_past_find(past, activity);

    return sale && sale->until == slice->from;
}

void survey_past_add(struct survey_past *past, int64_t activity, const struct survey_past_sums *more)
{
    struct survey_past_sale *sale = find(past, activity);

    CHECK(sale);
    sale->sums.paid += more->paid;
    sale->sums.paid_units += more->paid_units;
    sale->sums.closed += more->closed;
}

bool survey_past_add_late(struct survey_past *past, int64_t order, int64_t activity)
{
    if (past->late_count == SURVEY_LATE_MAX)
        return false;
    past->late[past->late_count++] = (struct survey_past_late){order, activity};
    return true;
}

void survey_past_done(struct survey_past *past, const struct survey_slice *slice)
{
    for (size_t i = 0; i < past->count; i++) {
        if (past->sales[i].until == slice->from)
            past->sales[i].until = slice->end;
    }
    if (past->front < slice->end)
        past->front = slice->end;
}

/* ---- what changes ---- */

void survey_past_settle(struct survey_past *past, int64_t order, enum order_status status, int64_t units)
{
    for (size_t i = 0; i < past->late_count; i++) {
        struct survey_past_sums more = {0};

        if (past->late[i].order != order)
            continue;
        if (status == ORDER_PAID)
            more = (struct survey_past_sums){.paid = 1, .paid_units = units};
        else if (status == ORDER_CLOSED)
            more.closed = 1;
        survey_past_add(past, past->late[i].activity, &more);
        past->late[i] = past->late[--past->late_count];
        return;
    }
}

static size_t late_of_others(const struct survey_past *past, const struct survey_past *again)
{
    size_t n = 0;

    for (size_t i = 0; i < past->late_count; i++)
        n += !survey_past_find(again, past->late[i].activity);
    return n;
}

bool survey_past_adopt(struct survey_past *past, const struct survey_past *again)
{
    CHECK(past->front == again->front);
    if (late_of_others(past, again) + again->late_count > SURVEY_LATE_MAX)
        return false;
    for (size_t i = 0; i < again->count; i++) {
        struct survey_past_sale *sale = find(past, again->sales[i].activity);

        drop_late_of(past, again->sales[i].activity);
        if (sale)
            *sale = again->sales[i];
    }
    for (size_t i = 0; i < again->late_count; i++) {
        if (find(past, again->late[i].activity))
            past->late[past->late_count++] = again->late[i];
    }
    return true;
}
