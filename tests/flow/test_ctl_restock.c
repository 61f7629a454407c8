/* orderctl activity restock against real servers: MySQL and the shards add up to the new total, whatever it cost, and
 * at no instant do the shards have more than MySQL. */
#include "testing_sale.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/exitcode.h"

static struct error err;

static int64_t caps(void)
{
    int64_t sum = 0;

    for (int i = 0; i < SALE_SHARDS; i++) {
        struct stock_audit a = sale_audit(i);

        ck_assert_int_eq(a.code, STOCK_AUDIT_PRESENT);
        ck_assert(stock_audit_balances(&a));
        sum += a.cap;
    }
    return sum;
}

static int64_t total(void)
{
    return testing_ctl_number("SELECT total FROM activity_stock");
}

/* MySQL alone: both rows, and what is not in live orders. */
static void database_is(int64_t units)
{
    ck_assert_int_eq(sale_row().total_stock, units);
    ck_assert_int_eq(total(), units);
    ck_assert_int_eq(testing_ctl_number("SELECT available FROM activity_stock"),
                     units -
                         testing_ctl_number("SELECT COALESCE(SUM(quantity),0) FROM orders WHERE status IN('pending',"
                                            "'paid')"));
}

static void stock_is(int64_t units)
{
    database_is(units);
    ck_assert_int_eq(caps(), units);
}

static void cap_is(int shard, int64_t cap)
{
    ck_assert_int_eq(sale_audit(shard).cap, cap);
}

#define RESTOCK(...) CTL("activity", "restock", sale_text, "--stock", __VA_ARGS__)

START_TEST(risen)
{
    sale_preheat();
    sale_deduct("o1", 1, 3, 0);
    sale_insert("o1", 1, 3, 0);
    RESTOCK("1503", "--dry-run");
    sale_said(EXIT_OK, "orderctl: activity %s would go from 1002 to 1503 units; nothing was changed\n", sale_text);
    ck_assert_str_eq(testing_ctl.out, "SHARD  LEFT  CAP WAS  CAP\n"
                                      "    0   248      251  376\n"
                                      "    1   251      251  376\n"
                                      "    2   250      250  376\n"
                                      "    3   250      250  375\n");
    stock_is(1002);
    RESTOCK("1503", "--json");
    sale_said(EXIT_OK, "orderctl: activity %s went from 1002 to 1503 units\n", sale_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out,
                                 "{\"result\":\"restocked\",\"asked_for\":1503,\"total_was\":1002,"
                                 "\"total\":1503,\"shards\":[{\"shard\":0,\"cap_was\":251,\"cap\":376},"));
    stock_is(1503);
    cap_is(0, 376);
    cap_is(3, 375);
    ck_assert_int_eq(sale_audit(0).left, 373);
    RESTOCK("1503", "--json");
    sale_said(EXIT_OK, "orderctl: activity %s has 1503 units already; nothing was changed\n", sale_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"restocked_before\","));
    stock_is(1503);
    CTL("activity", "preheat", sale_text); /* only its sum counts now */
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
}
END_TEST

START_TEST(cut)
{
    sale_preheat();
    sale_deduct("o1", 1, 3, 1);
    sale_insert("o1", 1, 3, 1);
    RESTOCK("503");
    sale_said(EXIT_OK, "orderctl: activity %s went from 1002 to 503 units\n", sale_text);
    stock_is(503);
    cap_is(0, 126);
    cap_is(1, 126);
    cap_is(3, 125);
    ck_assert_int_eq(sale_audit(1).left, 123);
    RESTOCK("1002", "-q");
    sale_said(EXIT_OK, "%s", "");
    stock_is(1002);
}
END_TEST

