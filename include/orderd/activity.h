/* Activities (sales) as the create lane needs them, and their life in the database. */
#ifndef ORDERD_ACTIVITY_H
#define ORDERD_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/stock.h"
#include "orderd/strbuf.h"

enum activity_state {
#define X(state, name, next) ACTIVITY_##state,
#include "orderd/tbl/activity_state.h"
#undef X
    ACTIVITY_STATE_COUNT
};

#define ACTIVITY_TITLE_MAX  200 /* characters */
#define ACTIVITY_SHARDS_MAX STOCK_SHARDS_MAX
#define ACTIVITY_LIMIT_MAX  100 /* units per user: the deduct script looks at that many marks at most */

struct activity {
    int64_t id, sku_id, unit_price; /* minor units of currency */
    int64_t total_stock;
    int64_t pay_timeout_ms;
    int64_t starts_at, ends_at; /* ms since 1970, UTC */
    int32_t per_user_limit;     /* units */
    int32_t shards, epoch;
    bool free_amount, rebuy_after_release, reservations;
    bool preheated;
    int64_t created_at, preheated_at; /* by the database clock; preheated_at is 0 until all shards are on sale */
    int64_t available;                /* units in MySQL not in live orders, when it was read */
    enum activity_state state;
    char currency[4];
    char title[ACTIVITY_TITLE_MAX * 4 + 1];
};

const char *activity_state_name(enum activity_state state);
bool activity_state_of_name(struct slice name, enum activity_state *out);

/* Whether an activity may go from one state to another by itself or by command. */
bool activity_state_may_follow(enum activity_state from, enum activity_state to);

/* Calls on_activity for each activity of ids that exists, by ascending id; count == 0: for all. */
typedef void (*activity_fn)(void *arg, const struct activity *activity);
ORDERD_MUST_CHECK bool activity_read(struct db *db, const int64_t *ids, size_t count, activity_fn on_activity,
                                     void *arg, struct error *err);

/* The same for those that are scheduled, running or ended: what may have keys in Redis. */
ORDERD_MUST_CHECK bool activity_read_unsettled(struct db *db, activity_fn on_activity, void *arg, struct error *err);

/* What one shard of it is preheated with: an equal part of the stock, where the first shards take what does not divide.
 * The keys live until the last payment can have timed out, and two hours more. Pure. 0 <= shard < shards. */
void activity_plan(const struct activity *activity, int shard, struct stock_plan *out);

/* ---- what a lane remembers of activities: one thread each ---- */

struct activity_cache;
struct activity_cache *activity_cache_create(void);
void activity_cache_destroy(struct activity_cache **cache);

/* The activity, or NULL where it is not remembered, was read more than max_age_ms ago, or was in review then (it may be
 * approved at any moment). INT64_MAX: whatever is remembered. Valid until the next activity_cache_load. */
const struct activity *activity_cache_find(struct activity_cache *cache, int64_t id, int64_t max_age_ms);

/* Reads these activities afresh; those that do not exist are forgotten. Remembers a bounded number, and always what was
 * found since the last load: a batch finds, loads what it missed, and finds again. */
ORDERD_MUST_CHECK bool activity_cache_load(struct activity_cache *cache, struct db *db, const int64_t *ids,
                                           size_t count, struct error *err);

#endif
