/* orderctl activity preheat against real servers: put on sale once, whatever happens in between. */
#include "testing_sale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/exitcode.h"

static struct error err;

/* What every shard must be after a preheat: sums, window, and a TTL that ends as planned. */
static void on_sale(void)
{
    struct activity a = sale_row();
    int64_t sum = 0;

    for (int i = 0; i < SALE_SHARDS; i++) {
        struct stock_audit s = sale_audit(i);
        int64_t expected = a.ends_at + a.pay_timeout_ms + 7200000;

        ck_assert_int_eq(s.code, STOCK_AUDIT_PRESENT);
        ck_assert_int_eq(s.cap, i < 2 ? 251 : 250);
        ck_assert_int_eq(s.epoch, 1);
        ck_assert_int_eq(s.limit, 3);
        ck_assert_int_eq(s.starts_at, a.starts_at);
        ck_assert_int_eq(s.ends_at, a.ends_at);
        ck_assert_int_eq(s.expire_at, expected);
        ck_assert_int_le(llabs(s.ttl_stock - (expected - s.now)), 1000);
        ck_assert_int_le(llabs(s.ttl_meta - (expected - s.now)), 1000);
        sum += s.cap;
    }
    ck_assert_int_eq(sum, SALE_TOTAL);
    ck_assert(a.preheated);
}

START_TEST(preheated)
{
    int64_t first;

    sale_approve();
    CTL("activity", "preheat", sale_text, "--dry-run");
    sale_said(EXIT_OK, "orderctl: nothing was changed\n");
    ck_assert_str_eq(testing_ctl.out, "SHARD  CAP  LEFT  STATE\n"
                                      "    0  251     -  missing\n"
                                      "    1  251     -  missing\n"
                                      "    2  250     -  missing\n"
                                      "    3  250     -  missing\n");
    for (int i = 0; i < SALE_SHARDS; i++)
        ck_assert_int_eq(sale_audit(i).code, STOCK_AUDIT_NO_SHARD);
    ck_assert(!sale_row().preheated);

    CTL("activity", "preheat", sale_text);
    sale_said(EXIT_OK, "orderctl: the stock of activity %s is in Redis and was read back; shards: 4\n", sale_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "    3  250   250  created\n"));
    on_sale();
    first = sale_row().preheated_at;
    CTL("activity", "preheat", sale_text, "--json");
    sale_said(EXIT_OK, "orderctl: the stock of activity %s is in Redis and was read back; shards: 4\n", sale_text);
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "\"shard\":3,\"state\":\"present\",\"cap\":250,\"left\":250,\"epoch\":1,"));
    on_sale();
    ck_assert_int_eq(sale_row().preheated_at, first);
}
END_TEST

START_TEST(preheated_too_early)
{
    CTL("activity", "preheat", sale_text);
    sale_said(EXIT_BAD_DATA, "orderctl: activity preheat: there is no activity %s; see `orderctl activity list`\n",
              sale_text);
    sale_create();
    CTL("activity", "preheat", sale_text);
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity preheat: activity %s is in review; run `orderctl activity approve %s` first\n",
              sale_text, sale_text);
    testing_ctl_run_sql("UPDATE activity SET state='ended',epoch=1");
    CTL("activity", "preheat", sale_text);
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity preheat: activity %s is ended; only a scheduled one can be preheated\n", sale_text);
    testing_ctl_run_sql("UPDATE activity SET state='scheduled',starts_at='2020-01-01',ends_at='2020-01-02'");
    CTL("activity", "preheat", sale_text);
    sale_said(EXIT_BAD_DATA, "orderctl: activity preheat: the sale of activity %s is over already\n", sale_text);
    for (int i = 0; i < SALE_SHARDS; i++)
        ck_assert_int_eq(sale_audit(i).code, STOCK_AUDIT_NO_SHARD);
}
END_TEST

static void put_on_sale(const struct stock_plan *plan)
{
    struct stock_preheated answer;

    ck_assert_ok(stock_preheat(sale_kv, plan, &answer, &err), &err);
    ck_assert_int_eq(answer.code, STOCK_PREHEAT_CREATED);
}

/* The last shard is live with other values: the first ones are not touched either. */
START_TEST(live_key)
{
    struct stock_plan plan;

    sale_approve();
    plan = sale_plan(3);
    plan.cap = 999;
    put_on_sale(&plan);
    CTL("activity", "preheat", sale_text);
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity preheat: shard 3 of activity %s is live with cap 999 instead of 250 (999 left, 0 held, 0 "
        "sold); nothing was changed: it is never overwritten\n",
        sale_text);
    CTL("activity", "preheat", sale_text, "--dry-run");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(sale_audit(i).code, STOCK_AUDIT_NO_SHARD);
    ck_assert_int_eq(sale_audit(3).left, 999);
    sale_forget(3);
    plan = sale_plan(1);
    plan.epoch = 2;
    put_on_sale(&plan);
    CTL("activity", "preheat", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "is live with epoch 2 instead of 1"));
    ck_assert(!sale_row().preheated);
}
END_TEST

