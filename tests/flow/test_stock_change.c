/* reclaim, restock, extend and pause: every code, comparison and epoch fences, repetition. */
#include "testing_stock.h"

#include <stdlib.h>

#include "orderd/clock.h"

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

/* The shard as one that was rebuilt since the caller looked, or thrown back since. */
static void other_epoch(int by)
{
    s.plan.epoch -= by;
}

/* ---- reclaim ---- */

static void forfeit_four(void)
{
    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 5);
    testing_forfeit(&s, "a", 4);
}

START_TEST(reclaim_puts_forfeited_units_on_sale_once)
{
    struct stock_reclaimed r;
    struct stock_audit a;

    forfeit_four();
    r = testing_reclaim(&s, 4, 3);
    ck_assert_int_eq(r.code, STOCK_RECLAIM_RECLAIMED);
    ck_assert_int_eq(r.forfeited, 1);
    ck_assert_int_eq(r.left, 9);
    for (int i = 0; i < 3; i++) { /* the answer was lost: the same again */
        r = testing_reclaim(&s, 4, 3);
        ck_assert_int_eq(r.code, STOCK_RECLAIM_CHANGED);
        ck_assert_int_eq(r.forfeited, 1);
        ck_assert_int_eq(r.left, 9);
    }
    ck_assert_int_eq(testing_reclaim(&s, 1, 1).code, STOCK_RECLAIM_RECLAIMED);
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.left, 10);
    ck_assert_int_eq(a.forfeited, 0);
}
END_TEST

START_TEST(reclaim_compares_first)
{
    struct strbuf before = STRBUF_INIT;

    forfeit_four();
    testing_shard_dump(&s, &before);
    ck_assert_int_eq(testing_reclaim(&s, 3, 3).code, STOCK_RECLAIM_CHANGED);
    ck_assert_int_eq(testing_reclaim(&s, 5, 1).code, STOCK_RECLAIM_CHANGED);
    other_epoch(1);
    ck_assert_int_eq(testing_reclaim(&s, 4, 3).code, STOCK_RECLAIM_OTHER_EPOCH);
    other_epoch(-2);
    ck_assert_int_eq(testing_reclaim(&s, 4, 3).code, STOCK_RECLAIM_OTHER_EPOCH);
    ck_assert(testing_shard_is(&s, &before));
    testing_shard_plan(&s, kv, 10, 5);
    ck_assert_int_eq(testing_reclaim(&s, 4, 3).code, STOCK_RECLAIM_NO_SHARD);
    strbuf_release(&before);
}
END_TEST

/* Where the shard has too many units already (somebody's hand), none is put on sale on top. */
START_TEST(reclaim_never_feeds_a_shard_over_its_cap)
{
    struct strbuf before = STRBUF_INIT;
    struct stock_reclaimed r;

    forfeit_four();
    testing_redis_run(kv, "INCRBY", s.keys.text[STOCK_KEY_STOCK], "1", NULL);
    testing_shard_dump(&s, &before);
    r = testing_reclaim(&s, 4, 1);
    ck_assert_int_eq(r.code, STOCK_RECLAIM_DAMAGED);
    ck_assert_str_eq(r.note, "cap");
    ck_assert(testing_shard_is(&s, &before));
    strbuf_release(&before);
}
END_TEST

/* ---- restock ---- */

START_TEST(restock_raises_and_lowers_once)
{
    struct stock_restocked r;
    struct stock_audit a;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    r = testing_restock(&s, 10, 25);
    ck_assert_int_eq(r.code, STOCK_RESTOCK_RESTOCKED);
    ck_assert_int_eq(r.cap, 25);
    ck_assert_int_eq(r.floor, 3);
    ck_assert_int_eq(r.left, 22);
    for (int i = 0; i < 3; i++) {
        r = testing_restock(&s, 10, 25);
        ck_assert_int_eq(r.code, STOCK_RESTOCK_ALREADY);
        ck_assert_int_eq(r.left, 22);
    }
    r = testing_restock(&s, 25, 4);
    ck_assert_int_eq(r.code, STOCK_RESTOCK_RESTOCKED);
    ck_assert_int_eq(r.left, 1);
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.cap, 4);
    ck_assert_int_eq(a.held, 3);
    ck_assert_int_eq(testing_give(&s, "a", 3).left, 4); /* the new cap, not the old one, has room for them */
    ck_assert_int_eq(testing_restock(&s, 4, 0).left, 0);
    ck_assert_int_eq(testing_take(&s, "b", 43, 1).code, STOCK_DEDUCT_SHORT);
    testing_shard_audit(&s);
}
END_TEST

