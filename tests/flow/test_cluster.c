/* Redis Cluster: one connection for all servers. Shards lie on all of them; slots move and servers die under load. */
#include "testing_cluster.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/client/kv/kv_cluster.h"
#include "orderd/clock.h"
#include "testing_ctl.h"
#include "testing_stock.h"

static struct testing_cluster cluster;
static struct conf conf;

static void setup(void)
{
    testing_cluster_start(&cluster, true);
    conf = testing_cluster_conf(&cluster);
}

static void teardown(void)
{
    testing_cluster_stop(&cluster);
}

static struct kv *open_cluster(void)
{
    struct error err;
    struct kv *kv = kv_open(&conf, "sale", &err);

    ck_assert_msg(kv != NULL, "%s", err.text);
    return kv;
}

/* ---- where a key is ---- */

START_TEST(slots_are_those_of_the_server)
{
    static const char *const keys[] = {"",
                                       "a",
                                       "123456789",
                                       "sk:{1001:0}:stock",
                                       "foo{}{bar}",
                                       "foo{bar}",
                                       "foo{{bar}}zap",
                                       "foo{bar}{zap}",
                                       "{}x",
                                       "}{",
                                       "{",
                                       "foo{bar",
                                       "{user1000}.following"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ck_assert_msg((int)kv_slot_of(slice_of(keys[i])) == testing_cluster_slot(&cluster, keys[i]), "%s", keys[i]);
}
END_TEST

/* ---- one pipeline, many servers ---- */

#define SHARDS 24
#define CAP    10000

struct sale {
    struct testing_shard shards[SHARDS];
    struct kv *kv;
};

static void open_sale(struct sale *s)
{
    struct testing_shard one;
    struct stock_preheated p;
    struct error err;

    s->kv = open_cluster();
    testing_shard_plan(&one, s->kv, CAP, 100);
    for (int i = 0; i < SHARDS; i++) {
        s->shards[i] = one;
        s->shards[i].plan.shard = i;
        stock_keys_of(&s->shards[i].keys, one.plan.activity, i);
        ck_assert_ok(stock_preheat(s->kv, &s->shards[i].plan, &p, &err), &err);
        ck_assert_int_eq(p.code, STOCK_PREHEAT_CREATED);
        ck_assert_ok(stock_verify(s->kv, &s->shards[i].plan, &err), &err);
    }
}

static int slot_of(const struct sale *s, int shard)
{
    return (int)kv_slot_of(slice_of(s->shards[shard].keys.text[0]));
}

static int owner_of(const struct sale *s, int shard)
{
    return testing_cluster_owner(slot_of(s, shard));
}

static int shard_at(const struct sale *s, int primary)
{
    for (int i = 0; i < SHARDS; i++) {
        if (owner_of(s, i) == primary)
            return i;
    }
    ck_abort_msg("no shard at %d", primary);
}

/* One order for each shard: the n-th of the sale. */
struct basket {
    struct stock_order orders[SHARDS];
    struct stock_deducted out[SHARDS];
    struct error errs[SHARDS];
    char names[SHARDS][24];
};

static void fill(const struct sale *s, struct basket *b, int n)
{
    for (int i = 0; i < SHARDS; i++) {
        snprintf(b->names[i], sizeof b->names[i], "C%d_%d", n, i);
        b->orders[i] = testing_order(&s->shards[i], b->names[i], n + 1, 1);
    }
}

static void buy_one_each(const struct sale *s, int n, int expected)
{
    struct basket b;
    struct error err;

    fill(s, &b, n);
    ck_assert_ok(stock_deduct_many(s->kv, b.orders, SHARDS, b.out, b.errs, &err), &err);
    for (int i = 0; i < SHARDS; i++) {
        ck_assert_ok(b.errs[i].code == ERROR_NONE, &b.errs[i]);
        ck_assert_int_eq(b.out[i].code, expected);
    }
}

static void assert_held(struct sale *s, int orders)
{
    struct stock_audit audits[SHARDS];
    struct error errs[SHARDS], err;

    ck_assert_ok(stock_audit_many(s->kv, s->shards[0].plan.activity, SHARDS, audits, errs, &err), &err);
    for (int i = 0; i < SHARDS; i++) {
        ck_assert_ok(errs[i].code == ERROR_NONE, &errs[i]);
        ck_assert(stock_audit_balances(&audits[i]));
        ck_assert_msg(audits[i].held == orders && audits[i].left == CAP - orders, "shard %d holds %lld, not %d", i,
                      (long long)audits[i].held, orders);
    }
}

/* Each shard by its server, and scripts that one of the servers forgot. */
START_TEST(shards_lie_on_all_servers)
{
    struct sale s;
    bool used[TESTING_PRIMARIES] = {false};

    open_sale(&s);
    for (int i = 0; i < SHARDS; i++)
        used[owner_of(&s, i)] = true;
    for (int i = 0; i < TESTING_PRIMARIES; i++)
        ck_assert(used[i]);
    buy_one_each(&s, 0, STOCK_DEDUCT_TAKEN);
    testing_redis_run(cluster.links[1], "SCRIPT", "FLUSH", NULL);
    buy_one_each(&s, 1, STOCK_DEDUCT_TAKEN);
    buy_one_each(&s, 0, STOCK_DEDUCT_HELD);
    assert_held(&s, 2);
    kv_close(&s.kv);
}
END_TEST

static int64_t keys_everywhere(void)
{
    int64_t n = 0;

    for (int i = 0; i < TESTING_PRIMARIES; i++) {
        struct kv_reply *reply = testing_redis_do(cluster.links[i], "DBSIZE", NULL);

        n += kv_reply_integer(reply);
        kv_reply_free(&reply);
    }
    return n;
}

/* The strays of an activity lie on all servers too, and one page of keys is of several slots. */
START_TEST(an_activity_is_removed_from_all_servers)
{
    struct sale s;
    struct stock_removal what;
    struct stock_removal_done done;
    struct error err;
    int64_t before = keys_everywhere();

    open_sale(&s);
    for (int i = 0; i < SHARDS; i++) {
        ck_assert_int_eq(testing_pause_shard(&s.shards[i], true), STOCK_PAUSE_CHANGED);
        for (int n = 0; n < 3; n++) {
            char key[64];

            snprintf(key, sizeof key, "sk:{%lld:%d}:stray%d", (long long)s.shards[0].plan.activity, i, n);
            testing_redis_run(s.kv, "SET", key, "x", NULL);
        }
    }
    what = (struct stock_removal){s.shards[0].plan.activity, SHARDS, s.shards[0].plan.epoch, 1000, 0};
    ck_assert_ok(stock_remove_all(s.kv, &what, &done, &err), &err);
    ck_assert_int_eq(done.shards, SHARDS);
    ck_assert_int_eq(done.strays, (int64_t)SHARDS * 3);
    ck_assert_int_eq(keys_everywhere(), before);
    kv_close(&s.kv);
}
END_TEST

START_TEST(commands_find_their_server)
{
    struct kv *kv = open_cluster();
    struct kv_reply *reply;
    size_t servers = 0;

    for (int i = 0; i < 50; i++) {
        char key[16];

        snprintf(key, sizeof key, "key%d", i);
        testing_redis_run(kv, "SET", key, "1", "EX", "60", NULL);
        reply = testing_redis_do(kv, "EVAL", "return redis.call('GET', KEYS[1])", "1", key, NULL);
        ck_assert_int_eq(kv_reply_integer(reply), 1);
        kv_reply_free(&reply);
        testing_redis_run(kv, "DEL", key, NULL);
    }
    testing_redis_run(kv, "PING", NULL);
    testing_redis_run(kv, "eval", "return 1", "0", NULL);
    for (size_t i = 0; i < kv_server_count(kv); i++)
        servers += kv_server_name(kv, i) != NULL;
    ck_assert_uint_eq(servers, TESTING_PRIMARIES);
    kv_close(&kv);
}
END_TEST

/* ---- what a redirection says ---- */

START_TEST(redirections_are_parsed)
{
    static const struct {
        const char *text;
        int slot; /* -1: is none */
        const char *host;
        int port;
    } rows[] = {
        {"MOVED 3999 127.0.0.1:6381", 3999, "127.0.0.1", 6381},
        {"ASK 16383 redis-3.example:65535", 16383, "redis-3.example", 65535},
        {"MOVED 0 ::1:6381", 0, "::1", 6381},
        {"MOVED 1 :7002", 1, "asked.example", 7002},
        {"MOVED 16384 127.0.0.1:6381", -1, "", 0},
        {"MOVED x 127.0.0.1:6381", -1, "", 0},
        {"MOVED 1 127.0.0.1", -1, "", 0},
        {"MOVED 1 127.0.0.1:0", -1, "", 0},
        {"MOVED 1 127.0.0.1:65536", -1, "", 0},
        {"MOVED 1 127.0.0.1:", -1, "", 0},
        {"MOVED 1", -1, "", 0},
        {"MOVED", -1, "", 0},
        {"", -1, "", 0},
    };
    const struct conf_node from = {"asked.example", 7000};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct conf_node at;
        unsigned slot;
        bool ok = kv_redirect_parse(slice_of(rows[i].text), &from, &slot, &at);

        ck_assert_msg(ok == (rows[i].slot >= 0), "%s", rows[i].text);
        if (!ok)
            continue;
        ck_assert_int_eq((int)slot, rows[i].slot);
        ck_assert_str_eq(at.host, rows[i].host);
        ck_assert_int_eq(at.port, rows[i].port);
    }
}
END_TEST

