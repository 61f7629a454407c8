/* preheat and its verifying read-back: every code, and that nothing live is ever overwritten. */
#include "testing_stock.h"

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

static bool same(const struct strbuf *a, const struct strbuf *b)
{
    return slice_equal((struct slice){a->data, a->len}, (struct slice){b->data, b->len});
}

static struct stock_preheated preheat(const struct stock_plan *plan)
{
    struct stock_preheated answer;
    struct error err;

    ck_assert_ok(stock_preheat(kv, plan, &answer, &err), &err);
    return answer;
}

START_TEST(preheat_creates_and_repeats)
{
    struct stock_audit a;
    struct stock_preheated p;

    testing_shard_create(&s, kv, 10, 5);
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.left, 10);
    ck_assert_int_eq(a.cap, 10);
    ck_assert_int_eq(a.limit, 5);
    ck_assert_int_eq(a.expire_at, s.plan.expire_at);
    testing_take(&s, "a", 42, 3);
    p = preheat(&s.plan);
    ck_assert_int_eq(p.code, STOCK_PREHEAT_COMPLETE);
    ck_assert_int_eq(p.left, 7); /* what was sold stays sold */
    testing_shard_audit(&s);
}
END_TEST

START_TEST(preheat_mends_a_lost_ttl_and_pushes_the_end_out)
{
    struct stock_plan later;
    struct error err;

    testing_shard_create(&s, kv, 10, 5);
    testing_redis_run(kv, "PERSIST", s.keys.text[STOCK_KEY_STOCK], NULL);
    ck_assert(!stock_verify(kv, &s.plan, &err));
    ck_assert_int_eq(err.code, ERROR_REFUSED);
    ck_assert_int_eq(preheat(&s.plan).code, STOCK_PREHEAT_COMPLETE);
    ck_assert_ok(stock_verify(kv, &s.plan, &err), &err);
    later = s.plan;
    later.expire_at += 500000;
    ck_assert(!stock_verify(kv, &later, &err));
    ck_assert_int_eq(preheat(&later).code, STOCK_PREHEAT_COMPLETE);
    ck_assert_ok(stock_verify(kv, &later, &err), &err);
    ck_assert_int_eq(preheat(&s.plan).code, STOCK_PREHEAT_COMPLETE);
    ck_assert_ok(stock_verify(kv, &later, &err), &err); /* never pulled in */
}
END_TEST

START_TEST(preheat_refuses_other_values)
{
    struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    static const struct {
        int64_t cap, limit, starts, ends, epoch;
        int code;
        const char *note;
    } rows[] = {
        {1, 0, 0, 0, 0, STOCK_PREHEAT_OTHER_VALUES, "cap"},
        {0, 1, 0, 0, 0, STOCK_PREHEAT_OTHER_VALUES, "limit"},
        {0, 0, 1, 0, 0, STOCK_PREHEAT_OTHER_VALUES, "starts_at"},
        {0, 0, 0, 1, 0, STOCK_PREHEAT_OTHER_VALUES, "ends_at"},
        {0, 0, 0, 0, 1, STOCK_PREHEAT_OTHER_EPOCH, "epoch"},
        {0, 0, 0, 0, -1, STOCK_PREHEAT_OTHER_EPOCH, "epoch"},
    };

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 1);
    testing_shard_dump(&s, &before);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stock_plan other = s.plan;
        struct stock_preheated p;
        struct error err;

        other.cap += rows[i].cap;
        other.limit += rows[i].limit;
        other.starts_at += rows[i].starts;
        other.ends_at += rows[i].ends;
        other.epoch += rows[i].epoch;
        p = preheat(&other);
        ck_assert_int_eq(p.code, rows[i].code);
        ck_assert_str_eq(p.note, rows[i].note);
        ck_assert_int_eq(p.left, 9);
        ck_assert(!stock_verify(kv, &other, &err));
        ck_assert_ptr_nonnull(strstr(err.text, rows[i].note));
    }
    testing_shard_dump(&s, &after);
    ck_assert(same(&before, &after));
    strbuf_release(&before);
    strbuf_release(&after);
}
END_TEST

START_TEST(preheat_resumes_only_what_never_sold)
{
    testing_shard_create(&s, kv, 10, 5);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], NULL);
    testing_redis_run(kv, "HDEL", s.keys.text[STOCK_KEY_META], "ends_at", "sold", NULL);
    ck_assert_int_eq(preheat(&s.plan).code, STOCK_PREHEAT_RESUMED);
    ck_assert_int_eq(testing_shard_audit(&s).left, 10);

    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], NULL);
    s.plan.epoch++;
    ck_assert_int_eq(preheat(&s.plan).code, STOCK_PREHEAT_OTHER_EPOCH);
    s.plan.epoch--;
    ck_assert_int_eq(preheat(&s.plan).code, STOCK_PREHEAT_RESUMED);

    testing_take(&s, "a", 42, 1);
    testing_give(&s, "a", 1); /* all is back, but an order has been here */
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], NULL);
    ck_assert_int_eq(preheat(&s.plan).code, STOCK_PREHEAT_DAMAGED);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_GONE], NULL);
    testing_shard_meta(&s, "sold", 1);
    ck_assert_int_eq(preheat(&s.plan).code, STOCK_PREHEAT_DAMAGED);
}
END_TEST

START_TEST(preheat_leaves_foreign_and_damaged_keys_alone)
{
    struct stock_preheated p;

    testing_shard_plan(&s, kv, 10, 5);
    testing_redis_run(kv, "SET", s.keys.text[STOCK_KEY_STOCK], "5", "EX", "60", NULL);
    p = preheat(&s.plan);
    ck_assert_int_eq(p.code, STOCK_PREHEAT_DAMAGED);
    ck_assert_str_eq(p.note, "meta");
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], NULL);
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_HELD], "a", "42|0|1|1|1|1", NULL);
    p = preheat(&s.plan);
    ck_assert_int_eq(p.code, STOCK_PREHEAT_DAMAGED);
    ck_assert_str_eq(p.note, "stock");
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_HELD], NULL);
    ck_assert_int_eq(preheat(&s.plan).code, STOCK_PREHEAT_CREATED);
    testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_META], "sold", "none", NULL);
    ck_assert_int_eq(preheat(&s.plan).code, STOCK_PREHEAT_DAMAGED);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_META], NULL);
    testing_redis_run(kv, "SET", s.keys.text[STOCK_KEY_STOCK], "many", "EX", "60", NULL);
    ck_assert_str_eq(preheat(&s.plan).note, "stock");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_preheat");
    TCase *tc = tcase_create("stock_preheat");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, preheat_creates_and_repeats);
    tcase_add_test(tc, preheat_mends_a_lost_ttl_and_pushes_the_end_out);
    tcase_add_test(tc, preheat_refuses_other_values);
    tcase_add_test(tc, preheat_resumes_only_what_never_sold);
    tcase_add_test(tc, preheat_leaves_foreign_and_damaged_keys_alone);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
