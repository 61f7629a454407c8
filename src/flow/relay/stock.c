/* A row carries the orders of one transaction. It is done when each of them is; repeating those that are costs nothing,
 * since the scripts are idempotent. So one order that must wait makes its row wait, and one that is refused quarantines
 * it only after all the others went through. */
#include "relay_private.h"

#include <stdio.h>
#include <string.h>

#include "orderd/activity.h"
#include "orderd/log.h"
#include "orderd/stock_effect.h"

/* How long a row waits for a shard: an operator must rebuild it, or the activity be settled. */
#define SHARD_WAIT_MS 30000
/* Rows are put together until they have so many orders: one round trip, and what memory it takes. */
#define TRIP_ORDERS 500

/* What came of an order, and of its row the greatest of them. Waiting is over failing, and failing over being refused:
 * a row is only set aside when nothing in it can go on any more. */
enum verdict { DONE, REFUSED, FAILED, WAIT_SHARD, WAIT_SERVER };

struct row {
    struct sending *sending;
    void *orders; /* struct stock_giveback or stock_paid */
    size_t count;
    enum verdict verdict;
    const char *why;
};

/* Rows of one kind that go together. */
struct trip {
    struct row *rows;
    size_t count, orders;
    int64_t asked; /* the activity whose state was looked at last */
    bool settled;
};

/* Whose answer it is. */
struct subject {
    struct trip *trip;
    struct row *row;
    struct slice order_no;
    int64_t activity;
    int shard;
};

#define LOG_SUBJECT(s)                                                                                                 \
    LOG_SLICE("order_no", (s)->order_no), LOG_INT("activity_id", (s)->activity), LOG_INT("shard", (s)->shard)

bool relay_open_kv(struct relay *relay, struct error *err)
{
    char name[64];

    if (relay->kv)
        return true;
    if (!target_may_try(&relay->kv_target))
        return error_set(err, ERROR_KV_AWAY, "Redis is away");
    snprintf(name, sizeof name, "orderd-%.40s-relay", relay->shared->instance);
    relay->kv = kv_open(relay->conf, name, err);
    if (relay->kv) {
        target_reached(&relay->kv_target);
        log_event(LOG_EVENT_KV_UP, LOG_STR("server", kv_peer(relay->kv)));
    } else {
        target_failed(&relay->kv_target, err);
        log_event(LOG_EVENT_KV_DOWN, LOG_ERR(err));
    }
    return relay->kv != NULL;
}

void relay_lose_kv(struct relay *relay, const struct error *err)
{
    log_event(LOG_EVENT_KV_DOWN, LOG_ERR(err));
    kv_close(&relay->kv);
    target_failed(&relay->kv_target, err);
}

/* The row's key names the order where it is alone, and what is said of many rows alike is written in one statement. */
static void note(struct relay *relay, const struct subject *s, enum verdict verdict, const char *why)
{
    struct row *row = s->row;
    char text[ERROR_TEXT_MAX];

    if (verdict <= row->verdict)
        return;
    row->verdict = verdict;
    row->why = why;
    if (row->count == 1 || verdict == WAIT_SERVER)
        return;
    snprintf(text, sizeof text, "order %.*s: %s", (int)s->order_no.len, s->order_no.ptr, why);
    row->why = relay_text(relay, text);
}

static void note_state(void *arg, const struct activity *activity)
{
    *(bool *)arg = activity->state == ACTIVITY_SETTLED;
}

static bool activity_settled(struct relay *relay, struct trip *trip, int64_t activity)
{
    struct error err = {0};

    if (trip->asked == activity)
        return trip->settled;
    trip->settled = false;
    trip->asked = activity;
    return activity_read(relay->db, &activity, 1, note_state, &trip->settled, &err) && trip->settled;
}

/* Its shard is not there: gone with a settled activity, or lost and to be rebuilt. */
static void shard_missing(struct relay *relay, const struct subject *s, const char *what)
{
    if (activity_settled(relay, s->trip, s->activity))
        return;
    log_event(LOG_EVENT_STOCK_MISSING, LOG_SUBJECT(s), LOG_STR("what", what));
    note(relay, s, WAIT_SHARD, what);
}

