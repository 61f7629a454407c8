/* The create lane against the real servers: each case of DESIGN section 6, asserted by id sets. */
#include "testing_lane.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "orderd/clock.h"

#define STOCK 1000

static void publish_range(int from, int to)
{
    for (int n = from; n <= to; n++) {
        struct order o = testing_lane_order(n);
        testing_publish(&o);
    }
}

START_TEST(orders_become_rows)
{
    testing_lane_setup(STOCK, "lanes = 1;");
    publish_range(1, 200);
    testing_lane_start(2);
    testing_wait_orders(200, 10000);
    publish_range(201, 210); /* one at a time, at low load */
    testing_wait_orders(210, 5000);
    testing_lane_stop();
    testing_assert_orders(210, STOCK);
    ck_assert_int_eq(testing_waiting(), 0);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
    ck_assert_int_eq(
        testing_number("SELECT COUNT(*) FROM orders WHERE ABS(TIMESTAMPDIFF(SECOND,created_at,expires_at)-900)<2"),
        210);
}
END_TEST

START_TEST(same_order_again)
{
    testing_lane_setup(STOCK, NULL);
    publish_range(1, 50);
    publish_range(1, 50); /* twins in one batch */
    testing_lane_start(1);
    testing_wait_orders(50, 10000);
    testing_wait(testing_waiting() == 0, 5000, "twins are taken");
    publish_range(1, 50); /* again, when all are durable */
    publish_range(51, 60);
    testing_wait_orders(60, 5000);
    testing_lane_stop();
    testing_assert_orders(60, STOCK);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

START_TEST(same_number_other_content)
{
    struct order o;

    testing_lane_setup(STOCK, NULL);
    publish_range(1, 5);
    o = testing_lane_order(3);
    o.quantity = 2;
    o.amount = 2 * TESTING_PRICE;
    testing_publish(&o); /* in one batch with the first */
    testing_lane_start(1);
    testing_wait_orders(5, 10000);
    o = testing_lane_order(4);
    o.user_id = 999;
    testing_publish(&o);
    ck_assert_int_eq(testing_dead_letters(2, "order_conflict"), 2);
    testing_lane_stop();
    testing_assert_orders(5, STOCK);
}
END_TEST

START_TEST(buyer_has_order)
{
    struct order o;

    testing_lane_setup(STOCK, NULL);
    publish_range(1, 5);
    o = testing_lane_order(2);
    snprintf(o.order_no, sizeof o.order_no, "other_in_batch");
    testing_publish(&o);
    testing_lane_start(1);
    testing_wait_orders(6, 10000);
    o = testing_lane_order(3);
    snprintf(o.order_no, sizeof o.order_no, "other_later");
    testing_publish(&o);
    o.user_seq = 1; /* the buyer's next mark is another matter */
    snprintf(o.order_no, sizeof o.order_no, "next_mark");
    testing_publish(&o);
    testing_wait_orders(8, 5000);
    testing_lane_stop();
    ck_assert_int_eq(testing_dead_letters(0, ""), 0); /* nothing for ops to do: a tombstone, stock back, an event */
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no IN('other_in_batch','other_later') AND "
                                    "status='rejected' AND reason='buyer_has_order' AND units_returned=1"),
                     2);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='next_mark' AND status='pending'"), 1);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock"), STOCK - 6);
}
END_TEST

