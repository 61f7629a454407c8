/* A batch becomes rows. The way is optimistic: one transaction for all. What stands in its way is found by reading
 * (duplicates) or by halving (anything else), and an order is only blamed for what happened to it alone. */
#include "create.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/fault.h"
#include "orderd/log.h"
#include "orderd/order_store.h"
#include "orderd/relay.h"

/* A conflict (deadlock, lock wait) is no try of the message; so many in a row and it is treated like an outage. */
#define CONFLICTS_MAX 10
/* 1062 again and again with nothing to be read: two lanes race for the same keys. */
#define DUPLICATES_MAX 10
/* After a duplicate the next batches look first: in a stretch of redeliveries the optimistic insert only costs. */
#define READ_FIRST_BATCHES 8

/* From so many orders on, rows in binary pay for their round trips, also where each takes half a millisecond: a row as
 * text costs MariaDB 3.6 us more (docs/speed.md). Below, one round trip is all there is. */
#define ROWS_MIN 100

/* One transaction. */
struct write {
    const struct order **orders;
    int64_t *timeouts;
    size_t count;
    bool as_rows;               /* the orders go in binary, before the text with the rest of it */
    struct local_messages told; /* what it leaves for the relay */
};

static void compose(struct lane *lane, struct item **set, size_t count, struct write *w)
{
    struct strbuf *sql = &create_of(lane)->sql;

    *w = (struct write){.orders = arena_alloc(lane->arena, count * sizeof *w->orders),
                        .timeouts = arena_alloc(lane->arena, count * sizeof *w->timeouts),
                        .count = count,
                        .as_rows = count >= ROWS_MIN && order_store_takes_rows(lane->db, count)};
    local_messages_init(&w->told);
    for (size_t i = 0; i < count; i++) {
        w->orders[i] = &set[i]->order;
        w->timeouts[i] = set[i]->pay_timeout_ms;
    }
    strbuf_reset(sql);
    if (!w->as_rows) {
        order_store_add_create(sql, w->orders, w->timeouts, count);
        strbuf_add_char(sql, ';');
    }
    tell_created(lane, set, count, &w->told);
    order_store_add_stock(sql, w->orders, count);
}

/* Between these round trips the transaction is open, and holds its new rows but no stock row. Who stops here for long
 * (a stopped process, a cut line) is put out by the server: db_open sets a time-out. */
static bool write_rows(struct lane *lane, const struct write *w, struct error *err)
{
    struct arena *arena = create_of(lane)->rows;

    arena_reset(arena);
    if (!db_run(lane->db, slice_of("BEGIN"), err) ||
        !order_store_insert_rows(lane->db, arena, w->orders, w->timeouts, w->count, err))
        return false;
    return !FAULT_FAILS(CREATE_AFTER_ROWS) || error_set(err, ERROR_DB_LOST, "fault point create.after_rows");
}

static bool commit(struct lane *lane, const struct write *w, struct error *err)
{
    const struct strbuf *sql = &create_of(lane)->sql;

    FAULT(CREATE_BEFORE_PERSIST);
    if (w->as_rows && !write_rows(lane, w, err))
        return false;
    if (FAULT_FAILS(CREATE_BEFORE_COMMIT))
        return error_set(err, ERROR_DB_LOST, "fault point create.before_commit");
    if (!db_run(lane->db, (struct slice){sql->data, sql->len}, err))
        return false;
    if (FAULT_FAILS(CREATE_AFTER_COMMIT))
        return error_set(err, ERROR_DB_LOST, "fault point create.after_commit");
    return true;
}

/* All of them or none of them. */
static bool insert_all(struct lane *lane, struct item **set, size_t count, struct error *err)
{
    struct write w;
    bool ok;

    compose(lane, set, count, &w);
    ok = commit(lane, &w, err);
    if (ok)
        relay_offer(lane->shared->relay, &w.told);
    local_messages_free(&w.told);
    return ok;
}

