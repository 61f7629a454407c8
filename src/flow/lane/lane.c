/* The thread of a lane. */
#include "engine.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/units.h"

/* Longest sleep of an idle lane: far below half a heartbeat, and the beat the watchdog sees. */
#define IDLE_MS 1000
/* How often an idle lane asks its database whether it is there. */
#define IDLE_CHECK_MS 3000
/* Dead letters in flight at once. */
#define CONFIRM_WINDOW 1024

bool lane_stopping(const struct lane *lane)
{
    return atomic_load_explicit(&lane->shared->stop, memory_order_acquire);
}

void lane_set_state(struct lane *lane, enum lane_state state, const struct error *why)
{
    lane_health_set(&lane->health, state, why);
}

static void tell_in_hand(struct lane *lane)
{
    size_t inbox = lane->consumer ? broker_inbox(lane->consumer) : 0;

    lane_health_in_hand(&lane->health, lane->batch.count - lane->batch.acked + lane->parked_count + inbox);
}

void lane_beat(struct lane *lane)
{
    atomic_store_explicit(&lane->beat, clock_mono_ms(), memory_order_relaxed);
    tell_in_hand(lane);
}

void lane_close_consumer(struct lane *lane, bool graceful)
{
    if (lane->consumer)
        broker_close(&lane->consumer, graceful);
    lane->cancelled = false;
    park_release(lane);
}

void lane_close_publisher(struct lane *lane)
{
    if (lane->publisher)
        broker_close(&lane->publisher, false);
}

void lane_close_db(struct lane *lane)
{
    db_close(&lane->db);
}

void lane_sleep(struct lane *lane, int wait_ms)
{
    struct pollfd fds[3];
    nfds_t count = 0;

    fds[count++] = (struct pollfd){.fd = broker_fd(lane->consumer), .events = broker_poll_events(lane->consumer)};
    if (!lane_stopping(lane))
        fds[count++] = (struct pollfd){.fd = lane->shared->stop_fd, .events = POLLIN};
    if (lane->publisher)
        fds[count++] = (struct pollfd){.fd = broker_fd(lane->publisher), .events = POLLIN};
    (void)poll(fds, count, wait_ms);
}

static void pump_publisher(struct lane *lane)
{
    struct error err = {0};

    if (!lane->publisher || broker_pump(lane->publisher, 0, &err))
        return;
    log_event(LOG_EVENT_BROKER_DOWN, LOG_STR("connection", "publish"), LOG_ERR(&err));
    lane_close_publisher(lane);
}

bool lane_pump(struct lane *lane, struct error *err)
{
    lane_beat(lane); /* also in a long halving */
    pump_publisher(lane);
    if (!lane->consumer)
        return error_set(err, ERROR_BROKER_AWAY, "no connection to consume on");
    if (!broker_pump(lane->consumer, 0, err))
        return false;
    tell_in_hand(lane); /* what has come counts at once: the next step may be a long one */
    if (broker_cancelled(lane->consumer))
        return error_set(err, ERROR_BROKER_AWAY, "the broker cancelled the consumer of %s (queue deleted or moved?)",
                         lane->settings.queue);
    return true;
}

static bool open_db(struct lane *lane, struct error *err)
{
    char version[24];

    if (lane->db)
        return true;
    lane->db = db_open(lane->conf, err);
    if (!lane->db)
        return false;
    units_format_version(version, sizeof version, db_version(lane->db));
    log_event(LOG_EVENT_DB_UP, LOG_STR("host", db_peer(lane->db)), LOG_STR("version", version));
    return true;
}

static bool open_publisher(struct lane *lane, struct error *err)
{
    char name[96];

    if (lane->publisher)
        return true;
    lane_beat(lane); /* each connection may take its time */
    snprintf(name, sizeof name, "%s publish", lane->worker);
    lane->publisher = broker_open(lane->conf, name, err);
    if (!lane->publisher)
        return false;
    if (broker_confirm_select(lane->publisher, CONFIRM_WINDOW, err))
        return true;
    lane_close_publisher(lane);
    return false;
}

bool lane_mend(struct lane *lane, struct error *err)
{
    return open_db(lane, err) && open_publisher(lane, err);
}

static bool open_consumer(struct lane *lane, struct error *err)
{
    char version[24];

    if (lane->consumer && !lane->cancelled)
        return true;
    lane_beat(lane);
    if (!lane->consumer)
        lane->consumer = broker_open(lane->conf, lane->worker, err);
    if (!lane->consumer)
        return false;
    if (!queue_there(lane, err) || !lane_subscribe(lane, true, err)) {
        lane_close_consumer(lane, false);
        return false;
    }
    units_format_version(version, sizeof version, broker_version(lane->consumer));
    log_event(LOG_EVENT_BROKER_UP, LOG_STR("host", broker_peer(lane->consumer)), LOG_STR("queue", lane->settings.queue),
              LOG_STR("version", version));
    return true;
}

