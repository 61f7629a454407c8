/* The local message table (DESIGN sections 4 and 7): rows that a transaction leaves behind for the relay. */
#ifndef ORDERD_LOCAL_MESSAGE_H
#define ORDERD_LOCAL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/strbuf.h"

#define LOCAL_MESSAGE_KEY_MAX   100
#define LOCAL_MESSAGE_OWNER_MAX 80

enum effect_kind {
    EFFECT_UNKNOWN,
    EFFECT_PUBLISH_ORDER,
    EFFECT_PUBLISH_EVENT,
    EFFECT_STOCK_RETURN,
    EFFECT_STOCK_SETTLE
};

/* What the topic asks for, by tbl/effect.h. */
enum effect_kind effect_of_topic(struct slice topic);

/* One row in memory. All text is owned by the message, in one allocation. */
struct local_message {
    struct local_message *next;
    int64_t id;                                /* 0: not known (handed over by the transaction that wrote it) */
    struct slice key, topic, payload, headers; /* headers: JSON object, or empty */
    int attempts;                              /* this one included */
    int64_t leased_at; /* monotonic ms, a little before the lease began: nothing may be begun after half of it */
    char owner[LOCAL_MESSAGE_OWNER_MAX + 1]; /* the lease's token: the fence */
};

/* A list in order, and how many it holds. */
struct local_messages {
    struct local_message *first, **end;
    size_t count;
};

void local_messages_init(struct local_messages *list);
void local_messages_append(struct local_messages *list, struct local_messages *more); /* empties `more` */
void local_messages_push(struct local_messages *list, struct local_message *message); /* at the end; takes it over */
struct local_message *local_messages_pop(struct local_messages *list); /* the first; NULL when empty; free() it */
void local_messages_free(struct local_messages *list);

/* A message of its own, everything copied, first attempt running; free() it. */
struct local_message *local_message_create(struct slice key, struct slice topic, struct slice payload,
                                           struct slice headers, const char *owner);

/* Adds a message to the list; copies everything. key has at most LOCAL_MESSAGE_KEY_MAX bytes of printable ASCII. */
void local_messages_add(struct local_messages *list, struct slice key, const char *topic, struct slice payload,
                        struct slice headers, const char *owner);

/* The INSERT of all of them as one statement (no ';' in front): born leased to their owner for lease_ms, first attempt
 * running. list->count > 0. */
void local_message_add_insert(const struct db *db, struct strbuf *sql, const struct local_messages *list,
                              int64_t lease_ms);

/* Takes up to max due rows, oldest first, under a new lease, in one short transaction; rows that others are taking are
 * skipped. Fewer, where they are large: together at most about 4 MiB, but always one. Appends to list. owner should be
 * new for each claim, so that a mark can never be taken for that of an earlier one. *more: others may be due now. */
ORDERD_MUST_CHECK bool local_message_claim(struct db *db, const char *owner, int64_t lease_ms, size_t max,
                                           struct local_messages *list, bool *more, struct error *err);

/* What became of an attempt. */
enum local_message_result {
    LOCAL_MESSAGE_SENT,
    LOCAL_MESSAGE_AGAIN,      /* its own failure: due again after wait_ms, the attempt counts */
    LOCAL_MESSAGE_WAIT,       /* its target is away or not ready: due again after wait_ms, the attempt does not count */
    LOCAL_MESSAGE_QUARANTINE, /* kept until ops act */
};

/* Writes the same result for all messages of the list, each only where the row is still pending and still leased to its
 * owner. *written: how many rows that were; the others had been taken over by somebody else, or somebody holds a lock
 * on them (waited for once, at most mysql.lock_wait_timeout; then the rest is written without them). why: the sentence
 * for last_error, or NULL. Outside of a transaction. */
ORDERD_MUST_CHECK bool local_message_settle(struct db *db, const struct local_messages *list,
                                            enum local_message_result result, int64_t wait_ms, const char *why,
                                            size_t *written, struct error *err);

/* Deletes up to max sent rows older than keep_ms, oldest first, but for `recover:<order_no>` of orders without a row.
 * One caller at a time (see relay/cleaner.c). */
ORDERD_MUST_CHECK bool local_message_clean(struct db *db, int64_t keep_ms, size_t max, size_t *deleted,
                                           struct error *err);

/* For how long the oldest pending row has been due, in ms by the database clock, counted from when it was due for the
 * first time: trying it again does not make it young. 0: none is due. Looks at the 100 rows that are next, so that it
 * costs the same whatever waits. */
ORDERD_MUST_CHECK bool local_message_oldest(struct db *db, int64_t *age_ms, struct error *err);

#endif
