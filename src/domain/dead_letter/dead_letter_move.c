/* What people do to letters of the table. */
#include "dead_letter_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/activity_store.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/create_queue.h"
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
static void add_state(struct strbuf *sql, int64_t id, const struct dead_letter_move *move)
{
    strbuf_addf(sql, "UPDATE dead_letter SET state='%s' WHERE id=%" PRId64 " AND state='%s';" DB_GUARD_ONE_ROW ";",
                dead_letter_state_name(move->to), id, dead_letter_state_name(move->from));
}

static bool run_move(struct db *db, int64_t id, const struct dead_letter_move *move, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "START TRANSACTION;");
    add_state(&sql, id, move);
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
        clock_sleep_ms((int64_t)10 * tries);
    }
}

/* ---- the order of a letter ---- */

bool dead_letter_is_order(const struct dead_letter_row *row, const char *create_queue, struct order *out)
{
    char detail[128];

    return create_queue_is(create_queue, row->queue) &&
           order_decode(row->body, out, detail, sizeof detail) == REASON_NONE;
}

/* Whether anything can have been taken for it: not without the activity, nor before its shards were there. */
static bool read_activity(struct db *db, int64_t id, struct activity *out, bool *sells, struct error *err)
{
    *sells = activity_store_get(db, id, out, err);
    if (!*sells) {
        if (err->code != ERROR_REFUSED)
            return false;
        error_clear(err);
        return true;
    }
    *sells = out->preheated;
    return true;
}

/* Whether a reservation of it stands that is of the same content: one of another is another message's. */
static bool look_for_reservation(struct kv *kv, const struct order *o, bool any_epoch, bool *out, struct error *err)
{
    struct stock_sought sought = {o->shard, slice_of(o->order_no), 0, 0};
    struct stock_seen seen;
    int64_t now;

    if (!stock_look(kv, o->activity_id, &sought, 1, &seen, &now, err))
        return false;
    *out = seen.held && seen.held_valid && seen.user == o->user_id && seen.quantity == o->quantity &&
           (any_epoch || (seen.amount == o->amount && seen.epoch == o->epoch));
    return true;
}

/* It has no row. */
static bool end_of_undecided(struct db *db, struct kv *kv, struct dead_letter_end *end, struct error *err)
{
    struct activity activity;
    bool sells;

    if (!read_activity(db, end->order.activity_id, &activity, &sells, err))
        return false;
    if (!sells)
        return true;
    end->reservations = activity.reservations;
    end->units = end->order.quantity;
    if (activity.reservations)
        return look_for_reservation(kv, &end->order, false, &end->decides, err);
    end->decides = activity.state != ACTIVITY_SETTLED;
    return true;
}

/* It is rejected. What was begun instead may hold units, or be about to take them; then it must not go on. */
static bool end_of_begun(struct db *db, struct kv *kv, const struct order_record *record, struct dead_letter_end *end,
                         struct error *err)
{
    struct order_renewal renewal;
    bool held;

    if (!order_renewal_find(db, record, &renewal, err)) {
        if (err->code != ERROR_REFUSED) /* that is a chain which foreign hands wrote on: nothing of ours was begun */
            return false;
        error_clear(err);
        return true;
    }
    end->decides = renewal.stage == ORDER_RENEWAL_BEGUN;
    end->reservations = true;
    if (!end->decides)
        return true;
    end->order = renewal.last.order;
    snprintf(end->order.order_no, sizeof end->order.order_no, "%s", renewal.next);
    if (!look_for_reservation(kv, &end->order, true, &held, err))
        return false;
    end->units = held ? end->order.quantity : 0;
    return true;
}

bool dead_letter_foresee_end(struct db *db, struct kv *kv, const struct order *order, struct dead_letter_end *out,
                             struct error *err)
{
    struct order_record record;
    bool found;

    *out = (struct dead_letter_end){.order = *order};
    if (!order_record_read(db, order->order_no, &record, &found, err))
        return false;
    if (!found)
        return end_of_undecided(db, kv, out, err);
    if (record.status != ORDER_REJECTED || !order_same_content(order, &record.order))
        return true;
    return end_of_begun(db, kv, &record, out, err);
}

bool dead_letter_run_rejection(struct db *db, const struct order_rejection *rejection, bool *theirs, struct error *err)
{
    struct local_messages committed;
    bool ok = false;

    *theirs = false;
    local_messages_init(&committed);
    for (int tries = 1; !ok && tries <= CONFLICTS_MAX; tries++) {
        error_clear(err);
        ok = order_rejection_run(db, rejection, "", 0, &committed, err);
        if (!ok && error_class_of(err) != ERROR_CLASS_TRANSIENT)
            break;
    }
    local_messages_free(&committed); /* the next relay to look for due rows sends them */
    if (!ok && err->code == ERROR_DB_DUPLICATE && strcmp(db_duplicate_key(db), "uk_order_no") == 0) {
        error_clear(err);
        *theirs = true;
        return true;
    }
    return ok;
}

/* The letter is put aside, with its line of the audit and one about the order, if it is open. */
static void add_move(const struct db *db, struct strbuf *sql, int64_t id, const struct dead_letter_end *end,
                     const struct dead_letter_move *move)
{
    char note[120];

    snprintf(note, sizeof note, "order %s, units that go back on sale: %" PRId32, end->order.order_no, end->units);
    add_state(sql, id, move);
    dead_letter_add_action(db, sql, id, "rejects_order", move->who, slice_of(note));
    strbuf_add_char(sql, ';');
    dead_letter_add_action(db, sql, id, move->action, move->who, move->note);
}

bool dead_letter_reject(struct db *db, int64_t id, const struct dead_letter_end *end,
                        const struct dead_letter_move *move, bool silent, bool *done, struct error *err)
{
    struct strbuf with = STRBUF_INIT;
    struct order_rejection rejection = {
        .order = &end->order,
        .units_back = end->units, /* it never was a row, so MySQL has them */
        .reservations = end->reservations,
        .silent = silent,
        .without_letter = true,
        .letter = {.reason = REASON_DISCARDED, .detail = "", .stage = "dlq", .origin = "", .worker = move->who},
    };
    struct state_of row;
    struct error ignored;
    bool theirs, ok;

    CHECK(end->decides);
    add_move(db, &with, id, end, move);
    rejection.with = (struct slice){with.data, with.len};
    ok = dead_letter_run_rejection(db, &rejection, &theirs, err);
    strbuf_release(&with);
    *done = ok && !theirs;
    if (ok || err->code != ERROR_DB_CHECK || !read_state(db, id, &row, &ignored) || row.state == move->from)
        return ok;
    error_clear(err); /* it was moved meanwhile */
    return true;
}
