/* The life of an activity in the database: written, approved, marked as preheated. Every step may be repeated: a
 * DB_LOST is answered by doing the same again. */
#ifndef ORDERD_ACTIVITY_STORE_H
#define ORDERD_ACTIVITY_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/activity.h"
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/order_store.h"

#define ACTIVITY_STOCK_MAX  INT64_C(999999999) /* what a shard's script takes */
#define ACTIVITY_PAY_MIN_MS INT64_C(1000)
#define ACTIVITY_PAY_MAX_MS (30 * INT64_C(86400000))

struct activity_when { /* an instant, or one that lies so far behind the creation of the activity */
    bool relative;
    int64_t ms; /* since 1970, UTC; or since the creation, by the database clock */
};

struct activity_draft {
    int64_t id, sku_id, unit_price, total_stock, pay_timeout_ms;
    int64_t per_user_limit, shards;
    bool free_amount, rebuy_after_release, reservations;
    struct slice title, currency;
    struct activity_when starts, ends;
};

/* Writes it, in review and with its stock row, in one transaction. *created is false where the same activity is there
 * already (relative times count from its creation). REFUSED where the number is taken by another; INPUT_INVALID where
 * the draft cannot be sold. dry_run: only looks; *created then means that it would be. *out: the row, as it is or would
 * be. */
ORDERD_MUST_CHECK bool activity_store_create(struct db *db, const struct activity_draft *draft, bool dry_run,
                                             bool *created, struct activity *out, struct error *err);

/* REFUSED where there is none. */
ORDERD_MUST_CHECK bool activity_store_get(struct db *db, int64_t id, struct activity *out, struct error *err);

/* From review to scheduled, with the next epoch; from then on prices, stock and times are frozen. *approved is false
 * where it was scheduled already. REFUSED in any later state, where the sale is over or where its stock row is not as
 * it was written. dry_run: only looks; *approved then means that it would be. *out: the row afterwards. */
ORDERD_MUST_CHECK bool activity_store_approve(struct db *db, int64_t id, bool dry_run, bool *approved,
                                              struct activity *out, struct error *err);

/* All shards of this epoch are on sale. Marked once: the first time stays. REFUSED where it is not scheduled (any more)
 * or has another epoch. */
ORDERD_MUST_CHECK bool activity_store_mark_preheated(struct db *db, int64_t id, int32_t epoch, struct error *err);

/* What MySQL has of an activity, all at one instant. */
struct activity_standing {
    bool has_stock; /* there is a stock row; else total and available are 0 */
    int64_t total, available;
    struct {
        int64_t orders, units;
    } by_status[ORDER_STATUS_COUNT];
};
ORDERD_MUST_CHECK bool activity_store_standing(struct db *db, int64_t id, struct activity_standing *out,
                                               struct error *err);

/* Units in live orders. */
int64_t activity_standing_live(const struct activity_standing *standing);

/* Whether any order, live or not, was taken from this shard. */
ORDERD_MUST_CHECK bool activity_store_has_orders(struct db *db, int64_t id, int shard, bool *out, struct error *err);

/* The pay time-outs in use, each once, ascending: of the activities that are approved and not yet settled. The list is
 * the caller's to free; NULL where there are none. */
ORDERD_MUST_CHECK bool activity_store_timeouts(struct db *db, int64_t **list, size_t *count, struct error *err);

/* The database clock, ms since 1970. */
ORDERD_MUST_CHECK bool activity_store_now(struct db *db, int64_t *out_ms, struct error *err);

#endif
