/* The survey: how the whole sale stands, over all replicas and all servers, as one process read it last. What it could
 * not read is SURVEY_UNKNOWN (NAN for a real number), never a guess. `GET /sale` shows it (docs/status.md).
 *
 * Drift. Units of one activity with reservations, where Redis has at one instant of each shard
 *
 *     held     in orders that are reserved and not yet paid      sold   in paid ones
 *     left     for sale                                          gone   taken off sale, since MySQL never had them
 *
 * and MySQL, at one instant, `available` and `live` (in pending and paid orders) of `total`:
 *
 *     redis_off = total - left - held - sold - gone       units that Redis lost (> 0) or has too many of (< 0)
 *     mysql_off = total - available - live                the same of MySQL
 *     apart     = held + sold - live                      reserved in Redis and no live order, less the other way round
 *
 * redis_off and mysql_off are 0 at every instant, whatever goes on; `apart` is not, since orders are on their way.
 * Redis is read before MySQL and again after it, so that what happened in between is known too. With q = the most units
 * one order can have, and "orders" counted from what the shards' hashes grew by, apart may be
 *
 *     as low as   - q * orders taken between the two readings of Redis
 *     as high as    q * (orders taken within the window + orders gone between the two readings + local messages pending
 * + messages in the create and retry queues, ready or perhaps unacknowledged)
 *
 * and no lower or higher in normal running, however busy. The window is W of the walk with all retry delays, and what
 * the walk needs to send a lost message again: two intervals, and more where walks take long or come late; for as long
 * after a server was away, whatever is reserved may be on its way, since nobody could send it before. What exceeds
 * those bounds is the third part of
 *
 *     drift = |redis_off| + |mysql_off| + what of |apart| is beyond what can be in flight
 *
 * So a unit that was lost shows at once, and an order whose message was lost when its window is over. Caps that do not
 * add up to the total count as lost units only when they have differed for longer than a restock takes. Where not all
 * shards are there and on sale, or without reservations, drift is not known. */
#ifndef ORDERD_SURVEY_H
#define ORDERD_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/activity.h"
#include "orderd/balance.h"
#include "orderd/error.h"
#include "orderd/replica.h"
#include "orderd/stock.h"
#include "orderd/strbuf.h"

#define SURVEY_UNKNOWN INT64_MIN

/* ---- one activity ---- */

/* What its shards say together. */
struct survey_stock {
    int64_t cap, left, held, sold, gone; /* units in the shards that are there */
    int64_t transfer;                    /* lent by one of them and not yet come to another */
    int64_t taken, ended;                /* orders that were ever reserved, and those of them that are not any more;
                                          * a little more where web tiers were refused */
    int32_t missing, damaged, paused;    /* shards; damaged: or of another epoch */
    int32_t empty;                       /* shards with nothing left: their buyers are told that it is sold out */
    int64_t left_least, left_most;       /* of the shards that are there; 0 where none is */
    bool whole;                          /* every shard is there and not paused */
};

/* audits: as many as it has shards. Pure. */
void survey_stock_sum(const struct activity *activity, const struct stock_audit *audits, struct survey_stock *out);

/* What MySQL has of it, at one instant; see survey_count. */
struct survey_rows {
    int64_t activity;
    bool has_stock;
    int64_t total, available;
    int64_t pending, pending_units, due_soon, overdue; /* orders, units of all of them; within 5 minutes; already */
    int64_t paid, paid_units, closed;  /* SURVEY_UNKNOWN: the past is not counted yet, see survey_past.h */
    int64_t messages;                  /* pending local messages, of all activities; SURVEY_UNKNOWN: very many */
    int64_t walk_ago_ms, walk_took_ms; /* the last whole walk: since it began; SURVEY_UNKNOWN: there was none */
    int64_t reconcile_at;
    int reconcile_verdict; /* enum balance_verdict; -1: there was no run */
};

/* mysql_off; unknown without a stock row, and as long as the past is not counted. Pure. */
int64_t survey_rows_off(const struct survey_rows *rows);

/* Everything that can be on its way. */
struct survey_flight {
    int64_t window_orders; /* taken within the window before the first reading; SURVEY_UNKNOWN */
    int64_t queued;        /* messages in the create and retry queues, perhaps unacknowledged ones; SURVEY_UNKNOWN */
    bool caps_differ_long; /* the caps of the shards have not added up to the total for longer than a restock takes */
};

struct survey_drift {
    int64_t redis_off, mysql_off, in_flight, beyond, drift; /* each may be SURVEY_UNKNOWN */
};

/* By how much the walk may be behind two intervals: it goes over the order, rests twice as long as it takes, and goes
 * over it again. One that does not come at all excuses no more than five intervals. Pure. */
int64_t survey_walk_late_ms(const struct survey_rows *rows, int64_t interval_ms);

