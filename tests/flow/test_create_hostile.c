/* The create lane under conditions that a hostile or unlucky day brings. */
#include "testing_lane.h"
#include "testing_relay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/metric.h"
#include "orderd/topology.h"

#define STOCK 5000

static void publish_range(int from, int to)
{
    for (int n = from; n <= to; n++) {
        struct order o = testing_lane_order(n);
        testing_publish(&o);
    }
}

/* What an activity was a moment ago condemns no order of what it is now. */
START_TEST(approved_a_moment_ago)
{
    testing_lane_setup(STOCK, NULL);
    testing_sql("UPDATE activity SET state='review'");
    publish_range(1, 1);
    testing_lane_start(1);
    ck_assert_int_eq(testing_dead_letters(1, "activity_unknown"), 1);
    testing_sql("UPDATE activity SET state='scheduled'");
    publish_range(2, 5);
    testing_wait_orders(4, 3000);
    testing_lane_stop();
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

/* Headers that fill a frame leave no room for ours. */
START_TEST(headers_that_fill_a_frame)
{
    static char filling[126700];
    static enum broker_outcome outcome;
    struct error err = {0};
    struct broker *b;
    struct broker_header h = {.name = slice_of("filling"), .value = {filling, sizeof filling}};
    struct broker_publication p = {.exchange = topology_name(TOPOLOGY_EXCHANGE_ORDER),
                                   .body = slice_of("garbage"),
                                   .message_id = slice_of("filling"),
                                   .headers = &h,
                                   .header_count = 1};

    testing_lane_setup(STOCK, NULL);
    memset(filling, 'f', sizeof filling);
    p.routing_key = testing_lane_conf->create_queue;
    b = testing_broker("test filling", &err);
    ck_assert_ok(b != NULL && broker_confirm_select(b, 1, &err) && broker_publish(b, &p, &outcome, &err) &&
                     broker_wait_confirms(b, 5000, &err),
                 &err);
    broker_close(&b, true);
    publish_range(1, 20);
    testing_lane_start(1);
    testing_wait_orders(20, 5000);
    ck_assert_int_eq(testing_dead_letters(1, "body_not_json"), 1);
    testing_lane_stop();
}
END_TEST

/* While a table is missing nobody's order is at fault, however often the lane gives up holding: its deliveries go back
 * once, since every return counts toward the delivery limit. */
START_TEST(long_setup_error_returns_once)
{
    struct metric_sum sum;

    testing_lane_setup(STOCK, "lanes = 1; hold_max = \"1s\";");
    publish_range(1, 20);
    testing_sql("RENAME TABLE orders TO orders_away");
    testing_lane_start(1);
    clock_sleep_ms(6000);
    testing_sql("RENAME TABLE orders_away TO orders");
    testing_wait_orders(20, 15000);
    testing_lane_stop();
    metric_read(&sum);
    ck_assert_uint_le(sum.counters[METRIC_RETURNED_TO_BROKER], 20);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

/* Garbage during a memory alarm cannot be put aside, since nothing can be published; but it must not stop the sale:
 * consuming is what ends such an alarm. */
START_TEST(garbage_during_an_alarm_waits_aside)
{
    testing_lane_setup(STOCK, NULL);
    for (int i = 0; i < 5; i++)
        testing_publish_body("bad", slice_of("bad"));
    publish_range(1, 300);
    testing_rabbitmqctl("set_vm_memory_high_watermark absolute 1MB");
    testing_lane_start(1);
    testing_wait_orders(300, 10000);
    ck_assert(lane_state_ready(lane_state_of(testing_lane(0))));
    testing_rabbitmqctl("set_vm_memory_high_watermark 0.4");
    ck_assert_int_eq(testing_dead_letters(5, "body_not_json"), 5);
    testing_lane_stop();
    ck_assert_int_eq(testing_waiting(), 0);
    testing_assert_orders(300, STOCK);
}
END_TEST

/* Where the dead letters' queue is missing, the same: they wait, and are there when it is. */
START_TEST(garbage_without_a_dead_queue_waits_aside)
{
    testing_lane_setup(STOCK, NULL);
    publish_range(1, 10);
    testing_publish_body("bad", slice_of("bad"));
    publish_range(11, 50);
    testing_rabbitmqctl("delete_queue order.dead");
    testing_lane_start(1);
    testing_wait_orders(50, 10000);
    testing_relay_conf = testing_conf(NULL);
    testing_topology_apply();
    conf_destroy(&testing_relay_conf);
    ck_assert_int_eq(testing_dead_letters(1, "body_not_json"), 1);
    testing_lane_stop();
    ck_assert_int_eq(testing_waiting(), 0);
    testing_assert_orders(50, STOCK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("create_hostile");
    TCase *c = tcase_create("lane");

    tcase_set_timeout(c, 120);
    tcase_add_test(c, approved_a_moment_ago);
    tcase_add_test(c, headers_that_fill_a_frame);
    tcase_add_test(c, long_setup_error_returns_once);
    tcase_add_test(c, garbage_during_an_alarm_waits_aside);
    tcase_add_test(c, garbage_without_a_dead_queue_waits_aside);
    suite_add_tcase(s, c);
    return testing_main(s);
}
