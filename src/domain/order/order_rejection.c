#include "orderd/order_rejection.h"

#include <stdio.h>

#include "orderd/fault.h"
#include "orderd/order_event.h"
#include "orderd/order_store.h"
#include "orderd/stock_effect.h"

static void add_message(struct local_messages *list, const char *topic, const struct order *order,
                        const struct strbuf *payload, const struct strbuf *headers, const char *owner)
{
    char key[LOCAL_MESSAGE_KEY_MAX + 1];
    int len = snprintf(key, sizeof key, "%s:%s", topic, order->order_no);

    local_messages_add(list, (struct slice){key, (size_t)len}, topic, (struct slice){payload->data, payload->len},
                       (struct slice){headers->data, headers->len}, owner);
}

static void add_return(struct local_messages *list, const struct order_rejection *r, const char *owner)
{
    struct strbuf payload = STRBUF_INIT, none = STRBUF_INIT;
    struct stock_giveback giveback = {
        .activity = r->order->activity_id,
        .shard = r->order->shard,
        .order_no = slice_of(r->order->order_no),
        .units_back = r->units_back,
        .units_forfeited = r->units_forfeited,
        .epoch = r->order->epoch,
        .free_mark = true, /* it never was live; the script frees it only where it is this order's own */
        .reservations = r->reservations,
    };

    stock_effect_encode(&giveback, 1, &payload);
    add_message(list, "stock.return", r->order, &payload, &none, owner);
    strbuf_release(&payload);
}

static void add_dead(struct local_messages *list, const struct order_rejection *r, const char *owner)
{
    struct strbuf headers = STRBUF_INIT, body = STRBUF_INIT;
    struct dead_letter letter = r->letter;
    struct broker_delivery rebuilt = {.message_id = slice_of(r->order->order_no),
                                      .content_type = slice_of("application/json")};

    if (letter.delivery)
        strbuf_add_slice(&body, letter.delivery->body);
    else
        order_encode(r->order, &body);
    if (!letter.delivery)
        letter.delivery = &rebuilt;
    dead_letter_headers(&letter, &headers);
    add_message(list, "order.dead", r->order, &body, &headers, owner);
    strbuf_release(&headers);
    strbuf_release(&body);
}

static void add_messages(struct local_messages *list, const struct order_rejection *r, int64_t now, const char *owner)
{
    struct order_event_entry entry = {.order = r->order, .reason = r->letter.reason};

    add_return(list, r, owner);
    if (r->letter.reason != REASON_BUYER_HAS_ORDER && !r->without_letter)
        add_dead(list, r, owner);
    if (!r->silent)
        order_event_add(list, ORDER_EVENT_REJECTED, &entry, 1, now, owner);
}

static bool commit(struct db *db, const struct order_rejection *r, const struct local_messages *list, int64_t lease_ms,
                   struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "BEGIN;");
    order_store_add_tombstone(&sql, r->order, r->letter.reason, r->units_back, r->units_forfeited);
    strbuf_add_char(&sql, ';');
    local_message_add_insert(db, &sql, list, lease_ms);
    if (r->with.ptr) {
        strbuf_add_char(&sql, ';');
        strbuf_add_slice(&sql, r->with);
    }
    strbuf_add_str(&sql, ";COMMIT");
    if (FAULT_FAILS(DECIDE_BEFORE_COMMIT))
        ok = error_set(err, ERROR_DB_LOST, "fault point decide.before_commit");
    else
        ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    if (ok && FAULT_FAILS(DECIDE_AFTER_COMMIT))
        ok = error_set(err, ERROR_DB_LOST, "fault point decide.after_commit");
    strbuf_release(&sql);
    return ok;
}

bool order_rejection_run(struct db *db, const struct order_rejection *rejection, const char *owner, int64_t lease_ms,
                         struct local_messages *committed, struct error *err)
{
    struct local_messages list;
    bool ok;

    local_messages_init(&list);
    add_messages(&list, rejection, db_clock_ms(db), owner);
    ok = commit(db, rejection, &list, lease_ms, err);
    if (ok)
        local_messages_append(committed, &list);
    else if (db_usable(db))
        db_rollback(db);
    local_messages_free(&list);
    return ok;
}
