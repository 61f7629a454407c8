/* From the order's commit to its end: the timers that go with new orders, their delay queues, and the sweep where a
 * timer is lost on its way. Against the real servers. */
#include "testing_money.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/release_lane.h"
#include "testing_letters.h"
#include "testing_relay.h"

#define CAP  2000
#define SALE testing_money.plan.activity

static struct testing_spy spy;
static struct testing_letters letters;

static void setup(void)
{
    testing_money_setup(CAP, 2, true);
    testing_sql("UPDATE activity SET shards=%d WHERE id=%" PRId64, testing_money.plan.shard + 1, SALE);
    testing_spy_open(&spy, "order.event", "#");
    testing_lane_conf->release_sweep_interval = 100;
    testing_lane_conf->release_sweep_grace = 1000;
}

static void start(unsigned create, unsigned release)
{
    testing_lane_start(create);
    testing_lane_add(&release_lane, release);
}

/* Buyers 1..count deduct and their orders are published, for the sale with the short pay time-out. */
static void sell(int from, int to)
{
    for (int n = from; n <= to; n++) {
        struct order o = testing_lane_order(n);
        struct stock_deducted d = testing_take(&testing_money, o.order_no, n, 1);

        ck_assert_int_eq(d.code, STOCK_DEDUCT_TAKEN);
        o.activity_id = SALE;
        o.amount = TESTING_MONEY_PRICE;
        o.shard = testing_money.plan.shard;
        o.user_seq = d.user_seq;
        o.epoch = (int32_t)testing_money.plan.epoch;
        o.reserved_at = d.reserved_at;
        testing_publish(&o);
    }
}

static int64_t closed(void)
{
    return testing_number("SELECT COUNT(*) FROM orders WHERE status='closed' AND reason='unpaid' AND "
                          "units_returned=quantity AND closed_at>=expires_at");
}

static void take_events(void)
{
    testing_spy_take(&spy, &letters,
                     (size_t)testing_number("SELECT COUNT(*) FROM local_message WHERE topic LIKE 'event.%%'"), 200);
    testing_letters_told(&letters);
}

/* Every order is told of once: created, and closed. */
static void assert_told(int orders, int closings)
{
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), orders);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM told WHERE event='order.created'"), orders);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM told WHERE event='order.closed'"), closings);
    ck_assert_int_eq(testing_number("SELECT COUNT(DISTINCT event,order_no) FROM told"), orders + closings);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM told t WHERE NOT EXISTS(SELECT 1 FROM orders o WHERE "
                                    "o.order_no=t.order_no COLLATE ascii_bin)"),
                     0);
}

/* Each order stands in the payload of just one timer, and each timer names at most 500. */
static void assert_timers(int64_t orders)
{
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders o WHERE (SELECT COUNT(*) FROM local_message m WHERE "
                                    "m.topic LIKE 'order.unpaid.%%' AND INSTR(m.payload,CONCAT('\"',o.order_no,'\"')))"
                                    "<>1"),
                     0);
    ck_assert_int_eq(
        testing_number("SELECT CAST(SUM((LENGTH(payload)-LENGTH(REPLACE(payload,'\"',''))) DIV 2-2) AS SIGNED) FROM "
                       "local_message WHERE topic LIKE 'order.unpaid.%%'"),
        orders);
    ck_assert_int_le(testing_number("SELECT MAX((LENGTH(payload)-LENGTH(REPLACE(payload,'\"',''))) DIV 2-2) FROM "
                                    "local_message WHERE topic LIKE 'order.unpaid.%%'"),
                     500);
}

/* ---- timers are made ---- */

/* The sweep is there, but would only begin a minute after they are due: that they are closed is the timers' work. */
START_TEST(from_commit_to_closed)
{
    testing_lane_conf->release_sweep_grace = 60000;
    start(2, 1);
    testing_lane_add_sweep();
    sell(1, 300);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders") == 300, 10000, "all are created");
    testing_wait(closed() == 300, 10000, "all are closed");
    testing_money_balances();
    testing_lane_stop();
    assert_timers(300);
    ck_assert_int_eq(testing_metric(METRIC_ORDERS_SWEPT), 0);
    take_events();
    assert_told(300, 300);
}
END_TEST

/* What buyers are told is when the database will close the order, not what our clock makes of it: here the database
 * lives in 2036. (Its time stands still, so nothing is closed.) */
