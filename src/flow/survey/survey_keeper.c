#include "survey_private.h"

#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/survey_board.h"
#include "orderd/survey_store.h"

/* A process that is not the surveyor knows the activities this well, for when MySQL is away. */
#define LIST_MS 5000
/* Longest rest: the broker must hear of us. */
#define REST_MS 1000

/* A surveyor that says nothing for longer than this has vanished with its machine, or hangs: the server ends its
 * session, and it is surveyor no more. Between two statements it may have to wait for the broker and for Redis. */
static int vanished_s(const struct conf *conf)
{
    return (int)((conf->broker_connect_timeout + conf->broker_call_timeout + conf->redis_connect_timeout +
                  conf->redis_command_timeout + conf->survey_interval) /
                 1000) +
           1;
}

/* A statement that takes too long is ended by the server, well before we would give the connection up for it. */
static bool bound(struct surveyor *s, struct error *err)
{
    double limit_ms = (double)s->base.conf->mysql_read_timeout / 2;
    int vanished = vanished_s(s->base.conf);
    char sql[128];

    if (db_vendor(s->db) == DB_MARIADB)
        snprintf(sql, sizeof sql, "SET SESSION wait_timeout=%d,max_statement_time=%.3f", vanished, limit_ms / 1000);
    else
        snprintf(sql, sizeof sql, "SET SESSION wait_timeout=%d,max_execution_time=%.0f", vanished, limit_ms);
    return db_run(s->db, slice_of(sql), err);
}

static bool open_db(struct surveyor *s, struct error *err)
{
    s->db = db_open(s->base.conf, err);
    if (s->db && !bound(s, err))
        db_close(&s->db);
    return s->db != NULL;
}

static void connect(struct surveyor *s)
{
    struct error err = {0};

    if (s->db && !db_usable(s->db))
        db_close(&s->db);
    if (s->db || !surveyor_may_try(s, SURVEY_MYSQL))
        return;
    if (open_db(s, &err))
        surveyor_note(s, SURVEY_MYSQL, NULL);
    else
        surveyor_lose_db(s, &err);
}

static bool elect(struct surveyor *s, struct error *err)
{
    if (s->elected)
        return true;
    if (!survey_elect(s->db, &s->elected, err))
        return false;
    if (s->elected) {
        log_event(LOG_EVENT_SURVEYOR, LOG_INT("interval_ms", s->base.conf->survey_interval));
        survey_init(&s->survey);
        surveyor_note(s, SURVEY_MYSQL, NULL);
        surveyor_doubt(s);
        s->new_here = true;
    }
    return true;
}

/* ---- the surveyor, or whoever has to do without ---- */

static void look(struct surveyor *s)
{
    struct error err = {0};

    surveyor_look(s);
    if (s->elected && !survey_publish(s->db, &s->survey, &err))
        surveyor_lose_db(s, &err);
}

/* ---- all others ---- */

static bool read_kept(struct surveyor *s, struct error *err)
{
    int64_t now = clock_mono_ms();
    bool found;

    if (!survey_read(s->db, &s->survey, &found, err))
        return false;
    if (!found) /* none was kept yet: soon */
        survey_init(&s->survey);
    if (now < s->list_next)
        return true;
    s->list_next = now + LIST_MS;
    return sales_list(s, err);
}

static void follow(struct surveyor *s)
{
    struct error err = {0};

    broker_close(&s->broker, true);
    kv_close(&s->kv);
    if (!read_kept(s, &err))
        surveyor_lose_db(s, &err);
}

/* ---- the keeper ---- */

static void go_round(struct surveyor *s)
{
    struct error err = {0};

    connect(s);
    if (s->db && !elect(s, &err))
        surveyor_lose_db(s, &err);
    if (s->db && !s->elected)
        follow(s);
    else
        look(s);
    if (s->survey.at != 0)
        survey_board_put(s->base.shared->board, &s->survey);
}

/* Only of servers that it looks at itself. */
static void tell_state(struct surveyor *s)
{
    for (int i = 0; i < SURVEY_DEPENDENCY_COUNT; i++) {
        struct error err = {0};

        if (!s->survey.dependencies[i].known || s->survey.dependencies[i].up)
            continue;
        if (s->db && !s->elected)
            continue;
        error_set(&err, ERROR_IO, "%s", s->survey.dependencies[i].why);
        keeper_set_state(&s->base, LANE_CONNECTING, &err);
        return;
    }
    keeper_set_state(&s->base, LANE_CONSUMING, NULL);
}

static void open_surveyor(struct keeper *keeper)
{
    struct surveyor *s = (struct surveyor *)keeper;
    const struct conf *conf = keeper->conf;

    for (int i = 0; i < SURVEY_DEPENDENCY_COUNT; i++) {
        bool broker = i == SURVEY_RABBITMQ;

        backoff_init(&s->lines[i].backoff, broker ? conf->broker_reconnect_min : conf->mysql_reconnect_min,
                     broker ? conf->broker_reconnect_max : conf->mysql_reconnect_max, backoff_seed());
    }
    survey_init(&s->survey);
}

static int64_t turn(struct keeper *keeper)
{
    struct surveyor *s = (struct surveyor *)keeper;
    int64_t now = clock_mono_ms(), step, left;

    if (!keeper->shared->board)
        return REST_MS;
    if (now >= s->next) {
        s->next = now + keeper->conf->survey_interval;
        go_round(s);
        tell_state(s);
    } else {
        queues_pump(s);
    }
    step = past_turn(s);
    left = (step < s->next ? step : s->next) - clock_mono_ms();
    return left < 0 ? 0 : left < REST_MS ? left : REST_MS;
}

static void close_surveyor(struct keeper *keeper)
{
    struct surveyor *s = (struct surveyor *)keeper;

    db_close(&s->db);
    kv_close(&s->kv);
    broker_close(&s->broker, false);
    sales_free(s);
}

const struct keeper_kind survey_keeper = {
    .name = "survey",
    .size = sizeof(struct surveyor),
    .open = open_surveyor,
    .turn = turn,
    .close = close_surveyor,
};
