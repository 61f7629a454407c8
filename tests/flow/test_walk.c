/* Orders whose message was lost, against the real servers (DESIGN section 9): they are created after all, through the
 * relay and the create lanes; once; and not while their message may still be on its way. */
#include "testing_relay.h"
#include "testing_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/metric.h"
#include "orderd/topology.h"

#define EVERYTHING (TESTING_WALK | TESTING_RELAY | TESTING_LANES)

static struct testing_letters dead, told;

static int64_t recoveries(void)
{
    return testing_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE 'recover:%%'");
}

/* The rows of recovered orders are those of numbers from..to. */
static void recovered_are(int from, int to)
{
    ck_assert_int_eq(recoveries(), to - from + 1);
    for (int n = from; n <= to; n++)
        ck_assert_msg(
            testing_number("SELECT COUNT(*) FROM local_message WHERE message_key='recover:%s'", testing_no(n)) == 1,
            "order %d was not recovered", n);
}

/* ---- the web tier dies right after the deduct ---- */

#define LOST (TESTING_SMALL ? 200 : 1000)

/* No message and no row of a thousand orders: one walk makes them orders. Then their messages turn up after all. */
START_TEST(a_dead_web_tier)
{
    static struct order orders[LOST];

    testing_sale_open(2 * LOST, 4, 2);
    for (int n = 1; n <= LOST; n++)
        orders[n - 1] = testing_buy(n, 1);
    testing_wait_old();
    testing_parts_start(EVERYTHING, 1);
    testing_wait_orders(LOST, 20000);
    testing_wait_walks(1); /* written down after its last order was sent again */
    ck_assert_int_eq(testing_walked().recovered, LOST);
    ck_assert_int_eq(testing_walked().reservations, LOST);
    testing_wait_effects();
    testing_orders_are("pending", 1, LOST);
    recovered_are(1, LOST);
    testing_sale_conserved();
    for (int n = 1; n <= LOST; n++)
        testing_send(&orders[n - 1]);
    testing_wait(testing_ready("order.create") == 0, 10000, "the late messages are taken");
    testing_next_walk();
    testing_parts_stop();
    testing_orders_are("pending", 1, LOST);
    ck_assert_int_eq(testing_walked().recovered, 0);
    ck_assert_int_eq(testing_walked().mended, 0);
    ck_assert_int_eq(testing_walked().need_person, 0);
    testing_sale_conserved();
    testing_letters_dead(&dead, 0, 200);
    ck_assert_uint_eq(dead.count, 0);
    testing_sale_close();
}
END_TEST

/* The row says what the reservation said: shard, mark, amount and the time of the deduct. */
START_TEST(what_is_rebuilt)
{
    struct order o;

    testing_sale_open(40, 4, 5);
    (void)testing_buy(7, 1);
    testing_sql("SELECT 1");
    o = testing_buy(3, 3);
    testing_wait_old();
    testing_parts_start(EVERYTHING, 1);
    testing_wait_orders(2, 10000);
    testing_parts_stop();
    ck_assert_int_eq(
        testing_number(
            "SELECT COUNT(*) FROM orders WHERE order_no='%s' AND activity_id=%" PRId64
            " AND user_id=3 AND user_seq=%d AND sku_id=%d AND quantity=3 AND amount=%d AND shard=%d AND "
            "epoch=1 AND status='pending' AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',reserved_at)/1000=%" PRId64,
            o.order_no, testing_sale.id, o.user_seq, TESTING_SKU, 3 * TESTING_PRICE, o.shard, o.reserved_at),
        1);
    testing_sale_conserved();
    testing_sale_close();
}
END_TEST

/* Where the create queue has another name, that is where lost orders go. */
START_TEST(another_create_queue)
{
    testing_sale_open(10, 1, 1);
    testing_walk_conf->create_queue = testing_lane_conf->create_queue;
    (void)testing_buy(1, 1);
    testing_wait_old();
    testing_parts_start(EVERYTHING, 1);
    testing_wait_orders(1, 10000);
    testing_parts_stop();
    ck_assert_int_eq(testing_ready("order.create"), 0);
    testing_sale_close();
}
END_TEST

