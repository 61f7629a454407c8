/* Redis Sentinel and Redis Cluster by TLS: real ones, whose servers speak nothing else with each other. Each server has
 * to prove that it is who redis.nodes, the Sentinels or the cluster call it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "orderd/exitcode.h"
#include "testing_cluster.h"
#include "testing_ctl.h"
#include "testing_sentinel.h"

static struct kv *open_by(const struct conf *conf)
{
    struct error err;
    struct kv *kv = kv_open(conf, "sale", &err);

    ck_assert_ok(kv, &err);
    return kv;
}

static void assert_encrypted(const struct kv *kv, size_t server)
{
    int64_t until = 0;
    const char *by = kv_encrypted_by(kv, server, &until);

    ck_assert_msg(by && strncmp(by, "TLSv1.", 6) == 0, "encrypted by %s", by ? by : "nothing");
    ck_assert_int_gt(until, time(NULL));
}

static void assert_sentence(const struct error *err, enum error_code code, const char *sentence)
{
    ck_assert_msg(err->code == code && strstr(err->text, sentence), "expected: %s\nfound: %s: %s", sentence,
                  error_code_name(err->code), err->text);
}

static void assert_refused(const struct conf *conf, const char *sentence)
{
    struct error err = {0};

    ck_assert_ptr_null(kv_open(conf, "sale", &err));
    assert_sentence(&err, ERROR_KV_SETUP, sentence);
}

/* ---- what orderctl doctor says ---- */

static void configure(const struct conf *conf, const char *mode, const char *db_port)
{
    char more[2048];

    snprintf(more, sizeof more,
             "mode = \"%s\"; nodes = \"%s\"; tls = \"verify\"; tls_ca_file = \"%s\"; tls_cert_file = \"%s\"; "
             "tls_key_file = \"%s\"; ",
             mode, conf->redis_nodes, conf->redis_tls_ca_file, conf->redis_tls_cert_file, conf->redis_tls_key_file);
    if (conf->redis_mode == CONF_MODE_SENTINEL) {
        char servers[256], sentinels[256];
        size_t len = strlen(more);

        snprintf(more + len, sizeof more - len,
                 "sentinel_master = \"%s\"; password_file = \"%s\"; sentinel_password_file = \"%s\";",
                 TESTING_SENTINEL_NAME, testing_sentinels_secret(servers, "servers", TESTING_SERVER_SECRET),
                 testing_sentinels_secret(sentinels, "sentinels", TESTING_SENTINEL_SECRET));
    }
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_more = more, .db_port = db_port});
}

static void run_doctor(const struct conf *conf, const char *mode)
{
    configure(conf, mode, NULL);
    CTL("-q", "--json", "doctor");
}

/* Whether a finding of this check, about this server, has the words. */
static bool found(const char *check, const char *subject, const char *words)
{
    char text[128], about[128];

    snprintf(text, sizeof text, "\"check\":\"%s\"", check);
    snprintf(about, sizeof about, subject ? "\"subject\":\"%s\"" : "\"subject\":null", subject);
    for (const char *line = testing_ctl.out; *line; line += strcspn(line, "\n") + (line[strcspn(line, "\n")] != '\0')) {
        char one[2048];

        snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
        if (strstr(one, text) && strstr(one, about) && strstr(one, words))
            return true;
    }
    return false;
}

static void assert_found(const char *check, const char *subject, const char *words)
{
    ck_assert_msg(found(check, subject, words), "%s: %s: no \"%s\" in\n%.2000s%.500s", check, subject ? subject : "-",
                  words, testing_ctl.out, testing_ctl.err);
}

/* ---- Sentinel ---- */

static struct testing_sentinels s;

static void start_sentinels(void)
{
    testing_sentinels_start_tls(&s);
}

static void stop_sentinels(void)
{
    testing_sentinels_stop(&s);
}