START_TEST(told_by_the_database_clock)
{
    testing_admin("SET GLOBAL init_connect='SET timestamp=2082758400'");
    start(1, 0);
    sell(1, 3);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders") == 3, 10000, "all are created");
    testing_lane_stop();
    testing_admin("SET GLOBAL init_connect=DEFAULT");
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE expires_at>'2035-12-31'"), 3);
    ck_assert_int_eq(
        testing_number(
            "SELECT COUNT(*) FROM local_message m,orders o WHERE m.topic='event.order.created' AND "
            "JSON_VALUE(CONVERT(m.payload USING utf8mb4),'$.orders[0].order_no')=CONVERT(o.order_no USING utf8mb4) AND "
            "ABS(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',o.expires_at) DIV 1000-"
            "JSON_VALUE(CONVERT(m.payload USING utf8mb4),'$.orders[0].expires_at'))<60000"),
        testing_number("SELECT COUNT(*) FROM local_message WHERE topic='event.order.created'"));
}
END_TEST

/* One batch with orders of two time-outs, and more of each than a message names. */
START_TEST(grouped_by_time_out)
{
    testing_lane_conf->create_batch_max = 2000;
    testing_lane_conf->create_prefetch = 2000;
    for (int n = 1; n <= 600; n++) {
        struct order o = testing_lane_order(n + 5000);

        testing_publish(&o);
        sell(n, n);
    }
    start(1, 0);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders") == 1200, 20000, "all are created");
    testing_wait_relayed(10000);
    testing_lane_stop();
    assert_timers(1200);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders o JOIN local_message m ON m.topic LIKE "
                                    "'order.unpaid.%%' AND INSTR(m.payload,CONCAT('\"',o.order_no,'\"')) JOIN activity "
                                    "a ON a.id=o.activity_id WHERE m.topic=CONCAT('order.unpaid.',a.pay_timeout_ms)"),
                     1200);
    ck_assert_int_le(testing_number("SELECT COUNT(*) FROM local_message WHERE topic LIKE 'order.unpaid.%%'"), 20);
    take_events();
    assert_told(1200, 0);
}
END_TEST

#ifdef ORDERD_FAULTS
/* The answer to a COMMIT is lost, several times: what took effect is found, and makes no second timer or event. */
START_TEST(twins_of_a_lost_commit)
{
    static const char *const points[] = {"create.after_commit=fail@1", "create.after_commit=fail@2",
                                         "create.before_commit=fail@1"};

    testing_faults(points[_i]);
    testing_lane_conf->create_batch_max = 70;
    testing_lane_conf->create_lanes = 1;
    sell(1, 200);
    start(1, 1);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders") == 200, 10000, "all are created");
    testing_wait(closed() == 200, 20000, "all are closed");
    testing_money_balances();
    testing_lane_stop();
    assert_timers(200);
    take_events();
    assert_told(200, 200);
}
END_TEST
#endif

START_TEST(nobody_is_told)
{
    testing_lane_conf->events_enabled = false;
    start(1, 1);
    sell(1, 20);
    testing_wait(closed() == 20, 10000, "all are closed");
    testing_money_balances();
    testing_lane_stop();
    assert_timers(20);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE topic LIKE 'event.%%'"), 0);
    testing_spy_take(&spy, &letters, 0, 300);
    ck_assert_uint_eq(letters.count, 0);
}
END_TEST

/* ---- timers are lost ---- */

/* They lie where nobody takes them: the sweep closes what is overdue, and nothing before. */
START_TEST(timers_that_do_not_come)
{
    start(1, 0);
    testing_lane_add_sweep();
    testing_lane_add_sweep();
    sell(1, 300);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders") == 300, 10000, "all are created");
    testing_money_order("later", 1000, 60000);
    testing_wait(closed() == 300, 15000, "all are closed");
    testing_money_balances();
    testing_lane_stop();
    ck_assert_int_eq(testing_metric(METRIC_ORDERS_SWEPT), 300);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE closed_at<expires_at+INTERVAL 1 SECOND"), 0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 1);
    take_events();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM told WHERE event='order.closed'"), 300);
    /* The timers turn up after all. */
    start(0, 1);
    testing_wait(testing_money_waiting("order.unpaid") == 0, 5000, "they are taken");
    testing_lane_stop();
    ck_assert_int_eq(testing_metric(METRIC_ORDERS_CLOSED), 300);
    testing_money_balances();
}
END_TEST

/* A row that we did not write, whose number would end a literal of SQL, keeps nobody from being closed. */
START_TEST(foreign_number)
{
    testing_money_order("mine", 1, -5000);
    testing_money_order("other", 2, 60000);
    testing_sql("INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,status,"
                "reserved_at,expires_at) SELECT 'x'') OR (1=1)#',activity_id,user_id+5,user_seq,sku_id,quantity,amount,"
                "shard,epoch,status,reserved_at,expires_at-INTERVAL 1 HOUR FROM orders WHERE order_no='mine'");
    start(0, 0);
    testing_lane_add_sweep();
    testing_wait(closed() == 1, 15000, "mine is closed");
    testing_lane_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending' AND order_no<>'mine'"), 2);
}
END_TEST

