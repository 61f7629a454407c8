/* Each shard by itself: there, of the right epoch, adding up, living long enough. */
#include "balance_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

#define TTL_SLACK_MS  2000 /* servers count in steps of their own, and a command may be under way */
#define NO_SUCH_KEY   (-2)
#define HOUR_MS       INT64_C(3600000)
#define KEEP_AFTER_MS (2 * HOUR_MS)

bool shards_read(struct scan *scan, struct stock_audit *audits, bool *readable, struct error *err)
{
    int shards = scan->report->activity.shards;
    struct error *errs = check_calloc((size_t)shards, sizeof *errs);
    bool ok = stock_audit_many(scan->kv, scan->report->activity.id, shards, audits, errs, err);

    for (int i = 0; i < shards && ok; i++) {
        if (errs[i].code != ERROR_NONE && errs[i].code != ERROR_KV_DATA) {
            *err = errs[i];
            ok = false;
        }
        if (errs[i].code == ERROR_KV_DATA) /* a key of a foreign kind */
            audits[i] = (struct stock_audit){.code = STOCK_AUDIT_DAMAGED};
        readable[i] = ok && audits[i].code == STOCK_AUDIT_PRESENT;
        if (audits[i].now > scan->redis_now)
            scan->redis_now = audits[i].now;
    }
    free(errs);
    return ok;
}

bool shard_quiet(const struct stock_audit *a, const struct stock_audit *b)
{
    /* Whatever leaves the ledger makes `gone` longer, and whatever enters it makes `held` longer. */
    return a->code == STOCK_AUDIT_PRESENT && b->code == a->code && a->epoch == b->epoch && a->cap == b->cap &&
           a->out == b->out && a->left == b->left && a->held == b->held && a->sold == b->sold &&
           a->forfeited == b->forfeited && a->held_orders == b->held_orders && a->gone_orders == b->gone_orders;
}

/* ---- how long its keys live ---- */

static bool expires_with_the_rest(const struct stock_audit *a, int64_t ttl)
{
    int64_t off = ttl - (a->expire_at - a->now);

    return ttl == NO_SUCH_KEY || (ttl >= 0 && off >= -TTL_SLACK_MS && off <= TTL_SLACK_MS);
}

/* Orders that hold units may still be paid or closed, whenever that is. Without a ledger, MySQL says whether there are
 * any. */
static bool needed(const struct activity *a, const struct stock_audit *audit)
{
    return a->reservations ? audit->held > 0 || audit->held_orders > 0 : a->available < a->total_stock;
}

static void check_ttl(struct scan *scan, int shard)
{
    const struct activity *a = &scan->report->activity;
    const struct stock_audit *s = &scan->audits[shard];
    struct stock_plan plan;
    int64_t least, wanted;

    activity_plan(a, shard, &plan);
    least = wanted = plan.expire_at;
    if (needed(a, s) && s->now + a->pay_timeout_ms + HOUR_MS > least)
        least = s->now + a->pay_timeout_ms + HOUR_MS;
    if (least > wanted)
        wanted = s->now + a->pay_timeout_ms + KEEP_AFTER_MS;
    if (s->expire_at > wanted)
        wanted = s->expire_at;
    if (s->expire_at < least)
        report_shard(scan, FINDING_TTL_TOO_SHORT, shard, 0, wanted,
                     "they end %" PRId64 " s from now, %" PRId64 " s too early", (s->expire_at - s->now) / 1000,
                     (least - s->expire_at) / 1000);
    if (!expires_with_the_rest(s, s->ttl_stock) || !expires_with_the_rest(s, s->ttl_held) ||
        !expires_with_the_rest(s, s->ttl_gone) || !expires_with_the_rest(s, s->ttl_buyers) ||
        !expires_with_the_rest(s, s->ttl_meta))
        report_shard(scan, FINDING_KEYS_WITHOUT_TTL, shard, 0, wanted,
                     "TTL in s (-1: none): stock %" PRId64 ", held %" PRId64 ", gone %" PRId64 ", buyers %" PRId64
                     ", meta %" PRId64 "; wanted %" PRId64,
                     s->ttl_stock / 1000, s->ttl_held / 1000, s->ttl_gone / 1000, s->ttl_buyers / 1000,
                     s->ttl_meta / 1000, (s->expire_at - s->now) / 1000);
}

/* ---- its numbers ---- */

static void check_numbers(struct scan *scan, int shard)
{
    const struct activity *a = &scan->report->activity;
    const struct stock_audit *s = &scan->audits[shard];
    int64_t off = s->left + s->held + s->sold + s->forfeited - s->cap;

    if (s->epoch != a->epoch)
        report_shard(scan, FINDING_SHARD_EPOCH, shard, 0, s->epoch, "epoch %" PRId64 " in Redis, %d in MySQL", s->epoch,
                     a->epoch);
    if (a->reservations && !stock_audit_balances(s))
        report_shard(scan, FINDING_SHARD_UNBALANCED, shard, off, s->left,
                     "cap %" PRId64 ", left %" PRId64 " + held %" PRId64 " + sold %" PRId64 " + forfeited %" PRId64
                     ": %" PRId64 " %s",
                     s->cap, s->left, s->held, s->sold, s->forfeited, off < 0 ? -off : off,
                     off < 0   ? "lost"
                     : off > 0 ? "too many"
                               : "off, and a number is negative");
}

/* Which orders stand in MySQL for a shard that Redis cannot tell of. */
static bool report_lost(struct scan *scan, int shard, enum finding_kind kind, struct error *err)
{
    int64_t orders, units;

    if (!rows_of_shard(scan, shard, &orders, &units, err))
        return false;
    report_shard(scan, kind, shard, units, 0, "MySQL has %" PRId64 " live orders of it, %" PRId64 " units", orders,
                 units);
    return true;
}

bool shards_check(struct scan *scan, struct error *err)
{
    for (int i = 0; i < scan->report->activity.shards; i++) {
        int code = scan->audits[i].code;

        if (code == STOCK_AUDIT_PRESENT) {
            scan->report->shards_present++;
            check_numbers(scan, i);
            check_ttl(scan, i);
        } else if (!report_lost(scan, i, code == STOCK_AUDIT_NO_SHARD ? FINDING_SHARD_MISSING : FINDING_SHARD_DAMAGED,
                                err)) {
            return false;
        }
    }
    return true;
}
