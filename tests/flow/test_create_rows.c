/* Batches that are large enough to go in binary (persist.c): the rows are those that text makes, and whatever goes
 * wrong ends as with small ones. By id sets, against the real servers. */
#include "testing_lane.h"
#include "testing_letters.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/metric.h"
#include "orderd/order_store.h"

#define STOCK 2000
#define MANY  400 /* of one batch, if they wait when the lane comes */

static struct error err;

static void publish_range(int from, int to)
{
    for (int i = from; i <= to; i++) {
        struct order o = testing_lane_order(i);
        testing_publish(&o);
    }
}

static void setup_lane(void)
{
    testing_lane_setup(STOCK, "batch_max = 500;");
    if (!order_store_takes_rows(testing_lane_db, MANY))
        exit(0); /* not MariaDB on both sides: there are no such batches there, and the test counts as passed */
}

/* ---- the same rows ---- */

#define PAIRS 120

/* Order i of one way; the other has another number and buyer. */
static struct order order_of(int i, int way)
{
    struct order o = testing_lane_order(i + way * 1000);

    snprintf(o.order_no, sizeof o.order_no, i % 3 ? "%s%d" : "%s%d-r%d", way ? "bin" : "txt", i, i % 7 + 1);
    o.sku_id = INT64_MAX - i;
    o.quantity = i % 5 + 1;
    o.amount = i ? ORDER_AMOUNT_MAX - i : 0;
    o.shard = i % (ORDER_SHARD_MAX + 1);
    o.epoch = ORDER_EPOCH_MAX - i;
    o.user_seq = i % (ORDER_USER_SEQ_MAX + 1);
    o.reserved_at = (i % 2 ? ORDER_RESERVED_AT_MIN : ORDER_RESERVED_AT_MAX) + i;
    return o;
}

static void make(struct order *orders, const struct order **list, int64_t *timeouts, int way)
{
    for (int i = 0; i < PAIRS; i++) {
        orders[i] = order_of(i, way);
        list[i] = &orders[i];
        timeouts[i] = i % 4 ? 900000 : 1 + i;
    }
}

static void write_both(void)
{
    static struct order orders[PAIRS];
    const struct order *list[PAIRS];
    int64_t timeouts[PAIRS];
    struct strbuf sql = STRBUF_INIT;
    struct arena *arena = arena_create(65536);

    make(orders, list, timeouts, 0);
    order_store_add_create(&sql, list, timeouts, PAIRS);
    ck_assert_ok(db_run(testing_lane_db, (struct slice){sql.data, sql.len}, &err), &err);
    make(orders, list, timeouts, 1);
    ck_assert_ok(order_store_insert_rows(testing_lane_db, arena, list, timeouts, PAIRS, &err), &err);
    testing_sql("COMMIT");
    arena_destroy(&arena);
    strbuf_release(&sql);
}

START_TEST(same_as_text)
{
    setup_lane();
    write_both();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), 2 * PAIRS);
    /* Every column but the numbers of the row, the order and the buyer, and the instant. */
    ck_assert_int_eq(
        testing_number("SELECT COUNT(*) FROM orders t JOIN orders b ON t.order_no LIKE 'txt%%' AND "
                       "b.order_no=CONCAT('bin',SUBSTRING(t.order_no,4)) AND b.user_id=t.user_id+1000 AND "
                       "b.live_user=b.user_id AND t.live_user=t.user_id AND b.activity_id=t.activity_id AND "
                       "b.user_seq=t.user_seq AND b.sku_id=t.sku_id AND b.quantity=t.quantity AND b.amount=t.amount "
                       "AND b.shard=t.shard AND b.epoch=t.epoch AND b.status=t.status AND b.reason=t.reason AND "
                       "b.units_returned=t.units_returned AND b.units_forfeited=t.units_forfeited AND "
                       "REPLACE(b.replaces,'bin','txt')<=>t.replaces AND b.replaced_by<=>t.replaced_by AND "
                       "b.reserved_at=t.reserved_at AND TIMESTAMPDIFF(MICROSECOND,b.created_at,b.expires_at)="
                       "TIMESTAMPDIFF(MICROSECOND,t.created_at,t.expires_at) AND b.paid_at<=>t.paid_at AND "
                       "b.closed_at<=>t.closed_at"),
        PAIRS);
}
END_TEST

