/* The survey and the fleet, as real daemons tell of them at GET /sale: who is there, whether Redis and MySQL agree, and
 * what is said while servers are away. */
#include "testing_http.h"
#include "testing_relay.h"
#include "testing_sale.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DAEMONS 2

static struct program orderd[DAEMONS];
static struct testing_reply reply;
/* Daemon i answers at port + 2 * (i + 1). */
static int port;
static json_t *sale;

/* The window in which an order may be on its way is longer than in_flight by 0.32 s here. */
static void set_up(const char *in_flight, const char *create)
{
    char more[900];

    sale_setup();
    memset(orderd, 0, sizeof orderd);
    port = testing_free_port();
    snprintf(
        more, sizeof more,
        "create: { queue = \"%s\"; %s };\n"
        "payment: { lanes = 0; }; cancel: { lanes = 0; }; log: { level = \"warning\"; };\n"
        "retry: { delays = \"61ms,62ms\"; }; walk: { enabled = false; in_flight = \"%s\"; interval = \"100ms\"; };\n"
        "survey: { interval = \"100ms\"; lost_after = \"2s\"; };\n"
        "admin: { port = %d; };",
        SALE_QUEUE, create, in_flight, port);
    testing_ctl_configure(&(struct testing_ctl_conf){
        .mq_more = "call_timeout = \"1s\"; connect_timeout = \"1s\"; reconnect_max = \"300ms\";",
        .db_more =
            "reconnect_max = \"100ms\"; connect_timeout = \"1s\"; read_timeout = \"2s\"; lock_wait_timeout = \"1s\";",
        .more = more,
    });
    sale_queue_empty();
}

static void setup(void)
{
    set_up("150ms", "lanes = 2; batch_max = 100; prefetch = 200;");
}

/* A lane has one message in hand at most. */
static void setup_slow(void)
{
    set_up("2s", "lanes = 1; batch_max = 1; prefetch = 1;");
}

static void start(int i)
{
    const char *const names[DAEMONS] = {"2", "4"};

    program_start(&orderd[i], (const char *const[]){"orderd", "-c", testing_ctl_file, "-i", names[i], NULL});
}

static void end(int i, int signal_)
{
    kill(orderd[i].pid, signal_);
    program_wait(&orderd[i]);
    ck_assert_int_eq(orderd[i].code, signal_ == SIGKILL ? 128 + SIGKILL : 0);
    orderd[i].pid = 0;
}

static void teardown(void)
{
    for (int i = 0; i < DAEMONS; i++) {
        if (orderd[i].pid > 0)
            end(i, SIGTERM);
    }
    json_decref(sale);
    sale_teardown();
}

/* Asks daemon i; NULL: it does not answer yet. */
static json_t *get(int i, const char *path)
{
    int fd = testing_http_connect(port + 2 * (i + 1));

    if (fd < 0)
        return NULL;
    close(fd);
    testing_http(port + 2 * (i + 1), "GET", path, &reply);
    ck_assert_int_eq(reply.status, 200);
    return json_loads(reply.body, 0, NULL);
}

/* "activities.0.left"; NULL: there is none. */
static json_t *find(const char *path)
{
    json_t *object = sale;
    char name[64];

    for (size_t n; object && *path; path += n + (path[n] == '.')) {
        n = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        object = json_is_array(object) ? json_array_get(object, (size_t)atoi(name)) : json_object_get(object, name);
    }
    return object;
}

static bool ask(int i)
{
    json_decref(sale);
    sale = get(i, "/sale");
    return sale != NULL;
}

static bool is(const char *path, int64_t value)
{
    return json_is_integer(find(path)) && json_integer_value(find(path)) == value;
}

static bool is_null(const char *path)
{
    return json_is_null(find(path));
}

static bool says(const char *path, const char *text)
{
    const char *found = json_string_value(find(path));

    return found && strcmp(found, text) == 0;
}

#define NUMBER(path) json_integer_value(find(path))