static void note_created(struct lane *lane, struct item **set, size_t count)
{
    int64_t now = clock_wall_ms();

    metric_add(lane->metrics, METRIC_BATCHES, 1);
    for (size_t i = 0; i < count; i++) {
        int64_t age_ms = now - set[i]->order.reserved_at;

        if (age_ms < 0)
            metric_add(lane->metrics, METRIC_CLOCK_SKEW, 1);
        metric_observe(lane->metrics, METRIC_SPAN_CREATE, age_ms * 1000);
        item_decide(lane, set[i], REASON_CREATED, "");
    }
}

/* Which of the set are still open, moved to its front. */
static size_t keep_open(struct item **set, size_t count)
{
    size_t open = 0;

    for (size_t i = 0; i < count; i++) {
        if (set[i]->base.reason == REASON_NONE)
            set[open++] = set[i];
    }
    return open;
}

/* What to do about a transaction that failed. */
enum step { STEP_AGAIN, STEP_READ, STEP_HALVE, STEP_ALONE, STEP_WAIT };

static enum step after(const struct error *why, size_t count, int conflicts, int duplicates)
{
    switch (error_class_of(why)) {
    case ERROR_CLASS_TRANSIENT:
        return conflicts < CONFLICTS_MAX ? STEP_AGAIN : STEP_WAIT;
    case ERROR_CLASS_OUTAGE:
    case ERROR_CLASS_SETUP:
        return STEP_WAIT;
    default:
        if (why->code == ERROR_DB_DUPLICATE && duplicates < DUPLICATES_MAX)
            return STEP_READ;
        return count > 1 ? STEP_HALVE : STEP_ALONE;
    }
}

static void wait_conflict(struct lane *lane, const struct error *why)
{
    struct error ignored;

    metric_add(lane->metrics, METRIC_DB_CONFLICTS, 1);
    log_event(LOG_EVENT_BATCH_RETRIED, LOG_ERR(why));
    (void)!lane_pump(lane, &ignored); /* a lost consumer shows at the acknowledgement */
    clock_sleep_ms(backoff_next(&create_of(lane)->conflict));
}

static bool persist_set(struct lane *lane, struct item **set, size_t count, bool read_first, struct error *err);

static bool halve(struct lane *lane, struct item **set, size_t count, const struct error *why, struct error *err)
{
    struct error ignored;

    metric_add(lane->metrics, METRIC_BATCH_SPLITS, 1);
    log_event(LOG_EVENT_BATCH_SPLIT, LOG_INT("orders", count), LOG_ERR(why));
    (void)!lane_pump(lane, &ignored);
    return persist_set(lane, set, count / 2, false, err) &&
           persist_set(lane, set + count / 2, count - count / 2, false, err);
}

/* After an error the transaction is gone or must go; after one that cost the connection, a new one must come. */
static bool clean_up(struct lane *lane, const struct error *why, struct error *err)
{
    if (why->code == ERROR_DB_LOST)
        metric_add(lane->metrics, METRIC_COMMITS_UNKNOWN, 1);
    if (db_usable(lane->db)) {
        db_rollback(lane->db);
        return true;
    }
    if (error_class_of(why) == ERROR_CLASS_OUTAGE)
        return true; /* hold() reconnects */
    lane_close_db(lane);
    return lane_mend(lane, err);
}