START_TEST(foreign_key)
{
    struct stock_keys keys;

    sale_approve();
    stock_keys_of(&keys, sale_id, 2);
    sale_command("SET", keys.text[STOCK_KEY_STOCK], "100"); /* somebody's own stock key, without a ledger */
    CTL("activity", "preheat", sale_text);
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity preheat: shard 2 of activity %s is damaged, or holds keys that are not ours; nothing was "
        "changed: rebuild it from the database or remove its keys\n",
        sale_text);
    ck_assert_int_eq(sale_audit(0).code, STOCK_AUDIT_NO_SHARD);
}
END_TEST

/* A shard whose description is there but not its stock. */
START_TEST(half_a_shard)
{
    struct stock_keys keys;
    struct stock_plan plan;
    struct slice argv[2] = {slice_of("DEL")};
    struct kv_reply *reply;

    sale_approve();
    plan = sale_plan(1);
    put_on_sale(&plan);
    stock_keys_of(&keys, sale_id, 1);
    argv[1] = slice_of(keys.text[STOCK_KEY_STOCK]);
    reply = kv_command(sale_kv, argv, 2, &err);
    ck_assert_ok(reply != NULL, &err);
    kv_reply_free(&reply);
    CTL("activity", "preheat", sale_text, "--dry-run");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "    1  251     -  half-done\n"));
    CTL("activity", "preheat", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "    1  251   251  resumed\n"));
    on_sale();
}
END_TEST

/* Killed after each number of shards; what was sold meanwhile stays sold. */
START_TEST(resumed)
{
    char fault[64];
    int done = _i;

    sale_approve();
    snprintf(fault, sizeof fault, "preheat.after_shard=kill@%d", done);
    program_faults(fault);
    CTL("activity", "preheat", sale_text);
    program_faults(NULL);
    ck_assert_int_eq(testing_ctl.code, 128 + 9);
    for (int i = 0; i < SALE_SHARDS; i++)
        ck_assert_int_eq(sale_audit(i).code, i < done ? STOCK_AUDIT_PRESENT : STOCK_AUDIT_NO_SHARD);
    ck_assert(!sale_row().preheated);
    sale_deduct("early_bird", 5, 2, 0);

    CTL("activity", "preheat", sale_text, "--dry-run");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "    0  251   249  present\n"));
    CTL("activity", "preheat", sale_text);
    sale_said(EXIT_OK, "orderctl: the stock of activity %s is in Redis and was read back; shards: 4\n", sale_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "    0  251   249  present\n"));
    on_sale();
    ck_assert_int_eq(sale_audit(0).left, 249);
    ck_assert_int_eq(sale_audit(0).held, 2);
}
END_TEST

#define LOST                                                                                                           \
    "orderctl: activity preheat: shard 2 of activity %s is gone from Redis, and orders may hold its units; nothing "   \
    "was "                                                                                                             \
    "changed: it must be rebuilt from the database, not preheated\n"

START_TEST(lost_shard)
{
    sale_approve();
    CTL("activity", "preheat", sale_text);
    sale_forget(2);
    CTL("activity", "preheat", sale_text);
    sale_said(EXIT_BAD_DATA, LOST, sale_text);
    ck_assert_int_eq(sale_audit(2).code, STOCK_AUDIT_NO_SHARD);

    /* Not marked yet, but sold from. An unsold one may be made. */
    testing_ctl_run_sql("UPDATE activity SET preheated_at=NULL");
    sale_insert("sold_before", 5, 1, 2);
    CTL("activity", "preheat", sale_text);
    sale_said(EXIT_BAD_DATA, LOST, sale_text);
    testing_ctl_run_sql("UPDATE orders SET shard=1");
    CTL("activity", "preheat", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    on_sale();
}
END_TEST

static void set_policy(const char *policy)
{
    struct slice argv[] = {slice_of("CONFIG"), slice_of("SET"), slice_of("maxmemory-policy"), slice_of(policy)};
    struct kv_reply *reply = kv_command(sale_kv, argv, 4, &err);

    ck_assert_ok(reply != NULL, &err);
    kv_reply_free(&reply);
}

START_TEST(eviction)
{
    sale_approve();
    set_policy("allkeys-lru");
    CTL("activity", "preheat", sale_text, "-q");
    set_policy("noeviction");
    sale_said(EXIT_OK,
              "orderctl: warning: Redis has maxmemory-policy allkeys-lru: when its memory is full it deletes stock; "
              "set noeviction\n");
}
END_TEST

START_TEST(redis_is_away)
{
    sale_approve();
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_port = "1"});
    CTL("activity", "preheat", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "; see that Redis is up and that the group redis of "));
    ck_assert(!sale_row().preheated);
    CTL("activity", "show", sale_text, "--json");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: warning: Redis is not shown: "));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"redis_read\":false,\"shards\":null,\"balance\":null}\n"));
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_test(t, preheated);
    tcase_add_test(t, preheated_too_early);
    tcase_add_test(t, live_key);
    tcase_add_test(t, foreign_key);
    tcase_add_test(t, half_a_shard);
    tcase_add_loop_test(t, resumed, 1, SALE_SHARDS + 1);
    tcase_add_test(t, lost_shard);
    tcase_add_test(t, eviction);
    tcase_add_test(t, redis_is_away);
}

int main(void)
{
    Suite *s = suite_create("ctl_preheat");
    TCase *t = tcase_create("preheat");

    tcase_add_checked_fixture(t, sale_setup, sale_teardown);
    tcase_set_timeout(t, 60);
    add_tests(t);
    suite_add_tcase(s, t);
    return testing_main(s);
}