START_TEST(mark_is_free_again_when_closed)
{
    struct order o = {0};

    testing_lane_setup(STOCK, NULL);
    publish_range(1, 1);
    testing_lane_start(1);
    testing_wait_orders(1, 10000);
    testing_sql("UPDATE orders SET status='closed'");
    publish_range(1, 1); /* a late copy of the closed one: nothing comes alive */
    o = testing_lane_order(1);
    snprintf(o.order_no, sizeof o.order_no, "second");
    testing_publish(&o);
    testing_wait_orders(2, 5000);
    testing_lane_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending' AND order_no='second'"), 1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='closed'"), 1);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

static const struct {
    const char *body, *reason;
} garbage[] = {
    {"not json", "body_not_json"},
    {"{\"v\":1,\"v\":1}", "member_duplicate"},
    {"{}", "member_missing"},
    {"{\"v\":7}", "version_unknown"},
    {"{\"v\":1,\"order_no\":5}", "member_type"},
    {"{\"v\":1,\"order_no\":\"a'b\"}", "order_no_invalid"},
    {"{\"v\":1,\"order_no\":\"A\",\"activity_id\":-1}", "member_range"},
    {"\xff\xfe", "body_not_json"},
};

START_TEST(garbage_goes_aside)
{
    const int count = (int)(sizeof garbage / sizeof *garbage);
    char *large = malloc(20000);

    testing_lane_setup(STOCK, NULL);
    publish_range(1, 10);
    for (int i = 0; i < count; i++)
        testing_publish_body(garbage[i].body, slice_of(garbage[i].body));
    memset(large, ' ', 20000);
    testing_publish_body("large", (struct slice){large, 20000});
    publish_range(11, 20);
    testing_lane_start(1);
    testing_wait_orders(20, 10000);
    ck_assert_int_eq(testing_dead_letters(count + 1, "body_not_json"), 2);
    testing_lane_stop();
    testing_assert_orders(20, STOCK);
    ck_assert_int_eq(testing_waiting(), 0);
    free(large);
}
END_TEST

/* What a dead letter carries: original bytes, message id and headers, and why. */
START_TEST(dead_letter_headers)
{
    struct error err = {0};
    struct broker *b;
    struct broker_delivery d;
    struct broker_header h;
    size_t got = 0;

    testing_lane_setup(STOCK, NULL);
    testing_publish_body("bad-1", slice_of("{\"v\":1}"));
    testing_lane_start(1);
    testing_wait(testing_waiting() == 0, 5000, "taken");
    b = testing_broker("test", &err);
    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_consume(b, "order.dead", 10, "test", &err), &err);
    testing_wait(broker_take(b, &d, 1, 100, &got, &err) && got == 1, 5000, "the dead letter");
    ck_assert(slice_is(d.body, "{\"v\":1}"));
    ck_assert(slice_is(d.message_id, "bad-1"));
    ck_assert(slice_is(d.content_type, "application/json"));
    ck_assert(broker_delivery_find(&d, "traceparent", &h));
    ck_assert(slice_is(h.value, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    ck_assert(broker_delivery_find(&d, "orderd-reason", &h) && slice_is(h.value, "member_missing"));
    ck_assert(broker_delivery_find(&d, "orderd-detail", &h) && slice_is(h.value, "member order_no is missing"));
    ck_assert(broker_delivery_find(&d, "orderd-stage", &h) && slice_is(h.value, "create"));
    ck_assert(broker_delivery_find(&d, "orderd-origin", &h) && slice_is(h.value, testing_lane_conf->create_queue));
    ck_assert(broker_delivery_find(&d, "orderd-worker", &h) && slice_is(h.value, "orderd@test create.0"));
    ck_assert(broker_delivery_find(&d, "orderd-attempt", &h) && h.is_integer && h.integer == 0);
    ck_assert(broker_delivery_find(&d, "orderd-first-failed-at", &h) && h.value.len == 24);
    for (size_t i = 0; broker_delivery_header(&d, i, &h); i++)
        ck_assert_msg(h.name.len < 2 || strncasecmp(h.name.ptr, "x-", 2) != 0, "a broker-owned header travelled on");
    ck_assert_ok(broker_ack(b, d.tag, false, &err), &err);
    broker_delivery_release(&d);
    broker_close(&b, true);
    testing_lane_stop();
}
END_TEST

static void copy_activity(int id, const char *state, int free_amount)
{
    testing_sql(
        "INSERT INTO activity(id,title,sku_id,unit_price,currency,free_amount,total_stock,pay_timeout_ms,state,"
        "starts_at,ends_at,epoch) SELECT %d,title,sku_id,unit_price,currency,%d,10,pay_timeout_ms,'%s',starts_at,"
        "ends_at,1 FROM activity WHERE id=%d; INSERT INTO activity_stock(activity_id,total,available) "
        "VALUES(%d,10,10)",
        id, free_amount, state, TESTING_ACTIVITY, id);
}

START_TEST(activity_says_no)
{
    struct order o;

    testing_lane_setup(STOCK, NULL);
    copy_activity(1002, "review", 0);
    copy_activity(1003, "ended", 1);
    publish_range(1, 3);
    o = testing_lane_order(101), o.activity_id = 5555, testing_publish(&o); /* unknown */
    o = testing_lane_order(102), o.activity_id = 1002, testing_publish(&o); /* in review */
    o = testing_lane_order(103), o.amount = 1, testing_publish(&o);         /* wrong amount */
    o = testing_lane_order(104), o.sku_id = 78, testing_publish(&o);
    o = testing_lane_order(105), o.shard = 1, testing_publish(&o);
    o = testing_lane_order(106), o.activity_id = 1003, o.amount = 1,
    testing_publish(&o); /* ended, any amount: accepted */
    testing_lane_start(1);
    ck_assert_int_eq(testing_dead_letters(5, "activity_unknown"), 2);
    testing_wait_orders(4, 5000);
    testing_sql("UPDATE activity SET state='settled' WHERE id=1003");
    testing_sql("UPDATE activity_stock SET takes_orders=0 WHERE activity_id=1003");
    o = testing_lane_order(107), o.activity_id = 1003, testing_publish(&o); /* the lane may still remember it as open */
    o = testing_lane_order(106), o.activity_id = 1003, o.amount = 1,
    testing_publish(&o); /* a copy of what stands: no letter */
    ck_assert_int_eq(testing_dead_letters(1, "activity_settled"), 1);
    testing_lane_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 4);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected'"), 1);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock WHERE activity_id=1003"), 9);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock WHERE activity_id=1001"), STOCK - 3);
}
END_TEST

/* A rebuild goes on to the next epoch. What names one that has not come is no order of this sale; what names the new
 * one is, at once, however long the lane would remember the old one. */
START_TEST(epochs)
{
    struct order o;

    testing_lane_setup(STOCK, "activity_refresh = \"60s\";");
    publish_range(1, 2);
    o = testing_lane_order(3), o.epoch = 2, testing_publish(&o);
    testing_lane_start(1);
    ck_assert_int_eq(testing_dead_letters(1, "member_range"), 1);
    testing_wait_orders(2, 5000);
    testing_sql("UPDATE activity SET epoch=2");
    o = testing_lane_order(4), o.epoch = 2, testing_publish(&o);
    o = testing_lane_order(5), testing_publish(&o); /* reserved before the rebuild */
    testing_wait_orders(4, 5000);
    testing_lane_stop();
    ck_assert_int_eq(testing_number("SELECT SUM(epoch) FROM orders WHERE status='pending'"), 1 + 1 + 2 + 1);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock"), STOCK - 4);
}
END_TEST

/* 10 units, 30 orders: exactly 10 stand, whatever Redis said, and each of the others was short by itself. */
START_TEST(stock_short_strikes_alone)
{
    testing_lane_setup(10, NULL);
    publish_range(1, 30);
    testing_lane_start(2);
    ck_assert_int_eq(testing_dead_letters(20, "stock_short"), 20);
    testing_lane_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 10);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected' AND reason='stock_short' AND "
                                    "units_returned=0 AND units_forfeited=1"),
                     20);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock"), 0);
}
END_TEST

