/* The life of an activity after its approval, in the database. Each move is one conditional UPDATE, so that two of them
 * at once cannot both happen; the clock of the database decides. Redis is brought to agree afterwards
 * (activity_apply.h): a crash in between leaves that to whoever repeats the command, or to the daemon's calendar.
 *
 * *moved is false where it was so already. dry_run: only looks; *moved then means that it would move, and *out is the
 * row as it would be. Else *out is the row afterwards. A DB_LOST is answered by doing the same again. */
#ifndef ORDERD_ACTIVITY_MOVE_H
#define ORDERD_ACTIVITY_MOVE_H

#include "orderd/activity.h"
#include "orderd/activity_store.h"

/* The state that it should have at this instant: a scheduled one runs from its start on where it is preheated, and any
 * is over at its end. Pure. */
enum activity_state activity_due_state(const struct activity *activity, int64_t now);

/* Moves it to that state, if it is still due by the database clock. */
ORDERD_MUST_CHECK bool activity_move_due(struct db *db, const struct activity *activity, enum activity_state to,
                                         bool *moved, struct error *err);

/* Opens a scheduled sale that is preheated: starts_at becomes now, where it was later. */
ORDERD_MUST_CHECK bool activity_move_start(struct db *db, int64_t id, bool dry_run, bool *moved, struct activity *out,
                                           struct error *err);

/* Ends a scheduled or running sale: ends_at becomes now, where it was later. One that had not begun keeps a window of a
 * millisecond, in the past. */
ORDERD_MUST_CHECK bool activity_move_end(struct db *db, int64_t id, bool dry_run, bool *moved, struct activity *out,
                                         struct error *err);

/* Moves the end to a later instant (relative: from now on). A sale that has ended runs again, so its shards must be
 * there: the caller looks first. */
ORDERD_MUST_CHECK bool activity_move_extend(struct db *db, int64_t id, struct activity_when ends, bool dry_run,
                                            bool *moved, struct activity *out, struct error *err);

/* One change of an activity at a time: commands that change both MySQL and Redis, and the calendar, hold this lock of
 * the server meanwhile, on a connection of their own; losing the connection gives it up. wait_s: how long to wait for
 * it, 0 for not at all. *locked false: another has it. */
ORDERD_MUST_CHECK bool activity_lock(struct db *db, int64_t id, int wait_s, bool *locked, struct error *err);
void activity_unlock(struct db *db, int64_t id);

#endif
