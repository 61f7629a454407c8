/* return: every code, once-ness, cap, marks, epochs, both modes. */
#include "testing_stock.h"

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

START_TEST(return_gives_back_once)
{
    struct stock_returned r;
    struct stock_audit a;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    r = testing_give(&s, "a", 999); /* the ledger knows better than the caller */
    ck_assert_int_eq(r.code, STOCK_RETURN_GIVEN_BACK);
    ck_assert_int_eq(r.back, 3);
    ck_assert_int_eq(r.left, 10);
    testing_shard_hash(&s, STOCK_KEY_HELD, "a", NULL);
    testing_shard_hash(&s, STOCK_KEY_GONE, "a", "returned");
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "42:0", NULL);
    for (int i = 0; i < 3; i++) {
        r = testing_give(&s, "a", 3);
        ck_assert_int_eq(r.code, STOCK_RETURN_ALREADY);
        ck_assert_str_eq(r.note, "returned");
        ck_assert_int_eq(r.back, 0);
    }
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.left, 10);
    ck_assert_int_eq(a.held, 0);
}
END_TEST

/* No script leaves an order in both hashes; should one be in both all the same, its units must still come back. */
START_TEST(return_believes_the_ledger_first)
{
    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_GONE], "a", "returned", NULL);
    ck_assert_int_eq(testing_give(&s, "a", 3).code, STOCK_RETURN_GIVEN_BACK);
    ck_assert_int_eq(testing_give(&s, "a", 3).code, STOCK_RETURN_ALREADY);
    ck_assert_int_eq(testing_shard_audit(&s).left, 10);
}
END_TEST

START_TEST(return_forfeits)
{
    struct stock_giveback g;
    struct stock_returned r;
    struct stock_audit a;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    g = testing_giveback(&s, "a", 2);
    g.units_forfeited = 1;
    r = testing_return(&s, &g);
    ck_assert_int_eq(r.code, STOCK_RETURN_GIVEN_BACK);
    ck_assert_int_eq(r.back, 2);
    ck_assert_int_eq(r.forfeited, 1);
    testing_shard_hash(&s, STOCK_KEY_GONE, "a", "forfeited");
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.left, 9);
    ck_assert_int_eq(a.forfeited, 1);

    testing_take(&s, "b", 43, 2);
    g = testing_giveback(&s, "b", 0);
    g.units_forfeited = 7; /* more than it ever held */
    r = testing_return(&s, &g);
    ck_assert_int_eq(r.back, 0);
    ck_assert_int_eq(r.forfeited, 2);
    ck_assert_int_eq(testing_shard_audit(&s).forfeited, 3);
}
END_TEST

START_TEST(return_frees_only_the_orders_own_mark)
{
    struct stock_giveback g;

    testing_shard_create(&s, kv, 10, 1);
    testing_take(&s, "a", 42, 1);
    g = testing_giveback(&s, "a", 1);
    g.free_mark = false; /* was live, and buying again is forbidden */
    ck_assert_int_eq(testing_return(&s, &g).code, STOCK_RETURN_GIVEN_BACK);
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "42:0", "a|1");
    ck_assert_int_eq(testing_take(&s, "b", 42, 1).code, STOCK_DEDUCT_OVER_LIMIT);

    testing_take(&s, "c", 43, 1);
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_BUYERS], "43:0", "d|1", NULL);
    ck_assert_int_eq(testing_give(&s, "c", 1).code, STOCK_RETURN_GIVEN_BACK);
    testing_shard_hash(&s, STOCK_KEY_BUYERS, "43:0", "d|1");
    testing_shard_audit(&s);
}
END_TEST

START_TEST(return_of_the_unknown_refuses_it_for_good)
{
    struct stock_returned r;

    testing_shard_create(&s, kv, 10, 5);
    ck_assert_int_eq(testing_give(&s, "a", 3).code, STOCK_RETURN_REFUSED);
    ck_assert_int_eq(testing_shard_audit(&s).left, 10);
    ck_assert_int_eq(testing_take(&s, "a", 42, 1).code, STOCK_DEDUCT_GONE);
    r = testing_give(&s, "a", 3);
    ck_assert_int_eq(r.code, STOCK_RETURN_ALREADY);
    ck_assert_str_eq(r.note, "refused");
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_GONE], "b", "sold", NULL);
    ck_assert_str_eq(testing_give(&s, "b", 1).note, "sold");
}
END_TEST

START_TEST(return_without_shard_changes_nothing)
{
    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], NULL);
    ck_assert_int_eq(testing_give(&s, "a", 3).code, STOCK_RETURN_NO_SHARD);
    ck_assert_int_eq(testing_give(&s, "b", 3).code, STOCK_RETURN_NO_SHARD);
    testing_shard_hash(&s, STOCK_KEY_GONE, "a", NULL);
    testing_shard_hash(&s, STOCK_KEY_GONE, "b", NULL);
    testing_redis_run(kv, "SET", s.keys.text[STOCK_KEY_STOCK], "7", NULL);
    ck_assert_int_eq(testing_give(&s, "a", 3).left, 10);
}
END_TEST

