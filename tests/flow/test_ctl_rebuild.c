/* orderctl activity rebuild against real servers: what Redis lost comes back from MySQL, order by order, and nothing
 * that is late can undo it. */
#include "testing_sale.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/broker.h"
#include "orderd/clock.h"
#include "orderd/exitcode.h"
#include "testing_fact.h"

static struct error err;
static void rebuild(void)
{
    CTL("activity", "rebuild", sale_text, "--json");
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
}

/* Every unit that is left can be sold, and not one more. sold: of those that MySQL has not in orders. */
static void sells_out(int from_user, int64_t sold)
{
    int64_t available = testing_ctl_number("SELECT available FROM activity_stock");
    int user = from_user;

    for (int shard = 0; shard < SALE_SHARDS; shard++) {
        for (;; user++) {
            char order_no[16];

            snprintf(order_no, sizeof order_no, "x%d", user);
            if (sale_try(order_no, user, 1, shard).code != STOCK_DEDUCT_TAKEN)
                break;
            sold++;
        }
        ck_assert_int_eq(sale_try("none", 999999, 1, shard).code, STOCK_DEDUCT_SHORT);
    }
    ck_assert_int_eq(sold, available);
}

START_TEST(flushed)
{
    struct stock_deducted d;

    sale_preheat();
    CTL("activity", "start", sale_text);
    sale_sell_all_sorts();
    sale_ledger_agrees();
    sale_flush();
    ck_assert_int_eq(sale_try("late", 100, 1, 0).code, STOCK_DEDUCT_NO_SHARD);

    CTL("activity", "rebuild", sale_text);
    sale_said(
        EXIT_OK,
        "orderctl: activity %s was rebuilt with epoch 2: 15 live orders and 0 reservations without an order are in "
        "its shards\n",
        sale_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "SHARD  CAP  LIVE  KEPT  WAS\n"
                                                  "    0  251"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  missing\n"));
    sale_agrees(ACTIVITY_RUNNING);
    sale_ledger_agrees();
    ck_assert_int_eq(sale_row().epoch, 2);
    ck_assert_str_eq(sale_announced("epoch"), "2");

    /* A gate that has not heard of it, a buyer at the limit, and one whose order was closed. */
    ck_assert_ok(
        stock_deduct(sale_kv, &(struct stock_order){sale_id, 0, slice_of("old"), 101, 1, SALE_PRICE, 1}, &d, &err),
        &err);
    ck_assert_str_eq(d.note, "epoch");
    ck_assert_int_eq(sale_try("more", 5, 1, 1).code, STOCK_DEDUCT_OVER_LIMIT);
    ck_assert_int_eq(sale_try("again", 7, 1, 3).code, STOCK_DEDUCT_TAKEN);
    sells_out(1000, 1);
}
END_TEST

/* Returns and settlements of the older epoch find their orders. */
START_TEST(effects_of_the_older_epoch)
{
    struct stock_giveback g = {.activity = sale_id, .epoch = 1, .free_mark = true, .reservations = true};
    struct stock_returned r;
    struct stock_settled s;

    sale_preheat();
    sale_sell("live", 1, 2, 0, ORDER_PENDING);
    sale_sell("paid", 2, 2, 0, ORDER_PENDING);
    sale_sell("closed", 3, 2, 0, ORDER_PENDING);
    /* Decided in MySQL; Redis was lost before it knew. */
    testing_ctl_run_sql("UPDATE orders SET status='closed' WHERE order_no='closed';"
                        "UPDATE activity_stock SET available=available+2");
    sale_flush();
    rebuild();
    sale_ledger_agrees();
    g.order_no = slice_of("closed");
    ck_assert_ok(stock_return(sale_kv, &g, &r, &err), &err);
    ck_assert_int_eq(r.code, STOCK_RETURN_ALREADY);
    ck_assert_str_eq(r.note, "old_epoch");
    ck_assert_ok(stock_settle(sale_kv, &(struct stock_paid){sale_id, 0, slice_of("paid")}, &s, &err), &err);
    ck_assert_int_eq(s.code, STOCK_SETTLE_SETTLED);
    g.order_no = slice_of("live");
    ck_assert_ok(stock_return(sale_kv, &g, &r, &err), &err);
    ck_assert_int_eq(r.code, STOCK_RETURN_GIVEN_BACK);
    ck_assert_int_eq(r.back, 2);
    testing_ctl_run_sql("UPDATE orders SET status='paid' WHERE order_no='paid';"
                        "UPDATE orders SET status='closed' WHERE order_no='live';"
                        "UPDATE activity_stock SET available=available+2");
    sale_ledger_agrees();
}
END_TEST

/* Half the keys are gone. What the surviving shards have reserved without a row stays reserved; its message comes. */
START_TEST(half_of_it)
{
    struct stock_deducted kept;

    sale_preheat();
    sale_sell_all_sorts();
    kept = sale_deduct("underway", 70, 3, 2);
    sale_deduct("lost", 71, 3, 1);
    sale_forget(1);
    sale_forget(3);
    CTL("activity", "rebuild", sale_text, "--dry-run");
    sale_said(EXIT_OK,
              "orderctl: 15 live orders would go into 4 new shards, and 1 reservations without an order; nothing was "
              "changed\n");
    ck_assert_int_eq(sale_row().epoch, 1);
    ck_assert_int_eq(sale_audit(0).paused, 0);
    ck_assert_int_eq(sale_audit(1).code, STOCK_AUDIT_NO_SHARD);

    CTL("activity", "rebuild", sale_text, "--json");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"kept_reservations\":1,\"unreadable_reservations\":0,"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"shard\":2,\"was\":\"whole\","));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"shard\":3,\"was\":\"missing\","));
    sale_agrees(ACTIVITY_SCHEDULED);
    /* The web tier that repeats its deduct, with the new epoch, is told the same. */
    ck_assert_int_eq(sale_try("underway", 70, 3, 2).code, STOCK_DEDUCT_HELD);
    ck_assert_int_eq(sale_try("underway", 70, 3, 2).reserved_at, kept.reserved_at);
    sale_insert("underway", 70, 3, 2);
    sale_ledger_agrees();
}
END_TEST

