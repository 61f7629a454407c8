/* deduct: every code, the order of the tests inside it, and that a refusal writes nothing. */
#include "testing_stock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"

#define BIG_USER INT64_C(9007199254740993) /* 2^53 + 1: a double cannot hold it */

static struct kv *kv;
static struct testing_shard s;

static void setup(void)
{
    kv = testing_redis_shared();
}

static void teardown(void)
{
    kv_close(&kv);
}

static bool same(const struct strbuf *a, const struct strbuf *b)
{
    return slice_equal((struct slice){a->data, a->len}, (struct slice){b->data, b->len});
}

START_TEST(deduct_takes_and_repeats)
{
    struct stock_deducted first, again;
    struct stock_audit a;
    char want[128];

    testing_shard_create(&s, kv, 10, 5);
    first = testing_take(&s, "9007199254740993000", BIG_USER, 2);
    ck_assert_int_eq(first.code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(first.user_seq, 0);
    ck_assert_int_eq(first.left, 8);
    ck_assert_int_lt(llabs(first.reserved_at - clock_wall_ms()), 5000);
    snprintf(want, sizeof want, "%" PRId64 "|0|2|19800|2|%" PRId64, BIG_USER, first.reserved_at);
    testing_shard_hash(&s, STOCK_KEY_HELD, "9007199254740993000", want);
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "9007199254740993:0", "9007199254740993000|2");
    /* The neighbour that a double would confuse with it is another order of another user. */
    ck_assert_int_eq(testing_take(&s, "9007199254740992000", BIG_USER - 1, 1).user_seq, 0);

    again = testing_take(&s, "9007199254740993000", BIG_USER, 2);
    ck_assert_int_eq(again.code, STOCK_DEDUCT_HELD);
    ck_assert_int_eq(again.user_seq, first.user_seq);
    ck_assert_int_eq(again.reserved_at, first.reserved_at);
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.left, 7);
    ck_assert_int_eq(a.held, 3);
    ck_assert_int_eq(a.held_orders, 2);
}
END_TEST

START_TEST(deduct_gives_the_lowest_free_mark)
{
    testing_shard_create(&s, kv, 10, 3);
    ck_assert_int_eq(testing_take(&s, "a", 42, 1).user_seq, 0);
    ck_assert_int_eq(testing_take(&s, "b", 42, 1).user_seq, 1);
    ck_assert_int_eq(testing_take(&s, "c", 42, 1).user_seq, 2);
    ck_assert_int_eq(testing_give(&s, "b", 1).code, STOCK_RETURN_GIVEN_BACK);
    ck_assert_int_eq(testing_take(&s, "d", 42, 1).user_seq, 1);
    ck_assert_int_eq(testing_take(&s, "a", 42, 1).user_seq, 0);
    testing_shard_audit(&s);
}
END_TEST

START_TEST(deduct_counts_units_against_the_limit)
{
    testing_shard_create(&s, kv, 10, 3);
    ck_assert_int_eq(testing_take(&s, "a", 42, 2).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_take(&s, "b", 42, 2).code, STOCK_DEDUCT_OVER_LIMIT);
    ck_assert_int_eq(testing_take(&s, "b", 42, 1).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_take(&s, "c", 42, 1).code, STOCK_DEDUCT_OVER_LIMIT);
    ck_assert_int_eq(testing_take(&s, "d", 43, 4).code, STOCK_DEDUCT_OVER_LIMIT);
    ck_assert_int_eq(testing_take(&s, "d", 43, 3).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_shard_audit(&s).left, 4);
}
END_TEST

START_TEST(deduct_stops_at_the_last_unit)
{
    testing_shard_create(&s, kv, 3, 3);
    ck_assert_int_eq(testing_take(&s, "a", 1, 2).left, 1);
    ck_assert_int_eq(testing_take(&s, "b", 2, 2).code, STOCK_DEDUCT_SHORT);
    ck_assert_int_eq(testing_take(&s, "b", 2, 1).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_take(&s, "c", 3, 1).code, STOCK_DEDUCT_SHORT);
    ck_assert_int_eq(testing_shard_audit(&s).left, 0);
}
END_TEST

START_TEST(deduct_without_shard)
{
    testing_shard_plan(&s, kv, 3, 3);
    ck_assert_int_eq(testing_take(&s, "a", 1, 1).code, STOCK_DEDUCT_NO_SHARD);
}
END_TEST

