/* Payments and cancellations as messages, through their lanes and the relay, against the real broker, database and
 * Redis: each state of an order, and everything that comes twice, too late, wrong or in the other order. */
#include "testing_money.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "orderd/order_change.h"
#include "orderd/payment_lane.h"
#include "testing_letters.h"
#include "testing_relay.h"

#define CAP 200

static struct testing_spy spy;
static struct testing_letters letters;

static void setup_sale(int64_t limit, bool rebuy)
{
    testing_money_setup(CAP, limit, rebuy);
    testing_spy_open(&spy, "order.event", "#");
}

static void setup(void)
{
    setup_sale(2, true);
}

/* Time between the tries in which something can happen. */
static void setup_slow(void)
{
    testing_lane_delays = "50ms,100ms,3s";
    setup();
}

static void start(unsigned payment, unsigned cancel)
{
    testing_lane_start(0);
    testing_lane_add(&payment_lane, payment);
    testing_lane_add(&cancel_lane, cancel);
}

/* Ends the lanes, which then must have left nothing in their queues. */
static void stop(void)
{
    testing_lane_stop();
    ck_assert_uint_eq(testing_money_waiting("order.paid"), 0);
    ck_assert_uint_eq(testing_money_waiting("order.cancel"), 0);
}

/* Until so many deliveries were taken, retries included; stop() then waits for what is in hand. */
static void wait_taken(int64_t deliveries)
{
    testing_wait(testing_metric(METRIC_MESSAGES_RECEIVED) >= deliveries, 15000, "all messages are taken");
}

static bool order_is(const char *no, const char *status, const char *reason)
{
    return testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND status='%s' AND reason='%s'", no, status,
                          reason) == 1;
}

static int64_t payment_count(const char *ref, const char *outcome)
{
    return testing_number("SELECT COUNT(*) FROM payment WHERE payment_ref='%s' AND outcome LIKE '%s'", ref, outcome);
}

/* How many events of this kind tell of the order, in all messages that came. */
static int events(const char *event, const char *no, const char *ref)
{
    int found = 0;

    for (size_t i = 0; i < letters.count; i++) {
        json_t *root = json_loadb(letters.list[i].body.ptr, letters.list[i].body.len, 0, NULL), *entry;
        size_t n;

        ck_assert_ptr_nonnull(root);
        json_array_foreach(json_object_get(root, "orders"), n, entry)
        {
            const char *its_ref = json_string_value(json_object_get(entry, "payment_ref"));

            found += strcmp(json_string_value(json_object_get(root, "event")), event) == 0 &&
                     strcmp(json_string_value(json_object_get(entry, "order_no")), no) == 0 &&
                     (!ref || (its_ref && strcmp(its_ref, ref) == 0));
        }
        json_decref(root);
    }
    return found;
}

/* An event that was sent again after a crash says the same again, under the same id: as a consumer, forgets it. */
static void forget_repeats(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < letters.count; i++) {
        struct broker_delivery *d = &letters.list[i];
        size_t j = 0;

        while (j < kept && !slice_equal(letters.list[j].message_id, d->message_id))
            j++;
        if (j < kept) {
            ck_assert(slice_equal(letters.list[j].body, d->body));
            broker_delivery_release(d);
        } else {
            letters.list[kept++] = *d;
        }
    }
    letters.count = kept;
}

static int dead(struct testing_letters *list, const char *message_id, const char *reason)
{
    int found = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (!slice_is(list->list[i].message_id, message_id))
            continue;
        ck_assert_str_eq(testing_header(&list->list[i], "orderd-reason"), reason);
        found++;
    }
    return found;
}

/* ---- each state, each message ---- */

