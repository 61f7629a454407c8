/* The local message table in the hands of its operators: read, counted, sent again, purged. The relay goes on
 * meanwhile.
 *
 * Every statement is bounded, by rows or by an index, so that none nears mysql.read_timeout however large the table is,
 * and a lock is held for one short batch. Nothing here is taken back by DB_LOST: doing the same again is harmless (a
 * row that is sent a second time is the same message, which its receivers know by its id). */
#ifndef ORDERD_LOCAL_MESSAGE_ADMIN_H
#define ORDERD_LOCAL_MESSAGE_ADMIN_H

#include "orderd/local_message.h"

enum local_message_state {
#define X(state, name) LOCAL_MESSAGE_STATE_##state,
#include "orderd/tbl/local_message_state.h"
#undef X
    LOCAL_MESSAGE_STATE_COUNT
};

const char *local_message_state_name(enum local_message_state state);
bool local_message_state_of_name(struct slice name, enum local_message_state *out);

/* One row as it was at `now`. Times are ms since 1970 by the database clock, 0 where there is none. The text may hold
 * any byte, NUL included. */
struct local_message_row {
    int64_t id;
    struct slice key, topic;
    enum local_message_state state;
    int64_t attempts, payload_bytes;
    int64_t now, due_at, created_at, sent_at, lease_until;
    bool leased;              /* pending, and somebody is sending it at this moment */
    struct slice lease_owner; /* whoever had it last, where that ended by a crash */
    struct slice last_error;
    struct slice payload, headers; /* filled by local_message_get alone */
};

/* The slices are valid during the call. */
typedef void (*local_message_row_fn)(void *arg, const struct local_message_row *row);

/* ---- choosing rows ---- */

/* All zero: every row. */
struct local_message_filter {
    bool by_state;
    enum local_message_state state;
    struct slice topic, key; /* ptr NULL: any. key: what it begins with */
    int64_t since, until;    /* since <= created_at < until, ms since 1970; 0: no bound */
    int64_t settled_before;  /* sent or quarantined before this instant; 0: no bound */
    bool due;                /* pending, and waiting for nobody and nothing */
};

/* A walk over the rows of a filter by ascending id. A row that is changed meanwhile is met once or not at all. */
struct local_message_walk {
    const struct local_message_filter *filter;
    int64_t after; /* the walk has got to this id */
    bool end;
};

/* The next rows, at most max; there may be none although more follow (end says). */
ORDERD_MUST_CHECK bool local_message_page(struct db *db, struct local_message_walk *walk, size_t max,
                                          local_message_row_fn on_row, void *arg, struct error *err);

/* A row by the name that somebody gave it. */
struct local_message_ref {
    int64_t id; /* 0: by key */
    struct slice key;
};

#define LOCAL_MESSAGE_FIND_MAX 100

/* Calls on_found for each of refs (at most LOCAL_MESSAGE_FIND_MAX) that there is, with its index; of the row, id, topic
 * and state are filled. */
typedef void (*local_message_found_fn)(void *arg, size_t index, const struct local_message_row *row);
ORDERD_MUST_CHECK bool local_message_find(struct db *db, const struct local_message_ref *refs, size_t count,
                                          local_message_found_fn on_found, void *arg, struct error *err);

/* One row with all that it holds. *found is false where there is none. */
ORDERD_MUST_CHECK bool local_message_get(struct db *db, const struct local_message_ref *ref,
                                         local_message_row_fn on_row, void *arg, bool *found, struct error *err);

/* ---- changing them ---- */

/* A row that was chosen, and what it was then. */
struct local_message_pick {
    int64_t id;
    enum local_message_state state;
};

#define LOCAL_MESSAGE_BATCH_MAX 500

enum local_message_retry {
    LOCAL_MESSAGE_RETRY_DONE,    /* due now, with all its attempts before it */
    LOCAL_MESSAGE_RETRY_LEASED,  /* it is being sent at this moment */
    LOCAL_MESSAGE_RETRY_SENT,    /* it was sent, and sending again was not asked for */
    LOCAL_MESSAGE_RETRY_CHANGED, /* its state is not that of the pick any more */
    LOCAL_MESSAGE_RETRY_GONE,    /* there is no such row any more: only row->id is filled */
};

struct local_message_retrying {
    bool dry_run; /* only look */
    bool sent;    /* sent rows too */
};

/* Makes a batch of rows due now, in one transaction; at most LOCAL_MESSAGE_BATCH_MAX, by ascending id, none twice. The
 * calls of on_result come after the commit, each with its row as it was before. */
typedef void (*local_message_retry_fn)(void *arg, const struct local_message_row *row, enum local_message_retry result);
ORDERD_MUST_CHECK bool local_message_retry(struct db *db, const struct local_message_pick *picks, size_t count,
                                           struct local_message_retrying how, local_message_retry_fn on_result,
                                           void *arg, struct error *err);

/* Deletes a batch of rows, those that are in this state still; never pending ones, nor sent ones that count the
 * recoveries of an order which is still not there (see local_message_clean). At most LOCAL_MESSAGE_BATCH_MAX. */
ORDERD_MUST_CHECK bool local_message_purge(struct db *db, const int64_t *ids, size_t count,
                                           enum local_message_state state, size_t *deleted, struct error *err);

/* ---- counting them ---- */

struct local_message_count {
    struct slice topic;
    enum local_message_state state;
    int64_t rows;
    int64_t due, leased; /* of pending ones */
    int64_t oldest_ms;   /* age since it was created */
    int64_t overdue_ms;  /* how long a pending one has been due; 0: none is */
};

struct local_message_failure {
    struct slice topic, last_error;
    enum local_message_state state; /* pending or quarantined */
    int64_t rows;
};

#define LOCAL_MESSAGE_FAILURES_MAX 20

struct local_message_stats {
    struct arena *arena; /* what the slices point into */
    struct local_message_count *counts;
    size_t count;
    struct local_message_count by_state[LOCAL_MESSAGE_STATE_COUNT];    /* sums over all topics */
    struct local_message_failure failures[LOCAL_MESSAGE_FAILURES_MAX]; /* the most frequent ones */
    size_t failure_count;
};

/* Goes over the whole table: each row that is there all the time counts once, though not all in the same instant.
 * counts: by topic and state. on_progress: called now and then with the rows so far; or NULL. The caller releases *out
 * in any case. */
ORDERD_MUST_CHECK bool local_message_stats_read(struct db *db, struct local_message_stats *out,
                                                void (*on_progress)(void *arg, int64_t rows), void *arg,
                                                struct error *err);
void local_message_stats_release(struct local_message_stats *stats);

#endif
