/* orderctl order show and cancel against real servers. */
#include "testing_ctl.h"
#include "testing_stock.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "orderd/exitcode.h"

#define CAP   10
#define PRICE 250

static struct testing_shard shard;

static void setup(void)
{
    testing_ctl_setup();
    CTL("migrate", "up", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    testing_shard_create(&shard, testing_redis_shared(), CAP, 5);
    testing_ctl_run_sql(
        "INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,per_user_limit,pay_timeout_ms,state,"
        "starts_at,ends_at,epoch) VALUES(%" PRId64 ",'test',77,%d,'CNY',%d,5,900000,'running',NOW(3),NOW(3)+INTERVAL 1 "
        "HOUR,2);INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",%d,%d)",
        shard.plan.activity, PRICE, CAP, shard.plan.activity, CAP, CAP);
}

/* Of two units, with its reservation. */
static void make_order(const char *no, const char *status, int64_t user)
{
    ck_assert_int_eq(testing_take(&shard, no, user, 2).code, STOCK_DEDUCT_TAKEN);
    testing_ctl_run_sql("INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,"
                        "status,reason,reserved_at,expires_at) VALUES('%s',%" PRId64 ",%" PRId64
                        ",0,77,2,%d,3,2,'%s','%s','2026-01-02 03:04:05.678','2035-01-02 03:04:05');"
                        "UPDATE activity_stock SET available=available-2",
                        no, shard.plan.activity, user, 2 * PRICE, status,
                        strcmp(status, "rejected") == 0 ? "stock_short" : "");
}

static json_t *parsed(void)
{
    json_error_t where;
    json_t *json = json_loads(testing_ctl.out, 0, &where);

    ck_assert_msg(json != NULL, "%s: %s", where.text, testing_ctl.out);
    return json;
}

static void text_is(const json_t *json, const char *name, const char *text)
{
    const json_t *member = json_object_get(json, name);

    ck_assert_msg(text ? json_is_string(member) && strcmp(json_string_value(member), text) == 0 : json_is_null(member),
                  "%s is not %s: %s", name, text ? text : "null", testing_ctl.out);
}

static int64_t number_of(const json_t *json, const char *name)
{
    ck_assert_msg(json_is_integer(json_object_get(json, name)), "%s is no number: %s", name, testing_ctl.out);
    return json_integer_value(json_object_get(json, name));
}

static int64_t available(void)
{
    return testing_ctl_number("SELECT available FROM activity_stock");
}

/* ---- show ---- */

START_TEST(shown_as_json)
{
    json_t *json, *payment;

    make_order("A_1", "pending", 42);
    testing_ctl_run_sql("INSERT INTO payment(payment_ref,order_no,amount,paid_at,outcome,reason,decided_at) "
                        "VALUES('r1','A_1',9,'2026-01-02 03:04:05.678','amount_mismatch','payment_amount','2026-01-02 "
                        "03:04:06'),('r2','B',1,NOW(3),'refund_due','refund_closed',NOW(6));"
                        "INSERT INTO local_message(message_key,topic,payload,state) VALUES"
                        "('timer:A_1','order.unpaid','{}','pending'),('order.create:A_1','order.create','{}','sent'),"
                        "('order.create:A_10','order.create','{}','sent'),"
                        "('event.order.refund_due:r1','event.order.refund_due','{}','quarantined'),"
                        "('event.order.refund_due:r2','event.order.refund_due','{}','sent')");
    CTL("order", "show", "A_1", "--json");
    CTL_SAYS(EXIT_OK, "");
    json = parsed();
    text_is(json, "order_no", "A_1");
    text_is(json, "status", "pending");
    text_is(json, "reason", NULL);
    text_is(json, "redis", "held");
    text_is(json, "mark", "own");
    text_is(json, "reserved_at", "2026-01-02T03:04:05.678Z");
    text_is(json, "expires_at", "2035-01-02T03:04:05.000Z");
    text_is(json, "paid_at", NULL);
    text_is(json, "replaced_by", NULL);
    ck_assert_int_eq(number_of(json, "activity_id"), shard.plan.activity);
    ck_assert_int_eq(number_of(json, "user_id"), 42);
    ck_assert_int_eq(number_of(json, "quantity"), 2);
    ck_assert_int_eq(number_of(json, "amount"), 2 * PRICE);
    ck_assert_int_eq(number_of(json, "shard"), 3);
    ck_assert(json_is_false(json_object_get(json, "overdue")));
    ck_assert_uint_eq(json_array_size(json_object_get(json, "payments")), 1);
    payment = json_array_get(json_object_get(json, "payments"), 0);
    text_is(payment, "payment_ref", "r1");
    text_is(payment, "outcome", "amount_mismatch");
    text_is(payment, "reason", "payment_amount");
    text_is(payment, "paid_at", "2026-01-02T03:04:05.678Z");
    text_is(payment, "decided_at", "2026-01-02T03:04:06.000Z");
    ck_assert_int_eq(number_of(payment, "amount"), 9);
    ck_assert_uint_eq(json_array_size(json_object_get(json, "messages")), 3);
    text_is(json_array_get(json_object_get(json, "messages"), 2), "key", "event.order.refund_due:r1");
    text_is(json_array_get(json_object_get(json, "messages"), 2), "state", "quarantined");
    text_is(json_array_get(json_object_get(json, "messages"), 0), "key", "order.create:A_1");
    text_is(json_array_get(json_object_get(json, "messages"), 1), "state", "pending");
    json_decref(json);
}
END_TEST

