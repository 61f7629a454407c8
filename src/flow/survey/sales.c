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
/* The caps follow the total within this. */
#define RESTOCK_MS 30000
/* After such a rest, per ms that it took, it is done again. */
#define STOCK_REST 10
#define COUNT_REST 20

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

/* false: Redis is away. */
static bool read_stock(struct surveyor *s, struct sale *sale, struct survey_stock *out)
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

/* ---- MySQL, and both ---- */

static void forget_rows(struct survey_activity *e)
{
    e->held_unpaid = e->due_soon = e->overdue = e->paid = e->closed = e->counted_at = SURVEY_UNKNOWN;
    e->available = e->live = e->mysql_off = e->in_flight = e->drift = e->reconcile_at = SURVEY_UNKNOWN;
    e->reconcile_verdict = -1;
}

static void forget_sale_rows(struct sale *sale)
{
    forget_rows(&sale->entry);
    sale->beyond = SURVEY_UNKNOWN;
}

void sales_forget(struct surveyor *s)
{
    for (size_t i = 0; i < s->sale_count; i++) {
        forget_sale_rows(s->sales[i]);
        s->sales[i]->count_next = 0;
    }
    for (size_t i = 0; i < s->survey.activity_count; i++) /* what is shown until the next turn */
        forget_rows(&s->survey.activities[i]);
}

static void note_rows(const struct surveyor *s, struct survey_activity *e, const struct survey_rows *rows)
{
    e->held_unpaid = rows->pending;
    e->due_soon = rows->due_soon;
    e->overdue = rows->overdue;
    e->paid = rows->paid;
    e->closed = rows->closed;
    e->available = rows->has_stock ? rows->available : SURVEY_UNKNOWN;
    e->live = rows->pending_units + rows->paid_units;
    e->reconcile_at = rows->reconcile_at;
    e->reconcile_verdict = rows->reconcile_verdict;
    e->counted_at = surveyor_wall_ms(s);
}

static int64_t window_ms(const struct surveyor *s, const struct sale *sale)
{
    return surveyor_window_ms(s->base.conf) + sale->walk_late_ms;
}

/* A rebuild begins the shards anew, and with them these numbers. */
static void note_taken(struct sale *sale, const struct survey_stock *stock, int64_t window, int64_t now)
{
    struct survey_trail *t = &sale->taken;
    int64_t then, last;

    if (survey_trail_before(t, now, 0, &then, &last) && last > stock->taken)
        *t = (struct survey_trail){0};
    survey_trail_add(t, now, stock->taken, window);
}

/* Orders that may not have been sent yet. Without one of the servers neither the web tiers nor the walk send what was
 * taken before; they have a window for it from when all are back. */
static int64_t window_orders(const struct surveyor *s, const struct sale *sale, int64_t taken_now, int64_t now)
{
    int64_t then, taken;

    if (!survey_trail_before(&sale->taken, now, window_ms(s, sale), &then, &taken))
        return SURVEY_UNKNOWN;
    return s->outage_at != 0 && then <= s->outage_at ? SURVEY_UNKNOWN : taken_now - taken;
}

static struct survey_flight flight_of(struct surveyor *s, const struct sale *sale, const struct survey_stock *stock,
                                      int64_t now)
{
    int64_t consumers = s->survey.queue_count > 0 ? s->survey.queues[0].consumers : SURVEY_UNKNOWN;
    struct survey_flight flight = {.window_orders = window_orders(s, sale, stock->taken, now),
                                   .queued = s->survey.backlog};

    if (now < s->unsettled_until && flight.queued != SURVEY_UNKNOWN)
        flight.queued =
            consumers == SURVEY_UNKNOWN ? SURVEY_UNKNOWN : flight.queued + consumers * s->base.conf->create_prefetch;
    flight.caps_differ_long = sale->caps_differ_since != 0 && now - sale->caps_differ_since >= RESTOCK_MS;
    return flight;
}

