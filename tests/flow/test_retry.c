/* The retry queues against the real servers (DESIGN section 6): a message's own failure is tried as often as there are
 * delays, an outage uses up no try, and nothing is lost on the way. */
#include "testing_lane.h"
#include "testing_letters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/fault.h"
#include "orderd/metric.h"
#include "orderd/topology.h"

#define STOCK 1000
#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

/* What is seen of the retries: each copy that goes into a delay queue, and each that comes back. */
static struct testing_spy gone, back;
static struct testing_letters went, came, dead;

static void watch(void)
{
    char name[TOPOLOGY_RETRY_NAME_MAX];

    topology_retry_name(testing_lane_conf->retry_delays.ms[0], name);
    testing_spy_open(&gone, name, "");
    for (size_t i = 1; i < testing_lane_conf->retry_delays.count; i++) {
        topology_retry_name(testing_lane_conf->retry_delays.ms[i], name);
        testing_spy_bind(&gone, name, "");
    }
    testing_spy_open(&back, topology_name(TOPOLOGY_EXCHANGE_ORDER), testing_lane_conf->create_queue);
}

static void unwatch(void)
{
    testing_spy_close(&gone);
    testing_spy_close(&back);
    testing_letters_free(&went);
    testing_letters_free(&came);
    testing_letters_free(&dead);
}

/* The message id of order n, and a trigger that refuses its row, not its tombstone. */
static const char *id_of(int n)
{
    static char text[ORDER_NO_MAX + 1];

    snprintf(text, sizeof text, "%s", testing_lane_order(n).order_no);
    return text;
}

static void refuse_user(const char *condition)
{
    testing_admin("CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW IF NEW.status='pending' AND (%s) THEN "
                  "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT='refused by a trigger'; END IF",
                  condition);
}

static void publish_range(int from, int to)
{
    for (int n = from; n <= to; n++) {
        struct order o = testing_lane_order(n);
        testing_publish(&o);
    }
}

static void publish_unknown_activity(int n)
{
    struct order o = testing_lane_order(n);

    o.activity_id = 5555;
    testing_publish(&o);
}

static void assert_retry(const struct broker_delivery *d, int64_t attempt, const char *reason)
{
    char name[TOPOLOGY_RETRY_NAME_MAX];

    topology_retry_name(testing_lane_conf->retry_delays.ms[attempt - 1], name);
    ck_assert_msg(slice_is(d->exchange, name), "attempt %d went through %.*s", (int)attempt, (int)d->exchange.len,
                  d->exchange.ptr);
    ck_assert(slice_is(d->routing_key, testing_lane_conf->create_queue));
    ck_assert_int_eq(atoll(testing_header(d, "orderd-attempt")), attempt);
    ck_assert_str_eq(testing_header(d, "orderd-reason"), reason);
    ck_assert_str_eq(testing_header(d, "orderd-origin"), testing_lane_conf->create_queue);
    ck_assert_str_eq(testing_header(d, "orderd-stage"), "create");
    ck_assert_str_eq(testing_header(d, "orderd-worker"), "orderd@test create.0");
    ck_assert_str_eq(testing_header(d, "traceparent"), TRACE);
    testing_assert_stripped(d);
}

/* ---- the way of one message ---- */

static const struct {
    const char *reason;
    bool tombstone;
} failures[] = {{"activity_unknown", false}, {"constraint", true}};

/* How many messages had to wait aside so far. */
static uint64_t parked(void)
{
    struct metric_sum sum;

    metric_read(&sum);
    return sum.counters[METRIC_MESSAGES_PARKED];
}

