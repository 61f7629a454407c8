#include "orderd/dead_letter_renew.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dead_letter_row.h"
#include "orderd/activity_store.h"
#include "orderd/fault.h"
#include "orderd/stock.h"
#include "orderd/topology.h"

#define FASTER "somebody else was faster"

/* One renewal in hand. */
struct renewing {
    const struct dead_letter_renewing *with;
    const struct dead_letter_row *row;
    struct dead_letter_verdict *v;
    struct activity activity;
    struct order order; /* the new one; user_seq, epoch and reserved_at are known after the deduct */
    struct error *err;
};

/* ---- one at a time ---- */

/* By the purchase, whichever of its letters it is. Lock names are the server's, and at most 64 characters long. */
static void add_lock_name(struct strbuf *sql, const struct renewing *r)
{
    int base = (int)strcspn(r->v->order_no, "-");

    strbuf_addf(sql, "CONCAT('orderd.renew.',LEFT(SHA2(CONCAT(DATABASE(),'.%.*s'),256),40))", base,
                order_no_checked(r->v->order_no));
}

static bool lock(struct renewing *r, bool *locked)
{
    struct strbuf sql = STRBUF_INIT;
    int64_t got;
    bool ok;

    strbuf_add_str(&sql, "SELECT GET_LOCK(");
    add_lock_name(&sql, r);
    strbuf_add_str(&sql, ",2)");
    ok = db_query_i64(r->with->db, (struct slice){sql.data, sql.len}, 0, &got, r->err);
    strbuf_release(&sql);
    *locked = ok && got == 1;
    return ok;
}

static void unlock(struct renewing *r)
{
    struct strbuf sql = STRBUF_INIT;
    struct error ignored;
    int64_t n;

    strbuf_add_str(&sql, "SELECT RELEASE_LOCK(");
    add_lock_name(&sql, r);
    strbuf_add_char(&sql, ')');
    if (db_usable(r->with->db))
        (void)!db_query_i64(r->with->db, (struct slice){sql.data, sql.len}, 0, &n, &ignored);
    strbuf_release(&sql);
}

/* ---- 1: the number ---- */

static bool find(struct renewing *r)
{
    struct order_record record;
    bool found;

    if (!order_record_read(r->with->db, r->v->order_no, &record, &found, r->err))
        return false;
    if (!found)
        return error_set(r->err, ERROR_INTERNAL, "order %s was there and is not any more", r->v->order_no);
    return dead_letter_find_renewal(r->with->db, &record, r->v, r->err);
}

static void create_key(const struct renewing *r, char out[LOCAL_MESSAGE_KEY_MAX + 1])
{
    snprintf(out, LOCAL_MESSAGE_KEY_MAX + 1, "order.create:%s", r->v->renewal.next);
}

static void add_link(const struct renewing *r, struct strbuf *sql)
{
    char key[LOCAL_MESSAGE_KEY_MAX + 1];
    struct dead_letter_message made = {.letter_id = r->row->id,
                                       .order_no = slice_of(r->v->renewal.next),
                                       .new_order = true,
                                       .who = slice_of(r->with->who)};

    create_key(r, key);
    made.key = slice_of(key);
    dead_letter_add_message(r->with->db, sql, &made);
}

/* Only of an open letter that has the body which was judged. */
static bool begin(struct renewing *r)
{
    struct strbuf with = STRBUF_INIT;
    char note[200];
    bool begun, ok;

    snprintf(note, sizeof note, "order %s is rejected, its new order is to be %s", r->v->renewal.last.order.order_no,
             r->v->renewal.next);
    strbuf_addf(&with, "UPDATE dead_letter SET times=times WHERE id=%" PRId64 " AND state='open';" DB_GUARD_ONE_ROW ";",
                r->row->id);
    dead_letter_add_body_guard(&with, r->row->id, r->row->body_id);
    add_link(r, &with);
    strbuf_add_char(&with, ';');
    dead_letter_add_action(r->with->db, &with, r->row->id, "renewing", r->with->who, slice_of(note));
    ok = order_renewal_begin(r->with->db, &r->v->renewal, (struct slice){with.data, with.len}, &begun, r->err);
    strbuf_release(&with);
    if (ok && begun)
        FAULT(RENEW_AFTER_NUMBER);
    return ok;
}

