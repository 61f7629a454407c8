#include "walk_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "orderd/fault.h"
#include "orderd/log.h"

/* Activities looked after in one round; those that are due longest come first. */
#define ROUND_MAX 1000
/* How often it is looked which activities are due: so long after a walker's death another one takes over. */
#define LOOK_MS 1000
/* Looking at shards between the walks may take up one part in so many of the time: of thousands less often. */
#define LEVEL_SHARE 4
/* And after a failure it rests for so long; what is the matter is no better in a second. */
#define LEVEL_REST_MS 5000

/* ---- its servers ---- */

/* What cannot be used any more, or was in the middle of something, is opened anew. With the database connection goes
 * the lock. */
static void drop_connections(struct walk *walk)
{
    db_close(&walk->db);
    kv_close(&walk->kv);
    walk->levels = false;
}

/* A walker that says nothing for longer than its slowest step takes has vanished with its machine, or hangs: the server
 * then ends its session, and the lock with it. By default a server would notice in eight hours. */
static bool live_or_leave(struct db *db, const struct conf *conf, struct error *err)
{
    int64_t ms = conf->walk_interval + conf->walk_pause + conf->mysql_read_timeout + conf->redis_command_timeout;
    char sql[64];

    snprintf(sql, sizeof sql, "SET SESSION wait_timeout=%" PRId64, ms / 1000 + 1);
    return db_run(db, slice_of(sql), err);
}

static bool open_missing(struct walk *walk, struct error *err)
{
    if (!walk->db) {
        walk->db = db_open(walk->base.conf, err);
        if (walk->db && !live_or_leave(walk->db, walk->base.conf, err))
            db_close(&walk->db);
    }
    if (walk->db && !walk->kv)
        walk->kv = kv_open(walk->base.conf, "orderd-walk", err);
    return walk->db && walk->kv;
}

static bool connect(struct walk *walk)
{
    struct error err = {0};

    if (walk->db && walk->kv)
        return true;
    if (clock_mono_ms() < walk->next_try)
        return false;
    if (open_missing(walk, &err)) {
        backoff_reset(&walk->backoff);
        walk->next_try = 0;
        keeper_set_state(&walk->base, LANE_CONSUMING, NULL);
        return true;
    }
    walk->next_try = clock_mono_ms() + backoff_next(&walk->backoff);
    keeper_set_state(&walk->base, LANE_CONNECTING, &err);
    log_event(LOG_EVENT_WALK_FAILED, LOG_ERR(&err));
    return false;
}

/* ---- one round ---- */

/* A walk may take minutes: meanwhile another process looks at the shards. */
static bool leave_level(struct walk *walk, struct error *err)
{
    bool held = walk->levels;

    walk->levels = false;
    return !held || activity_level_release(walk->db, err);
}

static bool walk_one(struct walk *walk, int64_t id, struct error *err)
{
    bool elected;

    if (!activity_walk_elect(walk->db, id, walk->base.conf->walk_interval, &elected, err))
        return false;
    if (!elected)
        return true;
    FAULT(WALK_ELECTED);
    return leave_level(walk, err) && walk_visit(walk, id, err) && activity_walk_release(walk->db, id, err);
}

/* The others go on; this one is left to other processes for a while. What the connections were in the middle of is
 * unknown, so they go, and the lock with them. */
static void note_failure(struct walk *walk, int64_t id, const struct error *err)
{
    metric_add(walk->base.metrics, METRIC_WALK_FAILURES, 1);
    memory_of(&walk->memory, id)->not_before = clock_mono_ms() + walk->base.conf->walk_interval;
    log_event(LOG_EVENT_WALK_FAILED, LOG_INT("activity_id", id), LOG_ERR(err));
    drop_connections(walk);
}

static bool may_try(struct walk *walk, int64_t id)
{
    return clock_mono_ms() >= memory_of(&walk->memory, id)->not_before;
}

static void walk_all(struct walk *walk, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count && !keeper_stopping(&walk->base) && connect(walk); i++) {
        struct error err = {0};

        keeper_beats(&walk->base);
        if (may_try(walk, ids[i]) && !walk_one(walk, ids[i], &err))
            note_failure(walk, ids[i], &err);
    }
}

static void level_all(struct walk *walk)
{
    struct error err = {0};
    int64_t began = clock_mono_ms();

    if (keeper_stopping(&walk->base) || began < walk->level_after || !connect(walk))
        return;
    if (walk_level_all(walk, &err)) {
        walk->level_after = began + (clock_mono_ms() - began) * LEVEL_SHARE;
        return;
    }
    walk->level_after = clock_mono_ms() + LEVEL_REST_MS;
    log_event(LOG_EVENT_WALK_FAILED, LOG_ERR(&err));
    drop_connections(walk);
}

static void go_round(struct walk *walk)
{
    int64_t ids[ROUND_MAX];
    struct error err = {0};
    size_t count;

    walk->looked = false;
    if (!walk->base.conf->walk_enabled) {
        drop_connections(walk);
        keeper_set_state(&walk->base, LANE_CONSUMING, NULL); /* nothing is wrong with one that is switched off */
        return;
    }
    if (!connect(walk))
        return;
    if (activity_walk_due(walk->db, walk->base.conf->walk_interval, ids, ROUND_MAX, &count, &err)) {
        walk_all(walk, ids, count);
        level_all(walk);
    } else {
        log_event(LOG_EVENT_WALK_FAILED, LOG_ERR(&err));
        drop_connections(walk);
    }
}

/* ---- the keeper ---- */

static void name_walker(struct walk *walk)
{
    char host[40] = "";

    (void)gethostname(host, sizeof host - 1);
    for (char *p = host; *p; p++) {
        if (*p <= ' ' || *p > '~')
            *p = '_';
    }
    snprintf(walk->name, sizeof walk->name, "%s:%.20s:%d", host, walk->base.shared->instance, (int)getpid());
}

static void open_walk(struct keeper *keeper)
{
    struct walk *walk = (struct walk *)keeper;

    name_walker(walk);
    backoff_init(&walk->backoff, keeper->conf->mysql_reconnect_min, keeper->conf->mysql_reconnect_max, backoff_seed());
}

static int64_t turn(struct keeper *keeper)
{
    go_round((struct walk *)keeper);
    return keeper->conf->walk_interval < LOOK_MS ? keeper->conf->walk_interval : LOOK_MS;
}

static void close_walk(struct keeper *keeper)
{
    struct walk *walk = (struct walk *)keeper;

    drop_connections(walk);
    memory_free_all(&walk->memory);
}

static void rest(struct keeper *keeper)
{
    drop_connections((struct walk *)keeper);
}

const struct keeper_kind walk_keeper = {
    .name = "walk",
    .size = sizeof(struct walk),
    .open = open_walk,
    .turn = turn,
    .rest = rest,
    .close = close_walk,
};