/* Waits until daemon i says so; fails with what it says instead. */
#define WAIT_SALE(i, cond)                                                                                             \
    do {                                                                                                               \
        int64_t end_ = testing_now_ms() + 15000;                                                                       \
                                                                                                                       \
        while (!(ask(i) && (cond))) {                                                                                  \
            ck_assert_msg(testing_now_ms() < end_, "waited in vain: %s; %s", #cond, reply.body);                       \
            testing_pause();                                                                                           \
        }                                                                                                              \
    } while (0)

/* How many replicas are in this state. */
static int replicas(const char *state)
{
    json_t *list = find("replicas"), *item;
    int count = 0;
    size_t i;

    json_array_foreach(list, i, item) count += strcmp(json_string_value(json_object_get(item, "state")), state) == 0;
    return count;
}

static bool up(const char *server)
{
    json_t *list = find("dependencies"), *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "name")), server) == 0)
            return json_is_true(json_object_get(item, "up")) && !*json_string_value(json_object_get(item, "why"));
    }
    return false;
}

static bool down(const char *server)
{
    json_t *list = find("dependencies"), *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "name")), server) == 0)
            return json_is_false(json_object_get(item, "up")) && *json_string_value(json_object_get(item, "why"));
    }
    return false;
}

static bool all_is_known(void)
{
    return up("mysql") && up("rabbitmq") && up("redis") && is("activities.0.conservation.drift", 0) &&
           replicas("ready") > 0 && is("backlog.messages", 0);
}

/* Of daemon 0's /metrics; %s stands for the activity. */
static double metric(const char *series)
{
    const char *place = strstr(series, "%s");
    char name[200];

    if (place)
        snprintf(name, sizeof name, "%.*s%s%s", (int)(place - series), series, sale_text, place + 2);
    else
        snprintf(name, sizeof name, "%s", series);
    testing_http(port + 2, "GET", "/metrics", &reply);
    return testing_http_metric(reply.body, name);
}

/* ---- the fleet ---- */

START_TEST(one_of_two_replicas_ends)
{
    char name[32];
    int64_t then;

    sale_preheat();
    start(0);
    WAIT_SALE(0, all_is_known());
    start(1);
    WAIT_SALE(1, replicas("ready") == 2);
    snprintf(name, sizeof name, "127.0.0.1:%d", port + 4);
    ck_assert(says("instance", "4") && says("replicas.0.instance", "2") && says("replicas.1.instance", "4"));
    ck_assert_msg(says("replicas.1.admin", name) && is("replicas.1.pid", orderd[1].pid), "%s", reply.body);
    ck_assert_int_le(llabs(NUMBER("replicas.0.seen_at") - NUMBER("at")), 5000);
    WAIT_SALE(0, replicas("ready") == 2);
    ck_assert(says("instance", "2"));
    end(1, SIGKILL);
    WAIT_SALE(0, replicas("lost") == 1);
    ck_assert(replicas("ready") == 1 && says("replicas.1.state", "lost"));
    start(1); /* the lost one is back */
    WAIT_SALE(1, replicas("ready") == 2 && replicas("lost") == 0);
    end(0, SIGTERM); /* the surveyor stops: its row goes with it, and the other surveys */
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM replica"), 1);
    WAIT_SALE(1, all_is_known() && replicas("ready") == 1 && replicas("lost") == 0);
    then = NUMBER("at");
    WAIT_SALE(1, NUMBER("at") > then);
    end(1, SIGTERM);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM replica"), 0);
}
END_TEST

/* ---- drift ---- */

/* 1500 buyers for 1002 units; a fifth of the orders comes twice, and one message in twenty is none. Whenever it is
 * asked, nothing is missing on either side. */
