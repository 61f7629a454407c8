#include "orderd/fleet.h"

#include <stdio.h>
#include <unistd.h>

#include "orderd/activity_store.h"
#include "orderd/backoff.h"
#include "orderd/clock.h"
#include "orderd/db.h"
#include "orderd/log.h"
#include "orderd/replica.h"
#include "orderd/survey_board.h"

#define BEAT_MS 1000
/* Over so many beats it reports what was done. */
#define WINDOW 5
/* How often it looks whether all is finished, at the end. */
#define END_MS 50

struct fleet {
    struct keeper base;
    struct db *db;
    struct backoff backoff;
    int64_t ahead_ms; /* of this machine's clock is that of the database: all times in the table are by that one */
    struct replica row;
    struct {
        int64_t at; /* monotonic ms */
        struct metric_sum sum;
    } readings[WINDOW + 1]; /* a ring */
    size_t read;            /* so many so far */
};

static void note_reading(struct fleet *f)
{
    size_t i = f->read++ % (WINDOW + 1);

    f->readings[i].at = clock_mono_ms();
    metric_read(&f->readings[i].sum);
}

static void report_of(const struct fleet *f, struct replica_report *out)
{
    size_t newest = f->read - 1, oldest = newest > WINDOW ? newest - WINDOW : 0;
    size_t n = newest % (WINDOW + 1), o = oldest % (WINDOW + 1);

    replica_report_between(&f->readings[o].sum, &f->readings[n].sum, f->readings[n].at - f->readings[o].at, out);
}

static void note_self(struct fleet *f)
{
    struct survey_self self = {.state = REPLICA_NOT_READY};

    if (f->base.shared->board)
        (void)survey_board_self(f->base.shared->board, &self);
    f->row.state = self.state;
    f->row.started_at = self.started_at + f->ahead_ms;
    snprintf(f->row.why, sizeof f->row.why, "%s", self.why);
    snprintf(f->row.admin, sizeof f->row.admin, "%s", self.admin);
}

static bool connect(struct fleet *f, struct error *err)
{
    int64_t now;

    f->db = db_open(f->base.conf, err);
    if (!f->db || !activity_store_now(f->db, &now, err))
        return false;
    f->ahead_ms = now - clock_wall_ms();
    return true;
}

static bool put(struct fleet *f, struct error *err)
{
    struct replica_report report;

    if (f->db && !db_usable(f->db))
        db_close(&f->db);
    note_reading(f);
    if (!f->db && !connect(f, err))
        return false;
    note_self(f);
    report_of(f, &report);
    return replica_put(f->db, &f->row, &report, err);
}

static void open_fleet(struct keeper *keeper)
{
    struct fleet *f = (struct fleet *)keeper;

    backoff_init(&f->backoff, keeper->conf->mysql_reconnect_min, keeper->conf->mysql_reconnect_max, backoff_seed());
    f->row.pid = getpid();
    (void)gethostname(f->row.host, sizeof f->row.host - 1);
    for (char *p = f->row.host; *p; p++) {
        if (*p <= ' ' || *p > '~')
            *p = '_';
    }
    snprintf(f->row.instance, sizeof f->row.instance, "%s", keeper->shared->instance);
    snprintf(f->row.version, sizeof f->row.version, "%s", ORDERD_VERSION);
}

static int64_t turn(struct keeper *keeper)
{
    struct fleet *f = (struct fleet *)keeper;
    struct error err = {0};

    if (put(f, &err)) {
        backoff_reset(&f->backoff);
        keeper_set_state(keeper, LANE_CONSUMING, NULL);
        return BEAT_MS;
    }
    log_event(LOG_EVENT_FLEET_FAILED, LOG_ERR(&err));
    keeper_set_state(keeper, LANE_CONNECTING, &err);
    db_close(&f->db);
    return backoff_next(&f->backoff);
}

/* What was in hand when the stop came may take a while, and this replica is there until then. */
static bool wait_finished(struct fleet *f, struct error *err)
{
    struct survey_board *board = f->base.shared->board;
    int64_t next = 0;
    struct survey_self self;

    while (board && survey_board_self(board, &self) && !self.stopped) {
        keeper_beats(&f->base);
        if (clock_mono_ms() >= next) {
            if (!put(f, err))
                return false;
            next = clock_mono_ms() + BEAT_MS;
        }
        clock_sleep_ms(END_MS);
    }
    return true;
}

static void close_fleet(struct keeper *keeper)
{
    struct fleet *f = (struct fleet *)keeper;
    struct error err = {0};

    if (f->db && (!wait_finished(f, &err) || !replica_leave(f->db, &f->row, &err)))
        log_event(LOG_EVENT_FLEET_FAILED, LOG_ERR(&err));
    db_close(&f->db);
}

const struct keeper_kind fleet_keeper = {
    .name = "fleet",
    .size = sizeof(struct fleet),
    .open = open_fleet,
    .turn = turn,
    .close = close_fleet,
};
