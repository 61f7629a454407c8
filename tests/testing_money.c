#include "testing_money.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "orderd/clock.h"
#include "orderd/topology.h"
#include "testing_relay.h"

struct testing_shard testing_money;

static struct broker *publisher;

void testing_money_setup(int64_t cap, int64_t limit, bool rebuy)
{
    testing_relay_clean();
    testing_lane_setup(1000, NULL);
    testing_shard_create(&testing_money, testing_redis_shared(), cap, limit);
    testing_sql(
        "INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,per_user_limit,pay_timeout_ms,state,"
        "starts_at,ends_at,epoch,rebuy_after_release) VALUES(%" PRId64 ",'test',%d,%d,'CNY',%" PRId64 ",%" PRId64
        ",1000,'running',NOW(3),NOW(3)+INTERVAL 1 HOUR,%" PRId64 ",%d);"
        "INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",%" PRId64 ",%" PRId64 ")",
        testing_money.plan.activity, TESTING_SKU, TESTING_MONEY_PRICE, cap, limit, testing_money.plan.epoch, rebuy,
        testing_money.plan.activity, cap, cap);
}

void testing_money_clean(void)
{
    testing_relay_clean();
}

void testing_money_order(const char *order_no, int64_t user, int64_t due_ms)
{
    struct stock_deducted d = testing_take(&testing_money, order_no, user, 1);

    ck_assert_int_eq(d.code, STOCK_DEDUCT_TAKEN);
    testing_sql("INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,status,"
                "reserved_at,expires_at) VALUES('%s',%" PRId64 ",%" PRId64 ",%d,%d,1,%d,%d,%" PRId64
                ",'pending',NOW(3),NOW(6)+INTERVAL %" PRId64 " MICROSECOND);"
                "UPDATE activity_stock SET available=available-1 WHERE activity_id=%" PRId64,
                order_no, testing_money.plan.activity, user, d.user_seq, TESTING_SKU, TESTING_MONEY_PRICE,
                testing_money.plan.shard, testing_money.plan.epoch, due_ms * 1000, testing_money.plan.activity);
}

void testing_money_publish(const char *queue, const char *message_id, const char *fmt, ...)
{
    static enum broker_outcome outcome;
    static char body[20000];
    struct error err = {0};
    struct broker_publication p = {
        .exchange = topology_name(TOPOLOGY_EXCHANGE_ORDER), .routing_key = queue, .message_id = slice_of(message_id)};
    va_list ap;

    va_start(ap, fmt);
    ck_assert_int_lt(vsnprintf(body, sizeof body, fmt, ap), (int)sizeof body);
    va_end(ap);
    p.body = slice_of(body);
    if (!publisher) {
        publisher = testing_broker("test publisher", &err);
        ck_assert_ok(publisher != NULL, &err);
        ck_assert_ok(broker_confirm_select(publisher, 1000, &err), &err);
    }
    ck_assert_ok(broker_publish(publisher, &p, &outcome, &err), &err);
    ck_assert_ok(broker_wait_confirms(publisher, 20000, &err), &err);
    ck_assert_int_eq(outcome, BROKER_OUTCOME_CONFIRMED);
}

void testing_money_pay(const char *order_no, const char *payment_ref, int64_t amount)
{
    testing_money_publish("order.paid", payment_ref,
                          "{\"v\":1,\"order_no\":\"%s\",\"payment_ref\":\"%s\",\"amount\":%" PRId64
                          ",\"paid_at\":%" PRId64 "}",
                          order_no, payment_ref, amount, clock_wall_ms());
}

void testing_money_cancel(const char *order_no)
{
    testing_money_publish("order.cancel", order_no, "{\"v\":1,\"order_no\":\"%s\",\"reason\":\"changed my mind\"}",
                          order_no);
}

static int64_t units(const char *status)
{
    return testing_number("SELECT COALESCE(SUM(quantity),0) FROM orders WHERE activity_id=%" PRId64
                          " AND status IN(%s)",
                          testing_money.plan.activity, status);
}

void testing_money_balances(void)
{
    struct stock_audit a;

    testing_wait(testing_number("SELECT COUNT(*) FROM local_message WHERE state='pending'") == 0, 30000,
                 "all local messages are performed");
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state<>'sent'"), 0);
    a = testing_shard_audit(&testing_money);
    ck_assert_int_eq(
        testing_number("SELECT available FROM activity_stock WHERE activity_id=%" PRId64, testing_money.plan.activity),
        testing_money.plan.cap - units("'pending','paid'"));
    ck_assert_int_eq(a.left, testing_money.plan.cap - units("'pending','paid'"));
    ck_assert_int_eq(a.held, units("'pending'"));
    ck_assert_int_eq(a.sold, units("'paid'"));
    ck_assert_int_eq(a.forfeited, 0);
}

uint32_t testing_money_waiting(const char *queue)
{
    uint32_t ready = 0, consumers = 0;
    struct error err = {0};
    struct broker *b = testing_broker("test depth", &err);

    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_queue_depth(b, queue, &ready, &consumers, &err), &err);
    broker_close(&b, true);
    return ready;
}

int64_t testing_metric(enum metric metric)
{
    struct metric_sum sum;

    metric_read(&sum);
    return (int64_t)sum.counters[metric];
}
