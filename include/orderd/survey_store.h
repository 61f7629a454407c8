/* What the survey reads from MySQL, and where it is kept for those who did not survey. Each statement is served by an
 * index alone. How orders are counted: survey_count.h. */
#ifndef ORDERD_SURVEY_STORE_H
#define ORDERD_SURVEY_STORE_H

#include "orderd/db.h"
#include "orderd/survey.h"

/* Rows of local messages that are counted at most. */
#define SURVEY_COUNTED_MAX 100000

/* Fills dead_open and reasons, the most frequent ones. */
ORDERD_MUST_CHECK bool survey_letters(struct db *db, struct survey *out, struct error *err);

/* Fills relay_*. Beyond SURVEY_COUNTED_MAX rows it counts no further. */
ORDERD_MUST_CHECK bool survey_messages(struct db *db, struct survey *out, struct error *err);

/* Takes the part of the surveyor, where nobody has it: it belongs to this connection and ends with it. Never waits. */
ORDERD_MUST_CHECK bool survey_elect(struct db *db, bool *elected, struct error *err);

/* Keeps the survey, and reads what was kept last; *found is false where there is none. */
ORDERD_MUST_CHECK bool survey_publish(struct db *db, const struct survey *survey, struct error *err);
ORDERD_MUST_CHECK bool survey_read(struct db *db, struct survey *out, bool *found, struct error *err);

#endif