START_TEST(no_drift_in_a_live_sale)
{
    struct program load;
    int64_t known = 0, flights = 0, asked_at = 0;

    sale_preheat();
    start(0);
    start(1);
    WAIT_SALE(1, all_is_known() && replicas("ready") == 2);
    program_start(&load, (const char *const[]){"orderload", "sale", "-c", testing_ctl_file, "--activity", sale_text,
                                               "--buyers", "1500", "--duplicates", "20", "--malformed", "5", "--rate",
                                               "500", "--brief", "--settle", "1s", NULL});
    do {
        ck_assert(ask(0));
        if (is("at", asked_at))
            continue;
        asked_at = NUMBER("at");
        ck_assert_msg(is_null("activities.0.conservation.drift") || is("activities.0.conservation.drift", 0), "%s",
                      reply.body);
        ck_assert(is("activities.0.conservation.redis_off", 0) && is("activities.0.conservation.mysql_off", 0));
        ck_assert_int_eq(NUMBER("activities.0.conservation.left") + NUMBER("activities.0.conservation.held") +
                             NUMBER("activities.0.conservation.sold"),
                         SALE_TOTAL);
        known += is("activities.0.conservation.drift", 0);
        flights += NUMBER("activities.0.conservation.in_flight") > 0;
    } while (!is("activities.0.held_unpaid", SALE_TOTAL));
    program_wait(&load);
    ck_assert_msg(load.code == 0, "%s%s", load.out, load.err);
    ck_assert_int_ge(known, 10);
    ck_assert_int_ge(flights, 1);
    WAIT_SALE(1, all_is_known() && is("activities.0.left", 0) && is("activities.0.conservation.in_flight", 0));
    ck_assert(is("activities.0.total", SALE_TOTAL) && is("activities.0.conservation.mysql_available", 0) &&
              is("activities.0.conservation.mysql_live", SALE_TOTAL) && is("activities.0.paid", 0) &&
              is("activities.0.overdue", 0) && is("activities.0.due_soon", 0) && is("activities.0.shards.count", 4));
    ck_assert(says("activities.0.title", SALE_TITLE) && says("activities.0.state", "running"));
    ck_assert_double_eq(metric("orderd_activity_stock_units{activity=\"%s\"}"), SALE_TOTAL);
    ck_assert_double_eq(metric("orderd_activity_orders{activity=\"%s\",status=\"pending\"}"), SALE_TOTAL);
    ck_assert_double_eq(metric("orderd_activity_drift_units{activity=\"%s\"}"), 0);
    ck_assert_double_eq(metric("orderd_replicas{state=\"ready\"}"), 2);
}
END_TEST

static void redis(const char *verb, int key, const char *one, const char *two)
{
    struct stock_keys keys;

    stock_keys_of(&keys, sale_id, 0);
    testing_redis_run(sale_kv, verb, keys.text[key], one, two, NULL);
}

/* One after the other: each shows, and is gone when it is put right. */
START_TEST(planted_drift)
{
    struct stock_giveback back = {.activity = sale_id, .order_no = slice_of("lost"), .epoch = 1, .reservations = true};
    struct stock_returned returned;
    struct error err = {0};

    sale_preheat();
    sale_sell("o1", 1, 2, 0, ORDER_PENDING);
    start(0);
    WAIT_SALE(0, all_is_known() && is("activities.0.conservation.held", 2));
    redis("DECR", STOCK_KEY_STOCK, NULL, NULL); /* a unit vanishes */
    WAIT_SALE(0, is("activities.0.conservation.redis_off", 1) && is("activities.0.conservation.drift", 1));
    redis("INCR", STOCK_KEY_STOCK, NULL, NULL);
    WAIT_SALE(0, all_is_known());
    testing_ctl_run_sql("UPDATE activity_stock SET available=available-5");
    WAIT_SALE(0, is("activities.0.conservation.mysql_off", 5) && is("activities.0.conservation.drift", 5));
    testing_ctl_run_sql("UPDATE activity_stock SET available=available+5");
    WAIT_SALE(0, all_is_known());
    /* a failover forgets a reservation, whose order is live */
    redis("HDEL", STOCK_KEY_HELD, "o1", NULL);
    redis("HINCRBY", STOCK_KEY_META, "held", "-2");
    redis("INCRBY", STOCK_KEY_STOCK, "2", NULL);
    WAIT_SALE(0, is("activities.0.conservation.redis_off", 0) && is("activities.0.conservation.drift", 2));
    redis("HINCRBY", STOCK_KEY_META, "held", "2");
    redis("DECRBY", STOCK_KEY_STOCK, "2", NULL);
    WAIT_SALE(0, all_is_known());
    /* a web tier dies with two units in hand, and nobody sends its message */
    ck_assert_int_eq(sale_deduct("lost", 2, 2, 0).code, STOCK_DEDUCT_TAKEN);
    WAIT_SALE(0, is("activities.0.conservation.in_flight", 2));
    WAIT_SALE(0, is("activities.0.conservation.drift", 2) && is("activities.0.conservation.in_flight", 0));
    ck_assert(is("activities.0.conservation.redis_off", 0) && is("activities.0.conservation.mysql_off", 0));
    /* unless a walk takes a minute, and has not come to it yet */
    testing_ctl_run_sql("INSERT INTO activity_walk SET activity_id=%s,walks=1,walker='me',began_at=UTC_TIMESTAMP(6),"
                        "took_ms=60000,reservations=0,recovered=0,deferred=0,mended=0,need_person=0",
                        sale_text);
    WAIT_SALE(0, is("activities.0.conservation.drift", 0) && is("activities.0.conservation.in_flight", 2));
    testing_ctl_run_sql("DELETE FROM activity_walk");
    WAIT_SALE(0, is("activities.0.conservation.drift", 2));
    back.free_mark = true;
    ck_assert_ok(stock_return(sale_kv, &back, &returned, &err), &err);
    WAIT_SALE(0, all_is_known());
    sale_forget(3); /* a whole shard is lost */
    WAIT_SALE(0, is("activities.0.shards.missing", 1));
    ck_assert(is_null("activities.0.conservation.drift") && is_null("activities.0.conservation.redis_off"));
    ck_assert(is("activities.0.left", 251 - 2 + 251 + 250));
    ck_assert_double_eq(metric("orderd_activity_not_preheated_shards{activity=\"%s\"}"), 1);
    testing_ctl_run_sql("UPDATE activity SET state='settled'");
    WAIT_SALE(0, json_array_size(find("activities")) == 0);
    ck_assert_double_eq(metric("orderd_activities_left_out"), 0);
    ck_assert(strstr(reply.body, "activity=") == NULL);
}
END_TEST

