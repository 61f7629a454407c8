#include "buyers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/backoff.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "pace.h"

/* Attempts in one round trip at most: long enough to hide the trip, short enough that its answers do not wait. */
#define BATCH 64

struct buyers {
    const struct conf *conf;
    struct buyers_plan plan;
    struct pace pace;
    struct kv *kv;
    struct backoff backoff;
    int64_t not_before_ms, down_since_ms; /* down_since_ms 0: it works */
    struct error why;
    int32_t epoch;             /* the activity's, as far as it is known */
    struct order batch[BATCH]; /* attempts in hand: made, not answered */
    size_t count;
    struct buyers_totals totals;
};

static const struct {
    int script, number;
    const char *name, *sentence;
} codes[] = {
#define X(script, code, number, name, sentence) {STOCK_SCRIPT_##script, number, name, sentence},
#include "orderd/tbl/script_code.h"
#undef X
};

const char *buyers_code_name(int row)
{
    return codes[row].script == STOCK_SCRIPT_DEDUCT ? codes[row].name : NULL;
}

const char *buyers_code_sentence(int row)
{
    return codes[row].script == STOCK_SCRIPT_DEDUCT ? codes[row].sentence : NULL;
}

static void count_code(struct buyers *b, int code)
{
    for (int row = 0; row < BUYERS_CODES; row++) {
        if (codes[row].script == STOCK_SCRIPT_DEDUCT && codes[row].number == code)
            b->totals.codes[row]++;
    }
}

struct buyers *buyers_create(const struct conf *conf, const struct buyers_plan *plan)
{
    struct buyers *b = check_calloc(1, sizeof *b);

    b->conf = conf;
    b->plan = *plan;
    b->epoch = plan->activity->epoch;
    backoff_init(&b->backoff, 100, 2000, backoff_seed());
    pace_init(&b->pace, plan->per_second, clock_mono_us());
    return b;
}

void buyers_destroy(struct buyers **buyers)
{
    if (*buyers)
        kv_close(&(*buyers)->kv);
    free(*buyers);
    *buyers = NULL;
}

static void note_down(struct buyers *b, const struct error *why)
{
    int64_t now = clock_mono_ms();

    b->why = *why;
    b->not_before_ms = now + backoff_next(&b->backoff);
    if (b->down_since_ms == 0) {
        b->down_since_ms = now;
        b->totals.outages++;
    }
}

static void note_up(struct buyers *b)
{
    b->down_since_ms = 0;
    b->not_before_ms = 0;
    backoff_reset(&b->backoff);
}

static bool connected(struct buyers *b)
{
    struct error err = {0};

    if (clock_mono_ms() < b->not_before_ms)
        return false;
    if (!b->kv) {
        b->kv = kv_open(b->conf, "orderload", &err);
        if (!b->kv)
            note_down(b, &err);
    }
    return b->kv != NULL;
}

static void make_attempt(struct buyers *b, struct order *o)
{
    const struct activity *a = b->plan.activity;

    *o = (struct order){
        .activity_id = a->id,
        .user_id = b->plan.first_user + b->totals.begun++,
        .sku_id = a->sku_id,
        .quantity = b->plan.quantity,
        .amount = a->unit_price * b->plan.quantity,
        .epoch = b->epoch,
    };
    o->shard = stock_home_shard(o->user_id, a->shards);
    snprintf(o->order_no, sizeof o->order_no, "%" PRId64, order_no_next(&b->plan.maker, clock_wall_ms()));
}

/* New attempts join only an empty hand: while Redis is away nobody is served. */
static void fill_hand(struct buyers *b)
{
    int64_t left = b->plan.count - b->totals.begun;
    size_t due;

    if (b->count > 0 || left <= 0)
        return;
    due = pace_due(&b->pace, clock_mono_us(), left < BATCH ? (size_t)left : BATCH);
    while (b->count < due)
        make_attempt(b, &b->batch[b->count++]);
}

/* ---- the sale goes on under another epoch: it was rebuilt ---- */

static bool of_old_epoch(const struct stock_deducted *answer)
{
    return answer->code == STOCK_DEDUCT_CLOSED && strcmp(answer->note, "epoch") == 0;
}