/* What follows the NUL would be lost on the way to whom the certificate must name. */
START_TEST(a_name_with_a_nul_is_none)
{
    static const char text[] = "MOVED 1 a\0b:7000";
    const struct conf_node from = {"asked.example", 7000};
    struct conf_node at;
    unsigned slot;

    ck_assert(!kv_redirect_parse((struct slice){text, sizeof text - 1}, &from, &slot, &at));
}
END_TEST

/* ---- orderctl doctor ---- */

static void doctor_says(const char *words)
{
    CTL("-q", "doctor");
    ck_assert_msg(strstr(testing_ctl.out, words), "no \"%s\" in\n%s%s", words, testing_ctl.out, testing_ctl.err);
}

START_TEST(the_doctor_looks_at_each_server)
{
    char more[256], words[64];

    testing_ctl_setup();
    snprintf(more, sizeof more, "mode = \"cluster\"; nodes = \"%s\";", cluster.seeds);
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_more = more});
    doctor_says("3 servers have all 16384 slots");
    snprintf(words, sizeof words, "127.0.0.1:%d: it has no replica", cluster.nodes[1].port);
    doctor_says(words);
    snprintf(words, sizeof words, "127.0.0.1:%d: it is the primary, with 1 replicas", cluster.nodes[0].port);
    doctor_says(words);
    ck_assert_ptr_null(strstr(testing_ctl.out, "full-coverage is"));
    for (int i = 0; i < TESTING_PRIMARIES; i++)
        testing_redis_run(cluster.links[i], "CONFIG", "SET", "cluster-require-full-coverage", "yes", NULL);
    doctor_says("cluster-require-full-coverage is yes");
    for (int i = 0; i < TESTING_PRIMARIES; i++)
        testing_redis_run(cluster.links[i], "CONFIG", "SET", "cluster-require-full-coverage", "no", NULL);
    testing_ctl_teardown();
}
END_TEST

