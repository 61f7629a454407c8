/* Making an activity's shards anew from the database, after Redis lost data (all of it, some shards, or its last
 * writes).
 *
 *  1  pause     what is left of the shards sells nothing more
 *  2  drain     orders that were accepted become rows: no message of before the pause waits any more
 *  3  keep      reservations of surviving shards that have no row (yet) are read, to be carried over
 *  4  epoch     the next one is committed: the fence against everything that is late
 *  5  rebuild   each shard, empty and paused, with a cap that its live orders fit into; what was kept goes in
 *  6  adopt     every live order, and where buyers may not buy again every closed one's mark
 *  7  verify    each shard reads as planned, and has at least the units of its live orders
 *  8  resume    the shards sell; gates are told the new epoch
 *
 * A crash anywhere leaves a sale that is paused in the shards that were reached, or resumed in the last step, and never
 * sells what MySQL does not have; the same again begins anew and takes one more epoch. What a crash between 5 and the
 * end loses is what was kept in step 3 and in no row: those units are on sale again, and a message of theirs that comes
 * after all becomes a row, which the walk adopts. The same goes for orders that become rows after step 7. */
#ifndef ORDERD_ACTIVITY_REBUILD_H
#define ORDERD_ACTIVITY_REBUILD_H

#include "orderd/activity.h"
#include "orderd/activity_apply.h"
#include "orderd/broker.h"
#include "orderd/conf.h"
#include "orderd/kv.h"

/* What may still be on its way to becoming rows. */
struct activity_drain {
    bool known;      /* the broker could be asked */
    int64_t waiting; /* messages in the work queue and the retry queues, of any activity */
    int64_t local;   /* order messages of before the pause that wait in the local message table */
    bool passed;     /* the lanes work on orders that were reserved after the pause: only later ones wait */
};

struct activity_rebuilt_shard {
    enum shard_fault was;
    int64_t live, kept; /* units in live orders; in reservations that were carried over */
    int64_t cap;        /* now */
};

struct activity_rebuilt {
    struct activity_drain drain;
    bool drained;
    int32_t epoch;                          /* the new one; dry run: as it would be */
    int64_t live_orders, closed_orders;     /* adopted, or found to be known */
    int64_t kept_orders, unreadable_orders; /* reservations without a row: carried over; not in our format, so lost */
    int64_t short_orders;                   /* live orders that found no room, which the walk adopts later, or that no
                                             * shard can take, which `orderctl reconcile` names */
    struct activity_rebuilt_shard *shards;  /* the caller's, as many as it has */
    struct stock_announced announced;
};

enum activity_rebuild_step { REBUILD_DRAINING, REBUILD_COUNTING, REBUILD_ADOPTING, REBUILD_VERIFYING };

struct activity_rebuild {
    struct db *db; /* holds activity_lock */
    struct kv *kv;
    const struct conf *conf;
    struct broker *broker;     /* of its own, or NULL: then only force goes on */
    struct activity *activity; /* as read; afterwards as it is */
    int64_t drain_ms;          /* waits so long for step 2 */
    bool force;                /* goes on although something may still be on its way */
    bool dry_run;              /* only looks and counts */
    void (*progress)(void *arg, enum activity_rebuild_step step, const struct activity_rebuilt *so_far);
    void *arg;
};

/* REFUSED where it was never preheated, is settled, or has more units in live orders than it has. KV_AWAY and the like
 * leave it where it was: the same again. DB_CONFLICT where the drain took too long: only the pause was done. Blocks as
 * long as the drain, and a few round trips per shard and per 500 orders. */
ORDERD_MUST_CHECK bool activity_rebuild(const struct activity_rebuild *how, struct activity_rebuilt *out,
                                        struct error *err);

#endif
