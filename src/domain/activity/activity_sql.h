/* Moves of an activity's row, for the files beside this one. */
#ifndef ORDERD_ACTIVITY_SQL_H
#define ORDERD_ACTIVITY_SQL_H

#include "orderd/activity.h"

/* One legal move as one UPDATE; nothing happens where the activity is not in `from` any more or `where` does not hold.
 * from == to: the state stays and other columns change. set: further assignments (",a=b"), where: further conditions
 * (" AND c"), both of our own text. */
ORDERD_MUST_CHECK bool activity_sql_move(struct db *db, int64_t id, enum activity_state from, enum activity_state to,
                                         const char *set, const char *where, bool *moved, struct error *err);

/* The database clock as its columns starts_at and ends_at have it. */
#define ACTIVITY_SQL_NOW "UTC_TIMESTAMP(3)"

#endif