/* Younger than W and the retry delays together: its message may be anywhere. */
START_TEST(young_orders_are_left_alone)
{
    testing_sale_open(10, 1, 1);
    testing_walk_conf->walk_in_flight = 60000;
    (void)testing_buy(1, 1);
    testing_wait_old();
    testing_parts_start(TESTING_WALK, 1);
    testing_wait_walks(1);
    testing_parts_stop();
    ck_assert_int_eq(recoveries(), 0);
    ck_assert_int_eq(testing_walked().reservations, 1);
    ck_assert_int_eq(testing_walked().deferred, 0);
    testing_sale_close();
}
END_TEST

/* The sale is over, and its last second's crash is found like any other. */
START_TEST(the_last_second)
{
    testing_sale_open(10, 1, 1);
    for (int n = 1; n <= 5; n++)
        (void)testing_buy(n, 1);
    for (int i = 0; i < testing_sale.shards; i++) {
        struct stock_extend end = {.activity = testing_sale.id,
                                   .shard = i,
                                   .ends_at = clock_wall_ms() - 1,
                                   .expire_at = clock_wall_ms() + 3600000,
                                   .epoch = 1};
        struct stock_extended answer;
        struct error err = {0};

        ck_assert_ok(stock_extend(testing_sale.kv, &end, &answer, &err), &err);
        ck_assert_int_eq(answer.code, STOCK_EXTEND_EXTENDED);
    }
    testing_sql("UPDATE activity SET state='ended',ends_at=NOW(3) WHERE id=%" PRId64, testing_sale.id);
    testing_wait_old();
    testing_parts_start(EVERYTHING, 1);
    testing_wait_orders(5, 10000);
    testing_parts_stop();
    testing_orders_are("pending", 1, 5);
    testing_sale_conserved();
    testing_sale_close();
}
END_TEST

/* ---- a backlog is not a loss ---- */

#define WAITING 300
#define SILENT  20

/* Orders 1..WAITING wait in the queue, the next SILENT were never sent, and all are older than W: nothing is sent
 * again. Once the lanes are through, the silent ones are, and only they. */
START_TEST(a_backlog)
{
    testing_sale_open(2 * (WAITING + SILENT), 2, 1);
    for (int n = 1; n <= WAITING; n++) {
        struct order o = testing_buy(n, 1);

        testing_send(&o);
    }
    for (int n = WAITING + 1; n <= WAITING + SILENT; n++)
        (void)testing_buy(n, 1);
    testing_wait_old();
    testing_wait(testing_ready("order.create") == WAITING, 5000, "all wait");
    testing_parts_start(TESTING_WALK | TESTING_RELAY, 1);
    testing_wait_walks(1);
    testing_next_walk();
    testing_parts_stop();
    ck_assert_int_eq(recoveries(), 0);
    ck_assert_int_eq(testing_walked().deferred, WAITING + SILENT);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_DEFERRED), 2 * (WAITING + SILENT));
    ck_assert_uint_eq(testing_counted(METRIC_WALK_RECOVERED), 0);
    ck_assert_int_eq(testing_ready("order.create"), WAITING);

    testing_parts_start(EVERYTHING, 1);
    testing_wait_orders(WAITING, 20000);
    testing_wait(testing_ready("order.create") == 0, 5000, "the queue is empty");
    testing_next_walk();
    testing_wait_orders(WAITING + SILENT, 10000);
    testing_parts_stop();
    recovered_are(WAITING + 1, WAITING + SILENT);
    ck_assert_int_eq(testing_walked().deferred, 0);
    testing_orders_are("pending", 1, WAITING + SILENT);
    testing_sale_conserved();
    testing_sale_close();
}
END_TEST

/* Rows of another activity, reserved so many ms ago: what the lanes are working on. */
static void rows_reserved(int count, int64_t ago_ms)
{
    testing_sql("INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,status,"
                "reserved_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<%d) SELECT "
                "CONCAT('L',i,'_',%" PRId64 "),%d,i,%" PRId64 " MOD 10000,1,1,1,0,1,'closed',NOW(3)-INTERVAL %" PRId64
                "000 MICROSECOND FROM n",
                count, ago_ms, TESTING_ACTIVITY, ago_ms, ago_ms);
}