/* What is asked of an order in a state, and what must be after it; NULL: the order has no row. */
static const struct cell {
    const char *what, *before;
    const char *after, *reason; /* of the order's row */
    const char *outcome;        /* of the payment; "": none is written */
    const char *letter;         /* reason of its dead letter; "": none */
    const char *event;          /* "": none */
    const char *gone; /* in Redis: what became of the reservation; NULL: it is held, "": there never was one */
} cells[] = {
    {"pay", "unknown", NULL, NULL, "", "order_unknown", "", ""},
    {"pay", "pending", "paid", "", "applied", "", "order.paid", "sold"},
    {"pay", "late", "paid", "", "applied", "", "order.paid", "sold"}, /* over its time, and still pending */
    {"pay", "paid", "paid", "", "refund_due", "", "order.refund_due", "sold"},
    {"pay", "closed", "closed", "cancelled", "refund_due", "", "order.refund_due", "returned"},
    {"pay", "rejected", "rejected", "stock_short", "refund_due", "", "order.refund_due", "returned"},
    {"less", "unknown", NULL, NULL, "", "order_unknown", "", ""},
    {"less", "pending", "pending", "", "amount_mismatch", "payment_amount", "order.refund_due", NULL},
    {"less", "paid", "paid", "", "amount_mismatch", "payment_amount", "order.refund_due", "sold"},
    {"less", "closed", "closed", "cancelled", "amount_mismatch", "payment_amount", "order.refund_due", "returned"},
    {"less", "rejected", "rejected", "stock_short", "amount_mismatch", "payment_amount", "order.refund_due",
     "returned"},
    {"reuse", "unknown", NULL, NULL, "", "payment_conflict", "", ""},
    {"reuse", "pending", "pending", "", "", "payment_conflict", "", NULL},
    {"reuse", "paid", "paid", "", "", "payment_conflict", "", "sold"},
    {"reuse", "closed", "closed", "cancelled", "", "payment_conflict", "", "returned"},
    {"cancel", "unknown", NULL, NULL, "", "order_unknown", "", ""},
    {"cancel", "pending", "closed", "cancelled", "", "", "order.closed", "returned"},
    {"cancel", "paid", "paid", "", "", "", "", "sold"}, /* the failure of an older attempt, after the success */
    {"cancel", "closed", "closed", "cancelled", "", "", "", "returned"},
    {"cancel", "rejected", "rejected", "stock_short", "", "", "", "returned"},
};

#define CELLS   (sizeof cells / sizeof *cells)
#define RETRIES 3 /* of testing_lane_delays */

static void cell_no(size_t i, char no[40])
{
    snprintf(no, 40, "%s_%s_%zu", cells[i].what, cells[i].before, i);
}

/* Brings an order into its state by the ways that lead there. */
static void make_before(const struct cell *cell, const char *no, int64_t user)
{
    if (strcmp(cell->before, "unknown") == 0)
        return;
    testing_money_order(no, user, strcmp(cell->before, "late") == 0 ? -5000 : 3600000);
    if (strcmp(cell->before, "paid") == 0)
        testing_money_pay(no, no, TESTING_MONEY_PRICE);
    if (strcmp(cell->before, "closed") == 0)
        testing_money_cancel(no);
    if (strcmp(cell->before, "rejected") == 0) {
        testing_sql("UPDATE orders SET status='rejected',reason='stock_short',units_returned=1 WHERE order_no='%s';"
                    "UPDATE activity_stock SET available=available+1 WHERE activity_id=%" PRId64,
                    no, testing_money.plan.activity);
        ck_assert_int_eq(testing_give(&testing_money, no, 0).back, 1);
    }
}

static void ask(const struct cell *cell, const char *no)
{
    char ref[60];

    snprintf(ref, sizeof ref, "new:%s", no);
    if (strcmp(cell->what, "pay") == 0)
        testing_money_pay(no, ref, TESTING_MONEY_PRICE);
    else if (strcmp(cell->what, "less") == 0)
        testing_money_pay(no, ref, TESTING_MONEY_PRICE - 1);
    else if (strcmp(cell->what, "reuse") == 0)
        testing_money_publish(
            "order.paid", ref,
            "{\"v\":1,\"order_no\":\"%s\",\"payment_ref\":\"reused\",\"amount\":%d,\"paid_at\":%" PRId64 "}", no,
            TESTING_MONEY_PRICE, clock_wall_ms());
    else
        testing_money_cancel(no);
}

static void assert_cell(const struct cell *cell, const char *no, struct testing_letters *dead_letters)
{
    char ref[60];
    int64_t rows = testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s'", no);
    bool about_payment = strcmp(cell->what, "cancel") != 0;

    snprintf(ref, sizeof ref, "new:%s", no);
    ck_assert_int_eq(rows, cell->after != NULL);
    ck_assert_msg(!cell->after || order_is(no, cell->after, cell->reason), "%s is not %s", no, cell->after);
    ck_assert_int_eq(payment_count(ref, "%"), cell->outcome[0] != '\0');
    ck_assert_int_eq(payment_count(ref, cell->outcome), cell->outcome[0] != '\0');
    /* Both copies of the message, each once, by the queue it came from. */
    ck_assert_int_eq(dead(dead_letters, about_payment ? ref : no, cell->letter), cell->letter[0] ? 2 : 0);
    ck_assert_int_eq(events("order.refund_due", no, ref), strcmp(cell->event, "order.refund_due") == 0);
    ck_assert_int_eq(events("order.paid", no, NULL), cell->after && strcmp(cell->after, "paid") == 0);
    ck_assert_int_eq(events("order.closed", no, NULL), cell->after && strcmp(cell->after, "closed") == 0);
    testing_shard_hash(&testing_money, STOCK_KEY_GONE, no, cell->gone && cell->gone[0] ? cell->gone : NULL);
}

