/* From what was found to findings: counted, described, handed on. */
#include "balance_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

/* ---- handing on ---- */

void report_flush(struct scan *scan)
{
    size_t most = (size_t)scan->options->page;

    for (size_t i = 0; i < scan->found_count && !scan->ended; i += most) {
        size_t left = scan->found_count - i;

        if (!scan->on_findings(scan->arg, &scan->found[i], left < most ? left : most))
            scan->ended = true;
    }
    scan->found_count = 0;
}

/* Every one counts, also those that a caller who has seen enough does not get. */
void report_finding(struct scan *scan, const struct balance_finding *finding)
{
    struct balance_count *count = &scan->report->by_kind[finding->kind];

    count->findings++;
    count->units += llabs(finding->units);
    if (scan->found_count == scan->found_room) {
        scan->found_room = scan->found_room ? scan->found_room * 2 : 64;
        scan->found = check_realloc(scan->found, scan->found_room * sizeof *scan->found);
    }
    scan->found[scan->found_count++] = *finding;
}

bool report_next(struct scan *scan)
{
    const struct balance_options *o = scan->options;
    const struct balance_report *r = scan->report;

    report_flush(scan);
    if (o->progress)
        o->progress(o->arg, r->held_orders + r->live_orders + r->done_orders);
    if (!scan->ended && o->stop && o->stop(o->arg))
        scan->ended = true;
    if (!scan->ended)
        clock_sleep_ms(o->pause_ms);
    return !scan->ended;
}

/* ---- an order ---- */

void report_order_of(const struct activity *a, const struct subject *s, struct order *out)
{
    *out = (struct order){
        .activity_id = a->id,
        .user_id = s->seen.user,
        .sku_id = a->sku_id,
        .user_seq = (int32_t)s->seen.user_seq,
        .quantity = (int32_t)s->seen.quantity,
        .amount = s->seen.amount,
        .shard = s->shard,
        .epoch = (int32_t)s->seen.epoch,
        .reserved_at = s->seen.reserved_at,
    };
    memcpy(out->order_no, s->order_no, sizeof out->order_no);
}

/* Roughly. */
static const char *ago(char out[32], int64_t ms)
{
    if (ms < 120000)
        snprintf(out, 32, "%" PRId64 ".%" PRId64 " s ago", ms / 1000, ms % 1000 / 100);
    else if (ms < 7200000)
        snprintf(out, 32, "%" PRId64 " min ago", ms / 60000);
    else
        snprintf(out, 32, "%" PRId64 " h ago", ms / 3600000);
    return out;
}

static const char *in_redis(const struct stock_seen *seen)
{
    if (seen->held)
        return seen->gone ? "held and gone" : "held";
    return seen->gone ? stock_gone_name(seen->gone) : "unknown";
}

/* A pending row was decided when it was made. */
static void describe_row(const struct subject *s, char *out, size_t size)
{
    const char *reason = s->row.reason != REASON_NONE ? reason_name(s->row.reason) : "";
    char age[32];

    snprintf(out, size, "%s%s%s %s, in Redis %s", order_status_name(s->row.status), reason[0] ? ": " : "", reason,
             ago(age, s->row.decided_age_ms), in_redis(&s->seen));
}

/* A reservation knows of no SKU. */
static void describe_difference(const struct activity *a, const struct subject *s, char *out, size_t size)
{
    struct order reserved;

    report_order_of(a, s, &reserved);
    reserved.sku_id = s->row.order.sku_id;
    order_differences(&reserved, "Redis", &s->row.order, "the row", true, out, size);
}

static void describe(const struct activity *a, const struct subject *s, struct balance_finding *f)
{
    char age[32];
    int len;

    if (s->kind == FINDING_LEDGER_DAMAGED)
        snprintf(f->detail, sizeof f->detail, "shard %d, hash %s", s->shard,
                 s->seen.held && s->seen.gone ? "held and gone: the order is in both"
                 : s->seen.held               ? "held: the entry is not as ours are"
                                              : "gone: the word is not one of ours");
    else if (s->kind == FINDING_OTHER_CONTENT)
        describe_difference(a, s, f->detail, sizeof f->detail);
    else if (s->row.exists)
        describe_row(s, f->detail, sizeof f->detail);
    else {
        len = snprintf(f->detail, sizeof f->detail, "user %" PRId64 ", reserved %s", s->seen.user, ago(age, f->age_ms));
        if (s->recoveries > 0 && len > 0)
            snprintf(f->detail + len, sizeof f->detail - (size_t)len, ", sent again %d times", s->recoveries);
    }
}

void report_subject(struct scan *scan, const struct subject *s)
{
    struct balance_finding f = {
        .kind = s->kind,
        .activity_id = scan->report->activity.id,
        .shard = s->shard,
        .epoch = s->shard < scan->report->activity.shards ? scan->audits[s->shard].epoch : 0,
        .has_row = s->row.exists,
        .recoveries = s->recoveries,
    };

    if (s->kind == FINDING_NONE)
        return;
    if (s->row.exists) {
        f.order = s->row.order;
        f.status = s->row.status;
        f.reason = s->row.reason;
        f.units_returned = s->row.units_returned;
        f.units_forfeited = s->row.units_forfeited;
        f.age_ms = s->row.decided_age_ms;
    } else {
        report_order_of(&scan->report->activity, s, &f.order);
        f.age_ms = s->seen.held_valid ? scan->redis_now - s->seen.reserved_at : -1;
    }
    f.units = f.order.quantity;
    describe(&scan->report->activity, s, &f);
    report_finding(scan, &f);
}

/* ---- the rest ---- */

void report_shard(struct scan *scan, enum finding_kind kind, int shard, int64_t units, int64_t seen, const char *fmt,
                  ...)
{
    struct balance_finding f = {
        .kind = kind,
        .activity_id = scan->report->activity.id,
        .shard = shard,
        .epoch = shard >= 0 ? scan->audits[shard].epoch : 0,
        .units = units,
        .age_ms = -1,
        .seen = seen,
    };
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(f.detail, sizeof f.detail, fmt, ap);
    va_end(ap);
    report_finding(scan, &f);
}
