/* What the files of flow/create share; nobody else includes it.
 *
 *   lane.c     the thread: connect, turn after turn, drain
 *   batch.c    deliveries in hand: take, decode, release
 *   careful.c  what to do about messages that kill the process
 *   check.c    what the activity says of an order (price, SKU, state)
 *   persist.c  a batch becomes rows: optimistic, halved on failure, divided on duplicates
 *   resolve.c  what already stands in the table: same order, conflict, buyer with an order
 *   verdict.c  one order that failed alone: which reason
 *   storm.c    whether it is the messages or the database that is ill
 *   fate.c     the policy: what a reason and a number of tries lead to
 *   decide.c   the terminal decision
 *   settle.c   acknowledgements, retries and dead letters
 *   park.c     what cannot be published now waits aside
 *   hold.c     waiting for a server with the batch in hand */
#ifndef ORDERD_CREATE_PRIVATE_H
#define ORDERD_CREATE_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orderd/activity.h"
#include "orderd/arena.h"
#include "orderd/backoff.h"
#include "orderd/broker.h"
#include "orderd/create_lane.h"
#include "orderd/db.h"
#include "orderd/metric.h"
#include "orderd/order.h"
#include "orderd/thread.h"

#include "fate.h"

/* So many different messages in a row, none succeeding, and it is the database that is ill, not the messages; up to so
 * many where others were fine just before. */
#define STORM_AFTER 10
#define STORM_MOST  60

/* One delivery and what became of it. */
struct item {
    struct broker_delivery delivery;
    struct order order; /* valid unless the bytes were refused */
    enum reason reason; /* REASON_NONE: open, no outcome yet */
    enum reason doubt;  /* the outcome, unless the order turns out to stand in the table already */
    const char *detail; /* "" or a sentence in the arena */
    int64_t pay_timeout_ms;
    int unknown_tries;
    int64_t attempt;              /* tries in retry queues so far */
    bool decided;                 /* its terminal decision is committed */
    bool plain;                   /* dead letter without decision: its tombstone cannot be written */
    bool reconsidered;            /* was short once and tried again */
    bool voided;                  /* its decision met a key that stands, and yet it has no row */
    bool parked;                  /* put aside (park.c): no longer the batch's */
    enum broker_outcome *outcome; /* of its retry or dead letter; in memory of its own, since items move; or NULL */
};

struct batch {
    struct item *items; /* in order of delivery tag */
    size_t count, capacity;
    size_t decoded; /* items [0, decoded) were looked into */
    size_t acked;   /* items [0, acked) are acknowledged */
};

struct create_lane {
    struct thread thread;
    struct lane_shared *shared;
    const struct conf *conf; /* the snapshot of this turn */
    char worker[64];         /* "orderd@1 create.0": connection name, consumer tag, header */
    _Atomic(enum lane_state) state;
    _Atomic int64_t beat;

    /* Owned by the thread alone. */
    struct broker *consumer, *publisher;
    struct db *db;
    struct activity_cache *activities;
    struct arena *arena; /* of the batch */
    struct strbuf sql;
    struct batch batch;
    struct metric_block *metrics;
    struct backoff connecting, holding, conflict;
    int64_t held_since;                         /* monotonic ms; 0: nothing is held */
    int reading_first;                          /* batches yet for which the table is read before the insert */
    char refused[STORM_MOST][ORDER_NO_MAX + 1]; /* new orders that the database refused, none created since */
    unsigned refused_count;
    bool settling;         /* every item of the batch has its outcome */
    bool unproven;         /* gave its deliveries back: the database must show that it takes orders first */
    struct parked *parked; /* unacknowledged, to be published before they can be */
    size_t parked_count;
    int64_t parked_since, parked_next; /* monotonic ms */
    struct backoff parking;
    struct {
        int64_t at, count, before; /* since when, how many orders since, how many in the time before */
    } fine;
    unsigned subscriptions;
    int64_t db_seen; /* monotonic ms: when an idle lane last asked */
    bool alarmed;    /* a suspect was met and not yet passed */
    bool careful;    /* prefetch 1: something in this queue may kill the process */
    bool storm;      /* probing with one message at a time */
    unsigned probe;
};

/* ---- lane.c ---- */
bool lane_stopping(const struct create_lane *lane);
void lane_set_state(struct create_lane *lane, enum lane_state state);
void lane_beat(struct create_lane *lane);
/* Keeps both broker connections alive and takes in what has arrived, without waiting. false: the consumer is lost, and
 * with it the right to acknowledge what was taken. A lost publisher is closed and left to lane_mend. */
bool lane_pump(struct create_lane *lane, struct error *err);
/* Sleeps until something arrives on either connection, the stop is called, or wait_ms are over. Pump both dry first. */
void lane_sleep(struct create_lane *lane, int wait_ms);
/* Opens what is closed: database and publisher (not the consumer). */
bool lane_mend(struct create_lane *lane, struct error *err);
void lane_close_consumer(struct create_lane *lane, bool graceful);
void lane_close_db(struct create_lane *lane);
void lane_close_publisher(struct create_lane *lane);