/* What is announced to gates says which one it is. */
static void learn_epoch(struct buyers *b)
{
    struct slice argv[3] = {slice_of("HGET"), {0}, slice_of("epoch")};
    char key[STOCK_STATE_KEY_MAX];
    struct error ignored;
    struct kv_reply *reply;

    stock_state_key(key, b->plan.activity->id);
    argv[1] = slice_of(key);
    reply = kv_command(b->kv, argv, 3, &ignored);
    if (reply && kv_reply_integer(reply) > b->epoch && kv_reply_integer(reply) <= ORDER_EPOCH_MAX)
        b->epoch = (int32_t)kv_reply_integer(reply);
    kv_reply_free(&reply);
}

static void learn_from(struct buyers *b, const struct stock_deducted *answers, const struct error *errs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (errs[i].code == ERROR_NONE && of_old_epoch(&answers[i])) {
            learn_epoch(b);
            return;
        }
    }
}

/* true: answered for good. */
static bool take_answer(struct buyers *b, struct order *o, const struct stock_deducted *answer, const struct error *err)
{
    enum error_class class_ = error_class_of(err);

    if (class_ == ERROR_CLASS_OUTAGE || class_ == ERROR_CLASS_SETUP) {
        note_down(b, err);
        return false;
    }
    if (err->code == ERROR_NONE && of_old_epoch(answer) && o->epoch != b->epoch) {
        o->epoch = b->epoch;
        return false;
    }
    b->totals.answered++;
    if (err->code != ERROR_NONE) {
        if (b->totals.failed++ == 0)
            b->totals.failure = *err;
        return true;
    }
    count_code(b, answer->code);
    if (answer->code == STOCK_DEDUCT_TAKEN || answer->code == STOCK_DEDUCT_HELD) {
        o->user_seq = answer->user_seq;
        o->reserved_at = answer->reserved_at;
        b->plan.accepted(b->plan.arg, o);
    }
    return true;
}

static void ask(struct buyers *b)
{
    struct stock_order requests[BATCH];
    struct stock_deducted answers[BATCH];
    struct error errs[BATCH], err = {0};
    size_t asked = b->count, kept = 0;
    int64_t begun_us = clock_mono_us();

    for (size_t i = 0; i < asked; i++) {
        const struct order *o = &b->batch[i];

        requests[i] = (struct stock_order){o->activity_id, o->shard, slice_of(o->order_no), o->user_id, o->quantity,
                                           o->amount,      o->epoch};
    }
    if (!stock_deduct_many(b->kv, requests, asked, answers, errs, &err)) {
        kv_close(&b->kv);
        note_down(b, &err);
        b->totals.again += asked;
        return;
    }
    note_up(b);
    learn_from(b, answers, errs, asked);
    for (size_t i = 0; i < asked; i++) {
        struct order o = b->batch[i];

        if (!take_answer(b, &o, &answers[i], &errs[i]))
            b->batch[kept++] = o;
    }
    spread_add(&b->totals.latency, clock_mono_us() - begun_us, asked - kept);
    b->totals.again += kept;
    b->count = kept;
}

void buyers_turn(struct buyers *b)
{
    fill_hand(b);
    if (b->count > 0 && connected(b))
        ask(b);
}

void buyers_stop(struct buyers *b)
{
    b->plan.count = b->totals.begun;
}

bool buyers_done(const struct buyers *b)
{
    return b->count == 0 && b->totals.begun >= b->plan.count;
}

size_t buyers_unknown(const struct buyers *b)
{
    return b->count;
}

int64_t buyers_wait_us(const struct buyers *b)
{
    int64_t wait_ms = b->not_before_ms - clock_mono_ms();

    if (b->count > 0)
        return wait_ms > 0 ? wait_ms * 1000 : 0;
    return b->totals.begun < b->plan.count ? pace_wait_us(&b->pace, clock_mono_us()) : INT64_MAX;
}

int64_t buyers_down_ms(const struct buyers *b, const struct error **why)
{
    if (why)
        *why = &b->why;
    return b->down_since_ms ? clock_mono_ms() - b->down_since_ms : 0;
}

const struct buyers_totals *buyers_totals(const struct buyers *b)
{
    return &b->totals;
}