/* ---- slots move under load ---- */

struct load {
    struct sale sale;
    atomic_int baskets;
    atomic_bool stop;
    atomic_int failed[TESTING_PRIMARIES]; /* calls that had to be repeated, by server */
    atomic_int twice;                     /* orders that had been taken although their call was said not to have run */
};

/* Until each order of the basket is held. */
static void insist(struct load *l, struct basket *b)
{
    bool held[SHARDS] = {false}, unknown[SHARDS] = {false};
    int open = SHARDS;

    while (open > 0) {
        struct error err;
        bool some = stock_deduct_many(l->sale.kv, b->orders, SHARDS, b->out, b->errs, &err);

        for (int i = 0; i < SHARDS; i++) {
            const struct error *own = some ? &b->errs[i] : &err;

            if (held[i])
                continue;
            if (own->code != ERROR_NONE) {
                ck_assert_msg(error_class_of(own) == ERROR_CLASS_OUTAGE, "%s", own->text);
                unknown[i] |= own->code == ERROR_KV_LOST;
                atomic_fetch_add(&l->failed[owner_of(&l->sale, i)], 1);
                continue;
            }
            ck_assert(b->out[i].code == STOCK_DEDUCT_TAKEN || b->out[i].code == STOCK_DEDUCT_HELD);
            atomic_fetch_add(&l->twice, b->out[i].code == STOCK_DEDUCT_HELD && !unknown[i]);
            held[i] = true;
            open--;
        }
        if (open > 0)
            clock_sleep_ms(20);
    }
}

