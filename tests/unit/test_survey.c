/* The survey: drift by table, what is remembered, the fleet put together, and the JSON that all of it travels in. */
#include "testing.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/survey.h"
#include "orderd/survey_board.h"

#define UNKNOWN SURVEY_UNKNOWN

static struct survey one, two;
static struct strbuf text;

static void release(void)
{
    strbuf_release(&text);
}

/* ---- the shards of an activity together ---- */

START_TEST(shards_are_summed)
{
    struct activity a = {.shards = 4, .epoch = 7};
    struct stock_audit audits[4] = {
        {.code = STOCK_AUDIT_PRESENT,
         .epoch = 7,
         .cap = 100,
         .left = 60,
         .held = 30,
         .sold = 8,
         .forfeited = 2,
         .held_orders = 15,
         .gone_orders = 6},
        {.code = STOCK_AUDIT_PRESENT, .epoch = 7, .cap = 10, .left = 10, .paused = 1},
        {.code = STOCK_AUDIT_NO_SHARD, .left = 5},
        {.code = STOCK_AUDIT_PRESENT, .epoch = 6, .cap = 1000, .left = 1000},
    };
    struct survey_stock s;

    survey_stock_sum(&a, audits, &s);
    ck_assert(s.cap == 110 && s.left == 70 && s.held == 30 && s.sold == 8 && s.gone == 2);
    ck_assert(s.taken == 21 && s.ended == 6);
    ck_assert(s.empty == 0 && s.left_least == 10 && s.left_most == 60); /* of those that are there */
    ck_assert(s.missing == 1 && s.damaged == 1 && s.paused == 1 && !s.whole);
    audits[1].left = 0;
    survey_stock_sum(&a, audits, &s);
    ck_assert(s.empty == 1 && s.left_least == 0 && s.left_most == 60);
    a.shards = 1;
    survey_stock_sum(&a, audits, &s);
    ck_assert(s.whole && s.empty == 0 && s.left_least == 60 && s.left_most == 60);
    audits[0].code = STOCK_AUDIT_DAMAGED;
    survey_stock_sum(&a, audits, &s);
    ck_assert(s.damaged == 1 && !s.whole && s.left == 0 && s.left_least == 0 && s.left_most == 0);
}
END_TEST

/* ---- drift ---- */

/* Of an activity of 1000 units and at most 2 a buyer: Redis before and after (taken and ended orders), MySQL, and what
 * is on its way; then what comes of it. */