/* Held, sold and forfeited units each stand in the way; the answer says how far it could go. */
START_TEST(restock_never_goes_below_what_was_sold)
{
    struct strbuf before = STRBUF_INIT;
    struct stock_restocked r;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 1);
    testing_take(&s, "b", 43, 2);
    testing_settle(&s, "b");
    testing_take(&s, "c", 44, 4);
    testing_forfeit(&s, "c", 4);
    testing_shard_dump(&s, &before);
    r = testing_restock(&s, 10, 6);
    ck_assert_int_eq(r.code, STOCK_RESTOCK_TOO_LOW);
    ck_assert_int_eq(r.cap, 10);
    ck_assert_int_eq(r.floor, 7);
    ck_assert_int_eq(r.left, 3);
    ck_assert_int_eq(testing_restock(&s, 10, 0).code, STOCK_RESTOCK_TOO_LOW);
    ck_assert(testing_shard_is(&s, &before));
    r = testing_restock(&s, 10, r.floor);
    ck_assert_int_eq(r.code, STOCK_RESTOCK_RESTOCKED);
    ck_assert_int_eq(r.left, 0);
    testing_shard_audit(&s);
    strbuf_release(&before);
}
END_TEST

START_TEST(restock_without_reservations_keeps_what_was_taken)
{
    struct stock_restocked r;

    testing_shard_create(&s, kv, 10, 5);
    testing_redis_run(kv, "DECRBY", s.keys.text[STOCK_KEY_STOCK], "4", NULL); /* as a web tier's own script does */
    r = testing_restock(&s, 10, 3);
    ck_assert_int_eq(r.code, STOCK_RESTOCK_TOO_LOW);
    ck_assert_int_eq(r.floor, 4);
    ck_assert_int_eq(testing_restock(&s, 10, 12).left, 8);
    ck_assert_int_eq(testing_restock(&s, 12, 4).left, 0);
}
END_TEST

START_TEST(a_late_restock_undoes_nothing)
{
    struct strbuf before = STRBUF_INIT;
    struct stock_restocked r;

    testing_shard_create(&s, kv, 10, 5);
    testing_restock(&s, 10, 20);
    testing_restock(&s, 20, 30);
    testing_shard_dump(&s, &before);
    r = testing_restock(&s, 10, 20);
    ck_assert_int_eq(r.code, STOCK_RESTOCK_CHANGED);
    ck_assert_int_eq(r.cap, 30);
    other_epoch(1);
    ck_assert_int_eq(testing_restock(&s, 30, 40).code, STOCK_RESTOCK_OTHER_EPOCH);
    other_epoch(-2);
    ck_assert_int_eq(testing_restock(&s, 30, 40).code, STOCK_RESTOCK_OTHER_EPOCH);
    ck_assert(testing_shard_is(&s, &before));
    testing_shard_plan(&s, kv, 10, 5);
    ck_assert_int_eq(testing_restock(&s, 10, 20).code, STOCK_RESTOCK_NO_SHARD);
    strbuf_release(&before);
}
END_TEST

/* ---- extend ---- */

static void expect_ttls(int64_t expire_at)
{
    struct stock_audit a = testing_shard_audit(&s);
    int64_t want = expire_at - a.now;

    ck_assert_int_eq(a.expire_at, expire_at);
    ck_assert_int_lt(llabs(a.ttl_stock - want), 100);
    ck_assert_int_lt(llabs(a.ttl_held - want), 100);
    ck_assert_int_lt(llabs(a.ttl_gone - want), 100);
    ck_assert_int_lt(llabs(a.ttl_buyers - want), 100);
    ck_assert_int_lt(llabs(a.ttl_meta - want), 100);
}