START_TEST(each_state_and_message)
{
    struct testing_letters dead_letters = {0};
    int64_t retried = 0, dead_count = 0, before = 0;
    char no[40];

    start(2, 1);
    testing_money_order("other", 1, 3600000);
    testing_money_pay("other", "reused", TESTING_MONEY_PRICE);
    for (size_t i = 0; i < CELLS; i++) {
        cell_no(i, no);
        make_before(&cells[i], no, 100 + (int64_t)i);
        before += strcmp(cells[i].before, "paid") == 0 || strcmp(cells[i].before, "closed") == 0;
        retried += strcmp(cells[i].letter, "order_unknown") == 0;
        dead_count += cells[i].letter[0] != '\0';
    }
    wait_taken(1 + before);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE status IN('paid','closed')") == 1 + before, 5000,
                 "all states are reached");
    for (size_t i = 0; i < CELLS; i++) { /* each message twice */
        cell_no(i, no);
        ask(&cells[i], no);
        ask(&cells[i], no);
    }
    wait_taken(1 + before + 2 * (int64_t)CELLS + 2 * RETRIES * retried);
    stop();
    testing_letters_dead(&dead_letters, (size_t)(2 * dead_count), 100);
    ck_assert_uint_eq(dead_letters.count, (size_t)(2 * dead_count));
    start(0, 0); /* the relay */
    testing_money_balances();
    stop();
    testing_spy_take(&spy, &letters, 1, 300);
    for (size_t i = 0; i < CELLS; i++) {
        cell_no(i, no);
        assert_cell(&cells[i], no, &dead_letters);
    }
    testing_letters_free(&dead_letters);
}
END_TEST

/* ---- what comes often, late, or cannot be read ---- */

/* A payment that comes too late, forty times over, at two lanes: one refund, one event. */
START_TEST(one_refund_however_often_it_comes)
{
    testing_money_order("A", 1, 3600000);
    start(2, 1);
    testing_money_cancel("A");
    testing_wait(order_is("A", "closed", "cancelled"), 5000, "the order is closed");
    for (int i = 0; i < 40; i++)
        testing_money_pay("A", "late", TESTING_MONEY_PRICE);
    wait_taken(41);
    testing_wait(testing_metric(METRIC_REFUNDS_DUE) + testing_metric(METRIC_CHANGES_VOID) == 40, 5000,
                 "all are judged");
    testing_money_balances();
    stop();
    ck_assert_int_eq(testing_metric(METRIC_REFUNDS_DUE), 1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM payment WHERE order_no='A' AND payment_ref='late' AND "
                                    "outcome='refund_due' AND reason='refund_closed' AND amount=%d",
                                    TESTING_MONEY_PRICE),
                     1);
    testing_spy_take(&spy, &letters, 2, 200);
    ck_assert_uint_eq(letters.count, 2);
    ck_assert_int_eq(events("order.closed", "A", NULL), 1);
    ck_assert_int_eq(events("order.refund_due", "A", "late"), 1);
    ck_assert(slice_is(letters.list[1].message_id, "order.refund_due:late"));
    ck_assert_uint_eq((size_t)testing_dead_letters(0, ""), 0);
}
END_TEST

