/* Every script inside a real cluster of three nodes: the five keys of a shard lie in one slot, the node that owns it
 * runs every script (never CROSSSLOT), and the others say so in a way we understand. */
#include "testing_cluster.h"
#include "testing_stock.h"

static struct testing_cluster cluster;

static void setup(void)
{
    testing_cluster_start(&cluster, false);
}

static void teardown(void)
{
    testing_cluster_stop(&cluster);
}

static int slot_of(const char *key)
{
    return testing_cluster_slot(&cluster, key);
}

static int owner_of(const struct testing_shard *s)
{
    int slot = slot_of(s->keys.text[0]);

    for (int i = 1; i < STOCK_KEY_COUNT; i++)
        ck_assert_int_eq(slot_of(s->keys.text[i]), slot);
    return testing_cluster_owner(slot);
}

static void live_through(struct testing_shard *s)
{
    struct stock_preheated p;
    struct stock_giveback g;
    struct error err;

    ck_assert_ok(stock_preheat(s->kv, &s->plan, &p, &err), &err);
    ck_assert_int_eq(p.code, STOCK_PREHEAT_CREATED);
    ck_assert_ok(stock_verify(s->kv, &s->plan, &err), &err);
    ck_assert_int_eq(testing_take(s, "a", 42, 1).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_take(s, "b", 42, 1).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_take(s, "a", 42, 1).code, STOCK_DEDUCT_HELD);
    testing_redis_run(s->kv, "SCRIPT", "FLUSH", NULL);
    ck_assert_int_eq(testing_give(s, "a", 1).code, STOCK_RETURN_GIVEN_BACK);
    g = testing_giveback(s, "b", 0);
    g.units_forfeited = 1;
    ck_assert_int_eq(testing_return(s, &g).forfeited, 1);
    ck_assert_int_eq(testing_give(s, "c", 1).code, STOCK_RETURN_REFUSED);
    ck_assert_int_eq(testing_take(s, "e", 44, 2).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_settle(s, "e").units, 2);
    ck_assert_int_eq(testing_adopt(s, "f", 45, 2, STOCK_ADOPT_AS_PENDING).from_forfeited, 1);
    ck_assert_int_eq(testing_adopt(s, "g", 46, 1, STOCK_ADOPT_AS_PAID).from_left, 1);
    testing_forfeit(s, "f", 2);
    ck_assert_int_eq(testing_reclaim(s, 2, 1).code, STOCK_RECLAIM_RECLAIMED);
    ck_assert_int_eq(testing_restock(s, 10, 13).code, STOCK_RESTOCK_RESTOCKED);
    ck_assert_int_eq(testing_extend(s, 0, s->plan.expire_at + 1000).code, STOCK_EXTEND_EXTENDED);
    if (s->plan.shard == 0) /* a sixth key, in the same slot */
        ck_assert_int_eq(testing_announce(s, "running", 1).code, STOCK_ANNOUNCE_ANNOUNCED);
    ck_assert_int_eq(testing_pause_shard(s, true), STOCK_PAUSE_CHANGED);
    ck_assert_int_eq(testing_shard_audit(s).left, 9);
}

static void end_of_life(struct testing_shard *s)
{
    s->plan.epoch++;
    ck_assert_int_eq(testing_rebuild(s).code, STOCK_REBUILD_REPLACED);
    ck_assert_int_eq(testing_shard_audit(s).left, 10);
    ck_assert_int_eq(testing_remove(s).code, STOCK_REMOVE_REMOVED);
}

START_TEST(each_shard_lives_on_its_node)
{
    int shards_of[TESTING_PRIMARIES] = {0};

    for (int shard = 0; shard < 24; shard++) {
        struct testing_shard s;
        int node;

        testing_shard_plan(&s, NULL, 10, 5);
        s.plan.shard = shard;
        stock_keys_of(&s.keys, s.plan.activity, shard);
        node = owner_of(&s);
        shards_of[node]++;
        s.kv = cluster.links[node];
        live_through(&s);
        end_of_life(&s);
    }
    for (int node = 0; node < TESTING_PRIMARIES; node++)
        ck_assert_int_gt(shards_of[node], 0);
}
END_TEST

/* MOVED is answered before anything runs: look for another node, with nothing lost. */
START_TEST(the_wrong_node_says_so)
{
    struct testing_shard s;
    struct stock_deducted d;
    struct stock_order order;
    struct stock_audit a;
    struct error err;
    int node;

    testing_shard_plan(&s, NULL, 10, 5);
    node = owner_of(&s);
    s.kv = cluster.links[node];
    live_through(&s);
    s.kv = cluster.links[(node + 1) % TESTING_PRIMARIES];
    order = testing_order(&s, "d", 42, 1);
    ck_assert(!stock_deduct(s.kv, &order, &d, &err));
    ck_assert_msg(err.code == ERROR_KV_READ_ONLY, "%s", err.text);
    ck_assert(!stock_audit(s.kv, s.plan.activity, s.plan.shard, &a, &err));
    ck_assert_int_eq(err.code, ERROR_KV_AWAY);
    s.kv = cluster.links[node];
    ck_assert_int_eq(testing_shard_audit(&s).left, 9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_cluster");
    TCase *tc = tcase_create("stock_cluster");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 90);
    tcase_add_test(tc, each_shard_lives_on_its_node);
    tcase_add_test(tc, the_wrong_node_says_so);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
