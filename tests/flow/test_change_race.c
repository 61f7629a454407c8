/* A payment and the end of the time-out at the same instant, 10,000 times: several threads pay orders just as they
 * become due, others close whatever is due. Each order must end one way, and money, stock and events must say the same
 * of it. */
#include "testing_money.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/order_change.h"
#include "orderd/thread.h"
#include "testing_relay.h"

#define ORDERS  (TESTING_SMALL ? 2000 : 10000)
#define SPREAD  (TESTING_SMALL ? 4000 : 5000) /* ms over which they become due */
#define PAYERS  2
#define CLOSERS 2
#define GROUP   20
#define LEAD_MS 2000 /* until the first is due */

static int64_t first_due; /* wall clock, ms; the database's is the same host's */
static atomic_bool all_paid;

struct racer {
    struct thread thread;
    int index;
    int64_t won, lost, conflicts;
};

static void order_name(int n, char no[20])
{
    snprintf(no, 20, "R%05d", n);
}

static int64_t due_of(int n)
{
    return first_due + (int64_t)n * SPREAD / ORDERS;
}

/* ---- orders, with their reservations ---- */

static void deduct_all(void)
{
    static char numbers[500][20];
    struct stock_order orders[500];
    struct stock_deducted answers[500];
    struct error errs[500], err = {0};

    for (int from = 0; from < ORDERS; from += 500) {
        for (int i = 0; i < 500; i++) {
            order_name(from + i, numbers[i]);
            orders[i] = testing_order(&testing_money, numbers[i], from + i + 1, 1);
        }
        ck_assert_ok(stock_deduct_many(testing_money.kv, orders, 500, answers, errs, &err), &err);
        for (int i = 0; i < 500; i++)
            ck_assert_int_eq(answers[i].code, STOCK_DEDUCT_TAKEN);
    }
}

static void insert_all(void)
{
    struct strbuf sql = STRBUF_INIT;
    struct error err = {0};
    char due[40];

    for (int from = 0; from < ORDERS; from += 500) {
        strbuf_reset(&sql);
        strbuf_add_str(&sql,
                       "INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,"
                       "status,reserved_at,expires_at) VALUES");
        for (int i = from; i < from + 500; i++) {
            char no[20];

            order_name(i, no);
            strbuf_addf(&sql, "%s('%s',%" PRId64 ",%d,0,%d,1,%d,%d,%" PRId64 ",'pending',NOW(3),NULL)",
                        i == from ? "" : ",", no, testing_money.plan.activity, i + 1, TESTING_SKU, TESTING_MONEY_PRICE,
                        testing_money.plan.shard, testing_money.plan.epoch);
        }
        ck_assert_ok(db_run(testing_lane_db, (struct slice){sql.data, sql.len}, &err), &err);
    }
    strbuf_release(&sql);
    testing_sql("UPDATE activity_stock SET available=0 WHERE activity_id=%" PRId64, testing_money.plan.activity);
    first_due = clock_wall_ms() + LEAD_MS;
    clock_format_sql(due, sizeof due, first_due);
    testing_sql("UPDATE orders SET expires_at='%s'+INTERVAL CAST(SUBSTRING(order_no,2) AS SIGNED)*%d DIV %d*1000 "
                "MICROSECOND",
                due, SPREAD, ORDERS);
}

/* ---- the race ---- */

static struct db *connect_racer(void)
{
    struct error err = {0};
    struct db *db = db_open(testing_lane_conf, &err);

    ck_assert_ok(db != NULL, &err);
    return db;
}

static struct order_change payment_of(int n)
{
    struct order_change c = {.wish = ORDER_WISH_PAY, .amount = TESTING_MONEY_PRICE, .paid_at = clock_wall_ms()};

    order_name(n, c.order_no);
    snprintf(c.payment_ref, sizeof c.payment_ref, "p%05d", n);
    return c;
}

static void run(struct db *db, struct order_change *changes, size_t count)
{
    struct order_change_options options = {.owner = "", .events = true};
    struct local_messages none;
    struct error err = {0};

    local_messages_init(&none);
    ck_assert_ok(order_change_run(db, changes, count, &options, &none, &err), &err);
    local_messages_free(&none); /* the relay polls them */
}

/* Each order is paid by one of the payers, at the moment in which it becomes due. */
static void pay_in_time(void *data)
{
    struct racer *r = data;
    struct db *db = connect_racer();

    for (int from = r->index * GROUP; from < ORDERS; from += PAYERS * GROUP) {
        struct order_change group[GROUP];

        while (clock_wall_ms() < due_of(from + GROUP / 2))
            clock_sleep_ms(1);
        for (int i = 0; i < GROUP; i++)
            group[i] = payment_of(from + i);
        run(db, group, GROUP);
        for (int i = 0; i < GROUP; i++) {
            r->won += group[i].verdict == REASON_PAID;
            r->lost += group[i].verdict == REASON_REFUND_CLOSED;
        }
    }
    db_close(&db);
}

static void close_due(void *data)
{
    struct racer *r = data;
    struct db *db = connect_racer();
    size_t count = 0;

    do {
        struct order_change due[ORDER_CHANGE_MAX];
        bool last = atomic_load(&all_paid);
        struct error err = {0};

        ck_assert_ok(order_change_due(db, 0, 50, due, &count, &err), &err);
        if (count > 0) {
            run(db, due, count);
            for (size_t i = 0; i < count; i++) {
                r->won += due[i].verdict == REASON_UNPAID;
                r->lost += due[i].verdict == REASON_TIMER_PAID;
                r->conflicts += due[i].verdict == REASON_CLOSED_BEFORE; /* by the other closer */
            }
        }
        if (last && count == 0)
            break;
        clock_sleep_ms(1);
    } while (true);
    db_close(&db);
}