START_TEST(no_message_at_all)
{
    struct testing_letters dead_letters = {0};

    testing_money_order("A", 1, 3600000);
    start(1, 1);
    testing_money_publish("order.paid", "m1", "not json");
    testing_money_publish("order.paid", "m2",
                          "{\"v\":1,\"order_no\":\"A\",\"payment_ref\":\"a b\",\"amount\":250,"
                          "\"paid_at\":1764400000123}");
    testing_money_publish("order.paid", "m3",
                          "{\"v\":1,\"order_no\":\"A\",\"payment_ref\":\"r\",\"amount\":2.5,"
                          "\"paid_at\":1764400000123}");
    testing_money_publish("order.cancel", "m4", "{\"v\":2,\"order_no\":\"A\",\"reason\":\"x\"}");
    testing_money_publish("order.cancel", "m5", "{\"v\":1,\"order_no\":\"A\"}");
    testing_letters_dead(&dead_letters, 5, 100);
    ck_assert_uint_eq(dead_letters.count, 5);
    ck_assert_int_eq(dead(&dead_letters, "m1", "body_not_json"), 1);
    ck_assert_int_eq(dead(&dead_letters, "m2", "payment_ref_invalid"), 1);
    ck_assert_int_eq(dead(&dead_letters, "m3", "member_type"), 1);
    ck_assert_int_eq(dead(&dead_letters, "m4", "version_unknown"), 1);
    ck_assert_int_eq(dead(&dead_letters, "m5", "member_missing"), 1);
    for (size_t i = 0; i < dead_letters.count; i++)
        ck_assert_str_eq(testing_header(&dead_letters.list[i], "orderd-attempt"), "0"); /* at once */
    stop();
    ck_assert(order_is("A", "pending", ""));
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM payment"), 0);
    testing_letters_free(&dead_letters);
}
END_TEST

