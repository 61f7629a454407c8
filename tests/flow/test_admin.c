/* The admin endpoint of a real daemon, against the real servers: its numbers are those of the
 * sale, and its health that of the servers. */
#include "testing_http.h"
#include "testing_sale.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct program orderd;
static struct testing_reply reply;
static int port;

/* ready_grace: how long something may be away before /readyz is red. */
static void configure(const char *ready_grace)
{
    char more[512];

    snprintf(more, sizeof more,
             "create: { queue = \"%s\"; lanes = 2; }; payment: { lanes = 0; }; cancel: { lanes = 0; };\n"
             "log: { level = \"warning\"; }; retry: { delays = \"61ms,62ms\"; }; walk: { enabled = false; };\n"
             "admin: { port = %d; ready_grace = \"%s\"; };",
             SALE_QUEUE, port, ready_grace);
    testing_ctl_configure(
        &(struct testing_ctl_conf){.db_more = "reconnect_max = \"100ms\"; connect_timeout = \"1s\";", .more = more});
}

static void setup(void)
{
    sale_setup();
    port = testing_free_port();
    configure("1s");
    sale_queue_empty();
}

static void start(void)
{
    program_start(&orderd, (const char *const[]){"orderd", "-c", testing_ctl_file, NULL});
}

static int get(const char *path)
{
    int fd = testing_http_connect(port);

    if (fd < 0)
        return -1;
    close(fd);
    testing_http(port, "GET", path, &reply);
    return reply.status;
}

static double metric(const char *series)
{
    ck_assert_int_eq(get("/metrics"), 200);
    return testing_http_metric(reply.body, series);
}

/* All in one look: what is counted between two would not add up. */
static bool counted_as(double created)
{
    static const char *const fates[] = {"orderd_orders_created_total", "orderd_orders_duplicate_total",
                                        "orderd_orders_dead_lettered_total"};
    double sum = 0;

    if (get("/metrics") != 200)
        return false;
    for (size_t i = 0; i < sizeof fates / sizeof *fates; i++)
        sum += testing_http_metric(reply.body, fates[i]);
    return testing_http_metric(reply.body, fates[0]) == created &&
           testing_http_metric(reply.body, "orderd_critical_time_seconds_count") == created &&
           testing_http_metric(reply.body, "orderd_critical_time_seconds_bucket{le=\"+Inf\"}") == created &&
           testing_http_metric(reply.body, "orderd_messages_received_total") == sum;
}

static void teardown(void)
{
    if (orderd.pid > 0) {
        kill(orderd.pid, SIGTERM);
        program_wait(&orderd);
        ck_assert_int_eq(orderd.code, 0);
        ck_assert_int_eq(testing_http_connect(port), -1);
    }
    sale_teardown();
}

static bool all_ready(void)
{
    return get("/metrics") == 200 && testing_http_metric(reply.body, "orderd_lanes_ready") == 3;
}

/* 1500 buyers, more than there are units; a fifth of the orders comes twice, and one message in twenty is none. */
START_TEST(metrics_are_the_sale)
{
    struct program load;
    int64_t created;

    sale_preheat();
    start();
    testing_wait(all_ready(), 15000, "three lanes are ready");
    ck_assert_double_eq(metric("orderd_lanes"), 3);
    ck_assert_double_eq(metric("orderd_orders_created_total"), 0);
    PROGRAM_RUN(&load, "orderload", "sale", "-c", testing_ctl_file, "--activity", sale_text, "--buyers", "1500",
                "--duplicates", "20", "--malformed", "5", "--brief");
    ck_assert_msg(load.code == 0, "%s%s", load.out, load.err);
    created = testing_ctl_number("SELECT COUNT(*) FROM orders");
    ck_assert_int_eq(created, SALE_TOTAL);
    testing_wait(metric("orderd_orders_duplicate_total") >= 150, 30000, "the copies have come");
    testing_wait(metric("orderd_orders_dead_lettered_total") >= 20, 30000, "what is no order has come");
    testing_wait(counted_as((double)created), 30000, "everything that was received has its fate");
    ck_assert_double_eq(metric("orderd_orders_closed_total"), 0);
    ck_assert_double_gt(metric("orderd_relay_sent_total"), 0);
}
END_TEST

static void database_is_back(void)
{
    testing_stack("up", "mariadb", "");
    testing_ctl_connect();
}