static void note_drift(struct sale *sale, const struct survey_drift *drift, bool counted)
{
    struct survey_activity *e = &sale->entry;

    e->redis_off = drift->redis_off;
    if (counted) {
        e->mysql_off = drift->mysql_off;
        e->in_flight = drift->in_flight;
        sale->beyond = drift->beyond;
    }
    e->drift = survey_drift_sum(e->redis_off, e->mysql_off, sale->beyond);
}

/* What was read of a sale in one turn. */
struct sight {
    int64_t now;               /* monotonic ms, when it began */
    bool seen, counted, again; /* which of the next three are there */
    struct survey_stock before;
    struct survey_rows rows;
    struct survey_stock after;
};

/* What takes little is done in every turn. */
static int64_t rest_after(const struct surveyor *s, int64_t took_ms, int64_t factor)
{
    return took_ms * factor > s->base.conf->survey_interval ? took_ms * factor : 0;
}

static void see_stock(struct surveyor *s, struct sale *sale, struct sight *sight)
{
    sight->seen = may_have_keys(s, &sale->activity) && read_stock(s, sale, &sight->before);
    if (!sight->seen) {
        forget_stock(&sale->entry);
        return;
    }
    sale->stock_next = sight->now + rest_after(s, clock_mono_ms() - sight->now, STOCK_REST);
    note_stock(sale, &sight->before, sight->now);
    note_taken(sale, &sight->before, window_ms(s, sale), sight->now);
}

/* One that the server ended, since it took too long, is no reason to leave the rest unread. */
static bool count_rows(struct surveyor *s, struct sale *sale, struct sight *sight, struct error *err)
{
    int64_t began = clock_mono_ms();

    keeper_beats(&s->base);
    sight->counted = survey_count(s->db, &sale->activity, &sight->rows, err);
    sale->count_next = sight->now + rest_after(s, clock_mono_ms() - began, COUNT_REST);
    if (!sight->counted) {
        forget_sale_rows(sale);
        if (err->code != ERROR_DB_RESOURCE || !db_usable(s->db))
            return false;
        log_event(LOG_EVENT_SURVEY_FAILED, LOG_STR("server", survey_dependency_name(SURVEY_MYSQL)),
                  LOG_INT("activity_id", sale->activity.id), LOG_ERR(err));
        return true;
    }
    note_rows(s, &sale->entry, &sight->rows);
    sale->walk_late_ms = survey_walk_late_ms(&sight->rows, s->base.conf->walk_interval);
    sight->again = sight->seen && read_stock(s, sale, &sight->after);
    return true;
}

static void conclude(struct surveyor *s, struct sale *sale, const struct sight *sight)
{
    struct survey_flight flight = {0};
    struct survey_drift drift;

    if (sight->seen)
        flight = flight_of(s, sale, &sight->before, sight->now);
    survey_drift_of(&sale->activity, sight->seen ? &sight->before : NULL, sight->counted ? &sight->rows : NULL,
                    sight->again ? &sight->after : NULL, &flight, &drift);
    note_drift(sale, &drift, sight->counted);
}

/* The shards first, then the orders, where it is time to count them, and then the shards again: see survey.h. */
static bool look_at(struct surveyor *s, struct sale *sale, struct error *err)
{
    struct sight sight = {.now = clock_mono_ms()};
    bool due = s->db && sight.now >= sale->count_next, ok = true;

    if (!due && sight.now < sale->stock_next)
        return true;
    see_stock(s, sale, &sight);
    if (due)
        ok = count_rows(s, sale, &sight, err);
    conclude(s, sale, &sight);
    return ok;
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

void sales_look(struct surveyor *s)
{
    struct error err = {0};

    ping(s);
    for (size_t i = 0; i < s->sale_count && i < SURVEY_ACTIVITIES_MAX && !keeper_stopping(&s->base); i++) {
        if (!look_at(s, s->sales[i], &err))
            surveyor_lose_db(s, &err);
    }
    s->survey.activity_count = 0;
    for (size_t i = 0; i < s->sale_count && i < SURVEY_ACTIVITIES_MAX; i++)
        s->survey.activities[s->survey.activity_count++] = s->sales[i]->entry;
    s->survey.activities_left_out = (int64_t)s->sale_count - (int64_t)s->survey.activity_count;
}