static const struct {
    const char *command, *key, *arg;
    const char *was;
} damages[] = {
    {"DEL", "stock", NULL, "damaged"}, {"DEL", "meta", NULL, "damaged"},    {"SET", "held", "x", "damaged"},
    {"SET", "stock", "x", "damaged"},  {"HDEL", "meta", "held", "damaged"}, {"SET", "meta", "x", "damaged"},
    {"DEL", "held", NULL, "whole"},    {"DEL", "buyers", NULL, "whole"},
};

START_TEST(damaged)
{
    char key[64], expected[64];

    sale_preheat();
    sale_sell_all_sorts();
    snprintf(key, sizeof key, "sk:{%s:2}:%s", sale_text, damages[_i].key);
    testing_redis_run(sale_kv, damages[_i].command, key, damages[_i].arg, NULL);
    rebuild();
    snprintf(expected, sizeof expected, "\"shard\":2,\"was\":\"%s\"", damages[_i].was);
    ck_assert_msg(strstr(testing_ctl.out, expected) != NULL, "%s", testing_ctl.out);
    sale_agrees(ACTIVITY_SCHEDULED);
    sale_ledger_agrees();
}
END_TEST

/* A replica that never saw the rebuild is promoted: an old shard, on sale. */
START_TEST(thrown_back)
{
    struct stock_preheated answer;
    struct stock_plan plan;

    sale_preheat();
    sale_sell_all_sorts();
    rebuild();
    plan = sale_plan(1);
    plan.epoch = 1;
    sale_forget(1);
    ck_assert_ok(stock_preheat(sale_kv, &plan, &answer, &err), &err);
    rebuild();
    ck_assert_int_eq(sale_row().epoch, 3);
    sale_agrees(ACTIVITY_SCHEDULED);
    sale_ledger_agrees();

    /* A database that was restored from before: its epoch must not come again. */
    testing_ctl_run_sql("UPDATE activity SET epoch=1");
    rebuild();
    ck_assert_int_eq(sale_row().epoch, 4);
    sale_agrees(ACTIVITY_SCHEDULED);
    sale_ledger_agrees();
}
END_TEST