static bool told_otherwise(const struct lane *lane)
{
    return lane_stopping(lane) || atomic_load_explicit(&lane->shared->quiet, memory_order_acquire) != lane->quiet;
}

/* In slices, so that the publisher's heartbeats go on and the watchdog sees that this is a wait by plan. */
void lane_sleep_alive(struct lane *lane, int64_t ms)
{
    struct pollfd stop = {.fd = lane->shared->stop_fd, .events = POLLIN};
    int64_t until = clock_mono_ms() + ms;

    for (int64_t left = ms; left > 0 && !told_otherwise(lane); left = until - clock_mono_ms()) {
        lane_beat(lane);
        pump_publisher(lane);
        (void)poll(&stop, 1, (int)(left < IDLE_MS ? left : IDLE_MS));
    }
}

static void announce_not_connected(struct lane *lane, const struct error *err)
{
    enum error_class class_ = error_class_of(err);

    if (class_ == ERROR_CLASS_SETUP) {
        lane_set_state(lane, LANE_PAUSED, err);
        log_event(LOG_EVENT_LANE_PAUSED, LOG_ERR(err));
    } else {
        lane_set_state(lane, LANE_CONNECTING, err);
        log_event(lane->db ? LOG_EVENT_BROKER_DOWN : LOG_EVENT_DB_DOWN, LOG_ERR(err));
    }
}

/* After deliveries were given back: a connection alone does not show that what was missing is there again, and every
 * further return counts toward the delivery limit. */
static bool proven(struct lane *lane, struct error *err)
{
    if (lane->unproven && !lane->kind->probe(lane->db, err))
        return false;
    lane->unproven = false;
    return true;
}

/* Database first, consumer last: no delivery is taken before it can be handled. Waits once where something is away. */
static bool connected(struct lane *lane)
{
    struct error err = {0};

    if (lane->db && !db_usable(lane->db))
        lane_close_db(lane);
    if (lane_mend(lane, &err) && proven(lane, &err) && open_consumer(lane, &err)) {
        backoff_reset(&lane->connecting);
        lane_set_state(lane, LANE_CONSUMING, NULL);
        return true;
    }
    if (lane->over)
        return false;
    announce_not_connected(lane, &err);
    lane_sleep_alive(lane, backoff_next(&lane->connecting));
    return false;
}

void lane_lose_consumer(struct lane *lane, const struct error *err)
{
    bool cancelled = broker_cancelled(lane->consumer);

    metric_add(lane->metrics, METRIC_BROKER_OUTAGES, 1);
    log_event(cancelled ? LOG_EVENT_BROKER_CANCELLED : LOG_EVENT_BROKER_DOWN,
              LOG_INT("messages", lane->batch.count - lane->batch.acked), LOG_ERR(err));
    lane_close_consumer(lane, false);
    batch_release(lane);
    lane_set_state(lane, LANE_CONNECTING, err);
}

static bool work(struct lane *lane, struct error *err)
{
    if (!lane->db)
        return error_set(err, ERROR_DB_AWAY, "no database connection");
    return lane->kind->work(lane, err);
}

/* One batch from the broker to its acknowledgement. */
void lane_work(struct lane *lane)
{
    struct error err = {0};

    lane->settling = false;
    while (!work(lane, &err)) {
        if (!lane_hold(lane, &err))
            return;
        error_clear(&err);
    }
    lane->settling = true;
    while (!lane_settle(lane, &err)) {
        if (!lane_hold(lane, &err))
            return;
    }
    lane_hold_over(lane);
}

/* Waits only when nothing has arrived. */
static bool wait_for_work(struct lane *lane, struct error *err)
{
    if (!lane_pump(lane, err))
        return false;
    if (broker_inbox(lane->consumer) > 0)
        return true;
    lane_sleep(lane, IDLE_MS);
    return lane_pump(lane, err);
}

/* An idle lane would not notice that its database is gone until the next order comes, and look ready meanwhile. */
static void check_idle_db(struct lane *lane)
{
    struct error err = {0};

    if (clock_mono_ms() - lane->db_seen < IDLE_CHECK_MS)
        return;
    lane->db_seen = clock_mono_ms();
    if (db_run(lane->db, slice_of("DO 1"), &err))
        return;
    log_event(LOG_EVENT_DB_DOWN, LOG_ERR(&err));
    lane_close_db(lane);
    lane_set_state(lane, LANE_CONNECTING, &err);
}