/* With something in each of the five keys. */
static void create_full(void)
{
    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 1);
    testing_give(&s, "z", 1);
}

START_TEST(extend_moves_the_end_and_every_ttl)
{
    struct stock_extended e;

    create_full();
    e = testing_extend(&s, s.plan.ends_at + 60000, s.plan.expire_at + 60000);
    ck_assert_int_eq(e.code, STOCK_EXTEND_EXTENDED);
    ck_assert_int_eq(e.ends_at, s.plan.ends_at + 60000);
    ck_assert_int_eq(e.expire_at, s.plan.expire_at + 60000);
    expect_ttls(s.plan.expire_at + 60000);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(testing_extend(&s, s.plan.ends_at + 60000, s.plan.expire_at + 60000).code,
                         STOCK_EXTEND_ALREADY);
    expect_ttls(s.plan.expire_at + 60000);
}
END_TEST

START_TEST(extend_lets_a_sale_go_on_or_ends_it)
{
    int64_t now = clock_wall_ms();

    create_full();
    ck_assert_int_eq(testing_extend(&s, now - 1, s.plan.expire_at).code, STOCK_EXTEND_EXTENDED);
    ck_assert_str_eq(testing_take(&s, "b", 43, 1).note, "ended");
    ck_assert_int_eq(testing_extend(&s, now + 60000, s.plan.expire_at).code, STOCK_EXTEND_EXTENDED);
    ck_assert_int_eq(testing_take(&s, "b", 43, 1).code, STOCK_DEDUCT_TAKEN);
}
END_TEST

START_TEST(extend_never_pulls_the_expiry_in)
{
    struct stock_extended e;

    create_full();
    e = testing_extend(&s, s.plan.ends_at - 1000, s.plan.expire_at - 1000);
    ck_assert_int_eq(e.code, STOCK_EXTEND_EXTENDED);
    ck_assert_int_eq(e.ends_at, s.plan.ends_at - 1000);
    ck_assert_int_eq(e.expire_at, s.plan.expire_at);
    expect_ttls(s.plan.expire_at);
}
END_TEST

/* An operator opens a sale early; and one that never began is over. */
START_TEST(extend_moves_the_start)
{
    int64_t now = clock_wall_ms();
    struct stock_preheated done;
    struct stock_extended e;
    struct error err;

    testing_shard_plan(&s, kv, 10, 5);
    s.plan.starts_at = now + 60000;
    ck_assert_ok(stock_preheat(kv, &s.plan, &done, &err), &err);
    ck_assert_str_eq(testing_take(&s, "b", 43, 1).note, "not_started");
    e = testing_window(&s, now - 5, 0);
    ck_assert_int_eq(e.code, STOCK_EXTEND_EXTENDED);
    ck_assert_int_eq(e.starts_at, now - 5);
    ck_assert_int_eq(e.ends_at, s.plan.ends_at);
    ck_assert_int_eq(testing_window(&s, now - 5, 0).code, STOCK_EXTEND_ALREADY);
    ck_assert_int_eq(testing_take(&s, "b", 43, 1).code, STOCK_DEDUCT_TAKEN);
    e = testing_window(&s, now - 6, now - 5); /* each alone would be refused or not, as the other stands */
    ck_assert_int_eq(e.code, STOCK_EXTEND_EXTENDED);
    ck_assert_str_eq(testing_take(&s, "c", 44, 1).note, "ended");
    e = testing_window(&s, now + 60000, now + 70000);
    ck_assert_int_eq(e.code, STOCK_EXTEND_EXTENDED);
    ck_assert_int_eq(testing_shard_audit(&s).starts_at, now + 60000);
    ck_assert_int_eq(testing_shard_audit(&s).ends_at, now + 70000);
    ck_assert_int_eq(testing_window(&s, now + 70000, 0).code, STOCK_EXTEND_TOO_EARLY);
    ck_assert_int_eq(testing_shard_audit(&s).starts_at, now + 60000);
}
END_TEST

