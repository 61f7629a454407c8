#include "lane.h"

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/dead_letter.h"
#include "orderd/fault.h"
#include "orderd/log.h"

#define BLOCKED "the broker takes no publishes (memory or disk alarm)"

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

enum broker_outcome item_outcome(const struct item *item)
{
    return item->outcome ? *item->outcome : BROKER_OUTCOME_UNKNOWN;
}

static bool is_done(const struct create_lane *lane, const struct item *item)
{
    return item->parked || !needs_publish(lane, item) || item_outcome(item) == BROKER_OUTCOME_CONFIRMED;
}

void settle_count(struct create_lane *lane, const struct item *item)
{
    enum fate fate = item_fate(lane, item);

    if (fate == FATE_RETRY)
        metric_add(lane->metrics, METRIC_ORDERS_RETRIED, 1);
    else if (fate == FATE_DEAD)
        metric_add(lane->metrics, METRIC_ORDERS_DEAD_LETTERED, 1);
}

/* One acknowledgement for everything from batch->acked to end: the channel has one consumer and this lane takes in
 * order, so the tags up to there are exactly these items. Where messages are parked their tags are lower and must not
 * be covered. */
static bool ack_to(struct create_lane *lane, size_t end, struct error *err)
{
    const struct batch *batch = &lane->batch;

    if (lane->parked_count == 0)
        return broker_ack(lane->consumer, batch->items[end - 1].delivery.tag, true, err);
    for (size_t i = batch->acked; i < end; i++) {
        if (!batch->items[i].parked && !broker_ack(lane->consumer, batch->items[i].delivery.tag, false, err))
            return false;
    }
    return true;
}

static bool ack_prefix(struct create_lane *lane, struct error *err)
{
    struct batch *batch = &lane->batch;
    size_t end = batch->acked;

    while (end < batch->count && is_done(lane, &batch->items[end]))
        end++;
    if (end == batch->acked)
        return true;
    FAULT(CREATE_BEFORE_ACK);
    if (!ack_to(lane, end, err))
        return false;
    for (; batch->acked < end; batch->acked++) {
        if (!batch->items[batch->acked].parked)
            settle_count(lane, &batch->items[batch->acked]);
    }
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

    if (!item->outcome)
        item->outcome = check_malloc(sizeof *item->outcome);
    if (item_fate(lane, item) == FATE_RETRY) {
        FAULT(RETRY_BEFORE_PUBLISH);
        return retry_publish(lane->publisher, &letter, lane->conf->retry_delays.ms[item->attempt], item->outcome, err);
    }
    FAULT(DEAD_BEFORE_PUBLISH);
    return dead_letter_publish(lane->publisher, &letter, item->outcome, err);
}

static bool check_outcome(const struct create_lane *lane, const struct item *item, struct error *err)
{
    const char *what = item_fate(lane, item) == FATE_RETRY ? "retry" : "dead letter";

    switch (item_outcome(item)) {
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
        if (item_outcome(&batch->items[i]) == BROKER_OUTCOME_PENDING && needs_publish(lane, &batch->items[i]) &&
            slice_equal(batch->items[i].delivery.message_id, batch->items[index].delivery.message_id))
            return true;
    }
    return false;
}

/* Waits until nothing is pending. Where an alarm comes up meanwhile it gives up at once, but keeps the connection: what
 * was handed over is stored when the alarm is over, and its outcome tells so; to publish it again would make two of it.
 */
static bool await_confirms(struct create_lane *lane, struct error *err)
{
    int64_t until = clock_mono_ms() + lane->conf->broker_call_timeout;

    while (broker_unconfirmed(lane->publisher) > 0) {
        if (!broker_pump(lane->publisher, 20, err)) {
            lane_close_publisher(lane); /* settles every outcome that is still pending */
            return false;
        }
        if (broker_blocked(lane->publisher))
            return error_set(err, ERROR_BROKER_BLOCKED, BLOCKED);
        if (clock_mono_ms() > until) {
            lane_close_publisher(lane);
            return error_set(err, ERROR_BROKER_UNCONFIRMED, "the broker did not confirm in time");
        }
    }
    return true;
}

static bool can_publish(const struct create_lane *lane, struct error *err)
{
    if (!lane->publisher)
        return error_set(err, ERROR_BROKER_AWAY, "no connection to publish on");
    if (broker_blocked(lane->publisher))
        return error_set(err, ERROR_BROKER_BLOCKED, BLOCKED);
    return true;
}

static bool begin_publish(struct create_lane *lane, struct item *item, struct error *err)
{
    if (publish(lane, item, err))
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
        *any = true;
        if (item_outcome(&batch->items[i]) == BROKER_OUTCOME_PENDING)
            continue; /* handed over before an alarm */
        if (!can_publish(lane, err) || (twin_is_pending(lane, i) && !await_confirms(lane, err)) ||
            !begin_publish(lane, &batch->items[i], err))
            return false;
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
        if (!is_done(lane, &batch->items[i]) && !check_outcome(lane, &batch->items[i], err))
            return false;
    }
    return true;
}

bool settle_publish(struct create_lane *lane, struct item *item, struct error *err)
{
    if (item_outcome(item) == BROKER_OUTCOME_CONFIRMED)
        return true;
    if (!can_publish(lane, err))
        return false;
    if (item_outcome(item) != BROKER_OUTCOME_PENDING && !begin_publish(lane, item, err))
        return false;
    return await_confirms(lane, err) && check_outcome(lane, item, err);
}

/* Puts aside what could not be published, where there is room. */
static bool park_open(struct create_lane *lane, const struct error *why)
{
    struct batch *batch = &lane->batch;
    size_t open = 0;

    for (size_t i = batch->acked; i < batch->count; i++)
        open += !is_done(lane, &batch->items[i]);
    if (!park_has_room(lane, open))
        return false;
    log_event(LOG_EVENT_LANE_PARKED, LOG_INT("messages", lane->parked_count + open), LOG_ERR(why));
    for (size_t i = batch->acked; i < batch->count; i++) {
        if (!is_done(lane, &batch->items[i]))
            park(lane, &batch->items[i]);
    }
    return true;
}

bool settle(struct create_lane *lane, struct error *err)
{
    struct error why = {0};

    if (!ack_prefix(lane, err))
        return false;
    if (!publish_all(lane, &why) && !park_open(lane, &why)) {
        *err = why;
        return false;
    }
    return ack_prefix(lane, err);
}
