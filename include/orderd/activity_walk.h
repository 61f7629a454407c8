/* The walk of each activity as the database knows it: who may walk it now, and what the last whole walk was. How it is
 * done is src/flow/walk. */
#ifndef ORDERD_ACTIVITY_WALK_H
#define ORDERD_ACTIVITY_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/db.h"
#include "orderd/error.h"

#define ACTIVITY_WALKER_MAX 80

/* The activities that are walked (preheated, not settled) and whose last whole walk began interval_ms ago or earlier,
 * and twice as long ago as it took: so that a walk of a very large one rests as long as it works. Never walked and
 * longest ago first. *count: how many, at most max. */
ORDERD_MUST_CHECK bool activity_walk_due(struct db *db, int64_t interval_ms, int64_t *ids, size_t max, size_t *count,
                                         struct error *err);

/* Takes the activity's walk lock where nobody has it and the walk is still due (another process may have finished one
 * since activity_walk_due looked). The lock belongs to this connection: it ends with activity_walk_release, or with
 * the connection, however that ends. Never waits. One lock at a time for each connection. */
ORDERD_MUST_CHECK bool activity_walk_elect(struct db *db, int64_t id, int64_t interval_ms, bool *elected,
                                           struct error *err);
ORDERD_MUST_CHECK bool activity_walk_release(struct db *db, int64_t id, struct error *err);

/* The same kind of lock for whoever looks, between the walks, at the shards of all activities. It may be held together
 * with others, and must not be asked for again by who has it. */
ORDERD_MUST_CHECK bool activity_level_elect(struct db *db, bool *elected, struct error *err);
ORDERD_MUST_CHECK bool activity_level_release(struct db *db, struct error *err);

struct activity_walk {
    int64_t walks; /* whole ones so far; written by activity_walk_record, which counts one more */
    char walker[ACTIVITY_WALKER_MAX + 1];
    int64_t began_at; /* ms since 1970 by the database clock; written as took_ms ago */
    int64_t took_ms;
    int64_t reservations; /* orders seen in the ledger */
    int64_t recovered;    /* lost messages sent again, and orders given up */
    int64_t deferred;     /* held without a row, but perhaps still on their way */
    int64_t mended;       /* returns and settlements repeated, orders adopted */
    int64_t need_person;  /* findings that are not repaired by themselves */
};

/* *out is zero where the activity was never walked. */
ORDERD_MUST_CHECK bool activity_walk_read(struct db *db, int64_t id, struct activity_walk *out, struct error *err);

/* Only while the lock is held. */
ORDERD_MUST_CHECK bool activity_walk_record(struct db *db, int64_t id, const struct activity_walk *walk,
                                            struct error *err);

#endif
