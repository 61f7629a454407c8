/* The admin endpoint: its answers as functions of what it is told, and its manners towards whoever connects. */
#include "testing_http.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orderd/admin.h"
#include "orderd/survey_board.h"

static struct admin_view view;
static struct strbuf out;
static struct testing_reply answer;

static void add_worker(enum admin_role role, const char *name, enum lane_state state, int64_t unready_ms,
                       const char *why)
{
    struct admin_worker *w = &view.workers[view.worker_count++];

    *w = (struct admin_worker){.role = role, .condition = {.state = state, .unready_ms = unready_ms}, .beat_age_ms = 5};
    snprintf(w->name, sizeof w->name, "%s", name);
    snprintf(w->condition.why, sizeof w->condition.why, "%s", why);
}

static void setup(void)
{
    memset(&view, 0, sizeof view);
    strbuf_reset(&out);
    view.board = survey_board_create();
    view.instance = "1";
    view.started_at = 1764400000123;
    view.phase = ADMIN_RUNNING;
    view.beat_limit_ms = 50000;
    view.ready_grace_ms = 3000;
    add_worker(ADMIN_LANE, "create.0", LANE_CONSUMING, 0, "");
    add_worker(ADMIN_LANE, "release.0", LANE_CONSUMING, 0, "");
    add_worker(ADMIN_KEEPER, "walk", LANE_CONSUMING, 0, "");
    add_worker(ADMIN_RELAY, "relay", LANE_CONSUMING, 0, "");
}

static void teardown(void)
{
    survey_board_destroy(&view.board);
    strbuf_release(&out);
}

static const char *metrics(void)
{
    strbuf_reset(&out);
    ck_assert_uint_eq(admin_metrics(&view, &(struct admin_request){0}, &out), 200);
    return out.data;
}

/* ---- the text format ---- */

START_TEST(every_counter_is_there)
{
    static const char *const names[] = {
#define X(metric, name, help) name,
#include "orderd/tbl/metric.h"
#undef X
    };
    const char *page;

    for (int i = 0; i < METRIC_COUNT; i++)
        view.sum.counters[i] = (uint64_t)i * 1000 + 7000;
    page = metrics();
    for (int i = 0; i < METRIC_COUNT; i++) {
        const char *ms = strstr(names[i], "_milliseconds_total");
        char series[128];

        if (ms)
            snprintf(series, sizeof series, "orderd_%.*s_seconds_total", (int)(ms - names[i]), names[i]);
        else
            snprintf(series, sizeof series, "orderd_%s", names[i]);
        ck_assert_double_eq(testing_http_metric(page, series), ms ? i + 7 : i * 1000 + 7000);
    }
    ck_assert(strstr(page, "milliseconds") == NULL);
}
END_TEST

/* Those below a bound are counted there, and in every wider one. */
START_TEST(histograms)
{
    static const int64_t spans[] = {511, 512, 1023, 1000000, 3600000000};
    struct metric_block *block = metric_register();
    const char *page;

    for (size_t i = 0; i < 5; i++)
        metric_observe(block, METRIC_SPAN_CREATE, spans[i]);
    metric_observe(block, METRIC_SPAN_CREATE, -5); /* counts as 0 */
    metric_read(&view.sum);
    page = metrics();
    ck_assert_double_eq(testing_http_metric(page, "orderd_critical_time_seconds_bucket{le=\"0.000512\"}"), 2);
    ck_assert_double_eq(testing_http_metric(page, "orderd_critical_time_seconds_bucket{le=\"0.001024\"}"), 4);
    ck_assert_double_eq(testing_http_metric(page, "orderd_critical_time_seconds_bucket{le=\"0.524288\"}"), 4);
    ck_assert_double_eq(testing_http_metric(page, "orderd_critical_time_seconds_bucket{le=\"1.048576\"}"), 5);
    ck_assert_double_eq(testing_http_metric(page, "orderd_critical_time_seconds_bucket{le=\"2147.483648\"}"), 5);
    ck_assert_double_eq(testing_http_metric(page, "orderd_critical_time_seconds_bucket{le=\"+Inf\"}"), 6);
    ck_assert_double_eq(testing_http_metric(page, "orderd_critical_time_seconds_count"), 6);
    ck_assert_double_eq_tol(testing_http_metric(page, "orderd_critical_time_seconds_sum"), 3601.002046, 1e-6);
    ck_assert_double_eq(testing_http_metric(page, "orderd_release_lag_seconds_count"), 0);
}
END_TEST

