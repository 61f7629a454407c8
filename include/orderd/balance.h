/* The balance of one activity between the ledger in Redis, MySQL and the local messages (DESIGN invariant 5 and section
 * 9): found order by order, both ways, and mended.
 *
 *     available = left + held without a live order + forfeited + in transfer - live units unknown to Redis
 *
 * balance_scan finds and names; balance_repair mends findings it was given. Both may run on live traffic, in any number
 * of processes at once: whatever a scan reports was so at one instant, and every repair is idempotent and checks again.
 *
 * Ages are differences of two stamps of the same clock, that of Redis or that of the database; never of ours. */
#ifndef ORDERD_BALANCE_H
#define ORDERD_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/activity.h"
#include "orderd/conf.h"
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/kv.h"
#include "orderd/order.h"
#include "orderd/order_done.h"
#include "orderd/order_store.h"
#include "orderd/reason.h"
#include "orderd/stock.h"
#include "orderd/strbuf.h"

/* ---- kinds ---- */

enum finding_kind {
    FINDING_NONE, /* nothing to say: both sides agree */
#define X(kind, name, about, mender, sentence, mends) FINDING_##kind,
#include "orderd/tbl/finding.h"
#undef X
    FINDING_KIND_COUNT
};

enum finding_about { FINDING_ABOUT_ORDER, FINDING_ABOUT_SHARD, FINDING_ABOUT_ACTIVITY };
enum finding_mender { FINDING_MENDER_NOBODY, FINDING_MENDER_WALK, FINDING_MENDER_REPAIR, FINDING_MENDER_PERSON };

const char *finding_name(enum finding_kind kind);     /* "" for NONE */
const char *finding_sentence(enum finding_kind kind); /* what is wrong */
const char *finding_mends(enum finding_kind kind);    /* what repair does, or a person */
enum finding_about finding_about(enum finding_kind kind);
enum finding_mender finding_mender(enum finding_kind kind);
const char *finding_mender_name(enum finding_mender mender); /* "nobody", "walk", "repair", "person" */

/* ---- one order: the pure table ---- */

enum balance_held { BALANCE_HELD_NOT, BALANCE_HELD, BALANCE_HELD_DAMAGED };
enum balance_mark { BALANCE_MARK_UNREAD, BALANCE_MARK_OWN, BALANCE_MARK_NONE, BALANCE_MARK_OTHER };
enum balance_message { BALANCE_MESSAGE_NONE, BALANCE_MESSAGE_PENDING, BALANCE_MESSAGE_QUARANTINED };

/* What is known of one order at one instant. */
struct balance_case {
    enum balance_held held;
    enum stock_gone gone;
    enum balance_mark mark;
    int64_t held_age_ms; /* since it was reserved, by the clock of Redis */
    bool worked_to;      /* the lanes have got past its last message, if it had one: no queue can hold it any more */
    bool has_row;
    enum order_status status;
    bool same;                    /* held and row are the same purchase in the same shard; true where one is missing */
    int64_t decided_age_ms;       /* since the row was paid, closed or rejected, by the database clock */
    bool wrong_shard;             /* the row's shard is none of the activity's */
    bool current_epoch;           /* the row is of the shard's epoch: an older one was left behind by a rebuild */
    bool keeps_mark;              /* closed, had been live, and the activity forbids buying again */
    enum balance_message message; /* order.create:<no> or recover:<no>, the worse of both */
    int recoveries;               /* how often recover:<no> was armed */
    int64_t sent_age_ms;          /* since a local message of it was sent last; INT64_MAX: never */
};

/* What a scan takes as normal. */
struct balance_window {
    int64_t in_flight_ms; /* W: younger than this is on its way; > 0, more than all retry delays together */
    int64_t recover_ms;   /* wait after the first recovery; doubles with each further one. 0: in_flight_ms */
    int recover_max;      /* recoveries before `unrecoverable`; 0: BALANCE_RECOVER_MAX */
};

#define BALANCE_RECOVER_MAX 3