/* The mark of a buyer who did not pay stands, where the activity says so. */
START_TEST(who_may_not_buy_again)
{
    SALE_CREATE(SALE_USUAL, "--no-rebuy");
    CTL("activity", "approve", sale_text);
    CTL("activity", "preheat", sale_text);
    sale_sell("a", 1, 3, 0, ORDER_CLOSED);
    sale_sell("b", 2, 3, 0, ORDER_REJECTED); /* never was live */
    ck_assert_int_eq(sale_try("c", 1, 1, 0).code, STOCK_DEDUCT_OVER_LIMIT);
    sale_flush();
    rebuild();
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"live_orders\":0,\"closed_orders\":1,"));
    ck_assert_int_eq(sale_try("c", 1, 1, 0).code, STOCK_DEDUCT_OVER_LIMIT);
    ck_assert_int_eq(sale_try("d", 2, 1, 0).code, STOCK_DEDUCT_TAKEN);
}
END_TEST

/* More orders than a page has, most of them in one shard: its cap has room for them. */
START_TEST(many)
{
    sale_preheat();
    testing_ctl_run_sql(
        "INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,"
        "status,reserved_at) WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i+1 FROM n WHERE i<930) "
        "SELECT CONCAT('m',i),%" PRId64 ",1+i DIV 3,i MOD 3,77,1,9900,IF(i<700,3,0),1,"
        "IF(i MOD 2,'pending','paid'),'2026-01-01' FROM n;"
        "UPDATE activity_stock SET available=available-930",
        sale_id);
    sale_flush();
    rebuild();
    sale_agrees(ACTIVITY_SCHEDULED);
    sale_ledger_agrees();
    ck_assert_int_ge(sale_audit(3).cap, 699);
    ck_assert_int_eq(sale_try("more", 5, 1, 3).code, STOCK_DEDUCT_OVER_LIMIT);
}
END_TEST

/* After the end its returns still need the shards: they live for as long as those of a sale that ends now. */
START_TEST(after_the_end)
{
    sale_preheat();
    sale_sell_all_sorts();
    CTL("activity", "end", sale_text);
    sale_flush();
    testing_ctl_run_sql("UPDATE activity SET starts_at='2026-01-01',ends_at='2026-01-02'");
    rebuild();
    sale_ledger_agrees();
    ck_assert_int_gt(sale_audit(0).expire_at, sale_audit(0).now + 7200000);
    ck_assert_str_eq(sale_try("late", 100, 1, 0).note, "ended");
    ck_assert_str_eq(sale_announced("state"), "ended");
}
END_TEST

START_TEST(not_rebuilt)
{
    sale_create();
    CTL("activity", "rebuild", sale_text);
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity rebuild: activity %s is in review; only one that was preheated can be rebuilt\n",
              sale_text);
    CTL("activity", "approve", sale_text);
    CTL("activity", "rebuild", sale_text);
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity rebuild: activity %s was not preheated; `orderctl activity preheat %s` makes its shards, "
        "and completes a preheat that was cut short\n",
        sale_text, sale_text);
    CTL("activity", "preheat", sale_text);
    sale_sell("a", 1, 3, 0, ORDER_PENDING);
    testing_ctl_run_sql("UPDATE orders SET quantity=2000");
    CTL("activity", "rebuild", sale_text);
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity rebuild: live orders and reservations of activity %s have 2000 units, more than its 1002; "
        "see `orderctl reconcile --activity %s`\n",
        sale_text, sale_text);
    ck_assert_int_eq(sale_audit(0).paused, 0); /* nothing was begun */
    testing_ctl_run_sql("UPDATE activity SET state='settled'");
    CTL("activity", "rebuild", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    ck_assert_int_eq(sale_row().epoch, 1);
}
END_TEST