/* Afterwards the number is written down and has no row, or the verdict is REFUSE. */
static bool reach_begun(struct renewing *r)
{
    if (!find(r))
        return false;
    if (r->v->fate == DEAD_LETTER_RENEW && r->v->renewal.stage == ORDER_RENEWAL_NONE && (!begin(r) || !find(r)))
        return false;
    if (r->v->fate == DEAD_LETTER_RENEW && r->v->renewal.stage != ORDER_RENEWAL_BEGUN)
        dead_letter_refuse(r->v, FASTER);
    return true;
}

/* ---- 3, where it cannot be: the tombstone ---- */

/* why is the verdict's already. units: that were taken. */
static bool reject(struct renewing *r, enum reason reason, int32_t units)
{
    struct strbuf with = STRBUF_INIT;
    struct order_rejection rejection = {
        .order = &r->order,
        .units_back = units,
        .reservations = true,
        .silent = r->with->silent,
        .without_letter = true,
        .letter = {.reason = reason, .detail = "", .stage = "dlq", .origin = "", .worker = r->with->who},
    };
    char note[300];
    bool theirs, ok;

    snprintf(note, sizeof note, "%s; %s is rejected: %s", r->v->why, r->order.order_no, reason_name(reason));
    dead_letter_add_action(r->with->db, &with, r->row->id, "refused", r->with->who, slice_of(note));
    rejection.with = (struct slice){with.data, with.len};
    ok = dead_letter_run_rejection(r->with->db, &rejection, &theirs, r->err);
    strbuf_release(&with);
    if (ok && theirs)
        dead_letter_refuse(r->v, FASTER);
    return ok;
}

/* ---- 3: the message ---- */

static void add_message(const struct renewing *r, struct strbuf *sql)
{
    char key[LOCAL_MESSAGE_KEY_MAX + 1];
    struct strbuf body = STRBUF_INIT;
    struct dead_letter_outgoing message = {.key = key,
                                           .topic = topology_name(TOPOLOGY_QUEUE_CREATE),
                                           .message_id = slice_of(r->order.order_no),
                                           .content_type = slice_of("application/json"),
                                           .due_in_us = r->with->due_in_us};

    create_key(r, key);
    order_encode(&r->order, &body);
    message.payload = (struct slice){body.data, body.len};
    add_link(r, sql);
    strbuf_add_char(sql, ';');
    dead_letter_add_outgoing(r->with->db, sql, r->row, &message);
    strbuf_release(&body);
}

/* Whoever put the letter aside meanwhile did not see what was begun; the units that were taken go back. */
static bool put_aside(struct renewing *r, enum dead_letter_moved result, enum dead_letter_state was)
{
    if (result == DEAD_LETTER_THERE) {
        dead_letter_refuse(r->v, FASTER);
        return true;
    }
    dead_letter_refuse(r->v, "it is %s by now", dead_letter_state_name(was));
    return reject(r, REASON_DISCARDED, r->order.quantity);
}

static bool send(struct renewing *r)
{
    struct dead_letter_move move = {
        .from = DEAD_LETTER_OPEN, .to = DEAD_LETTER_REPLAYED, .action = "renewed", .who = r->with->who};
    struct strbuf sql = STRBUF_INIT;
    enum dead_letter_moved result;
    enum dead_letter_state was;
    char note[300];
    bool ok;

    snprintf(note, sizeof note, "order %s is rejected; sent as order.create:%s", r->v->renewal.last.order.order_no,
             r->order.order_no);
    move.note = slice_of(note);
    add_message(r, &sql);
    move.with = (struct slice){sql.data, sql.len};
    FAULT(REPLAY_BEFORE_COMMIT);
    ok = dead_letter_store_move(r->with->db, r->row->id, &move, &result, &was, r->err);
    strbuf_release(&sql);
    if (!ok && r->err->code == ERROR_DB_DUPLICATE) { /* the message is there */
        error_clear(r->err);
        dead_letter_refuse(r->v, FASTER);
        return true;
    }
    return ok && (result == DEAD_LETTER_MOVED || put_aside(r, result, was));
}

