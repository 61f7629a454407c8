#include "engine.h"

#include "orderd/clock.h"
#include "orderd/log.h"

void lane_give_back(struct lane *lane)
{
    struct lane_batch *batch = &lane->batch;
    struct error err = {0};

    if (lane->consumer && broker_cancel(lane->consumer, &err)) {
        struct broker_delivery more;
        size_t got = 1;

        /* Everything this lane was handed and has not acknowledged, what still waits in the inbox included. */
        if (batch->count > batch->acked)
            metric_add(lane->metrics, METRIC_RETURNED_TO_BROKER, batch->count - batch->acked);
        for (size_t i = batch->acked; i < batch->count; i++) {
            if (!broker_nack(lane->consumer, lane_item(lane, i)->delivery.tag, false, true, &err))
                break;
        }
        while (broker_take(lane->consumer, &more, 1, 0, &got, &err) && got == 1) {
            bool ok = broker_nack(lane->consumer, more.tag, false, true, &err);

            metric_add(lane->metrics, METRIC_RETURNED_TO_BROKER, 1);
            broker_delivery_release(&more);
            if (!ok)
                break;
        }
    }
    lane_close_consumer(lane, true);
    batch_release(lane);
    lane->unproven = true;
}

static bool operator_must_act(const struct error *why)
{
    enum error_class class_ = error_class_of(why);

    return class_ != ERROR_CLASS_OUTAGE && class_ != ERROR_CLASS_TRANSIENT;
}

static void announce(struct lane *lane, const struct error *why)
{
    bool pause = operator_must_act(why);

    lane_set_state(lane, pause ? LANE_PAUSED : LANE_HOLDING, why);
    log_event(pause ? LOG_EVENT_LANE_PAUSED : LOG_EVENT_LANE_HOLDING,
              LOG_INT("messages", lane->batch.count - lane->batch.acked),
              LOG_INT("held_ms", clock_mono_ms() - lane->held_since), LOG_ERR(why));
}

/* false: the consumer is lost. */
static bool wait_alive(struct lane *lane, int64_t wait_ms, struct error *err)
{
    int64_t until = clock_mono_ms() + wait_ms;

    for (int64_t left = wait_ms; left > 0 && !lane_stopping(lane); left = until - clock_mono_ms()) {
        lane_beat(lane);
        if (!lane_pump(lane, err))
            return false;
        lane_sleep(lane, (int)(left < 500 ? left : 500));
    }
    return lane_pump(lane, err);
}

static bool lost(struct lane *lane, const struct error *why)
{
    metric_add(lane->metrics, METRIC_BROKER_OUTAGES, 1);
    log_event(LOG_EVENT_BROKER_DOWN, LOG_INT("messages", lane->batch.count - lane->batch.acked), LOG_ERR(why));
    lane_close_consumer(lane, false);
    batch_release(lane);
    lane_hold_over(lane);
    return false;
}

static bool returned(struct lane *lane, const struct error *why)
{
    log_event(LOG_EVENT_LANE_RETURNED, LOG_INT("messages", lane->batch.count - lane->batch.acked),
              LOG_INT("held_ms", clock_mono_ms() - lane->held_since), LOG_ERR(why));
    lane_give_back(lane);
    lane_hold_over(lane);
    return false;
}

/* In a storm only a message that succeeds can end it, so more of them come in as the wait goes on. Never while
 * settling: what comes in then would not have been persisted. */
static bool top_up(struct lane *lane, struct error *err)
{
    if (!lane->storm.on || lane->settling)
        return true;
    if (!batch_take(lane, err))
        return false;
    batch_decode(lane);
    return true;
}

bool lane_hold(struct lane *lane, const struct error *why)
{
    struct error err = *why;

    if (lane->held_since == 0) {
        lane->held_since = clock_mono_ms();
        backoff_reset(&lane->holding);
        metric_add(lane->metrics, METRIC_DB_OUTAGES, err.code == ERROR_DB_AWAY || err.code == ERROR_DB_LOST);
    }
    if (lane->db && !db_usable(lane->db))
        lane_close_db(lane);
    do {
        if (atomic_load_explicit(&lane->shared->quiet, memory_order_acquire) && !lane_stop_taking(lane, &err))
            return lost(lane, &err);
        announce(lane, &err);
        if (lane_stopping(lane) || clock_mono_ms() - lane->held_since > lane->settings.hold_max)
            return returned(lane, &err);
        if (!wait_alive(lane, backoff_next(&lane->holding), &err) || !top_up(lane, &err))
            return lost(lane, &err);
    } while (lane_stopping(lane) || !lane_mend(lane, &err));
    return true;
}

void lane_hold_over(struct lane *lane)
{
    if (lane->held_since != 0 && lane->consumer)
        log_event(LOG_EVENT_LANE_RESUMED, LOG_INT("held_ms", clock_mono_ms() - lane->held_since));
    lane->held_since = 0;
    if (lane->consumer && !lane_stopping(lane))
        lane_set_state(lane, lane->cancelled ? LANE_DRAINING : LANE_CONSUMING, NULL);
}