START_TEST(shown_as_text)
{
    make_order("A_1", "closed", 42);
    testing_give(&shard, "A_1", 0);
    testing_ctl_run_sql("UPDATE orders SET reason='unpaid',units_returned=2,closed_at='2026-01-02 03:04:06',"
                        "replaced_by='A_1-r1',created_at='2026-01-02 03:04:05.7';"
                        "INSERT INTO payment(payment_ref,order_no,amount,paid_at,outcome,reason,decided_at) "
                        "VALUES('r1','A_1',500,NOW(3),'refund_due','refund_closed','2026-01-02 03:04:07')");
    CTL("order", "show", "A_1");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "order A_1\n  state       closed, unpaid\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  buyer       user 42, mark 0\n"
                                                  "  buys        2 of SKU 77 for 500 (minor units)\n"
                                                  "  reserved    2026-01-02T03:04:05.678Z\n"
                                                  "  created     2026-01-02T03:04:05.700Z\n"
                                                  "  to be paid  2035-01-02T03:04:05.000Z\n"
                                                  "  ended       2026-01-02T03:04:06.000Z\n"
                                                  "  units       2 given back, 0 forfeited\n"
                                                  "  replaced by A_1-r1\n"
                                                  "  in Redis    returned; its buyer's mark: free\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  r1          500  refund_due  refund_closed  2026-01-02 03:04\n"));
    testing_ctl_run_sql("UPDATE orders SET status='pending',expires_at=NOW(6)");
    CTL("order", "show", "A_1");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  state       pending, unpaid, its time to pay is over\n"));
}
END_TEST

/* Settled: the keys are gone, and that is as it should be; a key that is there is still told. */
START_TEST(shown_after_the_settlement)
{
    make_order("A_1", "paid", 42);
    testing_ctl_run_sql("UPDATE activity SET state='settled'");
    CTL("order", "show", "A_1");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  in Redis    held; its buyer's mark: own\n"));
    for (int key = 0; key < STOCK_KEY_COUNT; key++)
        testing_redis_run(shard.kv, "DEL", shard.keys.text[key], NULL);
    CTL("order", "show", "A_1");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  in Redis    nothing any more: the activity is settled\n"));
}
END_TEST

START_TEST(shown_without_redis)
{
    json_t *json;

    make_order("A_1", "pending", 42);
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_port = "1"});
    CTL("order", "show", "A_1", "--json");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "Redis is not shown: "));
    json = parsed();
    text_is(json, "status", "pending");
    text_is(json, "redis", NULL);
    json_decref(json);
}
END_TEST

START_TEST(nothing_to_show)
{
    CTL("order", "show", "A_1");
    CTL_SAYS(EXIT_BAD_DATA,
             "orderctl: order show: there is no order A_1; an order that was taken a moment ago may still "
             "be on its way; `orderctl reconcile` names what is reserved without an order\n");
    CTL("order", "show", "A' OR 1");
    ck_assert_int_eq(testing_ctl.code, EXIT_USAGE);
    CTL("order", "cancel", "-r1");
    ck_assert_int_eq(testing_ctl.code, EXIT_USAGE);
}
END_TEST

/* ---- cancel ---- */

START_TEST(cancelled)
{
    json_t *json;

    make_order("A_1", "pending", 42);
    CTL("order", "cancel", "A_1", "--dry-run", "--json");
    CTL_SAYS(EXIT_OK, "orderctl: the order could be cancelled; nothing was changed\n");
    json = parsed();
    text_is(json, "result", "would_be_cancelled");
    json_decref(json);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 1);
    ck_assert_int_eq(available(), CAP - 2);

    CTL("order", "cancel", "A_1", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_str_eq(testing_ctl.out, "A_1  cancelled\n");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE status='closed' AND reason='cancelled' "
                                            "AND units_returned=2"),
                         1);
        ck_assert_int_eq(available(), CAP);
        /* For the next relay that looks, at once. */
        ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE state='pending' AND "
                                            "due_at<=NOW(6) AND message_key IN('stock.return:A_1',"
                                            "'event.order.closed:A_1')"),
                         2);
        ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 2);
        CTL("order", "cancel", "A_1", "--json");
        CTL_SAYS(EXIT_OK, "orderctl: the order was closed before; nothing was changed\n");
        json = parsed();
        text_is(json, "result", "closed_before");
        json_decref(json);
    }
}
END_TEST

static void refused(const char *no, const char *sentence, const char *advice)
{
    char says[600];

    snprintf(says, sizeof says, "orderctl: order cancel: %s; %s\n", sentence, advice);
    CTL("order", "cancel", no, "--dry-run");
    CTL_SAYS(EXIT_BAD_DATA, says);
    CTL("order", "cancel", no);
    CTL_SAYS(EXIT_BAD_DATA, says);
    ck_assert_str_eq(testing_ctl.out, "");
}

START_TEST(not_cancelled)
{
    make_order("P", "paid", 1);
    make_order("R", "rejected", 2);
    refused("P", "order P: the order is paid, which no cancellation undoes", "see `orderctl order show P`");
    refused("R", "order R: the order was rejected before", "see `orderctl order show R`");
    refused("U", "there is no order U",
            "an order that was taken a moment ago may still be on its way; try again later");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 0);
    ck_assert_int_eq(available(), CAP - 4);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ctl_order");
    TCase *c = tcase_create("order");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, testing_ctl_teardown);
    tcase_add_test(c, shown_as_json);
    tcase_add_test(c, shown_as_text);
    tcase_add_test(c, shown_after_the_settlement);
    tcase_add_test(c, shown_without_redis);
    tcase_add_test(c, nothing_to_show);
    tcase_add_test(c, cancelled);
    tcase_add_test(c, not_cancelled);
    suite_add_tcase(s, c);
    return testing_main(s);
}
