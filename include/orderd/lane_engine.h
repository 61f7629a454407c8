/* The engine of a consuming lane: everything between a queue and an outcome that does not depend on what the messages
 * mean. It connects (database first, consumer last), takes what has arrived, is careful about messages that kill the
 * process, holds the batch while a server is away, publishes retries and dead letters with confirm, parks them while
 * nothing can be published, acknowledges last, gives back once, drains on a stop. A *kind* of lane says what the
 * messages are and makes their outcomes durable. Only src/flow includes this.
 *
 * How to write a kind (here of messages {"order_no"} of a queue named in the configuration):
 *
 *     struct item {
 *         struct lane_item base; // first
 *         char order_no[ORDER_NO_MAX + 1];
 *     };
 *
 *     static void settings(const struct conf *conf, struct lane_settings *s)
 *     {
 *         *s = (struct lane_settings){.queue = conf->cancel_queue, .lanes = conf->cancel_lanes, ...};
 *     }
 *
 *     static void decode(struct lane *lane, struct lane_item *base) // bytes -> item, or a reason
 *     {
 *         struct item *item = (struct item *)base;
 *         char detail[256];
 *         enum reason reason = cancel_decode(base->delivery.body, item->order_no, detail, sizeof detail);
 *
 *         if (reason != REASON_NONE)
 *             lane_decide(lane, base, reason, lane_detail(lane, "%s", detail));
 *     }
 *
 *     static bool work(struct lane *lane, struct error *err) // every open item gets its outcome
 *     {
 *         for (size_t i = 0; i < lane->batch.count; i++) {
 *             struct item *item = (struct item *)lane_item(lane, i);
 *
 *             if (item->base.reason == REASON_NONE)
 *                 ...gather it for one transaction...
 *         }
 *         if (!run_transaction(lane->db, ..., err))
 *             return false; // a server is away: the engine waits, mends, and calls again
 *         ...lane_decide(lane, &item->base, REASON_..., "") for each...
 *         return true;
 *     }
 *
 *     static void report(struct lane *lane, const struct lane_item *base) // its counter and its log line
 *     {
 *         ...metric_add(lane->metrics, METRIC_..., 1)...; lane_log_refused(lane, base) where no better line fits
 *     }
 *
 *     const struct lane_kind cancel_lane = {
 *         .name = "cancel", .settings = settings, .item_size = sizeof(struct item), .decode = decode, .work = work,
 *         .report = report, .fate = lane_fate, .probe = cancel_probe,
 *         .taken = FAULT_POINT(CANCEL_TAKEN), .before_ack = FAULT_POINT(CANCEL_BEFORE_ACK),
 *         .after_ack = FAULT_POINT(CANCEL_AFTER_ACK),
 *     };
 *
 * and one row `&cancel_lane` in src/program/daemon/lanes.c. What becomes of an item follows from its reason
 * (tbl/reason.h) by the kind's fate(): lane_fate tries a RETRY reason again after each of retry.delays and then
 * dead-letters it; other reasons end at once. */
#ifndef ORDERD_LANE_ENGINE_H
#define ORDERD_LANE_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/arena.h"
#include "orderd/backoff.h"
#include "orderd/broker.h"
#include "orderd/db.h"
#include "orderd/dead_letter.h"
#include "orderd/fault.h"
#include "orderd/lane.h"
#include "orderd/lane_health.h"
#include "orderd/metric.h"
#include "orderd/reason.h"
#include "orderd/thread.h"

struct lane_item;

/* What becomes of an item. */
enum fate {
    FATE_OPEN,   /* no reason yet */
    FATE_DONE,   /* durable: acknowledge */
    FATE_RETRY,  /* into a retry queue, by confirmed publish, then acknowledge */
    FATE_DEAD,   /* into order.dead, by confirmed publish, then acknowledge; no stock moves */
    FATE_DECIDE, /* the terminal decision, one transaction, made by the kind's work(); then acknowledge */
};

/* The policy without terminal decisions, pure. attempt: tries in retry queues so far; retries: how many there are at
 * most. A TERMINAL reason answers DECIDE, which only a kind that decides may have. */
enum fate lane_fate(enum reason reason, int64_t attempt, size_t retries);

