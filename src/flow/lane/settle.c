#include "engine.h"

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/dead_letter.h"
#include "orderd/fault.h"
#include "orderd/log.h"

#define BLOCKED "the broker takes no publishes (memory or disk alarm)"

enum fate lane_item_fate(const struct lane *lane, const struct lane_item *item)
{
    enum fate fate = lane->kind->fate(item->reason, item->attempt, lane->conf->retry_delays.count);

    if (fate != FATE_DECIDE)
        return fate;
    return item->decided ? FATE_DONE : item->plain ? FATE_DEAD : FATE_DECIDE;
}

const char *lane_next(const struct lane *lane, const struct lane_item *item)
{
    switch (lane_item_fate(lane, item)) {
    case FATE_RETRY:
        return "retry";
    case FATE_DEAD:
        return "dead_letter";
    case FATE_DECIDE:
        return "rejection";
    default:
        return "nothing";
    }
}

static bool needs_publish(const struct lane *lane, const struct lane_item *item)
{
    enum fate fate = lane_item_fate(lane, item);

    CHECK(fate != FATE_OPEN && fate != FATE_DECIDE);
    return fate != FATE_DONE;
}

enum broker_outcome settle_outcome(const struct lane_item *item)
{
    return item->outcome ? *item->outcome : BROKER_OUTCOME_UNKNOWN;
}

static bool is_done(const struct lane *lane, const struct lane_item *item)
{
    return item->parked || !needs_publish(lane, item) || settle_outcome(item) == BROKER_OUTCOME_CONFIRMED;
}

void settle_count(struct lane *lane, const struct lane_item *item)
{
    enum fate fate = lane_item_fate(lane, item);

    if (fate == FATE_RETRY)
        metric_add(lane->metrics, METRIC_ORDERS_RETRIED, 1);
    else if (fate == FATE_DEAD)
        metric_add(lane->metrics, METRIC_ORDERS_DEAD_LETTERED, 1);
}

/* One acknowledgement for everything from batch->acked to end: the channel has one consumer and this lane takes in
 * order, so the tags up to there are exactly these items. Where messages are parked their tags are lower and must not
 * be covered. */
static bool ack_to(struct lane *lane, size_t end, struct error *err)
{
    const struct lane_batch *batch = &lane->batch;

    if (lane->parked_count == 0)
        return broker_ack(lane->consumer, lane_item(lane, end - 1)->delivery.tag, true, err);
    for (size_t i = batch->acked; i < end; i++) {
        if (!lane_item(lane, i)->parked && !broker_ack(lane->consumer, lane_item(lane, i)->delivery.tag, false, err))
            return false;
    }
    return true;
}

static bool ack_prefix(struct lane *lane, struct error *err)
{
    struct lane_batch *batch = &lane->batch;
    size_t end = batch->acked;

    while (end < batch->count && is_done(lane, lane_item(lane, end)))
        end++;
    if (end == batch->acked)
        return true;
    FAULT_AT(lane->kind->before_ack);
    if (!ack_to(lane, end, err))
        return false;
    for (; batch->acked < end; batch->acked++) {
        if (!lane_item(lane, batch->acked)->parked)
            settle_count(lane, lane_item(lane, batch->acked));
    }
    FAULT_AT(lane->kind->after_ack);
    return true;
}

struct dead_letter lane_letter(struct lane *lane, const struct lane_item *item)
{
    return (struct dead_letter){
        .delivery = &item->delivery,
        .reason = item->reason,
        .detail = item->detail,
        .stage = lane->kind->name,
        .origin = lane->settings.queue,
        .home = queue_home(lane, item),
        .worker = lane->worker,
        .attempt = item->attempt,
    };
}

static bool publish(struct lane *lane, struct lane_item *item, struct error *err)
{
    struct dead_letter letter = lane_letter(lane, item);

    if (!item->outcome)
        item->outcome = check_malloc(sizeof *item->outcome);
    if (lane_item_fate(lane, item) == FATE_RETRY) {
        FAULT(RETRY_BEFORE_PUBLISH);
        return retry_publish(lane->publisher, &letter, lane->conf->retry_delays.ms[item->attempt], item->outcome, err);
    }
    FAULT(DEAD_BEFORE_PUBLISH);
    return dead_letter_publish(lane->publisher, &letter, item->outcome, err);
}

