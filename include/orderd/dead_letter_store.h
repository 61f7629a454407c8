/* The table dead_letter and its audit, dead_letter_action: what was taken out of order.dead and what became of it.
 * Every change is one transaction with its line in the audit. One thread per connection; each call blocks for its few
 * statements, mysql.read_timeout each at most. */
#ifndef ORDERD_DEAD_LETTER_STORE_H
#define ORDERD_DEAD_LETTER_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/broker.h"
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/kv.h"
#include "orderd/order_change.h"
#include "orderd/order_change.h"
#include "orderd/order_renewal.h"

enum dead_letter_state {
#define X(state, name) DEAD_LETTER_##state,
#include "orderd/tbl/dead_letter_state.h"
#undef X
    DEAD_LETTER_STATE_COUNT
};

const char *dead_letter_state_name(enum dead_letter_state state);
bool dead_letter_state_of_name(struct slice name, enum dead_letter_state *out);

/* The reason of a letter that nobody knows (dead_letter_reason answers NONE), as the table names it. */
#define DEAD_LETTER_REASON_UNKNOWN "unknown"

/* ---- taking (`orderctl dlq drain`) ---- */

enum dead_letter_taken {
    DEAD_LETTER_NEW,   /* a row more */
    DEAD_LETTER_KNOWN, /* its row was there: the same delivery came again */
    DEAD_LETTER_AGAIN, /* its row was there, and it has died once more since: open again */
    DEAD_LETTER_LEFT,  /* the database refused it; must not be acknowledged */
};

/* What a letter is that has a row already: KNOWN or AGAIN. Times of death are in ms, 0 where the letter does not say.
 * state: the row's. redelivered: as the broker says. Pure. */
enum dead_letter_taken dead_letter_judge(enum dead_letter_state state, int64_t row_died_at, int64_t died_at,
                                         bool redelivered);

/* Only one session of a schema at a time has it, until it ends its connection. *locked tells. */
ORDERD_MUST_CHECK bool dead_letter_store_lock(struct db *db, bool *locked, struct error *err);

/* Stores these deliveries of order.dead, or finds that they are stored, and answers for each in out[]. Only after it
 * has answered may those that are not LEFT be acknowledged: their rows are committed. Deadlocks are tried again. Where
 * the database refuses a letter (too large, say), it alone is LEFT, and *refusal says why the last one was. who: for
 * the audit. false: nothing is known to be stored (an outage, say); the deliveries come again. Fault points:
 * drain.before_commit, drain.after_commit. */
ORDERD_MUST_CHECK bool dead_letter_store_take(struct db *db, const struct broker_delivery *list, size_t count,
                                              const char *who, enum dead_letter_taken *out, struct error *refusal,
                                              struct error *err);

/* ---- choosing (all commands but drain and import) ---- */

struct dead_letter_filter { /* what is not set chooses all */
    bool by_state;
    enum dead_letter_state state;
    struct slice reason, queue, order_no, message_id; /* ptr NULL: any */
    int64_t activity_id;                              /* 0: any */
    int64_t since, until;                             /* by the death, ms since 1970; until is excluded; 0: any */
    const int64_t *ids;                               /* NULL: any; else one of these, id_count of them (1 or more) */
    size_t id_count;
};

/* ---- counting (`orderctl dlq stats`) ---- */

enum dead_letter_by { /* bits; at most one of the last three */
                      DEAD_LETTER_BY_STATE = 1,
                      DEAD_LETTER_BY_REASON = 2,
                      DEAD_LETTER_BY_QUEUE = 4,
                      DEAD_LETTER_BY_ACTIVITY = 8,
                      DEAD_LETTER_BY_MINUTE = 16,
                      DEAD_LETTER_BY_HOUR = 32,
                      DEAD_LETTER_BY_DAY = 64,
};

struct dead_letter_count { /* of a group; what it is not grouped by is 0, or empty */
    enum dead_letter_state state;
    struct slice reason, queue;                         /* valid during the call */
    int64_t activity_id;                                /* 0: not known */
    int64_t from;                                       /* of the minute, hour or day of death, in ms since 1970 */
    int64_t letters, in_state[DEAD_LETTER_STATE_COUNT]; /* rows */
    int64_t times;                                      /* deaths */
    int64_t oldest_ms;                                  /* since the earliest death, by the database's clock */
};

/* Reports each group: by time, oldest first; then open ones first, then by the number of letters. by: DEAD_LETTER_BY_,
 * at least one. */
typedef void (*dead_letter_count_fn)(void *arg, const struct dead_letter_count *count);
ORDERD_MUST_CHECK bool dead_letter_store_count(struct db *db, const struct dead_letter_filter *filter, unsigned by,
                                               dead_letter_count_fn on_count, void *arg, struct error *err);