/* What the daemon's walk takes as normal (conf: walk, retry), and so do others, or they would name as lost what the
 * walk is still giving time. Pure. */
struct balance_window balance_window_of(const struct conf *conf);

/* Pure. */
enum finding_kind balance_classify(const struct balance_case *c, const struct balance_window *window);

/* ---- scanning ---- */

struct balance_finding {
    enum finding_kind kind;
    int64_t activity_id;
    int shard;      /* -1: of the activity as a whole */
    int64_t epoch;  /* the shard's, as the scan saw it; 0 where there is none */
    int64_t units;  /* of the order; or how many are too many (> 0) or missing (< 0); forfeited_reclaimable: how many */
    int64_t age_ms; /* of what it is about; -1: has none */
    char detail[200]; /* the numbers of this case, one sentence */
    /* ORDER only: as the row says, else as the reservation says; sku_id from the activity. order_no is "" otherwise, or
     * where Redis has a number that can be none of ours (`detail` then shows it). */
    struct order order;
    bool has_row;
    enum order_status status;
    enum reason reason; /* the row's; REASON_NONE: none, or one we do not know */
    int32_t units_returned, units_forfeited;
    int recoveries; /* how often it was sent again so far */
    int64_t seen;   /* forfeited_reclaimable: the shard's forfeited units; db_unbalanced: available; ttl: expire_at */
};

enum balance_part {
    BALANCE_LEDGER = 1u << 0, /* walk what is held: missing rows, returns and settlements that are due */
    BALANCE_LIVE = 1u << 1,   /* walk the live orders: what Redis forgot, marks */
    BALANCE_SUMS = 1u << 2,   /* sums of MySQL and of all shards; a sum over the live orders of the activity. What can
                               * be reclaimed is known only together with BALANCE_LIVE */
    BALANCE_DONE = 1u << 3,   /* walk the closed and rejected orders and what Redis counts as sold: as long as the whole
                               * history of the sale */
    BALANCE_ALL = BALANCE_LEDGER | BALANCE_LIVE | BALANCE_SUMS | BALANCE_DONE
};
/* Shards are audited (missing, damaged, epoch, cap, TTL) in every scan. */

/* How far BALANCE_DONE has come, from one scan of an activity to the next; zeroed: it begins. */
struct balance_history {
    struct order_done rows; /* closed and rejected orders, first */
    struct stock_cursor at; /* then what this shard of Redis counts as sold */
    int shard;
};

struct balance_options {
    unsigned parts; /* of enum balance_part */
    struct balance_window window;
    /* By the clock of Redis, ms since 1970: no queue holds a message that was sent before. INT64_MAX: nothing waits in
     * the queues. See balance_frontier. */
    int64_t worked_to;
    int page;                /* orders in one round trip, 1 to 1000 */
    int64_t pause_ms;        /* between pages */
    bool (*stop)(void *arg); /* asked between pages; NULL: never. A stopped scan answers true with complete = false */
    void (*progress)(void *arg, int64_t orders); /* between pages; NULL: none */
    void *arg;                                   /* of these two */
    /* BALANCE_DONE goes on there, for history_ms and the page in hand at most, and leaves it zeroed where it came to
     * the end; NULL: all of it. */
    struct balance_history *history;
    int64_t history_ms;
};

struct balance_count {
    int64_t findings, units; /* units: the sum of their absolute values */
};

/* The numbers behind the equation. Redis: each shard at one instant, all of them within one round trip. MySQL: one
 * instant. The two are a moment apart. */
struct balance_sums {
    int64_t cap, left, held, sold, forfeited, transfer; /* transfer: 0 until shards lend to each other */
    int64_t total, available, live;                     /* MySQL; only with BALANCE_SUMS */
    int64_t held_without_live, live_unknown;            /* units, from the orders by name; with LEDGER and LIVE */
    bool quiet;          /* neither side changed during the scan, and all units are known: the equation was computed */
    int64_t unexplained; /* only where quiet: what no order explains; 0: it adds up */
};