/* ---- orders of long ago ---- */

#define OLD_PAID   60
#define OLD_CLOSED 30

/* Due a day ago, of an activity that was written before. The units of the paid ones are sold in MySQL. */
static void sell_long_ago(void)
{
    testing_ctl_run_sql("UPDATE activity SET created_at=NOW(6)-INTERVAL 2 DAY");
    testing_ctl_run_sql(
        "INSERT INTO "
        "orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,status,reserved_at,"
        "expires_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<%d) SELECT "
        "CONCAT('old',i),%s,i,"
        "0,77,1,9900,0,1,IF(i<=%d,'paid','closed'),NOW(3),NOW(6)-INTERVAL 1 DAY+INTERVAL i SECOND FROM n",
        OLD_PAID + OLD_CLOSED, sale_text, OLD_PAID);
    testing_ctl_run_sql("UPDATE activity_stock SET available=available-%d", OLD_PAID);
}

static bool old_are(int paid, int closed)
{
    return is("activities.0.paid", paid) && is("activities.0.closed", closed) &&
           is("activities.0.conservation.mysql_live", paid);
}

static bool mysql_is_off(int by)
{
    return is("activities.0.conservation.mysql_off", by);
}

/* Whoever surveys counts them; what is changed by hand is found, and where nothing is off, nothing is said to be. */
START_TEST(orders_of_long_ago)
{
    sale_preheat();
    sell_long_ago();
    start(0);
    WAIT_SALE(0, old_are(OLD_PAID, OLD_CLOSED) && mysql_is_off(0));
    ck_assert(is("activities.0.held_unpaid", 0) &&
              is("activities.0.conservation.mysql_available", SALE_TOTAL - OLD_PAID));
    /* a person takes one back, in both tables */
    testing_ctl_run_sql("START TRANSACTION;UPDATE orders SET status='closed' WHERE order_no='old7';"
                        "UPDATE activity_stock SET available=available+1;COMMIT");
    WAIT_SALE(0, mysql_is_off(0) || is_null("activities.0.conservation.mysql_off"));
    for (int64_t end_ = testing_now_ms() + 20000; !old_are(OLD_PAID - 1, OLD_CLOSED + 1); testing_pause()) {
        ck_assert_msg(testing_now_ms() < end_ && ask(0), "waited in vain: %s", reply.body);
        ck_assert_msg(mysql_is_off(0) || is_null("activities.0.conservation.mysql_off"), "%s", reply.body);
    }
    /* and one in one of them */
    testing_ctl_run_sql("UPDATE orders SET status='closed' WHERE order_no='old8'");
    WAIT_SALE(0, old_are(OLD_PAID - 2, OLD_CLOSED + 2) && mysql_is_off(1));
    testing_ctl_run_sql("UPDATE activity_stock SET available=available+1");
    WAIT_SALE(0, mysql_is_off(0));
    end(0, SIGTERM);
    start(0);
    WAIT_SALE(0, old_are(OLD_PAID - 2, OLD_CLOSED + 2) && mysql_is_off(0));
    start(1);
    WAIT_SALE(1, replicas("ready") == 2);
    end(0, SIGKILL);
    WAIT_SALE(1, replicas("lost") == 1);
    testing_ctl_run_sql("UPDATE orders SET status='closed' WHERE order_no='old9'");
    testing_ctl_run_sql("UPDATE activity_stock SET available=available+1");
    WAIT_SALE(1, old_are(OLD_PAID - 3, OLD_CLOSED + 3) && mysql_is_off(0));
}
END_TEST

