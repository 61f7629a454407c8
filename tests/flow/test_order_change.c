/* Changes of orders against the real database: every pair of the transition table, batches judged in order, lost
 * answers, conflicts, and what the transaction leaves behind for the relay. */
#include "testing_lane.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/order_change.h"
#include "orderd/order_transition.h"
#include "testing_letters.h"

#define STOCK 1000

static struct order_change_options options = {.owner = "test#1", .lease_ms = 60000, .events = true};
static struct local_messages committed;
static struct error err;

static void setup(void)
{
    testing_lane_setup(STOCK, "lanes = 1;");
    local_messages_init(&committed);
    options.metrics = metric_register();
}

static void teardown(void)
{
    local_messages_free(&committed);
    testing_faults("");
}

/* A row as the create lane (or a decision) would have left it; due: its time-out is over. */
static void make_order(const char *no, const char *status, bool due)
{
    bool live = strcmp(status, "pending") == 0 || strcmp(status, "paid") == 0;
    static int user;

    testing_sql(
        "INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,status,reason,"
        "units_returned,reserved_at,expires_at) VALUES('%s',%d,%d,0,%d,2,%d,0,1,'%s','',%d,NOW(3),%s)",
        no, TESTING_ACTIVITY, ++user, TESTING_SKU, 2 * TESTING_PRICE, status, live ? 0 : 2,
        due ? "NOW(6)-INTERVAL 1 SECOND" : "NOW(6)+INTERVAL 1 HOUR");
    if (live)
        testing_sql("UPDATE activity_stock SET available=available-2");
}

static struct order_change wish(enum order_wish what, const char *no)
{
    struct order_change c = {.wish = what};

    snprintf(c.order_no, sizeof c.order_no, "%s", no);
    return c;
}

static struct order_change pay(const char *no, const char *ref, int64_t amount)
{
    struct order_change c = wish(ORDER_WISH_PAY, no);

    snprintf(c.payment_ref, sizeof c.payment_ref, "%s", ref);
    c.amount = amount;
    c.paid_at = clock_wall_ms();
    return c;
}

static void run(struct order_change *changes, size_t count)
{
    ck_assert_ok(order_change_run(testing_lane_db, changes, count, &options, &committed, &err), &err);
}

static const char *run_one(struct order_change c)
{
    run(&c, 1);
    return reason_name(c.verdict);
}

static int64_t messages(const char *like)
{
    return testing_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE '%s'", like);
}

static int64_t available(void)
{
    return testing_number("SELECT available FROM activity_stock");
}

static bool order_is(const char *no, const char *status)
{
    return testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND status='%s'", no, status) == 1;
}

static int64_t payments(const char *ref, const char *outcome)
{
    return testing_number("SELECT COUNT(*) FROM payment WHERE payment_ref='%s' AND outcome='%s'", ref, outcome);
}

/* ---- every pair ---- */

static const char *const standings[] = {"unknown", "pending", "paid", "closed", "rejected"};

/* What must come of it, told a second time: by condition, in the order of the standings. */
static const struct {
    const char *condition;
    const char *verdicts[5];
} expected[] = {
    {"pay", {"order_unknown", "paid", "refund_second", "refund_closed", "refund_rejected"}},
    {"pay_other_amount", {"order_unknown", "payment_amount", "payment_amount", "payment_amount", "payment_amount"}},
    {"pay_known_applied", {"paid_before", "paid_before", "paid_before", "paid_before", "paid_before"}},
    {"pay_known_refund", {"refund_before", "refund_before", "refund_before", "refund_before", "refund_before"}},
    {"pay_known_amount", {"payment_amount", "payment_amount", "payment_amount", "payment_amount", "payment_amount"}},
    {"pay_conflict",
     {"payment_conflict", "payment_conflict", "payment_conflict", "payment_conflict", "payment_conflict"}},
    {"cancel", {"order_unknown", "cancelled", "cancel_paid", "closed_before", "rejected_before"}},
    {"expire_due", {"timer_unknown", "unpaid", "timer_paid", "closed_before", "rejected_before"}},
    {"expire_early", {"timer_unknown", "not_due", "timer_paid", "closed_before", "rejected_before"}},
};

#define CONDITIONS ((int)(sizeof expected / sizeof *expected))

static void know_payment(const char *ref, const char *no, const char *outcome)
{
    testing_sql("INSERT INTO payment(payment_ref,order_no,amount,paid_at,outcome,reason) VALUES('%s','%s',%d,NOW(3),"
                "'%s','')",
                ref, no, 2 * TESTING_PRICE, outcome);
}

