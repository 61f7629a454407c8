/* Deletes sent rows: its own thread and connection, so that it never holds up the relay and is never held up by it; one
 * process at a time, elected by a named lock; small batches with pauses. */
#include "relay_private.h"

#include <poll.h>

#include "orderd/clock.h"

#define CLEAN_BATCH    1000
#define CLEAN_PAUSE_MS 50
/* Longest rest without a beat, which the watchdog sees. */
#define BEAT_MS   1000

#define LOCK_NAME "CONCAT('orderd.clean.',LEFT(DATABASE(),40))"

static bool stopping(const struct relay *relay)
{
    return atomic_load_explicit(&relay->stop, memory_order_acquire);
}

static void beat(struct relay *relay)
{
    atomic_store_explicit(&relay->cleaner_beat, clock_mono_ms(), memory_order_relaxed);
}

static void pause_for(struct relay *relay, int64_t ms)
{
    struct pollfd wake = {.fd = relay->cleaner_fd, .events = POLLIN};
    int64_t until = clock_mono_ms() + ms;

    for (int64_t left = ms; left > 0 && !stopping(relay); left = until - clock_mono_ms()) {
        beat(relay);
        (void)poll(&wake, 1, (int)(left < BEAT_MS ? left : BEAT_MS));
    }
}

static bool clean_all(struct relay *relay, struct db *db, struct metric_block *metrics, struct error *err)
{
    const struct conf *conf = atomic_load_explicit(&relay->shared->conf, memory_order_acquire);
    size_t deleted = CLEAN_BATCH;

    while (deleted == CLEAN_BATCH && !stopping(relay)) {
        if (!local_message_clean(db, conf->relay_keep_sent, CLEAN_BATCH, &deleted, err))
            return false;
        metric_add(metrics, METRIC_RELAY_CLEANED, deleted);
        pause_for(relay, CLEAN_PAUSE_MS);
    }
    return true;
}

static bool clean_if_elected(struct relay *relay, struct db *db, struct metric_block *metrics, struct error *err)
{
    int64_t elected, ignored;

    if (!db_query_i64(db, slice_of("SELECT GET_LOCK(" LOCK_NAME ",0)"), 0, &elected, err))
        return false;
    if (elected != 1)
        return true;
    return clean_all(relay, db, metrics, err) &&
           db_query_i64(db, slice_of("SELECT RELEASE_LOCK(" LOCK_NAME ")"), 0, &ignored, err);
}

void relay_clean(void *data)
{
    struct relay *relay = data;
    struct metric_block *metrics = metric_register();
    struct db *db = NULL;

    while (!stopping(relay)) {
        const struct conf *conf = atomic_load_explicit(&relay->shared->conf, memory_order_acquire);
        struct error err = {0};

        beat(relay);
        if (!db)
            db = db_open(conf, &err);
        if (db && clean_if_elected(relay, db, metrics, &err)) {
            lane_health_set(&relay->cleaner_health, LANE_CONSUMING, NULL);
        } else {
            lane_health_set(&relay->cleaner_health, LANE_CONNECTING, &err);
            /* The relay tells when the database is away; a deadlock or the like is met again next time. Closing also
             * gives the lock up. */
            db_close(&db);
        }
        pause_for(relay, conf->relay_clean_interval);
    }
    db_close(&db);
    lane_health_set(&relay->cleaner_health, LANE_STOPPED, NULL);
}