/* Of a test that failed while it was away. */
static void leave_database_up(void)
{
    testing_stack("up", "mariadb", "");
}

/* Waits until /readyz says so, and answers after how many ms. */
static int64_t wait_ready(int status, int timeout_ms)
{
    int64_t began = testing_now_ms();

    testing_wait(get("/readyz?verbose") == status, timeout_ms, status == 200 ? "/readyz is green" : "/readyz is red");
    return testing_now_ms() - began;
}

/* Red within seconds, with the reason, for as long as it lasts; alive all the time. */
START_TEST(database_stops)
{
    char why[81] = "";

    sale_preheat();
    start();
    wait_ready(200, 15000);
    testing_stack("kill", "mariadb", "");
    ck_assert_int_lt(wait_ready(503, 10000), 20000);
    testing_wait(get("/readyz") == 503 && strstr(reply.body, "[-] create.0 lane connecting for "), 3000,
                 "create.0 is said not to be ready");
    ck_assert_msg(sscanf(reply.body, "[-] create.0 lane connecting for %*f s: %80[^\n]", why) == 1 && strlen(why) > 10,
                  "%s", reply.body);
    for (int64_t until = testing_now_ms() + 2000; testing_now_ms() < until; testing_pause())
        ck_assert_int_eq(get("/readyz"), 503);
    ck_assert_int_eq(get("/livez"), 200);
    ck_assert_double_eq(metric("orderd_ready"), 0);
    ck_assert_double_eq(metric("orderd_lanes_ready"), 0);
    database_is_back();
    wait_ready(200, 15000);
    ck_assert(strstr(reply.body, "[-] create") == NULL);
    testing_wait(all_ready(), 10000, "three lanes are ready");
}
END_TEST

static void leave_redis_up(void)
{
    testing_stack("up", "redis", "");
}

/* And the test's own connection. */
static void redis_is_back(void)
{
    struct conf *conf = testing_conf(NULL);
    struct error err = {0};

    testing_stack("up", "redis", "");
    kv_close(&sale_kv);
    sale_kv = kv_open(conf, "test_ctl", &err);
    ck_assert_ok(sale_kv != NULL, &err);
    conf_destroy(&conf);
}

/* Nothing is on its way, and no lane needs it: the relay notices by itself, since the next unit could not go back. */
START_TEST(redis_stops)
{
    sale_preheat();
    start();
    wait_ready(200, 15000);
    testing_stack("kill", "redis", "");
    wait_ready(503, 10000);
    testing_wait(get("/readyz") == 503 && strstr(reply.body, "[-] relay relay connecting for "), 3000,
                 "the relay is said not to be ready");
    ck_assert_msg(strstr(reply.body, "create") == NULL, "%s", reply.body);
    ck_assert_double_eq(metric("orderd_lanes_ready"), 3);
    ck_assert_double_eq(metric("orderd_worker_state{worker=\"relay\",role=\"relay\",state=\"connecting\"}"), 1);
    ck_assert_int_eq(get("/livez"), 200);
    redis_is_back();
    wait_ready(200, 15000);
}
END_TEST

/* All connections are cut, the server is there: nobody is told of the short reconnect. */
START_TEST(a_reconnect_is_no_alarm)
{
    configure("10s"); /* short is what a slow machine needs as well */
    sale_preheat();
    start();
    wait_ready(200, 15000);
    ck_assert_msg(strstr(reply.body, "[+] walk keeper consuming") != NULL, "%s", reply.body); /* it is switched off */
    for (int i = 0; i < 3; i++) {
        testing_rabbitmqctl("close_all_connections cut");
        for (int64_t until = testing_now_ms() + 1500; testing_now_ms() < until; testing_pause())
            ck_assert_msg(get("/readyz?verbose") == 200, "%s", reply.body);
    }
    testing_wait(all_ready(), 10000, "three lanes are connected again");
    ck_assert_double_ge(metric("orderd_broker_outages_total"), 3);
}
END_TEST

/* It answers before its servers do. */
START_TEST(waits_for_its_servers)
{
    testing_stack("kill", "mariadb", "");
    start();
    testing_wait(get("/readyz") == 503, 10000, "it answers");
    testing_wait(get("/readyz") == 503 && strstr(reply.body, "not ready: starting: "), 10000, "it says why");
    ck_assert_int_eq(get("/livez"), 200);
    database_is_back();
    wait_ready(200, 20000);
}
END_TEST

