/* What the files of the dead letter table share. */
#ifndef ORDERD_DEAD_LETTER_ROW_H
#define ORDERD_DEAD_LETTER_ROW_H

#include "orderd/activity.h"
#include "orderd/dead_letter_made.h"
#include "orderd/dead_letter_store.h"
#include "orderd/order_rejection.h"

/* What a delivery of order.dead says of itself. Texts point into the delivery, or are static. */
struct dead_letter_facts {
    const char *reason;
    struct slice detail, queue;
    int64_t attempts;
    int64_t died_at;     /* ms since 1970; 0: it does not say, e.g. the broker gave up */
    int64_t activity_id; /* 0: the body does not say */
    char order_no[40];   /* ""; likewise */
};

void dead_letter_facts_read(const struct broker_delivery *delivery, struct dead_letter_facts *out);

/* All headers, the broker's too, as one JSON object, into an empty buffer; without those whose name has a NUL. */
void dead_letter_add_headers(struct strbuf *out, const struct broker_delivery *delivery);

/* name='value', with value as text of at most max bytes; what is no UTF-8 becomes U+FFFD. */
void dead_letter_set_text(const struct db *db, struct strbuf *sql, const char *name, struct slice value, size_t max);

/* name='value', as bytes, whatever they are. */
void dead_letter_set_bytes(const struct db *db, struct strbuf *sql, const char *name, struct slice value);

/* The expression for letter_key. */
void dead_letter_add_key(const struct db *db, struct strbuf *sql, struct slice message_id, struct slice body);

/* "order_no=...,activity_id=...,": which order and activity it is about, NULL where it does not say. */
void dead_letter_add_order(const struct db *db, struct strbuf *sql, const struct dead_letter_facts *facts);

/* The row of dead_letter_made for a message; only letter_id, key, order_no, new_order and who are looked at. */
void dead_letter_add_message(const struct db *db, struct strbuf *sql, const struct dead_letter_message *message);

/* The row of local_message for a message that is made of a letter: with its foreign headers, and orderd-replay-of. */
struct dead_letter_outgoing {
    const char *key, *topic;
    struct slice message_id, content_type, payload;
    int64_t due_in_us;
};
void dead_letter_add_outgoing(const struct db *db, struct strbuf *sql, const struct dead_letter_row *row,
                              const struct dead_letter_outgoing *message);

/* Stops the transaction, DB_CHECK, unless `seen` is still the letter's newest body (0: its own). For a transaction that
 * has locked the letter's row. */
void dead_letter_add_body_guard(struct strbuf *sql, int64_t letter_id, int64_t seen);

/* REFUSE, and why. */
void dead_letter_refuse(struct dead_letter_verdict *v, const char *fmt, ...) ORDERD_PRINTF(2, 3);

/* The activity, for a renewal. false: err, or the verdict is REFUSE; *ok tells which. */
bool dead_letter_read_activity(struct db *db, struct dead_letter_verdict *v, int64_t id, struct activity *out, bool *ok,
                               struct error *err);

/* order_renewal_find, and RENEW; or REFUSE where foreign hands wrote something else into the chain. */
ORDERD_MUST_CHECK bool dead_letter_find_renewal(struct db *db, const struct order_record *record,
                                                struct dead_letter_verdict *v, struct error *err);

/* order_rejection_run, again after a conflict. *theirs: it has a row already, so theirs stands. */
ORDERD_MUST_CHECK bool dead_letter_run_rejection(struct db *db, const struct order_rejection *rejection, bool *theirs,
                                                 struct error *err);

/* A line of the audit, for the caller's transaction. */
void dead_letter_add_action(const struct db *db, struct strbuf *sql, int64_t id, const char *action, const char *who,
                            struct slice note);

/* " AND column IN (...)"; " AND comparison'time'", nothing where ms is 0; all that the filter asks for, likewise. */
void dead_letter_add_ids(struct strbuf *sql, const char *column, const int64_t *ids, size_t count);
void dead_letter_add_time(struct strbuf *sql, const char *comparison, int64_t ms);
void dead_letter_add_filter(const struct db *db, struct strbuf *sql, const struct dead_letter_filter *filter);

#endif
