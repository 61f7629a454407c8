/* orderload pay against the real servers and a real orderd: the whole life of orders, and that what is lost is seen. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "testing_load.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static char pay_out[96];

static void setup(void)
{
    scene_setup();
    scene.pay_timeout_ms = 4000; /* half of it is each test's --margin: what is slow must not lose to the time-out */
    snprintf(pay_out, sizeof pay_out, "%s/pay.json", scene.dir);
}

static void teardown(void)
{
    unlink(pay_out);
    scene_teardown();
}

static int64_t count(const char *where, const char *word)
{
    struct error err = {0};
    char sql[512];
    int64_t n = -1;

    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM orders o LEFT JOIN payment p ON p.order_no=o.order_no WHERE o.activity_id=%" PRId64
             " AND %s='%s'",
             scene.activity, where, word);
    ck_assert_ok(db_query_i64(scene.db, slice_of(sql), -1, &n, &err), &err);
    return n;
}

static int64_t payments(const char *outcome)
{
    return count("p.outcome", outcome);
}

static int64_t orders(const char *status)
{
    return count("(p.id IS NULL OR NOT EXISTS(SELECT 1 FROM payment q WHERE q.order_no=p.order_no AND q.id<p.id)) AND "
                 "o.status",
                 status);
}

static void drain(void)
{
    const char *const argv[] = {scene_program("orderctl"), "-c", scene.conf_file, "-q", "dlq", "drain", NULL};
    int status;

    scene_wait_exit(scene_child((char *const *)(uintptr_t)argv, "/dev/null", NULL), &status);
    ck_assert_int_eq(status, 0);
}

/* Pays while it is sold, and somebody takes dead letters out of their queue meanwhile; answers the exit code of pay,
 * whose report is the scene's then. */
static int sell_and_pay(const char *sale, const char *pay)
{
    pid_t pid = scene_orderload_start(pay, pay_out);

    scene_good(scene_orderload(sale));
    if (strstr(pay, "--wrong"))
        testing_wait(payments("amount_mismatch") > 0, 10000, "a payment of a wrong amount");
    drain();
    return scene_orderload_end(pid, pay_out);
}

#define PAY                                                                                                            \
    "pay --share 50 --twice 40 --late 10 --wrong 10 --cancel 15 --margin 2s --settle 700ms --events "                  \
    "--payments PAYMENTS"

START_TEST(the_whole_life_of_orders_is_good)
{
    int64_t found;

    scene_sell(100, 2, true);
    scene_start();
    scene_good(sell_and_pay("sale --buyers 200 --rate 300 --ids IDS", PAY));
    found = scene_fact("found");
    ck_assert_int_ge(found, 100);
    ck_assert_int_eq(scene_fact("orders_paid"), orders("paid"));
    ck_assert_int_eq(scene_fact("orders_closed"), orders("closed"));
    ck_assert_int_eq(orders("paid") + orders("closed"), found);
    ck_assert_int_eq(orders("pending"), 0);
    ck_assert_int_ge(orders("paid"), found / 2);
    ck_assert_int_ge(scene_fact("payments_second"), found / 2 / 5 - 1);
    ck_assert_int_ge(scene_fact("payments_late"), found / 10);
    ck_assert_int_eq(scene_fact("payments_wrong"), payments("amount_mismatch"));
    ck_assert_int_eq(scene_fact("applied"), orders("paid"));
    ck_assert_int_eq(scene_fact("applied") + scene_fact("refund_due") + scene_fact("amount_mismatch"),
                     scene_fact("payments_different"));
    ck_assert_int_ge(payments("refund_due"), scene_fact("payments_late") + scene_fact("payments_second"));
    ck_assert_int_eq(scene_found("events"), 0);
    ck_assert_int_ge(scene_fact("events"), 4);
    ck_assert_int_le(scene_fact("events_created"), found); /* it listens since some time after the sale began */
    ck_assert_int_eq(scene_fact("events_paid"), orders("paid"));
    ck_assert_int_eq(scene_fact("events_closed"), orders("closed"));
    ck_assert_int_eq(scene_fact("events_rejected"), 0);
    ck_assert_int_eq(scene_fact("events_refund_due"), payments("refund_due") + payments("amount_mismatch"));
    scene_good(scene_orderload("verify --ids IDS --payments PAYMENTS --wait 0"));
    ck_assert_int_eq(scene_fact("live_units"), orders("paid"));
    ck_assert_int_eq(scene_fact("rows"), found);
    ck_assert_int_eq(scene_fact("ended"), orders("closed"));
    ck_assert_int_eq(scene_fact("left"), 100 - orders("paid"));
    /* What came back is sold to other buyers, and paid by others. */
    scene_good(sell_and_pay("sale --buyers 100 --users-from 1001 --ids IDS",
                            "pay --share 100 --margin 2s --settle 700ms --payments PAYMENTS"));
    scene_good(scene_orderload("verify --ids IDS --payments PAYMENTS --wait 0"));
    ck_assert_int_eq(orders("paid"), 100);
    ck_assert_int_eq(scene_fact("left"), 0);
}
END_TEST

