#include "testing_lane.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/relay.h"
#include "orderd/schema.h"
#include "orderd/strbuf.h"
#include "orderd/sweep.h"
#include "orderd/thread.h"
#include "orderd/topology.h"

struct conf *testing_lane_conf;
const char *testing_lane_delays = "50ms,100ms,150ms";
struct db *testing_lane_db;

static char schema[64], queue[64];
static struct lane_shared shared;
static struct lane *lanes[16];
static unsigned lane_count;
static struct keeper *sweeps[4];
static unsigned sweep_count;
static struct broker *publisher;
static struct thread guard;
static atomic_bool guard_stop;

const char *testing_schema(void)
{
    return schema;
}

ORDERD_PRINTF(3, 0) static void format(char *out, size_t size, const char *fmt, va_list ap)
{
    ck_assert_int_lt(vsnprintf(out, size, fmt, ap), (int)size);
}

void testing_admin(const char *fmt, ...)
{
    char sql[2000], command[4000];
    va_list ap;

    va_start(ap, fmt);
    format(sql, sizeof sql, fmt, ap);
    va_end(ap);
    snprintf(command, sizeof command, "%s --delimiter=// %s -e \"%s\"", testing_env("ORDERD_MARIADB"), schema, sql);
    ck_assert_msg(system(command) == 0, "administrator's SQL failed: %s", sql);
}

void testing_kill_sessions(void)
{
    const char *client = testing_env("ORDERD_MARIADB");
    char command[1000];

    snprintf(command, sizeof command,
             "%s -N -e \"SELECT CONCAT('KILL ',id,';') FROM information_schema.processlist WHERE user='orderd' AND "
             "db='%s'\" | %s --force 2>/dev/null",
             client, schema, client);
    ck_assert_msg(system(command) != -1, "no shell"); /* some have ended meanwhile */
}

void testing_sql(const char *fmt, ...)
{
    char sql[65536];
    struct error err = {0};
    va_list ap;

    va_start(ap, fmt);
    format(sql, sizeof sql, fmt, ap);
    va_end(ap);
    testing_run_sql(testing_lane_db, sql, &err);
    ck_assert_ok(err.code == ERROR_NONE, &err);
}

int64_t testing_number(const char *fmt, ...)
{
    char sql[2000];
    struct error err = {0};
    int64_t n = 0;
    va_list ap;

    va_start(ap, fmt);
    format(sql, sizeof sql, fmt, ap);
    va_end(ap);
    if (!testing_lane_db || !db_usable(testing_lane_db)) {
        db_close(&testing_lane_db);
        testing_lane_db = db_open(testing_lane_conf, &err);
        if (!testing_lane_db)
            return -1;
    }
    if (!db_query_i64(testing_lane_db, slice_of(sql), -1, &n, &err))
        return -1; /* the server may be down: the caller waits on */
    return n;
}

static void ignore_migration(void *arg, unsigned version, const char *name, enum schema_state state)
{
    (void)arg, (void)version, (void)name, (void)state;
}

static void ignore_finding(void *arg, const struct topology_finding *f)
{
    (void)arg;
    ck_assert_msg(f->presence == BROKER_PRESENT, "%s %s: %s", f->kind, f->name, f->detail);
}

static void make_schema(int64_t stock)
{
    struct error err = {0};
    struct conf *conf = testing_conf(NULL);
    struct db *db;
    char sql[300];

    db = db_open(conf, &err);
    ck_assert_ok(db != NULL, &err);
    snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s; CREATE DATABASE %s", schema,
             schema); /* process ids come round */
    ck_assert_ok(db_run(db, slice_of(sql), &err), &err);
    db_close(&db);
    conf_destroy(&conf);
    setenv("ORDERD_DB_NAME", schema, 1);
    testing_lane_conf = NULL;
    conf = testing_conf(NULL);
    testing_lane_db = db_open(conf, &err);
    ck_assert_ok(testing_lane_db != NULL, &err);
    conf_destroy(&conf);
    ck_assert_ok(schema_apply(testing_lane_db, ignore_migration, NULL, &err), &err);
    testing_sql(
        "INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,per_user_limit,pay_timeout_ms,state,"
        "starts_at,ends_at,epoch) VALUES(%d,'test',%d,%d,'CNY',%" PRId64 ",1,900000,'running',NOW(3),"
        "NOW(3)+INTERVAL 1 HOUR,1);"
        "INSERT INTO activity_stock(activity_id,total,available) VALUES(%d,%" PRId64 ",%" PRId64 ")",
        TESTING_ACTIVITY, TESTING_SKU, TESTING_PRICE, stock, TESTING_ACTIVITY, stock, stock);
}

