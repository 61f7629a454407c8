/* What a scan found, for programs. */
#include <inttypes.h>

#include "orderd/balance.h"

int64_t balance_findings(const struct balance_report *report)
{
    int64_t sum = 0;

    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++)
        sum += report->by_kind[kind].findings;
    return sum;
}

int64_t balance_gaps(const struct balance_report *report)
{
    int64_t sum = 0;

    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++) {
        if (finding_mender((enum finding_kind)kind) != FINDING_MENDER_NOBODY)
            sum += report->by_kind[kind].findings;
    }
    return sum;
}

/* ---- JSON ---- */

void balance_counts_json(const struct balance_report *report, struct strbuf *out)
{
    bool any = false;

    strbuf_add_char(out, '{');
    for (int kind = FINDING_NONE + 1; kind < FINDING_KIND_COUNT; kind++) {
        const struct balance_count *c = &report->by_kind[kind];

        if (c->findings == 0)
            continue;
        strbuf_addf(out, "%s\"%s\":{\"findings\":%" PRId64 ",\"units\":%" PRId64 ",\"mender\":\"%s\"}", any ? "," : "",
                    finding_name((enum finding_kind)kind), c->findings, c->units,
                    finding_mender_name(finding_mender((enum finding_kind)kind)));
        any = true;
    }
    strbuf_add_char(out, '}');
}

static void member(struct strbuf *out, const char *name, int64_t value)
{
    strbuf_addf(out, ",\"%s\":%" PRId64, name, value);
}

void balance_sums_json(const struct balance_report *report, struct strbuf *out)
{
    const struct balance_sums *s = &report->sums;

    strbuf_addf(out, "{\"quiet\":%s", s->quiet ? "true" : "false");
    member(out, "cap", s->cap);
    member(out, "left", s->left);
    member(out, "held", s->held);
    member(out, "sold", s->sold);
    member(out, "forfeited", s->forfeited);
    member(out, "transfer", s->transfer);
    member(out, "total", s->total);
    member(out, "available", s->available);
    member(out, "live", s->live);
    member(out, "held_without_live_order", s->held_without_live);
    member(out, "live_unknown_to_redis", s->live_unknown);
    member(out, "unexplained", s->unexplained);
    strbuf_add_char(out, '}');
}

static void add_order(struct strbuf *out, const struct balance_finding *f)
{
    const struct order *o = &f->order;

    strbuf_addf(out, ",\"order_no\":\"%s\"", o->order_no); /* an alphabet without quotes */
    member(out, "user_id", o->user_id);
    member(out, "user_seq", o->user_seq);
    member(out, "quantity", o->quantity);
    member(out, "amount", o->amount);
    member(out, "reserved_at", o->reserved_at);
    if (f->has_row)
        strbuf_addf(out, ",\"status\":\"%s\"", order_status_name(f->status));
    if (f->has_row && f->reason != REASON_NONE)
        strbuf_addf(out, ",\"reason\":\"%s\"", reason_name(f->reason));
    if (f->recoveries > 0)
        member(out, "recoveries", f->recoveries);
}

void balance_finding_json(const struct balance_finding *f, struct strbuf *out)
{
    strbuf_addf(out, "{\"kind\":\"%s\",\"mender\":\"%s\"", finding_name(f->kind),
                finding_mender_name(finding_mender(f->kind)));
    member(out, "activity", f->activity_id);
    if (f->shard >= 0)
        member(out, "shard", f->shard);
    member(out, "units", f->units);
    if (f->age_ms >= 0)
        member(out, "age_ms", f->age_ms);
    if (f->order.order_no[0])
        add_order(out, f);
    strbuf_add_str(out, ",\"detail\":");
    strbuf_add_json(out, slice_of(f->detail));
    strbuf_add_char(out, '}');
}
