/* orderctl activity rebuild cut short at every step, and orders that move while it is at work. */
#include "testing_sale.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "orderd/activity_apply.h"
#include "orderd/clock.h"
#include "orderd/exitcode.h"

static struct error err;

/* ---- killed ---- */

static const struct {
    const char *fault;
    int32_t epoch; /* that the crash leaves */
    bool paused;   /* all shards that are there */
} crashes[] = {
    {"rebuild.after_pause=kill@1", 1, false},  {"rebuild.after_pause=kill@2", 1, true},
    {"rebuild.after_epoch=kill@1", 2, true},   {"rebuild.after_shard=kill@1", 2, true},
    {"rebuild.after_shard=kill@2", 2, true},   {"rebuild.after_shard=kill@4", 2, true},
    {"rebuild.after_adopt=kill@1", 2, true},   {"rebuild.before_resume=kill@1", 2, true},
    {"rebuild.after_resume=kill@1", 2, false}, {"rebuild.after_resume=kill@4", 2, false},
};

#define CRASHES ((int)(sizeof crashes / sizeof *crashes))

static void expect_paused(void)
{
    for (int i = 0; i < SALE_SHARDS; i++) {
        struct stock_audit a = sale_audit(i);

        ck_assert(a.code != STOCK_AUDIT_PRESENT || a.paused == 1);
        ck_assert_int_ne(sale_try("meanwhile", 500, 1, i).code, STOCK_DEDUCT_TAKEN);
    }
}

/* Half of the shards are lost; then a crash; then, another crash at the same point; then it is done. */
START_TEST(killed)
{
    sale_preheat();
    CTL("activity", "start", sale_text);
    sale_sell_all_sorts();
    sale_forget(1);
    sale_forget(3);
    SALE_KILLED(crashes[_i].fault, "rebuild", sale_text);
    ck_assert_int_eq(sale_row().epoch, crashes[_i].epoch);
    if (crashes[_i].paused)
        expect_paused();
    SALE_KILLED(crashes[_i].fault, "rebuild", sale_text);
    CTL("activity", "rebuild", sale_text);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
    sale_agrees(ACTIVITY_RUNNING);
    sale_ledger_agrees();
    sale_deduct("after", 500, 1, 3);
}
END_TEST

/* What was only in a surviving ledger: it is carried over, or its units are on sale again; never both, never neither.
 */
START_TEST(killed_with_a_reservation)
{
    struct stock_audit a;
    int64_t cap = 0, left = 0;

    sale_preheat();
    sale_deduct("underway", 70, 3, 2);
    sale_forget(0);
    SALE_KILLED(crashes[_i].fault, "rebuild", sale_text);
    CTL("activity", "rebuild", sale_text);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
    for (int i = 0; i < SALE_SHARDS; i++) {
        a = sale_audit(i);
        cap += a.cap;
        left += a.left;
    }
    ck_assert_int_eq(cap, SALE_TOTAL);
    a = sale_audit(2);
    ck_assert_int_eq(a.held_orders, a.buyer_marks);
    ck_assert_int_eq(left, SALE_TOTAL - a.held);
    ck_assert(a.held == 3 || a.held == 0);
    /* Its message comes, and is a row; the walk would adopt it. */
    sale_insert("underway", 70, 3, 2);
    CTL("activity", "rebuild", sale_text);
    sale_ledger_agrees();
}
END_TEST

/* ---- while it is at work ---- */

static struct program running;

/* Runs until it stops itself at that point. */
static void run_until(const char *fault)
{
    int status;

    program_faults(fault);
    program_start(&running, (const char *const[]){"orderctl", "-c", testing_ctl_file, "activity", "rebuild", sale_text,
                                                  "--json", NULL});
    program_faults(NULL);
    ck_assert_int_eq(waitpid(running.pid, &status, WUNTRACED), running.pid);
    ck_assert(WIFSTOPPED(status));
}

static void let_go_on(int code)
{
    ck_assert_int_eq(kill(running.pid, SIGCONT), 0);
    program_wait(&running);
    ck_assert_msg(running.code == code, "%d: %s", running.code, running.err);
}

/* A message that nobody could know of becomes a row after the rows were counted, or after they were adopted. */
static const char *const late_points[] = {"rebuild.after_epoch=stop@1", "rebuild.after_adopt=stop@1"};

START_TEST(an_order_that_is_late)
{
    sale_preheat();
    sale_sell_all_sorts();
    sale_flush();
    run_until(late_points[_i]);
    sale_insert("late1", 80, 3, 0);
    sale_insert("late2", 81, 2, 3);
    let_go_on(EXIT_OK);
    ck_assert_ptr_nonnull(strstr(running.out, "\"live_orders\":17,"));
    sale_agrees(ACTIVITY_SCHEDULED);
    sale_ledger_agrees();
}
END_TEST

