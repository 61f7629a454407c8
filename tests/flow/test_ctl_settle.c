/* orderctl activity settle against real servers: only when nothing is open, once for good, and nothing of it stays in
 * Redis. */
#include "testing_sale.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "orderd/exitcode.h"

static struct error err;

#define SETTLE(...) CTL("activity", "settle", sale_text, __VA_ARGS__)

/* Long over, but for what each test leaves open. */
static void over(void)
{
    CTL("activity", "end", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    testing_ctl_run_sql(
        "UPDATE activity SET starts_at=starts_at-INTERVAL 1 HOUR,ends_at=ends_at-INTERVAL 30 MINUTE;"
        "UPDATE orders SET paid_at=UTC_TIMESTAMP(6) WHERE status='paid';"
        "UPDATE orders SET closed_at=UTC_TIMESTAMP(6),reason='unpaid',units_returned=quantity WHERE "
        "status='closed';"
        "UPDATE orders SET closed_at=UTC_TIMESTAMP(6),reason='constraint',units_returned=quantity WHERE "
        "status='rejected'");
}

static void sell(void)
{
    sale_preheat();
    CTL("activity", "start", sale_text);
    sale_sell("a", 1, 3, 0, ORDER_PAID);
    sale_sell("b", 2, 1, 1, ORDER_CLOSED);
    sale_sell("c", 3, 2, 2, ORDER_REJECTED);
    sale_sell("d", 4, 2, 0, ORDER_PAID);
}

/* Keys in Redis whose names begin as the activity's do. */
static size_t keys(void)
{
    char pattern[48];
    struct kv_reply *reply;
    size_t n;

    snprintf(pattern, sizeof pattern, "sk:{%s:*", sale_text);
    reply = testing_redis_do(sale_kv, "KEYS", pattern, NULL);
    n = kv_reply_count(reply);
    kv_reply_free(&reply);
    return n;
}

static void is_settled(void)
{
    ck_assert_int_eq(sale_row().state, ACTIVITY_SETTLED);
    ck_assert_int_eq(testing_ctl_number("SELECT takes_orders FROM activity_stock"), 0);
    ck_assert_uint_eq(keys(), 0);
}

static void is_open(void)
{
    ck_assert_int_eq(sale_row().state, ACTIVITY_ENDED);
    ck_assert_int_eq(testing_ctl_number("SELECT takes_orders FROM activity_stock"), 1);
    ck_assert_uint_gt(keys(), 0);
}

START_TEST(settled)
{
    struct testing_listener *listener;
    char key[STOCK_STATE_KEY_MAX];
    const char *heard;

    sell();
    over();
    testing_redis_run(sale_kv, "SET", "sk:{1:0}:stock", "5", NULL); /* of somebody else */
    SETTLE("--dry-run", "--json");
    sale_said(EXIT_OK, "orderctl: it could be settled; nothing was changed\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"would_be_settled\","));
    is_open();
    stock_state_key(key, sale_id);
    listener = testing_listener_open(key);
    SETTLE("--json");
    sale_said(EXIT_OK, "orderctl: activity %s was settled; shards removed: 4\n", sale_text);
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "\"shards_removed\":4,\"further_keys_removed\":0,\"shard_refused\":null,"));
    is_settled();
    heard = testing_listener_next(listener, 20000);
    ck_assert_ptr_nonnull(heard);
    ck_assert_ptr_nonnull(strstr(heard, "\"state\":\"settled\""));
    ck_assert_ptr_null(testing_listener_next(listener, 50));
    testing_listener_close(&listener);
    SETTLE("--json");
    sale_said(EXIT_OK, "orderctl: activity %s is settled already; shards removed: 0\n", sale_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"settled_before\","));
    CTL("activity", "extend", sale_text, "--ends", "+1h");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    testing_redis_run(sale_kv, "DEL", "sk:{1:0}:stock", NULL);
}
END_TEST

static void refused(const char *fmt, ...) ORDERD_PRINTF(1, 2);