static void read_conf(struct lane *lane)
{
    lane->conf = atomic_load_explicit(&lane->shared->conf, memory_order_acquire);
    lane->kind->settings(lane->conf, &lane->settings);
    queue_choose(lane);
    lane->quiet = atomic_load_explicit(&lane->shared->quiet, memory_order_acquire);
}

/* Whoever looks must never find it at rest while it takes work again: it says so before it reads, for good, what it is
 * told, and long before its servers have answered. */
static void wake(struct lane *lane)
{
    if (lane_health_state(&lane->health) == LANE_QUIET &&
        !atomic_load_explicit(&lane->shared->quiet, memory_order_acquire))
        lane_set_state(lane, LANE_CONNECTING, NULL);
}

static void turn(struct lane *lane)
{
    struct error err = {0};

    wake(lane);
    read_conf(lane);
    lane_beat(lane);
    batch_release(lane);
    if (lane->quiet) {
        lane_turn_quiet(lane);
        return;
    }
    if (lane->over) {
        lane_rest(lane, LANE_OVER);
        return;
    }
    if (!connected(lane))
        return;
    if (!wait_for_work(lane, &err) || !batch_take(lane, &err)) {
        lane_lose_consumer(lane, &err);
        return;
    }
    lane_beat(lane);
    if (lane->batch.count == 0)
        check_idle_db(lane);
    else if (!lane_work_taken(lane, &err))
        lane_lose_consumer(lane, &err);
    if (lane->consumer && !park_retry(lane, &err))
        lane_lose_consumer(lane, &err);
    else if (park_too_long(lane))
        lane_give_back(lane);
}

static void run(void *data)
{
    struct lane *lane = data;

    lane->metrics = metric_register();
    if (lane->kind->open)
        lane->kind->open(lane);
    batch_init(lane);
    while (!lane_stopping(lane))
        turn(lane);
    lane_drain(lane);
    batch_destroy(lane);
    park_destroy(lane);
    if (lane->kind->close)
        lane->kind->close(lane);
    lane_set_state(lane, LANE_STOPPED, NULL);
}

unsigned lane_wanted(const struct lane_kind *kind, const struct conf *conf)
{
    struct lane_settings settings;

    kind->settings(conf, &settings);
    return (unsigned)settings.lanes;
}

static void init_backoffs(struct lane *lane)
{
    const struct conf *conf = lane->conf;

    backoff_init(&lane->connecting, conf->broker_reconnect_min, conf->broker_reconnect_max, backoff_seed());
    backoff_init(&lane->holding, conf->mysql_reconnect_min, conf->mysql_reconnect_max, backoff_seed());
    backoff_init(&lane->parking, 200, 5000, backoff_seed());
}

struct lane *lane_start(const struct lane_kind *kind, struct lane_shared *shared, unsigned index)
{
    struct lane *lane = check_calloc(1, sizeof *lane);

    CHECK(index < 1000 && kind->item_size >= sizeof(struct lane_item));
    lane->kind = kind;
    lane->own = kind->own_size > 0 ? check_calloc(1, kind->own_size) : NULL;
    lane->shared = shared;
    lane->index = index;
    read_conf(lane);
    snprintf(lane->thread.name, sizeof lane->thread.name, "%s.%u", kind->name, index);
    snprintf(lane->worker, sizeof lane->worker, "orderd%s%.40s %s", shared->instance[0] ? "@" : "", shared->instance,
             lane->thread.name);
    init_backoffs(lane);
    lane_health_init(&lane->health);
    atomic_init(&lane->beat, clock_mono_ms());
    lane->thread.run = run;
    lane->thread.data = lane;
    thread_start(&lane->thread);
    return lane;
}

enum lane_state lane_state_of(const struct lane *lane)
{
    return lane_health_state(&lane->health);
}

void lane_condition_of(struct lane *lane, struct lane_condition *out)
{
    lane_health_read(&lane->health, out);
}

const char *lane_name_of(const struct lane *lane)
{
    return lane->thread.name;
}

int64_t lane_beat_of(const struct lane *lane)
{
    return atomic_load_explicit(&lane->beat, memory_order_relaxed);
}

void lane_join(struct lane **lane)
{
    thread_join(&(*lane)->thread);
    lane_health_destroy(&(*lane)->health);
    free((*lane)->own);
    free(*lane);
    *lane = NULL;
}