/* ---- 2: the deduct ---- */

/* What it says for good, and why. REASON_NONE: it says nothing about this order, and the number may be tried again. */
static enum reason read_refusal(struct renewing *r, const struct stock_deducted *answer)
{
    const struct order *o = &r->order;

    switch (answer->code) {
    case STOCK_DEDUCT_SHORT:
        dead_letter_refuse(r->v, "sold out since: shard %" PRId32 " has %" PRId64 " units left", o->shard,
                           answer->left);
        return REASON_SOLD_OUT;
    case STOCK_DEDUCT_OVER_LIMIT:
        dead_letter_refuse(r->v, "buyer has an order: %" PRId32 " more are over the limit of %" PRId32, o->quantity,
                           r->activity.per_user_limit);
        return REASON_BUYER_HAS_ORDER;
    case STOCK_DEDUCT_GONE:
        dead_letter_refuse(r->v, "Redis is done with order %s: %s", o->order_no, answer->note);
        return REASON_NUMBER_GONE;
    case STOCK_DEDUCT_CLOSED:
        if (strcmp(answer->note, "ended") == 0) {
            dead_letter_refuse(r->v, "the sale is over");
            return REASON_SALE_OVER;
        }
        dead_letter_refuse(r->v, "not for sale now: %s; order %s waits for another try", answer->note, o->order_no);
        return REASON_NONE;
    default:
        dead_letter_refuse(r->v, "%s; order %s waits for another try",
                           stock_code_sentence(STOCK_SCRIPT_DEDUCT, answer->code), o->order_no);
        return REASON_NONE;
    }
}

static void compose(struct renewing *r)
{
    const struct activity *a = &r->activity;
    struct order *o = &r->order;

    *o = r->v->renewal.last.order;
    snprintf(o->order_no, sizeof o->order_no, "%s", r->v->renewal.next);
    if (!a->free_amount)
        o->amount = a->unit_price * o->quantity;
    o->epoch = a->epoch;
    o->user_seq = 0;
    o->reserved_at = db_clock_ms(r->with->db);
}

static bool take_and_send(struct renewing *r)
{
    const struct order *o = &r->order;
    struct stock_order asked;
    struct stock_deducted answer;
    enum reason reason;

    compose(r);
    asked = (struct stock_order){o->activity_id, o->shard, slice_of(o->order_no), o->user_id, o->quantity,
                                 o->amount,      o->epoch};
    if (!stock_deduct(r->with->kv, &asked, &answer, r->err))
        return false;
    if (answer.code == STOCK_DEDUCT_TAKEN || answer.code == STOCK_DEDUCT_HELD) {
        FAULT(RENEW_AFTER_DEDUCT);
        r->order.user_seq = answer.user_seq;
        r->order.reserved_at = answer.reserved_at;
        return send(r);
    }
    reason = read_refusal(r, &answer);
    return reason == REASON_NONE || reject(r, reason, 0);
}

static bool renew_locked(struct renewing *r)
{
    bool ok;

    if (!reach_begun(r))
        return false;
    if (r->v->fate != DEAD_LETTER_RENEW)
        return true;
    if (!dead_letter_read_activity(r->with->db, r->v, r->v->renewal.last.order.activity_id, &r->activity, &ok, r->err))
        return ok;
    return take_and_send(r);
}

bool dead_letter_renew(const struct dead_letter_renewing *with, const struct dead_letter_row *row,
                       struct dead_letter_verdict *verdict, struct error *err)
{
    struct renewing r = {.with = with, .row = row, .v = verdict, .err = err};
    bool locked, ok;

    if (!lock(&r, &locked))
        return false;
    if (!locked) {
        dead_letter_refuse(verdict, "somebody else is replaying it");
        return true;
    }
    ok = renew_locked(&r);
    unlock(&r);
    return ok;
}
