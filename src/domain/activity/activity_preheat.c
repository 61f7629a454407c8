#include "orderd/activity_preheat.h"

#include <inttypes.h>

#include "orderd/activity_apply.h"
#include "orderd/activity_store.h"
#include "orderd/check.h"
#include "orderd/fault.h"

const char *activity_shard_state_name(enum activity_shard_state state)
{
    static const char *const names[] = {"missing", "half-done", "present", "created", "resumed"};

    return names[state];
}

struct preheat {
    struct db *db;
    struct kv *kv;
    const struct activity *activity;
    bool dry_run;
    activity_shard_fn on_shard;
    void *arg;
    struct error *err;
};

/* ---- look ---- */

static bool in_the_way(const struct stock_plan *plan, const char *what, int64_t there, int64_t wanted,
                       const struct stock_audit *a, struct error *err)
{
    return error_set(err, ERROR_REFUSED,
                     "shard %d of activity %" PRId64 " is live with %s %" PRId64 " instead of %" PRId64 " (%" PRId64
                     " left, %" PRId64 " held, %" PRId64 " sold); nothing was changed: it is never overwritten",
                     plan->shard, plan->activity, what, there, wanted, a->left, a->held, a->sold);
}

/* Once it is marked, `orderctl activity restock` may have moved caps: then their sum counts (sum_kept). */
static bool as_planned(const struct preheat *preheat, const struct stock_plan *p, const struct stock_audit *a)
{
    const struct {
        const char *name;
        int64_t there, wanted;
    } values[] = {
        {"epoch", a->epoch, p->epoch},       {"cap", a->cap, preheat->activity->preheated ? a->cap : p->cap},
        {"limit", a->limit, p->limit},       {"starts_at", a->starts_at, p->starts_at},
        {"ends_at", a->ends_at, p->ends_at},
    };

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i].there != values[i].wanted)
            return in_the_way(p, values[i].name, values[i].there, values[i].wanted, a, preheat->err);
    }
    return true;
}

#define NO_SUCH_KEY (-2)

/* No stock, nothing ever sold, and a description of this epoch: what a preheat of a foreign tool leaves when it dies in
 * between. The script has the last word. */
static bool half_done(const struct stock_plan *p, const struct stock_audit *a)
{
    return a->ttl_stock == NO_SUCH_KEY && a->ttl_meta != NO_SUCH_KEY && a->epoch == p->epoch && a->held_orders == 0 &&
           a->gone_orders == 0 && a->buyer_marks == 0;
}

/* A shard may be made where no order can hold units of it. */
static bool may_make(const struct preheat *p, const struct stock_plan *plan)
{
    bool sold = p->activity->preheated;

    if (!sold && !activity_store_has_orders(p->db, plan->activity, plan->shard, &sold, p->err))
        return false;
    return !sold ||
           error_set(p->err, ERROR_REFUSED,
                     "shard %d of activity %" PRId64
                     " is gone from Redis, and orders may hold its units; nothing was changed: it must be rebuilt from "
                     "the database, not preheated",
                     plan->shard, plan->activity);
}

static bool look(const struct preheat *p, struct activity_shard *shard)
{
    const struct stock_plan *plan = &shard->plan;
    struct stock_audit a;

    if (!stock_audit(p->kv, plan->activity, plan->shard, &a, p->err))
        return false;
    shard->left = -1;
    if (a.code == STOCK_AUDIT_NO_SHARD) {
        shard->state = ACTIVITY_SHARD_MISSING;
        return may_make(p, plan);
    }
    if (a.code == STOCK_AUDIT_PRESENT) {
        shard->state = ACTIVITY_SHARD_THERE;
        shard->left = a.left;
        if (!as_planned(p, plan, &a))
            return false;
        shard->plan.cap = a.cap;
        shard->transfer = a.out;
        return true;
    }
    shard->state = ACTIVITY_SHARD_HALF;
    if (half_done(plan, &a))
        return may_make(p, plan);
    return error_set(p->err, ERROR_REFUSED,
                     "shard %d of activity %" PRId64
                     " is damaged, or holds keys that are not ours; nothing was changed: "
                     "rebuild it from the database or remove its keys",
                     plan->shard, plan->activity);
}

/* ---- do ---- */

