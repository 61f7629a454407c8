/* Putting an approved activity on sale: its stock into every shard, read back, then marked in the database, then
 * announced.
 *
 * Crash windows, and what makes each harmless: every shard is created by one script, never overwritten; before the
 * mark, the same command again completes what is missing; after it, a missing shard is never created again, since
 * orders may hold its units. The caller holds activity_lock, so that nobody moves its times meanwhile. */
#ifndef ORDERD_ACTIVITY_PREHEAT_H
#define ORDERD_ACTIVITY_PREHEAT_H

#include <stdbool.h>
#include "orderd/activity.h"
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/kv.h"
#include "orderd/stock.h"

enum activity_shard_state {
    ACTIVITY_SHARD_MISSING, /* dry run: it would be created */
    ACTIVITY_SHARD_HALF,    /* dry run: a half-done preheat would be completed */
    ACTIVITY_SHARD_THERE,   /* was there already, with these values */
    ACTIVITY_SHARD_CREATED,
    ACTIVITY_SHARD_RESUMED,
};

const char *activity_shard_state_name(enum activity_shard_state state);

struct activity_shard {
    struct stock_plan plan;
    enum activity_shard_state state;
    int64_t left;     /* units in it now; -1 where there is none */
    int64_t transfer; /* units that left it for another shard, less those that came */
};

/* Looks at all shards first and changes nothing where one of them is in the way: REFUSED, with what is there. Then
 * creates, verifies value and TTL of each (on_shard is called in between, by ascending shard) and marks the activity.
 * dry_run: stops after the first step. One that is running was preheated before: nothing is done and on_shard is not
 * called. *out: the activity afterwards. Blocks for two round trips of Redis per shard. */
typedef void (*activity_shard_fn)(void *arg, const struct activity_shard *shard);
ORDERD_MUST_CHECK bool activity_preheat(struct db *db, struct kv *kv, int64_t id, bool dry_run,
                                        activity_shard_fn on_shard, void *arg, struct activity *out, struct error *err);

#endif
