/* What the survey reads from MySQL, and where it is kept for those who did not survey. Each statement is served by an
 * index alone; survey_count takes time with the orders of its activity (about a second for one and a half million), so whoever
 * calls it rests in proportion. */
#ifndef ORDERD_SURVEY_STORE_H
#define ORDERD_SURVEY_STORE_H

#include "orderd/survey.h"

/* "Soon due": within so many ms. */
#define SURVEY_DUE_SOON_MS 300000

/* Orders, stock, pending local messages and the last reconciliation of an activity, all in one read view. */
ORDERD_MUST_CHECK bool survey_count(struct db *db, const struct activity *activity, struct survey_rows *out,
                                    struct error *err);

/* Fills dead_open and reasons, the most frequent ones. */
ORDERD_MUST_CHECK bool survey_letters(struct db *db, struct survey *out, struct error *err);

/* Fills relay_*. Beyond 100000 rows it counts no further. */
ORDERD_MUST_CHECK bool survey_messages(struct db *db, struct survey *out, struct error *err);

/* Takes the part of the surveyor, where nobody has it: it belongs to this connection and ends with it. Never waits. */
ORDERD_MUST_CHECK bool survey_elect(struct db *db, bool *elected, struct error *err);

/* Keeps the survey, and reads what was kept last; *found is false where there is none. */
ORDERD_MUST_CHECK bool survey_publish(struct db *db, const struct survey *survey, struct error *err);
ORDERD_MUST_CHECK bool survey_read(struct db *db, struct survey *out, bool *found, struct error *err);

#endif
