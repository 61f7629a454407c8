/* The terminal decisions of a batch, each by a transaction of its own (order_rejection.h). A late copy finds the
 * tombstone and is acknowledged. */
#include "create.h"

#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/order_rejection.h"
#include "orderd/order_store.h"
#include "orderd/relay.h"

#define CONFLICTS_MAX 10
#define UNKNOWN_MAX   3

struct decision {
    int32_t returned, forfeited; /* units; together the order's quantity */
    bool reservations;
};

/* How many units MySQL really has for it: what it never had does not come back to Redis, where it would only be sold
 * again. false: the database is away. *again: there is enough now. */
static bool divide(struct lane *lane, struct item *item, struct decision *d, bool *again, struct error *err)
{
    const struct activity *a = activity_cache_find(create_of(lane)->activities, item->order.activity_id, INT64_MAX);
    struct order_stock stock;

    *again = false;
    *d = (struct decision){.returned = item->order.quantity, .reservations = !a || a->reservations};
    if (item->base.reason != REASON_STOCK_SHORT)
        return true;
    if (!order_store_stock(lane->db, item->order.activity_id, &stock, err))
        return false;
    if (stock.available >= item->order.quantity && stock.takes_orders) {
        *again = !item->reconsidered;
        return true;
    }
    if (stock.available < item->order.quantity)
        d->returned = stock.available > 0 ? (int32_t)stock.available : 0;
    d->forfeited = item->order.quantity - d->returned;
    return true;
}

static void plain(struct lane *lane, struct item *item, const struct error *why)
{
    item->base.plain = true;
    item->base.detail = lane_detail(lane, "%s; and its tombstone cannot be written: %s", item->base.detail, why->text);
}

/* A key exists already. Mostly the row does: somebody, perhaps this lane before an answer was lost, has decided. Where
 * it does not, even after another try, foreign hands wrote one of our local messages: nothing can be decided beside it.
 */
static bool void_decision(struct lane *lane, struct item *item, const struct error *why, struct error *err)
{
    enum reason reason = item->base.reason;

    item->base.reason = REASON_NONE;
    item->doubt = REASON_NONE;
    if (!resolve(lane, &item, 1, err))
        return false;
    if (item->base.reason == REASON_NONE && item->voided) {
        item->base.reason = reason;
        plain(lane, item, why);
    }
    item->voided = true;
    return true;
}

static void done(struct lane *lane, struct item *item, const struct decision *d, struct local_messages *list)
{
    item->base.decided = true;
    metric_add(lane->metrics, METRIC_ORDERS_REJECTED, 1);
    if (d->forfeited > 0) {
        metric_add(lane->metrics, METRIC_STOCK_UNITS_FORFEITED, (uint64_t)d->forfeited);
        log_event(LOG_EVENT_STOCK_SHORT, LOG_STR("order_no", item->order.order_no),
                  LOG_INT("activity_id", item->order.activity_id), LOG_INT("quantity", item->order.quantity),
                  LOG_INT("returned", d->returned), LOG_INT("forfeited", d->forfeited));
    }
    relay_offer(lane->shared->relay, list);
}

static bool decide_once(struct lane *lane, struct item *item, const struct decision *d, struct error *why)
{
    struct relay *relay = lane->shared->relay;
    struct order_rejection rejection = {
        .order = &item->order,
        .units_back = d->returned,
        .units_forfeited = d->forfeited,
        .reservations = d->reservations,
        .silent = !lane->conf->events_enabled,
        .letter = lane_letter(lane, &item->base),
    };
    struct local_messages committed;
    bool ok;

    local_messages_init(&committed);
    ok = order_rejection_run(lane->db, &rejection, relay_owner(relay), relay_lease_ms(relay, lane->conf), &committed,
                             why);
    if (ok)
        done(lane, item, d, &committed);
    local_messages_free(&committed);
    return ok;
}

/* Whether the failed transaction is worth another try at once. */
static bool try_again(const struct error *why, int tries)
{
    switch (error_class_of(why)) {
    case ERROR_CLASS_TRANSIENT:
        return tries < CONFLICTS_MAX;
    case ERROR_CLASS_UNKNOWN:
        return tries < UNKNOWN_MAX;
    default:
        return false;
    }
}

static bool cannot_be_written(const struct error *why)
{
    return why->code == ERROR_DB_DATA || why->code == ERROR_DB_CHECK || error_class_of(why) == ERROR_CLASS_UNKNOWN;
}

/* Heartbeats of a lane that is busy here; a lost consumer shows at the acknowledgement. */
static void keep_alive(struct lane *lane)
{
    struct error ignored;

    (void)!lane_pump(lane, &ignored);
}

/* true: decided, void, or turned into a plain dead letter since the tombstone itself cannot be written. */
static bool decide_item(struct lane *lane, struct item *item, struct error *err)
{
    for (int tries = 1;; tries++) {
        struct decision d;
        bool again;

        keep_alive(lane);
        if (!divide(lane, item, &d, &again, err))
            return false;
        if (again) {
            item->reconsidered = true;
            item->base.reason = REASON_NONE;
            return true;
        }
        error_clear(err);
        if (decide_once(lane, item, &d, err))
            return true;
        if (err->code == ERROR_DB_DUPLICATE) {
            struct error why = *err;

            error_clear(err);
            return void_decision(lane, item, &why, err);
        }
        if (try_again(err, tries)) {
            clock_sleep_ms(backoff_next(&create_of(lane)->conflict));
        } else if (cannot_be_written(err)) {
            plain(lane, item, err);
            error_clear(err);
            return true;
        } else {
            return false;
        }
    }
}

bool decide(struct lane *lane, struct error *err)
{
    for (size_t i = lane->batch.acked; i < lane->batch.count; i++) {
        struct item *item = item_at(lane, i);

        if (lane_item_fate(lane, &item->base) == FATE_DECIDE && !decide_item(lane, item, err))
            return error_prefix(err, "deciding %s", item->order.order_no);
    }
    return true;
}
