/* Redis Sentinel: which server is found, and what becomes of a sale when the primary changes under load. */
#include "testing_sentinel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "orderd/metric.h"
#include "testing_ctl.h"
#include "testing_stock.h"

static struct testing_sentinels s;
static struct conf sale_conf;

static void setup(void)
{
    testing_sentinels_start(&s);
    sale_conf = testing_sentinels_conf(&s);
}

static void teardown(void)
{
    testing_sentinels_stop(&s);
}

static int port_of(const struct kv *kv)
{
    return atoi(strrchr(kv_peer(kv), ':') + 1);
}

static struct kv *open_sale(void)
{
    struct error err;
    struct kv *kv = kv_open(&sale_conf, "sale", &err);

    ck_assert_msg(kv != NULL, "%s", err.text);
    return kv;
}

/* ---- who is found: two real servers and Sentinels of straw ---- */

static struct testing_straw straws[3];

static struct conf straw_conf(char nodes[128])
{
    struct conf conf = testing_sentinels_conf(&s);

    snprintf(nodes, 128, "127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", straws[0].port, straws[1].port, straws[2].port);
    conf.redis_nodes = nodes;
    conf.redis_sentinel_password_file = "";
    conf.redis_sentinel_timeout = 200;
    return conf;
}

static int asked(int i)
{
    return __atomic_load_n(&straws[i].asked, __ATOMIC_SEQ_CST);
}

/* The first is dead, the second names a replica (in vain: that server says what it is), the third is right, and is
 * asked first from then on. */
START_TEST(a_stale_answer_is_not_believed)
{
    int primary = testing_sentinels_primary(&s, 0);
    int replica = primary == s.servers[0].port ? s.servers[1].port : s.servers[0].port;
    char nodes[128];
    struct conf conf;
    struct error err;

    straws[0].port = testing_free_port();
    testing_straw_start(&straws[1], replica);
    testing_straw_start(&straws[2], primary);
    conf = straw_conf(nodes);
    for (int i = 0; i < 2; i++) {
        struct kv *kv = kv_open(&conf, "test", &err);

        ck_assert_msg(kv != NULL, "%s", err.text);
        ck_assert_int_eq(port_of(kv), primary);
        kv_close(&kv);
    }
    ck_assert_int_eq(asked(1), 1);
    ck_assert_int_eq(asked(2), 2);
}
END_TEST

START_TEST(where_only_replicas_are_named_nothing_is_opened)
{
    int primary = testing_sentinels_primary(&s, 0);
    int replica = primary == s.servers[0].port ? s.servers[1].port : s.servers[0].port;
    char nodes[128];
    struct conf conf;
    struct error err;

    for (int i = 0; i < 3; i++)
        testing_straw_start(&straws[i], replica);
    conf = straw_conf(nodes);
    ck_assert_ptr_null(kv_open(&conf, "test", &err));
    ck_assert_msg(err.code == ERROR_KV_READ_ONLY, "%s", err.text);
    ck_assert_msg(strstr(err.text, "role is \"slave\""), "%s", err.text);
}
END_TEST

static void assert_refused(const struct conf *conf, enum error_code code, const char *words)
{
    struct error err = {0};
    int64_t began = testing_now_ms();

    ck_assert_ptr_null(kv_open(conf, "test", &err));
    ck_assert_msg(err.code == code && strstr(err.text, words), "%s: %s", error_code_name(err.code), err.text);
    testing_within(began, 2000);
}

START_TEST(a_wrong_name_is_not_an_outage)
{
    char nodes[128];
    struct conf conf;

    straws[0].port = testing_free_port(); /* nobody */
    testing_straw_start(&straws[1], 0);   /* knows none */
    testing_straw_start(&straws[2], -1);  /* silent */
    conf = straw_conf(nodes);
    assert_refused(&conf, ERROR_KV_SETUP, "of the name \"sale\" (2 of 3 do not answer)");
    conf = testing_sentinels_conf(&s);
    conf.redis_sentinel_master = "nosuch";
    assert_refused(&conf, ERROR_KV_SETUP, "of the name \"nosuch\" (0 of 3 do not answer)");
}
END_TEST

START_TEST(nobody_answers)
{
    char nodes[128];
    struct conf conf;

    straws[0].port = testing_free_port();
    testing_straw_start(&straws[1], -1);
    straws[2].port = straws[1].port;
    conf = straw_conf(nodes);
    assert_refused(&conf, ERROR_KV_AWAY, "none of 3 Sentinels answers");
}
END_TEST