static bool put(const struct preheat *p, struct activity_shard *shard)
{
    struct stock_preheated answer;

    if (!stock_preheat(p->kv, &shard->plan, &answer, p->err))
        return false;
    shard->left = answer.left;
    switch (answer.code) {
    case STOCK_PREHEAT_CREATED:
        shard->state = ACTIVITY_SHARD_CREATED;
        return true;
    case STOCK_PREHEAT_RESUMED:
        shard->state = ACTIVITY_SHARD_RESUMED;
        return true;
    case STOCK_PREHEAT_COMPLETE:
        shard->state = ACTIVITY_SHARD_THERE;
        return true;
    default:
        return error_set(p->err, ERROR_REFUSED, "shard %d of activity %" PRId64 ": %s (%s)", shard->plan.shard,
                         shard->plan.activity, stock_code_sentence(STOCK_SCRIPT_PREHEAT, answer.code), answer.note);
    }
}

/* Once marked, shards are only looked at: the script would make one that vanished a moment ago. */
static bool put_and_verify(const struct preheat *p, struct activity_shard *shard)
{
    if (!(p->activity->preheated ? look(p, shard) : put(p, shard)) || !stock_verify(p->kv, &shard->plan, p->err))
        return false;
    p->on_shard(p->arg, shard);
    FAULT(PREHEAT_AFTER_SHARD);
    return true;
}

static bool sum_kept(const struct preheat *p, int64_t cap)
{
    const struct activity *a = p->activity;

    return cap == a->total_stock ||
           error_set(p->err, ERROR_REFUSED,
                     "the shards of activity %" PRId64 " have %" PRId64 " units and the activity %" PRId64
                     "; `orderctl activity restock %" PRId64 " --stock %" PRId64 "` evens them out",
                     a->id, cap, a->total_stock, a->id, a->total_stock);
}

static bool each_shard(const struct preheat *p, bool (*step)(const struct preheat *, struct activity_shard *))
{
    int64_t cap = 0;

    for (int i = 0; i < p->activity->shards; i++) {
        struct activity_shard shard = {.state = ACTIVITY_SHARD_MISSING};

        activity_plan(p->activity, i, &shard.plan);
        if (!step(p, &shard))
            return false;
        cap += shard.plan.cap + shard.transfer;
    }
    return sum_kept(p, cap);
}

static bool look_and_tell(const struct preheat *p, struct activity_shard *shard)
{
    if (!look(p, shard))
        return false;
    if (p->dry_run)
        p->on_shard(p->arg, shard);
    return true;
}

/* ---- whether at all ---- */

static bool on_time(const struct activity *a, int64_t now, struct error *err)
{
    if (a->state == ACTIVITY_REVIEW)
        return error_set(err, ERROR_REFUSED,
                         "activity %" PRId64 " is in review; run `orderctl activity approve %" PRId64 "` first", a->id,
                         a->id);
    if (a->state != ACTIVITY_SCHEDULED)
        return error_set(err, ERROR_REFUSED, "activity %" PRId64 " is %s; only a scheduled one can be preheated", a->id,
                         activity_state_name(a->state));
    return a->ends_at > now || error_set(err, ERROR_REFUSED, "the sale of activity %" PRId64 " is over already", a->id);
}

/* Its answer does not matter: the calendar announces what is not announced. */
static bool announce(const struct preheat *p)
{
    struct stock_announcement announcement = activity_announcement(p->activity);
    struct stock_announced answer;

    FAULT(PREHEAT_AFTER_MARK);
    return stock_announce(p->kv, &announcement, &answer, p->err);
}

bool activity_preheat(struct db *db, struct kv *kv, int64_t id, bool dry_run, activity_shard_fn on_shard, void *arg,
                      struct activity *out, struct error *err)
{
    struct preheat p = {db, kv, out, dry_run, on_shard, arg, err};
    int64_t now;

    if (!activity_store_get(db, id, out, err) || !activity_store_now(db, &now, err))
        return false;
    if (out->state == ACTIVITY_RUNNING)
        return true;
    if (!on_time(out, now, err) || !each_shard(&p, look_and_tell))
        return false;
    if (dry_run)
        return true;
    return each_shard(&p, put_and_verify) && activity_store_mark_preheated(db, id, out->epoch, err) &&
           activity_store_get(db, id, out, err) && announce(&p);
}
