#include "create.h"

#include <inttypes.h>

#include "orderd/log.h"
#include "orderd/order_store.h"

static enum verdict decided(struct lane *lane, struct item *item, enum reason reason, const char *detail)
{
    item_decide(lane, item, reason, detail);
    return VERDICT_DECIDED;
}

/* The guard behind the stock UPDATE answered: no row, no more orders, or too little. */
static enum verdict stock_refused(struct lane *lane, struct item *item, struct error *why)
{
    int64_t id = item->order.activity_id;
    struct order_stock stock;

    if (!order_store_stock(lane->db, id, &stock, why))
        return VERDICT_FAILED;
    if (!stock.exists)
        return decided(lane, item, REASON_ACTIVITY_UNKNOWN,
                       lane_detail(lane, "activity %" PRId64 " has no stock row", id));
    if (!stock.takes_orders)
        return decided(lane, item, REASON_ACTIVITY_SETTLED, "");
    if (stock.available < item->order.quantity)
        return decided(lane, item, REASON_STOCK_SHORT,
                       lane_detail(lane, "activity %" PRId64 " has %" PRId64 " of %" PRId64 " left, the order takes %d",
                                   id, stock.available, stock.total, item->order.quantity));
    return VERDICT_AGAIN; /* it came back in between */
}

/* The database refused this row: its own fault, unless a storm is on. */
static enum verdict refused(struct lane *lane, struct item *item, enum reason reason, struct error *why)
{
    bool before = lane->storm.on;

    if (!lane_storm_refused(lane, &item->base, item->order.order_no))
        return decided(lane, item, reason, lane_detail(lane, "%s", why->text));
    if (!before)
        error_prefix(why, "many different messages in a row failed alike; no more are taken until one succeeds");
    return VERDICT_FAILED;
}

static enum verdict unknown(struct lane *lane, struct item *item, struct error *why)
{
    if (!lane->storm.on && ++item->unknown_tries < lane->conf->create_unknown_tries)
        return VERDICT_AGAIN;
    return refused(lane, item, REASON_ERROR_UNKNOWN, why);
}

/* No row stands in the way, and still messages of this order are there. While it is tried again, it is not too late. */
static enum verdict row_deleted(struct lane *lane, struct item *item, struct error *why)
{
    struct error server = *why;

    (void)error_set(why, server.code, "%s; delete that too (`orderctl outbox purge`), and the next try makes the order",
                    server.text);
    return refused(lane, item, REASON_ROW_DELETED, why);
}

enum verdict verdict_alone(struct lane *lane, struct item *item, unsigned statement, struct error *why)
{
    enum order_create_step step = order_store_step(statement, 1, 1);

    switch (why->code) {
    case ERROR_DB_CHECK:
        if (step == ORDER_CREATE_STOCK)
            return stock_refused(lane, item, why);
        return refused(lane, item, REASON_CONSTRAINT, why);
    case ERROR_DB_DUPLICATE:
        return step == ORDER_CREATE_ADDED ? row_deleted(lane, item, why) : unknown(lane, item, why);
    case ERROR_DB_DATA:
        return refused(lane, item, REASON_CONSTRAINT, why);
    default:
        return unknown(lane, item, why);
    }
}