/* ---- the lane ---- */

/* All wait when the lane comes, and it takes no more than a few batches for them. */
START_TEST(large_batches)
{
    setup_lane();
    publish_range(1, MANY);
    testing_lane_start(1);
    testing_wait_orders(MANY, 20000);
    publish_range(MANY + 1, MANY + 5);
    testing_wait_orders(MANY + 5, 5000);
    testing_lane_stop();
    testing_assert_orders(MANY + 5, STOCK);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status<>'pending' OR live_user<>user_id OR "
                                    "TIMESTAMPDIFF(MICROSECOND,created_at,expires_at)<>900000000"),
                     0);
}
END_TEST

/* Twins, orders that stand already, and rows that the database refuses, among many that are good. */
START_TEST(bad_ones_among_many)
{
    setup_lane();
    testing_admin("CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW IF NEW.user_id IN (7,377) AND "
                  "NEW.status='pending' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT='refused by a trigger'; END IF");
    publish_range(1, 20);
    testing_lane_start(1);
    ck_assert_int_eq(testing_dead_letters(1, "constraint"), 1);
    testing_lane_stop();
    publish_range(10, MANY);
    publish_range(300, MANY);
    testing_lane_start(1);
    ck_assert_int_eq(testing_dead_letters(1, "constraint"), 1);
    testing_wait_orders(MANY, 20000);
    testing_wait(testing_waiting() == 0, 5000, "all are taken");
    testing_lane_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(DISTINCT order_no) FROM orders WHERE status='pending' AND user_id "
                                    "BETWEEN 1 AND %d AND user_id NOT IN (7,377)",
                                    MANY),
                     MANY - 2);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected' AND user_id IN (7,377)"), 2);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock"), STOCK - (MANY - 2));
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

START_TEST(stock_for_some_only)
{
    testing_lane_setup(150, "batch_max = 500;");
    publish_range(1, MANY);
    testing_lane_start(2);
    ck_assert_int_eq(testing_dead_letters(MANY - 150, "stock_short"), MANY - 150);
    testing_lane_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 150);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected' AND reason='stock_short'"),
                     MANY - 150);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock"), 0);
}
END_TEST

/* Whatever was done to the lanes: in the end each order has its row, once, and no message is left. */
static void assert_all(int count)
{
    testing_wait_orders(count, 30000);
    testing_wait(testing_waiting() == 0, 5000, "all are taken");
    testing_lane_stop();
    testing_assert_orders(count, STOCK);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}

/* Lost before the COMMIT, or after it took effect: of the first transactions, which are small ones (see below). */
static const char *const lost[] = {"create.before_commit=fail@1", "create.after_commit=fail@1",
                                   "create.before_commit=fail@2"};

START_TEST(lost_answers)
{
    testing_faults(lost[_i]);
    setup_lane();
    publish_range(1, MANY);
    testing_lane_start(2);
    assert_all(MANY);
}
END_TEST

/* SIGKILL around a process' first transaction, with many orders waiting; then another process. A lane begins with a
 * window of one, so that first transaction is a small one. */
static const char *const kills[] = {"create.before_persist=kill@1", "create.before_commit=kill@1",
                                    "create.after_commit=kill@1", "create.before_ack=kill@1"};

START_TEST(killed_processes)
{
    setup_lane();
    publish_range(1, MANY);
    for (size_t i = 0; i < sizeof kills / sizeof *kills; i++)
        testing_crash_at(kills[i]);
    testing_lane_start(1);
    assert_all(MANY);
}
END_TEST

/* Whichever round trip the connection is killed at. */
START_TEST(killed_connections)
{
    setup_lane();
    testing_lane_start(2);
    for (int round = 0; round < 5; round++) {
        publish_range(round * 300 + 1, round * 300 + 300);
        testing_admin(
            "BEGIN NOT ATOMIC FOR p IN (SELECT id FROM information_schema.processlist WHERE user='orderd' AND "
            "db='%s') DO KILL p.id; END FOR; END",
            testing_schema());
    }
    assert_all(1500);
}
END_TEST

static bool conflicts(uint64_t least)
{
    struct metric_sum sum;

    metric_read(&sum);
    return sum.counters[METRIC_DB_CONFLICTS] >= least;
}