/* The payment overtakes its order, which is still on its way: it is tried again, and then there is something to pay. */
START_TEST(a_payment_before_its_order)
{
    start(1, 1);
    testing_money_pay("A", "r1", TESTING_MONEY_PRICE);
    testing_money_cancel("B");
    testing_wait(testing_metric(METRIC_ORDERS_RETRIED) >= 3, 5000, "both are tried again, one of them twice");
    testing_money_order("A", 1, 3600000);
    testing_money_order("B", 2, 3600000);
    testing_wait(order_is("A", "paid", "") && order_is("B", "closed", "cancelled"), 10000, "both are done");
    testing_money_balances();
    stop();
    ck_assert_int_eq(payment_count("r1", "applied"), 1);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

/* One payment that the database will not take (somebody wrote a payment of this order by hand): the others of its batch
 * are not held up, and it goes where an operator sees it. */
START_TEST(one_that_is_refused_stands_alone)
{
    struct testing_letters dead_letters = {0};
    char no[20];

    for (int i = 0; i < 40; i++) {
        snprintf(no, sizeof no, "N%d", i);
        testing_money_order(no, i + 1, 3600000);
        testing_money_pay(no, no, TESTING_MONEY_PRICE); /* no lane yet: they are taken together */
    }
    testing_sql("INSERT INTO payment(payment_ref,order_no,amount,paid_at,outcome,reason) "
                "VALUES('by_hand','N17',1,NOW(3),'applied','')");
    start(1, 0);
    testing_letters_dead(&dead_letters, 1, 100);
    ck_assert_int_eq(dead(&dead_letters, "N17", "constraint"), 1);
    ck_assert_str_eq(testing_header(&dead_letters.list[0], "orderd-attempt"), "3");
    testing_money_balances();
    stop();
    ck_assert_int_gt(testing_metric(METRIC_BATCH_SPLITS), 0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='paid'"), 39);
    ck_assert(order_is("N17", "pending", ""));
    testing_letters_free(&dead_letters);
}
END_TEST

/* A missing table is no payment's fault: the lane waits, and goes on when it is back. */
START_TEST(a_missing_table_waits)
{
    testing_money_order("A", 1, 3600000);
    testing_sql("RENAME TABLE payment TO payment_gone");
    start(1, 0);
    testing_money_pay("A", "r1", TESTING_MONEY_PRICE);
    testing_wait(lane_state_of(testing_lane(0)) == LANE_PAUSED, 10000, "the lane pauses");
    ck_assert(order_is("A", "pending", ""));
    testing_sql("RENAME TABLE payment_gone TO payment");
    testing_wait(order_is("A", "paid", ""), 10000, "the payment is applied");
    testing_money_balances();
    stop();
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

/* ---- whether a released buyer may buy again ---- */

START_TEST(a_released_buyer)
{
    bool rebuy = _i & 1, unpaid = _i & 2;
    struct stock_deducted d;

    setup_sale(1, rebuy);
    testing_money_order("A", 7, unpaid ? -1000 : 3600000);
    testing_money_order("P", 8, 3600000);
    ck_assert_int_eq(testing_take(&testing_money, "B", 7, 1).code, STOCK_DEDUCT_OVER_LIMIT);
    start(1, 1);
    if (unpaid) {
        struct order_change change = {.order_no = "A", .wish = ORDER_WISH_EXPIRE};
        struct order_change_options options = {.owner = ""};
        struct local_messages none;
        struct error err = {0};

        local_messages_init(&none);
        ck_assert_ok(order_change_run(testing_lane_db, &change, 1, &options, &none, &err), &err);
        ck_assert_int_eq(change.verdict, REASON_UNPAID);
        local_messages_free(&none);
    } else {
        testing_money_cancel("A");
    }
    testing_money_pay("P", "r", TESTING_MONEY_PRICE);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'") == 0, 5000, "both are done");
    testing_money_balances();
    stop();
    d = testing_take(&testing_money, "C", 7, 1);
    ck_assert_int_eq(d.code, rebuy ? STOCK_DEDUCT_TAKEN : STOCK_DEDUCT_OVER_LIMIT);
    ck_assert_int_eq(testing_take(&testing_money, "A", 7, 1).code, STOCK_DEDUCT_GONE);       /* never the old number */
    ck_assert_int_eq(testing_take(&testing_money, "Q", 8, 1).code, STOCK_DEDUCT_OVER_LIMIT); /* has paid for one */
}
END_TEST

/* ---- crashes ---- */

#define CRASH_ORDERS 60

static const char *const crash_points[] = {
    "payment.taken=kill@1",       "change.before_commit=kill@1", "change.after_commit=kill@1",
    "payment.before_ack=kill@1",  "payment.after_ack=kill@1",    "cancel.taken=kill@1",
    "cancel.before_ack=kill@1",   "cancel.after_ack=kill@1",     "change.before_commit=fail@1",
    "change.after_commit=fail@1",
};

/* Lanes and a relay in a process of their own, until the fault ends it (or, where it is a lost answer, everything is
 * done). */
static void run_until(const char *fault)
{
    bool kills = strstr(fault, "kill") != NULL;
    pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        testing_faults(fault);
        start(1, 1);
        if (kills) {
            clock_sleep_ms(TESTING_PATIENCE * 10000);
            _exit(1);
        }
        testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'") == 0, 10000, "all are done");
        testing_lane_stop();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(kills ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : status == 0, "%s: status %d", fault,
                  status);
}

START_TEST(crashes_change_nothing_twice)
{
    char no[20];

    for (int i = 0; i < CRASH_ORDERS; i++) {
        snprintf(no, sizeof no, "N%d", i);
        testing_money_order(no, i + 1, 3600000);
        if (i % 3 == 0)
            testing_money_cancel(no);
        else
            testing_money_pay(no, no, TESTING_MONEY_PRICE);
    }
    run_until(crash_points[_i]);
    testing_sql(
        "UPDATE local_message SET due_at=NOW(6) WHERE state='pending'"); /* do not wait for the dead one's lease */
    start(1, 1);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'") == 0, 10000, "all are done");
    testing_money_balances();
    stop();
    testing_spy_take(&spy, &letters, 2, 200);
    forget_repeats();
    for (int i = 0; i < CRASH_ORDERS; i++) {
        snprintf(no, sizeof no, "N%d", i);
        ck_assert(i % 3 == 0 ? order_is(no, "closed", "cancelled") : order_is(no, "paid", ""));
        ck_assert_int_eq(payment_count(no, "applied"), i % 3 != 0);
        ck_assert_int_eq(events("order.paid", no, no), i % 3 != 0);
        ck_assert_int_eq(events("order.closed", no, NULL), i % 3 == 0);
    }
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM payment"), CRASH_ORDERS - CRASH_ORDERS / 3);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE '%%refund%%'"), 0);
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("payment");
    TCase *c = tcase_create("lanes");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_unchecked_fixture(c, NULL, testing_money_clean);
    tcase_add_test(c, each_state_and_message);
    tcase_add_test(c, one_refund_however_often_it_comes);
    tcase_add_test(c, no_message_at_all);
    tcase_add_test(c, one_that_is_refused_stands_alone);
    tcase_add_test(c, a_missing_table_waits);
    tcase_add_loop_test(c, crashes_change_nothing_twice, 0, (int)(sizeof crash_points / sizeof *crash_points));
    suite_add_tcase(s, c);
    c = tcase_create("retried");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup_slow, NULL);
    tcase_add_unchecked_fixture(c, NULL, testing_money_clean);
    tcase_add_test(c, a_payment_before_its_order);
    suite_add_tcase(s, c);
    c = tcase_create("rebuy");
    tcase_set_timeout(c, 60);
    tcase_add_unchecked_fixture(c, NULL, testing_money_clean);
    tcase_add_loop_test(c, a_released_buyer, 0, 4);
    suite_add_tcase(s, c);
    return testing_main(s);
}
