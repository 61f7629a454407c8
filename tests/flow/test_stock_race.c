/* Many callers at once: never oversold, one reservation for one number, one buyer's limit holds, and it balances. */
#include "testing_stock.h"

#include <pthread.h>
#include <stdio.h>

#define THREADS 8

static struct testing_shard s;

struct caller {
    pthread_t thread;
    struct testing_shard shard; /* its own connection */
    int number;
    int taken, held, refused, back;
};

static void in_threads(struct caller *callers, void *(*run)(void *))
{
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.shard = s, .number = i};
        callers[i].shard.kv = testing_redis_shared();
        CHECK_ZERO(pthread_create(&callers[i].thread, NULL, run, &callers[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_ZERO(pthread_join(callers[i].thread, NULL));
        kv_close(&callers[i].shard.kv);
    }
}

static void count(struct caller *c, int code)
{
    c->taken += code == STOCK_DEDUCT_TAKEN;
    c->held += code == STOCK_DEDUCT_HELD;
    c->refused += code == STOCK_DEDUCT_SHORT || code == STOCK_DEDUCT_OVER_LIMIT || code == STOCK_DEDUCT_GONE;
}

static void *buy_one_each(void *data)
{
    struct caller *c = data;

    for (int i = 0; i < 400; i++) {
        char order_no[24];

        snprintf(order_no, sizeof order_no, "t%d_%d", c->number, i);
        count(c, testing_take(&c->shard, order_no, 1 + c->number * 1000 + i, 1).code);
    }
    return NULL;
}

START_TEST(the_last_units_are_sold_once)
{
    struct caller callers[THREADS];
    struct stock_audit a;
    int taken = 0, refused = 0;

    testing_shard_create(&s, testing_redis_shared(), 100, 1);
    in_threads(callers, buy_one_each);
    for (int i = 0; i < THREADS; i++) {
        taken += callers[i].taken;
        refused += callers[i].refused;
    }
    ck_assert_int_eq(taken, 100);
    ck_assert_int_eq(refused, THREADS * 400 - 100);
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.left, 0);
    ck_assert_int_eq(a.held, 100);
    ck_assert_int_eq(a.held_orders, 100);
    ck_assert_int_eq(a.buyer_marks, 100);
    kv_close(&s.kv);
}
END_TEST

static void *buy_the_same_orders(void *data)
{
    struct caller *c = data;

    for (int i = 0; i < 300; i++) {
        char order_no[24];

        snprintf(order_no, sizeof order_no, "o%d", i);
        count(c, testing_take(&c->shard, order_no, 1 + i, 1).code);
    }
    return NULL;
}

START_TEST(one_number_is_taken_once)
{
    struct caller callers[THREADS];
    int taken = 0, held = 0;

    testing_shard_create(&s, testing_redis_shared(), 1000, 1);
    in_threads(callers, buy_the_same_orders);
    for (int i = 0; i < THREADS; i++) {
        taken += callers[i].taken;
        held += callers[i].held;
    }
    ck_assert_int_eq(taken, 300);
    ck_assert_int_eq(held, (THREADS - 1) * 300);
    ck_assert_int_eq(testing_shard_audit(&s).left, 700);
    kv_close(&s.kv);
}
END_TEST

static void *buy_for_one_user(void *data)
{
    struct caller *c = data;

    for (int i = 0; i < 300; i++) {
        char order_no[24];

        snprintf(order_no, sizeof order_no, "t%d_%d", c->number, i);
        count(c, testing_take(&c->shard, order_no, 42, 1).code);
    }
    return NULL;
}

START_TEST(one_buyer_stays_within_the_limit)
{
    struct caller callers[THREADS];
    int taken = 0;

    testing_shard_create(&s, testing_redis_shared(), 1000, 7);
    in_threads(callers, buy_for_one_user);
    for (int i = 0; i < THREADS; i++)
        taken += callers[i].taken;
    ck_assert_int_eq(taken, 7);
    ck_assert_int_eq(testing_shard_audit(&s).buyer_marks, 7);
    kv_close(&s.kv);
}
END_TEST