static const struct testing_redis *primary(void)
{
    return &s.servers[testing_redis_known(&s.servers[1]) == testing_sentinels_primary(&s, 0)];
}

static bool all_name_the_same(void)
{
    int port = testing_sentinels_primary(&s, 0);

    return testing_sentinels_primary(&s, 1) == port && testing_sentinels_primary(&s, 2) == port;
}

static bool is_out_of_use(struct kv *kv)
{
    struct error err;
    struct kv_reply *reply = kv_command(kv, (const struct slice[]){slice_of("TIME")}, 1, &err);
    bool out = !reply;

    if (out)
        assert_sentence(&err, ERROR_KV_AWAY, "it is not the primary any more, that is 127.0.0.1:");
    kv_reply_free(&reply);
    return out;
}

/* The question once a second goes by TLS, too: to the Sentinels, and to whom they name. The demoted server is told only
 * some eight seconds later. */
START_TEST(a_failover_is_followed)
{
    struct conf conf = testing_sentinels_conf(&s);
    struct kv *kv = open_by(&conf);
    char peer[320];

    assert_encrypted(kv, 0);
    snprintf(peer, sizeof peer, "127.0.0.1:%d", primary()->tls_port);
    ck_assert_str_eq(kv_peer(kv), peer);
    testing_redis_run(kv, "SET", "before", "1", NULL);
    testing_redis_run(kv, "WAIT", "1", "2000", NULL);
    testing_sentinels_failover(&s);
    testing_wait(is_out_of_use(kv), 5000, "the connection leaves the server that was demoted");
    kv_close(&kv);
    kv = open_by(&conf);
    ck_assert_str_ne(kv_peer(kv), peer);
    assert_encrypted(kv, 0);
    testing_redis_run(kv, "SET", "after", "1", NULL);
    kv_close(&kv);
    testing_wait(all_name_the_same(), 10000, "the other Sentinels know it, too"); /* for the tests that follow */
}
END_TEST

START_TEST(a_primary_that_is_somebody_else)
{
    struct conf conf = testing_sentinels_conf(&s);
    struct kv *kv;

    testing_redis_show(primary(), TESTING_SERVER_SECRET, "misnamed");
    assert_refused(&conf, "its certificate is for elsewhere.invalid, not for 127.0.0.1; set what the Sentinels call it "
                          "(announce-hostnames) to a name it has, or have it made for 127.0.0.1");
    testing_redis_show(primary(), TESTING_SERVER_SECRET, "expired");
    assert_refused(&conf, "its certificate has expired");
    testing_redis_show(primary(), TESTING_SERVER_SECRET, "server");
    kv = open_by(&conf);
    kv_close(&kv);
}
END_TEST

/* One costs nothing but its turn; where there is no other, that is no outage. */
START_TEST(a_sentinel_that_is_somebody_else)
{
    struct conf conf = testing_sentinels_conf(&s);
    struct testing_redis stranger;
    struct kv *kv;
    char nodes[200];

    testing_sentinels_add(&s, &stranger, "misnamed");
    snprintf(nodes, sizeof nodes, "127.0.0.1:%d", stranger.tls_port);
    conf.redis_nodes = nodes;
    assert_refused(&conf, "none of 1 Sentinels answers: Sentinel 127.0.0.1:");
    assert_refused(&conf, "its certificate is for elsewhere.invalid, not for 127.0.0.1; set redis.nodes to a name it "
                          "has, or have it made for 127.0.0.1");
    snprintf(nodes, sizeof nodes, "127.0.0.1:%d, %s", stranger.tls_port, s.nodes);
    kv = open_by(&conf);
    kv_close(&kv);
    testing_redis_stop(&stranger);
}
END_TEST