static void refused(struct relay *relay, const struct subject *s, enum stock_script script, int code, const char *word)
{
    char why[200];

    snprintf(why, sizeof why, "%s: %s", stock_code_sentence(script, code), word);
    note(relay, s, REFUSED, relay_text(relay, why));
}

static void judge_return(struct relay *relay, const struct subject *s, const struct stock_returned *r)
{
    switch (r->code) {
    case STOCK_RETURN_CUT:
        log_event(LOG_EVENT_STOCK_CUT, LOG_SUBJECT(s), LOG_INT("dropped", r->dropped));
        /* fall through */
    case STOCK_RETURN_GIVEN_BACK:
        metric_add(relay->metrics, METRIC_STOCK_UNITS_RETURNED, (uint64_t)r->back);
        log_event(LOG_EVENT_STOCK_RETURNED, LOG_SUBJECT(s), LOG_INT("back", r->back),
                  LOG_INT("forfeited", r->forfeited));
        break;
    case STOCK_RETURN_ALREADY:
    case STOCK_RETURN_REFUSED:
        break;
    case STOCK_RETURN_NO_SHARD:
    case STOCK_RETURN_NEWER_EPOCH:
    case STOCK_RETURN_DAMAGED:
        shard_missing(relay, s, stock_code_sentence(STOCK_SCRIPT_RETURN, r->code));
        break;
    default:
        refused(relay, s, STOCK_SCRIPT_RETURN, r->code, r->note);
    }
}

/* An order that Redis does not know is left to the walk, which adopts and then settles it. One whose units went back is
 * beyond this row: whoever paid has an order, and somebody may be sold its unit. */
static void judge_settle(struct relay *relay, const struct subject *s, const struct stock_settled *r)
{
    switch (r->code) {
    case STOCK_SETTLE_SETTLED:
        metric_add(relay->metrics, METRIC_STOCK_UNITS_SOLD, (uint64_t)r->units);
        log_event(LOG_EVENT_STOCK_SETTLED, LOG_SUBJECT(s), LOG_INT("units", r->units));
        break;
    case STOCK_SETTLE_ALREADY:
    case STOCK_SETTLE_NO_RESERVATION:
        break;
    case STOCK_SETTLE_GONE:
        metric_add(relay->metrics, METRIC_STOCK_PAID_GONE, 1);
        log_event(LOG_EVENT_STOCK_PAID_GONE, LOG_SUBJECT(s), LOG_STR("gone", r->note));
        break;
    case STOCK_SETTLE_NO_SHARD:
    case STOCK_SETTLE_DAMAGED:
        shard_missing(relay, s, stock_code_sentence(STOCK_SCRIPT_SETTLE, r->code));
        break;
    default:
        refused(relay, s, STOCK_SCRIPT_SETTLE, r->code, r->note);
    }
}

/* ---- one round trip ---- */

/* The orders of all rows in a row. */
static void *flatten(struct relay *relay, const struct trip *trip, size_t size)
{
    char *all = arena_alloc(relay->pieces, trip->orders * size), *to = all;

    for (size_t i = 0; i < trip->count; i++) {
        memcpy(to, trip->rows[i].orders, trip->rows[i].count * size);
        to += trip->rows[i].count * size;
    }
    return all;
}

/* false: there is no answer to be judged; what that means is noted. */
static bool answered(struct relay *relay, const struct subject *s, const struct error *err)
{
    if (err->code == ERROR_NONE)
        return true;
    note(relay, s, error_class_of(err) == ERROR_CLASS_PERMANENT ? FAILED : WAIT_SERVER, relay_text(relay, err->text));
    return false;
}

static bool run_returns(struct relay *relay, struct trip *trip, struct error *errs, struct error *err)
{
    struct stock_giveback *orders = flatten(relay, trip, sizeof *orders);
    struct stock_returned *out = arena_alloc(relay->pieces, trip->orders * sizeof *out);
    size_t n = 0;

    if (!stock_return_many(relay->kv, orders, trip->orders, out, errs, err))
        return false;
    for (size_t r = 0; r < trip->count; r++) {
        for (size_t i = 0; i < trip->rows[r].count; i++, n++) {
            struct subject s = {trip, &trip->rows[r], orders[n].order_no, orders[n].activity, orders[n].shard};

            if (answered(relay, &s, &errs[n]))
                judge_return(relay, &s, &out[n]);
        }
    }
    return true;
}

