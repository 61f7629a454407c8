/* What was made of dead letters (the table dead_letter_made): bodies that were mended by a person, and messages that
 * were sent. So a letter and what came of it point at each other, and the original is kept whatever is done. One thread
 * per connection; each call blocks for its few statements. */
#ifndef ORDERD_DEAD_LETTER_MADE_H
#define ORDERD_DEAD_LETTER_MADE_H

#include "orderd/dead_letter_store.h"

/* ---- messages ---- */

struct dead_letter_message {
    int64_t letter_id, made_at;
    struct slice key, order_no; /* valid during the call. order_no: ptr NULL where it is about no one order */
    bool new_order;             /* order_no is a new number, instead of the rejected one of the letter */
    struct slice who;
    struct slice message_state; /* of its row of the local message table; ptr NULL: that is gone by now */
    struct slice order_status;  /* ptr NULL: there is no such order */
};

typedef void (*dead_letter_message_fn)(void *arg, const struct dead_letter_message *message);

/* Those that were made of this letter, oldest first. */
ORDERD_MUST_CHECK bool dead_letter_messages(struct db *db, int64_t letter_id, dead_letter_message_fn on_message,
                                            void *arg, struct error *err);

/* The first 100 letters that concern this order (a valid number), oldest first: its own by what they say, and those of
 * which a message about it was made. */
struct dead_letter_of_order {
    int64_t id;
    enum dead_letter_state state;
    struct slice reason; /* valid during the call */
    bool sent;           /* a message about this order was made of it */
    bool new_order;      /* and the order is new, instead of the letter's */
};
typedef void (*dead_letter_of_order_fn)(void *arg, const struct dead_letter_of_order *letter);
ORDERD_MUST_CHECK bool dead_letters_of_order(struct db *db, const char *order_no, dead_letter_of_order_fn on_letter,
                                             void *arg, struct error *err);

/* ---- bodies ---- */

struct dead_letter_body {
    int64_t id; /* 0: the letter has its own alone */
    int64_t made_at;
    struct strbuf bytes, who; /* the newest; empty where there is none */
};

ORDERD_MUST_CHECK bool dead_letter_body_read(struct db *db, int64_t letter_id, struct dead_letter_body *out,
                                             struct error *err);
void dead_letter_body_release(struct dead_letter_body *body);

/* Puts another body in force, in one transaction with its line of the audit (who, and the SHA-256 of both). What the
 * table says of the letter's order and activity, for searching, is then what this body says. seen: what
 * dead_letter_body_read answered. own: the letter's own. *stored is false where the letter is not open any more or has
 * another body by now. */
ORDERD_MUST_CHECK bool dead_letter_body_store(struct db *db, const struct dead_letter_row *row,
                                              const struct dead_letter_body *seen, struct slice own, struct slice body,
                                              const char *who, bool *stored, struct error *err);

#endif