START_TEST(deduct_after_the_order_is_gone)
{
    static const char *const words[] = {"returned", "forfeited", "refused", "sold"};

    testing_shard_create(&s, kv, 3, 3);
    for (size_t i = 0; i < 4; i++) {
        struct stock_deducted d;

        testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_GONE], words[i], words[i], NULL);
        d = testing_take(&s, words[i], 1, 1);
        ck_assert_int_eq(d.code, STOCK_DEDUCT_GONE);
        ck_assert_str_eq(d.note, words[i]);
    }
}
END_TEST

static void assert_closed(const char *note)
{
    struct stock_deducted d = testing_take(&s, "a", 1, 1);

    ck_assert_int_eq(d.code, STOCK_DEDUCT_CLOSED);
    ck_assert_str_eq(d.note, note);
}

START_TEST(deduct_only_while_for_sale)
{
    int64_t now = clock_wall_ms();
    struct stock_order order;

    testing_shard_create(&s, kv, 3, 3);
    testing_shard_meta(&s, "starts_at", now + 60000);
    assert_closed("not_started");
    testing_shard_meta(&s, "starts_at", now - 60000);
    testing_shard_meta(&s, "ends_at", now - 1);
    assert_closed("ended");
    testing_shard_meta(&s, "ends_at", now + 60000);
    testing_shard_meta(&s, "paused", 1);
    assert_closed("paused");
    testing_shard_meta(&s, "paused", 0);
    order = testing_order(&s, "a", 1, 1);
    order.epoch--;
    ck_assert_int_eq(testing_deduct(&s, &order).code, STOCK_DEDUCT_CLOSED);
    order.epoch += 2;
    ck_assert_int_eq(testing_deduct(&s, &order).code, STOCK_DEDUCT_CLOSED);
    ck_assert_int_eq(testing_shard_audit(&s).left, 3);
    ck_assert_int_eq(testing_take(&s, "a", 1, 1).code, STOCK_DEDUCT_TAKEN);
}
END_TEST

/* held, gone, no shard, closed, limit, stock: each must win over all that follow. */
START_TEST(deduct_tests_in_the_promised_order)
{
    testing_shard_create(&s, kv, 1, 1);
    ck_assert_int_eq(testing_take(&s, "mine", 42, 1).code, STOCK_DEDUCT_TAKEN);
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_GONE], "gone", "returned", NULL);
    /* Now stock is 0 and the buyer at the limit. */
    ck_assert_int_eq(testing_take(&s, "new", 42, 1).code, STOCK_DEDUCT_OVER_LIMIT);
    ck_assert_int_eq(testing_take(&s, "new", 43, 1).code, STOCK_DEDUCT_SHORT);
    testing_shard_meta(&s, "paused", 1);
    ck_assert_int_eq(testing_take(&s, "new", 42, 1).code, STOCK_DEDUCT_CLOSED);
    ck_assert_int_eq(testing_take(&s, "gone", 42, 1).code, STOCK_DEDUCT_GONE);
    ck_assert_int_eq(testing_take(&s, "mine", 42, 1).code, STOCK_DEDUCT_HELD);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], NULL);
    ck_assert_int_eq(testing_take(&s, "new", 42, 1).code, STOCK_DEDUCT_NO_SHARD);
    ck_assert_int_eq(testing_take(&s, "gone", 42, 1).code, STOCK_DEDUCT_GONE);
    ck_assert_int_eq(testing_take(&s, "mine", 42, 1).code, STOCK_DEDUCT_HELD);
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_GONE], "mine", "returned", NULL);
    ck_assert_int_eq(testing_take(&s, "mine", 42, 1).code, STOCK_DEDUCT_HELD);
}
END_TEST

START_TEST(deduct_refuses_a_number_held_by_another_purchase)
{
    struct stock_order other;

    testing_shard_create(&s, kv, 10, 5);
    ck_assert_int_eq(testing_take(&s, "a", 42, 1).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_take(&s, "a", 43, 1).code, STOCK_DEDUCT_CONFLICT);
    ck_assert_int_eq(testing_take(&s, "a", 42, 2).code, STOCK_DEDUCT_CONFLICT);
    other = testing_order(&s, "a", 42, 1);
    other.amount++;
    ck_assert_int_eq(testing_deduct(&s, &other).code, STOCK_DEDUCT_CONFLICT);
    ck_assert_int_eq(testing_shard_audit(&s).held, 1);
}
END_TEST