/* One row that the database refuses does not take its neighbours with it. */
START_TEST(poison_row_is_found)
{
    testing_lane_setup(STOCK, NULL);
    testing_admin("CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW IF NEW.user_id IN (7,77,150) AND "
                  "NEW.status='pending' THEN SIGNAL "
                  "SQLSTATE '45000' SET MESSAGE_TEXT='refused by a trigger'; END IF");
    publish_range(1, 200);
    testing_lane_start(1);
    ck_assert_int_eq(testing_dead_letters(3, "constraint"), 3);
    testing_wait_orders(200, 10000);
    testing_lane_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE user_id IN(7,77,150) AND status='rejected'"), 3);
    ck_assert_int_eq(
        testing_number(
            "SELECT COUNT(DISTINCT order_no) FROM orders WHERE status='pending' AND user_id BETWEEN 1 AND 200"),
        197);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock"), STOCK - 197);
}
END_TEST

/* Somebody deleted a row and left what it had to be sent: that has a name, and its neighbours go on. One whose messages
 * are deleted as well becomes a row again. */
START_TEST(row_deleted_by_hand)
{
    testing_lane_setup(STOCK, NULL);
    testing_lane_start(1);
    for (int n = 1; n <= 3; n++) { /* one batch each, so that each order's messages are under its own number */
        publish_range(n, n);
        testing_wait_orders(n, 5000);
    }
    testing_admin(
        "DELETE m FROM local_message m JOIN orders o ON SUBSTRING_INDEX(m.message_key,':',-1)=o.order_no WHERE "
        "o.user_id=3");
    testing_admin("DELETE FROM orders WHERE user_id IN (2,3)");
    testing_admin("UPDATE activity_stock SET available=available+2");
    publish_range(2, 4);
    ck_assert_int_eq(testing_dead_letters(1, "row_deleted"), 1);
    testing_wait_orders(4, 5000);
    testing_lane_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE user_id=2 AND status='rejected' AND "
                                    "reason='row_deleted' AND units_returned=1"),
                     1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending' AND user_id IN (1,3,4)"), 3);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock"), STOCK - 3);
}
END_TEST