START_TEST(return_never_exceeds_the_cap)
{
    struct stock_returned r;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    testing_take(&s, "b", 43, 1);
    testing_redis_run(kv, "INCRBY", s.keys.text[STOCK_KEY_STOCK], "2", NULL); /* somebody restocks by hand */
    r = testing_give(&s, "a", 3);
    ck_assert_int_eq(r.code, STOCK_RETURN_CUT);
    ck_assert_int_eq(r.back, 1);
    ck_assert_int_eq(r.dropped, 2);
    ck_assert_int_eq(r.left, 9);
    testing_shard_audit(&s); /* balances again */
    testing_redis_run(kv, "SET", s.keys.text[STOCK_KEY_STOCK], "500", "KEEPTTL", NULL);
    r = testing_give(&s, "b", 1);
    ck_assert_int_eq(r.code, STOCK_RETURN_CUT);
    ck_assert_int_eq(r.back, 0);
    ck_assert_int_eq(r.left, 500); /* a return takes nothing away */
}
END_TEST

START_TEST(return_and_epochs)
{
    struct stock_giveback g;
    struct stock_returned r;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    g = testing_giveback(&s, "x", 1);
    g.epoch--;
    r = testing_return(&s, &g);
    ck_assert_int_eq(r.code, STOCK_RETURN_ALREADY);
    ck_assert_str_eq(r.note, "old_epoch");
    testing_shard_hash(&s, STOCK_KEY_GONE, "x", "refused"); /* so that no late adopt takes units for it */
    ck_assert_int_gt(testing_shard_audit(&s).ttl_gone, 800000);
    ck_assert_str_eq(testing_return(&s, &g).note, "refused");
    g = testing_giveback(&s, "y", 1);
    g.epoch++;
    ck_assert_int_eq(testing_return(&s, &g).code, STOCK_RETURN_NEWER_EPOCH);
    testing_shard_hash(&s, STOCK_KEY_GONE, "y", NULL);
    /* What the ledger holds comes back whatever the caller thinks of its epoch: a rebuild adopts live orders. */
    g = testing_giveback(&s, "a", 3);
    g.epoch--;
    ck_assert_int_eq(testing_return(&s, &g).code, STOCK_RETURN_GIVEN_BACK);
    ck_assert_int_eq(testing_shard_audit(&s).left, 10);
}
END_TEST

START_TEST(return_without_reservations)
{
    struct stock_giveback g;
    struct stock_returned r;

    testing_shard_create(&s, kv, 10, 5);
    testing_redis_run(kv, "DECRBY", s.keys.text[STOCK_KEY_STOCK], "4", NULL); /* as a web tier's own script does */
    g = testing_giveback(&s, "a", 2);
    g.reservations = false;
    r = testing_return(&s, &g);
    ck_assert_int_eq(r.code, STOCK_RETURN_GIVEN_BACK);
    ck_assert_int_eq(r.back, 2);
    ck_assert_int_eq(r.left, 8);
    ck_assert_int_eq(testing_return(&s, &g).code, STOCK_RETURN_ALREADY);

    g = testing_giveback(&s, "b", 1);
    g.reservations = false;
    g.units_forfeited = 1;
    r = testing_return(&s, &g);
    ck_assert_int_eq(r.back, 1);
    ck_assert_int_eq(r.forfeited, 1);
    ck_assert_int_eq(testing_shard_audit(&s).left, 9); /* 10 = 9 + 1 forfeited */

    g = testing_giveback(&s, "c", 5);
    g.reservations = false;
    g.epoch--;
    ck_assert_str_eq(testing_return(&s, &g).note, "old_epoch");
    testing_shard_hash(&s, STOCK_KEY_GONE, "c", "refused");
    g = testing_giveback(&s, "e", 5);
    g.reservations = false;
    r = testing_return(&s, &g);
    ck_assert_int_eq(r.code, STOCK_RETURN_CUT);
    ck_assert_int_eq(r.dropped, 5);
    /* An order of the ledger is given back from the ledger in this mode too. */
    testing_take(&s, "d", 42, 2);
    g = testing_giveback(&s, "d", 5);
    g.reservations = false;
    ck_assert_int_eq(testing_return(&s, &g).back, 2);
    ck_assert_int_eq(testing_shard_audit(&s).held, 0);
}
END_TEST

START_TEST(return_says_where_the_shard_is_damaged)
{
    struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    static const struct {
        const char *field, *value;
    } rows[] = {{"cap", "x"},    {"held", "2"},      {"held", "03"},     {"sold", ""},
                {"epoch", "--"}, {"expire_at", "5"}, {"forfeited", " 1"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        testing_shard_create(&s, kv, 10, 5);
        testing_take(&s, "a", 42, 3);
        testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_META], rows[i].field, rows[i].value, NULL);
        testing_shard_dump(&s, &before);
        ck_assert_msg(testing_give(&s, "a", 3).code == STOCK_RETURN_DAMAGED, "row %zu", i);
        testing_shard_dump(&s, &after);
        ck_assert(same(&before, &after));
    }
    strbuf_release(&before);
    strbuf_release(&after);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_return");
    TCase *tc = tcase_create("stock_return");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, return_gives_back_once);
    tcase_add_test(tc, return_believes_the_ledger_first);
    tcase_add_test(tc, return_forfeits);
    tcase_add_test(tc, return_frees_only_the_orders_own_mark);
    tcase_add_test(tc, return_of_the_unknown_refuses_it_for_good);
    tcase_add_test(tc, return_without_shard_changes_nothing);
    tcase_add_test(tc, return_never_exceeds_the_cap);
    tcase_add_test(tc, return_and_epochs);
    tcase_add_test(tc, return_without_reservations);
    tcase_add_test(tc, return_says_where_the_shard_is_damaged);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
