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

/* ---- counting (`orderctl dlq stats`) ---- */

struct dead_letter_count {
    enum dead_letter_state state;
    struct slice reason, queue; /* valid during the call */
    int64_t activity_id;        /* 0: not known */
    int64_t letters, times;     /* rows; deaths */
    int64_t oldest_ms;          /* since the earliest death, by the database's clock */
};

/* Reports each combination of state, reason, queue and activity, open ones first, then by the number of letters. */
typedef void (*dead_letter_count_fn)(void *arg, const struct dead_letter_count *count);
ORDERD_MUST_CHECK bool dead_letter_store_count(struct db *db, dead_letter_count_fn on_count, void *arg,
                                               struct error *err);

#endif