/* ---- servers ---- */

static void database_is_back(void)
{
    testing_stack("up", "mariadb", "");
    testing_ctl_connect();
}

/* What Redis and RabbitMQ say is shown all the same, by each process for itself. */
START_TEST(mysql_is_away)
{
    sale_preheat();
    sale_sell("o1", 1, 2, 0, ORDER_PENDING);
    start(0);
    WAIT_SALE(0, all_is_known());
    start(1);
    WAIT_SALE(1, all_is_known() && replicas("ready") == 2);
    testing_stack("kill", "mariadb", "");
    for (int i = 0; i < DAEMONS; i++) {
        WAIT_SALE(i, down("mysql") && is("activities.0.conservation.held", 2) && is("backlog.messages", 0));
        ck_assert(is("activities.0.left", SALE_TOTAL - 2) && up("redis") && up("rabbitmq"));
        ck_assert(is_null("activities.0.held_unpaid") && is_null("activities.0.conservation.mysql_available") &&
                  is_null("activities.0.conservation.drift") && is_null("dead_letters.open") &&
                  is_null("relay.pending") && is_null("rates.created"));
        ck_assert_int_eq(replicas("lost"), 0);  /* nobody can tell */
        ck_assert_int_eq(replicas("ready"), 2); /* as it was read last */
    }
    database_is_back();
    WAIT_SALE(0, all_is_known() && replicas("ready") == 2);
    WAIT_SALE(1, all_is_known() && replicas("ready") == 2);
}
END_TEST

/* And the test's own connection. */
static void redis_is_back(void)
{
    testing_stack("up", "redis", "");
    kv_close(&sale_kv);
    sale_kv = testing_redis_shared();
}

/* Counting takes too long (here, since somebody has locked the table): that alone is not known, and the rest goes on.
 */
START_TEST(orders_cannot_be_counted)
{
    int64_t then;

    sale_preheat();
    start(0);
    WAIT_SALE(0, all_is_known());
    testing_ctl_run_sql("LOCK TABLES orders WRITE");
    WAIT_SALE(0, is_null("activities.0.held_unpaid"));
    ck_assert(is_null("activities.0.conservation.mysql_off") && is_null("activities.0.conservation.drift"));
    ck_assert(is("activities.0.left", SALE_TOTAL) && up("mysql") && is("relay.pending", 0));
    then = NUMBER("at");
    WAIT_SALE(0, NUMBER("at") > then + 500 && is_null("activities.0.held_unpaid") && up("mysql"));
    testing_ctl_run_sql("UNLOCK TABLES");
}
END_TEST

START_TEST(redis_is_away)
{
    sale_preheat();
    sale_sell("o1", 1, 2, 0, ORDER_PENDING);
    start(0);
    WAIT_SALE(0, all_is_known());
    testing_stack("kill", "redis", "");
    WAIT_SALE(0, down("redis"));
    ck_assert(is_null("activities.0.left") && is_null("activities.0.rate") && is_null("activities.0.shards.missing") &&
              is_null("activities.0.conservation.redis_off") && is_null("activities.0.conservation.drift"));
    ck_assert(up("mysql") && is("activities.0.held_unpaid", 1) && is("activities.0.conservation.mysql_off", 0));
    redis_is_back();
    WAIT_SALE(0, up("redis") && is("activities.0.shards.count", SALE_SHARDS));
}
END_TEST