/* No delay queue: the timers wait for it, and the sweep closes their orders meanwhile. When it is there, the timers
 * come late and have nothing to do. */
START_TEST(no_delay_queue)
{
    testing_rabbitmqctl("delete_queue order.unpaid.1000");
    start(1, 1);
    testing_lane_add_sweep();
    sell(1, 50);
    testing_wait(closed() == 50, 15000, "all are closed");
    testing_wait(testing_metric(METRIC_ORDERS_SWEPT) == 50, 5000, "the sweep closed them");
    ck_assert_int_gt(testing_number("SELECT COUNT(*) FROM local_message WHERE topic='order.unpaid.1000' AND "
                                    "state='pending' AND attempts=0 AND last_error LIKE 'no queue is bound%%'"),
                     0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE topic='order.unpaid.1000' AND "
                                    "state<>'pending'"),
                     0);
    testing_lane_topology();
    testing_sql("UPDATE local_message SET due_at=NOW(6) WHERE state='pending'");
    testing_wait(testing_metric(METRIC_TIMERS_VOID) == 50, 10000, "the timers have come");
    testing_money_balances();
    testing_lane_stop();
    ck_assert_int_eq(testing_metric(METRIC_ORDERS_CLOSED), 50);
    take_events();
    assert_told(50, 50);
}
END_TEST

/* ---- the sweep itself ---- */

static void overdue(int count)
{
    for (int n = 1; n <= count; n++) {
        char no[20];

        snprintf(no, sizeof no, "O%d", n);
        testing_money_order(no, n, -2000 - n);
    }
}

/* One at a time: while another process has the lock, nothing is swept. */
START_TEST(one_is_elected)
{
    overdue(5);
    ck_assert_int_eq(testing_number("SELECT GET_LOCK(CONCAT('orderd.sweep.',LEFT(DATABASE(),40)),0)"), 1);
    start(0, 0);
    testing_lane_add_sweep();
    clock_sleep_ms(500); /* several of its turns */
    ck_assert_int_eq(closed(), 0);
    ck_assert_int_eq(testing_number("SELECT RELEASE_LOCK(CONCAT('orderd.sweep.',LEFT(DATABASE(),40)))"), 1);
    testing_wait(closed() == 5, 5000, "they are closed");
    testing_money_balances();
    testing_lane_stop();
}
END_TEST

/* Batches follow each other without a rest, and one order that cannot be closed keeps none of the others. */
START_TEST(batch_after_batch)
{
    testing_lane_conf->release_batch_max = 20;
    testing_lane_conf->release_sweep_interval = 60000; /* one turn must do */
    overdue(130);
    testing_admin("CREATE TRIGGER %s.refuse BEFORE UPDATE ON %s.orders FOR EACH ROW IF NEW.order_no='O77' THEN SIGNAL "
                  "SQLSTATE '45000' SET MESSAGE_TEXT='not this one'; END IF",
                  testing_schema(), testing_schema());
    start(0, 0);
    testing_lane_add_sweep();
    testing_wait(closed() == 129, 10000, "all others are closed");
    testing_lane_stop();
    testing_admin("DROP TRIGGER %s.refuse", testing_schema());
    start(0, 0);
    testing_lane_add_sweep();
    testing_wait(closed() == 130, 5000, "this one too");
    testing_money_balances();
    testing_lane_stop();
    ck_assert_int_eq(testing_metric(METRIC_ORDERS_SWEPT), 130);
    take_events();
    ck_assert_int_eq(testing_number("SELECT COUNT(DISTINCT order_no) FROM told WHERE event='order.closed'"), 130);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM told"), 130);
}
END_TEST

/* Also where a test broke off. */
static void clean(void)
{
    testing_admin("SET GLOBAL init_connect=DEFAULT");
    testing_money_clean();
}

int main(void)
{
    Suite *s = suite_create("sweep");
    TCase *c = tcase_create("timers");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_unchecked_fixture(c, NULL, clean);
    tcase_add_test(c, from_commit_to_closed);
    tcase_add_test(c, told_by_the_database_clock);
    tcase_add_test(c, grouped_by_time_out);
#ifdef ORDERD_FAULTS
    tcase_add_loop_test(c, twins_of_a_lost_commit, 0, 3);
#endif
    tcase_add_test(c, nobody_is_told);
    tcase_add_test(c, timers_that_do_not_come);
    tcase_add_test(c, foreign_number);
    tcase_add_test(c, no_delay_queue);
    tcase_add_test(c, one_is_elected);
    tcase_add_test(c, batch_after_batch);
    suite_add_tcase(s, c);
    return testing_main(s);
}
