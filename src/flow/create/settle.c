#include "lane.h"

#include "orderd/dead_letter.h"
#include "orderd/fault.h"

static bool needs_dead_letter(const struct item *item)
{
    return reason_what(item->reason) != REASON_WHAT_SETTLED;
}

static bool is_done(const struct item *item)
{
    return !needs_dead_letter(item) || item->dead == BROKER_OUTCOME_CONFIRMED;
}

/* One acknowledgement for everything up to the first item that is not done: the channel has one consumer and this lane
 * takes in order, so the tags up to there are exactly these items. */
static bool ack_prefix(struct create_lane *lane, struct error *err)
{
    struct batch *batch = &lane->batch;
    size_t end = batch->acked;

    while (end < batch->count && is_done(&batch->items[end]))
        end++;
    if (end == batch->acked)
        return true;
    FAULT(CREATE_BEFORE_ACK);
    if (!broker_ack(lane->consumer, batch->items[end - 1].delivery.tag, true, err))
        return false;
    for (; batch->acked < end; batch->acked++)
        metric_add(lane->metrics, METRIC_ORDERS_DEAD_LETTERED, needs_dead_letter(&batch->items[batch->acked]));
    FAULT(CREATE_AFTER_ACK);
    return true;
}

static bool publish_dead(struct create_lane *lane, struct item *item, struct error *err)
{
    struct dead_letter letter = {
        .delivery = &item->delivery,
        .reason = item->reason,
        .detail = item->detail,
        .stage = "create",
        .origin = lane->conf->create_queue,
        .worker = lane->worker,
    };

    FAULT(DEAD_BEFORE_PUBLISH);
    return dead_letter_publish(lane->publisher, &letter, &item->dead, err);
}

static bool check_dead(const struct item *item, struct error *err)
{
    switch (item->dead) {
    case BROKER_OUTCOME_CONFIRMED:
        return true;
    case BROKER_OUTCOME_RETURNED:
        return error_set(err, ERROR_BROKER_UNROUTABLE,
                         "no queue takes dead letters: run `orderctl topology apply` (exchange order, key order.dead)");
    case BROKER_OUTCOME_TOO_LARGE:
        return error_set(err, ERROR_BROKER_SETUP,
                         "the broker refuses a dead letter as too large: raise its max_message_size");
    default:
        return error_set(err, ERROR_BROKER_UNCONFIRMED, "the broker did not confirm a dead letter");
    }
}

/* Publishes what needs it and is not there yet, all in one window, then looks at each outcome. */
static bool dead_letters(struct create_lane *lane, struct error *err)
{
    struct batch *batch = &lane->batch;
    bool any = false, ok = true;

    for (size_t i = batch->acked; i < batch->count; i++) {
        if (is_done(&batch->items[i]))
            continue;
        if (!lane->publisher)
            return error_set(err, ERROR_BROKER_AWAY, "no connection to publish on");
        any = true;
        if (!publish_dead(lane, &batch->items[i], err)) {
            lane_close_publisher(lane); /* settles every outcome that is still pending */
            return false;
        }
    }
    if (!any)
        return true;
    ok = broker_wait_confirms(lane->publisher, (int)lane->conf->broker_call_timeout, err);
    if (!ok)
        lane_close_publisher(lane);
    else
        FAULT(DEAD_AFTER_CONFIRM);
    for (size_t i = batch->acked; i < batch->count && ok; i++) {
        if (needs_dead_letter(&batch->items[i]))
            ok = check_dead(&batch->items[i], err);
    }
    return ok;
}

bool settle(struct create_lane *lane, struct error *err)
{
    return ack_prefix(lane, err) && dead_letters(lane, err) && ack_prefix(lane, err);
}