static void *run_load(void *data)
{
    struct load *l = data;
    struct basket b;

    while (!atomic_load(&l->stop)) {
        fill(&l->sale, &b, atomic_load(&l->baskets));
        insist(l, &b);
        atomic_fetch_add(&l->baskets, 1);
    }
    return NULL;
}

static void more_baskets(struct load *l, int n)
{
    int from = atomic_load(&l->baskets);

    testing_wait(atomic_load(&l->baskets) >= from + n, 15000, "the sale goes on");
}

static int failures(struct load *l)
{
    return atomic_load(&l->failed[0]) + atomic_load(&l->failed[1]) + atomic_load(&l->failed[2]);
}

static void begin_load(struct load *l, pthread_t *thread)
{
    open_sale(&l->sale);
    for (int i = 0; i < SHARDS;
         i++) { /* so that all five keys are there: a call is answered ASK, and not only TRYAGAIN */
        testing_take(&l->sale.shards[i], "first", 999999, 1);
        testing_give(&l->sale.shards[i], "first", 1);
    }
    CHECK_ZERO(pthread_create(thread, NULL, run_load, l));
    more_baskets(l, 5);
}

static void end_load(struct load *l, pthread_t thread)
{
    atomic_store(&l->stop, true);
    CHECK_ZERO(pthread_join(thread, NULL));
}

/* Key by key, with calls at every stage, there and back: nobody notices, and no call runs twice. */
START_TEST(slots_move_under_load)
{
    static struct load l;
    pthread_t thread;

    begin_load(&l, &thread);
    for (int primary = 0; primary < TESTING_PRIMARIES; primary++) {
        int shard = shard_at(&l.sale, primary), slot = slot_of(&l.sale, shard), to = (primary + 1) % TESTING_PRIMARIES;

        testing_cluster_move_begin(&cluster, slot, primary, to);
        while (testing_cluster_move_keys(&cluster, slot, primary, to, 1) > 0)
            clock_sleep_ms(20);
        more_baskets(&l, 3); /* by ASK */
        testing_cluster_move_end(&cluster, slot, primary, to);
        more_baskets(&l, 3); /* by MOVED */
    }
    ck_assert_int_eq(l.sale.kv->cluster->stale, false);
    end_load(&l, thread);
    ck_assert_int_eq(failures(&l), 0);
    ck_assert_int_eq(atomic_load(&l.twice), 0);
    assert_held(&l.sale, atomic_load(&l.baskets));
    for (int primary = 0; primary < TESTING_PRIMARIES; primary++) { /* as they were, for the other tests */
        int slot = slot_of(&l.sale, shard_at(&l.sale, primary)), to = (primary + 1) % TESTING_PRIMARIES;

        testing_cluster_move_begin(&cluster, slot, to, primary);
        testing_cluster_move_keys(&cluster, slot, to, primary, 100);
        testing_cluster_move_end(&cluster, slot, to, primary);
    }
    kv_close(&l.sale.kv);
}
END_TEST