START_TEST(each_queue_once_then_dead)
{
    const char *reason = failures[_i].reason;
    int64_t first, last;

    testing_lane_delays = "120ms,60ms,180ms"; /* in the order of the list, not of their length */
    testing_lane_setup(STOCK, NULL);
    watch();
    refuse_user("NEW.user_id=7");
    if (failures[_i].tombstone)
        publish_range(7, 7);
    else
        publish_unknown_activity(7);
    testing_lane_start(1);
    testing_letters_dead(&dead, 1, 300);
    testing_spy_take(&gone, &went, 3, 100);
    testing_spy_take(&back, &came, 4, 100); /* the first publish, and three that came back */
    testing_lane_stop();
    ck_assert_uint_eq(went.count, 3);
    ck_assert_uint_eq(came.count, 4);
    ck_assert_uint_eq(dead.count, 1);
    first = testing_header_time(&went.list[0], "orderd-failed-at");
    for (int i = 0; i < 3; i++) {
        int64_t sent = testing_header_time(&went.list[i], "orderd-failed-at");

        assert_retry(&went.list[i], i + 1, reason);
        ck_assert_int_eq(testing_header_time(&went.list[i], "orderd-first-failed-at"), first);
        ck_assert(slice_is(went.list[i].message_id, id_of(7)));
        ck_assert(slice_equal(went.list[i].body, came.list[0].body));
        ck_assert_int_ge(came.at[i + 1] - sent, testing_lane_conf->retry_delays.ms[i]);
    }
    last = testing_header_time(&dead.list[0], "orderd-failed-at");
    ck_assert_int_ge(last - first, 120 + 60 + 180);
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-reason"), reason);
    ck_assert_int_eq(atoi(testing_header(&dead.list[0], "orderd-attempt")), 3);
    ck_assert_int_eq(testing_header_time(&dead.list[0], "orderd-first-failed-at"), first);
    ck_assert(slice_equal(dead.list[0].body, came.list[0].body));
    testing_assert_stripped(&dead.list[0]);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected' AND reason='%s'", reason),
                     failures[_i].tombstone);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), failures[_i].tombstone);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock"), STOCK);
    unwatch();
}
END_TEST

static const struct {
    const char *delays;
    size_t count;
} lists[] = {{"40ms", 1}, {"40ms,45ms,50ms,55ms,60ms", 5}, {"50ms,50ms", 2}};

START_TEST(as_many_tries_as_delays)
{
    testing_lane_delays = lists[_i].delays;
    testing_lane_setup(STOCK, NULL);
    ck_assert_uint_eq(testing_lane_conf->retry_delays.count, lists[_i].count);
    watch();
    refuse_user("NEW.user_id=7");
    publish_range(1, 10);
    testing_lane_start(1);
    testing_letters_dead(&dead, 1, 200);
    testing_spy_take(&gone, &went, lists[_i].count, 100);
    testing_wait_orders(10, 5000);
    testing_lane_stop();
    ck_assert_uint_eq(went.count, lists[_i].count);
    for (size_t i = 0; i < went.count; i++)
        assert_retry(&went.list[i], (int64_t)i + 1, "constraint");
    ck_assert_int_eq(atoi(testing_header(&dead.list[0], "orderd-attempt")), (int)lists[_i].count);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 9);
    unwatch();
}
END_TEST

/* Mended before the last try: an order like any other. */
START_TEST(mended_in_time)
{
    testing_lane_delays = "50ms,100ms,3s";
    testing_lane_setup(STOCK, NULL);
    watch();
    refuse_user("NEW.user_id=7");
    publish_range(1, 20);
    testing_lane_start(2);
    testing_spy_take(&gone, &went, 3, 0);
    testing_admin("DROP TRIGGER refuse");
    testing_wait_orders(20, 5000);
    testing_letters_dead(&dead, 0, 300);
    testing_lane_stop();
    testing_assert_orders(20, STOCK);
    ck_assert_uint_eq(dead.count, 0);
    unwatch();
}
END_TEST

static void add_activity(void)
{
    testing_sql("INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,pay_timeout_ms,state,starts_at,"
                "ends_at,epoch) SELECT 5555,title,sku_id,unit_price,currency,10,pay_timeout_ms,'running',starts_at,"
                "ends_at,1 FROM activity WHERE id=%d;INSERT INTO activity_stock(activity_id,total,available) "
                "VALUES(5555,10,10)",
                TESTING_ACTIVITY);
}

START_TEST(activity_becomes_known_in_time)
{
    testing_lane_delays = "50ms,100ms,3s";
    testing_lane_setup(STOCK, NULL);
    watch();
    publish_unknown_activity(7);
    testing_lane_start(1);
    testing_spy_take(&gone, &went, 2, 0);
    add_activity();
    testing_wait_orders(1, 5000);
    testing_letters_dead(&dead, 0, 200);
    testing_lane_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE activity_id=5555 AND status='pending'"), 1);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock WHERE activity_id=5555"), 9);
    unwatch();
}
END_TEST

/* ---- crashes ---- */