START_TEST(states_and_gauges)
{
    const char *page;

    view.workers[1].condition.state = LANE_HOLDING;
    view.relay_oldest_ms = 61234;
    page = metrics();
    ck_assert_double_eq(testing_http_metric(page, "orderd_lanes"), 2);
    ck_assert_double_eq(testing_http_metric(page, "orderd_lanes_ready"), 1);
    ck_assert_double_eq(
        testing_http_metric(page, "orderd_worker_state{worker=\"release.0\",role=\"lane\",state=\"holding\"}"), 1);
    ck_assert_double_eq(
        testing_http_metric(page, "orderd_worker_state{worker=\"release.0\",role=\"lane\",state=\"consuming\"}"), 0);
    ck_assert_double_eq(
        testing_http_metric(page, "orderd_worker_state{worker=\"walk\",role=\"keeper\",state=\"consuming\"}"), 1);
    ck_assert_double_eq(testing_http_metric(page, "orderd_relay_oldest_due_seconds"), 61.234);
    ck_assert_double_eq(testing_http_metric(page, "orderd_phase{phase=\"running\"}"), 1);
    ck_assert_double_eq(testing_http_metric(page, "orderd_phase{phase=\"draining\"}"), 0);
    ck_assert_double_eq(testing_http_metric(page, "orderd_build_info{version=\"" ORDERD_VERSION "\",replica=\"1\"}"),
                        1);
    ck_assert_double_eq(testing_http_metric(page, "process_start_time_seconds"), 1764400000.123);
    ck_assert_double_ge(testing_http_metric(page, "process_resident_memory_bytes"), 100000);
    ck_assert_double_ge(testing_http_metric(page, "process_open_fds"), 3);
    ck_assert_double_ge(testing_http_metric(page, "orderd_log_lines_total{level=\"error\"}"), 0);
}
END_TEST

/* Before the first survey nothing is known, and every series that needs no activity is there. */
START_TEST(sale_is_not_known)
{
    static const char *const unknown[] = {
        "orderd_backlog_messages",
        "orderd_backlog_drain_seconds",
        "orderd_dead_letters_open{reason=\"body_not_json\"}",
        "orderd_dead_letters_open{reason=\"other\"}",
        "orderd_relay_messages{state=\"pending\"}",
        "orderd_relay_messages{state=\"quarantined\"}",
        "orderd_replicas{state=\"ready\"}",
        "orderd_replicas{state=\"lost\"}",
        "orderd_dependency_up{dependency=\"mysql\"}",
        "orderd_dependency_up{dependency=\"redis\"}",
    };
    const char *page = metrics();

    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        ck_assert_msg(isnan(testing_http_metric(page, unknown[i])), "%s", unknown[i]);
    ck_assert_double_eq(testing_http_metric(page, "orderd_survey_timestamp_seconds"), 0);
    ck_assert_double_eq(testing_http_metric(page, "orderd_activities_left_out"), 0);
    ck_assert(strstr(page, "activity=") == NULL);
}
END_TEST