/* ---- orderctl status ---- */

static void assert_narrow(const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        ck_assert_msg(strcspn(line, "\n") <= 80, "%.*s", (int)strcspn(line, "\n"), line);
    }
}

START_TEST(ctl_status_shows_it)
{
    json_t *s;

    sale_preheat();
    start();
    wait_ready(200, 15000);
    sale_insert("x1", 1, 1, 0); /* not by orderd: is not counted */
    CTL("status");
    CTL_SAYS(0, "");
    ck_assert_msg(strstr(testing_ctl.out, "orderd " ORDERD_VERSION ": running, ready; up ") == testing_ctl.out, "%s",
                  testing_ctl.out);
    ck_assert(strstr(testing_ctl.out, "orders created") != NULL);
    ck_assert(strstr(testing_ctl.out, "\ncreate.1 ") != NULL && strstr(testing_ctl.out, "\nrelay ") != NULL);
    assert_narrow(testing_ctl.out);
    CTL("status", "--json");
    CTL_SAYS(0, "");
    s = sale_parsed();
    ck_assert_str_eq(json_string_value(json_object_get(s, "phase")), "running");
    ck_assert_int_eq(sale_member(json_object_get(s, "totals"), "orders_created_total"), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(s, "workers")), 3 + 5 + 1 + 3);
    json_decref(s);
    CTL("status", "70000");
    ck_assert_int_eq(testing_ctl.code, 78);
    CTL("status", "a", "b");
    ck_assert_int_eq(testing_ctl.code, 64);
}
END_TEST

START_TEST(ctl_status_not_ready)
{
    testing_stack("kill", "mariadb", "");
    start();
    testing_wait(get("/readyz") == 503 && strstr(reply.body, "not ready: starting: "), 10000, "it says why");
    CTL("status");
    CTL_SAYS(1, "");
    ck_assert_msg(strstr(testing_ctl.out, ": starting, not ready; ") != NULL, "%s", testing_ctl.out);
    ck_assert_msg(strstr(testing_ctl.out, "\nIt waits: ") != NULL, "%s", testing_ctl.out);
    database_is_back();
    wait_ready(200, 20000);
}
END_TEST

/* Something else listens there: RabbitMQ, which hangs up on what it does not understand. */
START_TEST(ctl_status_of_something_else)
{
    char more[128];

    snprintf(more, sizeof more, "admin: { port = %s; };", testing_env("ORDERD_MQ_PORT"));
    testing_ctl_configure(&(struct testing_ctl_conf){.more = more});
    CTL("status");
    ck_assert_int_eq(testing_ctl.code, 69);
    /* It hangs up with or without a word. */
    ck_assert_msg(strstr(testing_ctl.err, "does not speak HTTP; see") || strstr(testing_ctl.err, "reset by peer; see"),
                  "%s", testing_ctl.err);
    ck_assert_str_eq(testing_ctl.out, "");
}
END_TEST

START_TEST(ctl_status_without_orderd)
{
    char sentence[256];

    CTL("status");
    snprintf(sentence, sizeof sentence,
             "orderctl: status: no orderd answers at 127.0.0.1 port %d: Connection refused; see that orderd runs with "
             "admin.enabled, and name its INSTANCE if it has one (the 1 of orderd@1)\n",
             port);
    CTL_SAYS(69, sentence);
    ck_assert_str_eq(testing_ctl.out, "");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("admin");
    TCase *c = tcase_create("daemon");

    tcase_set_timeout(c, 90);
    tcase_add_unchecked_fixture(c, sale_queues_make, sale_queues_delete);
    tcase_add_unchecked_fixture(c, NULL, leave_database_up);
    tcase_add_unchecked_fixture(c, NULL, leave_redis_up);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, metrics_are_the_sale);
    tcase_add_test(c, database_stops);
    tcase_add_test(c, redis_stops);
    tcase_add_test(c, a_reconnect_is_no_alarm);
    tcase_add_test(c, waits_for_its_servers);
    tcase_add_test(c, ctl_status_shows_it);
    tcase_add_test(c, ctl_status_not_ready);
    tcase_add_test(c, ctl_status_without_orderd);
    tcase_add_test(c, ctl_status_of_something_else);
    suite_add_tcase(s, c);
    return testing_main(s);
}