static bool run_settles(struct relay *relay, struct trip *trip, struct error *errs, struct error *err)
{
    struct stock_paid *orders = flatten(relay, trip, sizeof *orders);
    struct stock_settled *out = arena_alloc(relay->pieces, trip->orders * sizeof *out);
    size_t n = 0;

    if (!stock_settle_many(relay->kv, orders, trip->orders, out, errs, err))
        return false;
    for (size_t r = 0; r < trip->count; r++) {
        for (size_t i = 0; i < trip->rows[r].count; i++, n++) {
            struct subject s = {trip, &trip->rows[r], orders[n].order_no, orders[n].activity, orders[n].shard};

            if (answered(relay, &s, &errs[n]))
                judge_settle(relay, &s, &out[n]);
        }
    }
    return true;
}

static void wait_all(struct relay *relay, struct trip *trip, const struct error *err)
{
    const char *why = relay_text(relay, err->text);

    for (size_t i = 0; i < trip->count; i++) {
        trip->rows[i].verdict = WAIT_SERVER;
        trip->rows[i].why = why;
    }
}

static void conclude(struct relay *relay, const struct row *row)
{
    switch (row->verdict) {
    case DONE:
        relay_settle(row->sending, LOCAL_MESSAGE_SENT, 0, NULL);
        break;
    case REFUSED:
        relay_settle(row->sending, LOCAL_MESSAGE_QUARANTINE, 0, row->why);
        break;
    case FAILED:
        relay_failed(relay, row->sending, row->why);
        break;
    case WAIT_SHARD:
        relay_settle(row->sending, LOCAL_MESSAGE_WAIT, SHARD_WAIT_MS, row->why);
        break;
    case WAIT_SERVER:
        relay_wait_for(relay, row->sending, &relay->kv_target, row->why);
        break;
    }
}

/* Empties the trip. */
static void run(struct relay *relay, struct trip *trip, enum effect_kind kind)
{
    struct error *errs = arena_zalloc(relay->pieces, trip->orders * sizeof *errs);
    struct error err = {0};

    relay_beats(relay);
    if (!relay_open_kv(relay, &err)) {
        wait_all(relay, trip, &err);
    } else if (!(kind == EFFECT_STOCK_RETURN ? run_returns : run_settles)(relay, trip, errs, &err)) {
        relay_lose_kv(relay, &err); /* each of them ran or did not: the script answers the same when it is repeated */
        wait_all(relay, trip, &err);
    }
    for (size_t i = 0; i < trip->count; i++)
        conclude(relay, &trip->rows[i]);
    trip->count = trip->orders = 0;
    trip->asked = 0;
    arena_reset(relay->pieces);
}

static bool decode(struct relay *relay, struct sending *s, struct row *row, struct error *err)
{
    struct slice payload = s->message->payload;
    struct stock_giveback *returns;
    struct stock_paid *settles;

    *row = (struct row){.sending = s};
    if (s->kind == EFFECT_STOCK_RETURN) {
        if (!stock_effect_decode(payload, relay->pieces, &returns, &row->count, err))
            return false;
        row->orders = returns;
    } else {
        if (!stock_effect_decode_paid(payload, relay->pieces, &settles, &row->count, err))
            return false;
        row->orders = settles;
    }
    return true;
}

static void run_kind(struct relay *relay, struct sending *all, size_t count, enum effect_kind kind)
{
    struct trip trip = {.rows = arena_alloc(relay->arena, count * sizeof *trip.rows)};

    for (size_t i = 0; i < count; i++) {
        struct sending *s = &all[i];
        struct error err = {0};

        if (s->kind != kind || s->settled || relay_late(relay, s))
            continue;
        if (!decode(relay, s, &trip.rows[trip.count], &err)) {
            relay_settle(s, LOCAL_MESSAGE_QUARANTINE, 0, relay_text(relay, err.text));
            continue;
        }
        trip.orders += trip.rows[trip.count++].count;
        if (trip.orders >= TRIP_ORDERS)
            run(relay, &trip, kind);
    }
    if (trip.count > 0)
        run(relay, &trip, kind);
}

void relay_stock(struct relay *relay, struct sending *all, size_t count)
{
    run_kind(relay, all, count, EFFECT_STOCK_RETURN);
    run_kind(relay, all, count, EFFECT_STOCK_SETTLE);
}