/* ---- planted faults ---- */

/* %P: an order that is paid, by its payment %P.1; %C: one that is closed and was never paid. */
static const struct {
    const char *sql, *undo, *broken, *names;
} faults[] = {
    {"DELETE FROM payment WHERE payment_ref='%P.1'",
     "INSERT INTO payment(payment_ref,order_no,amount,paid_at,outcome,reason) "
     "VALUES('%P.1','%P',9900,NOW(3),'applied','paid')",
     "decided", "%P: a payment that was sent has no row"},
    {"INSERT INTO payment(payment_ref,order_no,amount,paid_at,outcome,reason) "
     "VALUES('foreign_%C','%C',9900,NOW(3),'refund_due','refund_closed')",
     "DELETE FROM payment WHERE payment_ref='foreign_%C'", "decided", "%C: has a payment that was not sent"},
    {"UPDATE payment SET amount=9899 WHERE payment_ref='%P.1'",
     "UPDATE payment SET amount=9900 WHERE payment_ref='%P.1'", "decided", "%P: a payment's row has another amount"},
    {"UPDATE payment SET outcome='refund_due' WHERE payment_ref='%P.1'",
     "UPDATE payment SET outcome='applied' WHERE payment_ref='%P.1'", "refunds", "%P: its payments do not fit"},
    {"UPDATE orders SET status='closed' WHERE order_no='%P'", "UPDATE orders SET status='paid' WHERE order_no='%P'",
     "db_stock unsettled paid", "%P of user"},
    {"UPDATE orders SET status='pending' WHERE order_no='%C'", "UPDATE orders SET status='closed' WHERE order_no='%C'",
     "db_stock unheld across released", "available"},
    {"UPDATE orders SET status='rejected' WHERE order_no='%C'", "UPDATE orders SET status='closed' WHERE order_no='%C'",
     "rejected released", "%C"},
};

struct victims {
    char paid[40], closed[40];
};

static bool take_number(void *arg, const struct slice *c, unsigned columns)
{
    ck_assert_uint_eq(columns, 1);
    snprintf(arg, 40, "%.*s", (int)c[0].len, c[0].ptr);
    return true;
}

static void choose(char out[40], const char *where)
{
    struct error err = {0};
    char sql[512];

    snprintf(sql, sizeof sql, "SELECT order_no FROM orders o WHERE activity_id=%" PRId64 " AND %s ORDER BY id LIMIT 1",
             scene.activity, where);
    ck_assert_ok(db_query(scene.db, slice_of(sql), take_number, out, &err), &err);
    ck_assert_msg(out[0] != '\0', "no order %s", where);
}

static void expand(char *out, size_t size, const char *text, const struct victims *v)
{
    size_t len = 0;

    out[0] = '\0';
    for (; *text && len < size; text++) {
        if (*text == '%')
            len += (size_t)snprintf(out + len, size - len, "%s", *++text == 'P' ? v->paid : v->closed);
        else
            len += (size_t)snprintf(out + len, size - len, "%c", *text);
    }
    ck_assert_uint_lt(len, size);
}

