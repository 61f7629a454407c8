/* Changing the stock of an activity that is approved: an absolute new total, in MySQL and over the shards.
 *
 * The sum of the caps is never above MySQL's total: a rise is committed in MySQL before the first cap rises, a cut has
 * come off the caps before MySQL gives it up, and then by what really came off. So a crash in between can leave units
 * unsold for a while, never sell one that MySQL does not have. Crash windows, each ended by the same again (or by a
 * restock to the total that MySQL has, which takes a cut back):
 *
 *   rise: MySQL committed, no or some caps    fewer units on sale than there are
 *   cut: some or all caps, MySQL not          the same
 */
#ifndef ORDERD_ACTIVITY_RESTOCK_H
#define ORDERD_ACTIVITY_RESTOCK_H

#include "orderd/activity.h"
#include "orderd/kv.h"

/* Shares total out so that lo[i] <= out[i] <= hi[i], as evenly as that allows; the first ones take what does not
 * divide. Answers the sum: total, or the nearest to it that the bounds allow. Pure. 0 <= lo[i] <= hi[i], count >= 1. */
int64_t activity_split(int64_t total, const int64_t *lo, const int64_t *hi, int32_t count, int64_t *out);

/* One shard before and after. */
struct activity_cap {
    int64_t was, cap, left; /* left: before */
};

struct activity_restocked {
    int64_t was;   /* MySQL's total before */
    int64_t total; /* and now (dry run: as it would be); above what was asked for where units are sold or reserved */
    bool changed;  /* MySQL or a cap */
};

/* To `stock` units, 1 to ACTIVITY_STOCK_MAX. REFUSED in review, once settled, where shards are lost or paused, or where
 * MySQL does not have what came off the caps. caps: as many as it has shards, or untouched (was == -1) where it is not
 * in Redis yet. dry_run: only looks. The caller holds activity_lock. Blocks for some round trips per shard. */
ORDERD_MUST_CHECK bool activity_restock(struct db *db, struct kv *kv, struct activity *activity, int64_t stock,
                                        bool dry_run, struct activity_cap *caps, struct activity_restocked *out,
                                        struct error *err);

#endif