/* ---- what is on its way ---- */

static void publish(void)
{
    struct conf *conf = testing_conf(NULL);
    struct broker *broker = broker_open(conf, "test", &err);
    enum broker_outcome outcome;
    struct broker_publication p = {
        .exchange = "", .routing_key = SALE_QUEUE, .body = slice_of("{}"), .message_id = slice_of("m")};

    ck_assert_ok(broker != NULL, &err);
    ck_assert_ok(broker_confirm_select(broker, 10, &err), &err);
    ck_assert_ok(broker_publish(broker, &p, &outcome, &err), &err);
    ck_assert_ok(broker_wait_confirms(broker, 5000, &err), &err);
    ck_assert_int_eq(outcome, BROKER_OUTCOME_CONFIRMED);
    broker_close(&broker, true);
    conf_destroy(&conf);
}

static void waits_in_vain(int64_t queued, int64_t local)
{
    CTL("activity", "rebuild", sale_text, "--drain", "300ms");
    sale_said(EXIT_TEMPORARY,
              "orderctl: activity rebuild: orders may still be on their way to becoming rows (%" PRId64
              " messages in the queues, %" PRId64
              " in the local message table); the sale stays paused; run this again when "
              "they are done, or with --force\n",
              queued, local);
    for (int i = 0; i < SALE_SHARDS; i++)
        ck_assert_int_eq(sale_audit(i).paused, 1);
    ck_assert_int_eq(sale_row().epoch, 1);
}

START_TEST(messages_on_their_way)
{
    sale_preheat();
    publish();
    waits_in_vain(1, 0);
    sale_queue_empty();
    testing_ctl_run_sql(
        "INSERT INTO local_message(message_key,topic,payload) VALUES('order.create:a','order.create','{}'),"
        "('order.rejected:b','order.rejected','{}')");
    waits_in_vain(0, 1);
    testing_ctl_run_sql("UPDATE local_message SET state='sent'");
    rebuild();
    sale_agrees(ACTIVITY_SCHEDULED);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"drained\":true"));
}
END_TEST

START_TEST(forced)
{
    sale_preheat();
    publish();
    CTL("activity", "rebuild", sale_text, "--drain", "0s", "--force", "-q");
    sale_said(
        EXIT_OK,
        "orderctl: warning: orders may have been on their way still; the walk adopts those that become rows now\n");
    sale_agrees(ACTIVITY_SCHEDULED);
    sale_configure("1");
    CTL("activity", "rebuild", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_UNAVAILABLE);
    ck_assert_int_eq(sale_audit(0).paused, 0);
    CTL("activity", "rebuild", sale_text, "--force");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: warning: whether orders are on their way is not known: "));
    sale_agrees(ACTIVITY_SCHEDULED);
    ck_assert_int_eq(sale_row().epoch, 3);
    sale_queue_empty();
}
END_TEST

/* Another sale keeps the queue busy for ever; but what lanes take from it now was reserved after the pause. */
START_TEST(a_queue_that_is_never_empty)
{
    sale_preheat();
    sale_sell("later", 1, 1, 0, ORDER_PENDING);
    publish();
    waits_in_vain(1, 0);
    testing_ctl_run_sql("UPDATE orders SET reserved_at=UTC_TIMESTAMP(3)+INTERVAL 1 HOUR");
    rebuild();
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"drained\":true,\"messages_waiting\":1,"));
    sale_queue_empty();
}
END_TEST