/* More late units than their shard has room for: said, and mended by the same again. */
START_TEST(too_late_for_its_shard)
{
    sale_preheat();
    sale_flush();
    run_until("rebuild.after_epoch=stop@1");
    for (int i = 0; i < 84; i++) {
        char order_no[16];

        snprintf(order_no, sizeof order_no, "late%d", i);
        sale_insert(order_no, 100 + i, 3, 2); /* 252 units; the shard has 250 */
    }
    let_go_on(EXIT_PARTIAL);
    ck_assert_ptr_nonnull(strstr(running.err, "orderctl: warning: 1 live orders are not in the shards; "));
    sale_agrees(ACTIVITY_SCHEDULED);
    CTL("activity", "rebuild", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_int_ge(sale_audit(2).cap, 252);
    sale_ledger_agrees();
}
END_TEST

/* Closed between the new shard and its adoption, and its return was quicker: it is not adopted, nothing is lost. */
START_TEST(a_return_that_is_quicker)
{
    struct stock_giveback g = {.epoch = 1, .shard = 0, .free_mark = true, .reservations = true};
    struct stock_returned r;

    sale_preheat();
    sale_sell_all_sorts();
    sale_flush();
    run_until("rebuild.after_shard=stop@4");
    g.activity = sale_id;
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='o08' AND status='pending'"), 1);
    testing_ctl_run_sql("UPDATE orders SET status='closed' WHERE order_no='o08';"
                        "UPDATE activity_stock SET available=available+3");
    g.order_no = slice_of("o08");
    ck_assert_ok(stock_return(sale_kv, &g, &r, &err), &err);
    ck_assert_str_eq(r.note, "old_epoch");
    let_go_on(EXIT_OK);
    sale_ledger_agrees();
}
END_TEST

/* And one that is closed after its adoption gives back what it then holds. */
START_TEST(a_return_that_is_later)
{
    struct stock_giveback g = {.epoch = 1, .shard = 0, .free_mark = true, .reservations = true};
    struct stock_returned r;

    sale_preheat();
    sale_sell_all_sorts();
    sale_flush();
    run_until("rebuild.before_resume=stop@1");
    testing_ctl_run_sql("UPDATE orders SET status='closed' WHERE order_no='o08';"
                        "UPDATE activity_stock SET available=available+3");
    g.activity = sale_id;
    g.order_no = slice_of("o08");
    ck_assert_ok(stock_return(sale_kv, &g, &r, &err), &err);
    ck_assert_int_eq(r.back, 3);
    let_go_on(EXIT_OK);
    sale_ledger_agrees();
}
END_TEST

/* Two at once: one of them works, the other is told. */
START_TEST(two_at_once)
{
    sale_preheat();
    sale_sell_all_sorts();
    run_until("rebuild.after_epoch=stop@1");
    CTL("activity", "rebuild", sale_text);
    sale_said(
        EXIT_TEMPORARY,
        "orderctl: activity rebuild: another command changes activity %s just now; wait for it and run this again\n",
        sale_text);
    let_go_on(EXIT_OK);
    ck_assert_int_eq(sale_row().epoch, 2);
    sale_ledger_agrees();
}
END_TEST

/* A frozen one that lost its lock with its connection comes back after another has done all: its epoch is behind. */
START_TEST(one_that_comes_back)
{
    sale_preheat();
    sale_sell_all_sorts();
    run_until("rebuild.after_shard=stop@1");
    testing_ctl_run_sql(
        "KILL %" PRId64,
        testing_ctl_number("SELECT IS_USED_LOCK(CONCAT('orderd.activity.',LEFT(DATABASE(),28),'.%" PRId64 "'))",
                           sale_id));
    CTL("activity", "rebuild", sale_text);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
    ck_assert_int_eq(sale_row().epoch, 3);
    let_go_on(EXIT_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(running.err, "the shard has a later epoch; nothing changed"));
    sale_agrees(ACTIVITY_SCHEDULED);
    sale_ledger_agrees();
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_loop_test(t, killed, 0, CRASHES);
    tcase_add_loop_test(t, killed_with_a_reservation, 1, CRASHES);
    tcase_add_loop_test(t, an_order_that_is_late, 0, sizeof late_points / sizeof *late_points);
    tcase_add_test(t, too_late_for_its_shard);
    tcase_add_test(t, a_return_that_is_quicker);
    tcase_add_test(t, a_return_that_is_later);
    tcase_add_test(t, two_at_once);
    tcase_add_test(t, one_that_comes_back);
}

int main(void)
{
    Suite *s = suite_create("ctl_rebuild_crash");
    TCase *t = tcase_create("crash");

    tcase_add_unchecked_fixture(t, sale_queues_make, sale_queues_delete);
    tcase_add_checked_fixture(t, sale_setup_queued, sale_teardown);
    tcase_set_timeout(t, 60);
    add_tests(t);
    suite_add_tcase(s, t);
    return testing_main(s);
}