/* An error that orderd does not know: a single message that meets it is the message's failure. */
START_TEST(unknown_error_of_one)
{
    testing_lane_setup(STOCK, NULL);
    testing_admin("CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW IF NEW.user_id = 7 THEN SIGNAL SQLSTATE "
                  "'HY000' SET MYSQL_ERRNO=9999, MESSAGE_TEXT='strange'; END IF");
    publish_range(1, 20);
    testing_lane_start(1);
    ck_assert_int_eq(testing_dead_letters(1, "error_unknown"), 1);
    testing_wait_orders(19, 10000); /* and no tombstone: it could not be written either */
    testing_lane_stop();
}
END_TEST

/* Many different messages that meet it: the database is ill. Nothing more is dead-lettered until one succeeds. */
START_TEST(unknown_error_storm_pauses)
{
    testing_lane_setup(STOCK, NULL);
    testing_admin(
        "CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO=9999, "
        "MESSAGE_TEXT='strange'");
    publish_range(1, 100);
    testing_lane_start(1);
    testing_wait(lane_state_of(testing_lane(0)) == LANE_PAUSED, 10000, "the lane pauses");
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), 0);
    testing_admin("DROP TRIGGER refuse");
    testing_wait_orders(100,
                        10000); /* those that were tried before the storm was seen come back from the retry queues */
    testing_lane_stop();
    testing_assert_orders(100, STOCK);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

/* A lock held by somebody else for longer than our lock wait time-out: tried in place, nobody's fault. */
START_TEST(lock_wait_is_waited_out)
{
    struct error err = {0};
    struct db *other;

    testing_lane_setup(STOCK, NULL);
    other = db_open(testing_lane_conf, &err);
    ck_assert_ok(other != NULL, &err);
    ck_assert_ok(db_run(other, slice_of("BEGIN; SELECT * FROM activity_stock FOR UPDATE"), &err), &err);
    publish_range(1, 20);
    testing_lane_start(2);
    clock_sleep_ms(testing_lane_conf->mysql_lock_wait_timeout + 1000); /* past one time-out */
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), 0);
    db_rollback(other);
    testing_wait_orders(20, 15000);
    db_close(&other);
    testing_lane_stop();
    testing_assert_orders(20, STOCK);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