/* How many the filter chooses. */
ORDERD_MUST_CHECK bool dead_letter_store_size(struct db *db, const struct dead_letter_filter *filter, int64_t *out,
                                              struct error *err);

/* ---- looking (`orderctl dlq list`, `show`, `export`) ---- */

struct dead_letter_row { /* slices are valid during the call; times in ms since 1970 */
    int64_t id;
    enum dead_letter_state state;
    struct slice message_id, reason, detail, queue; /* message_id: any bytes */
    struct slice order_no;                          /* ptr NULL: the body does not say */
    int64_t activity_id;                            /* 0: not known */
    int64_t attempts, times, body_bytes;
    bool death_told;                /* by the letter itself */
    int64_t died_at, taken_at, now; /* the database's clock; died_at is that of taking where the letter did not say */
    struct slice content_type, headers, body; /* only of dead_letter_store_get: headers is a JSON object */
    int64_t body_id; /* 0; who puts another body in its place (dead_letter_made.h) says so here */
};

/* Up to max (1 or more) rows of ids above *after, ascending; *after is then the last of them. *end: there are no more.
 * Each call is one query, so what changes between two is seen or not. */
typedef void (*dead_letter_row_fn)(void *arg, const struct dead_letter_row *row);
ORDERD_MUST_CHECK bool dead_letter_store_page(struct db *db, const struct dead_letter_filter *filter, int64_t *after,
                                              size_t max, dead_letter_row_fn on_row, void *arg, bool *end,
                                              struct error *err);

/* The same, of the ids alone. */
typedef void (*dead_letter_id_fn)(void *arg, int64_t id);
ORDERD_MUST_CHECK bool dead_letter_store_ids(struct db *db, const struct dead_letter_filter *filter, int64_t *after,
                                             size_t max, dead_letter_id_fn on_id, void *arg, bool *end,
                                             struct error *err);

ORDERD_MUST_CHECK bool dead_letter_store_get(struct db *db, int64_t id, dead_letter_row_fn on_row, void *arg,
                                             bool *found, struct error *err);

/* ---- the audit (`orderctl dlq history`) ---- */

#define DEAD_LETTER_WHO_MAX  200 /* characters, as in the table */
#define DEAD_LETTER_NOTE_MAX 400

struct dead_letter_action {
    int64_t id, letter_id, done_at;
    struct slice action, who, note;
};

struct dead_letter_action_filter { /* what is not set chooses all */
    const int64_t *letters;        /* NULL: any; else one of these, letter_count of them (1 or more) */
    size_t letter_count;
    struct slice who;     /* ptr NULL: any; "name@host", or a name alone, wherever that was */
    struct slice action;  /* ptr NULL: any */
    int64_t since, until; /* ms since 1970; until is excluded; 0: any */
};

/* Up to max (1 or more) lines of ids above *after, oldest first; *after and *end as in dead_letter_store_page. */
typedef void (*dead_letter_action_fn)(void *arg, const struct dead_letter_action *action);
ORDERD_MUST_CHECK bool dead_letter_actions(struct db *db, const struct dead_letter_action_filter *filter,
                                           int64_t *after, size_t max, dead_letter_action_fn on_action, void *arg,
                                           bool *end, struct error *err);

/* Where dead_letter_actions has to begin to report the last max (1 or more) lines. */
ORDERD_MUST_CHECK bool dead_letter_actions_last(struct db *db, const struct dead_letter_action_filter *filter,
                                                int64_t max, int64_t *after, struct error *err);

/* ---- changing (`orderctl dlq discard`, `restore`) ---- */

enum dead_letter_moved {
    DEAD_LETTER_MOVED,
    DEAD_LETTER_THERE, /* it was in that state already */
    DEAD_LETTER_OTHER, /* in *was, from which it does not go there */
    DEAD_LETTER_GONE,  /* there is no such letter */
};

struct dead_letter_move {
    enum dead_letter_state from, to;
    const char *action, *who; /* for the audit */
    struct slice note;
    bool dry_run;
    struct slice with; /* further statements of the same transaction; ptr NULL: none */
};

/* One letter, in one transaction with its line of the audit. *was: the state before, where there is one. After DB_LOST
 * the same call tells whether it was done. */
ORDERD_MUST_CHECK bool dead_letter_store_move(struct db *db, int64_t id, const struct dead_letter_move *move,
                                              enum dead_letter_moved *result, enum dead_letter_state *was,
                                              struct error *err);

/* Whether the letter is an order that some daemon could not create: its message, whole and valid, from the create
 * queue. Pure. */