START_TEST(sentinels_in_plain_text)
{
    struct conf conf = testing_sentinels_conf(&s);
    struct error err = {0};
    char nodes[32];

    snprintf(nodes, sizeof nodes, "127.0.0.1:%d", s.sentinels[0].port);
    conf.redis_nodes = nodes;
    assert_refused(&conf, "it does not speak TLS; name its TLS port in redis.nodes, switch TLS on there, or redis.tls "
                          "off here");
    conf = testing_sentinels_conf(&s);
    conf.redis_tls = CONF_TLS_OFF;
    ck_assert_ptr_null(kv_open(&conf, "sale", &err));
    assert_sentence(&err, ERROR_KV_AWAY, "if that is its TLS port, set redis.tls to \"verify\"");
}
END_TEST

START_TEST(the_doctor_asks_sentinels)
{
    struct conf conf = testing_sentinels_conf(&s);
    struct testing_redis stranger;
    char subject[64], nodes[200];

    testing_ctl_setup();
    run_doctor(&conf, "sentinel");
    for (int i = 0; i < TESTING_SENTINELS; i++) {
        snprintf(subject, sizeof subject, "127.0.0.1:%d", s.sentinels[i].tls_port);
        assert_found("redis.tls", subject, "encrypted by TLSv1.");
        assert_found("redis.sentinel", subject, "it names 127.0.0.1:");
    }
    assert_found("redis.tls", NULL, "encrypted by TLSv1.");
    testing_sentinels_add(&s, &stranger, "misnamed");
    snprintf(nodes, sizeof nodes, "%s, 127.0.0.1:%d", s.nodes, stranger.tls_port);
    conf.redis_nodes = nodes;
    run_doctor(&conf, "sentinel");
    snprintf(subject, sizeof subject, "127.0.0.1:%d", stranger.tls_port);
    assert_found("redis.sentinel", subject, "set redis.nodes to a name it has");
    ck_assert(!found("redis.tls", subject, ""));
    assert_found("redis.tls", NULL, "encrypted by TLSv1.");
    testing_redis_stop(&stranger);
    testing_ctl_teardown();
}
END_TEST

/* ---- Cluster ---- */

static struct testing_cluster cluster;

static void start_cluster(void)
{
    testing_cluster_start_tls(&cluster, false);
}

static void stop_cluster(void)
{
    testing_cluster_stop(&cluster);
}

/* A key of a server, as the cluster began. */
static const char *key_at(int node, char key[16])
{
    for (int i = 0;; i++) {
        snprintf(key, 16, "key%d", i);
        if (testing_cluster_owner(testing_cluster_slot(&cluster, key)) == node)
            return key;
    }
}

static size_t index_of(const struct kv *kv, int node)
{
    char name[64];

    snprintf(name, sizeof name, ":%d", cluster.nodes[node].tls_port);
    for (size_t i = 0; i < kv_server_count(kv); i++) {
        if (kv_server_name(kv, i) && strstr(kv_server_name(kv, i), name))
            return i;
    }
    ck_abort_msg("the map has no %s", name);
}

START_TEST(each_server_is_encrypted)
{
    struct conf conf = testing_cluster_conf(&cluster);
    struct kv *kv = open_by(&conf);
    int64_t until;
    char key[16];

    for (int node = 0; node < TESTING_PRIMARIES; node++) {
        size_t i = index_of(kv, node);

        if (node > 0) /* the map came from the first */
            ck_assert_ptr_null(kv_encrypted_by(kv, i, &until));
        testing_redis_run(kv, "SET", key_at(node, key), "1", NULL);
        assert_encrypted(kv, i);
    }
    kv_close(&kv);
}
END_TEST

