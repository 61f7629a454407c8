/* What the files of flow/create share; nobody else includes it.
 *
 *   create.c   the kind of lane: what an item is, its steps, what is counted and logged
 *   check.c    what the activity says of an order (price, SKU, state)
 *   persist.c  a batch becomes rows: optimistic, halved on failure, divided on duplicates
 *   tell.c     the timers and the event that are committed with new orders
 *   resolve.c  what already stands in the table: same order, conflict, buyer with an order
 *   verdict.c  one order that failed alone: which reason
 *   fate.c     the policy: what a reason and a number of tries lead to
 *   decide.c   the terminal decision */
#ifndef ORDERD_CREATE_PRIVATE_H
#define ORDERD_CREATE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orderd/activity.h"
#include "orderd/create_lane.h"
#include "orderd/lane_engine.h"
#include "orderd/local_message.h"
#include "orderd/order.h"

#include "fate.h"

/* One delivery and what became of it. */
struct item {
    struct lane_item base;
    struct order order; /* valid unless the bytes were refused */
    enum reason doubt;  /* the outcome, unless the order turns out to stand in the table already */
    int64_t pay_timeout_ms;
    int unknown_tries;
    bool reconsidered; /* was short once and tried again */
    bool voided;       /* its decision met a key that stands, and yet it has no row */
};

/* What a create lane has beyond every lane. */
struct create {
    struct activity_cache *activities;
    struct strbuf sql;
    struct arena *rows; /* of the transaction; the batch's would grow with every try */
    struct backoff conflict;
    int reading_first; /* batches yet for which the table is read before the insert */
    unsigned probe;    /* which item of a storm's batch asks next */
};

static inline struct create *create_of(const struct lane *lane)
{
    return lane->own;
}

static inline struct item *item_at(const struct lane *lane, size_t index)
{
    return (struct item *)lane_item(lane, index);
}

/* ---- create.c ---- */
void item_decide(struct lane *lane, struct item *item, enum reason reason, const char *detail);

/* ---- check.c ---- */
/* Sets the doubt of items whose activity does not bear them out, and their pay time-out. Reads activities that are not
 * remembered. */
bool check_items(struct lane *lane, struct error *err);

/* ---- persist.c ---- */
/* Gives every item an outcome that is durable or needs a dead letter. false: a server is away, the schema is wrong, or
 * a storm of unknown errors is on; what was decided stays decided, and the call is to be repeated. */
bool persist(struct lane *lane, struct error *err);

/* ---- tell.c ---- */
/* Appends to the transaction's SQL the one INSERT of the local messages that go with these new
 * orders, and adds them to `told` for the relay. */
void tell_created(struct lane *lane, struct item **set, size_t count, struct local_messages *told);

/* ---- resolve.c ---- */
/* Reads which of these open items already have a row, or whose buyer's mark is taken, and decides those. */
bool resolve(struct lane *lane, struct item **set, size_t count, struct error *err);
int item_by_order_no(const void *a, const void *b); /* of struct item *, for qsort; ties by delivery tag */
int item_by_mark(const void *a, const void *b);
bool item_same_order_no(const struct item *a, const struct item *b);
bool item_same_mark(const struct item *a, const struct item *b);

/* ---- verdict.c ---- */
enum verdict { VERDICT_DECIDED, VERDICT_AGAIN, VERDICT_FAILED };
/* What `why`, the error of a transaction with this item alone, means for it. AGAIN: run it once more. FAILED: *why
 * tells what to wait for. */
enum verdict verdict_alone(struct lane *lane, struct item *item, unsigned statement, struct error *why);

/* ---- decide.c ---- */
/* Makes the terminal decisions that are due. Afterwards items may be open again (see persist): repeat both until none
 * is. false: a server is away; repeat. */
bool decide(struct lane *lane, struct error *err);

#endif
