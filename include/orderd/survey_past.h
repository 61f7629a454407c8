/* The past of the surveyed activities: what became of the orders that were due long ago, counted once and remembered,
 * so that a survey counts only what is recent, however many orders there have been. Pure; one thread.
 *
 * The front divides: orders that were due before it are the past, all others are counted by each survey. The past of
 * each activity is summed from its beginning up to `until`, slice by slice; where `until` has come to the front, what
 * it had at any instant is past + recent, nothing twice and nothing left out. The front follows the clock, by slices
 * too.
 *
 * That is exact because an order that is paid or closed stays so (tbl/order_transition.h). Only those that are still
 * pending in the past, the late ones, can change: they are remembered one by one when their slice is counted, looked up
 * in each survey, and added when they are paid or closed. New orders are due later than now, so none comes to the past.
 * What breaks these rules (rows changed by hand, a transaction that was open for many minutes) is found when the past
 * is counted again. */
#ifndef ORDERD_SURVEY_PAST_H
#define ORDERD_SURVEY_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/error.h"
#include "orderd/order_store.h"
#include "orderd/survey.h"

/* Pending orders of the past that are remembered; where there are more, a slice has to wait. */
#define SURVEY_LATE_MAX 1000

/* Orders, units, orders. */
struct survey_past_sums {
    int64_t paid, paid_units, closed;
};

struct survey_past_sale {
    int64_t activity, until; /* counted is what was due before `until` */
    struct survey_past_sums sums;
};

struct survey_past_late {
    int64_t order, activity; /* the row's id */
};

/* All times are ms since 1970 by the clock of the database. */
struct survey_past {
    int64_t front; /* 0: not begun */
    size_t count, late_count;
    struct survey_past_sale sales[SURVEY_ACTIVITIES_MAX];
    struct survey_past_late late[SURVEY_LATE_MAX];
};

/* What is counted in one statement: due from `from` on, and before `end`. */
struct survey_slice {
    int64_t from, end;
};

/* Empty, with this front. */
void survey_past_begin(struct survey_past *past, int64_t front);

/* The front goes to `front` at once, where that is later, and all activities have to catch up with it: for when nobody
 * has counted for a while, so that a survey has no more to count than what is recent. */
void survey_past_jump(struct survey_past *past, int64_t front);

/* Another activity, none of whose orders was due before `since`; where that is the front or later, its past is known at
 * once. At most SURVEY_ACTIVITIES_MAX; one that is there already stays as it is. */
void survey_past_join(struct survey_past *past, int64_t activity, int64_t since);

/* Forgets all others. */
void survey_past_keep(struct survey_past *past, const int64_t *activities, size_t count);

/* NULL: it has not joined. */
const struct survey_past_sale *survey_past_find(const struct survey_past *past, int64_t activity);

/* Its sums, where all of its past is counted; else false. */
bool survey_past_known(const struct survey_past *past, int64_t activity, struct survey_past_sums *out);

/* What is to be counted next: of those that are furthest behind, as far as all of them have the same to count. Where
 * none is behind, the front goes on to `horizon`. false: nothing is left. */
bool survey_past_next(const struct survey_past *past, int64_t horizon, struct survey_slice *out);

/* Only up to that order, the first one too many, which is due at `at`; but never nothing. */
void survey_slice_cut(struct survey_slice *slice, int64_t at);

/* Whether this slice is the next one of that activity. */
bool survey_past_wants(const struct survey_past *past, const struct survey_slice *slice, int64_t activity);

/* What was counted of an activity that wants it, and pending orders that were seen; false: those are too many. Then the
 * whole slice is done. */
void survey_past_add(struct survey_past *past, int64_t activity, const struct survey_past_sums *more);
ORDERD_MUST_CHECK bool survey_past_add_late(struct survey_past *past, int64_t order, int64_t activity);
void survey_past_done(struct survey_past *past, const struct survey_slice *slice);

/* A late order of so many units is pending no more. What is not remembered is passed over. */
void survey_past_settle(struct survey_past *past, int64_t order, enum order_status status, int64_t units);

/* Takes over what was counted again up to the same front, of activities that are in both. false: too many late ones,
 * and all stays as it was. */
ORDERD_MUST_CHECK bool survey_past_adopt(struct survey_past *past, const struct survey_past *again);

#endif
