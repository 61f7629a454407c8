/* Timers as messages, through the release lane and the relay, against the real broker, database and Redis: whatever
 * comes, how often, in which order and from whom, an order is closed once, when it is due, and its unit is back once.
 */
#include "testing_money.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "orderd/release_lane.h"
#include "testing_letters.h"
#include "testing_relay.h"

#define CAP 1200

static struct testing_spy spy;
static struct testing_letters letters;

static void setup(void)
{
    testing_money_setup(CAP, 2, true);
    testing_spy_open(&spy, "order.event", "#");
}

static void start(unsigned lanes)
{
    testing_lane_start(0);
    testing_lane_add(&release_lane, lanes);
}

/* Ends the lanes, which then must have left nothing in their queue. */
static void stop(void)
{
    testing_lane_stop();
    ck_assert_uint_eq(testing_money_waiting("order.unpaid"), 0);
}

static void wait_taken(int64_t deliveries)
{
    testing_wait(testing_metric(METRIC_MESSAGES_RECEIVED) >= deliveries, 15000, "all timers are taken");
}

/* Orders <prefix><from> to <prefix><to>, due in due_ms. Users are the numbers, and `users` on. */
static void orders(const char *prefix, int from, int to, int64_t users, int64_t due_ms)
{
    for (int n = from; n <= to; n++) {
        char no[20];

        snprintf(no, sizeof no, "%s%d", prefix, n);
        testing_money_order(no, users + n, due_ms);
    }
}

static void add_numbers(struct strbuf *body, const char *prefix, int from, int to)
{
    for (int n = from; n <= to; n++)
        strbuf_addf(body, "%s\"%s%d\"", body->data[body->len - 1] == '[' ? "" : ",", prefix, n);
}

/* A timer that names all of them. */
static void timer(const char *prefix, int from, int to)
{
    struct strbuf body = STRBUF_INIT;
    char id[40];

    snprintf(id, sizeof id, "%s%d", prefix, from);
    strbuf_add_str(&body, "{\"v\":1,\"orders\":[");
    add_numbers(&body, prefix, from, to);
    strbuf_add_str(&body, "]}");
    testing_money_publish("order.unpaid", id, "%s", body.data);
    strbuf_release(&body);
}

static int64_t closed(const char *prefix)
{
    return testing_number("SELECT COUNT(*) FROM orders WHERE order_no LIKE '%s%%' AND status='closed' AND "
                          "reason='unpaid' AND units_returned=quantity AND closed_at>=expires_at",
                          prefix);
}

/* Each order of that kind is told to be closed once, and none that is not closed. */
static void assert_told(void)
{
    testing_letters_told(&letters);
    ck_assert_int_eq(
        testing_number("SELECT COUNT(*) FROM orders o WHERE reason='unpaid' AND (SELECT COUNT(*) FROM told t "
                       "WHERE t.order_no=o.order_no COLLATE ascii_bin AND t.event='order.closed')<>1"),
        0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM told"),
                     testing_number("SELECT COUNT(*) FROM orders WHERE reason='unpaid'"));
}

static size_t event_messages(void)
{
    return (size_t)testing_number("SELECT COUNT(*) FROM local_message WHERE topic LIKE 'event.%%'");
}

static void take_events(void)
{
    testing_spy_take(&spy, &letters, event_messages(), 200);
}

/* ---- what a timer does ---- */

/* As a payment and a cancellation leave them. */
static void pay(const char *no, int64_t user)
{
    testing_money_order(no, user, -1000);
    testing_sql("UPDATE orders SET status='paid',paid_at=NOW(6) WHERE order_no='%s'", no);
    ck_assert_int_eq(testing_settle(&testing_money, no).code, STOCK_SETTLE_SETTLED);
}

static void cancel(const char *no, int64_t user)
{
    testing_money_order(no, user, -1000);
    testing_sql("UPDATE orders SET status='closed',reason='cancelled',units_returned=1,closed_at=NOW(6) WHERE "
                "order_no='%s'; UPDATE activity_stock SET available=available+1 WHERE activity_id=%" PRId64,
                no, testing_money.plan.activity);
    ck_assert_int_eq(testing_give(&testing_money, no, 1).back, 1);
}