static const struct drift_case {
    const char *what;
    int64_t left, held, sold, gone, taken, ended; /* before */
    int64_t taken_after, ended_after;             /* more than before */
    int64_t available, pending_units, paid_units, messages;
    int64_t window_orders, queued;
    int64_t redis_off, mysql_off, in_flight, beyond, drift;
} drifts[] = {
    {"at rest", 900, 60, 40, 0, 50, 20, 0, 0, 900, 60, 40, 0, 0, 0, 0, 0, 0, 0, 0},
    {"a unit vanished from Redis", 899, 60, 40, 0, 50, 20, 0, 0, 900, 60, 40, 0, 0, 0, 1, 0, 0, 0, 1},
    {"a unit too many in Redis", 901, 60, 40, 0, 50, 20, 0, 0, 900, 60, 40, 0, 0, 0, -1, 0, 0, 0, 1},
    {"MySQL's stock was lowered", 900, 60, 40, 0, 50, 20, 0, 0, 893, 60, 40, 0, 0, 0, 0, 7, 0, 0, 7},
    {"both", 899, 60, 40, 0, 50, 20, 0, 0, 902, 60, 40, 0, 0, 0, 1, -2, 0, 0, 3},
    {"three orders were just taken", 894, 66, 40, 0, 53, 20, 0, 0, 900, 60, 40, 0, 3, 0, 0, 0, 6, 0, 0},
    {"one of them long ago", 894, 66, 40, 0, 53, 20, 0, 0, 900, 60, 40, 0, 2, 0, 0, 0, 4, 2, 2},
    {"but it waits in a queue", 894, 66, 40, 0, 53, 20, 0, 0, 900, 60, 40, 0, 2, 1, 0, 0, 6, 0, 0},
    {"or in the local message table", 894, 66, 40, 0, 53, 20, 0, 0, 900, 60, 40, 1, 2, 0, 0, 0, 6, 0, 0},
    {"given back between the readings", 894, 66, 40, 0, 53, 20, 0, 1, 900, 60, 40, 0, 2, 0, 0, 0, 6, 0, 0},
    {"Redis forgot an order", 902, 58, 40, 0, 49, 20, 0, 0, 900, 60, 40, 0, 0, 0, 0, 0, 0, 2, 2},
    {"or it was taken between the readings", 902, 58, 40, 0, 49, 20, 1, 0, 900, 60, 40, 0, 0, 0, 0, 0, 2, 0, 0},
    {"what is on its way explains no forgotten order",
     902,
     58,
     40,
     0,
     49,
     20,
     0,
     9,
     900,
     60,
     40,
     9,
     9,
     9,
     0,
     0,
     0,
     2,
     2},
    {"forfeited units are in neither", 890, 60, 40, 10, 50, 20, 0, 0, 900, 60, 40, 0, 0, 0, 0, 0, 0, 0, 0},
    {"the queues are not known", 894, 66, 40, 0, 53, 20, 0, 0, 900, 60, 40, 0, 0, UNKNOWN, 0, 0, 6, 0, 0},
    {"the window is not over yet", 894, 66, 40, 0, 53, 20, 0, 0, 900, 60, 40, 0, UNKNOWN, 0, 0, 0, 6, 0, 0},
    {"more messages than are counted", 894, 66, 40, 0, 53, 20, 0, 0, 900, 60, 40, UNKNOWN, 0, 0, 0, 0, 6, 0, 0},
};

static struct survey_stock stock_before(const struct drift_case *c)
{
    return (struct survey_stock){.cap = 1000,
                                 .left = c->left,
                                 .held = c->held,
                                 .sold = c->sold,
                                 .gone = c->gone,
                                 .taken = c->taken,
                                 .ended = c->ended,
                                 .whole = true};
}

static struct survey_rows rows_of(const struct drift_case *c)
{
    return (struct survey_rows){.has_stock = true,
                                .total = 1000,
                                .available = c->available,
                                .pending_units = c->pending_units,
                                .paid_units = c->paid_units,
                                .messages = c->messages};
}

static const struct activity sold = {.total_stock = 1000, .per_user_limit = 2, .reservations = true};

START_TEST(drift_by_table)
{
    const struct drift_case *c = &drifts[_i];
    struct survey_stock before = stock_before(c), after = before;
    struct survey_rows rows = rows_of(c);
    struct survey_flight flight = {.window_orders = c->window_orders, .queued = c->queued};
    struct survey_drift d;

    after.taken += c->taken_after;
    after.ended += c->ended_after;
    survey_drift_of(&sold, &before, &rows, &after, &flight, &d);
    ck_assert_msg(d.redis_off == c->redis_off && d.mysql_off == c->mysql_off && d.in_flight == c->in_flight &&
                      d.beyond == c->beyond && d.drift == c->drift,
                  "%s: redis %d mysql %d in flight %d beyond %d drift %d", c->what, (int)d.redis_off, (int)d.mysql_off,
                  (int)d.in_flight, (int)d.beyond, (int)d.drift);
}
END_TEST

