/* What holds for a shard as a whole: audit, TTLs, the walk over its orders, a script flush between two calls. */
#include "testing_stock.h"

#include <stdio.h>
#include <stdlib.h>

#define LONG_TEXT "42|0|1|9900|2|12345678901234567890123456789012345678901234567890123456789012345678901234567890"
#define BIG_USER  INT64_C(9007199254740993) /* 2^53 + 1: a double cannot hold it */

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

START_TEST(audit_tells_absent_from_damaged)
{
    struct stock_audit a;
    struct error err;

    testing_shard_plan(&s, kv, 10, 5);
    ck_assert_ok(stock_audit(kv, s.plan.activity, s.plan.shard, &a, &err), &err);
    ck_assert_int_eq(a.code, STOCK_AUDIT_NO_SHARD);
    ck_assert_int_eq(a.ttl_stock, -2);
    ck_assert(!stock_verify(kv, &s.plan, &err));
    testing_shard_create(&s, kv, 10, 5);
    testing_redis_run(kv, "SET", s.keys.text[STOCK_KEY_STOCK], "-3", NULL);
    ck_assert_ok(stock_audit(kv, s.plan.activity, s.plan.shard, &a, &err), &err);
    ck_assert_int_eq(a.code, STOCK_AUDIT_PRESENT);
    ck_assert_int_eq(a.left, -3);
    ck_assert_int_eq(a.ttl_stock, -1);
    ck_assert(!stock_audit_balances(&a));
    testing_redis_run(kv, "HDEL", s.keys.text[STOCK_KEY_META], "cap", NULL);
    ck_assert_ok(stock_audit(kv, s.plan.activity, s.plan.shard, &a, &err), &err);
    ck_assert_int_eq(a.code, STOCK_AUDIT_DAMAGED);
}
END_TEST

START_TEST(ttl_survives_an_emptied_hash)
{
    struct stock_audit a;

    testing_shard_create(&s, kv, 10, 5);
    for (int round = 0; round < 3; round++) {
        char order_no[16];

        snprintf(order_no, sizeof order_no, "o%d", round);
        testing_take(&s, order_no, 42, 1);
        a = testing_shard_audit(&s);
        ck_assert_int_gt(a.ttl_held, 800000);
        ck_assert_int_gt(a.ttl_buyers, 800000);
        testing_give(&s, order_no, 1); /* empties held and buyers: Redis deletes them, TTL and all */
        a = testing_shard_audit(&s);
        ck_assert_int_eq(a.ttl_held, -2);
        ck_assert_int_eq(a.ttl_buyers, -2);
        ck_assert_int_gt(a.ttl_gone, 800000);
    }
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_GONE], NULL);
    testing_give(&s, "unknown", 1);
    ck_assert_int_gt(testing_shard_audit(&s).ttl_gone, 800000);
}
END_TEST

struct seen {
    int orders[300];
    int invalid, stop_after, count;
    enum stock_gone gone;
};

static bool see(const struct stock_entry *entry, void *data)
{
    struct seen *seen = data;

    seen->count++;
    if (!entry->valid) {
        seen->invalid++;
    } else {
        int n = atoi(entry->order_no.ptr + 1);

        ck_assert_int_lt(n, 300);
        seen->orders[n]++;
        seen->gone = entry->gone;
        if (entry->gone == STOCK_GONE_NONE) {
            ck_assert_int_eq(entry->user, BIG_USER + n);
            ck_assert_int_eq(entry->quantity, 1);
            ck_assert_int_eq(entry->amount, 9900);
            ck_assert_int_eq(entry->epoch, 2);
            ck_assert_int_gt(entry->reserved_at, 1700000000000);
        }
    }
    return seen->count != seen->stop_after;
}

static void fill(int count)
{
    char names[300][16];
    struct stock_order orders[300];
    struct stock_deducted out[300];
    struct error errs[300], err;

    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "o%d", i);
        orders[i] = testing_order(&s, names[i], BIG_USER + i, 1);
    }
    ck_assert_ok(stock_deduct_many(kv, orders, (size_t)count, out, errs, &err), &err);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(errs[i].code, ERROR_NONE);
        ck_assert_int_eq(out[i].code, STOCK_DEDUCT_TAKEN);
        ck_assert_int_eq(out[i].left, 299 - i);
    }
}

START_TEST(walk_shows_every_order)
{
    struct stock_walk walk;
    struct seen seen = {0};
    struct stock_giveback back[300];
    struct stock_returned out[300];
    struct error errs[300], err;
    char names[300][16];

    testing_shard_create(&s, kv, 300, 1);
    fill(300);
    /* Not in our format, and long enough that Redis keeps the hash as a table, which HSCAN shows page by page. */
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_HELD], "strange", LONG_TEXT, NULL);
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_GONE], "strange", LONG_TEXT, NULL);
    walk = (struct stock_walk){s.plan.activity, s.plan.shard, STOCK_KEY_HELD, 25, 1};
    ck_assert_ok(stock_walk(kv, &walk, see, &seen, &err), &err);
    for (int i = 0; i < 300; i++)
        ck_assert_int_ge(seen.orders[i], 1);
    ck_assert_int_ge(seen.invalid, 1);

    seen = (struct seen){.stop_after = 7};
    ck_assert_ok(stock_walk(kv, &walk, see, &seen, &err), &err);
    ck_assert_int_eq(seen.count, 7);

    for (int i = 0; i < 300; i++) {
        snprintf(names[i], sizeof names[i], "o%d", i);
        back[i] = testing_giveback(&s, names[i], 1);
    }
    ck_assert_ok(stock_return_many(kv, back, 300, out, errs, &err), &err);
    ck_assert_int_eq(out[299].left, 300);
    seen = (struct seen){0};
    walk.key = STOCK_KEY_GONE;
    ck_assert_ok(stock_walk(kv, &walk, see, &seen, &err), &err);
    for (int i = 0; i < 300; i++)
        ck_assert_int_ge(seen.orders[i], 1);
    ck_assert_int_eq(seen.gone, STOCK_GONE_RETURNED);
}
END_TEST

START_TEST(calls_survive_a_script_flush)
{
    struct stock_preheated preheated;
    struct error err;

    testing_shard_create(&s, kv, 300, 5);
    ck_assert_int_eq(testing_take(&s, "a", 42, 1).code, STOCK_DEDUCT_TAKEN);
    testing_redis_run(kv, "SCRIPT", "FLUSH", NULL);
    ck_assert_int_eq(testing_take(&s, "b", 42, 1).code, STOCK_DEDUCT_TAKEN);
    testing_redis_run(kv, "SCRIPT", "FLUSH", NULL);
    ck_assert_int_eq(testing_give(&s, "a", 1).code, STOCK_RETURN_GIVEN_BACK);
    testing_redis_run(kv, "SCRIPT", "FLUSH", NULL);
    ck_assert_ok(stock_verify(kv, &s.plan, &err), &err);
    testing_redis_run(kv, "SCRIPT", "FLUSH", NULL);
    ck_assert_ok(stock_preheat(kv, &s.plan, &preheated, &err), &err);
    ck_assert_int_eq(preheated.code, STOCK_PREHEAT_COMPLETE);
    ck_assert_int_eq(testing_shard_audit(&s).held, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock");
    TCase *tc = tcase_create("stock");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, audit_tells_absent_from_damaged);
    tcase_add_test(tc, ttl_survives_an_emptied_hash);
    tcase_add_test(tc, walk_shows_every_order);
    tcase_add_test(tc, calls_survive_a_script_flush);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