START_TEST(closes_what_is_due)
{
    orders("D", 1, 60, 0, -1000);
    pay("P1", 101);
    pay("P2", 102);
    cancel("C1", 103);
    testing_money_publish("order.unpaid", "mixed",
                          "{\"v\":1,\"orders\":[\"P1\",\"D1\",\"unknown\",\"C1\",\"D2\",\"P2\"]}");
    timer("D", 3, 60);
    start(1);
    testing_wait(closed("D") == 60, 10000, "all that are due are closed");
    testing_money_balances();
    stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='paid'"), 2);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE reason='cancelled'"), 1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), 63);
    take_events();
    assert_told();
    ck_assert_int_eq(testing_metric(METRIC_ORDERS_CLOSED), 60);
    ck_assert_int_eq(testing_metric(METRIC_TIMERS_VOID), 3);
    ck_assert_int_eq(testing_metric(METRIC_TIMERS_UNKNOWN), 1);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
    /* The buyer may buy again, under another number. */
    ck_assert_int_eq(testing_take(&testing_money, "D1", 1, 1).code, STOCK_DEDUCT_GONE);
    ck_assert_int_eq(testing_take(&testing_money, "D1b", 1, 2).code, STOCK_DEDUCT_TAKEN);
}
END_TEST

/* Every timer comes again and again, among others, split and joined otherwise, and with forged ones: before anything is
 * closed, meanwhile, and after. */
static void storm_of_timers(void)
{
    for (int i = 0; i < 8; i++) {
        timer("D", 1 + 25 * (i % 4), 25 + 25 * (i % 4));
        timer("D", 13 + 25 * ((i * 3) % 4), 20 + 25 * ((i * 3) % 4));
        timer("D", 100 - 12 * i, 100);
        timer("forged", i, i + 20);
        timer("N", 1, 1 + i % 5);
    }
}

START_TEST(nothing_twice)
{
    struct strbuf dump = STRBUF_INIT;

    orders("D", 1, 100, 0, -500);
    orders("N", 1, 5, 200, 3600000);
    storm_of_timers();
    start(2);
    storm_of_timers();
    wait_taken(80);
    testing_wait(closed("D") == 100, 10000, "all that are due are closed");
    /* The timers of those that are not due were armed again, once each, for when they are. */
    testing_wait(testing_number("SELECT COUNT(*) FROM local_message m JOIN orders o ON "
                                "m.message_key=CONCAT('timer:',o.order_no) WHERE m.topic='order.unpaid' AND "
                                "m.state='pending' AND m.due_at=o.expires_at") == 5,
                 5000, "five timers for later");
    stop(); /* what was taken is done: nothing arms one again */
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE 'timer:%%'"), 5);
    testing_sql("DELETE FROM local_message WHERE message_key LIKE 'timer:%%'");
    start(2);
    testing_money_balances();
    testing_shard_dump(&testing_money, &dump);
    storm_of_timers();
    wait_taken(120);
    testing_wait(testing_money_waiting("order.unpaid") == 0, 5000, "all timers are done");
    testing_sql("DELETE FROM local_message WHERE message_key LIKE 'timer:%%'");
    stop();
    ck_assert(testing_shard_is(&testing_money, &dump));
    ck_assert_int_eq(closed(""), 100);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 5);
    take_events();
    assert_told();
    ck_assert_int_eq(testing_metric(METRIC_ORDERS_CLOSED), 100);
    ck_assert_int_eq(testing_metric(METRIC_STOCK_UNITS_RETURNED), 100);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
    strbuf_release(&dump);
}
END_TEST

static const struct {
    const char *body, *reason;
} garbage[] = {
    {"", "body_not_json"},
    {"{}", "member_missing"},
    {"[]", "body_not_json"},
    {"{\"v\":1}", "member_missing"},
    {"{\"v\":2,\"orders\":[\"D1\"]}", "version_unknown"},
    {"{\"v\":\"1\",\"orders\":[\"D1\"]}", "member_type"},
    {"{\"v\":1,\"orders\":\"D1\"}", "member_type"},
    {"{\"v\":1,\"orders\":{\"D1\":1}}", "member_type"},
    {"{\"v\":1,\"orders\":[]}", "member_range"},
    {"{\"v\":1,\"orders\":[\"D1\",2]}", "member_type"},
    {"{\"v\":1,\"orders\":[\"D1\",null]}", "member_type"},
    {"{\"v\":1,\"orders\":[[\"D1\"]]}", "member_type"},
    {"{\"v\":1,\"orders\":[\"D1\",\"x' OR '1'='1\"]}", "order_no_invalid"},
    {"{\"v\":1,\"orders\":[\"D1\",\"\"]}", "order_no_invalid"},
    {"{\"v\":1,\"orders\":[\"D1\"],\"orders\":[\"D2\"]}", "member_duplicate"},
    {"{\"v\":1,\"orders\":[\"D1\"]}x", "body_not_json"},
    {"{\"v\":1,\"order_no\":\"D1\",\"reason\":\"x\"}", "member_missing"},
};

