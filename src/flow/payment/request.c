/* A batch of payments or cancellations becomes changes of orders, in the order in which the messages came. */
#include "request.h"

#include "orderd/dead_letter.h"
#include "orderd/log.h"

/* ---- the outcome of one ---- */

static void log_change(const struct lane *lane, const struct request *r, enum log_event event)
{
    if (log_wanted(event))
        log_event(event, LOG_STR("reason", reason_name(r->base.reason)),
                  LOG_STR("detail", r->base.detail[0] ? r->base.detail : reason_sentence(r->base.reason)),
                  LOG_STR("order_no", r->wish.change.order_no), LOG_STR("payment_ref", r->wish.change.payment_ref),
                  LOG_INT("amount", r->wish.change.amount), LOG_STR("why", r->why), LOG_INT("attempt", r->base.attempt),
                  LOG_STR("next", lane_next(lane, &r->base)),
                  LOG_SLICE("trace_id", dead_letter_trace_id(&r->base.delivery)));
}

void request_report(struct lane *lane, const struct lane_item *base)
{
    const struct request *r = (const struct request *)base;

    switch (base->reason) {
    case REASON_PAID:
    case REASON_CANCELLED:
        log_change(lane, r, LOG_EVENT_ORDER_CHANGED);
        break;
    case REASON_REFUND_SECOND:
    case REASON_REFUND_CLOSED:
    case REASON_REFUND_REJECTED:
    case REASON_PAYMENT_AMOUNT: /* perhaps not for the first time */
        log_change(lane, r, LOG_EVENT_REFUND_DUE);
        break;
    case REASON_PAID_BEFORE:
    case REASON_REFUND_BEFORE:
    case REASON_CANCEL_PAID:
    case REASON_CLOSED_BEFORE:
    case REASON_REJECTED_BEFORE:
        metric_add(lane->metrics, METRIC_CHANGES_VOID, 1);
        log_change(lane, r, LOG_EVENT_CHANGE_VOID);
        break;
    default:
        if (r->wish.change.order_no[0])
            log_change(lane, r, LOG_EVENT_CHANGE_FAILED);
        else /* not read that far */
            lane_log_refused(lane, base);
    }
}

/* ---- the batch ---- */

/* Items move between calls, so the wishes learn anew where theirs is. */
static size_t gather(struct lane *lane, struct lane_wish ***list)
{
    size_t count = 0;

    *list = lane_changing_list(lane->own, lane->batch.count);
    for (size_t i = 0; i < lane->batch.count; i++) {
        struct request *r = (struct request *)lane_item(lane, i);

        r->wish.item = &r->base;
        if (r->base.reason == REASON_NONE)
            (*list)[count++] = &r->wish;
    }
    return count;
}

bool request_work(struct lane *lane, struct error *err)
{
    struct lane_wish **list;
    size_t count = gather(lane, &list);
    bool ok = lane_change(lane, lane->own, list, count, ORDER_CHANGE_MAX, err);

    for (size_t i = 0; i < lane->batch.count; i++) {
        struct request *r = (struct request *)lane_item(lane, i);

        if (r->base.reason == REASON_NONE && r->wish.change.verdict != REASON_NONE)
            lane_decide(lane, &r->base, r->wish.change.verdict, r->wish.why ? r->wish.why : "");
    }
    return ok;
}

void request_close(struct lane *lane)
{
    lane_changing_end(lane->own);
}
