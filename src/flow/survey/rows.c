/* The orders of the activities, and whether both servers agree about them. */
#include "survey_private.h"

#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/survey_count.h"

/* The caps follow the total within this. */
#define RESTOCK_MS 30000
/* After such a rest, per ms that it took, the orders are counted again. */
#define COUNT_REST 20

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

void rows_forget(struct surveyor *s)
{
    for (size_t i = 0; i < s->sale_count; i++)
        forget_sale_rows(s->sales[i]);
    s->count_next = 0;
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
    e->live = rows->paid_units == SURVEY_UNKNOWN ? SURVEY_UNKNOWN : rows->pending_units + rows->paid_units;
    e->reconcile_at = rows->reconcile_at;
    e->reconcile_verdict = rows->reconcile_verdict;
    e->counted_at = surveyor_wall_ms(s);
}

static int64_t window_ms(const struct surveyor *s, const struct sale *sale)
{
    return surveyor_window_ms(s->base.conf) + sale->walk_late_ms;
}

/* A rebuild begins the shards anew, and with them these numbers. */
void rows_note_taken(const struct surveyor *s, struct sale *sale, const struct sight *sight)
{
    struct survey_trail *t = &sale->taken;
    int64_t then, last;

    if (survey_trail_before(t, sight->now, 0, &then, &last) && last > sight->before.taken)
        *t = (struct survey_trail){0};
    survey_trail_add(t, sight->now, sight->before.taken, window_ms(s, sale));
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

/* Lanes that may have orders in hand. */
static int64_t create_consumers(const struct surveyor *s)
{
    size_t queues = surveyor_create_queues(s);
    int64_t sum = 0;

    if (s->survey.queue_count < queues)
        return SURVEY_UNKNOWN;
    for (size_t i = 0; i < queues; i++) {
        if (s->survey.queues[i].consumers == SURVEY_UNKNOWN)
            return SURVEY_UNKNOWN;
        sum += s->survey.queues[i].consumers;
    }
    return sum;
}

static struct survey_flight flight_of(struct surveyor *s, const struct sale *sale, const struct survey_stock *stock,
                                      int64_t now)
{
    int64_t consumers = create_consumers(s);
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

static void note_counted(struct surveyor *s, struct sale *sale, struct sight *sight)
{
    sight->counted = true;
    sight->sound = past_trusts(s, sale, &sight->rows);
    note_rows(s, &sale->entry, &sight->rows);
    sale->walk_late_ms = survey_walk_late_ms(&sight->rows, s->base.conf->walk_interval);
    sight->again = sight->seen && sales_read_stock(s, sale, &sight->after);
}

/* Where the server ended it, since it took too long, that is no reason to leave the rest unread. */
static void count_failed(struct surveyor *s, const struct error *err)
{
    if (err->code != ERROR_DB_RESOURCE || !db_usable(s->db)) {
        surveyor_lose_db(s, err);
        return;
    }
    for (size_t i = 0; i < s->sale_count; i++)
        forget_sale_rows(s->sales[i]);
    log_event(LOG_EVENT_SURVEY_FAILED, LOG_STR("server", survey_dependency_name(SURVEY_MYSQL)), LOG_ERR(err));
}

void rows_count(struct surveyor *s, struct sight *sights, size_t count)
{
    struct survey_rows *rows = check_calloc(count + 1, sizeof *rows);
    int64_t began = clock_mono_ms();
    struct error err = {0};
    bool ok;

    keeper_beats(&s->base);
    for (size_t i = 0; i < count; i++)
        rows[i].activity = s->sales[i]->activity.id;
    ok = past_prepare(s, count, &err) && survey_count(s->db, &s->past, rows, count, &err);
    s->count_next = began + surveyor_rest(s, clock_mono_ms() - began, COUNT_REST);
    if (!ok)
        count_failed(s, &err);
    for (size_t i = 0; i < count && ok; i++) {
        sights[i].rows = rows[i];
        note_counted(s, s->sales[i], &sights[i]);
    }
    free(rows);
}

void rows_conclude(struct surveyor *s, struct sale *sale, const struct sight *sight)
{
    struct survey_flight flight = {0};
    struct survey_drift drift;

    if (sight->seen)
        flight = flight_of(s, sale, &sight->before, sight->now);
    survey_drift_of(&sale->activity, sight->seen ? &sight->before : NULL,
                    sight->counted && sight->sound ? &sight->rows : NULL, sight->again ? &sight->after : NULL, &flight,
                    &drift);
    note_drift(sale, &drift, sight->counted);
}
