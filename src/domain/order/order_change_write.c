/* What was judged becomes statements, in this order: orders (locked already), payments, local messages, and last, for
 * the shortest time, the hot rows of activity_stock by ascending number; in one round trip with the COMMIT. */
#include "order_change_private.h"

#include <inttypes.h>
#include <stdio.h>

#include "orderd/clock.h"
#include "orderd/fault.h"
#include "orderd/order_event.h"
#include "orderd/stock_effect.h"

static struct slice text_of(const struct strbuf *sb)
{
    return (struct slice){sb->data, sb->len};
}

/* The orders that some wish moved into one state. */
struct moved {
    const struct subject **list;
    size_t count;
};

static struct moved moved_to(const struct change_run *run, enum order_standing standing)
{
    struct moved m = {arena_alloc(run->arena, (run->subject_count + 1) * sizeof *m.list), 0};

    for (size_t i = 0; i < run->subject_count; i++) {
        if (run->subjects[i].by && run->subjects[i].standing == standing)
            m.list[m.count++] = &run->subjects[i];
    }
    return m;
}

/* ---- orders ---- */

/* The rows are locked and were read as pending: the guard would only answer if that were not so, and before any stock
 * has moved. */
static void end_update(struct strbuf *sql, const int64_t *ids, size_t count)
{
    strbuf_add_str(sql, " WHERE status='pending' AND id IN(");
    for (size_t i = 0; i < count; i++) {
        strbuf_add_str(sql, i ? "," : "");
        strbuf_add_i64(sql, ids[i]);
    }
    strbuf_addf(sql, ");SELECT EXP(710*(ROW_COUNT()<>%zu));", count);
}

static size_t ids_for(const struct moved *m, enum reason reason, int64_t *ids)
{
    size_t count = 0;

    for (size_t i = 0; i < m->count; i++) {
        if (m->list[i]->reason == reason)
            ids[count++] = m->list[i]->id;
    }
    return count;
}

#define UPDATE_ORDERS "UPDATE orders FORCE INDEX(PRIMARY) SET "

static void add_paid(struct change_run *run, const struct moved *paid)
{
    int64_t *ids = arena_alloc(run->arena, (paid->count + 1) * sizeof *ids);

    if (paid->count == 0)
        return;
    strbuf_add_str(&run->sql, UPDATE_ORDERS "status='paid',paid_at=NOW(6)");
    end_update(&run->sql, ids, ids_for(paid, REASON_PAID, ids));
}

static void add_closed(struct change_run *run, const struct moved *closed, enum reason reason)
{
    int64_t *ids = arena_alloc(run->arena, (closed->count + 1) * sizeof *ids);
    size_t count = ids_for(closed, reason, ids);

    if (count == 0)
        return;
    strbuf_addf(&run->sql, UPDATE_ORDERS "status='closed',reason='%s',units_returned=quantity,closed_at=NOW(6)",
                reason_name(reason));
    end_update(&run->sql, ids, count);
}

/* ---- payments ---- */

static void add_payment(struct change_run *run, const struct payment *p)
{
    struct strbuf *sql = &run->sql;
    char paid_at[32];

    clock_format_sql(paid_at, sizeof paid_at, p->by->paid_at);
    db_add_quoted(run->db, sql, slice_of(p->ref));
    strbuf_addf(sql, ",'%s',%" PRId64 ",'%s','%s','%s')", order_no_checked(p->order_no), p->amount, paid_at,
                payment_outcome_name(p->outcome), reason_name(p->reason));
}

static void add_payments(struct change_run *run)
{
    bool any = false;

    for (size_t i = 0; i < run->payment_count; i++) {
        if (!run->payments[i].by)
            continue;
        strbuf_add_str(&run->sql,
                       any ? ",(" : "INSERT INTO payment(payment_ref,order_no,amount,paid_at,outcome,reason) VALUES(");
        add_payment(run, &run->payments[i]);
        any = true;
    }
    strbuf_add_str(&run->sql, any ? ";" : "");
}

/* ---- local messages ---- */

