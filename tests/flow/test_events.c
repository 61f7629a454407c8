/* What listeners of order.event really get: every kind of event, each satisfying the published schema, and true. */
#include "testing_money.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/order_event.h"
#include "orderd/payment_lane.h"
#include "orderd/release_lane.h"
#include "testing_letters.h"
#include "testing_relay.h"
#include "testing_schema.h"

#define SALE testing_money.plan.activity

static struct testing_spy spy;
static struct testing_letters letters;

static void setup(void)
{
    testing_money_setup(100, 1, true);
    testing_sql("UPDATE activity SET shards=%d WHERE id=%" PRId64, testing_money.plan.shard + 1, SALE);
    testing_spy_open(&spy, "order.event", "order.*");
}

static struct order sell(int n, int64_t user)
{
    struct order o = testing_lane_order(n);

    o.activity_id = SALE;
    o.user_id = user;
    o.amount = TESTING_MONEY_PRICE;
    o.shard = testing_money.plan.shard;
    o.epoch = (int32_t)testing_money.plan.epoch;
    (void)testing_take(&testing_money, o.order_no, user, 1);
    testing_publish(&o);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s'", o.order_no) == 1, 5000,
                 "it is decided");
    return o;
}

static int64_t number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    ck_assert_msg(json_is_integer(value), "no number %s", name);
    return json_integer_value(value);
}

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));

    return value ? value : "";
}

/* The entry says what the row says. */
static void assert_true(const char *event, const json_t *entry)
{
    const char *no = text(entry, "order_no");

    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND activity_id=%" PRId64
                                    " AND user_id=%" PRId64 " AND sku_id=%" PRId64 " AND quantity=%" PRId64
                                    " AND amount=%" PRId64,
                                    no, number(entry, "activity_id"), number(entry, "user_id"), number(entry, "sku_id"),
                                    number(entry, "quantity"), number(entry, "amount")),
                     1);
    if (strcmp(event, "order.closed") == 0 || strcmp(event, "order.rejected") == 0)
        ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND reason='%s' AND "
                                        "status='%s'",
                                        no, text(entry, "reason"), event + strlen("order.")),
                         1);
    if (json_object_get(entry, "payment_ref"))
        ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM payment WHERE payment_ref='%s' AND order_no='%s' AND "
                                        "amount=%" PRId64 " AND outcome='%s'",
                                        text(entry, "payment_ref"), no, number(entry, "payment_amount"),
                                        strcmp(event, "order.paid") == 0 ? "applied" : "refund_due"),
                         1);
    if (strcmp(event, "order.created") == 0)
        ck_assert_int_le(
            testing_number("SELECT ABS(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',expires_at) DIV 1000-%" PRId64
                           ") FROM orders WHERE order_no='%s'",
                           number(entry, "expires_at"), no),
            5000);
}

/* Adds to how many orders each event told of. */
static void judge(const json_t *schema, const struct broker_delivery *d, int told[ORDER_EVENT_COUNT])
{
    json_t *root = json_loadb(d->body.ptr, d->body.len, JSON_REJECT_DUPLICATES, NULL), *entry;
    char why[300];
    size_t n;

    ck_assert_msg(root != NULL, "%.*s", (int)d->body.len, d->body.ptr);
    ck_assert_msg(testing_schema_check(schema, root, true, why, sizeof why), "%s: %.*s", why, (int)d->body.len,
                  d->body.ptr);
    ck_assert(slice_is(d->routing_key, text(root, "event")));
    ck_assert(slice_is(d->content_type, "application/json"));
    ck_assert_int_le(llabs(clock_wall_ms() - number(root, "at")), 60000);
    json_array_foreach(json_object_get(root, "orders"), n, entry)
    {
        assert_true(text(root, "event"), entry);
        for (int e = 0; e < ORDER_EVENT_COUNT; e++)
            told[e] += strcmp(text(root, "event"), order_event_name((enum order_event)e)) == 0;
    }
    json_decref(root);
}

START_TEST(every_kind_as_published)
{
    json_t *schema = testing_schema_load("docs/order-event.schema.json");
    int told[ORDER_EVENT_COUNT] = {0};
    struct order paid, cancelled;

    testing_lane_start(1);
    testing_lane_add(&payment_lane, 1);
    testing_lane_add(&cancel_lane, 1);
    paid = sell(1, 41);
    testing_money_pay(paid.order_no, "ch_3Nx8", TESTING_MONEY_PRICE);
    cancelled = sell(2, 42);
    testing_money_cancel(cancelled.order_no);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE status='paid'") == 1, 5000, "it is paid");
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE reason='cancelled'") == 1, 5000, "it is cancelled");
    /* Their time is over after a second: no timer comes before the payment and the wish, however slow those are. */
    testing_lane_add(&release_lane, 1);
    (void)sell(3, 43); /* nobody pays */
    testing_money_pay(paid.order_no, "second", TESTING_MONEY_PRICE);
    (void)sell(4, 41); /* has an order */
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE reason='unpaid'") == 1, 10000, "one is closed");
    testing_wait(testing_number("SELECT COUNT(*) FROM payment") == 2, 5000, "both payments are decided");
    testing_wait_relayed(10000);
    testing_lane_stop();
    testing_spy_take(&spy, &letters, 8, 300);
    for (size_t i = 0; i < letters.count; i++)
        judge(schema, &letters.list[i], told);
    ck_assert_int_eq(told[ORDER_EVENT_CREATED], 3);
    ck_assert_int_eq(told[ORDER_EVENT_PAID], 1);
    ck_assert_int_eq(told[ORDER_EVENT_REFUND_DUE], 1);
    ck_assert_int_eq(told[ORDER_EVENT_CLOSED], 2);
    ck_assert_int_eq(told[ORDER_EVENT_REJECTED], 1);
    json_decref(schema);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("events");
    TCase *c = tcase_create("events");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_unchecked_fixture(c, NULL, testing_money_clean);
    tcase_add_test(c, every_kind_as_published);
    suite_add_tcase(s, c);
    return testing_main(s);
}