/* Something waits all the time, since more arrives than the lanes take: what they have behind them is lost for all
 * that, and what lies before them is not. */
START_TEST(a_lasting_backlog)
{
    struct order waiting;

    testing_sale_open(20, 1, 1);
    waiting = testing_buy(1, 1);
    testing_send(&waiting);
    (void)testing_buy(2, 1);
    testing_wait_old();
    rows_reserved(200, 3600000); /* the lanes are at orders of an hour ago */
    testing_parts_start(TESTING_WALK, 1);
    testing_wait_walks(1);
    ck_assert_int_eq(recoveries(), 0);
    ck_assert_int_eq(testing_walked().deferred, 2);
    rows_reserved(150, 0); /* they have come as far as now; a few old ones do not matter */
    rows_reserved(50, 1800000);
    testing_next_walk();
    testing_parts_stop();
    ck_assert_int_eq(testing_walked().deferred, 0);
    ck_assert_int_eq(testing_walked().recovered, 2);
    ck_assert_int_eq(testing_ready("order.create"), 1);
    testing_sale_close();
}
END_TEST

/* Who cannot be asked may hold anything: nothing is sent again; but what needs no answer is done. */
START_TEST(the_broker_is_away)
{
    struct order o;

    testing_sale_open(10, 1, 1);
    for (int n = 1; n <= 3; n++) {
        o = testing_buy(n, 1);
        if (n == 3)
            testing_send(&o);
    }
    testing_parts_start(TESTING_LANES | TESTING_RELAY, 1);
    testing_wait_orders(1, 5000);
    testing_wait_effects();
    testing_parts_stop();
    testing_sql("UPDATE orders SET status='closed',reason='unpaid',units_returned=1,closed_at=NOW(6)-INTERVAL 1 "
                "HOUR;UPDATE activity_stock SET available=available+1 WHERE activity_id=%" PRId64,
                testing_sale.id);
    testing_wait_old();
    testing_walk_conf->broker_port = testing_free_port();
    testing_parts_start(TESTING_WALK, 1);
    testing_wait_walks(1);
    testing_parts_stop();
    ck_assert_int_eq(recoveries(), 0);
    ck_assert_int_eq(testing_walked().deferred, 2);
    ck_assert_int_eq(testing_walked().mended, 1);
    testing_sale_hash(3, STOCK_KEY_GONE, "returned");
    testing_sale_close();
}
END_TEST

/* ---- sent again, in vain ---- */

/* The order cannot be created: its reservation names an amount that is not the price. Sent again three times, with
 * longer and longer waits, it lies in the dead letters three times, still without a decision; then there is one. */
START_TEST(unrecoverable)
{
    struct testing_spy events;
    struct order o;
    int64_t began;

    testing_sale_open(10, 1, 1);
    testing_walk_conf->walk_interval = 100;
    testing_spy_open(&events, topology_name(TOPOLOGY_EXCHANGE_EVENT), "order.rejected");
    o = testing_buy_at(1, 1, 1);
    (void)testing_buy(2, 1);
    testing_wait_old();
    began = testing_now_ms();
    testing_parts_start(EVERYTHING, 1);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected'") == 1, 30000, "it is given up");
    /* The waits: W and the retries, then twice and four times as long. */
    ck_assert_int_ge(testing_now_ms() - began, 7 * 250);
    testing_wait_effects();
    testing_spy_take(&events, &told, 1, 500);
    testing_letters_dead(&dead, 4, 500);
    testing_send(&o); /* it turns up after all, and the number is done with */
    testing_wait(testing_ready("order.create") == 0, 5000, "it is taken");
    testing_parts_stop();
    ck_assert_uint_eq(told.count, 1);
    ck_assert_uint_eq(dead.count, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert(slice_is(dead.list[i].message_id, o.order_no));
        ck_assert_str_eq(testing_header(&dead.list[i], "orderd-reason"), i < 3 ? "amount_mismatch" : "unrecoverable");
    }
    ck_assert_str_eq(testing_header(&dead.list[3], "orderd-stage"), "walk");
    ck_assert_str_eq(testing_header(&dead.list[3], "orderd-origin"), "order.create");
    ck_assert_str_eq(testing_header(&dead.list[3], "orderd-attempt"), "3");
    ck_assert(slice_equal(dead.list[3].body, dead.list[0].body));
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND status='rejected' AND "
                                    "reason='unrecoverable' AND units_returned=1 AND units_forfeited=0",
                                    o.order_no),
                     1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending' AND user_id=2"), 1);
    testing_sale_hash(1, STOCK_KEY_GONE, "returned");
    testing_sale_mark(1, NULL);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_GIVEN_UP), 1);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_RECOVERED), 4); /* and the one that was well, once */
    testing_sale_conserved();
    testing_spy_close(&events);
    testing_letters_free(&told);
    testing_letters_free(&dead);
    testing_sale_close();
}
END_TEST

