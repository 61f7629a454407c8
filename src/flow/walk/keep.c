/* The keys of a sale live as long as it is not settled: that a settlement can count what is in them, that late payments
 * and returns still find their order, and that a late deduct finds its number gone. They have an end of life all the
 * same, so that what no walk looks after any more goes by itself. Keys that lost their TTL are found by the scan. */
#include "walk_private.h"

#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/log.h"

/* Beyond the last payment of an order that is made right now. */
#define SPARE_MS INT64_C(7200000)

static int64_t keep_ms(const struct activity *activity)
{
    return activity->pay_timeout_ms + SPARE_MS;
}

/* Written only when half of it is over, so that most walks write nothing. */
static bool is_near(const struct activity *activity, const struct stock_audit *shard)
{
    return shard->code == STOCK_AUDIT_PRESENT && shard->epoch == activity->epoch &&
           shard->expire_at < shard->now + keep_ms(activity) / 2;
}

static size_t choose(const struct activity *activity, const struct stock_audit *audits, const struct error *errs,
                     struct stock_extend *out)
{
    size_t count = 0;

    for (int i = 0; i < activity->shards; i++) {
        if (errs[i].code == ERROR_NONE && is_near(activity, &audits[i]))
            out[count++] = (struct stock_extend){.activity = activity->id,
                                                 .shard = i,
                                                 .expire_at = audits[i].now + keep_ms(activity),
                                                 .epoch = activity->epoch};
    }
    return count;
}

static void told(struct visit *v, const struct stock_extend *what, const struct stock_extended *answer,
                 const struct error *err)
{
    if (err->code == ERROR_NONE && answer->code == STOCK_EXTEND_EXTENDED) {
        metric_add(v->walk->base.metrics, METRIC_WALK_KEPT, 1);
        v->done.mended++;
    } else if (err->code != ERROR_NONE || answer->code != STOCK_EXTEND_ALREADY) {
        metric_add(v->walk->base.metrics, METRIC_WALK_NOT_MENDED, 1);
        log_event(LOG_EVENT_WALK_NOT_MENDED, LOG_STR("kind", finding_name(FINDING_TTL_TOO_SHORT)),
                  LOG_INT("activity_id", what->activity), LOG_INT("shard", what->shard),
                  LOG_STR("why", err->code != ERROR_NONE ? err->text
                                                         : stock_code_sentence(STOCK_SCRIPT_EXTEND, answer->code)));
    }
}

static bool extend(struct visit *v, const struct stock_extend *what, size_t count, struct error *errs,
                   struct error *err)
{
    struct stock_extended *answers = check_calloc(count, sizeof *answers);
    bool ok = stock_extend_many(v->walk->kv, what, count, answers, errs, err);

    for (size_t i = 0; i < count && ok; i++)
        told(v, &what[i], &answers[i], &errs[i]);
    free(answers);
    return ok;
}

bool walk_keep(struct visit *v, struct error *err)
{
    size_t shards = (size_t)v->activity.shards, near = 0;
    struct stock_audit *audits = check_calloc(shards, sizeof *audits);
    struct stock_extend *what = check_calloc(shards, sizeof *what);
    struct error *errs = check_calloc(shards, sizeof *errs);
    bool ok = stock_audit_many(v->walk->kv, v->activity.id, v->activity.shards, audits, errs, err);

    if (ok)
        near = choose(&v->activity, audits, errs, what);
    if (near > 0)
        ok = extend(v, what, near, errs, err);
    free(errs);
    free(what);
    free(audits);
    return ok;
}