/* The servers themselves, where the Sentinels should be named. */
START_TEST(no_sentinel_is_named)
{
    struct conf conf = testing_sentinels_conf(&s);
    char nodes[32];

    snprintf(nodes, sizeof nodes, "127.0.0.1:%d", s.servers[0].port);
    conf.redis_nodes = nodes;
    conf.redis_sentinel_password_file = conf.redis_password_file;
    assert_refused(&conf, ERROR_KV_SETUP, "it is no Sentinel: redis.nodes names Sentinels (26379 as a rule)");
}
END_TEST

START_TEST(each_has_its_own_password)
{
    struct conf conf = testing_sentinels_conf(&s);

    conf.redis_sentinel_password_file = "wrong";
    assert_refused(&conf, ERROR_KV_SETUP, "WRONGPASS");
    conf = testing_sentinels_conf(&s);
    conf.redis_password_file = "wrong";
    assert_refused(&conf, ERROR_KV_SETUP, "the primary \"sale\" by the word of Sentinel");
}
END_TEST

/* ---- who has not heard of the last failover ---- */

static void says(int i, int names, int epoch)
{
    __atomic_store_n(&straws[i].epoch, epoch, __ATOMIC_SEQ_CST);
    __atomic_store_n(&straws[i].names, names, __ATOMIC_SEQ_CST);
}

static void opens(const struct conf *conf, int port)
{
    struct error err;
    struct kv *kv = kv_open(conf, "test", &err);

    ck_assert_msg(kv != NULL, "%s", err.text);
    ck_assert_int_eq(port_of(kv), port);
    kv_close(&kv);
}

static void still_used(struct kv *kv)
{
    int64_t end = testing_now_ms() + 2500; /* it is asked about twice */

    while (testing_now_ms() < end) {
        struct kv_reply *reply = testing_redis_do(kv, "PING", NULL);

        kv_reply_free(&reply);
        clock_sleep_ms(100);
    }
}

/* Both servers say that they are the primary, and the first Sentinel still names the old one. */
START_TEST(who_is_behind_is_not_believed)
{
    int old = testing_sentinels_primary(&s, 0);
    struct testing_redis other;
    char nodes[128];
    struct conf conf;
    struct error err;
    struct kv *kv;

    testing_redis_start(&other, (const char *const[]){"--requirepass", TESTING_SERVER_SECRET, NULL});
    for (int i = 0; i < 3; i++)
        testing_straw_start(&straws[i], i == 0 ? -1 : other.port);
    conf = straw_conf(nodes);
    says(1, other.port, 5);
    kv = kv_open(&conf, "test", &err);
    ck_assert_msg(kv != NULL, "%s", err.text);
    says(0, old, 4);
    says(1, -1, 5);
    says(2, -1, 5);
    assert_refused(&conf, ERROR_KV_AWAY, "knows of the last failover of \"sale\" yet (2 of 3 do not answer)");
    still_used(kv);
    kv_close(&kv);
    says(2, other.port, 5);
    opens(&conf, other.port);
    says(0, old, -1); /* nobody may ask it for that: its word is where to look, as any other's */
    says(2, -1, 5);
    opens(&conf, old);
    says(0, old, 4);
    assert_refused(&conf, ERROR_KV_AWAY, "knows of the last failover");
    says(0, old, 6);
    opens(&conf, old);
    testing_redis_stop(&other);
}
END_TEST

/* ---- orderctl doctor ---- */

static void configure(const char *nodes)
{
    char servers[256], sentinels[256], more[1024];

    snprintf(more, sizeof more,
             "mode = \"sentinel\"; nodes = \"%s\"; sentinel_master = \"%s\"; password_file = \"%s\"; "
             "sentinel_password_file = \"%s\";",
             nodes, TESTING_SENTINEL_NAME, testing_sentinels_secret(servers, "servers", TESTING_SERVER_SECRET),
             testing_sentinels_secret(sentinels, "sentinels", TESTING_SENTINEL_SECRET));
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_more = more});
}

static void doctor_says(const char *words)
{
    CTL("-q", "doctor");
    ck_assert_msg(strstr(testing_ctl.out, words), "no \"%s\" in\n%s%s", words, testing_ctl.out, testing_ctl.err);
}

START_TEST(the_doctor_asks_each)
{
    char named[64], nodes[256];

    testing_ctl_setup();
    configure(s.nodes);
    snprintf(named, sizeof named, "it names 127.0.0.1:%d", testing_sentinels_primary(&s, 0));
    doctor_says(named);
    doctor_says("min-replicas-to-write is 0");
    doctor_says("ok       redis.role");
    snprintf(nodes, sizeof nodes, "127.0.0.1:%d,%s", s.sentinels[0].port, "127.0.0.1:1");
    configure(nodes);
    doctor_says("127.0.0.1:1: cannot connect");
    doctor_says("redis.nodes names 2");
    testing_ctl_teardown();
}
END_TEST