/* Nothing that cannot be taken back while messages wait: this one may be among them. */
START_TEST(nothing_is_given_up_over_a_backlog)
{
    struct order o;

    testing_sale_open(10, 1, 1);
    (void)testing_buy_at(1, 1, 1);
    testing_wait_old();
    testing_recover_in_vain();
    o = testing_buy(2, 1); /* nobody takes it */
    testing_send(&o);
    testing_wait(testing_ready("order.create") == 1, 5000, "it waits");
    rows_reserved(200, 0);
    testing_wait_old();
    rows_reserved(200, 1); /* the lanes are far past it */
    testing_walk_conf->events_enabled = false;
    testing_parts_start(TESTING_WALK | TESTING_RELAY, 1);
    testing_next_walk();
    ck_assert_int_ge(testing_walked().deferred, 1);
    testing_parts_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected'"), 0);
    testing_parts_start(EVERYTHING, 1);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'") == 1, 5000, "the queue is empty");
    testing_next_walk();
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE reason='unrecoverable'") == 1, 5000, "now it is");
    testing_parts_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE topic='event.order.rejected'"), 0);
    testing_sale_close();
}
END_TEST

/* How often an order was sent again is known as long as it matters, however soon sent rows are deleted. */
START_TEST(the_cleaner_leaves_the_count)
{
    testing_sale_open(10, 1, 1);
    testing_walk_conf->walk_interval = 100;
    testing_walk_conf->relay_keep_sent = 0;
    testing_walk_conf->relay_clean_interval = 100;
    (void)testing_buy_at(1, 1, 1);
    (void)testing_buy(2, 1);
    testing_wait_old();
    testing_parts_start(EVERYTHING, 1);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE reason='unrecoverable'") == 1, 30000,
                 "it is given up");
    testing_wait(testing_number("SELECT COUNT(*) FROM local_message") == 0, 5000, "then all rows go");
    testing_parts_stop();
    testing_letters_dead(&dead, 4, 300);
    ck_assert_uint_eq(dead.count, 4);
    testing_letters_free(&dead);
    testing_sale_close();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("walk");
    TCase *c = tcase_create("lost");

    tcase_set_timeout(c, 60);
    tcase_add_unchecked_fixture(c, NULL, testing_walk_clean);
    tcase_add_test(c, a_dead_web_tier);
    tcase_add_test(c, what_is_rebuilt);
    tcase_add_test(c, another_create_queue);
    tcase_add_test(c, young_orders_are_left_alone);
    tcase_add_test(c, the_last_second);
    tcase_add_test(c, a_backlog);
    tcase_add_test(c, a_lasting_backlog);
    tcase_add_test(c, the_broker_is_away);
    tcase_add_test(c, unrecoverable);
    tcase_add_test(c, nothing_is_given_up_over_a_backlog);
    tcase_add_test(c, the_cleaner_leaves_the_count);
    suite_add_tcase(s, c);
    return testing_main(s);
}