static void add_effect(struct change_run *run, const char *topic, const char *first, struct strbuf *payload)
{
    char key[LOCAL_MESSAGE_KEY_MAX + 1];
    int len = snprintf(key, sizeof key, "%s:%s", topic, first);

    local_messages_add(&run->messages, (struct slice){key, (size_t)len}, topic, text_of(payload), slice_of(""),
                       run->options->owner);
    strbuf_release(payload);
}

static void add_return(struct change_run *run, const struct moved *closed)
{
    struct stock_giveback *list = arena_alloc(run->arena, (closed->count + 1) * sizeof *list);
    struct strbuf payload = STRBUF_INIT;

    if (closed->count == 0)
        return;
    for (size_t i = 0; i < closed->count; i++) {
        const struct order *o = &closed->list[i]->order;
        const struct sale *sale = change_sale(run, o->activity_id);

        list[i] = (struct stock_giveback){
            .activity = o->activity_id,
            .shard = o->shard,
            .order_no = slice_of(o->order_no),
            .units_back = o->quantity,
            .epoch = o->epoch,
            .free_mark = sale->rebuy,
            .reservations = sale->reservations,
        };
    }
    stock_effect_encode(list, closed->count, &payload);
    add_effect(run, "stock.return", closed->list[0]->order.order_no, &payload);
}

/* Where nothing was reserved, nothing turns from reserved into sold. */
static void add_settle(struct change_run *run, const struct moved *paid)
{
    struct stock_paid *list = arena_alloc(run->arena, (paid->count + 1) * sizeof *list);
    struct strbuf payload = STRBUF_INIT;
    size_t count = 0;

    for (size_t i = 0; i < paid->count; i++) {
        const struct order *o = &paid->list[i]->order;

        if (change_sale(run, o->activity_id)->reservations)
            list[count++] = (struct stock_paid){o->activity_id, o->shard, slice_of(o->order_no)};
    }
    if (count == 0)
        return;
    stock_effect_encode_paid(list, count, &payload);
    add_effect(run, "stock.settle", list[0].order_no.ptr, &payload);
}

static void add_event(struct change_run *run, enum order_event event, const struct moved *m)
{
    struct order_event_entry *list = arena_zalloc(run->arena, (m->count + 1) * sizeof *list);

    if (m->count == 0)
        return;
    for (size_t i = 0; i < m->count; i++) {
        const struct subject *s = m->list[i];

        list[i] = (struct order_event_entry){.order = &s->order, .reason = s->reason};
        if (s->by->wish == ORDER_WISH_PAY) {
            list[i].payment_ref = s->by->payment_ref;
            list[i].payment_amount = s->by->amount;
        }
    }
    order_event_add(&run->messages, event, list, m->count, db_clock_ms(run->db), run->options->owner);
}

static void add_refunds(struct change_run *run)
{
    for (size_t i = 0; i < run->payment_count; i++) {
        const struct payment *p = &run->payments[i];
        struct order_event_entry entry;

        if (!p->by || p->outcome == PAYMENT_APPLIED)
            continue;
        entry = (struct order_event_entry){
            .order = &p->subject->order, .reason = p->reason, .payment_ref = p->ref, .payment_amount = p->amount};
        order_event_add(&run->messages, ORDER_EVENT_REFUND_DUE, &entry, 1, db_clock_ms(run->db), run->options->owner);
    }
}

static void add_messages(struct change_run *run, const struct moved *closed, const struct moved *paid)
{
    add_return(run, closed);
    add_settle(run, paid);
    if (run->options->events) {
        add_event(run, ORDER_EVENT_CLOSED, closed);
        add_event(run, ORDER_EVENT_PAID, paid);
        add_refunds(run);
    }
    if (run->messages.count == 0)
        return;
    local_message_add_insert(run->db, &run->sql, &run->messages, run->options->lease_ms);
    strbuf_add_char(&run->sql, ';');
}

/* One row for an order however many early timers come, so that forged ones cannot pile up. It goes straight to the work
 * queue when the order is due: the relay waits, not a delay queue. */