/* Nothing is said that is not known. */
START_TEST(drift_unknown)
{
    struct survey_stock before = stock_before(&drifts[1]), after = before;
    struct survey_rows rows = rows_of(&drifts[1]);
    struct survey_flight flight = {0};
    struct activity foreign = sold;
    struct survey_drift d;

    survey_drift_of(&sold, NULL, NULL, NULL, &flight, &d);
    ck_assert(d.redis_off == UNKNOWN && d.mysql_off == UNKNOWN && d.in_flight == UNKNOWN && d.drift == UNKNOWN);
    survey_drift_of(&sold, &before, NULL, NULL, &flight, &d);
    ck_assert(d.redis_off == 1 && d.mysql_off == UNKNOWN && d.drift == UNKNOWN);
    survey_drift_of(&sold, NULL, &rows, NULL, &flight, &d);
    ck_assert(d.redis_off == UNKNOWN && d.mysql_off == 0 && d.drift == UNKNOWN);
    foreign.reservations = false;
    survey_drift_of(&foreign, &before, &rows, &after, &flight, &d);
    ck_assert(d.redis_off == UNKNOWN && d.mysql_off == 0 && d.drift == UNKNOWN);
    after.whole = false;
    survey_drift_of(&sold, &before, &rows, &after, &flight, &d);
    ck_assert(d.beyond == UNKNOWN && d.drift == UNKNOWN);
    before.whole = false;
    survey_drift_of(&sold, &before, &rows, &after, &flight, &d);
    ck_assert(d.redis_off == UNKNOWN);
    before.whole = after.whole = true;
    after.taken = before.taken - 1; /* rebuilt in between */
    survey_drift_of(&sold, &before, &rows, &after, &flight, &d);
    ck_assert(d.drift == UNKNOWN);
    rows.has_stock = false;
    survey_drift_of(&sold, &before, &rows, &before, &flight, &d);
    ck_assert(d.mysql_off == UNKNOWN && d.drift == UNKNOWN);
}
END_TEST

/* A restock is in MySQL first; caps that never follow are units too few. */
START_TEST(drift_of_a_restock)
{
    struct survey_stock s = stock_before(&drifts[0]);
    struct survey_rows rows = rows_of(&drifts[0]);
    struct survey_flight flight = {0};
    struct activity more = sold;
    struct survey_drift d;

    more.total_stock = rows.total = 1100;
    rows.available += 100;
    survey_drift_of(&more, &s, &rows, &s, &flight, &d);
    ck_assert_int_eq(d.drift, 0);
    flight.caps_differ_long = true;
    survey_drift_of(&more, &s, &rows, &s, &flight, &d);
    ck_assert(d.redis_off == 100 && d.drift == 100);
}
END_TEST

/* ---- what is remembered ---- */

START_TEST(trail_finds_what_was)
{
    struct survey_trail t = {0};
    int64_t then, value;

    ck_assert(!survey_trail_before(&t, 1000, 0, &then, &value));
    for (int64_t at = 0; at <= 300000; at += 1000)
        survey_trail_add(&t, at, at / 1000, 240000);
    ck_assert(survey_trail_before(&t, 300000, 240000, &then, &value));
    ck_assert(then <= 60000 && then > 56000 && value == then / 1000);
    ck_assert(survey_trail_before(&t, 300000, 0, &then, &value));
    ck_assert_int_gt(then, 296000);
    ck_assert(!survey_trail_before(&t, 300000, 299000, &then, &value)); /* long forgotten */
    t = (struct survey_trail){0};
    survey_trail_add(&t, 5000, 1, 240000);
    ck_assert(!survey_trail_before(&t, 100000, 240000, &then, &value));
    ck_assert(survey_trail_before(&t, 245000, 240000, &then, &value));
}
END_TEST

START_TEST(trail_measures_the_fall)
{
    struct survey_trail t = {0};

    ck_assert(isnan(survey_trail_fall(&t, 0, 1000, 10000)));
    for (int64_t at = 0; at <= 20000; at += 1000)
        survey_trail_add(&t, at, 1000 - at / 100, 10000); /* 10 a second */
    ck_assert_double_eq_tol(survey_trail_fall(&t, 21000, 790, 10000), 10, 0.001);
    ck_assert_double_lt(survey_trail_fall(&t, 21000, 1000, 10000), 0); /* units came back */
    t = (struct survey_trail){0};
    survey_trail_add(&t, 0, 1000, 10000);
    ck_assert(isnan(survey_trail_fall(&t, 999, 900, 10000)));
    ck_assert_double_eq_tol(survey_trail_fall(&t, 2000, 900, 10000), 50, 0.001);
}
END_TEST