struct balance_report {
    struct activity activity; /* as the scan read it */
    struct balance_count by_kind[FINDING_KIND_COUNT];
    struct balance_sums sums;
    int64_t held_orders, live_orders, done_orders; /* looked at */
    int64_t rechecked;                             /* orders that changed while they were read */
    int shards_present;
    int64_t redis_now, db_now; /* when it began, ms since 1970, each by its own clock */
    int64_t took_ms, done_ms;  /* all of it, and of that BALANCE_DONE */
    bool complete;             /* neither stopped nor ended by on_findings */
};

/* Findings of one page, at most options.page, in no order; valid during the call. Called between round trips, so it may
 * use db and kv (balance_repair). Answers whether to go on. */
typedef bool (*balance_findings_fn)(void *arg, const struct balance_finding *findings, size_t count);

/* Scans one activity. An order may be reported twice where Redis shows it twice (see stock_walk). REFUSED where there
 * is no such activity. Activities without reservations have no ledger: only what can be told without one is (shards,
 * sums, BALANCE_DONE). One that was never preheated, or is settled, has no shards to miss. Blocks as long as its pages
 * and pauses take. Memory: one page. */
ORDERD_MUST_CHECK bool balance_scan(struct db *db, struct kv *kv, int64_t activity_id,
                                    const struct balance_options *options, balance_findings_fn on_findings, void *arg,
                                    struct balance_report *report, struct error *err);

/* How far the create lanes have got, for options.worked_to, where somebody outside of them asks: INT64_MAX where no
 * message of an order waits; else the earliest reserved_at of the orders that became rows last, by the queue that is
 * farthest behind of those in which something waits, less slack_ms (all retry delays together); 0 where there are none.
 * `elsewhere`: messages in the retry queues, or some where nobody knows. */
struct create_queues;
ORDERD_MUST_CHECK bool balance_frontier(struct db *db, const struct create_queues *queues, int64_t elsewhere,
                                        int64_t slack_ms, int64_t *out, struct error *err);

enum balance_verdict {
    BALANCE_CLEAN,     /* nothing at all, not even in flight */
    BALANCE_EXPLAINED, /* only in flight, or mended by itself */
    BALANCE_BROKEN,    /* `orderctl reconcile --repair` or a person is needed */
};
enum balance_verdict balance_verdict(const struct balance_report *report);
const char *balance_verdict_name(enum balance_verdict verdict);

/* Findings of all kinds; of kinds that have somebody to mend them. */
int64_t balance_findings(const struct balance_report *report);
int64_t balance_gaps(const struct balance_report *report);

/* The counts by kind, and the sums, each as a JSON object. */
void balance_counts_json(const struct balance_report *report, struct strbuf *out);
void balance_sums_json(const struct balance_report *report, struct strbuf *out);

/* One finding as a JSON object. */
void balance_finding_json(const struct balance_finding *finding, struct strbuf *out);

/* ---- mending ---- */

enum balance_mended {
    BALANCE_MENDED,
    BALANCE_MENDED_BEFORE, /* nothing was to be done any more */
    BALANCE_MENDED_NOT,    /* refused or failed for this finding alone; text says why. Look again after another scan */
    BALANCE_MENDED_OTHER,  /* not ours: NOBODY, PERSON, or UNRECOVERABLE (the walk's terminal decision) */
};

struct balance_outcome {
    enum balance_mended mended;
    char text[200]; /* what was done, or why not; one sentence */
};

#define BALANCE_REPAIR_MAX 1000

/* Mends findings of one activity, set-based and in any mixture: 1 <= count <= BALANCE_REPAIR_MAX. activity: as in the
 * scan's report. Messages that are sent again are due at once (for the relay's next poll). outcomes[i] belongs to
 * findings[i]. false: a server went away; repeat all of it, nothing is done twice.
 *
 * forfeited_reclaimable: the caller must have seen the same (shard, seen, units) in two scans before. */
ORDERD_MUST_CHECK bool balance_repair(struct db *db, struct kv *kv, const struct activity *activity,
                                      const struct balance_finding *findings, size_t count,
                                      struct balance_outcome *outcomes, struct error *err);

#endif