static void check_fault(int i, const struct victims *v)
{
    char text[512];
    const char *last = strrchr(faults[i].broken, ' ');
    const char *check = last ? last + 1 : faults[i].broken;

    expand(text, sizeof text, faults[i].sql, v);
    scene_sql("%s", text);
    ck_assert_int_eq(scene_orderload("verify --ids IDS --payments PAYMENTS --wait 0 --settle 0"), 1);
    scene_broken(faults[i].broken);
    expand(text, sizeof text, faults[i].names, v);
    if (!last)
        ck_assert_msg(scene_names(check, text), "%s does not name %s", check, text);
    expand(text, sizeof text, faults[i].undo, v);
    scene_sql("%s", text);
}

START_TEST(a_planted_fault_is_named)
{
    struct victims v = {.paid = ""};

    scene_sell(30, 1, true);
    scene_start();
    scene_good(
        sell_and_pay("sale --buyers 30 --ids IDS", "pay --share 60 --margin 2s --settle 300ms --payments PAYMENTS"));
    scene_stop();
    choose(v.paid, "status='paid'");
    choose(v.closed, "status='closed'");
    for (int i = 0; i < COUNT(faults); i++)
        check_fault(i, &v);
    scene_good(scene_orderload("verify --ids IDS --payments PAYMENTS --wait 0 --settle 0"));
}
END_TEST

static void conf_add(const char *text)
{
    FILE *f = fopen(scene.conf_file, "a");

    ck_assert(f != NULL);
    fprintf(f, "%s\n", text);
    fclose(f);
}

START_TEST(an_event_that_is_not_told_is_missed)
{
    scene.pay_timeout_ms = 2000; /* of ten orders */
    conf_add("events: { enabled = false; };");
    scene_sell(10, 1, true);
    scene_start();
    ck_assert_int_eq(sell_and_pay("sale --buyers 10 --ids IDS",
                                  "pay --share 50 --margin 500ms --settle 300ms --events --payments PAYMENTS"),
                     1);
    scene_broken("events");
    ck_assert_int_eq(scene_found("events"), 10);
}
END_TEST

START_TEST(a_payment_nobody_took_is_missed)
{
    scene.pay_timeout_ms = 2000; /* of ten orders */
    conf_add("payment: { lanes = 0; };");
    scene_sell(10, 1, true);
    scene_start();
    ck_assert_int_eq(
        sell_and_pay("sale --buyers 10 --ids IDS", "pay --share 50 --margin 500ms --settle 300ms --payments PAYMENTS"),
        1);
    scene_broken("paid");
    ck_assert_int_eq(scene_found("paid"), 5);
    testing_rabbitmqctl("purge_queue order.paid");
}
END_TEST

/* Whatever of its last messages were sent: nothing is called wrong that may be right. */
START_TEST(a_service_that_is_killed_accuses_nobody)
{
    pid_t pid;
    int status;

    scene_sell(100, 1, true);
    scene_start();
    pid = scene_orderload_start(PAY, pay_out);
    scene_good(scene_orderload("sale --buyers 100 --ids IDS"));
    testing_wait(orders("paid") > 0, 5000, "a paid order");
    kill(pid, SIGKILL);
    scene_wait_exit(pid, &status);
    testing_wait(orders("pending") == 0, 10000, "all orders paid or closed");
    scene_good(scene_orderload("verify --ids IDS --payments PAYMENTS"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load_pay");
    TCase *t = tcase_create("load_pay");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_whole_life_of_orders_is_good);
    tcase_add_test(t, a_planted_fault_is_named);
    tcase_add_test(t, an_event_that_is_not_told_is_missed);
    tcase_add_test(t, a_payment_nobody_took_is_missed);
    tcase_add_test(t, a_service_that_is_killed_accuses_nobody);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