/* What the walk does while orders are pending: it must not touch the end, which an operator may be moving. */
START_TEST(extend_keeps_the_keys_and_leaves_the_end)
{
    struct stock_extended e;

    create_full();
    e = testing_extend(&s, 0, s.plan.expire_at + 500000);
    ck_assert_int_eq(e.code, STOCK_EXTEND_EXTENDED);
    ck_assert_int_eq(e.ends_at, s.plan.ends_at);
    expect_ttls(s.plan.expire_at + 500000);
    ck_assert_int_eq(testing_extend(&s, 0, s.plan.expire_at).code, STOCK_EXTEND_ALREADY);
}
END_TEST

START_TEST(extend_mends_a_lost_ttl)
{
    create_full();
    testing_redis_run(kv, "PERSIST", s.keys.text[STOCK_KEY_STOCK], NULL);
    testing_redis_run(kv, "PERSIST", s.keys.text[STOCK_KEY_GONE], NULL);
    testing_redis_run(kv, "PEXPIRE", s.keys.text[STOCK_KEY_HELD], "50000", NULL);
    ck_assert_int_eq(testing_extend(&s, 0, s.plan.expire_at).code, STOCK_EXTEND_ALREADY);
    expect_ttls(s.plan.expire_at);
}
END_TEST

START_TEST(extend_refuses)
{
    struct strbuf before = STRBUF_INIT;

    create_full();
    testing_shard_dump(&s, &before);
    ck_assert_int_eq(testing_extend(&s, s.plan.starts_at, s.plan.expire_at).code, STOCK_EXTEND_TOO_EARLY);
    other_epoch(1);
    ck_assert_int_eq(testing_extend(&s, 0, s.plan.expire_at + 1).code, STOCK_EXTEND_OTHER_EPOCH);
    other_epoch(-2);
    ck_assert_int_eq(testing_extend(&s, 0, s.plan.expire_at + 1).code, STOCK_EXTEND_OTHER_EPOCH);
    other_epoch(1);
    ck_assert(testing_shard_is(&s, &before));
    expect_ttls(s.plan.expire_at);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], NULL);
    ck_assert_int_eq(testing_extend(&s, 0, s.plan.expire_at + 1).code, STOCK_EXTEND_NO_SHARD);
    strbuf_release(&before);
}
END_TEST

/* ---- pause ---- */

START_TEST(pause_stops_deduct_and_nothing_else)
{
    create_full();
    testing_take(&s, "b", 43, 1);
    ck_assert_int_eq(testing_pause_shard(&s, true), STOCK_PAUSE_CHANGED);
    ck_assert_int_eq(testing_pause_shard(&s, true), STOCK_PAUSE_ALREADY);
    ck_assert_str_eq(testing_take(&s, "c", 44, 1).note, "paused");
    ck_assert_int_eq(testing_take(&s, "a", 42, 1).code, STOCK_DEDUCT_HELD);
    ck_assert_int_eq(testing_settle(&s, "a").code, STOCK_SETTLE_SETTLED);
    ck_assert_int_eq(testing_give(&s, "b", 1).code, STOCK_RETURN_GIVEN_BACK);
    ck_assert_int_eq(testing_adopt(&s, "d", 45, 1, STOCK_ADOPT_AS_PENDING).code, STOCK_ADOPT_ADOPTED);
    ck_assert_int_eq(testing_shard_audit(&s).paused, 1);
    ck_assert_int_eq(testing_pause_shard(&s, false), STOCK_PAUSE_CHANGED);
    ck_assert_int_eq(testing_pause_shard(&s, false), STOCK_PAUSE_ALREADY);
    ck_assert_int_eq(testing_take(&s, "c", 44, 1).code, STOCK_DEDUCT_TAKEN);
    testing_shard_audit(&s);
}
END_TEST