void testing_lane_topology(void)
{
    static const int64_t timeouts[] = {TESTING_PAY_SHORT, TESTING_PAY_TIMEOUT};
    struct error err = {0};
    struct broker *broker = testing_broker("test topology", &err);

    ck_assert_ok(broker != NULL, &err);
    ck_assert_ok(topology_walk(broker, testing_lane_conf, true, ignore_finding, NULL, &err), &err);
    ck_assert_ok(topology_walk_unpaid(broker, testing_lane_conf, timeouts, 2, true, ignore_finding, NULL, &err), &err);
    broker_close(&broker, true);
}

void testing_lane_setup(int64_t stock, const char *create)
{
    char extra[1000];

    snprintf(schema, sizeof schema, "%s", testing_name("orderd_lane"));
    snprintf(queue, sizeof queue, "%s", testing_name("test.create"));
    db_library_init();
    make_schema(stock);
    snprintf(extra, sizeof extra,
             "create: { queue = \"%s\"; %s };\nretry: { delays = \"%s\"; };\nrelay: { poll_interval = "
             "\"200ms\"; lease = \"2s\"; };\nlog: { level = \"%s\"; };",
             queue, create ? create : "", testing_lane_delays,
             getenv("ORDERD_TEST_LOG") ? getenv("ORDERD_TEST_LOG") : "error");
    testing_lane_conf = testing_conf(extra);
    testing_lane_topology();
    (void)testing_dead_letters(-1, "");
}

static void guard_run(void *data)
{
    (void)data;
    while (!atomic_load(&guard_stop)) {
        (void)broker_guard_check();
        clock_sleep_ms(100);
    }
}

void testing_lane_start(unsigned count)
{
    log_configure(testing_lane_conf);
    atomic_store(&shared.conf, testing_lane_conf);
    atomic_store(&shared.stop, false);
    shared.instance = "test";
    shared.stop_fd = eventfd(0, EFD_NONBLOCK);
    atomic_store(&guard_stop, false);
    guard = (struct thread){.name = "guard", .run = guard_run};
    thread_start(&guard);
    shared.relay = relay_start(&shared);
    lane_count = 0;
    testing_lane_add(&create_lane, count);
}

void testing_lane_add(const struct lane_kind *kind, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ck_assert_uint_lt(lane_count, sizeof lanes / sizeof *lanes);
        lanes[lane_count++] = lane_start(kind, &shared, i);
    }
}

void testing_lane_add_sweep(void)
{
    ck_assert_uint_lt(sweep_count, sizeof sweeps / sizeof *sweeps);
    sweeps[sweep_count++] = keeper_start(&sweep_keeper, &shared);
}

struct lane *testing_lane(unsigned index)
{
    return lanes[index];
}

void testing_lane_stop(void)
{
    uint64_t one = 1;

    atomic_store(&shared.stop, true);
    ck_assert_int_eq(write(shared.stop_fd, &one, sizeof one), (int)sizeof one);
    for (unsigned i = 0; i < lane_count; i++) {
        testing_wait(lane_state_of(lanes[i]) == LANE_STOPPED, 10000, "the lane ends");
        lane_join(&lanes[i]);
    }
    while (sweep_count > 0) {
        sweep_count--;
        testing_wait(keeper_state(sweeps[sweep_count]) == LANE_STOPPED, 10000, "the sweep ends");
        keeper_join(&sweeps[sweep_count]);
    }
    relay_stop(&shared.relay);
    close(shared.stop_fd);
    atomic_store(&guard_stop, true);
    thread_join(&guard);
}

struct order testing_lane_order(int n)
{
    struct order o = {
        .activity_id = TESTING_ACTIVITY,
        .user_id = n,
        .sku_id = TESTING_SKU,
        .quantity = 1,
        .amount = TESTING_PRICE,
        .epoch = 1,
        .reserved_at = clock_wall_ms(),
    };

