/* adopt: every code, where its units come from, marks, all three statuses, epochs, and what came before or after. */
#include "testing_stock.h"

#include <inttypes.h>
#include <stdio.h>

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

static struct stock_adopted adopted(const char *order_no, int64_t user, int64_t quantity, enum stock_adopt_as as,
                                    int code, const char *note)
{
    struct stock_adopted answer = testing_adopt(&s, order_no, user, quantity, as);

    ck_assert_msg(answer.code == code, "%s: code %d, not %d", order_no, answer.code, code);
    ck_assert_str_eq(answer.note, note);
    return answer;
}

#define PENDING STOCK_ADOPT_AS_PENDING
#define PAID    STOCK_ADOPT_AS_PAID
#define CLOSED  STOCK_ADOPT_AS_CLOSED

START_TEST(adopt_puts_a_pending_order_into_the_ledger)
{
    struct stock_row row;
    struct stock_adopted answer;
    struct stock_audit a;
    struct strbuf after = STRBUF_INIT;
    char want[128];

    testing_shard_create(&s, kv, 10, 5);
    row = testing_row(&s, "9007199254740993000", BIG_USER, 3, PENDING);
    row.user_seq = 2;
    row.epoch = 1; /* of before a rebuild */
    answer = testing_adopt_row(&s, &row);
    ck_assert_int_eq(answer.code, STOCK_ADOPT_ADOPTED);
    ck_assert_int_eq(answer.from_left, 3);
    ck_assert_int_eq(answer.from_forfeited, 0);
    ck_assert_int_eq(answer.left, 7);
    ck_assert_str_eq(answer.note, "");
    snprintf(want, sizeof want, "%" PRId64 "|2|3|29700|1|%" PRId64, BIG_USER, s.plan.starts_at + 1);
    testing_shard_hash(&s, STOCK_KEY_HELD, "9007199254740993000", want);
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "9007199254740993:2", "9007199254740993000|3");
    testing_shard_dump(&s, &after);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(testing_adopt_row(&s, &row).code, STOCK_ADOPT_HELD);
    ck_assert(testing_shard_is(&s, &after)); /* repeating writes nothing */
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.held, 3);
    ck_assert_int_eq(a.held_orders, 1);
    ck_assert_int_gt(a.ttl_held, 800000);
    ck_assert_int_gt(a.ttl_buyers, 800000);
    strbuf_release(&after);
}
END_TEST

START_TEST(adopt_sells_a_paid_order_at_once)
{
    struct stock_audit a;
    struct strbuf after = STRBUF_INIT;

    testing_shard_create(&s, kv, 10, 5);
    ck_assert_int_eq(adopted("a", 42, 3, PAID, STOCK_ADOPT_ADOPTED, "").left, 7);
    testing_shard_hash(&s, STOCK_KEY_GONE, "a", "sold");
    testing_shard_hash(&s, STOCK_KEY_HELD, "a", NULL);
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "42:0", "a|3");
    testing_shard_dump(&s, &after);
    adopted("a", 42, 3, PAID, STOCK_ADOPT_SOLD, "");
    adopted("a", 42, 3, PENDING, STOCK_ADOPT_SOLD, ""); /* a row that was read before the payment */
    ck_assert(testing_shard_is(&s, &after));
    ck_assert_int_eq(testing_settle(&s, "a").code, STOCK_SETTLE_ALREADY);
    ck_assert_str_eq(testing_give(&s, "a", 3).note, "sold");
    ck_assert_int_eq(testing_take(&s, "a", 42, 3).code, STOCK_DEDUCT_GONE);
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.sold, 3);
    ck_assert_int_eq(a.held, 0);
    ck_assert_int_gt(a.ttl_gone, 800000);
    strbuf_release(&after);
}
END_TEST

/* What is in the ledger stays there until settle moves it, so that units are moved by one script only. */
START_TEST(adopt_as_paid_leaves_the_ledger_to_settle)
{
    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    adopted("a", 42, 3, PAID, STOCK_ADOPT_HELD, "");
    ck_assert_int_eq(testing_shard_audit(&s).held, 3);
    ck_assert_int_eq(testing_settle(&s, "a").units, 3);
    adopted("a", 42, 3, PAID, STOCK_ADOPT_SOLD, "");
    ck_assert_int_eq(testing_shard_audit(&s).sold, 3);
}
END_TEST

