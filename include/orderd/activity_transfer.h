/* Units that go from one shard of an activity to another. A buyer stays in his home shard; what is left elsewhere comes
 * to him. Each transfer is a row first (table stock_transfer); then its units leave one shard together with as much of
 * its cap, come to the other, and the row is marked. Both shards remember the row's id, so that each half happens once.
 *
 * Crash windows, each ended by activity_transfer_finish, whoever calls it:
 *
 *   row written                nothing has moved: it is done now, or void where too few units are left by now
 *   units have left one shard  they are on sale nowhere (stock_audit's `out`, summed, says how many), and come now
 *   they have come             the row is marked
 *
 * cap + out of a shard never changes by a transfer, and neither does left + out: so the books of all shards add up at
 * any moment, whenever each of them was read. A failover of Redis may lose one of the halves after the row was marked:
 * then the sum of `out` stays away from 0, and activity_transfer_repeat does all transfers of the epoch again, of which
 * those that were lost happen. Where the lend was lost and its units are sold, they were on sale twice; they leave all
 * the same, so that the shard owes them (left is negative) and is given what others have: the sum of all shards sells
 * no unit twice.
 * All callers hold activity_lock. Any thread; blocks for some round trips for each transfer. */
#ifndef ORDERD_ACTIVITY_TRANSFER_H
#define ORDERD_ACTIVITY_TRANSFER_H

#include "orderd/activity.h"
#include "orderd/kv.h"

#define ACTIVITY_MOVES_MAX  32
#define ACTIVITY_REPEAT_MAX 1000

struct activity_move {
    int32_t from, to;
    int64_t units;
};

/* Which units should move, so that no shard is empty while another has two or more: half of what the fullest one has,
 * at that time, to each empty one; to one that owes units as much as it owes, where that is more. Pure. Answers how
 * many moves, at most ACTIVITY_MOVES_MAX. */
size_t activity_transfer_plan(const int64_t *left, int32_t shards, struct activity_move moves[ACTIVITY_MOVES_MAX]);

/* Where no shard has two or more, and some are empty: each of the last single units should go to the next shard, so
 * that in time the buyers of every shard meet one. Pure; none where there is something to plan, or a shard owes units.
 */
size_t activity_transfer_rotate(const int64_t *left, int32_t shards, struct activity_move moves[ACTIVITY_MOVES_MAX]);

/* An activity that is on sale from more than one shard. */
struct activity_spread {
    int64_t id;
    int32_t shards;
};

/* Those there are, by id; *count: how many, at most max. */
ORDERD_MUST_CHECK bool activity_transfer_spread(struct db *db, struct activity_spread *list, size_t max, size_t *count,
                                                struct error *err);

/* Writes these down. */
ORDERD_MUST_CHECK bool activity_transfer_write(struct db *db, const struct activity *activity,
                                               const struct activity_move *moves, size_t count, struct error *err);

/* Does what is written down and not done. *units: that came to a shard by this call. REFUSED where a shard is missing
 * or damaged. */
ORDERD_MUST_CHECK bool activity_transfer_finish(struct db *db, struct kv *kv, const struct activity *activity,
                                                int64_t *units, struct error *err);

/* The same with what is done: a page of at most ACTIVITY_REPEAT_MAX, of the rows with an id above *last (at first 0).
 * *last: that of the page's last row, 0 where there was none left. A row is some round trips, and there may be hundreds
 * of thousands: whoever is watched tells of himself between pages. */
ORDERD_MUST_CHECK bool activity_transfer_repeat(struct db *db, struct kv *kv, const struct activity *activity,
                                                int64_t *last, int64_t *units, struct error *err);

#endif
