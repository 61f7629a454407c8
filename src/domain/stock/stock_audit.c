#include "stock_private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "orderd/check.h"

/* Servers count a TTL down in their own steps; a plan that is off by more than this was not kept. */
#define TTL_SLACK_MS 1000

struct which {
    int64_t activity;
    int shard;
};

static void build(struct stock_call *call, const void *request)
{
    const struct which *which = request;

    stock_call_shard(call, which->activity, which->shard);
}

static void read_numbers(const struct kv_reply *reply, void *answer)
{
    struct stock_audit *out = answer;
    size_t i = 0;

    out->code = (int)stock_answer_number(reply, i++);
#define X(field) out->field = stock_answer_number(reply, i++);
#include "orderd/tbl/stock_audit.h"
#undef X
}

enum {
    ELEMENTS = 1
#define X(field) +1
#include "orderd/tbl/stock_audit.h"
#undef X
};

static const struct stock_shape shape = {STOCK_SCRIPT_AUDIT,         ELEMENTS, sizeof(struct which),
                                         sizeof(struct stock_audit), build,    read_numbers};

bool stock_audit(struct kv *kv, int64_t activity, int shard, struct stock_audit *out, struct error *err)
{
    return stock_call_one(kv, &shape, &(struct which){activity, shard}, out, err);
}

bool stock_audit_many(struct kv *kv, int64_t activity, int shards, struct stock_audit *out, struct error *errs,
                      struct error *err)
{
    struct which *all;
    bool ok;

    CHECK(shards >= 1 && shards <= STOCK_SHARDS_MAX);
    all = check_calloc((size_t)shards, sizeof *all);
    for (int shard = 0; shard < shards; shard++)
        all[shard] = (struct which){activity, shard};
    ok = stock_call_many(kv, &shape, all, (size_t)shards, out, errs, err);
    free(all);
    return ok;
}

bool stock_audit_balances(const struct stock_audit *a)
{
    return a->left >= 0 && a->held >= 0 && a->sold >= 0 && a->forfeited >= 0 &&
           a->cap == a->left + a->held + a->sold + a->forfeited;
}

static bool same(const char *what, int64_t found, int64_t wanted, struct error *err)
{
    return found == wanted ||
           error_set(err, ERROR_REFUSED, "%s is %" PRId64 " instead of %" PRId64, what, found, wanted);
}

/* A hash that does not exist yet (-2) needs none. */
static bool expires(const char *key, int64_t ttl, bool may_be_absent, const struct stock_audit *a, struct error *err)
{
    int64_t off = ttl - (a->expire_at - a->now);

    if (may_be_absent && ttl == -2)
        return true;
    if (ttl >= 0 && off >= -TTL_SLACK_MS && off <= TTL_SLACK_MS)
        return true;
    return error_set(err, ERROR_REFUSED, "the TTL of %s is %" PRId64 " ms and should be %" PRId64, key, ttl,
                     a->expire_at - a->now);
}

static bool ttls_kept(const struct stock_audit *a, struct error *err)
{
    return expires("stock", a->ttl_stock, false, a, err) && expires("held", a->ttl_held, true, a, err) &&
           expires("gone", a->ttl_gone, true, a, err) && expires("buyers", a->ttl_buyers, true, a, err) &&
           expires("meta", a->ttl_meta, false, a, err);
}

static bool as_planned(const struct stock_plan *plan, const struct stock_audit *a, struct error *err)
{
    if (a->code != STOCK_AUDIT_PRESENT)
        return error_set(err, ERROR_REFUSED, "%s", stock_code_sentence(STOCK_SCRIPT_AUDIT, a->code));
    if (!same("cap", a->cap, plan->cap, err) || !same("epoch", a->epoch, plan->epoch, err) ||
        !same("limit", a->limit, plan->limit, err) || !same("starts_at", a->starts_at, plan->starts_at, err) ||
        !same("ends_at", a->ends_at, plan->ends_at, err))
        return false;
    if (a->expire_at < plan->expire_at)
        return same("expire_at", a->expire_at, plan->expire_at, err);
    if (!stock_audit_balances(a))
        return same("left + held + sold + forfeited", a->left + a->held + a->sold + a->forfeited, a->cap, err);
    return ttls_kept(a, err);
}

bool stock_verify(struct kv *kv, const struct stock_plan *plan, struct error *err)
{
    struct stock_audit audit;

    if (!stock_audit(kv, plan->activity, plan->shard, &audit, err))
        return false;
    if (!as_planned(plan, &audit, err))
        return error_prefix(err, "activity %" PRId64 ", shard %d", plan->activity, plan->shard);
    return true;
}