/* Four buy, four give the same orders back, often before they were bought; each number ends in one place. */
static void *buy_or_give_back(void *data)
{
    struct caller *c = data;

    for (int i = 0; i < 300; i++) {
        char order_no[24];

        snprintf(order_no, sizeof order_no, "o%d", i);
        if (c->number % 2)
            c->back += (int)testing_give(&c->shard, order_no, 1).back;
        else
            count(c, testing_take(&c->shard, order_no, 1 + i, 1).code);
    }
    return NULL;
}

START_TEST(what_is_taken_comes_back_once)
{
    struct caller callers[THREADS];
    struct stock_audit a;
    int taken = 0, back = 0;

    testing_shard_create(&s, testing_redis_shared(), 1000, 1);
    in_threads(callers, buy_or_give_back);
    for (int i = 0; i < THREADS; i++) {
        taken += callers[i].taken;
        back += callers[i].back;
    }
    a = testing_shard_audit(&s);
    ck_assert_int_eq(taken - back, a.held);
    ck_assert_int_eq(a.left + a.held, 1000);
    ck_assert_int_eq(a.held_orders + a.gone_orders, 300);
    kv_close(&s.kv);
}
END_TEST

/* Everything that may befall an order at once: taken, adopted as pending, paid, given back. Paid and given back exclude
 * each other in the database, here by the number's parity; the rest comes in any order. */
static void *live_and_die(void *data)
{
    struct caller *c = data;

    for (int i = 0; i < 300; i++) {
        char order_no[24];

        snprintf(order_no, sizeof order_no, "o%d", i);
        switch (c->number % 4) {
        case 0:
            count(c, testing_take(&c->shard, order_no, 1 + i, 1).code);
            break;
        case 1:
            testing_adopt(&c->shard, order_no, 1 + i, 1, STOCK_ADOPT_AS_PENDING);
            break;
        default:
            if (i % 2)
                c->taken += (int)testing_settle(&c->shard, order_no).units;
            else
                c->back += (int)testing_give(&c->shard, order_no, 1).back;
        }
    }
    return NULL;
}

START_TEST(paid_and_closed_orders_end_in_one_place)
{
    struct caller callers[THREADS];
    struct stock_audit a;

    testing_shard_create(&s, testing_redis_shared(), 1000, 1);
    in_threads(callers, live_and_die);
    for (int i = 0; i < 300; i++) { /* what was settled before it was there */
        char order_no[24];

        snprintf(order_no, sizeof order_no, "o%d", i);
        if (i % 2)
            testing_settle(&s, order_no);
    }
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.held, 0);
    ck_assert_int_eq(a.sold, 150);
    ck_assert_int_eq(a.left, 850);
    ck_assert_int_eq(a.gone_orders, 300);
    ck_assert_int_eq(a.buyer_marks, 150);
    kv_close(&s.kv);
}
END_TEST

/* Two restock and reclaim by what they last saw, two pause and resume, four sell, forfeit and settle. */
static void *manage(struct caller *c)
{
    for (int i = 0; i < 200; i++) {
        struct stock_audit a = testing_shard_audit(&c->shard);
        struct stock_restocked r = testing_restock(&c->shard, a.cap, a.cap + (i % 2 ? -7 : 9));

        c->taken += r.code == STOCK_RESTOCK_RESTOCKED ? (i % 2 ? -7 : 9) : 0;
        if (a.forfeited > 0 && testing_reclaim(&c->shard, a.forfeited, 1).code == STOCK_RECLAIM_RECLAIMED)
            c->back++;
    }
    return NULL;
}

