#include "survey_private.h"

#include <math.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/replica.h"
#include "orderd/survey_store.h"

/* How often it is looked, while there are any, whether lost replicas need not be kept any longer. */
#define CLEAN_MS     1000
#define LETTERS_REST 20

/* ---- servers ---- */

void surveyor_note(struct surveyor *s, enum survey_dependency which, const struct error *err)
{
    struct line *line = &s->lines[which];

    s->survey.dependencies[which].known = true;
    s->survey.dependencies[which].up = !err;
    snprintf(s->survey.dependencies[which].why, ERROR_TEXT_MAX, "%s", err ? err->text : "");
    if (!err) {
        backoff_reset(&line->backoff);
        line->next_try = 0;
        return;
    }
    s->outage_at = clock_mono_ms();
    line->next_try = s->outage_at + backoff_next(&line->backoff);
    log_event(LOG_EVENT_SURVEY_FAILED, LOG_STR("server", survey_dependency_name(which)), LOG_ERR(err));
}

int64_t surveyor_wall_ms(const struct surveyor *s)
{
    return clock_wall_ms() + s->ahead_ms;
}

bool surveyor_may_try(const struct surveyor *s, enum survey_dependency which)
{
    return clock_mono_ms() >= s->lines[which].next_try;
}

void surveyor_lose_db(struct surveyor *s, const struct error *err)
{
    struct survey *v = &s->survey;

    db_close(&s->db);
    s->elected = false;
    surveyor_note(s, SURVEY_MYSQL, err);
    v->relay_pending = v->relay_quarantined = v->relay_oldest_ms = v->dead_open = v->p50_us = v->p99_us =
        SURVEY_UNKNOWN;
    v->reason_count = 0;
    for (int i = 0; i < REPLICA_COUNT_COUNT; i++)
        v->rates[i] = NAN;
    rows_forget(s);
}

int64_t surveyor_rest(const struct surveyor *s, int64_t took_ms, int64_t factor)
{
    return took_ms * factor > s->base.conf->survey_interval ? took_ms * factor : 0;
}

/* ---- the fleet ---- */

struct fleet {
    struct replica *list;
    size_t count;
    struct replica_totals totals;
    bool lost; /* one is */
};

/* A lost one counts no more, though its last report is still there. What is read is put aside until all of it is: where
 * MySQL goes away meanwhile, the list of before stays. */
static void note_replica(void *arg, const struct replica *replica, const struct replica_report *report)
{
    struct fleet *fleet = arg;

    if (replica_state_lives(replica->state))
        replica_totals_add(&fleet->totals, report);
    else
        fleet->lost = true;
    if (fleet->count < SURVEY_REPLICAS_MAX)
        fleet->list[fleet->count++] = *replica;
}

static void note_totals(struct surveyor *s, const struct replica_totals *totals)
{
    struct survey *v = &s->survey;
    int64_t p50 = metric_quantile_of(totals->latency, 0.5), p99 = metric_quantile_of(totals->latency, 0.99);

    for (int i = 0; i < REPLICA_COUNT_COUNT; i++)
        v->rates[i] = totals->rates[i];
    v->p50_us = p50 > 0 ? p50 : SURVEY_UNKNOWN;
    v->p99_us = p99 > 0 ? p99 : SURVEY_UNKNOWN;
    v->replicas_at = surveyor_wall_ms(s);
}

static bool look_at_fleet(struct surveyor *s, struct error *err)
{
    struct fleet fleet = {.list = s->fleet};
    int64_t now = clock_mono_ms();

    if (!replica_read_all(s->db, s->base.conf->survey_lost_after, note_replica, &fleet, err))
        return false;
    memcpy(s->survey.replicas, fleet.list, fleet.count * sizeof *fleet.list);
    s->survey.replica_count = fleet.count;
    note_totals(s, &fleet.totals);
    if (!fleet.lost || now < s->clean_next)
        return true;
    s->clean_next = now + CLEAN_MS;
    return replica_clean(s->db, s->base.conf->survey_lost_after, s->base.conf->survey_keep_lost, err);
}

/* ---- letters and local messages ---- */

static bool look_at_letters(struct surveyor *s, struct error *err)
{
    int64_t began = clock_mono_ms(), took;

    if (began < s->letters_next)
        return true;
    if (!survey_letters(s->db, &s->survey, err) || !survey_messages(s->db, &s->survey, err))
        return false;
    took = clock_mono_ms() - began;
    s->letters_next = began + LETTERS_REST * took;
    return true;
}

/* ---- all of it ---- */

static bool look_at_rows(struct surveyor *s, struct error *err)
{
    return look_at_fleet(s, err) && look_at_letters(s, err) && sales_list(s, err);
}

int64_t surveyor_window_ms(const struct conf *conf)
{
    return balance_window_of(conf).in_flight_ms + conf_retry_total(conf) + 2 * conf->walk_interval;
}

void surveyor_doubt(struct surveyor *s)
{
    s->unsettled_until = clock_mono_ms() + surveyor_window_ms(s->base.conf);
}

static void note_doubt(struct surveyor *s)
{
    bool doubt = s->survey.backlog != 0;

    for (int i = 0; i < SURVEY_DEPENDENCY_COUNT; i++)
        doubt = doubt || !s->survey.dependencies[i].up;
    if (doubt)
        surveyor_doubt(s);
}

/* Messages leave the backlog for good by any of these. */
static double finished_rate(const struct survey *v)
{
    return v->rates[REPLICA_CREATED] + v->rates[REPLICA_DUPLICATE] + v->rates[REPLICA_REJECTED] +
           v->rates[REPLICA_DEAD_LETTERED];
}

void surveyor_look(struct surveyor *s)
{
    struct error err = {0};

    if (s->db && !look_at_rows(s, &err))
        surveyor_lose_db(s, &err);
    keeper_beats(&s->base);
    queues_look(s);
    note_doubt(s);
    sales_look(s);
    s->survey.drain_s = survey_drain_s(s->survey.backlog, finished_rate(&s->survey));
    s->survey.interval_ms = s->base.conf->survey_interval;
    s->survey.at = surveyor_wall_ms(s);
}
