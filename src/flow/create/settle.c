#include "lane.h"

#include "orderd/check.h"
#include "orderd/dead_letter.h"
#include "orderd/fault.h"

enum fate item_fate(const struct create_lane *lane, const struct item *item)
{
    enum fate fate = fate_of(item->reason, item->attempt, lane->conf->retry_delays.count);

    if (fate != FATE_DECIDE)
        return fate;
    return item->decided ? FATE_DONE : item->plain ? FATE_DEAD : FATE_DECIDE;
}

static bool needs_publish(const struct create_lane *lane, const struct item *item)
{
    enum fate fate = item_fate(lane, item);

    CHECK(fate != FATE_OPEN && fate != FATE_DECIDE);
    return fate != FATE_DONE;
}

static bool is_done(const struct create_lane *lane, const struct item *item)
{
    return !needs_publish(lane, item) || item->outcome == BROKER_OUTCOME_CONFIRMED;
}

static void count(struct create_lane *lane, const struct item *item)
{
    enum fate fate = item_fate(lane, item);

    if (fate == FATE_RETRY)
        metric_add(lane->metrics, METRIC_ORDERS_RETRIED, 1);
    else if (fate == FATE_DEAD)
        metric_add(lane->metrics, METRIC_ORDERS_DEAD_LETTERED, 1);
}

/* One acknowledgement for everything up to the first item that is not done: the channel has one consumer and this lane
 * takes in order, so the tags up to there are exactly these items. */
static bool ack_prefix(struct create_lane *lane, struct error *err)
{
    struct batch *batch = &lane->batch;
    size_t end = batch->acked;

    while (end < batch->count && is_done(lane, &batch->items[end]))
        end++;
    if (end == batch->acked)
        return true;
    FAULT(CREATE_BEFORE_ACK);
    if (!broker_ack(lane->consumer, batch->items[end - 1].delivery.tag, true, err))
        return false;
    for (; batch->acked < end; batch->acked++)
        count(lane, &batch->items[batch->acked]);
    FAULT(CREATE_AFTER_ACK);
    return true;
}

static bool publish(struct create_lane *lane, struct item *item, struct error *err)
{
    struct dead_letter letter = {
        .delivery = &item->delivery,
        .reason = item->reason,
        .detail = item->detail,
        .stage = "create",
        .origin = lane->conf->create_queue,
        .worker = lane->worker,
        .attempt = item->attempt,
    };

    if (item_fate(lane, item) == FATE_RETRY) {
        FAULT(RETRY_BEFORE_PUBLISH);
        return retry_publish(lane->publisher, &letter, lane->conf->retry_delays.ms[item->attempt], &item->outcome, err);
    }
    FAULT(DEAD_BEFORE_PUBLISH);
    return dead_letter_publish(lane->publisher, &letter, &item->outcome, err);
}

static bool check_outcome(const struct create_lane *lane, const struct item *item, struct error *err)
{
    const char *what = item_fate(lane, item) == FATE_RETRY ? "retry" : "dead letter";

    switch (item->outcome) {
    case BROKER_OUTCOME_CONFIRMED:
        return true;
    case BROKER_OUTCOME_RETURNED:
        return error_set(err, ERROR_BROKER_UNROUTABLE, "no queue takes a %s: run `orderctl topology apply`", what);
    case BROKER_OUTCOME_TOO_LARGE:
        return error_set(err, ERROR_BROKER_SETUP, "the broker refuses a %s as too large: raise its max_message_size",
                         what);
    default:
        return error_set(err, ERROR_BROKER_UNCONFIRMED, "the broker did not confirm a %s", what);
    }
}

/* A return names what it returns by its message id alone, and two messages may carry the same one (copies, or a
 * producer that gives none): never two of them unconfirmed, or the wrong one counts as stored. */
static bool twin_is_pending(const struct create_lane *lane, size_t index)
{
    const struct batch *batch = &lane->batch;

    for (size_t i = batch->acked; i < index; i++) {
        if (batch->items[i].outcome == BROKER_OUTCOME_PENDING && needs_publish(lane, &batch->items[i]) &&
            slice_equal(batch->items[i].delivery.message_id, batch->items[index].delivery.message_id))
            return true;
    }
    return false;
}

static bool await_confirms(struct create_lane *lane, struct error *err)
{
    if (broker_wait_confirms(lane->publisher, (int)lane->conf->broker_call_timeout, err))
        return true;
    lane_close_publisher(lane); /* settles every outcome that is still pending */
    return false;
}

/* Publishes what needs it and is not there yet; all of it in one window. */
static bool publish_open(struct create_lane *lane, bool *any, struct error *err)
{
    struct batch *batch = &lane->batch;

    *any = false;
    for (size_t i = batch->acked; i < batch->count; i++) {
        if (is_done(lane, &batch->items[i]))
            continue;
        if (!lane->publisher)
            return error_set(err, ERROR_BROKER_AWAY, "no connection to publish on");
        *any = true;
        if (twin_is_pending(lane, i) && !await_confirms(lane, err))
            return false;
        if (!publish(lane, &batch->items[i], err)) {
            lane_close_publisher(lane); /* settles every outcome that is still pending */
            return false;
        }
    }
    return true;
}

static bool publish_all(struct create_lane *lane, struct error *err)
{
    struct batch *batch = &lane->batch;
    bool any;

    if (!publish_open(lane, &any, err))
        return false;
    if (!any)
        return true;
    if (!await_confirms(lane, err))
        return false;
    FAULT(RETRY_AFTER_CONFIRM);
    FAULT(DEAD_AFTER_CONFIRM);
    for (size_t i = batch->acked; i < batch->count; i++) {
        if (needs_publish(lane, &batch->items[i]) && !check_outcome(lane, &batch->items[i], err))
            return false;
    }
    return true;
}

bool settle(struct create_lane *lane, struct error *err)
{
    return ack_prefix(lane, err) && publish_all(lane, err) && ack_prefix(lane, err);
}