static void survey_the_sale(void)
{
    static struct survey s;
    struct activity a = {.id = 1001, .shards = 4, .total_stock = 1000, .state = ACTIVITY_RUNNING};

    survey_init(&s);
    s.at = 1764400000123;
    s.replicas_at = s.at;
    s.replica_count = 3;
    s.replicas[2].state = REPLICA_LOST;
    s.queue_count = 1;
    s.queues[0] = (struct survey_queue){"order \"odd\\", 600, SURVEY_UNKNOWN};
    s.backlog = 600;
    s.drain_s = 2.956;
    s.dead_open = 12;
    s.reason_count = 2;
    s.reasons[0] = (struct survey_reason){"body_not_json", 7};
    s.reasons[1] = (struct survey_reason){"of_somebody", 5};
    s.relay_pending = 3;
    s.activity_count = 3;
    s.activities_left_out = 4;
    survey_activity_init(&s.activities[0], &a);
    s.activities[0].left = 90;
    s.activities[0].held_unpaid = 30;
    s.activities[0].drift = 2;
    s.activities[0].redis_off = -2;
    s.activities[0].shard_missing = 1;
    s.activities[0].counted_at = s.at;
    s.activities[0].reconcile_at = 1764400000000;
    s.activities[0].reconcile_verdict = BALANCE_BROKEN;
    a.id = 1002;
    a.state = ACTIVITY_SCHEDULED; /* and nobody preheated it, although its time has come */
    a.ends_at = INT64_MAX;
    survey_activity_init(&s.activities[1], &a);
    s.activities[1].shard_missing = 4;
    s.activities[1].counted_at = s.at;
    a.id = 1003;
    a.starts_at = INT64_MAX - 1; /* there is time yet */
    survey_activity_init(&s.activities[2], &a);
    s.activities[2].shard_missing = 4;
    s.dependencies[SURVEY_REDIS].known = true;
    survey_board_put(view.board, &s);
}

START_TEST(sale_is_known)
{
    static const struct {
        const char *series;
        double value;
    } wanted[] = {
        {"orderd_survey_timestamp_seconds", 1764400000.123},
        {"orderd_activity_stock_units{activity=\"1001\"}", 1000},
        {"orderd_activity_stock_left_units{activity=\"1001\"}", 90},
        {"orderd_activity_orders{activity=\"1001\",status=\"pending\"}", 30},
        {"orderd_activity_drift_units{activity=\"1001\"}", 2},
        {"orderd_activity_redis_off_units{activity=\"1001\"}", -2},
        {"orderd_activity_on_sale{activity=\"1001\"}", 1},
        {"orderd_activity_not_preheated_shards{activity=\"1001\"}", 1},
        {"orderd_activity_not_preheated_shards{activity=\"1002\"}", 4},
        {"orderd_activity_not_preheated_shards{activity=\"1003\"}", 0},
        {"orderd_activity_missing_shards{activity=\"1003\"}", 4},
        {"orderd_activity_on_sale{activity=\"1003\"}", 0},
        {"orderd_activity_reconcile_timestamp_seconds{activity=\"1001\"}", 1764400000},
        {"orderd_activity_reconcile_verdict{activity=\"1001\",verdict=\"broken\"}", 1},
        {"orderd_activity_reconcile_verdict{activity=\"1001\",verdict=\"clean\"}", 0},
        {"orderd_activity_reconcile_verdict{activity=\"1002\",verdict=\"clean\"}", 0},
        {"orderd_activities_left_out", 4},
        {"orderd_queue_messages{queue=\"order \\\"odd\\\\\"}", 600},
        {"orderd_backlog_messages", 600},
        {"orderd_backlog_drain_seconds", 2.956},
        {"orderd_dead_letters_open{reason=\"body_not_json\"}", 7},
        {"orderd_dead_letters_open{reason=\"member_range\"}", 0},
        {"orderd_dead_letters_open{reason=\"other\"}", 5},
        {"orderd_relay_messages{state=\"pending\"}", 3},
        {"orderd_replicas{state=\"ready\"}", 2},
        {"orderd_replicas{state=\"lost\"}", 1},
        {"orderd_replicas{state=\"draining\"}", 0},
        {"orderd_dependency_up{dependency=\"redis\"}", 0},
    };
    const char *page;

    survey_the_sale();
    page = metrics();
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        ck_assert_msg(testing_http_metric(page, wanted[i].series) == wanted[i].value, "%s is %f", wanted[i].series,
                      testing_http_metric(page, wanted[i].series));
    ck_assert(isnan(testing_http_metric(page, "orderd_activity_orders_overdue{activity=\"1001\"}")));
    ck_assert(
        isnan(testing_http_metric(page, "orderd_activity_reconcile_verdict{activity=\"1003\",verdict=\"broken\"}")));
    ck_assert(isnan(testing_http_metric(page, "orderd_dependency_up{dependency=\"mysql\"}")));
    ck_assert(strstr(page, "created") == NULL || strstr(page, "reason=\"created\"") == NULL);
}
END_TEST