#define GARBAGE (sizeof garbage / sizeof *garbage)

/* What is no timer closes nothing, not even what it names well beside it, and is kept for somebody to look at. */
START_TEST(no_timer_at_all)
{
    struct testing_letters dead = {0};
    struct strbuf dump = STRBUF_INIT;
    int known = 0;

    orders("D", 1, 2, 0, -1000);
    testing_shard_dump(&testing_money, &dump);
    start(1);
    for (size_t i = 0; i < GARBAGE; i++)
        testing_money_publish("order.unpaid", garbage[i].body[0] ? garbage[i].body : "empty", "%s", garbage[i].body);
    timer("many", 1, 501);
    testing_letters_dead(&dead, GARBAGE + 1, 300);
    stop();
    ck_assert_uint_eq(dead.count, GARBAGE + 1);
    for (size_t i = 0; i < dead.count; i++) {
        for (size_t k = 0; k < GARBAGE; k++) {
            if (!slice_is(dead.list[i].body, garbage[k].body))
                continue;
            ck_assert_str_eq(testing_header(&dead.list[i], "orderd-reason"), garbage[k].reason);
            known++;
        }
        ck_assert_str_eq(testing_header(&dead.list[i], "orderd-origin"), "order.unpaid");
    }
    ck_assert_int_eq(known, (int)GARBAGE);
    ck_assert_int_eq(closed(""), 0);
    ck_assert(testing_shard_is(&testing_money, &dump));
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message"), 0);
    testing_letters_free(&dead);
    strbuf_release(&dump);
}
END_TEST

/* ---- too early ---- */

/* Its timer comes long before it is due, many times; it is closed once, soon after it is due and not before. */
START_TEST(early_comes_again_when_due)
{
    start(2);
    for (unsigned i = 0; i < 2; i++)
        testing_wait(lane_state_of(testing_lane(i)) == LANE_CONSUMING, 5000, "the lanes take timers");
    orders("E", 1, 3, 0, 3000);
    for (int i = 0; i < 10; i++)
        timer("E", 1, 3);
    wait_taken(10);
    testing_wait(closed("E") == 3, 10000, "they are closed when they are due"); /* and not before: see closed() */
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE closed_at>expires_at+INTERVAL %d SECOND",
                                    2 * TESTING_PATIENCE),
                     0);
    testing_money_balances();
    stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE 'timer:%%' AND "
                                    "state='sent'"),
                     3);
    take_events();
    assert_told();
}
END_TEST

/* Its timer is armed for when it is due. */
static bool armed(void)
{
    return testing_number("SELECT COUNT(*) FROM local_message m JOIN orders o ON m.message_key='timer:F1' AND "
                          "m.due_at=o.expires_at WHERE m.state='pending'") == 1;
}

/* Given more time after its timer was armed again: the timer asks at the old time, and again at the new one. Both times
 * come by command, since a machine may take any time to get this far. */
START_TEST(pushed_out)
{
    start(1);
    orders("F", 1, 1, 0, 60000);
    timer("F", 1, 1);
    testing_wait(armed() && testing_metric(METRIC_TIMERS_EARLY) == 1, 5000, "it is armed again");
    testing_sql("UPDATE orders SET expires_at=expires_at+INTERVAL 1 HOUR");
    testing_sql("UPDATE local_message SET due_at=NOW(6)"); /* the old time */
    testing_wait(armed() && testing_metric(METRIC_TIMERS_EARLY) == 2, 5000, "it is armed for the new time");
    ck_assert_int_eq(closed("F"), 0);
    testing_sql("UPDATE orders SET expires_at=NOW(6)");
    testing_sql("UPDATE local_message SET due_at=NOW(6)"); /* the new one */
    testing_wait(closed("F") == 1, 10000, "it is closed when it is due");
    testing_money_balances();
    stop();
    take_events();
    assert_told();
}
END_TEST

/* ---- together ---- */

/* Many small timers share transactions, and so their messages; a large one is divided. */
START_TEST(joined_and_divided)
{
    testing_lane_conf->release_batch_max = 64;
    orders("S", 1, 150, 0, -1000);
    orders("L", 1, 500, 1000, -1000);
    for (int n = 1; n <= 150; n++)
        timer("S", n, n);
    timer("L", 1, 500);
    start(1);
    testing_wait(closed("") == 650, 20000, "all are closed");
    testing_money_balances();
    stop();
    ck_assert_int_le(testing_number("SELECT COUNT(*) FROM local_message WHERE topic='stock.return'"),
                     500 / 64 + 1 + 150 / 50 + 4);
    ck_assert_int_ge(testing_number("SELECT COUNT(*) FROM local_message WHERE topic='stock.return'"), 650 / 64);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE topic='stock.return' AND "
                                    "(LENGTH(payload)-LENGTH(REPLACE(payload,'order_no','')))/8>64"),
                     0);
    take_events();
    assert_told();
}
END_TEST