START_TEST(drain_time)
{
    ck_assert_double_eq(survey_drain_s(0, NAN), 0);
    ck_assert_double_eq(survey_drain_s(0, 0), 0);
    ck_assert_double_eq(survey_drain_s(600, 200), 3);
    ck_assert(isnan(survey_drain_s(600, 0)));
    ck_assert(isnan(survey_drain_s(600, NAN)));
    ck_assert(isnan(survey_drain_s(600, -5)));
    ck_assert(isnan(survey_drain_s(UNKNOWN, 200)));
}
END_TEST

/* ---- the fleet ---- */

/* The percentile of all orders, which no average of percentiles is: 990 fast ones here, 10 slow ones there. */
START_TEST(reports_are_merged)
{
    struct metric_sum before = {0}, now = {0};
    struct replica_report fast, slow, nothing = {0};
    struct replica_totals totals = {0};

    now.counters[METRIC_ORDERS_CREATED] = 990;
    now.spans[METRIC_SPAN_CREATE][40] = 990;
    replica_report_between(&before, &now, 5000, &fast);
    before.counters[METRIC_ORDERS_CREATED] = 980;
    before.spans[METRIC_SPAN_CREATE][40] = 990;
    now.spans[METRIC_SPAN_CREATE][80] = 11;
    replica_report_between(&before, &now, 2000, &slow);
    replica_totals_add(&totals, &fast);
    replica_totals_add(&totals, &slow);
    replica_totals_add(&totals, &nothing); /* just started: divides by no window */
    ck_assert_double_eq_tol(totals.rates[REPLICA_CREATED], 198 + 5, 0.001);
    ck_assert_double_eq(totals.rates[REPLICA_PAID], 0);
    ck_assert_int_eq(metric_quantile_of(totals.latency, 0.5), metric_quantile_of(fast.latency, 0.5));
    ck_assert_int_eq(metric_quantile_of(totals.latency, 0.99), metric_quantile_of(slow.latency, 0.5));
    ck_assert_int_lt(metric_quantile_of(totals.latency, 0.989), metric_quantile_of(slow.latency, 0.5));
    ck_assert_int_eq(metric_quantile_of(nothing.latency, 0.5), 0);
}
END_TEST

START_TEST(reports_travel)
{
    struct replica_report report = {.window_ms = 5001}, back;

    for (int i = 0; i < REPLICA_COUNT_COUNT; i++)
        report.counts[i] = (uint64_t)i * 1000 + 3;
    report.latency[0] = 1;
    report.latency[METRIC_BUCKETS - 1] = 12345678901;
    replica_report_json(&report, &text);
    replica_report_parse((struct slice){text.data, text.len}, &back);
    ck_assert_mem_eq(&report, &back, sizeof back);
}
END_TEST

/* Of a later version, or of somebody's own hand. */
START_TEST(reports_that_are_none)
{
    static const char *const texts[] = {
        "",
        "nonsense",
        "[]",
        "{\"window_ms\":5000}",
        "{\"window_ms\":-1,\"received\":1,\"created\":1,\"duplicate\":1,\"retried\":1,\"dead_lettered\":1,\"rejected\":"
        "1,"
        "\"paid\":1,\"closed\":1,\"units_returned\":1,\"latency\":[]}",
        "{\"window_ms\":5000,\"received\":1,\"created\":1,\"duplicate\":1,\"retried\":1,\"dead_lettered\":1,"
        "\"rejected\":1,\"paid\":1,\"closed\":1,\"units_returned\":1,\"latency\":[[144,1]]}",
        "{\"window_ms\":5000,\"received\":1,\"created\":1,\"duplicate\":1,\"retried\":1,\"dead_lettered\":1,"
        "\"rejected\":1,\"paid\":1,\"closed\":\"x\",\"units_returned\":1,\"latency\":[]}",
    };
    struct replica_report back, nothing = {0};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        replica_report_parse(slice_of(texts[i]), &back);
        ck_assert_msg(memcmp(&back, &nothing, sizeof back) == 0, "%s", texts[i]);
    }
}
END_TEST