static void refused(const char *fmt, ...)
{
    char sentence[500];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    SETTLE("--dry-run");
    sale_said(EXIT_BAD_DATA, "orderctl: activity settle: %s\n", sentence);
    SETTLE("-q");
    sale_said(EXIT_BAD_DATA, "orderctl: activity settle: %s\n", sentence);
    ck_assert_int_eq(testing_ctl_number("SELECT takes_orders FROM activity_stock"), 1);
    ck_assert_uint_gt(keys(), 0);
}

START_TEST(too_early)
{
    sell();
    refused("activity %s is running; only one that has ended can be settled", sale_text);
    CTL("activity", "end", sale_text);
    SETTLE("-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, " may be paid until "));
    is_open();
}
END_TEST

START_TEST(something_is_open)
{
    sell();
    sale_deduct("underway", 9, 1, 3); /* its message may come */
    sale_sell("p", 10, 1, 3, ORDER_PENDING);
    over();
    refused("1 orders of activity %s are pending; they are paid, or closed when they are due", sale_text);
    testing_ctl_run_sql("UPDATE orders SET status='paid',paid_at=UTC_TIMESTAMP(6) WHERE order_no='p'");
    testing_ctl_run_sql("INSERT INTO local_message(message_key,topic,payload,state) VALUES"
                        "('stock.settle:p','stock.settle','{\"v\":1,\"orders\":[{\"order_no\":\"p\",\"activity_id\":%s,"
                        "\"shard\":3}]}','pending'),"
                        "('order.create:x','order.create','{\"order_no\": \"x\", \"activity_id\": %s}','quarantined'),"
                        "('order.create:y','order.create','{\"activity_id\":%s1,\"order_no\":\"y\"}','pending'),"
                        "('event.order.paid:p','event.order.paid','{\"activity_id\":%s}','pending')",
                        sale_text, sale_text, sale_text, sale_text);
    refused("local messages of activity %s wait: 1 to be sent, 1 quarantined; see `orderctl outbox list`", sale_text);
    testing_ctl_run_sql("UPDATE local_message SET state='sent'");
    refused("the numbers of activity %s do not add up: 1 in_flight, 1 effect_waiting; see `orderctl reconcile "
            "--activity %s`",
            sale_text, sale_text);
}
END_TEST

START_TEST(does_not_add_up)
{
    sell();
    over();
    testing_ctl_run_sql("UPDATE activity_stock SET available=available-1");
    SETTLE("-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, " do not add up: 1 db_unbalanced"));
    is_open();
    testing_ctl_run_sql("UPDATE activity_stock SET available=available+1");
    sale_forget(2); /* before its time */
    SETTLE("-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "1 shard_missing"));
    is_open();
    CTL("activity", "rebuild", sale_text, "--force", "--drain", "0s");
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
    SETTLE("-q");
    sale_said(EXIT_OK, "%s", "");
    is_settled();
}
END_TEST

/* Its keys went by themselves a while ago. */
START_TEST(expired)
{
    sell();
    over();
    testing_ctl_run_sql("UPDATE activity SET starts_at='2026-01-01',ends_at='2026-01-02'");
    sale_flush();
    SETTLE("--json");
    sale_said(EXIT_OK, "orderctl: activity %s was settled; shards removed: 0\n", sale_text);
    is_settled();
}
END_TEST

START_TEST(never_preheated)
{
    sale_approve();
    CTL("activity", "end", sale_text);
    testing_ctl_run_sql("UPDATE activity SET starts_at=starts_at-INTERVAL 2 HOUR,ends_at=ends_at-INTERVAL 1 HOUR");
    SETTLE("-q");
    sale_said(EXIT_OK, "%s", "");
    is_settled();
}
END_TEST

/* ---- crashes ---- */

static const char *const points[] = {"settle.after_database=kill@1", "settle.after_shard=kill@1",
                                     "settle.after_shard=kill@4"};

START_TEST(killed)
{
    sell();
    over();
    SALE_KILLED("settle.before_database=kill@1", "settle", sale_text);
    is_open();
    SALE_KILLED(points[_i], "settle", sale_text);
    ck_assert_int_eq(sale_row().state, ACTIVITY_SETTLED);
    ck_assert_int_eq(testing_ctl_number("SELECT takes_orders FROM activity_stock"), 0);
    SETTLE("-q");
    sale_said(EXIT_OK, "%s", "");
    is_settled();
}
END_TEST

/* A shard that may not be removed stays, and the others go. */
START_TEST(a_shard_that_stays)
{
    struct stock_keys shard;

    sell();
    over();
    SALE_KILLED("settle.after_database=kill@1", "settle", sale_text);
    stock_keys_of(&shard, sale_id, 3);
    testing_redis_run(sale_kv, "HSET", shard.text[STOCK_KEY_META], "epoch", "9", NULL);
    SETTLE("-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.err, "orderctl: warning: shard 3 was not removed: the shard has another epoch"));
    ck_assert_int_eq(sale_audit(2).code, STOCK_AUDIT_NO_SHARD);
    ck_assert_int_eq(sale_audit(3).code, STOCK_AUDIT_PRESENT);
}
END_TEST

/* ---- an order that slips in ---- */

static bool insert(const char *order_no)
{
    struct order order = {.activity_id = sale_id,
                          .user_id = 50,
                          .sku_id = 77,
                          .quantity = 1,
                          .amount = SALE_PRICE,
                          .epoch = 1,
                          .reserved_at = INT64_C(1764400000123)};
    const struct order *list = &order;
    int64_t timeout = 900000;
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    snprintf(order.order_no, sizeof order.order_no, "%s", order_no);
    order_store_add_create(&sql, &list, &timeout, 1);
    order_store_add_stock(&sql, &list, 1);
    ok = db_run(testing_ctl_db, (struct slice){sql.data, sql.len}, &err);
    if (!ok)
        db_rollback(testing_ctl_db);
    strbuf_release(&sql);
    return ok;
}

START_TEST(an_order_that_slips_in)
{
    static struct program run;
    int status;

    sell();
    over();
    program_faults("settle.before_database=stop@1");
    program_start(&run,
                  (const char *const[]){"orderctl", "-c", testing_ctl_file, "activity", "settle", sale_text, NULL});
    program_faults(NULL);
    ck_assert_int_eq(waitpid(run.pid, &status, WUNTRACED), run.pid);
    ck_assert(WIFSTOPPED(status));
    ck_assert_ok(insert("slips"), &err);
    ck_assert_int_eq(kill(run.pid, SIGCONT), 0);
    program_wait(&run);
    ck_assert_int_eq(run.code, EXIT_TEMPORARY);
    ck_assert_ptr_nonnull(strstr(run.err, "got an order, or was changed, while its numbers were compared"));
    is_open();
    refused("1 orders of activity %s are pending; they are paid, or closed when they are due", sale_text);
    testing_ctl_run_sql("DELETE FROM orders WHERE order_no='slips';UPDATE activity_stock SET available=available+1");
    SETTLE("-q");
    is_settled();
    ck_assert(!insert("too_late"));
    ck_assert_int_eq(err.code, ERROR_DB_CHECK);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='too_late'"), 0);
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_test(t, settled);
    tcase_add_test(t, too_early);
    tcase_add_test(t, something_is_open);
    tcase_add_test(t, does_not_add_up);
    tcase_add_test(t, expired);
    tcase_add_test(t, never_preheated);
    tcase_add_loop_test(t, killed, 0, sizeof points / sizeof *points);
    tcase_add_test(t, a_shard_that_stays);
    tcase_add_test(t, an_order_that_slips_in);
}

int main(void)
{
    Suite *s = suite_create("ctl_settle");
    TCase *t = tcase_create("settle");

    tcase_add_unchecked_fixture(t, sale_queues_make, sale_queues_delete);
    tcase_add_checked_fixture(t, sale_setup_queued, sale_teardown);
    tcase_set_timeout(t, 60);
    add_tests(t);
    suite_add_tcase(s, t);
    return testing_main(s);
}
