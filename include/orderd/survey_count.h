/* The orders of the surveyed activities, counted from the index k_due alone: what is recent in each survey, for all
 * activities in one statement, and what is past (survey_past.h) once, slice by slice. Both take time with the orders
 * they look at, those of all other activities included (about half a second for a million), so whoever calls them rests
 * in proportion. */
#ifndef ORDERD_SURVEY_COUNT_H
#define ORDERD_SURVEY_COUNT_H

#include "orderd/activity.h"
#include "orderd/db.h"
#include "orderd/survey_past.h"

/* "Soon due": within so many ms. */
#define SURVEY_DUE_SOON_MS 300000

/* Index entries that a slice looks at, for each of two states; more only where more orders are due in one and the same
 * millisecond. */
#define SURVEY_SLICE_ORDERS 25000

/* Orders, stock, local messages, walks and reconciliations of count activities, all in one read view: rows[i].activity
 * says which, all else is filled. paid, paid_units and closed are SURVEY_UNKNOWN as long as the past is not counted. Of
 * the past, late orders are settled. At most SURVEY_ACTIVITIES_MAX. */
ORDERD_MUST_CHECK bool survey_count(struct db *db, struct survey_past *past, struct survey_rows *rows, size_t count,
                                    struct error *err);

/* An activity joins the past: see survey_past_join. One that has no orders yet has none to be counted. */
ORDERD_MUST_CHECK bool survey_count_join(struct db *db, struct survey_past *past, const struct activity *activity,
                                         struct error *err);

/* Counts the slice that is next, `orders` of each state at most; *done is false where nothing is left to count, or
 * where too many orders of it are still pending: then nothing has changed. */
ORDERD_MUST_CHECK bool survey_count_past(struct db *db, struct survey_past *past, int64_t horizon, int orders,
                                         bool *done, struct error *err);

#endif
