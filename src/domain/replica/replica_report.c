/* What a replica did in its last seconds, as it travels in its row. Buckets of the histogram that are empty are left
 * out. */
#include <jansson.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/replica.h"

static const struct {
    const char *name;
    enum metric metric;
} counts[] = {
#define X(count, name, metric) [REPLICA_##count] = {name, METRIC_##metric},
#include "orderd/tbl/replica_count.h"
#undef X
};

const char *replica_count_name(enum replica_count count)
{
    CHECK(count < REPLICA_COUNT_COUNT);
    return counts[count].name;
}

void replica_report_between(const struct metric_sum *before, const struct metric_sum *now, int64_t window_ms,
                            struct replica_report *out)
{
    out->window_ms = window_ms;
    for (int i = 0; i < REPLICA_COUNT_COUNT; i++)
        out->counts[i] = now->counters[counts[i].metric] - before->counters[counts[i].metric];
    for (int i = 0; i < METRIC_BUCKETS; i++)
        out->latency[i] = now->spans[METRIC_SPAN_CREATE][i] - before->spans[METRIC_SPAN_CREATE][i];
}

void replica_report_json(const struct replica_report *report, struct strbuf *out)
{
    const char *comma = "";

    strbuf_add_str(out, "{\"window_ms\":");
    strbuf_add_i64(out, report->window_ms);
    for (int i = 0; i < REPLICA_COUNT_COUNT; i++) {
        strbuf_addf(out, ",\"%s\":", counts[i].name);
        strbuf_add_u64(out, report->counts[i]);
    }
    strbuf_add_str(out, ",\"latency\":[");
    for (int i = 0; i < METRIC_BUCKETS; i++) {
        if (report->latency[i] == 0)
            continue;
        strbuf_addf(out, "%s[%d,", comma, i);
        strbuf_add_u64(out, report->latency[i]);
        strbuf_add_char(out, ']');
        comma = ",";
    }
    strbuf_add_str(out, "]}");
}

static bool take_count(const json_t *value, uint64_t *out)
{
    json_int_t n = json_integer_value(value);

    if (!json_is_integer(value) || n < 0)
        return false;
    *out = (uint64_t)n;
    return true;
}

static bool take_bucket(const json_t *pair, uint64_t latency[METRIC_BUCKETS])
{
    uint64_t bucket;

    return take_count(json_array_get(pair, 0), &bucket) && bucket < METRIC_BUCKETS &&
           take_count(json_array_get(pair, 1), &latency[bucket]);
}

static bool take_report(const json_t *object, struct replica_report *out)
{
    const json_t *latency = json_object_get(object, "latency"), *window = json_object_get(object, "window_ms");
    const json_t *pair;
    size_t i;

    if (!json_is_integer(window) || json_integer_value(window) < 0 || !json_is_array(latency))
        return false;
    out->window_ms = json_integer_value(window);
    for (int count = 0; count < REPLICA_COUNT_COUNT; count++) {
        if (!take_count(json_object_get(object, counts[count].name), &out->counts[count]))
            return false;
    }
    json_array_foreach(latency, i, pair)
    {
        if (!take_bucket(pair, out->latency))
            return false;
    }
    return true;
}

void replica_report_parse(struct slice json, struct replica_report *out)
{
    json_t *object = json_loadb(json.ptr ? json.ptr : "", json.len, 0, NULL);

    memset(out, 0, sizeof *out);
    if (!take_report(object, out))
        memset(out, 0, sizeof *out);
    json_decref(object);
}

void replica_totals_add(struct replica_totals *totals, const struct replica_report *report)
{
    if (report->window_ms <= 0)
        return;
    for (int i = 0; i < REPLICA_COUNT_COUNT; i++)
        totals->rates[i] += (double)report->counts[i] * 1000 / (double)report->window_ms;
    for (int i = 0; i < METRIC_BUCKETS; i++)
        totals->latency[i] += report->latency[i];
}
