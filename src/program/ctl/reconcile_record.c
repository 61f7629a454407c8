/* The same for programs: one JSON object a line. */
#include "reconcile.h"
#include "record.h"

/* {"record":"<what>", and the finding's own members */
static void begin_finding(struct strbuf *line, const char *what, const struct balance_finding *f)
{
    struct strbuf json = STRBUF_INIT;

    balance_finding_json(f, &json);
    strbuf_addf(line, "{\"record\":\"%s\",", what);
    strbuf_add(line, json.data + 1, json.len - 1);
    strbuf_release(&json);
}

static void record_repairs(const struct reconcile *r, struct strbuf *line)
{
    for (size_t i = 0; i < r->mending.count && r->outcomes; i++) {
        begin_finding(line, "repair", &r->mending.list[i]);
        strbuf_cut(line, line->len - 1);
        record_text(line, "result", reconcile_result(r, r->outcomes[i].mended));
        record_text(line, "what", r->outcomes[i].text);
        record_close(line, '}');
        record_print(line);
    }
}

static void record_queues(const struct reconcile_queues *q, struct strbuf *line)
{
    if (!q->read) {
        record_null(line, "queues");
        return;
    }
    record_open(line, "queues", '{');
    for (size_t i = 0; i < q->count; i++) {
        if (q->list[i].known)
            record_number(line, q->list[i].name, q->list[i].messages);
        else
            record_null(line, q->list[i].name);
    }
    record_close(line, '}');
}

static void record_report(struct strbuf *line, const char *name, const struct balance_report *report)
{
    record_open(line, name, '{');
    strbuf_add_str(line, "\"sums\":");
    balance_sums_json(report, line);
    strbuf_add_str(line, ",\"found\":");
    balance_counts_json(report, line);
    record_number(line, "gaps", balance_gaps(report));
    record_number(line, "reservations", report->held_orders);
    record_number(line, "live_orders", report->live_orders);
    record_number(line, "done_orders", report->done_orders);
    record_number(line, "rechecked", report->rechecked);
    record_number(line, "took_ms", report->took_ms);
    record_close(line, '}');
}

static void record_activity(const struct reconcile *r, struct strbuf *line)
{
    record_open(line, NULL, '{');
    record_text(line, "record", "activity");
    record_number(line, "activity", r->run.activity_id);
    record_text(line, "state", activity_state_name(r->before.activity.state));
    record_text(line, "mode", reconcile_mode_name(r->mode));
    record_text(line, "verdict", balance_verdict_name(r->verdict));
    record_number(line, "run", r->run.id);
    record_number(line, "in_flight_ms", r->run.in_flight_ms);
    record_queues(&r->queues, line);
    record_report(line, "before", &r->before);
    if (r->mode == RECONCILE_REPAIR)
        record_report(line, "after", &r->after);
    record_number(line, "mendable", r->mendable);
    record_number(line, "repaired", r->repaired);
    record_number(line, "not_repaired", r->not_repaired);
    record_close(line, '}');
    record_print(line);
}

void reconcile_record(const struct reconcile *r)
{
    struct strbuf line = STRBUF_INIT;

    for (size_t i = 0; i < r->shown.count; i++) {
        begin_finding(&line, "finding", &r->shown.list[i]);
        record_print(&line);
    }
    record_repairs(r, &line);
    record_activity(r, &line);
    strbuf_release(&line);
}