/* Each sample follows HELP and TYPE of its family, which come once; ends with a newline. */
static void check_line(const char *line, char *family, struct strbuf *seen)
{
    char name[128], kind[32], mark[140];

    if (sscanf(line, "# HELP %127s", name) == 1) {
        snprintf(mark, sizeof mark, "|%s|", name);
        ck_assert_msg(!seen->data || strstr(seen->data, mark) == NULL, "%s comes twice", name);
        strbuf_add_str(seen, mark);
        strcpy(family, name);
    } else if (sscanf(line, "# TYPE %127s %31s", name, kind) == 2) {
        ck_assert_str_eq(name, family);
        ck_assert(strcmp(kind, "counter") == 0 || strcmp(kind, "gauge") == 0 || strcmp(kind, "histogram") == 0);
    } else {
        size_t len = strlen(family);
        char *end;

        ck_assert_msg(strncmp(line, family, len) == 0, "%s is none of %s", line, family);
        ck_assert_msg(strchr("{ _", line[len]) != NULL, "%s is none of %s", line, family);
        strtod(strrchr(line, ' ') + 1, &end);
        ck_assert_msg(*end == '\0' && strrchr(line, ' ')[1], "no number: %s", line);
    }
}

START_TEST(form)
{
    char *page, *at, *line, family[128] = "";
    struct strbuf seen = STRBUF_INIT;

    survey_the_sale();
    at = page = check_strdup(metrics());

    ck_assert_int_eq(page[strlen(page) - 1], '\n');
    while ((line = strsep(&at, "\n")) && at)
        check_line(line, family, &seen);
    free(page);
    strbuf_release(&seen);
}
END_TEST

/* The judge itself, where it is installed. */
START_TEST(promtool)
{
    FILE *tool;
    int code;

    if (system("promtool --version >/dev/null 2>&1") != 0) {
        fprintf(stderr, "promtool is not installed: not tried\n");
        return;
    }
    survey_the_sale();
    tool = popen("promtool check metrics", "w");
    ck_assert(tool != NULL);
    fputs(metrics(), tool);
    code = pclose(tool);
    ck_assert_int_eq(code, 0);
}
END_TEST

/* ---- health ---- */

static unsigned readyz(bool verbose)
{
    strbuf_reset(&out);
    return admin_readyz(&view, &(struct admin_request){verbose}, &out);
}

static unsigned livez(void)
{
    strbuf_reset(&out);
    return admin_livez(&view, &(struct admin_request){0}, &out);
}

/* What a lane's state means, by how long it has lasted. */
static const struct {
    enum lane_state state;
    int64_t unready_ms;
    bool ready;
} judgements[] = {
    {LANE_CONSUMING, 0, true},     {LANE_CONNECTING, LANE_NEVER_READY, false}, /* has not begun */
    {LANE_CONNECTING, 1, true},                                                /* a reconnect */
    {LANE_CONNECTING, 3000, true}, {LANE_CONNECTING, 3001, false},
    {LANE_HOLDING, 2999, true},    {LANE_HOLDING, 3001, false},
    {LANE_PAUSED, 1, false}, /* an operator must act */
    {LANE_DRAINING, 1, false},     {LANE_STOPPED, 1, false},
    {LANE_QUIET, 1, false}, /* by order, and so at once */
};