/* ---- JSON ---- */

static json_t *parsed(void)
{
    json_t *object = json_loads(text.data, 0, NULL);

    ck_assert_msg(object != NULL, "%s", text.data);
    return object;
}

static json_t *at(json_t *object, const char *path)
{
    json_t *found;
    char name[64];

    for (size_t n; *path; path += n + (path[n] == '.')) {
        n = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        found = json_is_array(object) ? json_array_get(object, (size_t)atoi(name)) : json_object_get(object, name);
        ck_assert_msg(found != NULL, "there is no %s", path);
        object = found;
    }
    return object;
}

/* Every member of the contract is there, and null, before anything was read. */
START_TEST(nothing_is_known)
{
    static const char *const nulls[] = {"rates.created",      "rates.units_returned", "latency.p50_us",
                                        "latency.p99_us",     "backlog.messages",     "backlog.drain_s",
                                        "relay.pending",      "relay.quarantined",    "relay.oldest_ms",
                                        "dead_letters.queue", "dead_letters.open",    "dependencies.0.up"};
    static const char *const lists[] = {"replicas", "queues", "dead_letters.by_reason", "activities"};
    json_t *object;

    survey_init(&one);
    survey_json(&one, "7", &text);
    object = parsed();
    ck_assert_int_eq(json_integer_value(at(object, "v")), 1);
    ck_assert_str_eq(json_string_value(at(object, "instance")), "7");
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
        ck_assert_msg(json_is_null(at(object, nulls[i])), "%s", nulls[i]);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        ck_assert_msg(json_is_array(at(object, lists[i])) && json_array_size(at(object, lists[i])) == 0, "%s",
                      lists[i]);
    ck_assert_str_eq(json_string_value(at(object, "dependencies.1.name")), "rabbitmq");
    json_decref(object);
}
END_TEST

static void fill(struct survey *s)
{
    struct activity a = {.id = 9007199254740993, .shards = 3, .total_stock = 1000, .state = ACTIVITY_RUNNING};
    struct survey_activity *e = &s->activities[0];

    survey_init(s);
    s->at = 1764400000123;
    s->interval_ms = 1000;
    s->replicas_at = 1764400000100;
    s->replica_count = 2;
    s->replicas[0] = (struct replica){.host = "h",
                                      .instance = "1",
                                      .version = "0.1.0",
                                      .admin = "127.0.0.1:9471",
                                      .pid = 77,
                                      .state = REPLICA_NOT_READY,
                                      .why = "create.0 holding: \"away\"",
                                      .started_at = 5,
                                      .seen_at = 6};
    s->replicas[1] = (struct replica){.state = REPLICA_LOST};
    s->rates[REPLICA_CREATED] = 203;
    s->p50_us = 1500;
    s->p99_us = 99000;
    s->queue_count = 2;
    s->queues[0] = (struct survey_queue){"order.create", 600, 4};
    s->queues[1] = (struct survey_queue){"order.dead", UNKNOWN, UNKNOWN};
    s->backlog = 600;
    s->drain_s = 2.956;
    s->relay_pending = 3;
    s->relay_quarantined = 1;
    s->relay_oldest_ms = 250;
    s->dead_open = 12;
    s->reason_count = 2;
    s->reasons[0] = (struct survey_reason){"body_not_json", 11};
    s->reasons[1] = (struct survey_reason){"it's; rm *", 1};
    s->activity_count = 1;
    s->activities_left_out = 4;
    snprintf(a.title, sizeof a.title, "Sale \"50%%\" \u51ac");
    survey_activity_init(e, &a);
    e->left = 400;
    e->rate = 12.5;
    e->sold_out_s = 32;
    e->shard_missing = 1;
    e->drift = 2;
    e->reconcile_verdict = BALANCE_EXPLAINED;
    s->dependencies[SURVEY_MYSQL].known = s->dependencies[SURVEY_REDIS].known = true;
    s->dependencies[SURVEY_MYSQL].up = true;
    snprintf(s->dependencies[SURVEY_REDIS].why, ERROR_TEXT_MAX, "refused");
}

