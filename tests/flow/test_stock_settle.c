/* settle: every code, once-ness, the mark that stays, and every order in which it can meet deduct, return and adopt. */
#include "testing_stock.h"

#include <stdio.h>
#include <string.h>

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

static void settled(const char *order_no, int code, const char *note)
{
    struct stock_settled answer = testing_settle(&s, order_no);

    ck_assert_int_eq(answer.code, code);
    ck_assert_str_eq(answer.note, note);
}

START_TEST(settle_sells_once)
{
    struct stock_settled answer;
    struct stock_audit a;

    testing_shard_create(&s, kv, 10, 3);
    testing_take(&s, "a", 42, 2);
    testing_take(&s, "b", 43, 1);
    answer = testing_settle(&s, "a");
    ck_assert_int_eq(answer.code, STOCK_SETTLE_SETTLED);
    ck_assert_int_eq(answer.units, 2);
    testing_shard_hash(&s, STOCK_KEY_HELD, "a", NULL);
    testing_shard_hash(&s, STOCK_KEY_GONE, "a", "sold");
    for (int i = 0; i < 3; i++) {
        answer = testing_settle(&s, "a");
        ck_assert_int_eq(answer.code, STOCK_SETTLE_ALREADY);
        ck_assert_int_eq(answer.units, 0);
        ck_assert_str_eq(answer.note, "sold");
    }
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.left, 7);
    ck_assert_int_eq(a.held, 1);
    ck_assert_int_eq(a.sold, 2);
    ck_assert_int_eq(a.held_orders, 1);
}
END_TEST

START_TEST(settle_keeps_the_mark_and_the_limit)
{
    testing_shard_create(&s, kv, 10, 3);
    testing_take(&s, "a", 42, 2);
    settled("a", STOCK_SETTLE_SETTLED, "");
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "42:0", "a|2");
    ck_assert_int_eq(testing_take(&s, "b", 42, 2).code, STOCK_DEDUCT_OVER_LIMIT);
    ck_assert_int_eq(testing_take(&s, "b", 42, 1).user_seq, 1);
}
END_TEST

START_TEST(sold_is_final)
{
    struct stock_returned r;
    struct stock_deducted d;

    testing_shard_create(&s, kv, 10, 3);
    testing_take(&s, "a", 42, 2);
    settled("a", STOCK_SETTLE_SETTLED, "");
    r = testing_give(&s, "a", 2);
    ck_assert_int_eq(r.code, STOCK_RETURN_ALREADY);
    ck_assert_str_eq(r.note, "sold");
    d = testing_take(&s, "a", 42, 2);
    ck_assert_int_eq(d.code, STOCK_DEDUCT_GONE);
    ck_assert_str_eq(d.note, "sold");
    ck_assert_int_eq(testing_shard_audit(&s).sold, 2);
}
END_TEST

START_TEST(settle_after_another_end_says_which)
{
    testing_shard_create(&s, kv, 10, 3);
    testing_take(&s, "a", 42, 2);
    testing_give(&s, "a", 2);
    settled("a", STOCK_SETTLE_GONE, "returned");
    testing_take(&s, "b", 42, 2);
    testing_forfeit(&s, "b", 1);
    settled("b", STOCK_SETTLE_GONE, "forfeited");
    testing_give(&s, "c", 1);
    settled("c", STOCK_SETTLE_GONE, "refused");
    ck_assert_int_eq(testing_shard_audit(&s).sold, 0);
}
END_TEST

/* Before its deduct, or after a failover lost it: nothing may be moved that was never taken. */
START_TEST(settle_without_reservation_changes_nothing)
{
    struct strbuf before = STRBUF_INIT;

    testing_shard_plan(&s, kv, 10, 3);
    settled("a", STOCK_SETTLE_NO_SHARD, "");
    testing_shard_create(&s, kv, 10, 3);
    testing_take(&s, "z", 1, 1);
    testing_shard_dump(&s, &before);
    settled("a", STOCK_SETTLE_NO_RESERVATION, "");
    ck_assert(testing_shard_is(&s, &before));
    ck_assert_int_eq(testing_take(&s, "a", 42, 2).code, STOCK_DEDUCT_TAKEN);
    settled("a", STOCK_SETTLE_SETTLED, "");
    strbuf_release(&before);
}
END_TEST

START_TEST(settle_waits_for_a_lost_shard)
{
    testing_shard_create(&s, kv, 10, 3);
    testing_take(&s, "a", 42, 2);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], NULL);
    settled("a", STOCK_SETTLE_NO_SHARD, "");
    testing_shard_hash(&s, STOCK_KEY_GONE, "a", NULL);
    testing_redis_run(kv, "SET", s.keys.text[STOCK_KEY_STOCK], "8", NULL);
    settled("a", STOCK_SETTLE_SETTLED, "");
    testing_shard_audit(&s); /* with its TTL again */
}
END_TEST

