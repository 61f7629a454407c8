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

int main(void)
{
    Suite *suite = suite_create("stock_race");
    TCase *tc = tcase_create("stock_race");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, the_last_units_are_sold_once);
    tcase_add_test(tc, one_number_is_taken_once);
    tcase_add_test(tc, one_buyer_stays_within_the_limit);
    tcase_add_test(tc, what_is_taken_comes_back_once);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
