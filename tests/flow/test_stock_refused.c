/* Servers that cannot take writes: over their memory limit, or a replica. A writing script is refused whole, before its
 * first line; audit goes on. */
#include "testing_stock.h"

#include <stdio.h>

START_TEST(over_its_memory_limit_no_script_writes_half)
{
    struct testing_redis server;
    struct testing_shard s;
    struct stock_order order;
    struct stock_giveback giveback;
    struct stock_deducted d;
    struct stock_returned r;
    struct stock_preheated p;
    struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    struct error err;

    testing_redis_start(&server, NULL);
    testing_shard_create(&s, testing_redis_open(server.port), 10, 5);
    testing_take(&s, "a", 42, 1);
    testing_give(&s, "z", 1);
    testing_shard_dump(&s, &before);
    testing_redis_run(s.kv, "CONFIG", "SET", "maxmemory", "1", NULL);
    order = testing_order(&s, "b", 43, 1);
    ck_assert(!stock_deduct(s.kv, &order, &d, &err));
    ck_assert_msg(err.code == ERROR_KV_SETUP, "%s", err.text);
    giveback = testing_giveback(&s, "a", 1);
    ck_assert(!stock_return(s.kv, &giveback, &r, &err));
    ck_assert_msg(err.code == ERROR_KV_SETUP, "%s", err.text);
    ck_assert(!stock_preheat(s.kv, &s.plan, &p, &err));
    ck_assert_msg(err.code == ERROR_KV_SETUP, "%s", err.text);
    ck_assert_int_eq(testing_shard_audit(&s).left, 9);
    testing_redis_run(s.kv, "CONFIG", "SET", "maxmemory", "0", NULL);
    testing_shard_dump(&s, &after);
    ck_assert(slice_equal((struct slice){before.data, before.len}, (struct slice){after.data, after.len}));
    ck_assert_int_eq(testing_give(&s, "a", 1).left, 10);
    strbuf_release(&before);
    strbuf_release(&after);
    kv_close(&s.kv);
    testing_redis_stop(&server);
}
END_TEST

START_TEST(a_replica_only_audits)
{
    struct testing_redis primary, replica;
    struct testing_shard s;
    struct stock_audit a;
    struct stock_order order;
    struct stock_deducted d;
    struct error err;
    char port[16];

    testing_redis_start(&primary, (const char *const[]){"--repl-diskless-sync-delay", "0", NULL});
    testing_shard_create(&s, testing_redis_open(primary.port), 10, 5);
    snprintf(port, sizeof port, "%d", primary.port);
    testing_redis_start(&replica, (const char *const[]){"--replicaof", "127.0.0.1", port, NULL});
    kv_close(&s.kv);
    s.kv = testing_redis_open(replica.port);
    testing_wait(stock_audit(s.kv, s.plan.activity, s.plan.shard, &a, &err) && a.code == STOCK_AUDIT_PRESENT, 20000,
                 "the replica has the shard");
    testing_shard_audit(&s);
    order = testing_order(&s, "b", 43, 1);
    ck_assert(!stock_deduct(s.kv, &order, &d, &err));
    ck_assert_msg(err.code == ERROR_KV_READ_ONLY, "%s", err.text);
    kv_close(&s.kv);
    testing_redis_stop(&replica);
    testing_redis_stop(&primary);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_refused");
    TCase *tc = tcase_create("stock_refused");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, over_its_memory_limit_no_script_writes_half);
    tcase_add_test(tc, a_replica_only_audits);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