bool dead_letter_is_order(const struct dead_letter_row *row, const char *create_queue, struct order *out);

/* What putting the letter of this order aside would leave behind: an order that comes to life all the same, or units
 * that nobody gives back. It is decided for good then (`decides`), where
 *
 *   it has no row, and its activity's ledger in Redis holds a reservation of the same buyer, quantity, amount and
 * epoch: the walk would send it again. (One of another content is another message's, and none of this letter's
 * business.) it has no row, and its activity is sold without reservations: nobody would send it again, but its units
 * were taken in Redis before its message was written, and only a decision gives them back it is rejected, and a new
 * order instead of it was begun by a replay that did not get through: the walk would complete that. `order` is that one
 */
struct dead_letter_end {
    bool decides, reservations;
    struct order order;
    int32_t units; /* that go back on sale: all of its quantity, or none */
};
ORDERD_MUST_CHECK bool dead_letter_foresee_end(struct db *db, struct kv *kv, const struct order *order,
                                               struct dead_letter_end *out, struct error *err);

/* Rejects it for good, gives its units back, and moves its letter, in one transaction. *done is false, and nothing is
 * changed, where the letter has been moved or the order been decided about meanwhile: dead_letter_store_move tells.
 * After DB_LOST it does too. */
ORDERD_MUST_CHECK bool dead_letter_reject(struct db *db, int64_t id, const struct dead_letter_end *end,
                                          const struct dead_letter_move *move, bool silent, bool *done,
                                          struct error *err);

/* A letter from elsewhere (`orderctl dlq import`): all of *row but id, now, taken_at and body_bytes, with the lines of
 * its audit there (but their ids) before the one that says who imported it, in one transaction. *added is false where
 * the table has a letter of this message id and body, which stays as it is. dry_run: only looks; *added then means that
 * it would be. headers must be a JSON object, the actions' words [a-z_] and at most 32 bytes. new_body, where ptr is
 * not NULL, is in force instead of the letter's own, as new_body_by put it there. */
struct dead_letter_origin {
    const struct dead_letter_action *history;
    size_t history_count;
    const char *who;
    struct slice note;
    struct slice new_body, new_body_by;
};

ORDERD_MUST_CHECK bool dead_letter_store_add(struct db *db, const struct dead_letter_row *row,
                                             const struct dead_letter_origin *origin, bool dry_run, bool *added,
                                             struct error *err);

/* ---- replaying (`orderctl dlq replay`) ---- */

enum dead_letter_fate {
    DEAD_LETTER_SEND,    /* back to its queue, under its own number */
    DEAD_LETTER_RENEW,   /* its order is rejected for good: the buyer gets a new one (dead_letter_renew.h) */
    DEAD_LETTER_RESOLVE, /* its order is decided: nothing to send */
    DEAD_LETTER_REFUSE,
};

struct dead_letter_verdict {
    enum dead_letter_fate fate;
    const char *topic; /* of SEND: of the local message; static */
    int64_t replays;   /* so far */
    char why[200];
    char order_no[ORDER_NO_MAX + 1]; /* of the one order that it is about; "" where it names none, or several */
    bool is_order;                   /* it is the message of a new order: */
    struct order order;
    struct order_renewal renewal; /* of RENEW */
    struct order_change change;   /* where it is a payment or a cancellation */
};

/* What replaying this letter (with its body) would do, and why. max: it is refused once it has been replayed so often,
 * or its order bought anew. Reads, changes nothing. */
ORDERD_MUST_CHECK bool dead_letter_judge_replay(struct db *db, const struct dead_letter_row *row,
                                                const char *create_queue, int64_t max, struct dead_letter_verdict *out,
                                                struct error *err);

/* Whether some queue could take this letter's body; else why says what is wrong with it, or with the letter. Pure. */
bool dead_letter_can_be_taken(const struct dead_letter_row *row, const char *create_queue, char *why, size_t size);

/* Replays it or marks it as resolved, in one transaction: the letter's state, its audit, and the message as a row
 * `replay:<id>:<n>` of the local message table, due in due_in_us, which the relay sends. So it is sent exactly if the
 * letter is replayed, and two runs cannot both do it: *done is false where the letter is not open any more, or has
 * another body by now. It keeps body, message id, content type and foreign headers; its retries begin anew;
 * orderd-replay-of names the letter. Fault point: replay.before_commit. */
ORDERD_MUST_CHECK bool dead_letter_replay(struct db *db, const struct dead_letter_row *row,
                                          const struct dead_letter_verdict *verdict, const char *who, int64_t due_in_us,
                                          bool *done, struct error *err);

#endif
