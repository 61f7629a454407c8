#include "orderd/order_request.h"
#include "orderd/payment_lane.h"
#include "orderd/topology.h"
#include "request.h"

static void settings(const struct conf *conf, struct lane_settings *out)
{
    *out = (struct lane_settings){
        .queue = topology_name(TOPOLOGY_QUEUE_CANCEL),
        .lanes = conf->cancel_lanes,
        .prefetch = conf->cancel_prefetch,
        .batch_max = conf->cancel_batch_max,
        .hold_max = conf->create_hold_max,
    };
}

static void decode(struct lane *lane, struct lane_item *base)
{
    struct request *r = (struct request *)base;
    char detail[256], why[ORDER_CANCEL_WHY_MAX + 1];
    enum reason reason = order_cancel_decode(base->delivery.body, &r->wish.change, why, detail, sizeof detail);

    r->why = lane_detail(lane, "%s", why);
    if (reason != REASON_NONE)
        lane_decide(lane, base, reason, lane_detail(lane, "%s", detail));
}

const struct lane_kind cancel_lane = {
    .name = "cancel",
    .settings = settings,
    .item_size = sizeof(struct request),
    .own_size = sizeof(struct lane_changing),
    .close = request_close,
    .decode = decode,
    .work = request_work,
    .report = request_report,
    .fate = lane_fate,
    .probe = order_change_probe,
    .taken = FAULT_POINT(CANCEL_TAKEN),
    .before_ack = FAULT_POINT(CANCEL_BEFORE_ACK),
    .after_ack = FAULT_POINT(CANCEL_AFTER_ACK),
};
