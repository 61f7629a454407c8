/* Servers that cannot take writes: over their memory limit, or a replica. A writing script is refused whole, before its
 * first line; audit goes on. */
#include "testing_stock.h"

#include <stdio.h>

static void refused(bool ok, const struct error *err, enum error_code code)
{
    ck_assert(!ok);
    ck_assert_msg(err->code == code, "%s", err->text);
}

/* Every script that may write, each with a call that would; a replica's refusal ends the connection. */
static void all_are_refused(struct testing_shard *s, enum error_code code, int port)
{
    struct stock_order order = testing_order(s, "b", 43, 1);
    struct stock_giveback giveback = testing_giveback(s, "a", 1);
    struct stock_paid paid = {s->plan.activity, s->plan.shard, slice_of("a")};
    struct stock_row row = testing_row(s, "c", 44, 1, STOCK_ADOPT_AS_PENDING);
    struct stock_reclaim reclaim = {s->plan.activity, s->plan.shard, 1, 1, s->plan.epoch};
    struct stock_restock restock = {s->plan.activity, s->plan.shard, 10, 20, s->plan.epoch};
    struct stock_extend extend = {s->plan.activity, s->plan.shard, 0, s->plan.expire_at + 1, s->plan.epoch, 0};
    struct stock_pause pausing = {s->plan.activity, s->plan.shard, true, s->plan.epoch};
    struct stock_remove remove = {s->plan.activity, s->plan.shard, s->plan.epoch};
    union {
        struct stock_deducted deducted;
        struct stock_returned returned;
        struct stock_preheated preheated;
        struct stock_settled settled;
        struct stock_adopted adopted;
        struct stock_reclaimed reclaimed;
        struct stock_restocked restocked;
        struct stock_extended extended;
        struct stock_paused paused;
        struct stock_rebuilt rebuilt;
        struct stock_removed removed;
    } out;
    struct error err;

#define REFUSED(call)                                                                                                  \
    do {                                                                                                               \
        refused((call), &err, code);                                                                                   \
        if (code == ERROR_KV_READ_ONLY) {                                                                              \
            kv_close(&s->kv);                                                                                          \
            s->kv = testing_redis_open(port);                                                                          \
        }                                                                                                              \
    } while (0)

    REFUSED(stock_deduct(s->kv, &order, &out.deducted, &err));
    REFUSED(stock_return(s->kv, &giveback, &out.returned, &err));
    REFUSED(stock_preheat(s->kv, &s->plan, &out.preheated, &err));
    REFUSED(stock_settle(s->kv, &paid, &out.settled, &err));
    REFUSED(stock_adopt(s->kv, &row, &out.adopted, &err));
    REFUSED(stock_reclaim(s->kv, &reclaim, &out.reclaimed, &err));
    REFUSED(stock_restock(s->kv, &restock, &out.restocked, &err));
    REFUSED(stock_extend(s->kv, &extend, &out.extended, &err));
    REFUSED(stock_pause(s->kv, &pausing, &out.paused, &err));
    REFUSED(stock_rebuild(s->kv, &s->plan, &out.rebuilt, &err));
    REFUSED(stock_remove(s->kv, &remove, &out.removed, &err));
#undef REFUSED
}

/* One reserved, one forfeited, one refused, 8 left. */
static void create_used(struct testing_shard *s, int port)
{
    testing_shard_create(s, testing_redis_open(port), 10, 5);
    testing_take(s, "a", 42, 1);
    testing_take(s, "f", 41, 1);
    testing_forfeit(s, "f", 1);
    testing_give(s, "z", 1);
}

START_TEST(over_its_memory_limit_no_script_writes_half)
{
    struct testing_redis server;
    struct testing_shard s;
    struct strbuf before = STRBUF_INIT;

    testing_redis_start(&server, NULL);
    create_used(&s, server.port);
    testing_shard_dump(&s, &before);
    testing_redis_run(s.kv, "CONFIG", "SET", "maxmemory", "1", NULL);
    all_are_refused(&s, ERROR_KV_SETUP, server.port);
    ck_assert_int_eq(testing_shard_audit(&s).left, 8);
    testing_redis_run(s.kv, "CONFIG", "SET", "maxmemory", "0", NULL);
    ck_assert(testing_shard_is(&s, &before));
    ck_assert_int_eq(testing_give(&s, "a", 1).left, 9);
    strbuf_release(&before);
    kv_close(&s.kv);
    testing_redis_stop(&server);
}
END_TEST

START_TEST(a_replica_only_audits)
{
    struct testing_redis primary, replica;
    struct testing_shard s;
    struct strbuf before = STRBUF_INIT;
    struct stock_audit a;
    struct error err;
    char port[16];

    testing_redis_start(&primary, (const char *const[]){"--repl-diskless-sync-delay", "0", NULL});
    create_used(&s, primary.port);
    snprintf(port, sizeof port, "%d", primary.port);
    testing_redis_start(&replica, (const char *const[]){"--replicaof", "127.0.0.1", port, NULL});
    kv_close(&s.kv);
    s.kv = testing_redis_open(replica.port);
    testing_wait(stock_audit(s.kv, s.plan.activity, s.plan.shard, &a, &err) && a.code == STOCK_AUDIT_PRESENT, 20000,
                 "the replica has the shard");
    testing_shard_audit(&s);
    testing_shard_dump(&s, &before);
    all_are_refused(&s, ERROR_KV_READ_ONLY, replica.port);
    ck_assert(testing_shard_is(&s, &before));
    strbuf_release(&before);
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