START_TEST(pause_and_epochs)
{
    create_full();
    other_epoch(1); /* of before a rebuild: may do nothing any more */
    ck_assert_int_eq(testing_pause_shard(&s, true), STOCK_PAUSE_OTHER_EPOCH);
    other_epoch(-2); /* thrown back by a failover: may be stopped, not let go on */
    ck_assert_int_eq(testing_pause_shard(&s, true), STOCK_PAUSE_CHANGED);
    ck_assert_int_eq(testing_pause_shard(&s, false), STOCK_PAUSE_OTHER_EPOCH);
    other_epoch(1);
    ck_assert_int_eq(testing_shard_audit(&s).paused, 1);
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], NULL);
    ck_assert_int_eq(testing_pause_shard(&s, false), STOCK_PAUSE_NO_SHARD);
}
END_TEST

START_TEST(many_shards_in_one_round_trip)
{
    enum { N = 20 };
    struct stock_pause pauses[N];
    struct stock_paused paused[N];
    struct stock_extend extends[N];
    struct stock_extended extended[N];
    struct stock_audit audits[N];
    struct error errs[N], err;

    testing_shard_plan(&s, kv, 10, 5);
    for (int i = 0; i < N; i++) {
        struct stock_preheated p;

        s.plan.shard = i;
        s.plan.cap = i;
        if (i != 7)
            ck_assert_ok(stock_preheat(kv, &s.plan, &p, &err), &err);
        pauses[i] = (struct stock_pause){s.plan.activity, i, true, s.plan.epoch};
        extends[i] = (struct stock_extend){s.plan.activity, i, 0, s.plan.expire_at + 1 + i, s.plan.epoch, 0};
    }
    ck_assert_ok(stock_pause_many(kv, pauses, N, paused, errs, &err), &err);
    ck_assert_ok(stock_extend_many(kv, extends, N, extended, errs, &err), &err);
    ck_assert_ok(stock_audit_many(kv, s.plan.activity, N, audits, errs, &err), &err);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(errs[i].code, ERROR_NONE);
        ck_assert_int_eq(paused[i].code, i == 7 ? STOCK_PAUSE_NO_SHARD : STOCK_PAUSE_CHANGED);
        ck_assert_int_eq(audits[i].code, i == 7 ? STOCK_AUDIT_NO_SHARD : STOCK_AUDIT_PRESENT);
        ck_assert_int_eq(audits[i].cap, i == 7 ? 0 : i);
        ck_assert_int_eq(audits[i].paused, i != 7);
        ck_assert_int_eq(audits[i].expire_at, i == 7 ? 0 : s.plan.expire_at + 1 + i);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_change");
    TCase *tc = tcase_create("stock_change");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, reclaim_puts_forfeited_units_on_sale_once);
    tcase_add_test(tc, reclaim_compares_first);
    tcase_add_test(tc, reclaim_never_feeds_a_shard_over_its_cap);
    tcase_add_test(tc, restock_raises_and_lowers_once);
    tcase_add_test(tc, restock_never_goes_below_what_was_sold);
    tcase_add_test(tc, restock_without_reservations_keeps_what_was_taken);
    tcase_add_test(tc, a_late_restock_undoes_nothing);
    tcase_add_test(tc, extend_moves_the_end_and_every_ttl);
    tcase_add_test(tc, extend_lets_a_sale_go_on_or_ends_it);
    tcase_add_test(tc, extend_never_pulls_the_expiry_in);
    tcase_add_test(tc, extend_keeps_the_keys_and_leaves_the_end);
    tcase_add_test(tc, extend_mends_a_lost_ttl);
    tcase_add_test(tc, extend_moves_the_start);
    tcase_add_test(tc, extend_refuses);
    tcase_add_test(tc, pause_stops_deduct_and_nothing_else);
    tcase_add_test(tc, pause_and_epochs);
    tcase_add_test(tc, many_shards_in_one_round_trip);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
