#include "walk_private.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/fault.h"
#include "orderd/log.h"

/* Activities looked after in one round; those that are due longest come first. */
#define ROUND_MAX 1000
/* How often it is looked which activities are due: so long after a walker's death another one takes over. */
#define LOOK_MS 1000

bool walk_stopping(const struct walk *walk)
{
    return atomic_load_explicit(&walk->shared->stop, memory_order_acquire);
}

void walk_beats(struct walk *walk)
{
    atomic_store_explicit(&walk->beat, clock_mono_ms(), memory_order_relaxed);
}

static void set_state(struct walk *walk, enum lane_state state)
{
    atomic_store_explicit(&walk->state, state, memory_order_release);
}

static void rest(struct walk *walk)
{
    struct pollfd stop = {.fd = walk->shared->stop_fd, .events = POLLIN};
    int64_t ms = walk->conf->walk_interval < LOOK_MS ? walk->conf->walk_interval : LOOK_MS;

    (void)poll(&stop, 1, (int)ms);
}

/* ---- its servers ---- */

/* What cannot be used any more, or was in the middle of something, is opened anew. With the database connection goes
 * the lock. */
static void drop_connections(struct walk *walk)
{
    db_close(&walk->db);
    kv_close(&walk->kv);
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
        walk->db = db_open(walk->conf, err);
        if (walk->db && !live_or_leave(walk->db, walk->conf, err))
            db_close(&walk->db);
    }
    if (walk->db && !walk->kv)
        walk->kv = kv_open(walk->conf, "orderd-walk", err);
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
        set_state(walk, LANE_CONSUMING);
        return true;
    }
    walk->next_try = clock_mono_ms() + backoff_next(&walk->backoff);
    set_state(walk, LANE_CONNECTING);
    log_event(LOG_EVENT_WALK_FAILED, LOG_ERR(&err));
    return false;
}

/* ---- one round ---- */

static bool walk_one(struct walk *walk, int64_t id, struct error *err)
{
    bool elected;

    if (!activity_walk_elect(walk->db, id, walk->conf->walk_interval, &elected, err))
        return false;
    if (!elected)
        return true;
    FAULT(WALK_ELECTED);
    return walk_visit(walk, id, err) && activity_walk_release(walk->db, id, err);
}

/* The others go on; this one is left to other processes for a while. What the connections were in the middle of is
 * unknown, so they go, and the lock with them. */
static void note_failure(struct walk *walk, int64_t id, const struct error *err)
{
    metric_add(walk->metrics, METRIC_WALK_FAILURES, 1);
    memory_of(&walk->memory, id)->not_before = clock_mono_ms() + walk->conf->walk_interval;
    log_event(LOG_EVENT_WALK_FAILED, LOG_INT("activity_id", id), LOG_ERR(err));
    drop_connections(walk);
}

static bool may_try(struct walk *walk, int64_t id)
{
    return clock_mono_ms() >= memory_of(&walk->memory, id)->not_before;
}

static void walk_all(struct walk *walk, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count && !walk_stopping(walk) && connect(walk); i++) {
        struct error err = {0};

        walk_beats(walk);
        if (may_try(walk, ids[i]) && !walk_one(walk, ids[i], &err))
            note_failure(walk, ids[i], &err);
    }
}

static void go_round(struct walk *walk)
{
    int64_t ids[ROUND_MAX];
    struct error err = {0};
    size_t count;

    walk->conf = atomic_load_explicit(&walk->shared->conf, memory_order_acquire);
    walk->looked = false;
    walk_beats(walk);
    if (!walk->conf->walk_enabled)
        drop_connections(walk);
    if (!walk->conf->walk_enabled || !connect(walk))
        return;
    if (activity_walk_due(walk->db, walk->conf->walk_interval, ids, ROUND_MAX, &count, &err)) {
        walk_all(walk, ids, count);
    } else {
        log_event(LOG_EVENT_WALK_FAILED, LOG_ERR(&err));
        drop_connections(walk);
    }
}

static void run(void *data)
{
    struct walk *walk = data;

    walk->metrics = metric_register();
    while (!walk_stopping(walk)) {
        go_round(walk);
        rest(walk);
    }
    drop_connections(walk);
    memory_free_all(&walk->memory);
    set_state(walk, LANE_STOPPED);
}

/* ---- from other threads ---- */

static void name_walker(struct walk *walk)
{
    char host[40] = "";

    (void)gethostname(host, sizeof host - 1);
    for (char *p = host; *p; p++) {
        if (*p <= ' ' || *p > '~')
            *p = '_';
    }
    snprintf(walk->name, sizeof walk->name, "%s:%.20s:%d", host, walk->shared->instance, (int)getpid());
}

struct walk *walk_start(struct lane_shared *shared)
{
    struct walk *walk = check_calloc(1, sizeof *walk);

    walk->shared = shared;
    walk->conf = atomic_load_explicit(&shared->conf, memory_order_acquire);
    name_walker(walk);
    backoff_init(&walk->backoff, walk->conf->mysql_reconnect_min, walk->conf->mysql_reconnect_max, backoff_seed());
    atomic_init(&walk->state, LANE_CONNECTING);
    atomic_init(&walk->beat, clock_mono_ms());
    walk->thread = (struct thread){.name = "walk", .run = run, .data = walk};
    thread_start(&walk->thread);
    return walk;
}

enum lane_state walk_state(const struct walk *walk)
{
    return atomic_load_explicit(&walk->state, memory_order_acquire);
}

int64_t walk_beat(const struct walk *walk)
{
    return atomic_load_explicit(&walk->beat, memory_order_relaxed);
}

void walk_join(struct walk **walk)
{
    struct walk *w = *walk;

    thread_join(&w->thread);
    free(w);
    *walk = NULL;
}