START_TEST(adopt_takes_the_forfeited_units_first)
{
    struct stock_adopted answer;
    struct stock_audit a;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "x", 1, 5);
    testing_forfeit(&s, "x", 3); /* 7 left, 3 forfeited */
    answer = adopted("a", 42, 2, PENDING, STOCK_ADOPT_ADOPTED, "");
    ck_assert_int_eq(answer.from_forfeited, 2);
    ck_assert_int_eq(answer.from_left, 0);
    ck_assert_int_eq(answer.left, 7);
    answer = adopted("b", 43, 4, PAID, STOCK_ADOPT_ADOPTED, "");
    ck_assert_int_eq(answer.from_forfeited, 1);
    ck_assert_int_eq(answer.from_left, 3);
    ck_assert_int_eq(answer.left, 4);
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.forfeited, 0);
    ck_assert_int_eq(a.held, 2);
    ck_assert_int_eq(a.sold, 4);
}
END_TEST

START_TEST(adopt_of_more_than_there_is_changes_nothing)
{
    struct strbuf before = STRBUF_INIT;

    testing_shard_create(&s, kv, 5, 5);
    testing_take(&s, "x", 1, 3);
    testing_take(&s, "y", 2, 1);
    testing_forfeit(&s, "y", 1); /* 1 left, 3 held, 1 forfeited */
    testing_shard_dump(&s, &before);
    ck_assert_int_eq(adopted("a", 42, 3, PENDING, STOCK_ADOPT_SHORT, "").left, 1);
    ck_assert_int_eq(adopted("a", 42, 3, PAID, STOCK_ADOPT_SHORT, "").left, 1);
    ck_assert(testing_shard_is(&s, &before));
    testing_give(&s, "x", 3);
    ck_assert_int_eq(adopted("a", 42, 3, PENDING, STOCK_ADOPT_ADOPTED, "").left, 2);
    testing_shard_audit(&s);
    strbuf_release(&before);
}
END_TEST

START_TEST(adopt_sets_only_a_mark_that_is_free)
{
    struct strbuf before = STRBUF_INIT;
    struct stock_audit a;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 2);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_BUYERS], NULL);
    adopted("a", 42, 2, PENDING, STOCK_ADOPT_HELD, "");
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "42:0", "a|2");
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.left, 8);
    ck_assert_int_gt(a.ttl_buyers, 800000);

    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_BUYERS], "42:0", "other|1", NULL);
    testing_shard_dump(&s, &before);
    adopted("a", 42, 2, PENDING, STOCK_ADOPT_HELD, "mark_taken");
    ck_assert(testing_shard_is(&s, &before));
    testing_settle(&s, "a");
    adopted("a", 42, 2, PAID, STOCK_ADOPT_SOLD, "mark_taken");
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_BUYERS], NULL);
    adopted("a", 42, 2, PAID, STOCK_ADOPT_SOLD, "");
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "42:0", "a|2");

    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_BUYERS], "43:0", "other|1", NULL);
    adopted("b", 43, 2, PENDING, STOCK_ADOPT_ADOPTED, "mark_taken"); /* its units count all the same */
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "43:0", "other|1");
    ck_assert_int_eq(testing_shard_audit(&s).held, 2);
    strbuf_release(&before);
}
END_TEST

START_TEST(adopt_of_what_is_gone_changes_nothing)
{
    static const char *const words[] = {"returned", "forfeited", "refused"};
    struct strbuf before = STRBUF_INIT;

    testing_shard_create(&s, kv, 10, 5);
    for (size_t i = 0; i < 3; i++)
        testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_GONE], words[i], words[i], NULL);
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_GONE], "sold", "sold", NULL);
    testing_shard_dump(&s, &before);
    for (size_t i = 0; i < 3; i++) {
        adopted(words[i], 42, 1, PENDING, STOCK_ADOPT_GONE, words[i]);
        adopted(words[i], 42, 1, PAID, STOCK_ADOPT_GONE, words[i]);
    }
    adopted("sold", 42, 1, CLOSED, STOCK_ADOPT_GONE, "sold");
    ck_assert(testing_shard_is(&s, &before));
    strbuf_release(&before);
}
END_TEST

/* Where buying again after release is forbidden, a rebuild brings the marks of closed orders back, and no units. */
START_TEST(adopt_of_a_closed_order_sets_its_mark_alone)
{
    struct stock_giveback g;
    struct stock_audit a;

    testing_shard_create(&s, kv, 10, 1);
    adopted("a", 42, 1, CLOSED, STOCK_ADOPT_MARKED, "");
    adopted("a", 42, 1, CLOSED, STOCK_ADOPT_MARKED, "");
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "42:0", "a|1");
    ck_assert_int_eq(testing_take(&s, "b", 42, 1).code, STOCK_DEDUCT_OVER_LIMIT);
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.left, 10);
    ck_assert_int_eq(a.gone_orders + a.held_orders, 0);

    testing_take(&s, "c", 43, 1);
    adopted("c", 43, 1, CLOSED, STOCK_ADOPT_HELD, ""); /* its return is on its way */
    g = testing_giveback(&s, "c", 1);
    g.free_mark = false;
    ck_assert_int_eq(testing_return(&s, &g).back, 1);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_BUYERS], NULL);
    adopted("c", 43, 1, CLOSED, STOCK_ADOPT_MARKED, "");
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "43:0", "c|1");
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_BUYERS], "44:0", "other|1", NULL);
    adopted("d", 44, 1, CLOSED, STOCK_ADOPT_MARKED, "mark_taken");
    ck_assert_int_eq(testing_shard_audit(&s).left, 10);
}
END_TEST