/* ---- what each order came to ---- */

struct tally {
    int paid, closed; /* by id: 1 each */
};

static struct tally by_status[20000], by_event[20000], by_effect[20000];
static int by_payment[20000]; /* 1: applied, 2: refund_due */
static int by_refund_event[20000];

static int number_of(struct slice text, char prefix)
{
    char digits[6];

    ck_assert_uint_eq(text.len, 6);
    ck_assert_int_eq(text.ptr[0], prefix);
    memcpy(digits, text.ptr + 1, 5);
    digits[5] = '\0';
    return atoi(digits);
}

static bool note_status(void *arg, const struct slice *c, unsigned count)
{
    struct tally *t = &by_status[number_of(c[0], 'R')];

    (void)arg, (void)count;
    t->paid += slice_is(c[1], "paid");
    t->closed += slice_is(c[1], "closed") && slice_is(c[2], "unpaid") && slice_is(c[3], "1");
    return true;
}

static bool note_payment(void *arg, const struct slice *c, unsigned count)
{
    (void)arg, (void)count;
    ck_assert_int_eq(number_of(c[0], 'p'), number_of(c[1], 'R'));
    by_payment[number_of(c[0], 'p')] += slice_is(c[2], "applied") ? 1 : 2;
    return true;
}

/* The order numbers in a payload, by what its topic says. */
static bool note_message(void *arg, const struct slice *c, unsigned count)
{
    struct strbuf payload = STRBUF_INIT;

    (void)arg, (void)count;
    strbuf_add_slice(&payload, c[1]);
    for (const char *at = payload.data; (at = strstr(at, "\"order_no\":\"")); at++) {
        int n = number_of((struct slice){at + 12, 6}, 'R');

        by_event[n].paid += slice_is(c[0], "event.order.paid");
        by_event[n].closed += slice_is(c[0], "event.order.closed");
        by_refund_event[n] += slice_is(c[0], "event.order.refund_due");
        by_effect[n].paid += slice_is(c[0], "stock.settle");
        by_effect[n].closed += slice_is(c[0], "stock.return");
    }
    strbuf_release(&payload);
    return true;
}

static void read_all(const char *sql, db_row_fn on_row)
{
    struct error err = {0};

    ck_assert_ok(db_query(testing_lane_db, slice_of(sql), on_row, NULL, &err), &err);
}

static void assert_each(int64_t paid, int64_t closed)
{
    int64_t seen_paid = 0, seen_closed = 0;

    read_all("SELECT order_no,status,reason,units_returned FROM orders", note_status);
    read_all("SELECT payment_ref,order_no,outcome FROM payment", note_payment);
    read_all("SELECT topic,payload FROM local_message", note_message);
    for (int n = 0; n < ORDERS; n++) {
        const struct tally *t = &by_status[n];

        ck_assert_msg(t->paid + t->closed == 1, "order %d ended %d times paid, %d times closed", n, t->paid, t->closed);
        ck_assert_int_eq(by_payment[n], t->paid ? 1 : 2);
        ck_assert_int_eq(by_event[n].paid, t->paid);
        ck_assert_int_eq(by_event[n].closed, t->closed);
        ck_assert_int_eq(by_refund_event[n], t->closed);
        ck_assert_int_eq(by_effect[n].paid, t->paid);
        ck_assert_int_eq(by_effect[n].closed, t->closed);
        seen_paid += t->paid;
        seen_closed += t->closed;
    }
    ck_assert_int_eq(seen_paid, paid);
    ck_assert_int_eq(seen_closed, closed);
}

/* Of the shard's hash: each order under the word that its row says. */
static void assert_gone(void)
{
    for (int n = 0; n < ORDERS; n++) {
        char no[20];

        order_name(n, no);
        testing_shard_hash(&testing_money, STOCK_KEY_GONE, no, by_status[n].paid ? "sold" : "returned");
    }
}

START_TEST(one_of_them_wins)
{
    struct racer payers[PAYERS] = {0}, closers[CLOSERS] = {0};
    int64_t paid = 0, refunds = 0, closed = 0;

    testing_money_setup(ORDERS, 1, true);
    deduct_all();
    insert_all();
    for (int i = 0; i < PAYERS; i++) {
        payers[i] = (struct racer){{.name = "payer", .run = pay_in_time, .data = &payers[i]}, i, 0, 0, 0};
        thread_start(&payers[i].thread);
    }
    for (int i = 0; i < CLOSERS; i++) {
        closers[i] = (struct racer){{.name = "closer", .run = close_due, .data = &closers[i]}, i, 0, 0, 0};
        thread_start(&closers[i].thread);
    }
    for (int i = 0; i < PAYERS; i++) {
        thread_join(&payers[i].thread);
        paid += payers[i].won;
        refunds += payers[i].lost;
    }
    atomic_store(&all_paid, true);
    for (int i = 0; i < CLOSERS; i++) {
        thread_join(&closers[i].thread);
        closed += closers[i].won;
    }
    fprintf(stderr, "paid %" PRId64 ", closed %" PRId64 "\n", paid, closed);
    ck_assert_int_eq(paid + closed, ORDERS);
    ck_assert_int_eq(refunds, closed);
    ck_assert_int_gt(paid, ORDERS / 20); /* or it was no race */
    ck_assert_int_gt(closed, ORDERS / 20);
    assert_each(paid, closed);
    testing_lane_start(0);
    testing_money_balances();
    testing_lane_stop();
    assert_gone();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("change_race");
    TCase *c = tcase_create("race");

    tcase_set_timeout(c, 120);
    tcase_add_unchecked_fixture(c, NULL, testing_money_clean);
    tcase_add_test(c, one_of_them_wins);
    suite_add_tcase(s, c);
    return testing_main(s);
}