static const struct {
    const char *fault;
    size_t least, most; /* copies, in the end */
} crashes[] = {
    {"create.taken=kill@1", 1, 1},
    {"retry.before_publish=kill@1", 1, 1},
    {"retry.after_confirm=kill@1", 2, 2}, /* in the retry queue, and back from the crash */
    {"create.before_ack=kill@1", 2, 2},
    {"create.after_ack=kill@1", 1, 2}, /* a connection that is reset may take the acknowledgement with it */
};

/* A crash may make a copy of a message, but none of its copies has more tries than the list is long; the tries go on
 * where they were; and of all copies only one is decided. */
START_TEST(crash_and_redelivery)
{
    int per_attempt[4] = {0};

    testing_lane_setup(STOCK, NULL);
    watch();
    refuse_user("NEW.user_id=7");
    publish_range(7, 7);
    testing_crash_at(crashes[_i].fault);
    testing_lane_start(1);
    testing_letters_dead(&dead, 1, 500);
    testing_spy_take(&gone, &went, 3 * crashes[_i].least, 200);
    testing_lane_stop();
    for (size_t i = 0; i < went.count; i++) {
        int attempt = atoi(testing_header(&went.list[i], "orderd-attempt"));

        ck_assert(attempt >= 1 && attempt <= 3);
        per_attempt[attempt]++;
        testing_assert_stripped(&went.list[i]);
    }
    /* The second copy meets the tombstone of the first, perhaps before its own last try. */
    ck_assert_int_ge(per_attempt[3], 1);
    ck_assert_int_le(per_attempt[1], (int)crashes[_i].most);
    ck_assert_int_le(per_attempt[3], (int)crashes[_i].most);
    ck_assert_uint_eq(dead.count, 1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected'"), 1);
    ck_assert_int_eq(testing_waiting(), 0);
    unwatch();
}
END_TEST

/* ---- outages use up no try ---- */

START_TEST(database_outage_uses_no_try)
{
    testing_lane_delays = "300ms,301ms,302ms";
    testing_lane_setup(STOCK, NULL);
    watch();
    refuse_user("NEW.user_id=7");
    publish_range(1, 20);
    testing_lane_start(1);
    testing_spy_take(&gone, &went, 1, 0);
    testing_stack("kill", "mariadb", "");
    testing_wait(!lane_state_ready(lane_state_of(testing_lane(0))), 10000, "the lane notices");
    clock_sleep_ms(1000); /* longer than all delays together */
    testing_stack("up", "mariadb", "");
    testing_letters_dead(&dead, 1, 300);
    testing_spy_take(&gone, &went, 3, 100);
    testing_lane_stop();
    ck_assert_uint_eq(went.count, 3);
    for (int i = 0; i < 3; i++)
        assert_retry(&went.list[i], i + 1, "constraint");
    testing_wait_orders(20, 5000);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 19);
    unwatch();
}
END_TEST

/* ---- what is never retried ---- */

START_TEST(undecodable_goes_aside_at_once)
{
    static const char *const bodies[] = {"not json", "{}", "{\"v\":2}", "{\"v\":1,\"order_no\":\"a'b\"}"};
    struct order o;

    testing_lane_setup(STOCK, NULL);
    watch();
    publish_range(1, 5);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        testing_publish_body(bodies[i], slice_of(bodies[i]));
    o = testing_lane_order(1), o.quantity = 2, o.amount *= 2, testing_publish(&o); /* other content */
    o = testing_lane_order(8), o.amount = 1, testing_publish(&o);
    o = testing_lane_order(9), o.sku_id = 1, testing_publish(&o);
    testing_lane_start(1);
    testing_letters_dead(&dead, 7, 200);
    testing_spy_take(&gone, &went, 0, 100);
    testing_lane_stop();
    ck_assert_uint_eq(dead.count, 7);
    ck_assert_uint_eq(went.count, 0);
    for (size_t i = 0; i < dead.count; i++)
        ck_assert_str_eq(testing_header(&dead.list[i], "orderd-attempt"), "0");
    testing_assert_orders(5, STOCK);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE " TESTING_DECIDED),
                     0); /* no stock moved, nothing is told */
    unwatch();
}
END_TEST

/* ---- forged headers ---- */

static const struct {
    bool is_integer;
    int64_t integer;
    const char *text;
    size_t tries; /* that are left */
} forged[] = {
    {true, -1, NULL, 3},        {true, INT64_MIN, NULL, 3}, {true, 2, NULL, 1},
    {true, INT64_MAX, NULL, 0}, {false, 0, "3", 3},         {false, 0, "", 3},
};