/* The sum of the three, each without its sign; unknown where one of them is. Pure. */
int64_t survey_drift_sum(int64_t redis_off, int64_t mysql_off, int64_t beyond);

/* Pure. before, after: Redis before and after rows were read; NULL: it was not. rows NULL: likewise. */
void survey_drift_of(const struct activity *activity, const struct survey_stock *before, const struct survey_rows *rows,
                     const struct survey_stock *after, const struct survey_flight *flight, struct survey_drift *out);

/* ---- a number over the last minutes ---- */

#define SURVEY_TRAIL_MAX 96

struct survey_trail { /* zeroed: empty */
    int64_t at[SURVEY_TRAIL_MAX], value[SURVEY_TRAIL_MAX];
    size_t first, count;
};

/* Remembers value, for window_ms and a little longer; what comes soon after another is passed over. at: monotonic ms.
 */
void survey_trail_add(struct survey_trail *trail, int64_t at, int64_t value, int64_t window_ms);

/* The newest one that is at least age_ms old at `at`; false: there is none so old. */
bool survey_trail_before(const struct survey_trail *trail, int64_t at, int64_t age_ms, int64_t *then, int64_t *value);

/* By how much it fell in a second, over about window_ms; NAN where less than a second is known. Negative where it rose.
 */
double survey_trail_fall(const struct survey_trail *trail, int64_t at, int64_t value, int64_t window_ms);

/* ---- the whole sale ---- */

#define SURVEY_ACTIVITIES_MAX 64
#define SURVEY_REPLICAS_MAX   64
#define SURVEY_QUEUES_MAX     40
#define SURVEY_REASONS_MAX    32
#define SURVEY_QUEUE_NAME_MAX 255

struct survey_activity {
    int64_t id, starts_at, ends_at, total;
    enum activity_state state;
    char title[ACTIVITY_TITLE_MAX * 4 + 1];
    int64_t left, held, sold, gone;                       /* Redis, units */
    double rate, sold_out_s;                              /* units sold in a second; until none is left */
    int64_t held_unpaid, due_soon, overdue, paid, closed; /* MySQL, orders */
    int64_t counted_at;                                   /* wall ms: when those were counted */
    int64_t shard_count, shard_missing, shard_damaged, shard_paused;
    int64_t shard_empty, shard_left_least, shard_left_most;
    int64_t redis_off, available, live, mysql_off, in_flight, drift;
    int64_t reconcile_at;
    int reconcile_verdict; /* enum balance_verdict; -1: none */
};

struct survey_queue {
    char name[SURVEY_QUEUE_NAME_MAX + 1];
    int64_t ready, consumers;
};

struct survey_reason {
    char reason[41];
    int64_t open;
};

enum survey_dependency {
#define X(dependency, name) SURVEY_##dependency,
#include "orderd/tbl/survey_dependency.h"
#undef X
    SURVEY_DEPENDENCY_COUNT
};

const char *survey_dependency_name(enum survey_dependency dependency);

struct survey {
    int64_t at; /* wall ms; 0: nothing was read yet */
    int64_t interval_ms;
    int64_t replicas_at; /* wall ms: when the fleet was read; SURVEY_UNKNOWN: never */
    size_t replica_count;
    struct replica replicas[SURVEY_REPLICAS_MAX];
    double rates[REPLICA_COUNT_COUNT];
    int64_t p50_us, p99_us;
    size_t queue_count;
    struct survey_queue queues[SURVEY_QUEUES_MAX];
    int64_t backlog; /* messages in the create and the retry queues */
    double drain_s;
    int64_t relay_pending, relay_quarantined, relay_oldest_ms;
    int64_t dead_queue, dead_open; /* in the queue; in the table */
    size_t reason_count;
    struct survey_reason reasons[SURVEY_REASONS_MAX];
    size_t activity_count;
    int64_t activities_left_out; /* there is room for SURVEY_ACTIVITIES_MAX, running ones first */
    struct survey_activity activities[SURVEY_ACTIVITIES_MAX];
    struct {
        bool known, up;
        char why[ERROR_TEXT_MAX];
    } dependencies[SURVEY_DEPENDENCY_COUNT];
};

/* Nothing is known. */
void survey_init(struct survey *survey);
void survey_activity_init(struct survey_activity *out, const struct activity *activity);

/* How long so many messages take to be worked off at this rate a second: 0 where there are none, NAN where it is not
 * known or they do not get fewer. Pure. */
double survey_drain_s(int64_t messages, double rate);

/* ---- as JSON ---- */

/* The object of GET /sale, on one line. instance: the replica that answers. */
void survey_json(const struct survey *survey, const char *instance, struct strbuf *out);

/* What survey_json of this or another version wrote; false where it is none. What it does not have is unknown. */
bool survey_parse(struct slice json, struct survey *out);

#endif
