/* Taking nothing more: for good, when the process ends, or until the quiet mode is over. Either way what was handed to
 * the lane goes through all its steps; nothing is given back that can be finished. */
#include "engine.h"

#include "orderd/clock.h"

/* A quiet lane with nothing to do looks so often what it is told, and the watchdog sees it. */
#define REST_MS 1000
/* How often it looks after what is parked. */
#define PARKED_MS 200

bool lane_stop_taking(struct lane *lane, struct error *err)
{
    if (!lane->consumer || lane->cancelled)
        return true;
    lane->cancelled = broker_cancel(lane->consumer, err);
    return lane->cancelled;
}

/* Until the inbox is empty. false: the consumer is lost; it may also be given back meanwhile, and is NULL then. */
static bool finish_taken(struct lane *lane, struct error *err)
{
    do {
        batch_release(lane);
        if (!batch_take(lane, err))
            return false;
        lane_beat(lane);
        if (lane->batch.count > 0 && !lane_work_taken(lane, err))
            return false;
    } while (lane->consumer && lane->batch.count > 0);
    return true;
}

static void close_all(struct lane *lane)
{
    lane_close_consumer(lane, true);
    if (lane->publisher)
        broker_close(&lane->publisher, true);
    lane_close_db(lane);
}

void lane_rest(struct lane *lane, enum lane_state state)
{
    close_all(lane);
    lane_set_state(lane, state, NULL);
    lane_sleep_alive(lane, REST_MS);
}

/* What could not be published yet still waits for that; its turns come as usual. */
static bool finish_parked(struct lane *lane, struct error *err)
{
    struct error why = {0};

    if (lane->parked_count > 0 && clock_mono_ms() >= lane->parked_next)
        (void)!lane_mend(lane, &why); /* where it cannot be had, park_retry says so */
    return park_retry(lane, err);
}

void lane_turn_quiet(struct lane *lane)
{
    struct error err = {0};

    if (lane->consumer) {
        lane_set_state(lane, LANE_DRAINING, NULL);
        if (!lane_pump(lane, &err) || !lane_stop_taking(lane, &err) || !finish_taken(lane, &err) ||
            (lane->consumer && !finish_parked(lane, &err)))
            lane_lose_consumer(lane, &err);
        else if (park_too_long(lane))
            lane_give_back(lane);
    }
    if (lane->consumer && lane->parked_count > 0) {
        lane_beat(lane);
        lane_sleep(lane, PARKED_MS);
        return;
    }
    lane_rest(lane, LANE_QUIET);
}

void lane_drain(struct lane *lane)
{
    struct error err = {0};

    lane_set_state(lane, LANE_DRAINING, NULL);
    batch_release(lane);
    /* lane_hold() gives everything back at once when stopping */
    if (lane->consumer && lane->db && lane_stop_taking(lane, &err))
        (void)!finish_taken(lane, &err);
    lane->parked_next = 0;
    if (lane->consumer)
        (void)!park_retry(lane, &err);
    close_all(lane);
}