START_TEST(adopt_names_a_number_held_by_another_purchase)
{
    struct strbuf before = STRBUF_INIT;
    struct stock_row rows[4];

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 2);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_BUYERS], NULL);
    testing_shard_dump(&s, &before);
    for (int i = 0; i < 4; i++)
        rows[i] = testing_row(&s, "a", 42, 2, PENDING);
    rows[0].user++;
    rows[1].user_seq++;
    rows[2].quantity++;
    rows[3].amount++;
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(testing_adopt_row(&s, &rows[i]).code, STOCK_ADOPT_CONFLICT);
    ck_assert(testing_shard_is(&s, &before));
    strbuf_release(&before);
}
END_TEST

START_TEST(adopt_and_epochs)
{
    struct stock_row row;
    struct strbuf before = STRBUF_INIT;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "b", 43, 1);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_BUYERS], NULL);
    row = testing_row(&s, "a", 42, 1, PENDING);
    row.epoch++;
    testing_shard_dump(&s, &before);
    ck_assert_int_eq(testing_adopt_row(&s, &row).code, STOCK_ADOPT_NEWER_EPOCH);
    row.as = CLOSED;
    ck_assert_int_eq(testing_adopt_row(&s, &row).code, STOCK_ADOPT_NEWER_EPOCH);
    ck_assert(testing_shard_is(&s, &before));
    row.as = PENDING;
    row.epoch = 1;
    ck_assert_int_eq(testing_adopt_row(&s, &row).code, STOCK_ADOPT_ADOPTED);
    row = testing_row(&s, "b", 43, 1, PENDING); /* what the ledger has is the order's, whatever its epoch */
    row.epoch = 99;
    ck_assert_int_eq(testing_adopt_row(&s, &row).code, STOCK_ADOPT_HELD);
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "43:0", "b|1");
    testing_shard_audit(&s);
    strbuf_release(&before);
}
END_TEST

START_TEST(adopt_asks_neither_window_nor_pause_nor_limit)
{
    struct stock_row row;

    testing_shard_create(&s, kv, 10, 1);
    testing_take(&s, "a", 42, 1);
    testing_shard_meta(&s, "paused", 1);
    testing_shard_meta(&s, "ends_at", s.plan.starts_at + 1);
    row = testing_row(&s, "b", 42, 4, PENDING);
    row.user_seq = 9999;
    ck_assert_int_eq(testing_adopt_row(&s, &row).code, STOCK_ADOPT_ADOPTED);
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "42:9999", "b|4");
    ck_assert_int_eq(testing_shard_audit(&s).held, 5);
}
END_TEST

START_TEST(adopt_without_shard)
{
    testing_shard_plan(&s, kv, 10, 5);
    adopted("a", 42, 1, PENDING, STOCK_ADOPT_NO_SHARD, "");
    adopted("a", 42, 1, CLOSED, STOCK_ADOPT_NO_SHARD, "");
    testing_shard_create(&s, kv, 10, 5);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], NULL);
    adopted("a", 42, 1, PAID, STOCK_ADOPT_NO_SHARD, "");
    testing_shard_hash(&s, STOCK_KEY_GONE, "a", NULL);
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_HELD], "b", "42|0|1|9900|2|5", NULL);
    adopted("b", 42, 1, PENDING, STOCK_ADOPT_NO_SHARD, ""); /* its mark cannot be set */
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_BUYERS], "42:0", "b|1", NULL);
    ck_assert_int_eq(adopted("b", 42, 1, PENDING, STOCK_ADOPT_HELD, "").left,
                     -1); /* as deduct: nothing is to be done */
}
END_TEST

