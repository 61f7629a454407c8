#include "orderd/sweep.h"

#include <string.h>

#include "orderd/db.h"
#include "orderd/log.h"
#include "orderd/order_change.h"
#include "orderd/relay.h"

#define LOCK_NAME "CONCAT('orderd.sweep.',LEFT(DATABASE(),40))"

struct sweep {
    struct keeper base;
    struct db *db;
    struct order_change wishes[ORDER_CHANGE_MAX];
};

static void beats(void *arg)
{
    keeper_beats(arg);
}

/* ---- closing ---- */

static bool close_some(struct sweep *sweep, struct order_change *wishes, size_t count, struct error *err)
{
    struct relay *relay = sweep->base.shared->relay;
    struct order_change_options options = {
        .owner = relay_owner(relay),
        .lease_ms = relay_lease_ms(relay, sweep->base.conf),
        .events = sweep->base.conf->events_enabled,
        .metrics = sweep->base.metrics,
        .keep_alive = beats,
        .arg = sweep,
    };
    struct local_messages committed;
    bool ok;

    beats(sweep);
    local_messages_init(&committed);
    ok = order_change_run(sweep->db, wishes, count, &options, &committed, err);
    if (ok)
        relay_offer(relay, &committed);
    local_messages_free(&committed);
    return ok;
}

/* One that the database refuses, alone, must not keep the others: it is left and looked at again the next time. */
static bool close_each(struct sweep *sweep, struct order_change *wishes, size_t count, struct error *err)
{
    enum error_class class_;

    if (close_some(sweep, wishes, count, err))
        return true;
    class_ = error_class_of(err);
    if (class_ == ERROR_CLASS_OUTAGE || class_ == ERROR_CLASS_TRANSIENT || class_ == ERROR_CLASS_SETUP ||
        !db_usable(sweep->db))
        return false;
    if (count == 1) {
        log_event(LOG_EVENT_SWEEP_FAILED, LOG_STR("order_no", wishes[0].order_no), LOG_ERR(err));
        error_clear(err);
        return true;
    }
    error_clear(err);
    return close_each(sweep, wishes, count / 2, err) && close_each(sweep, wishes + count / 2, count - count / 2, err);
}

static size_t count_closed(const struct order_change *wishes, size_t count)
{
    size_t closed = 0;

    for (size_t i = 0; i < count; i++)
        closed += wishes[i].verdict == REASON_UNPAID;
    return closed;
}

static void note_first(const struct order_change *wishes, size_t count, char first[ORDER_NO_MAX + 1])
{
    for (size_t i = 0; i < count && !first[0]; i++) {
        if (wishes[i].verdict == REASON_UNPAID)
            memcpy(first, wishes[i].order_no, ORDER_NO_MAX + 1);
    }
}

/* Batch after batch until none is full, or none of it could be closed. */
static bool close_all(struct sweep *sweep, struct error *err)
{
    size_t max = (size_t)sweep->base.conf->release_batch_max, found = 0, closed, all = 0;
    char first[ORDER_NO_MAX + 1] = "";
    bool ok;

    do {
        ok = order_change_due(sweep->db, sweep->base.conf->release_sweep_grace, max, sweep->wishes, &found, err) &&
             (found == 0 || close_each(sweep, sweep->wishes, found, err));
        closed = count_closed(sweep->wishes, found);
        metric_add(sweep->base.metrics, METRIC_ORDERS_SWEPT, closed);
        if (all == 0 && closed > 0)
            note_first(sweep->wishes, found, first);
        all += closed;
    } while (ok && found == max && closed > 0 && !keeper_stopping(&sweep->base));
    if (all > 0)
        log_event(LOG_EVENT_ORDERS_SWEPT, LOG_INT("orders", all), LOG_STR("first", first));
    return ok;
}

/* ---- the keeper ---- */

static bool sweep_if_elected(struct sweep *sweep, struct error *err)
{
    int64_t elected, ignored;

    if (!db_query_i64(sweep->db, slice_of("SELECT GET_LOCK(" LOCK_NAME ",0)"), 0, &elected, err))
        return false;
    if (elected != 1)
        return true;
    return close_all(sweep, err) &&
           db_query_i64(sweep->db, slice_of("SELECT RELEASE_LOCK(" LOCK_NAME ")"), 0, &ignored, err);
}

/* How soon after a failure it tries again: where the interval is long, an outage need not cost as much. */
#define AGAIN_MS 1000

/* Closing the connection also gives the lock up. */
static int64_t turn(struct keeper *keeper)
{
    struct sweep *sweep = (struct sweep *)keeper;
    struct error err = {0};

    if (!sweep->db)
        sweep->db = db_open(keeper->conf, &err);
    if (sweep->db && sweep_if_elected(sweep, &err)) {
        keeper_set_state(keeper, LANE_CONSUMING, NULL);
        return keeper->conf->release_sweep_interval;
    }
    keeper_set_state(keeper, LANE_CONNECTING, &err);
    log_event(LOG_EVENT_SWEEP_FAILED, LOG_ERR(&err));
    db_close(&sweep->db);
    return keeper->conf->release_sweep_interval < AGAIN_MS ? keeper->conf->release_sweep_interval : AGAIN_MS;
}

static void close_sweep(struct keeper *keeper)
{
    db_close(&((struct sweep *)keeper)->db);
}

static void rest(struct keeper *keeper)
{
    db_close(&((struct sweep *)keeper)->db);
}

const struct keeper_kind sweep_keeper = {
    .name = "sweep",
    .size = sizeof(struct sweep),
    .turn = turn,
    .rest = rest,
    .close = close_sweep,
};
