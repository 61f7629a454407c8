/* Order messages as a kind of lane. */
#include "create.h"

#include "orderd/check.h"
#include "orderd/create_queue.h"
#include "orderd/dead_letter.h"
#include "orderd/log.h"
#include "orderd/order_store.h"

static void settings(const struct conf *conf, struct lane_settings *out)
{
    *out = (struct lane_settings){
        .queue = conf->create_queue,
        .lanes = conf->create_lanes,
        .prefetch = conf->create_prefetch,
        .batch_max = conf->create_batch_max,
        .hold_max = conf->create_hold_max,
    };
}

_Static_assert((int)LANE_QUEUE_MAX == (int)CREATE_QUEUE_NAME_MAX, "a lane has room for its queue's name");

/* Round the queues; then one lane for each that is not used any more. */
static unsigned queue_of(const struct conf *conf, unsigned index)
{
    unsigned queues = (unsigned)conf->create_queues, lanes = (unsigned)conf->create_lanes;

    return index < lanes ? 1 + index % queues : queues + 1 + (index - lanes);
}

#define ROWS_CHUNK ((size_t)64 * 1024)

static void open_own(struct lane *lane)
{
    struct create *own = create_of(lane);

    own->activities = activity_cache_create();
    own->rows = arena_create(ROWS_CHUNK);
    backoff_init(&own->conflict, 1, 100, backoff_seed());
}

static void close_own(struct lane *lane)
{
    struct create *own = create_of(lane);

    activity_cache_destroy(&own->activities);
    arena_destroy(&own->rows);
    strbuf_release(&own->sql);
}

static void decode(struct lane *lane, struct lane_item *base)
{
    struct item *item = (struct item *)base;
    char detail[256];
    unsigned queues = (unsigned)lane->conf->create_queues;
    enum reason reason = order_decode(base->delivery.body, &item->order, detail, sizeof detail);

    if (reason != REASON_NONE)
        item_decide(lane, item, reason, lane_detail(lane, "%s", detail));
    else if (item->order.user_id == FAULT_POISON_USER)
        FAULT(CREATE_POISON);
    base->home = reason == REASON_NONE ? create_queue_number(item->order.activity_id, queues) : 0;
}

static bool work(struct lane *lane, struct error *err)
{
    do {
        if (!persist(lane, err) || !decide(lane, err))
            return false;
    } while (lane_open_items(lane));
    return true;
}

static void log_failed(const struct lane *lane, const struct item *item)
{
    const struct lane_item *base = &item->base;

    if (item->order.activity_id == 0) /* not read that far */
        lane_log_refused(lane, base);
    else
        log_event(LOG_EVENT_ORDER_FAILED, LOG_STR("reason", reason_name(base->reason)),
                  LOG_STR("detail", base->detail[0] ? base->detail : reason_sentence(base->reason)),
                  LOG_STR("order_no", item->order.order_no), LOG_INT("activity_id", item->order.activity_id),
                  LOG_INT("user_id", item->order.user_id), LOG_INT("attempt", base->attempt),
                  LOG_STR("next", lane_next(lane, base)), LOG_SLICE("trace_id", dead_letter_trace_id(&base->delivery)));
}

static void log_settled(const struct item *item, enum log_event event)
{
    if (log_wanted(event))
        log_event(event, LOG_STR("order_no", item->order.order_no), LOG_INT("activity_id", item->order.activity_id),
                  LOG_INT("user_id", item->order.user_id), LOG_INT("quantity", item->order.quantity),
                  LOG_SLICE("trace_id", dead_letter_trace_id(&item->base.delivery)));
}

static void report(struct lane *lane, const struct lane_item *base)
{
    const struct item *item = (const struct item *)base;

    if (base->reason == REASON_CREATED) {
        lane_storm_fine(lane, true);
        metric_add(lane->metrics, METRIC_ORDERS_CREATED, 1);
        log_settled(item, LOG_EVENT_ORDER_CREATED);
    } else if (base->reason == REASON_DUPLICATE) {
        lane_storm_fine(lane, false);
        metric_add(lane->metrics, METRIC_ORDERS_DUPLICATE, 1);
        log_settled(item, LOG_EVENT_ORDER_DUPLICATE);
    } else {
        log_failed(lane, item);
    }
}

void item_decide(struct lane *lane, struct item *item, enum reason reason, const char *detail)
{
    lane_decide(lane, &item->base, reason, detail);
}

const struct lane_kind create_lane = {
    .name = "create",
    .settings = settings,
    .queue = queue_of,
    .queue_name = create_queue_name,
    .item_size = sizeof(struct item),
    .own_size = sizeof(struct create),
    .open = open_own,
    .close = close_own,
    .decode = decode,
    .work = work,
    .report = report,
    .fate = fate_of,
    .probe = order_store_probe,
    .taken = FAULT_POINT(CREATE_TAKEN),
    .before_ack = FAULT_POINT(CREATE_BEFORE_ACK),
    .after_ack = FAULT_POINT(CREATE_AFTER_ACK),
};
