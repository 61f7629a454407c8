/* order.unpaid as a kind of lane. An item is a timer with up to ORDER_LIST_MAX orders; they are put together with those
 * of other timers, and the timer is done when each of them is. */
#include "orderd/release_lane.h"

#include "orderd/dead_letter.h"
#include "orderd/lane_change.h"
#include "orderd/log.h"
#include "orderd/order_request.h"
#include "orderd/topology.h"

struct timer {
    struct lane_item base;
    struct lane_wish *wishes; /* in the batch's arena */
    size_t count;             /* 0: the bytes were refused */
};

/* Half of what the broker hands out, so that the next ones are here when these are done. */
static void settings(const struct conf *conf, struct lane_settings *out)
{
    *out = (struct lane_settings){
        .queue = topology_name(TOPOLOGY_QUEUE_UNPAID),
        .lanes = conf->release_lanes,
        .prefetch = conf->release_prefetch,
        .batch_max = conf->release_prefetch / 2,
        .hold_max = conf->create_hold_max,
    };
}

static void decode(struct lane *lane, struct lane_item *base)
{
    struct timer *timer = (struct timer *)base;
    struct lane_changing *changing = lane->own;
    struct order_change *decoded = changing->room;
    char detail[256];
    enum reason reason = order_unpaid_decode(base->delivery.body, decoded, &timer->count, detail, sizeof detail);

    if (reason != REASON_NONE) {
        lane_decide(lane, base, reason, lane_detail(lane, "%s", detail));
        return;
    }
    timer->wishes = arena_zalloc(lane->arena, timer->count * sizeof *timer->wishes);
    for (size_t i = 0; i < timer->count; i++)
        timer->wishes[i].change = decoded[i];
}

/* ---- the outcome ---- */

static void count_wish(struct lane *lane, const struct lane_wish *wish)
{
    const char *order_no = wish->change.order_no;

    switch (wish->change.verdict) {
    case REASON_UNPAID:
        log_event(LOG_EVENT_ORDER_UNPAID, LOG_STR("order_no", order_no));
        break;
    case REASON_NOT_DUE:
        metric_add(lane->metrics, METRIC_TIMERS_EARLY, 1);
        break;
    case REASON_TIMER_UNKNOWN:
        metric_add(lane->metrics, METRIC_TIMERS_UNKNOWN, 1);
        log_event(LOG_EVENT_TIMER_UNKNOWN, LOG_STR("order_no", order_no),
                  LOG_SLICE("message_id", wish->item->delivery.message_id));
        break;
    default:
        metric_add(lane->metrics, METRIC_TIMERS_VOID, 1);
        break;
    }
}

/* What is told of the timer as a whole: that one of its orders cannot be written, before all; else that it closed one,
 * or what came of the first. */
static const struct lane_wish *most_telling(const struct timer *timer)
{
    const struct lane_wish *telling = &timer->wishes[0];

    for (size_t i = 0; i < timer->count; i++) {
        const struct lane_wish *wish = &timer->wishes[i];

        if (reason_what(wish->change.verdict) == REASON_WHAT_RETRY)
            return wish;
        if (wish->change.verdict == REASON_UNPAID)
            telling = wish;
    }
    return telling;
}

/* A timer one of whose orders was refused is tried again as a whole: the others say then that they are done. */
static void conclude(struct lane *lane, struct timer *timer)
{
    const struct lane_wish *telling;

    for (size_t i = 0; i < timer->count; i++) {
        if (timer->wishes[i].change.verdict == REASON_NONE)
            return;
    }
    telling = most_telling(timer);
    for (size_t i = 0; i < timer->count; i++) {
        if (reason_what(timer->wishes[i].change.verdict) != REASON_WHAT_RETRY)
            count_wish(lane, &timer->wishes[i]);
    }
    if (reason_what(telling->change.verdict) == REASON_WHAT_RETRY)
        lane_decide(lane, &timer->base, telling->change.verdict,
                    lane_detail(lane, "order %s: %s", telling->change.order_no, telling->why));
    else
        lane_decide(lane, &timer->base, telling->change.verdict, "");
}

static void report(struct lane *lane, const struct lane_item *base)
{
    const struct timer *timer = (const struct timer *)base;

    if (reason_what(base->reason) == REASON_WHAT_RETRY)
        log_event(LOG_EVENT_TIMER_FAILED, LOG_STR("reason", reason_name(base->reason)), LOG_STR("detail", base->detail),
                  LOG_INT("orders", timer->count), LOG_INT("attempt", base->attempt),
                  LOG_STR("next", lane_next(lane, base)), LOG_SLICE("message_id", base->delivery.message_id));
    else if (timer->count == 0)
        lane_log_refused(lane, base);
}

/* ---- the batch ---- */

static size_t count_open(const struct lane *lane)
{
    size_t count = 0;

    for (size_t i = 0; i < lane->batch.count; i++) {
        const struct timer *timer = (const struct timer *)lane_item(lane, i);

        count += timer->base.reason == REASON_NONE ? timer->count : 0;
    }
    return count;
}

/* Items move between calls, so the wishes learn anew where theirs is. */
static size_t gather(struct lane *lane, struct lane_wish ***list)
{
    size_t n = 0;

    *list = lane_changing_list(lane->own, count_open(lane));
    for (size_t i = 0; i < lane->batch.count; i++) {
        struct timer *timer = (struct timer *)lane_item(lane, i);

        for (size_t k = 0; k < timer->count && timer->base.reason == REASON_NONE; k++) {
            timer->wishes[k].item = &timer->base;
            (*list)[n++] = &timer->wishes[k];
        }
    }
    return n;
}

static bool work(struct lane *lane, struct error *err)
{
    struct lane_wish **list;
    size_t count = gather(lane, &list);
    bool ok = lane_change(lane, lane->own, list, count, (size_t)lane->conf->release_batch_max, err);

    for (size_t i = 0; i < lane->batch.count; i++) {
        struct timer *timer = (struct timer *)lane_item(lane, i);

        if (timer->base.reason == REASON_NONE)
            conclude(lane, timer);
    }
    return ok;
}

static void close_lane(struct lane *lane)
{
    lane_changing_end(lane->own);
}

const struct lane_kind release_lane = {
    .name = "release",
    .settings = settings,
    .item_size = sizeof(struct timer),
    .own_size = sizeof(struct lane_changing),
    .close = close_lane,
    .decode = decode,
    .work = work,
    .report = report,
    .fate = lane_fate,
    .probe = order_change_probe,
    .taken = FAULT_POINT(RELEASE_TAKEN),
    .before_ack = FAULT_POINT(RELEASE_BEFORE_ACK),
    .after_ack = FAULT_POINT(RELEASE_AFTER_ACK),
};