START_TEST(judgement)
{
    view.workers[0].condition.state = judgements[_i].state;
    view.workers[0].condition.unready_ms = judgements[_i].unready_ms;
    ck_assert_uint_eq(readyz(false), judgements[_i].ready ? 200 : 503);
    ck_assert_double_eq(testing_http_metric(metrics(), "orderd_ready"), judgements[_i].ready);
}
END_TEST

START_TEST(reasons)
{
    ck_assert_uint_eq(readyz(false), 200);
    ck_assert_str_eq(out.data, "ready\n");
    readyz(true);
    ck_assert_str_eq(out.data, "[+] create.0 lane consuming\n[+] release.0 lane consuming\n"
                               "[+] walk keeper consuming\n[+] relay relay consuming\nready\n");
    view.workers[0].condition =
        (struct lane_condition){.state = LANE_HOLDING, .unready_ms = 12345, .why = "Can't connect to it"};
    ck_assert_uint_eq(readyz(false), 503);
    ck_assert_str_eq(out.data, "[-] create.0 lane holding for 12.3 s: Can't connect to it\nnot ready\n");
}
END_TEST

/* What a lane said when it last could is no answer to whether it works. */
START_TEST(stuck_is_not_ready)
{
    view.workers[1].beat_age_ms = 50000;
    ck_assert_uint_eq(readyz(false), 200);
    view.workers[1].beat_age_ms = 50001;
    ck_assert_uint_eq(readyz(false), 503);
    ck_assert_str_eq(out.data, "[-] release.0 lane consuming, stuck for 50 s\nnot ready\n");
    ck_assert_double_eq(testing_http_metric(metrics(), "orderd_ready"), 0);
    view.workers[1].beat_age_ms = 5;
    view.workers[2].beat_age_ms = 50001; /* the walk: livez is red, orders are taken */
    ck_assert_uint_eq(readyz(false), 200);
}
END_TEST

/* A keeper or the relay is shown, and is no reason to take no orders. */
START_TEST(not_of_the_lanes)
{
    view.workers[2].condition = (struct lane_condition){.state = LANE_CONNECTING, .unready_ms = 60000, .why = "gone"};
    ck_assert_uint_eq(readyz(false), 200);
    ck_assert_str_eq(out.data, "ready\n");
    ck_assert_uint_eq(readyz(true), 200);
    ck_assert(strstr(out.data, "[-] walk keeper connecting for 60.0 s: gone (lanes do their job without it)\n") !=
              NULL);
}
END_TEST

START_TEST(phases)
{
    view.phase = ADMIN_DRAINING;
    ck_assert_uint_eq(readyz(false), 503);
    ck_assert_str_eq(out.data, "not ready: draining\n");
    view.phase = ADMIN_STARTING;
    view.worker_count = 0;
    snprintf(view.why, sizeof view.why, "the database is away");
    ck_assert_uint_eq(readyz(true), 503);
    ck_assert_str_eq(out.data, "not ready: starting: the database is away\n");
    ck_assert_uint_eq(livez(), 200);
}
END_TEST

START_TEST(liveness)
{
    ck_assert_uint_eq(livez(), 200);
    ck_assert_str_eq(out.data, "ok\n");
    view.workers[3].beat_age_ms = 50001;
    ck_assert_uint_eq(livez(), 503);
    ck_assert_str_eq(out.data, "the thread relay has not gone round for more than 50 s\n");
    view.workers[3].condition.state = LANE_STOPPED;
    ck_assert_uint_eq(livez(), 200);
    view.workers[0].condition = (struct lane_condition){.state = LANE_HOLDING, .unready_ms = 600000, .why = "away"};
    ck_assert_uint_eq(livez(), 200); /* a restart would not help */
    view.main_age_ms = 50001;
    ck_assert_uint_eq(livez(), 503);
    ck_assert_str_eq(out.data, "the thread main has not gone round for more than 50 s\n");
}
END_TEST