START_TEST(forged_attempts_do_no_harm)
{
    struct broker_header h = {.name = slice_of("orderd-attempt"),
                              .is_integer = forged[_i].is_integer,
                              .integer = forged[_i].integer,
                              .value = slice_of(forged[_i].text)};
    struct strbuf body = STRBUF_INIT;

    testing_lane_setup(STOCK, NULL);
    watch();
    refuse_user("NEW.user_id=7");
    for (int n = 6; n <= 7; n++) {
        struct order o = testing_lane_order(n);

        strbuf_reset(&body);
        order_encode(&o, &body);
        testing_publish_with(o.order_no, (struct slice){body.data, body.len}, &h);
    }
    testing_publish_with("bad", slice_of("bad"), &h);
    strbuf_release(&body);
    testing_lane_start(1);
    testing_letters_dead(&dead, 2, 200);
    testing_spy_take(&gone, &went, forged[_i].tries, 100);
    testing_lane_stop();
    ck_assert_uint_eq(dead.count, 2);
    ck_assert_uint_eq(went.count, forged[_i].tries);
    for (size_t i = 0; i < went.count; i++)
        ck_assert_int_eq(atoi(testing_header(&went.list[i], "orderd-attempt")), (int)(3 - forged[_i].tries + i + 1));
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE user_id=6 AND status='pending'"), 1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE user_id=7 AND status='rejected'"), 1);
    unwatch();
}
END_TEST

/* A header frame that is nearly full of somebody's headers: there is no room for ours. The lane must neither stop at it
 * nor lose it. */
START_TEST(headers_that_fill_the_frame)
{
    char *large = malloc(126500);
    struct broker_header h = {.name = slice_of("large"), .value = {large, 126500}};
    struct order o = testing_lane_order(7);
    struct strbuf body = STRBUF_INIT;

    memset(large, 'x', 126500);
    testing_lane_setup(STOCK, NULL);
    watch();
    refuse_user("NEW.user_id=7");
    order_encode(&o, &body);
    testing_publish_with(o.order_no, (struct slice){body.data, body.len}, &h);
    testing_publish_with("bad", slice_of("bad"), &h);
    publish_range(1, 5);
    testing_lane_start(1);
    testing_letters_dead(&dead, 2, 200);
    testing_spy_take(&gone, &went, 3, 100);
    testing_wait_orders(6, 5000);
    testing_lane_stop();
    ck_assert_uint_eq(went.count, 3);
    for (int i = 0; i < 3; i++)
        assert_retry(&went.list[i], i + 1, "constraint");
    ck_assert_str_eq(testing_header(&went.list[0], "orderd-headers-left-out"), "1");
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 5);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='sent' AND " TESTING_DECIDED),
                     2); /* there is no shard to return to */
    strbuf_release(&body);
    free(large);
    unwatch();
}
END_TEST

/* ---- the broker is not as it should be ---- */

static void delete_exchange(const char *name)
{
    testing_rabbitmqctl(
        "eval 'rabbit_exchange:delete(rabbit_misc:r(<<\"/\">>,exchange,<<\"%s\">>),false,<<\"test\">>).'", name);
}

/* The retry queue (0), or its exchange (1), is missing: the message waits aside, unacknowledged, while the sale goes
 * on, and is retried when `orderctl topology apply` was run. */
START_TEST(retry_queue_missing)
{
    testing_lane_delays = "71ms,72ms,73ms";
    testing_lane_setup(STOCK, "prefetch = 50; batch_max = 50;");
    if (_i == 0)
        testing_rabbitmqctl("delete_queue order.retry.72");
    else
        delete_exchange("order.retry.72");
    refuse_user("NEW.user_id=7");
    publish_range(1, 20);
    testing_lane_start(1);
    testing_wait(parked() > 0, 10000, "messages wait aside");
    publish_range(21, 30);
    testing_wait_orders(29, 10000);
    testing_lane_topology();
    testing_letters_dead(&dead, 1, 200);
    testing_wait_orders(30, 10000);
    testing_lane_stop();
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-reason"), "constraint");
    ck_assert_int_eq(atoi(testing_header(&dead.list[0], "orderd-attempt")), 3);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 29);
    testing_rabbitmqctl("delete_queue order.retry.71");
    testing_rabbitmqctl("delete_queue order.retry.73");
    testing_letters_free(&dead);
}
END_TEST