/* No script leaves an order in both hashes; should one be in both all the same, its units must not be lost. */
START_TEST(settle_believes_the_ledger_first)
{
    testing_shard_create(&s, kv, 10, 3);
    testing_take(&s, "a", 42, 2);
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_GONE], "a", "returned", NULL);
    settled("a", STOCK_SETTLE_SETTLED, "");
    testing_shard_hash(&s, STOCK_KEY_GONE, "a", "sold");
    ck_assert_int_eq(testing_shard_audit(&s).sold, 2);
}
END_TEST

START_TEST(settle_asks_neither_window_nor_pause_nor_epoch)
{
    testing_shard_create(&s, kv, 10, 3);
    testing_take(&s, "a", 42, 2);
    testing_shard_meta(&s, "paused", 1);
    testing_shard_meta(&s, "ends_at", s.plan.starts_at + 1);
    testing_shard_meta(&s, "epoch", 9);
    settled("a", STOCK_SETTLE_SETTLED, "");
    ck_assert_int_eq(testing_shard_audit(&s).sold, 2);
}
END_TEST

START_TEST(settle_many_in_one_round_trip)
{
    enum { N = 200 };
    char names[N][16];
    struct stock_paid orders[N];
    struct stock_settled out[N];
    struct error errs[N], err;
    struct stock_audit a;

    testing_shard_create(&s, kv, N, 1);
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "o%d", i / 2 * 2); /* each twice */
        orders[i] = (struct stock_paid){s.plan.activity, s.plan.shard, slice_of(names[i])};
        if (i % 2 == 0)
            testing_take(&s, names[i], 1 + i, 1);
    }
    ck_assert_ok(stock_settle_many(kv, orders, N, out, errs, &err), &err);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(errs[i].code, ERROR_NONE);
        ck_assert_int_eq(out[i].code, i % 2 ? STOCK_SETTLE_ALREADY : STOCK_SETTLE_SETTLED);
    }
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.sold, N / 2);
    ck_assert_int_eq(a.held, 0);
    ck_assert_int_eq(a.ttl_held, -2);
}
END_TEST

/* deduct, adopt (as the row stood at some time), settle and return of one order in every order, the last two exclusive
 * in the database: whatever came first, it ends in one place, with its units in one place. */
START_TEST(every_order_of_calls_ends_in_one_state)
{
    static const char *const plans[] = {"dasS", "dsaS", "adsS", "asdS", "sdaS", "sadS", "dssa", "assd", "sAdS", "AsdS",
                                        "Adss", "dAsS", "dsAs", "darR", "draR", "adrR", "ardR", "rdaR", "radR", "drra"};

    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        bool paid = strchr(plans[i], 's') != NULL;
        struct stock_audit a;

        testing_shard_create(&s, kv, 10, 3);
        for (const char *step = plans[i]; *step; step++) {
            if (*step == 'd')
                testing_take(&s, "a", 42, 2);
            else if (*step == 'a')
                testing_adopt(&s, "a", 42, 2, STOCK_ADOPT_AS_PENDING);
            else if (*step == 'A')
                testing_adopt(&s, "a", 42, 2, STOCK_ADOPT_AS_PAID);
            else if (*step == 's' || *step == 'S')
                testing_settle(&s, "a");
            else
                testing_give(&s, "a", 2);
            testing_shard_audit(&s);
        }
        a = testing_shard_audit(&s);
        ck_assert_msg(a.held == 0 && a.held_orders == 0, "%s: still held", plans[i]);
        ck_assert_msg(a.sold == (paid ? 2 : 0), "%s: %ld sold", plans[i], (long)a.sold);
        ck_assert_msg(a.left == 10 - a.sold, "%s: %ld left", plans[i], (long)a.left);
        ck_assert_msg(a.gone_orders == 1, "%s: not gone", plans[i]);
        ck_assert_msg(a.buyer_marks == (paid ? 1 : 0), "%s: %ld marks", plans[i], (long)a.buyer_marks);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_settle");
    TCase *tc = tcase_create("stock_settle");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, settle_sells_once);
    tcase_add_test(tc, settle_keeps_the_mark_and_the_limit);
    tcase_add_test(tc, sold_is_final);
    tcase_add_test(tc, settle_after_another_end_says_which);
    tcase_add_test(tc, settle_without_reservation_changes_nothing);
    tcase_add_test(tc, settle_waits_for_a_lost_shard);
    tcase_add_test(tc, settle_believes_the_ledger_first);
    tcase_add_test(tc, settle_asks_neither_window_nor_pause_nor_epoch);
    tcase_add_test(tc, settle_many_in_one_round_trip);
    tcase_add_test(tc, every_order_of_calls_ends_in_one_state);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