/* One shard has sold nearly all: the others give more, as far as they can. */
START_TEST(cut_around_what_is_sold)
{
    sale_preheat();
    for (int i = 0; i < 80; i++) {
        char order_no[16];

        snprintf(order_no, sizeof order_no, "o%d", i);
        sale_deduct(order_no, i + 1, 3, 0);
        sale_insert(order_no, i + 1, 3, 0);
    }
    RESTOCK("600");
    sale_said(EXIT_OK, "orderctl: activity %s went from 1002 to 600 units\n", sale_text);
    stock_is(600);
    cap_is(0, 240);
    cap_is(1, 120);
    cap_is(2, 120);
    RESTOCK("200", "--dry-run", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    stock_is(600);
    RESTOCK("200", "--json");
    sale_said(EXIT_PARTIAL,
              "orderctl: activity %s went from 600 to 240 units\n"
              "orderctl: warning: 240 of its units are sold, reserved or forfeited, so that it cannot have 200\n",
              sale_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"restocked_in_part\","));
    stock_is(240);
    cap_is(0, 240);
    ck_assert_int_eq(sale_audit(1).left + sale_audit(2).left + sale_audit(3).left, 0);
    RESTOCK("200", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    stock_is(240);
    RESTOCK("1002");
    stock_is(1002);
    cap_is(0, 251);
    cap_is(3, 250);
}
END_TEST

START_TEST(before_preheat)
{
    sale_approve();
    RESTOCK("2000", "--dry-run", "-q");
    database_is(1002);
    RESTOCK("2000");
    sale_said(EXIT_OK, "orderctl: activity %s went from 1002 to 2000 units\n", sale_text);
    database_is(2000);
    ck_assert_int_eq(sale_audit(0).code, STOCK_AUDIT_NO_SHARD);
    CTL("activity", "preheat", sale_text);
    stock_is(2000);
    cap_is(3, 500);
}
END_TEST

START_TEST(not_restocked)
{
    struct stock_plan plan;
    struct stock_paused answer;

    sale_create();
    RESTOCK("2000");
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity restock: activity %s is in review; only an approved one can be restocked\n",
              sale_text);
    CTL("activity", "approve", sale_text);
    SALE_KILLED("preheat.after_shard=kill@1", "preheat", sale_text);
    RESTOCK("2000");
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity restock: a preheat of activity %s was cut short; run `orderctl activity preheat %s` "
              "first\n",
              sale_text, sale_text);
    CTL("activity", "preheat", sale_text);
    RESTOCK("3");
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity restock: 3 units are less than one for each of 4 shards; `orderctl activity end` ends a "
        "sale\n");
    plan = sale_plan(1);
    ck_assert_ok(stock_pause(sale_kv, &(struct stock_pause){sale_id, 1, true, plan.epoch}, &answer, &err), &err);
    RESTOCK("2000");
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity restock: shard 1 of activity %s is paused: a rebuild was cut short; finish that first, "
        "with `orderctl activity rebuild %s`\n",
        sale_text, sale_text);
    sale_forget(3);
    RESTOCK("2000");
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity restock: shard 3 of activity %s is not in Redis; `orderctl activity rebuild %s` makes "
        "it anew from the database\n",
        sale_text, sale_text);
    database_is(1002);
    testing_ctl_run_sql("UPDATE activity SET state='settled'");
    RESTOCK("2000");
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity restock: activity %s is settled: its books are closed, and more units need a new "
              "activity\n",
              sale_text);
    database_is(1002);
}
END_TEST

/* Live orders that Redis does not know: what comes off the caps is not MySQL's to give. Nothing is lost by finding out.
 */
START_TEST(mysql_has_less)
{
    sale_preheat();
    testing_ctl_run_sql("UPDATE activity_stock SET available=100");
    RESTOCK("500");
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity restock: 502 units came off the shards, but MySQL has only 100 that are not in live "
              "orders; see `orderctl reconcile --activity %s`, or restock to 1002 to take it back\n",
              sale_text);
    ck_assert_int_eq(total(), 1002);
    ck_assert_int_eq(sale_row().total_stock, 1002);
    RESTOCK("1002");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_int_eq(caps(), 1002);
}
END_TEST

/* Somebody changed one of MySQL's rows by hand. */
START_TEST(rows_that_differ)
{
    sale_preheat();
    testing_ctl_run_sql("UPDATE activity SET total_stock=900");
    RESTOCK("1002");
    sale_said(EXIT_OK, "orderctl: activity %s went from 1002 to 1002 units\n", sale_text);
    stock_is(1002);
    testing_ctl_run_sql("UPDATE activity SET total_stock=2000");
    RESTOCK("1200");
    stock_is(1200);
}
END_TEST

/* ---- crashes ---- */