/* Two messages with the same id in one batch (a producer that gives none, or a copy): one is stored, the other comes
 * back as unroutable. A return is matched by that id, and must not be taken for the wrong one's. */
START_TEST(same_message_id_in_one_window)
{
    static const char *const ids[] = {"same", ""};
    struct order o = testing_lane_order(7);
    struct strbuf body = STRBUF_INIT;

    testing_lane_delays = "74ms,75ms";
    testing_lane_setup(STOCK, NULL);
    testing_rabbitmqctl("delete_queue order.retry.74");
    refuse_user("NEW.user_id=7");
    order_encode(&o, &body);
    testing_publish_body("first", slice_of("a lane looks at one message first"));
    testing_publish_body(ids[_i], slice_of("bad 1"));
    testing_publish_body(ids[_i], (struct slice){body.data, body.len});
    testing_publish_body(ids[_i], slice_of("bad 2"));
    testing_lane_start(1);
    testing_wait(parked() > 0, 10000, "messages wait aside");
    clock_sleep_ms(300);
    testing_lane_topology();
    testing_wait_orders(1, 10000);
    testing_letters_dead(&dead, 4, 300);
    testing_lane_stop();
    ck_assert_uint_eq(dead.count, 4); /* and none twice */
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected'"), 1);
    strbuf_release(&body);
    testing_rabbitmqctl("delete_queue order.retry.75");
    testing_letters_free(&dead);
}
END_TEST

START_TEST(blocked_broker_is_waited_out)
{
    testing_lane_setup(STOCK, NULL);
    testing_lane_conf->broker_call_timeout = 2000; /* how long a publish waits for what does not come */
    watch();
    refuse_user("NEW.user_id=7");
    publish_range(1, 10);
    testing_rabbitmqctl("set_vm_memory_high_watermark absolute 1MB");
    testing_lane_start(1);
    testing_wait_orders(9, 10000);
    testing_wait(parked() > 0, 15000, "messages wait aside");
    testing_rabbitmqctl("set_vm_memory_high_watermark 0.4");
    testing_wait_orders(10, 20000);
    testing_letters_dead(&dead, 1, 200);
    testing_spy_take(&gone, &went, 3, 200);
    testing_lane_stop();
    /* A publish of unknown outcome is repeated, so a copy more is possible, a try more is not. */
    for (size_t i = 0; i < went.count; i++)
        ck_assert_int_le(atoi(testing_header(&went.list[i], "orderd-attempt")), 3);
    ck_assert_int_eq(atoi(testing_header(&dead.list[0], "orderd-attempt")), 3);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 9);
    unwatch();
}
END_TEST

/* ---- storms ---- */

/* Everything fails alike: no sale is dead-lettered for that. */
START_TEST(storm_pauses)
{
    testing_lane_setup(STOCK, NULL);
    refuse_user("TRUE");
    publish_range(1, 200);
    testing_lane_start(1);
    testing_wait(lane_state_of(testing_lane(0)) == LANE_PAUSED, 10000, "the lane pauses");
    clock_sleep_ms(1500); /* several times all delays */
    ck_assert_int_eq(lane_state_of(testing_lane(0)), LANE_PAUSED);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), 0);
    testing_admin("DROP TRIGGER refuse");
    testing_wait_orders(200, 10000);
    testing_lane_stop();
    testing_assert_orders(200, STOCK);
    testing_letters_dead(&dead, 0, 200);
    ck_assert_uint_eq(dead.count, 0);
}
END_TEST

/* A few messages that fail again and again, with nothing else to do, are no storm: they run out of tries. */
START_TEST(few_failures_are_no_storm)
{
    testing_lane_setup(STOCK, NULL);
    refuse_user("TRUE");
    publish_range(1, 4);
    testing_lane_start(1);
    testing_letters_dead(&dead, 4, 200);
    testing_wait(lane_state_of(testing_lane(0)) == LANE_CONSUMING, 5000, "the lane consumes");
    testing_lane_stop();
    ck_assert_uint_eq(dead.count, 4);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected'"), 4);
    testing_letters_free(&dead);
}
END_TEST