START_TEST(json_has_the_contract)
{
    json_t *object;

    fill(&one);
    survey_json(&one, "2", &text);
    object = parsed();
    ck_assert_str_eq(json_string_value(at(object, "replicas.0.state")), "not_ready");
    ck_assert_str_eq(json_string_value(at(object, "replicas.0.admin")), "127.0.0.1:9471");
    ck_assert_int_eq(json_integer_value(at(object, "replicas.0.pid")), 77);
    ck_assert_str_eq(json_string_value(at(object, "replicas.1.state")), "lost");
    ck_assert_int_eq(json_integer_value(at(object, "rates.created")), 203);
    ck_assert_int_eq(json_integer_value(at(object, "queues.0.ready")), 600);
    ck_assert(json_is_null(at(object, "queues.1.ready")));
    ck_assert_double_eq_tol(json_real_value(at(object, "backlog.drain_s")), 2.956, 1e-9);
    ck_assert_str_eq(json_string_value(at(object, "dead_letters.by_reason.0.command")),
                     "orderctl dlq list --state open --reason body_not_json");
    ck_assert_str_eq(json_string_value(at(object, "dead_letters.by_reason.1.command")),
                     "orderctl dlq list --state open --reason 'it'\\''s; rm *'");
    ck_assert_int_eq(json_integer_value(at(object, "activities.0.id")), 9007199254740993);
    ck_assert_str_eq(json_string_value(at(object, "activities.0.state")), "running");
    ck_assert_int_eq(json_integer_value(at(object, "activities.0.conservation.left")), 400);
    ck_assert(json_is_null(at(object, "activities.0.conservation.mysql_live")));
    ck_assert_int_eq(json_integer_value(at(object, "activities.0.conservation.drift")), 2);
    ck_assert_int_eq(json_integer_value(at(object, "activities.0.shards.count")), 3);
    ck_assert_int_eq(json_integer_value(at(object, "activities.0.shards.missing")), 1);
    ck_assert_str_eq(json_string_value(at(object, "activities.0.reconcile.verdict")), "explained");
    ck_assert(json_is_true(at(object, "dependencies.0.up")) && json_is_null(at(object, "dependencies.1.up")) &&
              json_is_false(at(object, "dependencies.2.up")));
    ck_assert_str_eq(json_string_value(at(object, "dependencies.2.why")), "refused");
    json_decref(object);
}
END_TEST

/* What one replica keeps, another shows the same. */
START_TEST(json_goes_both_ways)
{
    struct strbuf again = STRBUF_INIT;

    fill(&one);
    survey_json(&one, "1", &text);
    ck_assert(survey_parse((struct slice){text.data, text.len}, &two));
    survey_json(&two, "1", &again);
    ck_assert_str_eq(text.data, again.data);
    ck_assert(isnan(two.rates[REPLICA_PAID]) && two.rates[REPLICA_CREATED] == 203);
    ck_assert(!survey_parse(slice_of("{\"v\":2}"), &two) && !survey_parse(slice_of("half {"), &two));
    ck_assert(survey_parse(slice_of("{\"v\":1}"), &two) && two.backlog == UNKNOWN && isnan(two.drain_s));
    strbuf_release(&again);
}
END_TEST

/* ---- the board ---- */