static void add_timers(struct change_run *run)
{
    bool any = false;

    for (size_t i = 0; i < run->subject_count; i++) {
        const struct subject *s = &run->subjects[i];

        if (!s->rearm || s->by)
            continue;
        strbuf_add_str(
            &run->sql,
            any ? ","
                : "INSERT INTO local_message(message_key,topic,payload,due_at) SELECT "
                  "CONCAT('timer:',order_no),'order.unpaid',CONCAT('{\"v\":1,\"orders\":[\"',order_no,'\"]}'),"
                  "expires_at FROM orders FORCE INDEX(PRIMARY) WHERE expires_at IS NOT NULL AND id IN(");
        strbuf_add_i64(&run->sql, s->id);
        any = true;
    }
    if (any)
        strbuf_add_str(&run->sql, ") ON DUPLICATE KEY UPDATE due_at=VALUES(due_at),state='pending',attempts=0,"
                                  "lease_owner=NULL,lease_until=NULL,sent_at=NULL,last_error=NULL,first_due_at=NULL;");
}

/* ---- stock ---- */

static void add_stock(struct change_run *run)
{
    for (size_t i = 0; i < run->sale_count; i++) {
        const struct sale *sale = &run->sales[i];

        if (sale->units > 0)
            strbuf_addf(&run->sql,
                        "UPDATE activity_stock SET available=available+%" PRId64 " WHERE activity_id=%" PRId64
                        " AND available<=total-%" PRId64 ";" DB_GUARD_ONE_ROW ";",
                        sale->units, sale->id, sale->units);
    }
}

static bool take_room(void *arg, const struct slice *c, unsigned count)
{
    struct change_run *run = arg;
    struct sale *sale;
    int64_t id, room;

    if (count != 2 || !db_column_i64(c[0], &id) || !db_column_i64(c[1], &room) || !(sale = change_sale(run, id)))
        return false;
    sale->dropped = sale->units > room ? sale->units - room : 0;
    return true;
}

/* Must not happen: somebody changed stock or total by hand. The orders are closed all the same, and no more comes back
 * than there is room for; a stock row that is gone has none. By the index, or a server walks the few rows there are and
 * waits for other sales. */
static bool read_room(struct change_run *run, struct error *err)
{
    struct strbuf *sql = &run->sql;

    strbuf_reset(sql);
    strbuf_add_str(sql, "SELECT activity_id,total-available FROM activity_stock FORCE INDEX(PRIMARY) WHERE "
                        "activity_id IN(0");
    for (size_t i = 0; i < run->sale_count; i++) {
        run->sales[i].dropped = run->sales[i].units;
        strbuf_addf(sql, ",%" PRId64, run->sales[i].id);
    }
    strbuf_add_str(sql, ") ORDER BY activity_id FOR UPDATE");
    return db_query(run->db, text_of(sql), take_room, run, err);
}

/* What was composed so far runs first, so that the hot rows are last here too. */
static bool cap_stock(struct change_run *run, struct error *err)
{
    if (run->sql.len && !db_run(run->db, text_of(&run->sql), err))
        return false;
    if (!read_room(run, err))
        return false;
    strbuf_reset(&run->sql);
    for (size_t i = 0; i < run->sale_count; i++)
        run->sales[i].units -= run->sales[i].dropped;
    add_stock(run);
    return true;
}

/* ---- all of it ---- */

static bool commit(struct change_run *run, struct error *err)
{
    strbuf_add_str(&run->sql, "COMMIT");
    if (FAULT_FAILS(CHANGE_BEFORE_COMMIT))
        return error_set(err, ERROR_DB_LOST, "fault point change.before_commit");
    if (!db_run(run->db, text_of(&run->sql), err))
        return false;
    if (FAULT_FAILS(CHANGE_AFTER_COMMIT))
        return error_set(err, ERROR_DB_LOST, "fault point change.after_commit");
    return true;
}

bool change_write(struct change_run *run, struct error *err)
{
    struct moved paid, closed;

    if (!change_read_sales(run, err))
        return false;
    paid = moved_to(run, ORDER_STANDS_PAID);
    closed = moved_to(run, ORDER_STANDS_CLOSED);
    strbuf_reset(&run->sql);
    add_paid(run, &paid);
    add_closed(run, &closed, REASON_CANCELLED);
    add_closed(run, &closed, REASON_UNPAID);
    add_payments(run);
    add_messages(run, &closed, &paid);
    add_timers(run);
    if (run->cap) {
        if (!cap_stock(run, err))
            return false;
    } else {
        add_stock(run);
    }
    return commit(run, err);
}