static bool persist_set(struct lane *lane, struct item **set, size_t count, bool read_first, struct error *err)
{
    int conflicts = 0, duplicates = 0;

    for (;;) {
        struct error why = {0};
        unsigned statement;

        if (read_first && !resolve(lane, set, count, err))
            return false;
        count = keep_open(set, count);
        if (count == 0)
            return true;
        if (insert_all(lane, set, count, &why)) {
            note_created(lane, set, count);
            backoff_reset(&create_of(lane)->conflict);
            return true;
        }
        statement = db_failed_statement(lane->db);
        if (!clean_up(lane, &why, err))
            return false;
        read_first = false;
        switch (after(&why, count, conflicts, duplicates)) {
        case STEP_AGAIN:
            conflicts++;
            wait_conflict(lane, &why);
            break;
        case STEP_READ:
            duplicates++;
            read_first = true;
            create_of(lane)->reading_first = READ_FIRST_BATCHES;
            break;
        case STEP_HALVE:
            return halve(lane, set, count, &why, err);
        case STEP_ALONE:
            switch (verdict_alone(lane, set[0], statement, &why)) {
            case VERDICT_DECIDED:
                return true;
            case VERDICT_AGAIN:
                wait_conflict(lane, &why);
                break;
            case VERDICT_FAILED:
                *err = why;
                return false;
            }
            break;
        case STEP_WAIT:
            *err = why;
            return false;
        }
    }
}

/* The open items whose order number and buyer's mark no other of the set has, the earliest of each; twins wait for the
 * next pass, when the first of them stands in the table. Sorted by order number, so that lanes that meet the same
 * orders lock them in the same order. */
static size_t pick(struct lane *lane, struct item **set)
{
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < lane->batch.count; i++) {
        if (item_at(lane, i)->base.reason == REASON_NONE)
            set[count++] = item_at(lane, i);
    }
    qsort(set, count, sizeof *set, item_by_mark);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || !item_same_mark(set[kept - 1], set[i]))
            set[kept++] = set[i];
    }
    count = kept;
    kept = 0;
    qsort(set, count, sizeof *set, item_by_order_no);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || !item_same_order_no(set[kept - 1], set[i]))
            set[kept++] = set[i];
    }
    return kept;
}

/* Items in doubt (and, after the first pass, all that are open) are decided by what stands in the table. */
static bool resolve_open(struct lane *lane, struct item **set, bool doubtful_only, struct error *err)
{
    size_t count = 0;

    for (size_t i = 0; i < lane->batch.count; i++) {
        struct item *item = item_at(lane, i);

        if (item->base.reason == REASON_NONE && (!doubtful_only || item->doubt != REASON_NONE))
            set[count++] = item;
    }
    return resolve(lane, set, count, err);
}

/* A classic queue has no delivery limit: a message that comes again is tried alone, so that one which kills the process
 * takes no others with it. */
static bool persist_redelivered(struct lane *lane, struct item **set, size_t count, struct error *err)
{
    if (lane->conf->broker_queue_type != CONF_QUEUE_TYPE_CLASSIC)
        return true;
    for (size_t i = 0; i < count; i++) {
        struct item *alone = set[i];

        if (alone->base.delivery.redelivered && !persist_set(lane, &alone, 1, true, err))
            return false;
    }
    return true;
}

/* In a storm one message at a time asks whether it is over; another one each time, since the first may be at fault. */
static bool probe(struct lane *lane, struct item **set, size_t count, struct error *err)
{
    struct item *one = set[create_of(lane)->probe++ % count];

    return persist_set(lane, &one, 1, true, err);
}

static bool persist_pass(struct lane *lane, struct item **set, size_t count, bool read_first, struct error *err)
{
    if (lane->storm.on && !probe(lane, set, count, err))
        return false;
    if (!persist_redelivered(lane, set, count, err))
        return false;
    count = keep_open(set, count);
    return count == 0 || persist_set(lane, set, count, read_first, err);
}

bool persist(struct lane *lane, struct error *err)
{
    struct item **set = arena_alloc(lane->arena, lane->batch.count * sizeof *set);
    struct create *own = create_of(lane);
    bool read_first = own->reading_first > 0 || lane->held_since != 0;

    if (own->reading_first > 0)
        own->reading_first--;
    if (!check_items(lane, err) || !resolve_open(lane, set, true, err))
        return false;
    for (size_t count; (count = pick(lane, set)) > 0; read_first = false) {
        if (!persist_pass(lane, set, count, read_first, err))
            return false;
        /* What is left are twins of these. */
        if (!resolve_open(lane, set, false, err))
            return false;
    }
    return true;
}