START_TEST(history_is_a_ring)
{
    struct survey_board *board = survey_board_create();
    json_t *object;

    survey_board_get(board, &two);
    ck_assert(two.at == 0 && two.backlog == UNKNOWN);
    fill(&one);
    one.activities[0].live = 590;
    for (int i = 0; i < 400; i++) { /* two of three come too soon after another */
        one.at = 1000000 + (int64_t)i * 2000;
        one.backlog = i;
        survey_board_put(board, &one);
    }
    survey_board_get(board, &two);
    ck_assert_int_eq(two.at, 1000000 + 399 * 2000);
    survey_board_history(board, &text);
    object = parsed();
    ck_assert_int_eq(json_integer_value(at(object, "step_ms")), 5000);
    ck_assert_uint_eq(json_array_size(at(object, "points")), 134);
    ck_assert_int_eq(json_integer_value(at(object, "points.0.at")), 1000000);
    ck_assert_int_eq(json_integer_value(at(object, "points.1.at")), 1006000);
    ck_assert_int_eq(json_integer_value(at(object, "points.1.backlog")), 3);
    ck_assert_int_eq(json_integer_value(at(object, "points.0.activities.0.left")), 400);
    ck_assert_int_eq(json_integer_value(at(object, "points.0.activities.0.sold")), 590);
    json_decref(object);
    for (int i = 1; i <= 200; i++) {
        one.at = 2000000 + (int64_t)i * 5000;
        survey_board_put(board, &one);
    }
    strbuf_reset(&text);
    survey_board_history(board, &text);
    object = parsed();
    ck_assert_uint_eq(json_array_size(at(object, "points")), SURVEY_HISTORY_POINTS);
    ck_assert_int_eq(json_integer_value(at(object, "points.0.at")), 2000000 + 21 * 5000);
    json_decref(object);
    one.at = 1000; /* the clock was set back */
    survey_board_put(board, &one);
    strbuf_reset(&text);
    survey_board_history(board, &text);
    object = parsed();
    ck_assert_int_eq(json_integer_value(at(object, "points.179.at")), 1000);
    json_decref(object);
    survey_board_destroy(&board);
}
END_TEST

START_TEST(board_knows_itself)
{
    struct survey_board *board = survey_board_create();
    struct survey_self self = {.state = REPLICA_LOST};

    ck_assert(!survey_board_self(board, &self) && self.state == REPLICA_LOST);
    survey_board_set_self(board, &(struct survey_self){.state = REPLICA_DRAINING, .stopped = true, .why = "x"});
    ck_assert(survey_board_self(board, &self) && self.state == REPLICA_DRAINING && self.stopped);
    survey_board_destroy(&board);
}
END_TEST

START_TEST(walks_that_are_late)
{
    static const struct {
        int64_t ago, took, late;
    } cases[] = {
        {UNKNOWN, 0, 0},    {0, 0, 0},       {1000, 0, 0},      {1000, 200, 600},
        {4000, 1200, 6600}, {6000, 0, 5000}, {900000, 0, 5000},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct survey_rows rows = {.walk_ago_ms = cases[i].ago, .walk_took_ms = cases[i].took};

        ck_assert_int_eq(survey_walk_late_ms(&rows, 1000), cases[i].late);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("survey");
    TCase *c = tcase_create("pure");

    tcase_add_checked_fixture(c, NULL, release);
    tcase_add_test(c, shards_are_summed);
    tcase_add_loop_test(c, drift_by_table, 0, (int)(sizeof drifts / sizeof *drifts));
    tcase_add_test(c, drift_unknown);
    tcase_add_test(c, walks_that_are_late);
    tcase_add_test(c, drift_of_a_restock);
    tcase_add_test(c, trail_finds_what_was);
    tcase_add_test(c, trail_measures_the_fall);
    tcase_add_test(c, drain_time);
    tcase_add_test(c, reports_are_merged);
    tcase_add_test(c, reports_travel);
    tcase_add_test(c, reports_that_are_none);
    tcase_add_test(c, nothing_is_known);
    tcase_add_test(c, json_has_the_contract);
    tcase_add_test(c, json_goes_both_ways);
    tcase_add_test(c, history_is_a_ring);
    tcase_add_test(c, board_knows_itself);
    suite_add_tcase(s, c);
    return testing_main(s);
}