/* ---- one large batch ---- */

/* Refuses what somebody may try again: order 2 until the gate is open, and others on a condition. */
static void close_gate(const char *others)
{
    testing_sql("CREATE TABLE gate(id INT) ENGINE=InnoDB");
    testing_admin("CREATE TRIGGER conflict BEFORE INSERT ON orders FOR EACH ROW IF %s OR NEW.user_id=2 AND NOT "
                  "EXISTS(SELECT 1 FROM gate) THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO=1213; END IF",
                  others);
}

/* For a lane that has just begun, here or in another process: it passes order 1, alone, and takes all that comes. Order
 * 2 waits, alone, at the gate until the others have arrived: they are one batch, its third. */
static void gather_behind_the_second(void)
{
    publish_range(1, 1);
    testing_wait_orders(1, 10000);
    publish_range(2, 2);
    testing_wait(testing_waiting() == 0, 10000, "the lane has the second");
    publish_range(3, MANY);
    testing_wait(testing_waiting() == 0, 10000, "the lane has them all");
    testing_sql("INSERT INTO gate VALUES(1)");
}

/* The answer about the rows is lost, and their transaction still open; or that about the COMMIT. */
static const char *const lost_of_many[] = {"create.after_rows=fail@1", "create.after_commit=fail@3"};

START_TEST(lost_answers_of_many)
{
    struct metric_sum sum;

    testing_faults(lost_of_many[_i]);
    setup_lane();
    close_gate("FALSE");
    testing_lane_start(1);
    gather_behind_the_second();
    assert_all(MANY);
    metric_read(&sum);
    ck_assert_uint_eq(sum.counters[METRIC_COMMITS_UNKNOWN], 1);
}
END_TEST

/* SIGKILL between the rows and their COMMIT, and after it; then another process. */
static const struct {
    const char *fault;
    int rows; /* that there are then */
} kills_of_many[] = {
    {"create.after_rows=kill@1", 2}, {"create.after_commit=kill@3", MANY}, {"create.before_ack=kill@3", MANY}};

START_TEST(killed_with_many)
{
    pid_t victim;

    setup_lane();
    close_gate("FALSE");
    victim = testing_crash_begin(kills_of_many[_i].fault);
    gather_behind_the_second();
    testing_crash_end(victim, kills_of_many[_i].fault);
    testing_assert_orders(kills_of_many[_i].rows, STOCK);
    testing_lane_start(1);
    assert_all(MANY);
}
END_TEST

/* However often one batch is tried, it holds no more memory (nothing is counted where the allocator is a sanitizer's).
 */
START_TEST(tried_again_and_again)
{
    struct metric_sum sum;
    size_t before;

    setup_lane();
    close_gate("NEW.user_id>2");
    testing_lane_start(1);
    gather_behind_the_second();
    testing_wait_orders(2, 10000);
    metric_read(&sum);
    testing_wait(conflicts(sum.counters[METRIC_DB_CONFLICTS] + 5), 10000, "the first tries of many");
    before = mallinfo2().uordblks;
    testing_wait(conflicts(sum.counters[METRIC_DB_CONFLICTS] + 65), 40000, "many tries");
    ck_assert_uint_lt(mallinfo2().uordblks, before + 2500000);
    testing_admin("DROP TRIGGER conflict");
    testing_wait_orders(MANY, 20000);
    testing_lane_stop();
    testing_assert_orders(MANY, STOCK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("create_rows");
    TCase *t = tcase_create("create_rows");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, same_as_text);
    tcase_add_test(t, large_batches);
    tcase_add_test(t, bad_ones_among_many);
    tcase_add_test(t, stock_for_some_only);
    tcase_add_loop_test(t, lost_answers, 0, (int)(sizeof lost / sizeof *lost));
    tcase_add_test(t, killed_processes);
    tcase_add_test(t, killed_connections);
    tcase_add_loop_test(t, lost_answers_of_many, 0, (int)(sizeof lost_of_many / sizeof *lost_of_many));
    tcase_add_loop_test(t, killed_with_many, 0, (int)(sizeof kills_of_many / sizeof *kills_of_many));
    tcase_add_test(t, tried_again_and_again);
    suite_add_tcase(s, t);
    return testing_main(s);
}
