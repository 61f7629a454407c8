/* What the files of the rebuild share.
 *
 *   activity_rebuild.c        the steps, in their order
 *   activity_rebuild_drain.c  what may still be on its way
 *   activity_rebuild_kept.c   reservations of surviving shards that have no row
 *   activity_rebuild_rows.c   the activity's orders, in pages
 *   activity_rebuild_adopt.c  into the new shards */
#ifndef ORDERD_ACTIVITY_REBUILD_PRIVATE_H
#define ORDERD_ACTIVITY_REBUILD_PRIVATE_H

#include "orderd/activity_rebuild.h"
#include "orderd/create_queue.h"
#include "orderd/order.h"
#include "orderd/order_store.h"

/* One order on its way into a shard. */
struct rebuild_order {
    char order_no[ORDER_NO_MAX + 1];
    int64_t user, user_seq, quantity, amount, epoch, reserved_at;
    int32_t shard;
    enum stock_adopt_as as;
};

#define REBUILD_PAGE 500

struct rebuild {
    const struct activity_rebuild *how;
    struct activity_rebuilt *out;
    struct error *err;
    struct stock_audit *audits; /* as step 1 found them */
    struct stock_plan *plans;
    int64_t *live; /* units in live orders by shard, of the last pass */
    int64_t paused_at, redis_now;
    unsigned create_queues; /* that there are; 0: not asked yet */
    struct create_queues queues;
    struct rebuild_order *kept;
    size_t kept_count, kept_room;
};

void rebuild_progress(const struct rebuild *r, enum activity_rebuild_step step);

/* ---- drain ---- */

/* Waits until nothing of before the pause is on its way any more. false: an error, or too long without force. */
ORDERD_MUST_CHECK bool rebuild_drain(struct rebuild *r);
/* One look, without waiting. */
ORDERD_MUST_CHECK bool rebuild_drain_look(struct rebuild *r);

/* ---- kept ---- */

/* Reads the ledgers that survive, and keeps what has no row. */
ORDERD_MUST_CHECK bool rebuild_keep(struct rebuild *r);

/* ---- rows ---- */

/* Pages of live orders, or of closed ones, by their unique key. on_page: at most REBUILD_PAGE; false ends it. */
typedef bool (*rebuild_page_fn)(struct rebuild *r, struct rebuild_order *list, size_t count);
ORDERD_MUST_CHECK bool rebuild_live_rows(struct rebuild *r, rebuild_page_fn on_page);
ORDERD_MUST_CHECK bool rebuild_closed_rows(struct rebuild *r, rebuild_page_fn on_page);

/* Those of the list that have no row at all, moved to its front; *count: how many. */
ORDERD_MUST_CHECK bool rebuild_without_row(struct rebuild *r, struct rebuild_order *list, size_t *count);

/* ---- adopt ---- */

ORDERD_MUST_CHECK bool rebuild_count_live(struct rebuild *r);
/* Every live order, then the marks of closed ones. r->live is counted anew. */
ORDERD_MUST_CHECK bool rebuild_adopt_rows(struct rebuild *r);
ORDERD_MUST_CHECK bool rebuild_adopt_kept(struct rebuild *r, int32_t shard);

#endif