/* ---- what the database has ---- */

/* Stock that somebody raised by hand: what would be over the total is dropped there, and Redis gets back what it gave.
 */
START_TEST(never_over_the_total)
{
    orders("D", 1, 10, 0, -1000);
    testing_sql("UPDATE activity_stock SET available=total-3 WHERE activity_id=%" PRId64, testing_money.plan.activity);
    timer("D", 1, 10);
    start(1);
    testing_wait(closed("D") == 10, 10000, "all are closed");
    testing_money_balances(); /* available is the total, and so is what is left in Redis */
    stop();
    ck_assert_int_eq(testing_metric(METRIC_STOCK_UNITS_CAPPED), 7);
}
END_TEST

/* An order that the database refuses to close keeps none of its neighbours; its timer is tried again, then kept. */
START_TEST(one_that_is_refused_stands_alone)
{
    struct testing_letters dead = {0};

    orders("D", 1, 40, 0, -1000);
    testing_admin("CREATE TRIGGER %s.refuse BEFORE UPDATE ON %s.orders FOR EACH ROW IF NEW.order_no='D7' THEN SIGNAL "
                  "SQLSTATE '45000' SET MESSAGE_TEXT='not this one'; END IF",
                  testing_schema(), testing_schema());
    timer("D", 1, 30);
    timer("D", 31, 40);
    start(1);
    testing_letters_dead(&dead, 1, 300);
    ck_assert_int_eq(closed("D"), 39);
    ck_assert(slice_is(dead.list[0].message_id, "D1"));
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-reason"), "constraint");
    ck_assert_ptr_nonnull(strstr(testing_header(&dead.list[0], "orderd-detail"), "order D7: "));
    testing_letters_free(&dead);
    testing_admin("DROP TRIGGER %s.refuse", testing_schema());
    timer("D", 1, 30); /* replayed */
    testing_wait(closed("D") == 40, 10000, "it is closed as well");
    testing_money_balances();
    stop();
    take_events();
    assert_told();
}
END_TEST

/* ---- crashes ---- */

static const char *const crash_points[] = {
    "release.taken=kill@1",      "change.before_commit=kill@2", "change.after_commit=kill@2",
    "release.before_ack=kill@1", "release.after_ack=kill@1",    "relay.after_send=kill@1",
    "relay.after_mark=kill@1",   "change.before_commit=fail@1", "change.after_commit=fail@1",
};

/* A lane and a relay in a process of their own, until the fault ends it (or, where it is a lost answer, everything is
 * done). */
static void run_until(const char *fault)
{
    bool kills = strstr(fault, "kill") != NULL;
    pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        testing_faults(fault);
        start(1);
        if (kills) {
            clock_sleep_ms(TESTING_PATIENCE * 10000);
            _exit(1);
        }
        testing_wait(closed("") == 120, 10000, "all are done");
        testing_lane_stop();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(kills ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : status == 0, "%s: status %d", fault,
                  status);
}

START_TEST(crashes_change_nothing_twice)
{
    testing_lane_conf->release_batch_max = 50;
    orders("D", 1, 120, 0, -1000);
    for (int i = 0; i < 6; i++)
        timer("D", 20 * i + 1, 20 * i + 20);
    run_until(crash_points[_i]);
    testing_sql(
        "UPDATE local_message SET due_at=NOW(6) WHERE state='pending'"); /* do not wait for the dead one's lease */
    start(1);
    testing_wait(closed("D") == 120, 10000, "all are closed");
    testing_money_balances();
    stop();
    take_events();
    assert_told();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), 120);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("release");
    TCase *c = tcase_create("lane");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_unchecked_fixture(c, NULL, testing_money_clean);
    tcase_add_test(c, closes_what_is_due);
    tcase_add_test(c, nothing_twice);
    tcase_add_test(c, no_timer_at_all);
    tcase_add_test(c, early_comes_again_when_due);
    tcase_add_test(c, pushed_out);
    tcase_add_test(c, joined_and_divided);
    tcase_add_test(c, never_over_the_total);
    tcase_add_test(c, one_that_is_refused_stands_alone);
#ifdef ORDERD_FAULTS
    tcase_add_loop_test(c, crashes_change_nothing_twice, 0, (int)(sizeof crash_points / sizeof *crash_points));
#endif
    suite_add_tcase(s, c);
    return testing_main(s);
}
