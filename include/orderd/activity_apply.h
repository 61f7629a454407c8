/* Redis beside the row of an activity: what differs, and bringing it to agree. The row is what counts; all of this may
 * be repeated at any time, by anyone, and the same row leads to the same shards. Who changes the row or calls
 * activity_apply holds activity_lock, so that an old row is never applied after a newer one. */
#ifndef ORDERD_ACTIVITY_APPLY_H
#define ORDERD_ACTIVITY_APPLY_H

#include "orderd/activity.h"
#include "orderd/kv.h"
#include "orderd/stock.h"

enum shard_fault {
    SHARD_FINE,
#define X(fault, name, what) SHARD_##fault,
#include "orderd/tbl/shard_fault.h"
#undef X
    SHARD_FAULT_COUNT
};

const char *shard_fault_name(enum shard_fault fault); /* "" for FINE */
const char *shard_fault_what(enum shard_fault fault); /* after "shard 3 of activity 5 " */

/* Of one shard; its numbers are not looked at. Pure. */
enum shard_fault shard_fault_of(const struct activity *activity, const struct stock_audit *audit);

struct activity_look {
    int32_t faults[SHARD_FAULT_COUNT]; /* shards by what is wrong with them */
    int32_t first[SHARD_FAULT_COUNT];  /* the first of these shards; -1 */
    int64_t cap;                       /* units in the shards that are there */
    int64_t transfer;                  /* units that left one of them for another and have not come yet */
    int64_t redis_now;                 /* the clock of Redis, ms since 1970 */
};

/* Looks at all shards at once. audits: as many as it has shards. */
ORDERD_MUST_CHECK bool activity_look(struct kv *kv, const struct activity *activity, struct stock_audit *audits,
                                     struct activity_look *out, struct error *err);

/* Whether units can be taken from and given back to every shard: none missing, damaged or of another epoch. Else
 * REFUSED with the first that is not, and what to do. */
ORDERD_MUST_CHECK bool activity_look_whole(const struct activity *activity, const struct activity_look *look,
                                           struct error *err);

struct activity_applied {
    int32_t changed;                   /* shards whose window or TTL was set */
    int32_t faults[SHARD_FAULT_COUNT]; /* shards that could not be: missing, damaged, of another epoch */
    int32_t first_fault;               /* the first of them; -1 */
    struct stock_announced announced;
};

/* Sets the window and pushes out the TTL of every shard, then announces the state (stock_announce), so that what is
 * announced holds in all shards; a shard that cannot be set is passed over, since only a rebuild brings it back. Blocks
 * for a round trip per shard. Only while the last payment of the sale may still be due: later, its keys are gone or
 * about to go. */
ORDERD_MUST_CHECK bool activity_apply(struct kv *kv, const struct activity *activity, struct activity_applied *out,
                                      struct error *err);

/* What would be announced. */
struct stock_announcement activity_announcement(const struct activity *activity);

#endif