START_TEST(deadlocks_are_run_again)
{
    testing_lane_setup(STOCK, "batch_max = 10;");
    testing_admin("CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW IF RAND() < 0.02 THEN SIGNAL SQLSTATE "
                  "'40001' SET MYSQL_ERRNO=1213, MESSAGE_TEXT='Deadlock found'; END IF");
    publish_range(1, 200);
    testing_lane_start(2);
    testing_wait_orders(200, 20000);
    testing_lane_stop();
    testing_assert_orders(200, STOCK);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

/* The answer to COMMIT is lost, before or after it took effect: the same batch again, the keys answer. */
static const char *const lost_answers[] = {"create.before_commit=fail@2", "create.after_commit=fail@2",
                                           "create.after_commit=fail@1"};

START_TEST(unknown_commit_is_repeated)
{
    setenv("ORDERD_FAULT", lost_answers[_i], 1);
    testing_lane_setup(STOCK, "batch_max = 20;");
    publish_range(1, 100);
    testing_lane_start(1);
    testing_wait_orders(100, 10000);
    testing_wait(testing_waiting() == 0, 5000, "all are taken");
    testing_lane_stop();
    testing_assert_orders(100, STOCK);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

/* Every connection of the lanes to the database is killed, again and again. */
START_TEST(killed_connections_heal)
{
    testing_lane_setup(STOCK, NULL);
    testing_lane_start(2);
    publish_range(1, 10);
    testing_wait_orders(10, 10000);
    for (int round = 1; round <= 3; round++) {
        testing_kill_sessions();
        publish_range(round * 10 + 1, round * 10 + 10);
        testing_wait_orders(round * 10 + 10, 10000);
    }
    testing_lane_stop();
    testing_assert_orders(40, STOCK);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

/* A missing table or column, or a server that became read-only, harms no order. */
static const struct {
    const char *hurt, *mend;
} setups[] = {
    {"RENAME TABLE orders TO orders_away", "RENAME TABLE orders_away TO orders"},
    {"RENAME TABLE activity_stock TO stock_away", "RENAME TABLE stock_away TO activity_stock"},
    {"ALTER TABLE orders RENAME COLUMN shard TO shard_away", "ALTER TABLE orders RENAME COLUMN shard_away TO shard"},
    {"SET GLOBAL read_only=1", "SET GLOBAL read_only=0"},
};

START_TEST(setup_errors_wait)
{
    testing_lane_setup(STOCK, NULL);
    testing_lane_start(1);
    publish_range(1, 5);
    testing_wait_orders(5, 10000);
    testing_admin("%s", setups[_i].hurt);
    publish_range(6, 25);
    testing_wait(!lane_state_ready(lane_state_of(testing_lane(0))), 10000, "the lane notices");
    testing_admin("%s", setups[_i].mend);
    testing_wait_orders(25, 15000);
    testing_lane_stop();
    testing_assert_orders(25, STOCK);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

START_TEST(database_outage_is_waited_out)
{
    testing_lane_setup(STOCK, NULL);
    testing_lane_start(2);
    publish_range(1, 50);
    testing_wait_orders(50, 10000);
    testing_stack("kill", "mariadb", "");
    publish_range(51, 100);
    testing_wait(!lane_state_ready(lane_state_of(testing_lane(0))), 10000, "the lane notices");
    testing_stack("up", "mariadb", "");
    testing_wait_orders(100, 20000);
    testing_lane_stop();
    testing_assert_orders(100, STOCK);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

/* Held for longer than hold_max, the deliveries go back once, and nothing is consumed until the database is there. */
START_TEST(long_outage_gives_back)
{
    testing_lane_setup(STOCK, "hold_max = \"1s\";");
    testing_lane_start(1);
    publish_range(1, 10);
    testing_wait_orders(10, 10000);
    testing_stack("kill", "mariadb", "");
    publish_range(11, 30);
    testing_wait(testing_waiting() == 20, 10000, "the deliveries are back in the queue");
    clock_sleep_ms(500);
    ck_assert_int_eq(testing_waiting(), 20);
    testing_stack("up", "mariadb", "");
    testing_wait_orders(30, 20000);
    testing_lane_stop();
    testing_assert_orders(30, STOCK);
}
END_TEST

START_TEST(stop_during_outage_gives_back)
{
    testing_lane_setup(STOCK, NULL);
    testing_lane_start(1);
    publish_range(1, 10);
    testing_wait_orders(10, 10000);
    testing_stack("kill", "mariadb", "");
    publish_range(11, 20);
    testing_wait(!lane_state_ready(lane_state_of(testing_lane(0))), 10000, "the lane notices");
    testing_lane_stop();
    ck_assert_int_eq(testing_waiting(), 10);
    testing_stack("up", "mariadb", "");
    testing_lane_start(1);
    testing_wait_orders(20, 20000);
    testing_lane_stop();
    testing_assert_orders(20, STOCK);
}
END_TEST

START_TEST(broker_restart_is_healed)
{
    testing_lane_setup(STOCK, NULL);
    /* RabbitMQ 3.10 killed just after a quorum queue was declared never elects a leader for it again: let it write the
     * queue down first. */
    if (_i)
        testing_stack("restart", "rabbitmq", "");
    testing_lane_start(2);
    publish_range(1, 50);
    testing_stack("restart", "rabbitmq", _i ? "--kill" : "");
    testing_wait_orders(50, 30000);
    testing_wait(lane_state_ready(lane_state_of(testing_lane(0))), 20000, "the lane consumes again");
    testing_lane_stop();
    testing_assert_orders(50, STOCK);
}
END_TEST

static void make_queue_again(void)
{
    struct error err = {0}, detail = {0};
    struct broker_argument arguments[] = {{"x-queue-type", "quorum", 0}};
    enum broker_presence presence;
    const char *queue = testing_lane_conf->create_queue;
    struct broker *b = testing_broker("test", &err);

    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_declare_queue(b, queue, arguments, 1, true, &presence, &detail, &err), &err);
    ck_assert_ok(broker_bind_queue(b, queue, "order", queue, &err), &err);
    broker_close(&b, true);
}

START_TEST(queue_deleted_and_made_again)
{
    testing_lane_setup(STOCK, NULL);
    testing_lane_start(1);
    publish_range(1, 5);
    testing_wait_orders(5, 10000);
    testing_wait(testing_waiting() == 0, 5000, "empty");
    testing_rabbitmqctl("delete_queue %s", testing_lane_conf->create_queue);
    testing_wait(!lane_state_ready(lane_state_of(testing_lane(0))), 10000, "the lane notices");
    make_queue_again();
    publish_range(6, 10);
    testing_wait_orders(10, 10000);
    testing_lane_stop();
    testing_assert_orders(10, STOCK);
}
END_TEST

/* A memory alarm: consuming and acknowledging need no publish and go on; a dead letter waits until it is over. */
START_TEST(blocked_publisher_waits)
{
    testing_lane_setup(STOCK, NULL);
    publish_range(1, 10);
    testing_publish_body("bad", slice_of("bad"));
    testing_rabbitmqctl("set_vm_memory_high_watermark absolute 1MB");
    testing_lane_start(1);
    testing_wait_orders(10, 10000);
    clock_sleep_ms(1000);
    testing_rabbitmqctl("set_vm_memory_high_watermark 0.4");
    ck_assert_int_eq(testing_dead_letters(1, "body_not_json"), 1);
    publish_range(11, 15);
    testing_wait_orders(15, 20000);
    testing_lane_stop();
    testing_assert_orders(15, STOCK);
}
END_TEST

START_TEST(classic_queue_works_too)
{
    testing_lane_setup(STOCK, NULL);
    testing_lane_conf->broker_queue_type = CONF_QUEUE_TYPE_CLASSIC; /* how redelivered messages are treated */
    publish_range(1, 30);
    testing_lane_start(2);
    testing_wait_orders(30, 10000);
    testing_lane_stop();
    testing_assert_orders(30, STOCK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("create");
    TCase *c = tcase_create("lane");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, orders_become_rows);
    tcase_add_test(c, same_order_again);
    tcase_add_test(c, same_number_other_content);
    tcase_add_test(c, buyer_has_order);
    tcase_add_test(c, mark_is_free_again_when_closed);
    tcase_add_test(c, garbage_goes_aside);
    tcase_add_test(c, dead_letter_headers);
    tcase_add_test(c, activity_says_no);
    tcase_add_test(c, epochs);
    tcase_add_test(c, stock_short_strikes_alone);
    tcase_add_test(c, poison_row_is_found);
    tcase_add_test(c, row_deleted_by_hand);
    tcase_add_test(c, unknown_error_of_one);
    tcase_add_test(c, unknown_error_storm_pauses);
    tcase_add_test(c, lock_wait_is_waited_out);
    tcase_add_test(c, deadlocks_are_run_again);
    tcase_add_loop_test(c, unknown_commit_is_repeated, 0, 3);
    tcase_add_test(c, killed_connections_heal);
    tcase_add_loop_test(c, setup_errors_wait, 0, 4);
    tcase_add_test(c, database_outage_is_waited_out);
    tcase_add_test(c, long_outage_gives_back);
    tcase_add_test(c, stop_during_outage_gives_back);
    tcase_add_loop_test(c, broker_restart_is_healed, 0, 2);
    tcase_add_test(c, queue_deleted_and_made_again);
    tcase_add_test(c, blocked_publisher_waits);
    tcase_add_test(c, classic_queue_works_too);
    suite_add_tcase(s, c);
    return testing_main(s);
}