    snprintf(o.order_no, sizeof o.order_no, "T%d_%d", (int)getpid(), n);
    return o;
}

struct broker *testing_broker(const char *name, struct error *err)
{
    struct conf conf = *testing_lane_conf;

    conf.broker_heartbeat = 60000;
    return broker_open(&conf, name, err);
}

static struct broker *open_publisher(void)
{
    struct error err = {0};

    if (!publisher) {
        publisher = testing_broker("test publisher", &err);
        ck_assert_ok(publisher != NULL, &err);
        ck_assert_ok(broker_confirm_select(publisher, 1000, &err), &err);
    }
    return publisher;
}

void testing_publish_with(const char *message_id, struct slice body, const struct broker_header *header)
{
    static enum broker_outcome outcome;
    struct error err = {0};
    struct broker_header headers[2] = {
        {.name = slice_of("traceparent"), .value = slice_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")},
    };
    struct broker_publication p = {.exchange = topology_name(TOPOLOGY_EXCHANGE_ORDER),
                                   .routing_key = queue,
                                   .body = body,
                                   .message_id = slice_of(message_id),
                                   .headers = headers,
                                   .header_count = header ? 2 : 1};

    if (header)
        headers[1] = *header;
    ck_assert_ok(broker_publish(open_publisher(), &p, &outcome, &err), &err);
    ck_assert_ok(broker_wait_confirms(publisher, 20000, &err), &err);
    ck_assert_int_eq(outcome, BROKER_OUTCOME_CONFIRMED);
}

void testing_publish_body(const char *message_id, struct slice body)
{
    testing_publish_with(message_id, body, NULL);
}

void testing_publish(const struct order *order)
{
    struct strbuf body = STRBUF_INIT;

    order_encode(order, &body);
    testing_publish_body(order->order_no, (struct slice){body.data, body.len});
    strbuf_release(&body);
}

void testing_wait_orders(int64_t count, int timeout_ms)
{
    testing_wait(testing_number("SELECT COUNT(*) FROM orders") >= count, timeout_ms, "orders in the table");
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), count);
}

void testing_assert_orders(int count, int64_t stock)
{
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), count);
    ck_assert_int_eq(testing_number("SELECT COUNT(DISTINCT order_no) FROM orders"), count);
    for (int n = 1; n <= count; n++) {
        struct order o = testing_lane_order(n);

        ck_assert_msg(
            testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND user_id=%d AND status='pending'",
                           o.order_no, n) == 1,
            "order %s is not there once", o.order_no);
    }
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock"), stock - count);
}

int testing_dead_letters(int count, const char *reason)
{
    struct error err = {0};
    struct broker *b = testing_broker("test dead letters", &err);
    struct broker_delivery d;
    int64_t deadline = testing_now_ms() + (count < 0 ? 300 : TESTING_PATIENCE * 10000);
    int all = 0, matching = 0, quiet = 0;
    size_t got;

    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_consume(b, topology_name(TOPOLOGY_QUEUE_DEAD), 100, "test", &err), &err);
    /* After the last expected one, another 200 ms show that no more come. */
    while (testing_now_ms() < deadline && (count < 0 || quiet < 4)) {
        struct broker_header h;

        ck_assert_ok(broker_take(b, &d, 1, 50, &got, &err), &err);
        quiet = got == 0 && all >= count ? quiet + 1 : 0;
        if (got == 0)
            continue;
        all++;
        matching += broker_delivery_find(&d, "orderd-reason", &h) && slice_is(h.value, reason);
        ck_assert_ok(broker_ack(b, d.tag, false, &err), &err);
        broker_delivery_release(&d);
    }
    broker_close(&b, true);
    if (count >= 0)
        ck_assert_int_eq(all, count);
    return matching;
}

uint32_t testing_waiting(void)
{
    struct error err = {0};
    uint32_t messages = 0, consumers = 0;
    struct broker *b = testing_broker("test depth", &err);

    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_queue_depth(b, queue, &messages, &consumers, &err), &err);
    broker_close(&b, true);
    return messages;
}