START_TEST(status_says_it_all)
{
    json_t *object, *worker;

    view.workers[0].condition = (struct lane_condition){.state = LANE_PAUSED, .unready_ms = 7, .why = "\"odd\"\xff\n"};
    view.workers[1].condition.unready_ms = LANE_NEVER_READY;
    view.sum.counters[METRIC_ORDERS_CREATED] = 12345678901;
    view.rates.created = 321;
    ck_assert_uint_eq(admin_status(&view, &(struct admin_request){0}, &out), 200);
    object = json_loads(out.data, 0, NULL);
    ck_assert_msg(object != NULL, "%s", out.data);
    ck_assert_str_eq(json_string_value(json_object_get(object, "instance")), "1");
    ck_assert(json_is_false(json_object_get(object, "ready")));
    ck_assert(json_is_true(json_object_get(object, "live")));
    ck_assert_uint_eq(json_array_size(json_object_get(object, "workers")), 4);
    worker = json_array_get(json_object_get(object, "workers"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(worker, "why")), "\"odd\"\xef\xbf\xbd\n");
    ck_assert_str_eq(json_string_value(json_object_get(worker, "state")), "paused");
    ck_assert_int_eq(json_integer_value(json_object_get(worker, "unready_ms")), 7);
    worker = json_array_get(json_object_get(object, "workers"), 1);
    ck_assert(json_is_null(json_object_get(worker, "unready_ms")));
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(object, "totals"), "orders_created_total")),
                     12345678901);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(object, "rates"), "created")), 321);
    json_decref(object);
}
END_TEST

/* ---- manners ---- */

static struct admin *admin;
static int port;

static void collect(void *arg, struct admin_view *v)
{
    (void)arg;
    *v = view;
}

static void serve(void)
{
    struct conf conf = {.admin_host = "127.0.0.1"};
    struct error err = {0};

    setup();
    port = testing_free_port();
    conf.admin_port = port;
    admin = admin_start(&conf, "", collect, NULL, &err);
    ck_assert_ok(admin != NULL, &err);
}

static void end(void)
{
    int64_t began = testing_now_ms();

    admin_stop(&admin);
    ck_assert_int_lt(testing_now_ms() - began, 4000); /* the library would wait for 5 s */
    ck_assert_int_eq(testing_http_connect(port), -1);
    teardown();
}