static void *trade(struct caller *c)
{
    for (int i = 0; i < 200; i++) {
        char order_no[24];

        snprintf(order_no, sizeof order_no, "t%d_%d", c->number, i);
        if (testing_take(&c->shard, order_no, 1 + c->number * 1000 + i, 1).code != STOCK_DEDUCT_TAKEN)
            continue;
        if (i % 3) {
            c->taken += (int)testing_settle(&c->shard, order_no).units;
        } else {
            testing_forfeit(&c->shard, order_no, 1);
            c->refused++;
        }
    }
    return NULL;
}

static void *manage_or_trade(void *data)
{
    struct caller *c = data;

    if (c->number < 2)
        return manage(c);
    if (c->number < 4) {
        for (int i = 0; i < 200; i++)
            testing_pause_shard(&c->shard, i % 2 == 0);
        return NULL;
    }
    return trade(c);
}

START_TEST(a_shard_balances_while_it_is_managed)
{
    struct caller callers[THREADS];
    struct stock_audit a;
    int cap = 100, reclaimed = 0, sold = 0, forfeited = 0;

    testing_shard_create(&s, testing_redis_shared(), 100, 1);
    in_threads(callers, manage_or_trade);
    for (int i = 0; i < THREADS; i++) {
        cap += i < 2 ? callers[i].taken : 0;
        reclaimed += callers[i].back;
        sold += i >= 4 ? callers[i].taken : 0;
        forfeited += callers[i].refused;
    }
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.cap, cap);
    ck_assert_int_eq(a.sold, sold);
    ck_assert_int_eq(a.forfeited, forfeited - reclaimed);
    ck_assert_int_eq(a.held, 0);
    kv_close(&s.kv);
}
END_TEST

/* Four buyers hammer a shard that is taken away and built anew under them: what they got is in the ledger, or was
 * dropped from an older one. */
static void *buy_or_rebuild(void *data)
{
    struct caller *c = data;

    for (int i = 0; c->number < 4 && i < 300; i++) {
        char order_no[24];

        snprintf(order_no, sizeof order_no, "t%d_%d", c->number, i);
        c->shard.plan.epoch += (i % 50 == 0);
        count(c, testing_take(&c->shard, order_no, 1 + c->number * 1000 + i, 1).code);
    }
    for (int i = 0; c->number == 4 && i < 60; i++) {
        struct stock_rebuilt r;

        testing_pause_shard(&c->shard, true);
        c->shard.plan.epoch += i % 10 == 0;
        r = testing_rebuild(&c->shard);
        c->back += (int)r.dropped;
        ck_assert_int_ge(r.code, 0);
        testing_pause_shard(&c->shard, false);
    }
    return NULL;
}

START_TEST(no_unit_falls_between_two_shards)
{
    struct caller callers[THREADS];
    struct stock_audit a;
    int taken = 1;

    testing_shard_create(&s, testing_redis_shared(), 100, 1);
    ck_assert_int_eq(testing_take(&s, "first", 99999, 1).code, STOCK_DEDUCT_TAKEN);
    in_threads(callers, buy_or_rebuild);
    for (int i = 0; i < 4; i++)
        taken += callers[i].taken;
    a = testing_shard_audit(&s);
    ck_assert_int_gt(callers[4].back, 0);
    ck_assert_int_eq(taken, a.held_orders + callers[4].back);
    ck_assert_int_eq(a.left + a.held, 100);
    kv_close(&s.kv);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_race");
    TCase *tc = tcase_create("stock_race");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, the_last_units_are_sold_once);
    tcase_add_test(tc, one_number_is_taken_once);
    tcase_add_test(tc, one_buyer_stays_within_the_limit);
    tcase_add_test(tc, what_is_taken_comes_back_once);
    tcase_add_test(tc, paid_and_closed_orders_end_in_one_place);
    tcase_add_test(tc, a_shard_balances_while_it_is_managed);
    tcase_add_test(tc, no_unit_falls_between_two_shards);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