/* The batch in hand, from persist to its acknowledgement, waiting where a server is away. The consumer may be gone
 * afterwards, and the batch with it. */
void lane_work(struct create_lane *lane);

/* ---- careful.c ---- */
bool suspicious(const struct create_lane *lane); /* whether the batch holds a message that may kill the process */
void note_suspicion(struct create_lane *lane, bool suspect);
/* Subscribes, anew where it is subscribed; careful: with a window of one. */
bool subscribe(struct create_lane *lane, bool careful, struct error *err);
/* Takes no more, finishes what is in hand in small groups, and subscribes with a window of one. false: the consumer is
 * lost. */
bool work_carefully(struct create_lane *lane, struct error *err);

/* ---- batch.c ---- */
void batch_init(struct create_lane *lane);
void batch_release(struct create_lane *lane); /* frees the deliveries, resets the arena */
void batch_destroy(struct create_lane *lane);
/* Adds what has arrived, up to batch_max, without looking into it. Never waits. */
bool batch_take(struct create_lane *lane, struct error *err);
/* Decodes what was added: the first step that foreign bytes can hurt. */
void batch_decode(struct create_lane *lane);
bool batch_open(const struct create_lane *lane); /* whether any item has no outcome yet */
void item_decide(struct create_lane *lane, struct item *item, enum reason reason, const char *detail);
const char *item_detail(struct create_lane *lane, const char *fmt, ...) ORDERD_PRINTF(2, 3);

/* ---- check.c ---- */
/* Sets the doubt of items whose activity does not bear them out, and their pay time-out. Reads activities that are not
 * remembered. */
bool check_items(struct create_lane *lane, struct error *err);

/* ---- persist.c ---- */
/* Gives every item an outcome that is durable or needs a dead letter. false: a server is away, the schema is wrong, or
 * a storm of unknown errors is on; what was decided stays decided, and the call is to be repeated. */
bool persist(struct create_lane *lane, struct error *err);

/* ---- resolve.c ---- */
/* Reads which of these open items already have a row, or whose buyer's mark is taken, and decides those. */
bool resolve(struct create_lane *lane, struct item **set, size_t count, struct error *err);
int item_by_order_no(const void *a, const void *b); /* of struct item *, for qsort; ties by delivery tag */
int item_by_mark(const void *a, const void *b);
bool item_same_order_no(const struct item *a, const struct item *b);
bool item_same_mark(const struct item *a, const struct item *b);

/* ---- verdict.c ---- */
enum verdict { VERDICT_DECIDED, VERDICT_AGAIN, VERDICT_FAILED };
/* What `why`, the error of a transaction with this item alone, means for it. AGAIN: run it once more. FAILED: *why
 * tells what to wait for. */
enum verdict verdict_alone(struct create_lane *lane, struct item *item, unsigned statement, struct error *why);

/* ---- storm.c ---- */
void storm_note_fine(struct create_lane *lane, bool created);               /* created, or found to stand already */
bool storm_note_refused(struct create_lane *lane, const struct item *item); /* true: a storm is on */

/* ---- decide.c ---- */
/* Makes the terminal decisions that are due. Afterwards items may be open again (see persist): repeat both until none
 * is. false: a server is away; repeat after hold(). */
bool decide(struct create_lane *lane, struct error *err);

/* ---- settle.c ---- */
enum fate item_fate(const struct create_lane *lane, const struct item *item);
/* Acknowledges what is durable, retries or dead-letters what needs it. false: a server is away; repeat after hold(). */
bool settle(struct create_lane *lane, struct error *err);

enum broker_outcome item_outcome(const struct item *item); /* UNKNOWN before it was published */
void settle_count(struct create_lane *lane, const struct item *item);
/* One item by itself: published and confirmed. */
bool settle_publish(struct create_lane *lane, struct item *item, struct error *err);

/* ---- park.c ---- */
bool park_has_room(const struct create_lane *lane, size_t more);
void park(struct create_lane *lane, struct item *item); /* takes its delivery over */
/* Tries those that are parked again, when it is time. false: the consumer is lost. */
bool park_retry(struct create_lane *lane, struct error *err);
bool park_too_long(const struct create_lane *lane); /* longer than the broker may be kept waiting */
void park_release(struct create_lane *lane); /* the consumer is gone, and with it the right to acknowledge them */
void park_destroy(struct create_lane *lane);

/* ---- hold.c ---- */
/* Waits once, with the consumer kept alive, for what `why` says is missing, and opens it again. false: the batch is no
 * longer ours (consumer lost, stopping, or held for so long that it was given back); it has been released. */
bool hold(struct create_lane *lane, const struct error *why);
void hold_over(struct create_lane *lane);
/* Hands everything unacknowledged back to the broker. */
void give_back(struct create_lane *lane);

#endif