#define LANE_QUEUE_MAX 208 /* bytes of a queue's name, with its NUL */

/* Of the configuration in force; read at the top of each turn. */
struct lane_settings {
    const char *queue;
    int64_t lanes;     /* threads; 0: this process has none of the kind */
    int64_t prefetch;  /* deliveries ahead of their acknowledgement; at least twice batch_max keeps a lane busy */
    int64_t batch_max; /* most items in hand */
    int64_t hold_max;  /* ms that a batch is held unacknowledged before it is given back */
};

struct lane_kind {
    const char *name; /* threads are "<name>.<index>"; the stage of its dead letters */
    void (*settings)(const struct conf *conf, struct lane_settings *out);

    /* Of a kind whose work is spread over several queues, numbered from 1; both NULL: they all take settings.queue.
     * Which one a lane takes (index: as in lane_start), and its name. A lane beyond settings.lanes empties a queue that
     * is not used any more, and ends its work (LANE_OVER) when that is deleted. */
    unsigned (*queue)(const struct conf *conf, unsigned index);
    void (*queue_name)(const struct conf *conf, unsigned number, char out[LANE_QUEUE_MAX]);

    size_t item_size; /* of the kind's item, which begins with its struct lane_item; items are zeroed, and move between
                         calls */
    size_t own_size;  /* of lane->own, zeroed; or 0 */

    /* In the lane's thread, first and last; or NULL. */
    void (*open)(struct lane *lane);
    void (*close)(struct lane *lane);

    /* Looks into the item's body: the first step that foreign bytes can hurt. Decides it where they are no message. */
    void (*decode)(struct lane *lane, struct lane_item *item);

    /* Gives every open item of the batch a reason, whose outcome is durable where fate() says DONE. No item may be left
     * at FATE_OPEN or FATE_DECIDE. false: a server is away, the schema is wrong, or a storm is on, as *err says: the
     * engine waits, mends lane->db and calls again; what was decided stays decided. lane->db is open at the call,
     * without a transaction, and has to be left so unless it is lost. Call lane_pump between steps that may take
     * seconds. */
    bool (*work)(struct lane *lane, struct error *err);

    /* An item got its reason: count it and log it. May be called more than once for one item, where work() opens it
     * again. */
    void (*report)(struct lane *lane, const struct lane_item *item);

    enum fate (*fate)(enum reason reason, int64_t attempt, size_t retries); /* lane_fate, or stricter */

    /* Whether work() could run its statements at all (tables, columns, privileges); writes nothing. Asked after
     * deliveries were given back, before any is taken again. */
    bool (*probe)(struct db *db, struct error *err);

    /* Fault points: deliveries in hand and nothing written; outcomes durable and not acknowledged; acknowledged. */
    enum fault taken, before_ack, after_ack;
};

/* One delivery and what became of it. */
struct lane_item {
    struct broker_delivery delivery;
    enum reason reason; /* REASON_NONE: open, no outcome yet */
    const char *detail; /* "" or a sentence in the arena */
    int64_t attempt;    /* tries in retry queues so far */
    bool decided;       /* set by the kind: its terminal decision is committed */
    unsigned home;      /* set by decode(), of a kind with several queues: the one it comes back to from a retry queue;
                           0: the one it was taken from */
    bool plain;         /* set by the kind: dead letter without decision, its tombstone cannot be written */

    /* The engine's. */
    bool parked;                  /* put aside: no longer the batch's */
    enum broker_outcome *outcome; /* of its retry or dead letter; in memory of its own, since items move; or NULL */
};

struct lane_batch {
    unsigned char *items; /* `capacity` of the kind's, in order of delivery tag; see lane_item() */
    size_t count, capacity;
    size_t decoded; /* items [0, decoded) were looked into */
    size_t acked;   /* items [0, acked) are acknowledged */
};

/* So many different messages in a row, none succeeding, and it is the database that is ill, not the messages; up to so
 * many where others were fine just before. */
#define LANE_STORM_AFTER 10
#define LANE_STORM_MOST  60
#define LANE_STORM_KEY   64