/* A row that no shard can take in does not keep the whole sale from coming back. */
START_TEST(a_row_that_does_not_fit)
{
    sale_preheat();
    sale_sell("good", 1, 2, 0, ORDER_PENDING);
    sale_sell("forged", 2, 2, 0, ORDER_PENDING);
    testing_ctl_run_sql("UPDATE orders SET epoch=900000 WHERE order_no='forged'");
    sale_flush();
    CTL("activity", "rebuild", sale_text, "-q");
    sale_said(EXIT_PARTIAL,
              "orderctl: warning: 1 live orders are not in the shards; `orderctl reconcile --activity %s` names them\n",
              sale_text);
    sale_agrees(ACTIVITY_SCHEDULED);
    ck_assert_int_eq(sale_audit(0).held, 2);
    CTL("reconcile", "--activity", sale_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "forged"));
}
END_TEST

/* How many entries of indexes the server has read so far. */
static int64_t entries_read(void)
{
    return testing_ctl_number("SELECT SUM(VARIABLE_VALUE) FROM %s.global_status WHERE VARIABLE_NAME IN("
                              "'HANDLER_READ_NEXT','HANDLER_READ_RND','HANDLER_READ_RND_NEXT','HANDLER_ICP_ATTEMPTS')",
                              testing_status_schema());
}

/* So many unpaid orders are usual. What they cost grows with their number, not with its square. */
START_TEST(many_that_were_closed)
{
    enum { ORDERS = 30000, PAGE = 500 };
    int64_t before;

    SALE_CREATE(SALE_USUAL, "--no-rebuy");
    CTL("activity", "approve", sale_text);
    CTL("activity", "preheat", sale_text);
    testing_ctl_run_sql(
        "INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,"
        "status,reserved_at,closed_at) SELECT CONCAT('c',seq),%" PRId64
        ",1+seq DIV 3,seq MOD 3,77,1,9900,seq MOD 4,1,IF(seq MOD 1000,'closed','rejected'),'2026-01-01',"
        "'2026-01-02' FROM " TESTING_NUMBERS " WHERE seq<=%d",
        sale_id, ORDERS - 1);
    /* Those of another sale lie between them. */
    testing_ctl_run_sql(
        "UPDATE orders SET id=id+1000000 WHERE id>%d;"
        "INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,"
        "status,reserved_at) SELECT CONCAT('x',seq),7,seq,0,77,1,9900,0,1,'pending','2026-01-01' FROM " TESTING_NUMBERS
        " WHERE seq BETWEEN 1 AND 100",
        ORDERS / 2);
    sale_flush();
    before = entries_read();
    rebuild();
    ck_assert_int_lt(entries_read() - before, 10 * ORDERS);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"closed_orders\":29970,"));
    for (int shard = 0; shard < SALE_SHARDS; shard++)
        ck_assert_int_eq(sale_audit(shard).buyer_marks, shard == 0 ? 7470 : 7500);
    before = entries_read();
    CTL("reconcile", "--activity", sale_text, "--json");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"done_orders\":30000,"));
    ck_assert_int_lt(entries_read() - before, 10 * ORDERS);
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_test(t, flushed);
    tcase_add_test(t, effects_of_the_older_epoch);
    tcase_add_test(t, half_of_it);
    tcase_add_loop_test(t, damaged, 0, sizeof damages / sizeof *damages);
    tcase_add_test(t, thrown_back);
    tcase_add_test(t, who_may_not_buy_again);
    tcase_add_test(t, many);
    tcase_add_test(t, after_the_end);
    tcase_add_test(t, not_rebuilt);
    tcase_add_test(t, messages_on_their_way);
    tcase_add_test(t, forced);
    tcase_add_test(t, a_queue_that_is_never_empty);
    tcase_add_test(t, a_row_that_does_not_fit);
    tcase_add_test(t, many_that_were_closed);
}

int main(void)
{
    Suite *s = suite_create("ctl_rebuild");
    TCase *t = tcase_create("rebuild");

    tcase_add_unchecked_fixture(t, sale_queues_make, sale_queues_delete);
    tcase_add_checked_fixture(t, sale_setup_queued, sale_teardown);
    tcase_set_timeout(t, 60);
    add_tests(t);
    suite_add_tcase(s, t);
    return testing_main(s);
}