/* To a server that had no connection before. */
START_TEST(a_slot_that_moved_is_followed)
{
    struct conf conf = testing_cluster_conf(&cluster);
    struct kv *kv = open_by(&conf);
    struct kv_reply *reply;
    char key[16];
    int slot = testing_cluster_slot(&cluster, key_at(0, key));

    testing_redis_run(kv, "SET", key, "7", NULL);
    testing_cluster_move_begin(&cluster, slot, 0, 2);
    testing_cluster_move_keys(&cluster, slot, 0, 2, 10);
    reply = testing_redis_do(kv, "GET", key, NULL); /* by ASK */
    ck_assert_int_eq(kv_reply_integer(reply), 7);
    kv_reply_free(&reply);
    testing_cluster_move_end(&cluster, slot, 0, 2);
    reply = testing_redis_do(kv, "GET", key, NULL); /* by MOVED */
    ck_assert_int_eq(kv_reply_integer(reply), 7);
    kv_reply_free(&reply);
    assert_encrypted(kv, index_of(kv, 2));
    testing_cluster_move_begin(&cluster, slot, 2, 0);
    testing_cluster_move_keys(&cluster, slot, 2, 0, 10);
    testing_cluster_move_end(&cluster, slot, 2, 0);
    kv_close(&kv);
}
END_TEST

static void assert_set_fails(struct kv *kv, const char *key, const char *sentence)
{
    struct error err = {0};

    ck_assert_ptr_null(kv_command(kv, (const struct slice[]){slice_of("SET"), slice_of(key), slice_of("1")}, 3, &err));
    assert_sentence(&err, ERROR_KV_SETUP, sentence);
}

/* Its own keys only, and it is said each time, also while it rests. */
START_TEST(a_server_that_is_somebody_else)
{
    struct conf conf = testing_cluster_conf(&cluster);
    struct kv *kv = open_by(&conf);
    char key[16];

    testing_redis_show(&cluster.nodes[2], "", "misnamed");
    for (int i = 0; i < 3; i++)
        assert_set_fails(kv, key_at(2, key),
                         "its certificate is for elsewhere.invalid, not for 127.0.0.1; set what the cluster calls it "
                         "(cluster-announce-hostname) to a name it has, or have it made for 127.0.0.1");
    testing_redis_run(kv, "SET", key_at(0, key), "1", NULL);
    testing_redis_run(kv, "SET", key_at(1, key), "1", NULL);
    kv_close(&kv);
    conf.redis_nodes = strchr(conf.redis_nodes, ' '); /* it alone of the seeds is well */
    testing_redis_show(&cluster.nodes[1], "", "misnamed");
    assert_refused(&conf, "not for 127.0.0.1; set redis.nodes to a name it has");
    testing_redis_show(&cluster.nodes[1], "", "server");
    testing_redis_show(&cluster.nodes[2], "", "server");
}
END_TEST

static bool is_called(struct kv *kv, int node, const char *host)
{
    struct kv_reply *reply = testing_redis_do(kv, "CLUSTER", "SLOTS", NULL);
    bool is = false;

    for (size_t i = 0; i < kv_reply_count(reply); i++) {
        const struct kv_reply *at = kv_reply_at(kv_reply_at(reply, i), 2);

        is |= slice_is(kv_reply_text(kv_reply_at(at, 0)), host) &&
              kv_reply_integer(kv_reply_at(at, 1)) == testing_redis_known(&cluster.nodes[node]);
    }
    kv_reply_free(&reply);
    return is;
}

static void call_all(const char *by, const char *hostname)
{
    for (int node = 0; node < TESTING_PRIMARIES; node++)
        testing_redis_run(cluster.links[node], "CONFIG", "SET", "cluster-announce-hostname", hostname,
                          "cluster-preferred-endpoint-type", by, NULL);
}

