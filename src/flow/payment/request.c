/* A batch of payments or cancellations becomes one transaction, in the order in which the messages came. Where it
 * cannot be written it is halved, until a message stands alone and is blamed only for what happened to it alone. */
#include "request.h"

#include "orderd/dead_letter.h"
#include "orderd/log.h"
#include "orderd/relay.h"

/* ---- the outcome of one ---- */

static void log_change(const struct request *r, enum log_event event)
{
    if (log_wanted(event))
        log_event(event, LOG_STR("reason", reason_name(r->base.reason)),
                  LOG_STR("detail", r->base.detail[0] ? r->base.detail : reason_sentence(r->base.reason)),
                  LOG_STR("order_no", r->change.order_no), LOG_STR("payment_ref", r->change.payment_ref),
                  LOG_INT("amount", r->change.amount), LOG_STR("why", r->why), LOG_INT("attempt", r->base.attempt),
                  LOG_SLICE("trace_id", dead_letter_trace_id(&r->base.delivery)));
}

/* Something was written, so the database takes work. */
static void changed(struct lane *lane, const struct request *r, enum log_event event)
{
    lane_storm_fine(lane, true);
    log_change(r, event);
}

void request_report(struct lane *lane, const struct lane_item *base)
{
    const struct request *r = (const struct request *)base;

    switch (base->reason) {
    case REASON_PAID:
    case REASON_CANCELLED:
        changed(lane, r, LOG_EVENT_ORDER_CHANGED);
        break;
    case REASON_REFUND_SECOND:
    case REASON_REFUND_CLOSED:
    case REASON_REFUND_REJECTED:
        changed(lane, r, LOG_EVENT_REFUND_DUE);
        break;
    case REASON_PAYMENT_AMOUNT: /* perhaps not for the first time */
        lane_storm_fine(lane, false);
        log_change(r, LOG_EVENT_REFUND_DUE);
        break;
    case REASON_PAID_BEFORE:
    case REASON_REFUND_BEFORE:
    case REASON_CANCEL_PAID:
    case REASON_CLOSED_BEFORE:
    case REASON_REJECTED_BEFORE:
        lane_storm_fine(lane, false);
        metric_add(lane->metrics, METRIC_CHANGES_VOID, 1);
        log_change(r, LOG_EVENT_CHANGE_VOID);
        break;
    default:
        if (r->change.order_no[0])
            log_change(r, LOG_EVENT_CHANGE_FAILED);
        else /* not read that far */
            lane_log_refused(base);
    }
}

/* ---- the transaction ---- */

static void keep_alive(void *arg)
{
    struct error ignored;

    (void)!lane_pump(arg, &ignored); /* a lost consumer shows at the acknowledgement */
}

static bool run_all(struct lane *lane, struct request **set, size_t count, struct error *err)
{
    struct order_change *changes = arena_alloc(lane->arena, count * sizeof *changes);
    struct relay *relay = lane->shared->relay;
    struct order_change_options options = {
        .owner = relay ? relay_owner(relay) : "",
        .lease_ms = relay ? lane->conf->relay_lease : 0,
        .events = lane->conf->events_enabled,
        .metrics = lane->metrics,
        .keep_alive = keep_alive,
        .arg = lane,
    };
    struct local_messages committed;
    bool ok;

    local_messages_init(&committed);
    for (size_t i = 0; i < count; i++)
        changes[i] = set[i]->change;
    ok = order_change_run(lane->db, changes, count, &options, &committed, err);
    for (size_t i = 0; i < count && ok; i++)
        lane_decide(lane, &set[i]->base, changes[i].verdict, "");
    if (ok && relay)
        relay_offer(relay, &committed);
    local_messages_free(&committed);
    return ok;
}

/* Refused alone: its own fault, unless a storm is on. */
static bool alone(struct lane *lane, struct request *r, const struct error *why, struct error *err)
{
    bool before = lane->storm.on;
    enum reason reason = error_class_of(why) == ERROR_CLASS_PERMANENT ? REASON_CONSTRAINT : REASON_ERROR_UNKNOWN;

    if (!lane_storm_refused(lane, &r->base, r->change.order_no)) {
        lane_decide(lane, &r->base, reason, lane_detail(lane, "%s", why->text));
        return true;
    }
    *err = *why;
    if (before)
        return false;
    return error_prefix(err, "many different messages in a row failed alike; no more are taken until one succeeds");
}

static bool run_set(struct lane *lane, struct request **set, size_t count, struct error *err);

static bool halve(struct lane *lane, struct request **set, size_t count, const struct error *why, struct error *err)
{
    metric_add(lane->metrics, METRIC_BATCH_SPLITS, 1);
    log_event(LOG_EVENT_BATCH_SPLIT, LOG_INT("orders", count), LOG_ERR(why));
    keep_alive(lane);
    return run_set(lane, set, count / 2, err) && run_set(lane, set + count / 2, count - count / 2, err);
}

static bool run_set(struct lane *lane, struct request **set, size_t count, struct error *err)
{
    struct error why = {0};

    if (run_all(lane, set, count, &why))
        return true;
    switch (error_class_of(&why)) {
    case ERROR_CLASS_TRANSIENT:
    case ERROR_CLASS_OUTAGE:
    case ERROR_CLASS_SETUP:
        if (why.code == ERROR_DB_LOST)
            metric_add(lane->metrics, METRIC_COMMITS_UNKNOWN, 1);
        *err = why;
        return false;
    default:
        break;
    }
    if (!db_usable(lane->db)) {
        lane_close_db(lane);
        if (!lane_mend(lane, err))
            return false;
    }
    return count > 1 ? halve(lane, set, count, &why, err) : alone(lane, set[0], &why, err);
}

static size_t gather(struct lane *lane, struct request **set)
{
    size_t count = 0;

    for (size_t i = 0; i < lane->batch.count; i++) {
        struct request *r = (struct request *)lane_item(lane, i);

        if (r->base.reason == REASON_NONE)
            set[count++] = r;
    }
    return count;
}

/* In a storm one message at a time asks whether it is over; another one each time, since the first may be at fault. */
static bool probe(struct lane *lane, struct request **set, size_t count, struct error *err)
{
    struct request_own *own = lane->own;

    return run_set(lane, &set[own->probe++ % count], 1, err);
}

bool request_work(struct lane *lane, struct error *err)
{
    struct request **set = arena_alloc(lane->arena, (lane->batch.count + 1) * sizeof *set);
    size_t count = gather(lane, set);

    if (lane->storm.on && count > 0) {
        if (!probe(lane, set, count, err))
            return false;
        count = gather(lane, set);
    }
    for (size_t done = 0, n; done < count; done += n) {
        n = count - done < ORDER_CHANGE_MAX ? count - done : ORDER_CHANGE_MAX;
        if (!run_set(lane, set + done, n, err))
            return false;
    }
    return true;
}