/* A slot that stays half moved: the call is given up in its time, has not run, and the other shards had theirs. */
START_TEST(a_move_that_hangs_costs_its_own_shard_only)
{
    struct sale s;
    struct basket b;
    struct error err;
    int shard, slot;

    conf.redis_command_timeout = 300;
    open_sale(&s);
    shard = shard_at(&s, 2);
    slot = slot_of(&s, shard);
    testing_cluster_move_begin(&cluster, slot, 2, 0);
    testing_cluster_move_keys(&cluster, slot, 2, 0, 1);
    fill(&s, &b, 0);
    ck_assert_ok(stock_deduct_many(s.kv, b.orders, SHARDS, b.out, b.errs, &err), &err);
    for (int i = 0; i < SHARDS; i++) {
        ck_assert_msg(b.errs[i].code == (i == shard ? ERROR_KV_AWAY : ERROR_NONE), "%d: %s", i, b.errs[i].text);
        ck_assert(i == shard || b.out[i].code == STOCK_DEDUCT_TAKEN);
    }
    testing_cluster_move_keys(&cluster, slot, 2, 0, 100);
    testing_cluster_move_end(&cluster, slot, 2, 0);
    fill(&s, &b, 0);
    ck_assert_ok(stock_deduct_many(s.kv, b.orders, SHARDS, b.out, b.errs, &err), &err);
    ck_assert_int_eq(b.out[shard].code, STOCK_DEDUCT_TAKEN); /* now, and not before */
    testing_cluster_move_begin(&cluster, slot, 0, 2);
    testing_cluster_move_keys(&cluster, slot, 0, 2, 100);
    testing_cluster_move_end(&cluster, slot, 0, 2);
    kv_close(&s.kv);
}
END_TEST

/* ---- a server dies under load; last, since it stays dead ---- */

START_TEST(a_server_dies_and_its_replica_takes_over)
{
    static struct load l;
    pthread_t thread;
    int baskets;

    begin_load(&l, &thread);
    testing_redis_kill(&cluster.nodes[0]);
    testing_wait(atomic_load(&l.failed[0]) > 0, 5000, "its shards are away");
    more_baskets(&l, 5);
    end_load(&l, thread);
    ck_assert_int_eq(atomic_load(&l.failed[1]) + atomic_load(&l.failed[2]), 0); /* the others never were */
    ck_assert_int_eq(atomic_load(&l.twice), 0);
    /* What the replica had not received is taken again, as the walk would adopt it. */
    baskets = atomic_load(&l.baskets);
    for (int n = 0; n < baskets; n++) {
        struct basket b;

        fill(&l.sale, &b, n);
        insist(&l, &b);
    }
    assert_held(&l.sale, baskets);
    kv_close(&l.sale.kv);
    l.sale.kv = open_cluster(); /* although the first of redis.nodes is dead */
    assert_held(&l.sale, baskets);
    kv_close(&l.sale.kv);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster");
    TCase *tc = tcase_create("cluster");

    tcase_add_unchecked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 90);
    tcase_add_test(tc, slots_are_those_of_the_server);
    tcase_add_test(tc, redirections_are_parsed);
    tcase_add_test(tc, a_name_with_a_nul_is_none);
    tcase_add_test(tc, commands_find_their_server);
    tcase_add_test(tc, shards_lie_on_all_servers);
    tcase_add_test(tc, an_activity_is_removed_from_all_servers);
    tcase_add_test(tc, the_doctor_looks_at_each_server);
    tcase_add_test(tc, slots_move_under_load);
    tcase_add_test(tc, a_move_that_hangs_costs_its_own_shard_only);
    tcase_add_test(tc, a_server_dies_and_its_replica_takes_over);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
