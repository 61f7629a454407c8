/* The terminal decision: one transaction that leaves a tombstone, the return of the stock, the dead letter and the
 * event; or nothing. Whoever's tombstone comes first has decided; a late copy finds it and is acknowledged. So no crash
 * can dead-letter without giving back, give back twice, or let a late copy become an order. */
#include "create.h"

#include <inttypes.h>
#include <stdio.h>

#include "orderd/clock.h"
#include "orderd/dead_letter.h"
#include "orderd/fault.h"
#include "orderd/log.h"
#include "orderd/order_event.h"
#include "orderd/order_store.h"
#include "orderd/relay.h"
#include "orderd/stock_effect.h"

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
    d->returned = stock.available > 0 ? (int32_t)stock.available : 0;
    if (d->returned > item->order.quantity)
        d->returned = item->order.quantity;
    d->forfeited = item->order.quantity - d->returned;
    return true;
}

static const char *owner(const struct lane *lane)
{
    return lane->shared->relay ? relay_owner(lane->shared->relay) : "";
}

static void add_message(struct lane *lane, struct local_messages *list, const char *prefix, const char *topic,
                        const struct item *item, const struct strbuf *payload, const struct strbuf *headers)
{
    char key[LOCAL_MESSAGE_KEY_MAX + 1];
    int len = snprintf(key, sizeof key, "%s:%s", prefix, item->order.order_no);

    local_messages_add(list, (struct slice){key, (size_t)len}, topic, (struct slice){payload->data, payload->len},
                       headers ? (struct slice){headers->data, headers->len} : slice_of(""), owner(lane));
}

static void add_return(struct lane *lane, struct local_messages *list, const struct item *item,
                       const struct decision *d)
{
    struct strbuf payload = STRBUF_INIT;
    struct stock_giveback giveback = {
        .activity = item->order.activity_id,
        .shard = item->order.shard,
        .order_no = slice_of(item->order.order_no),
        .units_back = d->returned,
        .units_forfeited = d->forfeited,
        .epoch = item->order.epoch,
        .free_mark = true, /* it never was live; the script frees it only where it is this order's own */
        .reservations = d->reservations,
    };

    stock_effect_encode(&giveback, 1, &payload);
    add_message(lane, list, "stock.return", "stock.return", item, &payload, NULL);
    strbuf_release(&payload);
}

static struct dead_letter letter_of(const struct lane *lane, const struct item *item)
{
    return (struct dead_letter){
        .delivery = &item->base.delivery,
        .reason = item->base.reason,
        .detail = item->base.detail,
        .stage = "create",
        .origin = lane->conf->create_queue,
        .worker = lane->worker,
        .attempt = item->base.attempt,
    };
}

static void add_dead(struct lane *lane, struct local_messages *list, const struct item *item)
{
    struct dead_letter letter = letter_of(lane, item);
    struct strbuf headers = STRBUF_INIT, body = STRBUF_INIT;

    dead_letter_headers(&letter, &headers);
    strbuf_add_slice(&body, item->base.delivery.body);
    add_message(lane, list, "order.dead", "order.dead", item, &body, &headers);
    strbuf_release(&headers);
    strbuf_release(&body);
}

static void add_event(struct lane *lane, struct local_messages *list, const struct item *item)
{
    struct order_event_entry entry = {.order = &item->order, .reason = item->base.reason};

    order_event_add(list, ORDER_EVENT_REJECTED, &entry, 1, clock_wall_ms(), owner(lane));
}

static void compose(struct lane *lane, const struct item *item, const struct decision *d, struct local_messages *list)
{
    int64_t lease_ms = lane->shared->relay ? lane->conf->relay_lease : 0;
    struct strbuf *sql = &create_of(lane)->sql;

    add_return(lane, list, item, d);
    if (item->base.reason != REASON_BUYER_HAS_ORDER)
        add_dead(lane, list, item);
    add_event(lane, list, item);
    strbuf_reset(sql);
    strbuf_add_str(sql, "BEGIN;");
    order_store_add_tombstone(sql, &item->order, item->base.reason, d->returned, d->forfeited);
    strbuf_add_char(sql, ';');
    local_message_add_insert(lane->db, sql, list, lease_ms);
    strbuf_add_str(sql, ";COMMIT");
}

static void plain(struct lane *lane, struct item *item, const struct error *why)
{
    item->base.plain = true;
    item->base.detail = lane_detail(lane, "%s; and its tombstone cannot be written: %s", item->base.detail, why->text);
}

static bool commit(struct lane *lane, struct error *why)
{
    const struct strbuf *sql = &create_of(lane)->sql;

    if (FAULT_FAILS(DECIDE_BEFORE_COMMIT))
        return error_set(why, ERROR_DB_LOST, "fault point decide.before_commit");
    if (!db_run(lane->db, (struct slice){sql->data, sql->len}, why))
        return false;
    if (FAULT_FAILS(DECIDE_AFTER_COMMIT))
        return error_set(why, ERROR_DB_LOST, "fault point decide.after_commit");
    return true;
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
    if (lane->shared->relay)
        relay_offer(lane->shared->relay, list);
}

static bool decide_once(struct lane *lane, struct item *item, const struct decision *d, struct error *why)
{
    struct local_messages list;
    bool ok;

    local_messages_init(&list);
    compose(lane, item, d, &list);
    ok = commit(lane, why);
    if (ok)
        done(lane, item, d, &list);
    else if (db_usable(lane->db))
        db_rollback(lane->db);
    local_messages_free(&list);
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