START_TEST(get_and_head)
{
    testing_http(port, "GET", "/metrics", &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert(strstr(answer.head, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") != NULL);
    ck_assert(strstr(answer.head, "Cache-Control: no-store") != NULL);
    ck_assert_double_eq(testing_http_metric(answer.body, "orderd_lanes"), 2);
    testing_http(port, "HEAD", "/metrics", &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(answer.body, "");
    ck_assert(strstr(answer.head, "Content-Length: ") != NULL && strstr(answer.head, "Content-Length: 0") == NULL);
}
END_TEST

START_TEST(queries)
{
    testing_http(port, "GET", "/readyz", &answer);
    ck_assert_str_eq(answer.body, "ready\n");
    testing_http(port, "GET", "/readyz?verbose", &answer);
    ck_assert(strstr(answer.body, "[+] create.0") == answer.body);
    testing_http(port, "GET", "/readyz?a=b&verbose=1", &answer);
    ck_assert(strstr(answer.body, "[+] create.0") == answer.body);
    testing_http(port, "GET", "/status", &answer);
    ck_assert(strstr(answer.head, "Content-Type: application/json\r\n") != NULL);
    view.phase = ADMIN_DRAINING;
    testing_http(port, "HEAD", "/readyz", &answer);
    ck_assert_int_eq(answer.status, 503);
}
END_TEST

START_TEST(wrong_methods)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "get", "NONSENSE"};

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        testing_http(port, methods[i], "/metrics", &answer);
        ck_assert_msg(answer.status == 405, "%s: %d", methods[i], answer.status);
        ck_assert(strstr(answer.head, "Allow: GET, HEAD") != NULL);
    }
}
END_TEST

START_TEST(a_body_is_never_read)
{
    static const char request[] = "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nabc";

    testing_http_raw(port, request, sizeof request - 1, &answer);
    ck_assert_int_eq(answer.status, 405);
}
END_TEST

/* A page of the web that has its name resolve to loopback. */
START_TEST(foreign_hosts)
{
    static const struct {
        const char *host;
        int status;
    } cases[] = {
        {"localhost", 200},
        {"LocalHost:9471", 200},
        {"sale.localhost:1", 200},
        {"127.0.0.1", 200},
        {"127.0.0.1:9471", 200},
        {"[::1]:9471", 200},
        {"192.0.2.1:80", 200},
        {"evil.example", 421},
        {"evil.example:9471", 421},
        {"127.0.0.1.evil.example", 421},
        {"notlocalhost", 421},
        {"localhost.evil", 421},
        {".localhost", 421},
        {"1.2.3", 421},
        {"x", 421},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char request[200];
        int len = snprintf(request, sizeof request, "GET /sale HTTP/1.1\r\nHost: %s\r\n\r\n", cases[i].host);

        testing_http_raw(port, request, (size_t)len, &answer);
        ck_assert_msg(answer.status == cases[i].status, "%s: %d", cases[i].host, answer.status);
        ck_assert_int_eq(strstr(answer.body, "dependencies") != NULL, cases[i].status == 200);
    }
    testing_http_raw(port, "GET /sale HTTP/1.0\r\n\r\n", 22, &answer);
    ck_assert_int_eq(answer.status, 200);
}
END_TEST

START_TEST(unknown_paths)
{
    static const char *const paths[] = {"/metric", "/metrics/", "//metrics", "/../etc/passwd", "/%00", "/METRICS"};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        testing_http(port, "GET", paths[i], &answer);
        ck_assert_msg(answer.status == 404, "%s: %d", paths[i], answer.status);
    }
}
END_TEST

START_TEST(no_http_at_all)
{
    static const char *const bytes[] = {"\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01\x02\x01\x01\xfc\x03\x03\r\n\r\n",
                                        "GET /metrics HTTP/9.9\r\n\r\n"};

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        testing_http_raw(port, bytes[i], strlen(bytes[i]), &answer);
        ck_assert_msg(answer.status != 200, "%zu", i);
    }
    testing_http(port, "GET", "/metrics", &answer);
    ck_assert_int_eq(answer.status, 200);
}
END_TEST

START_TEST(huge_requests)
{
    static const char first[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ";
    size_t len = 4000000, whole = 40000;
    char *request = check_malloc(len);

    memset(request, 'a', len);
    memcpy(request, "GET /", 5);
    testing_http_raw(port, request, len, &answer);
    ck_assert_msg(answer.status == 414 || answer.status == 413 || answer.status == 431 || answer.status == 0, "%d",
                  answer.status);
    memcpy(request, "GET /metrics HTTP/1.1\r\nX: ", 26);
    testing_http_raw(port, request, len, &answer);
    ck_assert_msg(answer.status == 413 || answer.status == 431 || answer.status == 0, "%d", answer.status);
    memcpy(request, first, sizeof first - 1); /* nothing wrong with it but that it is long */
    memcpy(request + whole - 4, "\r\n\r\n", 4);
    testing_http_raw(port, request, whole, &answer);
    ck_assert_msg(answer.status == 413 || answer.status == 431, "%d", answer.status);
    free(request);
    testing_http(port, "GET", "/metrics", &answer);
    ck_assert_int_eq(answer.status, 200);
}
END_TEST

/* One byte now and then keeps no connection for longer than its time. */
START_TEST(slow_requests)
{
    int fd = testing_http_connect(port);
    int64_t began = testing_now_ms();
    char byte;

    ck_assert_int_ge(fd, 0);
    while (send(fd, "G", 1, MSG_NOSIGNAL) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) != 0) {
        ck_assert_msg(testing_now_ms() - began < 10000, "it is still open");
        for (int i = 0; i < 20; i++)
            testing_pause();
    }
    ck_assert_int_ge(testing_now_ms() - began, 4000);
    close(fd);
}
END_TEST