static bool check_outcome(const struct lane *lane, const struct lane_item *item, struct error *err)
{
    const char *what = lane_item_fate(lane, item) == FATE_RETRY ? "retry" : "dead letter";

    switch (settle_outcome(item)) {
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
static bool twin_is_pending(const struct lane *lane, size_t index)
{
    const struct lane_batch *batch = &lane->batch;

    for (size_t i = batch->acked; i < index; i++) {
        if (settle_outcome(lane_item(lane, i)) == BROKER_OUTCOME_PENDING && needs_publish(lane, lane_item(lane, i)) &&
            slice_equal(lane_item(lane, i)->delivery.message_id, lane_item(lane, index)->delivery.message_id))
            return true;
    }
    return false;
}

/* Waits until nothing is pending. Where an alarm comes up meanwhile it gives up at once, but keeps the connection: what
 * was handed over is stored when the alarm is over, and its outcome tells so; to publish it again would make two of it.
 */
static bool await_confirms(struct lane *lane, struct error *err)
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

static bool can_publish(const struct lane *lane, struct error *err)
{
    if (!lane->publisher)
        return error_set(err, ERROR_BROKER_AWAY, "no connection to publish on");
    if (broker_blocked(lane->publisher))
        return error_set(err, ERROR_BROKER_BLOCKED, BLOCKED);
    return true;
}

static bool begin_publish(struct lane *lane, struct lane_item *item, struct error *err)
{
    if (publish(lane, item, err))
        return true;
    lane_close_publisher(lane); /* settles every outcome that is still pending */
    return false;
}

/* Publishes what needs it and is not there yet; all of it in one window. */
static bool publish_open(struct lane *lane, bool *any, struct error *err)
{
    struct lane_batch *batch = &lane->batch;

    *any = false;
    for (size_t i = batch->acked; i < batch->count; i++) {
        if (is_done(lane, lane_item(lane, i)))
            continue;
        *any = true;
        if (settle_outcome(lane_item(lane, i)) == BROKER_OUTCOME_PENDING)
            continue; /* handed over before an alarm */
        if (!can_publish(lane, err) || (twin_is_pending(lane, i) && !await_confirms(lane, err)) ||
            !begin_publish(lane, lane_item(lane, i), err))
            return false;
    }
    return true;
}

static bool publish_all(struct lane *lane, struct error *err)
{
    struct lane_batch *batch = &lane->batch;
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
        if (!is_done(lane, lane_item(lane, i)) && !check_outcome(lane, lane_item(lane, i), err))
            return false;
    }
    return true;
}

bool settle_publish(struct lane *lane, struct lane_item *item, struct error *err)
{
    if (settle_outcome(item) == BROKER_OUTCOME_CONFIRMED)
        return true;
    if (!can_publish(lane, err))
        return false;
    if (settle_outcome(item) != BROKER_OUTCOME_PENDING && !begin_publish(lane, item, err))
        return false;
    return await_confirms(lane, err) && check_outcome(lane, item, err);
}

/* Puts aside what could not be published, where there is room. */
static bool park_open(struct lane *lane, const struct error *why)
{
    struct lane_batch *batch = &lane->batch;
    size_t open = 0;

    for (size_t i = batch->acked; i < batch->count; i++)
        open += !is_done(lane, lane_item(lane, i));
    if (!park_has_room(lane, open))
        return false;
    log_event(LOG_EVENT_LANE_PARKED, LOG_INT("messages", lane->parked_count + open), LOG_ERR(why));
    for (size_t i = batch->acked; i < batch->count; i++) {
        if (!is_done(lane, lane_item(lane, i)))
            park(lane, lane_item(lane, i));
    }
    return true;
}

bool lane_settle(struct lane *lane, struct error *err)
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