static const struct {
    const char *fault, *stock;
} crashes[] = {
    {"restock.after_database=kill@1", "1600"},  {"restock.after_shard=kill@1", "1600"},
    {"restock.after_shard=kill@3", "1600"},     {"restock.after_shard=kill@4", "1600"},
    {"restock.before_database=kill@1", "1600"}, {"restock.after_shard=kill@1", "500"},
    {"restock.after_shard=kill@3", "500"},      {"restock.after_shard=kill@4", "500"},
    {"restock.before_database=kill@1", "500"},
};

#define CRASHES ((int)(sizeof crashes / sizeof *crashes))

/* Killed at each point: the shards never have more than MySQL; the same again completes it, the old total takes it
 * back, and another total is as good. */
START_TEST(killed)
{
    static const char *const then[] = {NULL, "1002", "700"};

    sale_preheat();
    for (int i = 0; i < 3; i++) {
        const char *stock = then[i] ? then[i] : crashes[_i].stock;

        SALE_KILLED(crashes[_i].fault, "restock", sale_text, "--stock", crashes[_i].stock);
        ck_assert_int_le(caps(), total());
        ck_assert_int_eq(sale_row().total_stock, total());
        RESTOCK(stock);
        ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
        stock_is(strtoll(stock, NULL, 10));
        RESTOCK("1002");
        stock_is(1002);
    }
}
END_TEST

/* ---- while it sells ---- */

#define BUYERS 3

static atomic_bool selling = true;

struct buyer {
    pthread_t thread;
    int64_t taken;
    int number;
};

static void *buy(void *arg)
{
    struct buyer *b = arg;
    struct kv *kv = testing_redis_shared();
    struct error mine;

    for (int64_t n = 1; atomic_load(&selling); n++) {
        char order_no[32];
        struct stock_order order = {sale_id, (int)(n % SALE_SHARDS), {0}, n * BUYERS + b->number, 1, SALE_PRICE, 1};
        struct stock_deducted answer;

        snprintf(order_no, sizeof order_no, "b%d_%" PRId64, b->number, n);
        order.order_no = slice_of(order_no);
        if (!stock_deduct(kv, &order, &answer, &mine))
            break;
        b->taken += answer.code == STOCK_DEDUCT_TAKEN;
        clock_sleep_ms(1);
    }
    kv_close(&kv);
    return NULL;
}

START_TEST(while_it_sells)
{
    static const char *const totals[] = {"900", "1100", "600", "700", "500", "1002"};
    struct buyer buyers[BUYERS] = {0};
    int64_t taken = 0, held = 0;

    sale_preheat();
    for (int i = 0; i < BUYERS; i++) {
        buyers[i].number = i;
        ck_assert_int_eq(pthread_create(&buyers[i].thread, NULL, buy, &buyers[i]), 0);
    }
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        RESTOCK(totals[i]);
        ck_assert_msg(testing_ctl.code == EXIT_OK || testing_ctl.code == EXIT_PARTIAL, "%s", testing_ctl.err);
        ck_assert_int_eq(caps(), total());
        ck_assert_int_eq(sale_row().total_stock, total());
        if (testing_ctl.code == EXIT_OK)
            ck_assert_int_eq(total(), strtoll(totals[i], NULL, 10));
    }
    atomic_store(&selling, false);
    for (int i = 0; i < BUYERS; i++) {
        pthread_join(buyers[i].thread, NULL);
        taken += buyers[i].taken;
    }
    for (int i = 0; i < SALE_SHARDS; i++)
        held += sale_audit(i).held;
    ck_assert_int_gt(taken, 0);
    ck_assert_int_eq(taken, held);
    ck_assert_int_le(held, total());
    stock_is(1002);
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_test(t, risen);
    tcase_add_test(t, cut);
    tcase_add_test(t, cut_around_what_is_sold);
    tcase_add_test(t, before_preheat);
    tcase_add_test(t, not_restocked);
    tcase_add_test(t, mysql_has_less);
    tcase_add_test(t, rows_that_differ);
    tcase_add_loop_test(t, killed, 0, CRASHES);
    tcase_add_test(t, while_it_sells);
}

int main(void)
{
    Suite *s = suite_create("ctl_restock");
    TCase *t = tcase_create("restock");

    tcase_add_checked_fixture(t, sale_setup, sale_teardown);
    tcase_set_timeout(t, 60);
    add_tests(t);
    suite_add_tcase(s, t);
    return testing_main(s);
}