/* Many bad ones among good ones: each is judged by itself. */
START_TEST(many_bad_among_good)
{
    testing_lane_setup(STOCK, NULL);
    refuse_user("NEW.user_id MOD 10=7");
    publish_range(1, 200);
    testing_lane_start(2);
    testing_wait_orders(200, 15000);
    testing_letters_dead(&dead, 20, 200);
    testing_lane_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending' AND user_id MOD 10<>7"), 180);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected' AND user_id MOD 10=7"), 20);
    ck_assert_uint_eq(dead.count, 20);
    testing_letters_free(&dead);
}
END_TEST

/* ---- classic queues ---- */

static void declare_classic(const char *queue, const char *exchange, int64_t ttl_ms)
{
    struct broker_argument arguments[] = {{"x-queue-type", "classic", 0},
                                          {"x-message-ttl", NULL, ttl_ms},
                                          {"x-dead-letter-exchange", "order", 0},
                                          {"x-expires", NULL, 20000}};
    enum broker_presence presence;
    struct error err = {0}, detail = {0};
    struct broker *b = testing_broker("test topology", &err);

    ck_assert_ok(b != NULL, &err);
    if (ttl_ms)
        ck_assert_ok(broker_declare_exchange(b, exchange, BROKER_EXCHANGE_FANOUT, true, &presence, &detail, &err),
                     &err);
    ck_assert_ok(broker_declare_queue(b, queue, arguments, ttl_ms ? 4 : 1, true, &presence, &detail, &err), &err);
    ck_assert_int_eq(presence, BROKER_PRESENT);
    ck_assert_ok(broker_bind_queue(b, queue, exchange, queue, &err), &err);
    broker_close(&b, true);
}

/* The same on classic queues, whose deliveries come one at a time where they were handed out before. */
START_TEST(classic_queues)
{
    char name[TOPOLOGY_RETRY_NAME_MAX];

    testing_lane_setup(STOCK, NULL);
    testing_lane_conf->broker_queue_type = CONF_QUEUE_TYPE_CLASSIC;
    testing_rabbitmqctl("delete_queue %s", testing_lane_conf->create_queue);
    declare_classic(testing_lane_conf->create_queue, "order", 0);
    for (int i = 0; i < 3; i++) {
        testing_lane_conf->retry_delays.ms[i] += 7; /* which no other test uses */
        topology_retry_name(testing_lane_conf->retry_delays.ms[i], name);
        declare_classic(name, name, testing_lane_conf->retry_delays.ms[i]);
    }
    watch();
    refuse_user("NEW.user_id=7");
    publish_range(1, 20);
    testing_publish_body("bad", slice_of("bad"));
    testing_crash_at("retry.after_confirm=kill@1");
    testing_lane_start(2);
    testing_letters_dead(&dead, 2, 500);
    testing_spy_take(&gone, &went, 3, 100);
    testing_wait_orders(20, 5000);
    testing_lane_stop();
    for (size_t i = 0; i < went.count; i++)
        ck_assert_int_le(atoi(testing_header(&went.list[i], "orderd-attempt")), 3);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 19);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected'"), 1);
    ck_assert_int_eq(testing_waiting(), 0);
    unwatch();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("retry");
    TCase *c = tcase_create("retry");

#define LOOP(test, table) tcase_add_loop_test(c, test, 0, (int)(sizeof(table) / sizeof *(table)))
    tcase_set_timeout(c, 40);
    LOOP(each_queue_once_then_dead, failures);
    LOOP(as_many_tries_as_delays, lists);
    tcase_add_test(c, mended_in_time);
    tcase_add_test(c, activity_becomes_known_in_time);
    LOOP(crash_and_redelivery, crashes);
    tcase_add_test(c, database_outage_uses_no_try);
    tcase_add_test(c, undecodable_goes_aside_at_once);
    LOOP(forged_attempts_do_no_harm, forged);
    tcase_add_test(c, headers_that_fill_the_frame);
    tcase_add_loop_test(c, retry_queue_missing, 0, 2);
    tcase_add_loop_test(c, same_message_id_in_one_window, 0, 2);
    tcase_add_test(c, blocked_broker_is_waited_out);
    tcase_add_test(c, storm_pauses);
    tcase_add_test(c, few_failures_are_no_storm);
    tcase_add_test(c, many_bad_among_good);
    tcase_add_test(c, classic_queues);
    suite_add_tcase(s, c);
    return testing_main(s);
}