/* ---- WAIT ---- */

static int64_t counted(enum metric metric)
{
    struct metric_sum sum;

    metric_read(&sum);
    return (int64_t)sum.counters[metric];
}

/* One replica is there and confirms; two are not: the call has run all the same, is counted, and took its time. What
 * only reads waits for nobody. */
START_TEST(replicas_are_waited_for)
{
    struct testing_shard shard;
    int64_t began;

    sale_conf.redis_wait_replicas = 1;
    sale_conf.redis_wait_timeout = 2000;
    shard.kv = open_sale();
    testing_shard_create(&shard, shard.kv, 10, 10);
    ck_assert_int_eq(testing_take(&shard, "W1", 1, 1).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_ge(counted(METRIC_KV_WAITS), 2);
    ck_assert_int_eq(counted(METRIC_KV_WAITS_SHORT), 0);
    kv_close(&shard.kv);
    sale_conf.redis_wait_replicas = 2;
    sale_conf.redis_wait_timeout = 200;
    shard.kv = open_sale();
    began = testing_now_ms();
    ck_assert_int_eq(testing_take(&shard, "W2", 2, 1).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_ge(testing_now_ms() - began, 190);
    ck_assert_int_eq(counted(METRIC_KV_WAITS_SHORT), 1);
    ck_assert_int_eq(testing_shard_audit(&shard).held, 2);
    ck_assert_int_eq(counted(METRIC_KV_WAITS_SHORT), 1);
    testing_redis_run(shard.kv, "SCRIPT", "FLUSH", NULL);
    ck_assert_int_eq(testing_take(&shard, "W3", 3, 1).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_shard_audit(&shard).held, 3);
    kv_close(&shard.kv);
}
END_TEST

/* ---- the primary changes ---- */

#define ORDERS 3000
#define CHUNK  20

/* A web tier that repeats until it has an answer, as docs/web-tier.md wants it. */
struct buyer {
    struct testing_shard shard;
    atomic_int done;
    atomic_bool unlimited; /* the others wait for it at half of the orders */
    int reopened;
    int read_only; /* answers of a server that was no primary any more */
};

static void open_again(struct buyer *b)
{
    int64_t deadline = testing_now_ms() + 60000;
    struct error err;

    kv_close(&b->shard.kv);
    b->reopened++;
    while (!(b->shard.kv = kv_open(&sale_conf, "buyer", &err))) {
        ck_assert_msg(error_class_of(&err) == ERROR_CLASS_OUTAGE, "%s", err.text);
        ck_assert_msg(testing_now_ms() < deadline, "%s", err.text);
        clock_sleep_ms(20);
    }
}

/* Buys orders from..from + CHUNK - 1, one unit each, until each has an answer that says it is held. */
static void buy(struct buyer *b, int from)
{
    struct stock_order orders[CHUNK];
    struct stock_deducted out[CHUNK];
    struct error errs[CHUNK], err;
    char names[CHUNK][16];
    bool all = false;

    for (int i = 0; i < CHUNK; i++) {
        snprintf(names[i], sizeof names[i], "S%d", from + i);
        orders[i] = testing_order(&b->shard, names[i], from + i + 1, 1);
    }
    while (!all) {
        all = stock_deduct_many(b->shard.kv, orders, CHUNK, out, errs, &err);
        b->read_only += !all && err.code == ERROR_KV_READ_ONLY;
        for (int i = 0; i < CHUNK && all; i++) {
            b->read_only += errs[i].code == ERROR_KV_READ_ONLY;
            all = errs[i].code == ERROR_NONE;
            ck_assert(!all || out[i].code == STOCK_DEDUCT_TAKEN || out[i].code == STOCK_DEDUCT_HELD);
        }
        if (!all)
            open_again(b);
    }
}

static void *buy_all(void *data)
{
    struct buyer *b = data;

    for (int n = 0; n < ORDERS; n += CHUNK) {
        while (n >= ORDERS / 2 && !atomic_load(&b->unlimited))
            clock_sleep_ms(1);
        buy(b, n);
        atomic_store(&b->done, n + CHUNK);
    }
    return NULL;
}

static bool entry_counts(const struct stock_entry *entry, void *data)
{
    ck_assert(entry->valid && entry->quantity == 1);
    ++*(int *)data;
    return true;
}

/* Every order once in the ledger, and every unit accounted for. */
static void assert_all_held(struct buyer *b)
{
    struct stock_walk walk = {b->shard.plan.activity, b->shard.plan.shard, STOCK_KEY_HELD, 500, 0};
    struct stock_audit audit = testing_shard_audit(&b->shard);
    struct error err;
    int held = 0;

    ck_assert_int_eq(audit.held, ORDERS);
    ck_assert_int_eq(audit.left, 2 * ORDERS - ORDERS);
    ck_assert_ok(stock_walk(b->shard.kv, &walk, entry_counts, &held, &err), &err);
    ck_assert_int_eq(held, ORDERS);
}

/* What a failover lost is for the walk to find; here the buyer asks again for everything, which takes what is missing.
 */
static void ask_again(struct buyer *b)
{
    for (int n = 0; n < ORDERS; n += CHUNK)
        buy(b, n);
}

/* Of a machine that is busy enough the Sentinels may take a server for dead: then it is asked anew, whoever it is now.
 */
static bool is_replicated(struct kv **kv)
{
    const struct slice wait[] = {slice_of("WAIT"), slice_of("1"), slice_of("100")};
    struct error err;
    struct kv_reply *reply = kv_command(*kv, wait, 3, &err);
    bool yes = reply && kv_reply_integer(reply) == 1;

    if (!reply) {
        ck_assert_msg(err.code == ERROR_KV_READ_ONLY || err.code == ERROR_KV_AWAY, "%s", err.text);
        kv_close(kv);
        *kv = open_sale();
    }
    kv_reply_free(&reply);
    return yes;
}

static void fail_over(bool kill)
{
    struct buyer b = {.done = 0};
    pthread_t thread;
    int before, reopened;

    b.shard.kv = open_sale();
    testing_wait(is_replicated(&b.shard.kv), 20000, "a replica is there"); /* a busy Sentinel does nothing for 30 s */
    testing_shard_create(&b.shard, b.shard.kv, 2 * ORDERS, 10);
    testing_wait(is_replicated(&b.shard.kv), 20000, "the replica has it");
    before = port_of(b.shard.kv);
    CHECK_ZERO(pthread_create(&thread, NULL, buy_all, &b));
    testing_wait(atomic_load(&b.done) > ORDERS / 4, 20000, "a quarter is sold");
    if (kill)
        testing_redis_kill(&s.servers[before == s.servers[1].port]);
    else
        testing_sentinels_failover(&s);
    clock_sleep_ms(kill ? 0 : 1100); /* as old as the last question may be */
    atomic_store(&b.unlimited, true);
    CHECK_ZERO(pthread_join(thread, NULL));
    ck_assert_int_ne(port_of(b.shard.kv), before);
    ck_assert_int_gt(b.reopened, 0);
    reopened = b.reopened;
    ask_again(&b);
    ck_assert_int_eq(b.reopened, reopened); /* it is the primary, and stays it */
    assert_all_held(&b);
    kv_close(&b.shard.kv);
}

/* A real Sentinel tells the demoted server only after ten seconds: until then only our own question keeps us from it.
 */
static void demote(int port, int primary)
{
    struct conf conf = testing_redis_conf("127.0.0.1", port);
    struct testing_shard shard;
    struct error err;
    char text[16];

    snprintf(text, sizeof text, "%d", primary);
    conf.redis_password_file = TESTING_SERVER_SECRET;
    shard.kv = kv_open(&conf, "test", &err);
    testing_redis_run(shard.kv, "REPLICAOF", "127.0.0.1", text, NULL);
    testing_shard_plan(&shard, shard.kv, 10, 1);
    ck_assert(!stock_preheat(shard.kv, &shard.plan, &(struct stock_preheated){0}, &err));
    ck_assert_msg(err.code == ERROR_KV_READ_ONLY, "%s", err.text);
    kv_close(&shard.kv);
}

START_TEST(a_primary_that_dies_is_replaced)
{
    fail_over(true);
}
END_TEST

/* After the test above, which killed the other one. */
START_TEST(a_primary_that_is_demoted_is_left)
{
    int primary = testing_sentinels_primary(&s, 0);

    testing_sentinels_revive(&s, s.servers[0].port == primary);
    fail_over(false);
    demote(primary, testing_sentinels_primary(&s, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sentinel");
    TCase *tc = tcase_create("sentinel");

    tcase_add_unchecked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_stale_answer_is_not_believed);
    tcase_add_test(tc, where_only_replicas_are_named_nothing_is_opened);
    tcase_add_test(tc, a_wrong_name_is_not_an_outage);
    tcase_add_test(tc, nobody_answers);
    tcase_add_test(tc, no_sentinel_is_named);
    tcase_add_test(tc, each_has_its_own_password);
    tcase_add_test(tc, who_is_behind_is_not_believed);
    tcase_add_test(tc, the_doctor_asks_each);
    tcase_add_test(tc, replicas_are_waited_for);
    tcase_add_test(tc, a_primary_that_dies_is_replaced);
    tcase_add_test(tc, a_primary_that_is_demoted_is_left);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