/* It hangs, and says nothing: what it has is not known, and the rest is told as ever. */
START_TEST(rabbitmq_is_away)
{
    pid_t pid = testing_stack_pid("rabbitmq");

    sale_preheat();
    start(0);
    WAIT_SALE(0, all_is_known());
    kill(pid, SIGSTOP);
    testing_wait(ask(0) && down("rabbitmq") && is_null("backlog.messages"), 15000, "rabbitmq is down");
    kill(pid, SIGCONT);
    ck_assert(is_null("backlog.messages") && is_null("backlog.drain_s") && is_null("queues.0.ready") &&
              is_null("dead_letters.queue"));
    ck_assert(up("mysql") && up("redis") && is("activities.0.left", SALE_TOTAL));
    WAIT_SALE(0, all_is_known());
    ck_assert(json_array_size(json_object_get(sale, "queues")) == 7);
    json_decref(sale);
    sale = get(0, "/sale/history");
    ck_assert(is("step_ms", 5000) && is("points.0.activities.0.left", SALE_TOTAL));
}
END_TEST

/* Orders that nobody could send while the broker was away are no drift when it is back, but a window later. */
START_TEST(orders_wait_for_the_broker)
{
    static const char *const orders[] = {"a", "b", "c", "d"};
    pid_t pid = testing_stack_pid("rabbitmq");
    int64_t taken_at;

    sale_preheat();
    start(0);
    WAIT_SALE(0, all_is_known());
    kill(pid, SIGSTOP);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(sale_deduct(orders[i], i + 1, 2, 0).code, STOCK_DEDUCT_TAKEN);
    taken_at = testing_now_ms();
    WAIT_SALE(0, down("rabbitmq") && testing_now_ms() - taken_at > 5000);
    ck_assert(is("activities.0.conservation.in_flight", 8) && is("activities.0.conservation.drift", 0));
    kill(pid, SIGCONT);
    WAIT_SALE(0, up("rabbitmq") && is("backlog.messages", 0));
    ck_assert_msg(is("activities.0.conservation.in_flight", 8) && is("activities.0.conservation.drift", 0), "%s",
                  reply.body);
    WAIT_SALE(0, is("activities.0.conservation.in_flight", 0) && is("activities.0.conservation.drift", 8));
}
END_TEST

/* What the database does for everybody who connects from now on. */
static void on_connect(const char *sql)
{
    testing_administer("SET GLOBAL init_connect='%s'", sql);
}

static bool is_ahead(const char *path)
{
    int64_t by = NUMBER(path) - (int64_t)time(NULL) * 1000;

    return by > 500000 && by < 700000;
}

/* The clock of a replica's machine is wrong: so that views count down to the true end of a sale, whoever surveys. */
START_TEST(times_are_those_of_the_database)
{
    sale_preheat();
    on_connect("SET timestamp=UNIX_TIMESTAMP()+600");
    start(0);
    WAIT_SALE(0, up("mysql") && replicas("ready") == 1 && is("activities.0.held_unpaid", 0));
    ck_assert_msg(is_ahead("at") && is_ahead("replicas_at") && is_ahead("activities.0.counted_at") &&
                      is_ahead("replicas.0.started_at") && is_ahead("replicas.0.seen_at"),
                  "%s", reply.body);
}
END_TEST

static void leave_all_up(void)
{
    kill(testing_stack_pid("rabbitmq"), SIGCONT);
    testing_stack("up", "mariadb", "");
    testing_stack("up", "redis", "");
    on_connect("");
}

int main(void)
{
    Suite *s = suite_create("survey");
    TCase *c = tcase_create("daemons"), *slow = tcase_create("slow");

    tcase_set_timeout(c, 60);
    tcase_add_unchecked_fixture(c, sale_queues_make, sale_queues_delete);
    tcase_add_unchecked_fixture(c, NULL, leave_all_up);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, one_of_two_replicas_ends);
    tcase_add_test(c, no_drift_in_a_live_sale);
    tcase_add_test(c, planted_drift);
    tcase_add_test(c, orders_of_long_ago);
    tcase_add_test(c, mysql_is_away);
    tcase_add_test(c, orders_cannot_be_counted);
    tcase_add_test(c, redis_is_away);
    tcase_add_test(c, rabbitmq_is_away);
    tcase_add_test(c, times_are_those_of_the_database);
    suite_add_tcase(s, c);
    tcase_set_timeout(slow, 60);
    tcase_add_unchecked_fixture(slow, sale_queues_make, sale_queues_delete);
    tcase_add_unchecked_fixture(slow, NULL, leave_all_up);
    tcase_add_checked_fixture(slow, setup_slow, teardown);
    tcase_add_test(slow, orders_wait_for_the_broker);
    suite_add_tcase(s, slow);
    return testing_main(s);
}
