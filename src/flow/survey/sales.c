#include "survey_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/activity_store.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/survey_store.h"

/* Over so long is measured how fast it sells. */
#define RATE_MS 10000
/* After such a rest, per ms that it took, it is done again. */
#define STOCK_REST 10

/* ---- which ---- */

static struct sale *sale_of(struct surveyor *s, const struct activity *a)
{
    struct sale *sale = NULL;

    for (size_t i = 0; i < s->sale_count && !sale; i++) {
        if (s->sales[i]->activity.id == a->id)
            sale = s->sales[i];
    }
    if (sale)
        return sale;
    sale = check_calloc(1, sizeof *sale);
    sale->beyond = SURVEY_UNKNOWN;
    survey_activity_init(&sale->entry, a);
    s->sales = check_realloc(s->sales, (s->sale_count + 1) * sizeof *s->sales);
    s->sales[s->sale_count++] = sale;
    return sale;
}

static void note_activity(void *arg, const struct activity *a)
{
    struct sale *sale = sale_of(arg, a);
    struct survey_activity fresh;

    survey_activity_init(&fresh, a);
    sale->listed = true;
    sale->activity = *a;
    sale->entry.starts_at = fresh.starts_at;
    sale->entry.ends_at = fresh.ends_at;
    sale->entry.total = fresh.total;
    sale->entry.state = fresh.state;
    sale->entry.shard_count = fresh.shard_count;
    memcpy(sale->entry.title, fresh.title, sizeof fresh.title);
}

/* Running ones first, then those that begin soonest, then those that ended last. */
static int compare(const void *a, const void *b)
{
    static const int rank[ACTIVITY_STATE_COUNT] = {[ACTIVITY_SCHEDULED] = 1, [ACTIVITY_ENDED] = 2};
    const struct activity *x = &(*(struct sale *const *)a)->activity, *y = &(*(struct sale *const *)b)->activity;

    if (rank[x->state] != rank[y->state])
        return rank[x->state] - rank[y->state];
    if (x->state == ACTIVITY_ENDED && x->ends_at != y->ends_at)
        return x->ends_at > y->ends_at ? -1 : 1;
    if (x->starts_at != y->starts_at)
        return x->starts_at < y->starts_at ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void drop_settled(struct surveyor *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->sale_count; i++) {
        if (s->sales[i]->listed)
            s->sales[n++] = s->sales[i];
        else
            free(s->sales[i]);
    }
    s->sale_count = n;
}

bool sales_list(struct surveyor *s, struct error *err)
{
    for (size_t i = 0; i < s->sale_count; i++)
        s->sales[i]->listed = false;
    if (!activity_store_now(s->db, &s->now, err))
        return false;
    s->ahead_ms = s->now - clock_wall_ms();
    if (!activity_read_unsettled(s->db, note_activity, s, err))
        return false;
    drop_settled(s);
    if (s->sale_count > 1)
        qsort(s->sales, s->sale_count, sizeof *s->sales, compare);
    return true;
}

void sales_free(struct surveyor *s)
{
    for (size_t i = 0; i < s->sale_count; i++)
        free(s->sales[i]);
    free(s->sales);
}

/* ---- Redis ---- */

static bool connect(struct surveyor *s)
{
    struct error err = {0};

    if (s->kv)
        return true;
    if (!surveyor_may_try(s, SURVEY_REDIS))
        return false;
    s->kv = kv_open(s->base.conf, "orderd-survey", &err);
    surveyor_note(s, SURVEY_REDIS, s->kv ? NULL : &err);
    return s->kv != NULL;
}

/* Its keys are there until the last payment can have timed out, and ought to be from the preheat on. */
static bool may_have_keys(const struct surveyor *s, const struct activity *a)
{
    struct stock_plan plan;

    activity_plan(a, 0, &plan);
    return plan.expire_at > s->now;
}

static bool audit(struct kv *kv, const struct activity *a, struct survey_stock *out, struct error *err)
{
    struct stock_audit *audits = check_calloc((size_t)a->shards, sizeof *audits);
    struct error *errs = check_calloc((size_t)a->shards, sizeof *errs);
    bool ok = stock_audit_many(kv, a->id, a->shards, audits, errs, err);

    for (int i = 0; i < a->shards && ok; i++) {
        if (errs[i].code == ERROR_KV_DATA) /* a key of a foreign kind */
            audits[i] = (struct stock_audit){.code = STOCK_AUDIT_DAMAGED};
        else if (errs[i].code != ERROR_NONE)
            ok = error_set(err, errs[i].code, "%s", errs[i].text);
    }
    if (ok)
        survey_stock_sum(a, audits, out);
    free(audits);
    free(errs);
    return ok;
}

static void forget_stock(struct survey_activity *e)
{
    e->left = e->held = e->sold = e->gone = e->redis_off = e->in_flight = e->drift = SURVEY_UNKNOWN;
    e->shard_missing = e->shard_damaged = e->shard_paused = SURVEY_UNKNOWN;
    e->shard_empty = e->shard_left_least = e->shard_left_most = SURVEY_UNKNOWN;
    e->rate = e->sold_out_s = NAN;
}