START_TEST(adopted_orders_live_on_as_deducted_ones_do)
{
    struct stock_deducted d;

    testing_shard_create(&s, kv, 10, 2);
    adopted("a", 42, 1, PENDING, STOCK_ADOPT_ADOPTED, "");
    d = testing_take(&s, "a", 42, 1); /* the web tier repeats its call */
    ck_assert_int_eq(d.code, STOCK_DEDUCT_HELD);
    ck_assert_int_eq(d.user_seq, 0);
    ck_assert_int_eq(d.reserved_at, s.plan.starts_at + 1);
    ck_assert_int_eq(testing_take(&s, "b", 42, 1).user_seq, 1);
    ck_assert_int_eq(testing_take(&s, "c", 42, 1).code, STOCK_DEDUCT_OVER_LIMIT);
    ck_assert_int_eq(testing_give(&s, "a", 0).back, 1);
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "42:0", NULL);
    adopted("a", 42, 1, PENDING, STOCK_ADOPT_GONE, "returned");
    ck_assert_int_eq(testing_shard_audit(&s).left, 9);
}
END_TEST

/* The row was read as live, then it was closed and its return ran first: in the shard's epoch, and after a rebuild. */
START_TEST(a_late_adopt_never_beats_the_return)
{
    struct stock_giveback g;
    struct stock_row row;

    testing_shard_create(&s, kv, 10, 5);
    ck_assert_int_eq(testing_give(&s, "a", 1).code, STOCK_RETURN_REFUSED);
    adopted("a", 42, 1, PENDING, STOCK_ADOPT_GONE, "refused");
    g = testing_giveback(&s, "b", 1);
    g.epoch--;
    ck_assert_str_eq(testing_return(&s, &g).note, "old_epoch");
    ck_assert_str_eq(testing_return(&s, &g).note, "refused");
    row = testing_row(&s, "b", 43, 1, PENDING);
    row.epoch--;
    ck_assert_int_eq(testing_adopt_row(&s, &row).code, STOCK_ADOPT_GONE);
    /* A rebuild adopts the orders of a foreign web tier too, and nobody would ever return them again. */
    g = testing_giveback(&s, "c", 1);
    g.reservations = false;
    g.epoch--;
    ck_assert_str_eq(testing_return(&s, &g).note, "old_epoch");
    row = testing_row(&s, "c", 44, 1, PENDING);
    row.epoch--;
    ck_assert_int_eq(testing_adopt_row(&s, &row).code, STOCK_ADOPT_GONE);
    ck_assert_int_eq(testing_shard_audit(&s).left, 10);
}
END_TEST

START_TEST(adopt_many_in_one_round_trip)
{
    enum { N = 300 };
    char names[N][16];
    struct stock_row rows[N];
    struct stock_adopted out[N];
    struct error errs[N], err;
    struct stock_audit a;

    testing_shard_create(&s, kv, N, 1);
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "o%d", i);
        rows[i] = testing_row(&s, names[i], BIG_USER + i, 1, i % 2 ? PENDING : PAID);
    }
    for (int round = 0; round < 2; round++) {
        ck_assert_ok(stock_adopt_many(kv, rows, N, out, errs, &err), &err);
        for (int i = 0; i < N; i++) {
            ck_assert_int_eq(errs[i].code, ERROR_NONE);
            ck_assert_int_eq(out[i].code, round == 0 ? STOCK_ADOPT_ADOPTED
                                          : i % 2    ? STOCK_ADOPT_HELD
                                                     : STOCK_ADOPT_SOLD);
        }
    }
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.left, 0);
    ck_assert_int_eq(a.held, N / 2);
    ck_assert_int_eq(a.sold, N / 2);
    ck_assert_int_eq(a.buyer_marks, N);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_adopt");
    TCase *tc = tcase_create("stock_adopt");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, adopt_puts_a_pending_order_into_the_ledger);
    tcase_add_test(tc, adopt_sells_a_paid_order_at_once);
    tcase_add_test(tc, adopt_as_paid_leaves_the_ledger_to_settle);
    tcase_add_test(tc, adopt_takes_the_forfeited_units_first);
    tcase_add_test(tc, adopt_of_more_than_there_is_changes_nothing);
    tcase_add_test(tc, adopt_sets_only_a_mark_that_is_free);
    tcase_add_test(tc, adopt_of_what_is_gone_changes_nothing);
    tcase_add_test(tc, adopt_of_a_closed_order_sets_its_mark_alone);
    tcase_add_test(tc, adopt_names_a_number_held_by_another_purchase);
    tcase_add_test(tc, adopt_and_epochs);
    tcase_add_test(tc, adopt_asks_neither_window_nor_pause_nor_limit);
    tcase_add_test(tc, adopt_without_shard);
    tcase_add_test(tc, adopted_orders_live_on_as_deducted_ones_do);
    tcase_add_test(tc, a_late_adopt_never_beats_the_return);
    tcase_add_test(tc, adopt_many_in_one_round_trip);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
