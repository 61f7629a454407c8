/* What people do to letters of the table. */
#include "dead_letter_row.h"

#include <inttypes.h>
#include <string.h>

#include "orderd/activity_store.h"
#include "orderd/clock.h"
#include "orderd/order_record.h"
#include "orderd/order_rejection.h"
#include "orderd/stock.h"
#include "orderd/topology.h"

#define CONFLICTS_MAX 10

struct state_of {
    bool found;
    enum dead_letter_state state;
};

static bool take_state(void *arg, const struct slice *c, unsigned count)
{
    struct state_of *s = arg;

    s->found = true;
    return count == 1 && dead_letter_state_of_name(c[0], &s->state);
}

static bool read_state(struct db *db, int64_t id, struct state_of *out, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    *out = (struct state_of){0};
    strbuf_addf(&sql, "SELECT CAST(state AS CHAR) FROM dead_letter WHERE id=%" PRId64, id);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_state, out, err);
    strbuf_release(&sql);
    return ok;
}

/* DB_CHECK: the row is not in that state (any more). */
static bool run_move(struct db *db, int64_t id, const struct dead_letter_move *move, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "START TRANSACTION;UPDATE dead_letter SET state='%s' WHERE id=%" PRId64
                " AND state='%s';" DB_GUARD_ONE_ROW ";",
                dead_letter_state_name(move->to), id, dead_letter_state_name(move->from));
    dead_letter_add_action(db, &sql, id, move->action, move->who, move->note);
    if (move->with.ptr) {
        strbuf_add_char(&sql, ';');
        strbuf_add_slice(&sql, move->with);
    }
    strbuf_add_str(&sql, ";COMMIT");
    ok = db_run(db, (struct slice){sql.data, sql.len}, err);
    strbuf_release(&sql);
    if (!ok && db_usable(db))
        db_rollback(db);
    return ok;
}

bool dead_letter_store_move(struct db *db, int64_t id, const struct dead_letter_move *move,
                            enum dead_letter_moved *result, enum dead_letter_state *was, struct error *err)
{
    struct state_of row;

    for (int tries = 1;; tries++) {
        error_clear(err);
        if (!read_state(db, id, &row, err))
            return false;
        *was = row.state;
        *result = !row.found                ? DEAD_LETTER_GONE
                  : row.state == move->to   ? DEAD_LETTER_THERE
                  : row.state != move->from ? DEAD_LETTER_OTHER
                                            : DEAD_LETTER_MOVED;
        if (*result != DEAD_LETTER_MOVED || move->dry_run || run_move(db, id, move, err))
            return true;
        /* Somebody was faster: look again. */
        if ((err->code != ERROR_DB_CHECK && error_class_of(err) != ERROR_CLASS_TRANSIENT) || tries == CONFLICTS_MAX)
            return false;
        clock_sleep_ms(10 * tries);
    }
}

/* ---- the order of a letter ---- */

bool dead_letter_is_order(const struct dead_letter_row *row, const char *create_queue, struct order *out)
{
    char detail[128];

    return (slice_is(row->queue, create_queue) || slice_is(row->queue, topology_name(TOPOLOGY_QUEUE_CREATE))) &&
           order_decode(row->body, out, detail, sizeof detail) == REASON_NONE;
}

static bool has_row(struct db *db, const struct order *order, bool *out, struct error *err)
{
    struct order_record record;

    return order_record_read(db, order->order_no, &record, out, err);
}

/* Without reservations, or without the activity, no walk looks after it. */
static bool is_walked(struct db *db, const struct order *order, bool *out, struct error *err)
{
    struct activity activity;

    *out = false;
    if (!activity_store_get(db, order->activity_id, &activity, err)) {
        if (err->code != ERROR_REFUSED)
            return false;
        error_clear(err);
        return true;
    }
    *out = activity.reservations;
    return true;
}

bool dead_letter_revives(struct db *db, struct kv *kv, const struct order *order, bool *out, struct error *err)
{
    struct stock_sought sought = {order->shard, slice_of(order->order_no), 0, 0};
    struct stock_seen seen;
    bool decided, walked;
    int64_t now;

    *out = false;
    if (!has_row(db, order, &decided, err) || !is_walked(db, order, &walked, err))
        return false;
    if (decided || !walked)
        return true;
    if (!stock_look(kv, order->activity_id, &sought, 1, &seen, &now, err))
        return false;
    *out = seen.held && seen.held_valid && seen.user == order->user_id && seen.quantity == order->quantity &&
           seen.amount == order->amount && seen.epoch == order->epoch;
    return true;
}

bool dead_letter_reject(struct db *db, const struct order *order, bool silent, const char *who, struct error *err)
{
    struct order_rejection rejection = {
        .order = order,
        .units_back = order->quantity, /* it never was a row, so MySQL has them */
        .reservations = true,
        .silent = silent,
        .without_letter = true,
        .letter = {.reason = REASON_DISCARDED, .detail = "", .stage = "dlq", .origin = "", .worker = who},
    };
    struct local_messages committed;
    bool ok = false;

    local_messages_init(&committed);
    for (int tries = 1; !ok && tries <= CONFLICTS_MAX; tries++) {
        error_clear(err);
        ok = order_rejection_run(db, &rejection, "", 0, &committed, err);
        if (!ok && error_class_of(err) != ERROR_CLASS_TRANSIENT)
            break;
    }
    local_messages_free(&committed); /* the next relay to look for due rows sends them */
    if (!ok && err->code == ERROR_DB_DUPLICATE && strcmp(db_duplicate_key(db), "uk_order_no") == 0) {
        error_clear(err);
        return true;
    }
    return ok;
}
