/* An activity as orderctl shows it. */
#ifndef ORDERD_CTL_ACTIVITY_H
#define ORDERD_CTL_ACTIVITY_H

#include "table.h"

/* The members of an activity, into an open object. */
void activity_record(struct strbuf *line, const struct activity *activity);

/* One object: the activity's members after "result". */
void activity_result(const struct activity *activity, const char *result);

/* The activity in several lines. */
void activity_print(const struct ctl *ctl, const struct activity *activity);

/* Takes the lock under which MySQL and Redis are changed together (activity_lock), for as long as db is open;
 * DB_CONFLICT where somebody else keeps it for 5 seconds. */
ORDERD_MUST_CHECK bool activity_hold(const struct ctl *ctl, struct db *db, struct error *err);

enum tint activity_tint(enum activity_state state);

#endif