struct lane_storm {
    bool on; /* probing with one message at a time; more come in while the lane holds */
    char refused[LANE_STORM_MOST][LANE_STORM_KEY + 1]; /* keys of messages refused since the last success */
    unsigned refused_count;
    int64_t fine_at, fine, fine_before; /* since when, how many succeeded since, how many in the time before */
};

struct lane_parked;

struct lane {
    struct thread thread;
    const struct lane_kind *kind;
    void *own; /* the kind's */
    struct lane_shared *shared;
    unsigned index; /* among those of its kind */
    struct lane_health health;
    _Atomic int64_t beat;

    /* All below is owned by the thread alone. For the kind to read and to use: */
    const struct conf *conf; /* the snapshot of this turn */
    struct lane_settings settings;
    char queue[LANE_QUEUE_MAX]; /* settings.queue, of a kind with several */
    char worker[64];            /* "orderd@1 create.0": connection name, consumer tag, header */
    struct db *db;              /* NULL while it is away */
    struct arena *arena;        /* of the batch */
    struct lane_batch batch;
    struct metric_block *metrics;
    struct lane_storm storm;
    int64_t held_since; /* monotonic ms since when the batch waits for a server; 0: it does not */

    /* The engine's. */
    struct broker *consumer, *publisher;
    struct backoff connecting, holding, parking;
    bool settling;              /* every item of the batch has its outcome */
    bool unproven;              /* gave its deliveries back: the database must show that it takes work first */
    bool alarmed;               /* a suspect was met and not yet passed */
    bool quiet;                 /* of this turn: take nothing new (lane_shared.quiet) */
    bool spare;                 /* takes a queue that is not used any more */
    bool over;                  /* and that queue is gone */
    char home[LANE_QUEUE_MAX];  /* where lane_letter's item comes back to */
    bool cancelled;             /* the subscription was ended by it, and the connection is still open */
    bool careful;               /* prefetch 1: something in this queue may kill the process */
    unsigned subscriptions;     /* so far */
    int64_t db_seen;            /* monotonic ms: when an idle lane last asked */
    struct lane_parked *parked; /* unacknowledged, to be published before they can be */
    size_t parked_count;
    int64_t parked_since, parked_next; /* monotonic ms */
};

/* ---- for kinds; in the lane's thread ---- */

static inline struct lane_item *lane_item(const struct lane *lane, size_t index)
{
    return (struct lane_item *)(void *)(lane->batch.items + index * lane->kind->item_size);
}

/* Gives an open item its reason; once, unless work() opens it again. detail: "" or from lane_detail. */
void lane_decide(struct lane *lane, struct lane_item *item, enum reason reason, const char *detail);

/* A sentence in the batch's arena. */
const char *lane_detail(struct lane *lane, const char *fmt, ...) ORDERD_PRINTF(2, 3);

enum fate lane_item_fate(const struct lane *lane, const struct lane_item *item);

/* What comes next for it, in one word for the log: "nothing", "retry", "dead_letter" or "rejection". */
const char *lane_next(const struct lane *lane, const struct lane_item *item);

/* What is told of the item in its retry or dead letter; points into the lane and the item, until the next call. */
struct dead_letter lane_letter(struct lane *lane, const struct lane_item *item);

/* Whether any item of the batch has no reason yet. */
bool lane_open_items(const struct lane *lane);

/* The warning for a message that could not be read far enough to say whose it is. */
void lane_log_refused(const struct lane *lane, const struct lane_item *item);

/* Between long steps: keeps both broker connections alive and takes in what has arrived, without waiting. false: the
 * consumer is lost, which shows again at the acknowledgement and need not be handled here. */
bool lane_pump(struct lane *lane, struct error *err);

/* Closes the database connection and opens it anew where its state is not known. false: it is away. */
void lane_close_db(struct lane *lane);
bool lane_mend(struct lane *lane, struct error *err);

/* One message was fine; proof: it shows that the database takes work again (a row was written, not only found). */
void lane_storm_fine(struct lane *lane, bool proof);

/* The database refused this message, alone. key: what tells messages apart, at most LANE_STORM_KEY bytes. true: a storm
 * is on, and it is not the message's fault: leave it open and let work() answer false. */
bool lane_storm_refused(struct lane *lane, const struct lane_item *item, const char *key);

#endif