bool sales_read_stock(struct surveyor *s, struct sale *sale, struct survey_stock *out)
{
    struct error err = {0};

    if (!connect(s))
        return false;
    keeper_beats(&s->base);
    if (audit(s->kv, &sale->activity, out, &err))
        return true;
    kv_close(&s->kv);
    surveyor_note(s, SURVEY_REDIS, &err);
    return false;
}

static void note_rate(struct sale *sale, int64_t now)
{
    struct survey_activity *e = &sale->entry;
    double rate = survey_trail_fall(&sale->left, now, e->left, RATE_MS);

    survey_trail_add(&sale->left, now, e->left, RATE_MS);
    e->rate = isfinite(rate) && rate < 0 ? 0 : rate;
    e->sold_out_s = survey_drain_s(e->left, e->rate);
}

static void note_stock(struct sale *sale, const struct survey_stock *stock, int64_t now)
{
    struct survey_activity *e = &sale->entry;
    bool readable = stock->missing + stock->damaged < sale->activity.shards;

    e->shard_missing = stock->missing;
    e->shard_damaged = stock->damaged;
    e->shard_paused = stock->paused;
    e->shard_empty = readable ? stock->empty : SURVEY_UNKNOWN;
    e->shard_left_least = readable ? stock->left_least : SURVEY_UNKNOWN;
    e->shard_left_most = readable ? stock->left_most : SURVEY_UNKNOWN;
    e->left = readable ? stock->left : SURVEY_UNKNOWN;
    e->held = readable ? stock->held : SURVEY_UNKNOWN;
    e->sold = readable ? stock->sold : SURVEY_UNKNOWN;
    e->gone = readable ? stock->gone : SURVEY_UNKNOWN;
    if (readable)
        note_rate(sale, now);
    else
        e->rate = e->sold_out_s = NAN;
    if (!stock->whole || stock->cap + stock->transfer == sale->activity.total_stock)
        sale->caps_differ_since = 0;
    else if (sale->caps_differ_since == 0)
        sale->caps_differ_since = now;
}

static void see_stock(struct surveyor *s, struct sale *sale, struct sight *sight)
{
    sight->seen = may_have_keys(s, &sale->activity) && sales_read_stock(s, sale, &sight->before);
    if (!sight->seen) {
        forget_stock(&sale->entry);
        return;
    }
    sale->stock_next = sight->now + surveyor_rest(s, clock_mono_ms() - sight->now, STOCK_REST);
    note_stock(sale, &sight->before, sight->now);
    rows_note_taken(s, sale, sight);
}

/* Also where there is no sale to ask it about. */
static void ping(struct surveyor *s)
{
    const struct slice command = slice_of("PING");
    struct error err = {0};
    struct kv_reply *reply;

    if (!connect(s))
        return;
    reply = kv_command(s->kv, &command, 1, &err);
    if (!reply)
        kv_close(&s->kv);
    surveyor_note(s, SURVEY_REDIS, reply ? NULL : &err);
    kv_reply_free(&reply);
}

static void see_stocks(struct surveyor *s, struct sight *sights, size_t count, bool all)
{
    for (size_t i = 0; i < count && !keeper_stopping(&s->base); i++) {
        sights[i].now = clock_mono_ms();
        sights[i].looked = all || sights[i].now >= s->sales[i]->stock_next;
        if (sights[i].looked)
            see_stock(s, s->sales[i], &sights[i]);
    }
}

/* The shards first, then the orders of all sales, where it is time to count them, and then the shards again: see
 * survey.h.
 */
static void look(struct surveyor *s, struct sight *sights, size_t count)
{
    int64_t began = clock_mono_ms(), seen;
    bool due = s->db && began >= s->count_next;

    see_stocks(s, sights, count, due);
    seen = clock_mono_ms();
    if (due && !keeper_stopping(&s->base)) {
        rows_count(s, sights, count);
        if (s->count_next < began + surveyor_rest(s, seen - began, STOCK_REST))
            s->count_next = began + surveyor_rest(s, seen - began, STOCK_REST);
    }
    for (size_t i = 0; i < count; i++) {
        if (sights[i].looked)
            rows_conclude(s, s->sales[i], &sights[i]);
    }
}

void sales_look(struct surveyor *s)
{
    size_t count = s->sale_count < SURVEY_ACTIVITIES_MAX ? s->sale_count : SURVEY_ACTIVITIES_MAX;
    struct sight *sights = check_calloc(count + 1, sizeof *sights);

    ping(s);
    look(s, sights, count);
    free(sights);
    s->survey.activity_count = count;
    for (size_t i = 0; i < count; i++)
        s->survey.activities[i] = s->sales[i]->entry;
    s->survey.activities_left_out = (int64_t)(s->sale_count - count);
}
