/* The terminal decision about an order that cannot be recovered, made from its reservation (order_rejection.h). Where
 * somebody has decided about its number meanwhile, theirs stands. */
#include "walk_private.h"

#include <stdio.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/fault.h"
#include "orderd/log.h"
#include "orderd/order_rejection.h"
#include "orderd/relay.h"

#define CONFLICTS_MAX 10

static void counted(struct visit *v, const struct balance_finding *f)
{
    metric_add(v->walk->base.metrics, METRIC_WALK_GIVEN_UP, 1);
    metric_add(v->walk->base.metrics, METRIC_ORDERS_REJECTED, 1);
    v->done.recovered++;
    log_event(LOG_EVENT_WALK_GAVE_UP, LOG_STR("order_no", f->order.order_no),
              LOG_INT("activity_id", f->order.activity_id), LOG_INT("user_id", f->order.user_id),
              LOG_INT("quantity", f->order.quantity), LOG_INT("recoveries", f->recoveries),
              LOG_INT("age_ms", f->age_ms));
}

static bool decide(struct walk *walk, const struct order_rejection *rejection, struct error *err)
{
    struct relay *relay = walk->base.shared->relay;
    struct local_messages committed;
    bool ok;

    local_messages_init(&committed);
    ok = order_rejection_run(walk->db, rejection, relay_owner(relay), relay_lease_ms(relay, walk->base.conf),
                             &committed, err);
    if (ok)
        FAULT(WALK_AFTER_GIVING_UP);
    if (ok)
        relay_offer(relay, &committed);
    local_messages_free(&committed);
    return ok;
}

static bool decide_patiently(struct walk *walk, const struct order_rejection *rejection, struct error *err)
{
    for (int tries = 1;; tries++) {
        error_clear(err);
        if (decide(walk, rejection, err))
            return true;
        if (error_class_of(err) != ERROR_CLASS_TRANSIENT || tries == CONFLICTS_MAX)
            return false;
        clock_sleep_ms(10 * tries);
    }
}

/* There is a row after all, so theirs stands, and what is due for it will be found. Any other key that answers was
 * written by foreign hands. */
static bool is_void(const struct walk *walk, const struct error *err)
{
    return err->code == ERROR_DB_DUPLICATE && strcmp(db_duplicate_key(walk->db), "uk_order_no") == 0;
}

/* What is not the server's fault is this order's alone: the next walk tries again. */
static void failed(struct visit *v, const struct balance_finding *f, const struct error *err)
{
    metric_add(v->walk->base.metrics, METRIC_WALK_NOT_MENDED, 1);
    log_event(LOG_EVENT_WALK_NOT_MENDED, LOG_STR("kind", finding_name(f->kind)), LOG_INT("activity_id", f->activity_id),
              LOG_INT("shard", f->shard), LOG_STR("order_no", f->order.order_no), LOG_ERR(err));
}

bool walk_give_up(struct visit *v, const struct balance_finding *f)
{
    const char *instance = v->walk->base.shared->instance;
    char worker[64], detail[64];
    struct order_rejection rejection = {
        .order = &f->order,
        .units_back = f->order.quantity, /* it never was a row, so MySQL has them */
        .reservations = true,            /* it has one */
        .silent = !v->walk->base.conf->events_enabled,
        .letter = {.reason = REASON_UNRECOVERABLE,
                   .detail = detail,
                   .stage = "walk",
                   .origin = v->walk->base.conf->create_queue,
                   .worker = worker,
                   .attempt = f->recoveries},
    };
    struct error err = {0};

    snprintf(worker, sizeof worker, "orderd%s%.40s walk", instance[0] ? "@" : "", instance);
    snprintf(detail, sizeof detail, "sent again %d times, and still no order", f->recoveries);
    if (decide_patiently(v->walk, &rejection, &err)) {
        counted(v, f);
        return true;
    }
    if (!db_usable(v->walk->db) || error_class_of(&err) == ERROR_CLASS_OUTAGE) {
        *v->err = err;
        return error_prefix(v->err, "giving up %s", f->order.order_no);
    }
    if (!is_void(v->walk, &err))
        failed(v, f, &err);
    return true;
}
