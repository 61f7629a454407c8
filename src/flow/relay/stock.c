#include "relay_private.h"

#include <inttypes.h>
#include <stdio.h>

#include "orderd/activity.h"
#include "orderd/log.h"
#include "orderd/stock_effect.h"

/* How long a return waits for its shard: an operator must rebuild it, or the activity be settled. */
#define SHARD_WAIT_MS 30000

static bool open_kv(struct relay *relay, struct error *err)
{
    char name[64];

    if (relay->kv)
        return true;
    if (!target_may_try(&relay->kv_target))
        return error_set(err, ERROR_KV_AWAY, "Redis is away");
    snprintf(name, sizeof name, "orderd-%.40s-relay", relay->shared->instance);
    relay->kv = kv_open(relay->conf, name, err);
    if (relay->kv) {
        target_reached(&relay->kv_target);
        log_event(LOG_EVENT_KV_UP, LOG_STR("host", relay->conf->redis_host));
    } else {
        target_failed(&relay->kv_target);
        log_event(LOG_EVENT_KV_DOWN, LOG_ERR(err));
    }
    return relay->kv != NULL;
}

static void lose_kv(struct relay *relay, const struct error *err)
{
    log_event(LOG_EVENT_KV_DOWN, LOG_ERR(err));
    kv_close(&relay->kv);
    target_failed(&relay->kv_target);
}

static void note_state(void *arg, const struct activity *activity)
{
    *(bool *)arg = activity->state == ACTIVITY_SETTLED;
}

/* Its shard is not there: gone with a settled activity, or lost and to be rebuilt. */
static void shard_missing(struct relay *relay, struct sending *s, const struct stock_giveback *g, const char *what)
{
    struct error err = {0};
    bool settled = false;

    if (activity_read(relay->db, &g->activity, 1, note_state, &settled, &err) && settled) {
        relay_settle(s, LOCAL_MESSAGE_SENT, 0, NULL);
        return;
    }
    log_event(LOG_EVENT_STOCK_MISSING, LOG_SLICE("order_no", g->order_no), LOG_INT("activity_id", g->activity),
              LOG_INT("shard", g->shard), LOG_STR("what", what));
    relay_settle(s, LOCAL_MESSAGE_WAIT, SHARD_WAIT_MS, what);
}

static void refused(struct relay *relay, struct sending *s, const struct stock_returned *r)
{
    char why[200];

    snprintf(why, sizeof why, "%s: %s", stock_code_sentence(STOCK_SCRIPT_RETURN, r->code), r->note);
    relay_settle(s, LOCAL_MESSAGE_QUARANTINE, 0, relay_text(relay, why));
}

static void judge(struct relay *relay, struct sending *s, const struct stock_giveback *g,
                  const struct stock_returned *r)
{
    switch (r->code) {
    case STOCK_RETURN_CUT:
        log_event(LOG_EVENT_STOCK_CUT, LOG_SLICE("order_no", g->order_no), LOG_INT("activity_id", g->activity),
                  LOG_INT("shard", g->shard), LOG_INT("dropped", r->dropped));
        /* fall through */
    case STOCK_RETURN_GIVEN_BACK:
        metric_add(relay->metrics, METRIC_STOCK_UNITS_RETURNED, (uint64_t)r->back);
        log_event(LOG_EVENT_STOCK_RETURNED, LOG_SLICE("order_no", g->order_no), LOG_INT("activity_id", g->activity),
                  LOG_INT("shard", g->shard), LOG_INT("back", r->back), LOG_INT("forfeited", r->forfeited));
        relay_settle(s, LOCAL_MESSAGE_SENT, 0, NULL);
        break;
    case STOCK_RETURN_ALREADY:
    case STOCK_RETURN_REFUSED:
        relay_settle(s, LOCAL_MESSAGE_SENT, 0, NULL);
        break;
    case STOCK_RETURN_NO_SHARD:
    case STOCK_RETURN_NEWER_EPOCH:
    case STOCK_RETURN_DAMAGED:
        shard_missing(relay, s, g, stock_code_sentence(STOCK_SCRIPT_RETURN, r->code));
        break;
    default:
        refused(relay, s, r);
    }
}

/* Those whose payload is good, in `effects` and `which`. */
static size_t decode(struct relay *relay, struct sending *all, size_t count, struct stock_effect *effects,
                     struct sending **which)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        struct error err = {0};

        if (all[i].kind != EFFECT_STOCK_RETURN || all[i].settled || relay_late(relay, &all[i]))
            continue;
        if (stock_effect_decode(all[i].message->payload, &effects[n], &err))
            which[n++] = &all[i];
        else
            relay_settle(&all[i], LOCAL_MESSAGE_QUARANTINE, 0, relay_text(relay, err.text));
    }
    return n;
}

static void wait_all(struct relay *relay, struct sending **which, size_t n, const struct error *err)
{
    const char *why = relay_text(relay, err->text);

    for (size_t i = 0; i < n; i++)
        relay_wait_for(relay, which[i], &relay->kv_target, why);
}

static void run(struct relay *relay, struct stock_effect *effects, struct sending **which, size_t n)
{
    struct stock_giveback *orders = arena_alloc(relay->arena, n * sizeof *orders);
    struct stock_returned *out = arena_alloc(relay->arena, n * sizeof *out);
    struct error *errs = arena_zalloc(relay->arena, n * sizeof *errs);
    struct error err = {0};

    for (size_t i = 0; i < n; i++)
        orders[i] = effects[i].giveback;
    if (!open_kv(relay, &err)) {
        wait_all(relay, which, n, &err);
        return;
    }
    if (!stock_return_many(relay->kv, orders, n, out, errs, &err)) {
        lose_kv(relay, &err); /* each of them ran or did not: the script answers the same when it is repeated */
        wait_all(relay, which, n, &err);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (errs[i].code == ERROR_NONE)
            judge(relay, which[i], &orders[i], &out[i]);
        else if (error_class_of(&errs[i]) == ERROR_CLASS_PERMANENT)
            relay_failed(relay, which[i], relay_text(relay, errs[i].text));
        else
            wait_all(relay, &which[i], 1, &errs[i]);
    }
}

void relay_stock(struct relay *relay, struct sending *all, size_t count)
{
    struct stock_effect *effects = arena_alloc(relay->arena, count * sizeof *effects);
    struct sending **which = arena_alloc(relay->arena, count * sizeof *which);
    size_t n = decode(relay, all, count, effects, which);

    if (n > 0)
        run(relay, effects, which, n);
}