/* One thing out of order at a time; each must be found before anything is written. */
START_TEST(deduct_says_where_the_shard_is_damaged)
{
    static const struct {
        int key;
        const char *field, *value, *note;
    } rows[] = {
        {STOCK_KEY_META, "epoch", "two", "meta"},         {STOCK_KEY_META, "limit", "0", "meta"},
        {STOCK_KEY_META, "limit", "101", "meta"},         {STOCK_KEY_META, "held", "007", "meta"},
        {STOCK_KEY_META, "expire_at", "", "meta"},        {STOCK_KEY_META, "expire_at", "1", "meta"},
        {STOCK_KEY_META, "paused", "1e1", "meta"},        {STOCK_KEY_BUYERS, "42:0", "gibberish", "buyers"},
        {STOCK_KEY_BUYERS, "42:0", "a|0x1", "buyers"},    {STOCK_KEY_HELD, "a", "42|0|1|9900|2", "held"},
        {STOCK_KEY_HELD, "a", "42|0|1|9900|2|x", "held"},
    };
    struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stock_deducted d;

        testing_shard_create(&s, kv, 10, 5);
        testing_redis_run(kv, "HSET", s.keys.text[rows[i].key], rows[i].field, rows[i].value, NULL);
        testing_shard_dump(&s, &before);
        d = testing_take(&s, "a", 42, 1);
        ck_assert_msg(d.code == STOCK_DEDUCT_DAMAGED, "row %zu: code %d", i, d.code);
        ck_assert_str_eq(d.note, rows[i].note);
        testing_shard_dump(&s, &after);
        ck_assert(same(&before, &after));
    }
    testing_shard_create(&s, kv, 10, 5);
    testing_redis_run(kv, "SET", s.keys.text[STOCK_KEY_STOCK], "ten", NULL);
    ck_assert_str_eq(testing_take(&s, "a", 42, 1).note, "stock");
    testing_shard_create(&s, kv, 10, 5);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_META], NULL);
    ck_assert_str_eq(testing_take(&s, "a", 42, 1).note, "meta");
    strbuf_release(&before);
    strbuf_release(&after);
}
END_TEST

/* A key of a foreign type is an error reply of the script, before its first write. */
START_TEST(foreign_types_are_errors_without_effect)
{
    struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;

    for (int which = 0; which < STOCK_KEY_COUNT; which++) {
        struct stock_order order;
        struct stock_deducted d;
        struct error err;

        testing_shard_create(&s, kv, 10, 5);
        testing_redis_run(kv, "DEL", s.keys.text[which], NULL);
        testing_redis_run(kv, "SADD", s.keys.text[which], "x", NULL);
        testing_shard_dump(&s, &before);
        order = testing_order(&s, "a", 42, 1);
        ck_assert(!stock_deduct(kv, &order, &d, &err));
        ck_assert_msg(err.code == ERROR_KV_DATA, "%s", err.text);
        ck_assert_ptr_nonnull(strstr(err.text, "WRONGTYPE"));
        testing_shard_dump(&s, &after);
        ck_assert(same(&before, &after));
    }
    testing_redis_run(kv, "PING", NULL); /* and the connection is as good as before */
    strbuf_release(&before);
    strbuf_release(&after);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_deduct");
    TCase *tc = tcase_create("stock_deduct");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, deduct_takes_and_repeats);
    tcase_add_test(tc, deduct_gives_the_lowest_free_mark);
    tcase_add_test(tc, deduct_counts_units_against_the_limit);
    tcase_add_test(tc, deduct_stops_at_the_last_unit);
    tcase_add_test(tc, deduct_without_shard);
    tcase_add_test(tc, deduct_after_the_order_is_gone);
    tcase_add_test(tc, deduct_only_while_for_sale);
    tcase_add_test(tc, deduct_tests_in_the_promised_order);
    tcase_add_test(tc, deduct_refuses_a_number_held_by_another_purchase);
    tcase_add_test(tc, deduct_says_where_the_shard_is_damaged);
    tcase_add_test(tc, foreign_types_are_errors_without_effect);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