/* Far more than there is room for, all idle: who asks is answered all the same. They have a second each, 32 at a time,
 * and come in as others go: by their usual five it would take half a minute. */
START_TEST(many_connections)
{
    int fds[200], count = 0;
    int64_t began = testing_now_ms();

    while (count < 200 && (fds[count] = testing_http_connect(port)) >= 0)
        count++;
    ck_assert_int_ge(count, 60);
    testing_http(port, "GET", "/metrics", &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_int_lt(testing_now_ms() - began, 18000);
    while (count > 0)
        close(fds[--count]);
    testing_http(port, "GET", "/metrics", &answer);
    ck_assert_int_eq(answer.status, 200);
}
END_TEST

START_TEST(address_taken)
{
    struct conf conf = {.admin_host = "127.0.0.1", .admin_port = port};
    struct error err = {0};

    ck_assert(admin_start(&conf, "", collect, NULL, &err) == NULL);
    ck_assert_int_eq(err.code, ERROR_IO);
    ck_assert_msg(strstr(err.text, "cannot listen on 127.0.0.1 port ") == err.text, "%s", err.text);
}
END_TEST

START_TEST(ports)
{
    static const struct {
        const char *instance;
        int port;
    } cases[] = {{"", 9470},   {"a", 9470},      {"1", 9471},   {"12", 9482},
                 {"1a", 9470}, {"56065", 65535}, {"56066", -1}, {"99999999999999999999", -1}};
    struct conf conf = {.admin_port = 9470};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        int got = -1;

        ck_assert_int_eq(admin_port(&conf, cases[i].instance, &got, &err), cases[i].port > 0);
        ck_assert_int_eq(got, cases[i].port);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("admin");
    TCase *pages = tcase_create("pages"), *manners = tcase_create("manners");

    tcase_add_checked_fixture(pages, setup, teardown);
    tcase_add_test(pages, every_counter_is_there);
    tcase_add_test(pages, histograms);
    tcase_add_test(pages, states_and_gauges);
    tcase_add_test(pages, sale_is_not_known);
    tcase_add_test(pages, sale_is_known);
    tcase_add_test(pages, form);
    tcase_add_test(pages, promtool);
    tcase_add_test(pages, ports);
    tcase_add_loop_test(pages, judgement, 0, (int)(sizeof judgements / sizeof *judgements));
    tcase_add_test(pages, reasons);
    tcase_add_test(pages, not_of_the_lanes);
    tcase_add_test(pages, stuck_is_not_ready);
    tcase_add_test(pages, phases);
    tcase_add_test(pages, liveness);
    tcase_add_test(pages, status_says_it_all);
    suite_add_tcase(s, pages);
    tcase_set_timeout(manners, 30);
    tcase_add_checked_fixture(manners, serve, end);
    tcase_add_test(manners, get_and_head);
    tcase_add_test(manners, queries);
    tcase_add_test(manners, wrong_methods);
    tcase_add_test(manners, a_body_is_never_read);
    tcase_add_test(manners, foreign_hosts);
    tcase_add_test(manners, unknown_paths);
    tcase_add_test(manners, no_http_at_all);
    tcase_add_test(manners, huge_requests);
    tcase_add_test(manners, slow_requests);
    tcase_add_test(manners, many_connections);
    tcase_add_test(manners, address_taken);
    suite_add_tcase(s, manners);
    return testing_main(s);
}