static struct order_change make_wish(const char *condition, const char *no, const char *ref)
{
    if (strcmp(condition, "cancel") == 0)
        return wish(ORDER_WISH_CANCEL, no);
    if (strncmp(condition, "expire", 6) == 0)
        return wish(ORDER_WISH_EXPIRE, no);
    if (strcmp(condition, "pay_known_applied") == 0)
        know_payment(ref, no, "applied");
    if (strcmp(condition, "pay_known_refund") == 0)
        know_payment(ref, no, "refund_due");
    if (strcmp(condition, "pay_known_amount") == 0)
        know_payment(ref, no, "amount_mismatch");
    if (strcmp(condition, "pay_conflict") == 0)
        know_payment(ref, "another_order", "refund_due");
    return pay(no, ref, strcmp(condition, "pay_other_amount") == 0 ? 1 : 2 * TESTING_PRICE);
}

/* Everything that is the same whatever was asked: what the verdict says, and nothing else, is in the tables. */
static void assert_effects(const char *no, const char *ref, const char *before, const char *verdict, int64_t stock)
{
    bool paid = strcmp(verdict, "paid") == 0;
    bool closed = strcmp(verdict, "cancelled") == 0 || strcmp(verdict, "unpaid") == 0;
    bool refund = strcmp(verdict, "refund_second") == 0 || strcmp(verdict, "refund_closed") == 0 ||
                  strcmp(verdict, "refund_rejected") == 0;
    char key[200];

    if (strcmp(before, "unknown") == 0)
        ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s'", no), 0);
    else
        ck_assert_msg(order_is(no, paid ? "paid" : closed ? "closed" : before), "%s was %s", no, before);
    ck_assert_int_eq(available(), closed ? stock + 2 : stock);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND status='closed' AND "
                                    "reason='%s' AND units_returned=2 AND closed_at IS NOT NULL",
                                    no, verdict),
                     closed);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND paid_at IS NOT NULL", no),
                     paid);
    snprintf(key, sizeof key, "stock.return:%s", no);
    ck_assert_int_eq(messages(key), closed);
    snprintf(key, sizeof key, "event.order.closed:%s", no);
    ck_assert_int_eq(messages(key), closed);
    snprintf(key, sizeof key, "stock.settle:%s", no);
    ck_assert_int_eq(messages(key), paid);
    snprintf(key, sizeof key, "event.order.paid:%s", no);
    ck_assert_int_eq(messages(key), paid);
    snprintf(key, sizeof key, "timer:%s", no);
    ck_assert_int_eq(messages(key), strcmp(verdict, "not_due") == 0);
    if (paid || refund)
        ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM payment WHERE payment_ref='%s' AND order_no='%s' AND "
                                        "reason='%s' AND outcome='%s'",
                                        ref, no, verdict, paid ? "applied" : "refund_due"),
                         1);
    snprintf(key, sizeof key, "event.order.refund_due:%s", ref);
    if (strcmp(verdict, "payment_amount") == 0)
        ck_assert_int_eq(payments(ref, "amount_mismatch"), 1); /* its event is judged by the caller */
    else
        ck_assert_int_eq(messages(key), refund);
}

START_TEST(each_pair_has_its_outcome)
{
    const char *condition = expected[_i].condition;

    for (int i = 0; i < 5; i++) {
        const char *before = standings[i], *verdict = expected[_i].verdicts[i];
        char no[40], ref[40];
        int64_t stock;
        struct order_change c;

        snprintf(no, sizeof no, "X_%s_%s", condition, before);
        snprintf(ref, sizeof ref, "ref.%d", i);
        no[ORDER_NO_BASE_MAX] = '\0';
        if (i > 0)
            make_order(no, before, strcmp(condition, "expire_due") == 0);
        stock = available();
        c = make_wish(condition, no, ref);
        ck_assert_str_eq(run_one(c), verdict);
        assert_effects(no, ref, before, verdict, stock);
        if (strcmp(verdict, "payment_amount") == 0) {
            snprintf(ref, sizeof ref, "%%refund_due:ref.%d", i);
            ck_assert_int_eq(messages(ref), strcmp(condition, "pay_other_amount") == 0);
        }
    }
}
END_TEST

/* The table of the code says the same: what was asked above is all that can be asked. */
START_TEST(the_table_agrees)
{
    ck_assert_int_eq(CONDITIONS, ORDER_CONDITION_COUNT);
    for (int c = 0; c < CONDITIONS; c++) {
        ck_assert_str_eq(order_condition_name((enum order_condition)c), expected[c].condition);
        for (int s = 0; s < ORDER_STANDING_COUNT; s++) {
            int place = s == ORDER_STANDS_UNKNOWN ? 0 : s + 1;

            ck_assert_str_eq(order_standing_name((enum order_standing)s), standings[place]);
            ck_assert_str_eq(reason_name(order_transition((enum order_condition)c, (enum order_standing)s).verdict),
                             expected[c].verdicts[place]);
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("order_change");
    TCase *c = tcase_create("change");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, each_pair_has_its_outcome, 0, CONDITIONS);
    tcase_add_test(c, the_table_agrees);
    suite_add_tcase(s, c);
    return testing_main(s);
}