/* The remedy that the sentence names: a certificate for a name, and the cluster calls its server so. */
START_TEST(a_cluster_of_names)
{
    struct conf conf = testing_cluster_conf(&cluster);
    struct conf direct = testing_redis_conf("127.0.0.1", cluster.nodes[0].tls_port);
    struct kv *kv = open_by(&conf), *first;
    char key[16];

    testing_redis_show(&cluster.nodes[2], "", "local");
    assert_set_fails(kv, key_at(2, key), "its certificate is for localhost, not for 127.0.0.1");
    kv_close(&kv);
    call_all("hostname", "localhost");
    testing_redis_by_tls(&direct);
    first = open_by(&direct); /* what it says depends on how it is asked */
    testing_wait(is_called(first, 2, "localhost"), 10000, "the first server knows the name of the third");
    kv = open_by(&conf);
    testing_redis_run(kv, "SET", key, "1", NULL);
    assert_encrypted(kv, index_of(kv, 2));
    ck_assert_int_eq(strncmp(kv_server_name(kv, index_of(kv, 2)), "localhost:", 10), 0);
    kv_close(&kv);
    call_all("ip", "");
    testing_wait(is_called(first, 2, "127.0.0.1"), 10000, "the first server calls it by its address again");
    kv_close(&first);
    testing_redis_show(&cluster.nodes[2], "", "server");
}
END_TEST

START_TEST(the_doctor_asks_each_server)
{
    struct conf conf = testing_cluster_conf(&cluster);
    char subject[64];

    testing_ctl_setup();
    testing_redis_show(&cluster.nodes[1], "", "misnamed");
    run_doctor(&conf, "cluster");
    testing_redis_show(&cluster.nodes[1], "", "server");
    for (int node = 0; node < TESTING_PRIMARIES; node++) {
        snprintf(subject, sizeof subject, "127.0.0.1:%d", cluster.nodes[node].tls_port);
        ck_assert_int_eq(found("redis.server", subject, "it answers"), node != 1);
        ck_assert_int_eq(found("redis.tls", subject, "encrypted by TLSv1."), node != 1);
    }
    snprintf(subject, sizeof subject, "127.0.0.1:%d", cluster.nodes[1].tls_port);
    assert_found("redis.server", subject, "its certificate is for elsewhere.invalid");
    testing_ctl_teardown();
}
END_TEST

/* Two servers of the cluster and MySQL are away, which is not everything. The last test: they stay dead. */
START_TEST(the_doctor_counts_a_cluster_once)
{
    struct conf conf = testing_cluster_conf(&cluster);
    char subject[64];

    testing_redis_kill(&cluster.nodes[1]);
    testing_redis_kill(&cluster.nodes[2]);
    testing_ctl_setup();
    configure(&conf, "cluster", "1");
    CTL("-q", "--json", "doctor");
    snprintf(subject, sizeof subject, "127.0.0.1:%d", cluster.nodes[2].tls_port);
    assert_found("redis.server", subject, "cannot connect");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    testing_ctl_teardown();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv_tls");
    TCase *sentinel = tcase_create("sentinel"), *cluster_case = tcase_create("cluster");

    tcase_set_timeout(sentinel, 90);
    tcase_add_unchecked_fixture(sentinel, start_sentinels, stop_sentinels);
    tcase_add_test(sentinel, a_failover_is_followed);
    tcase_add_test(sentinel, a_primary_that_is_somebody_else);
    tcase_add_test(sentinel, a_sentinel_that_is_somebody_else);
    tcase_add_test(sentinel, sentinels_in_plain_text);
    tcase_add_test(sentinel, the_doctor_asks_sentinels);
    suite_add_tcase(suite, sentinel);
    tcase_set_timeout(cluster_case, 90);
    tcase_add_unchecked_fixture(cluster_case, start_cluster, stop_cluster);
    tcase_add_test(cluster_case, each_server_is_encrypted);
    tcase_add_test(cluster_case, a_slot_that_moved_is_followed);
    tcase_add_test(cluster_case, a_server_that_is_somebody_else);
    tcase_add_test(cluster_case, a_cluster_of_names);
    tcase_add_test(cluster_case, the_doctor_asks_each_server);
    tcase_add_test(cluster_case, the_doctor_counts_a_cluster_once);
    suite_add_tcase(suite, cluster_case);
    return testing_main(suite);
}
