/* The key-value client against a real server: scripts and pipelines, time-outs, restarts, refused logins, replicas. */
#include "testing_redis.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct kv_script increment = {"increment", "return redis.call('INCRBY', KEYS[1], ARGV[1])", false};
static const struct kv_script echo = {"echo", "return ARGV[1]", false};
static const struct kv_script failing = {
    "failing", "redis.call('INCR', KEYS[1] .. '_failed') return redis.error_reply('MINE no')", false};

static struct kv *kv;

static void setup(void)
{
    kv = testing_redis_shared();
}

static void teardown(void)
{
    kv_close(&kv);
}

static struct conf shared_conf(int64_t command_timeout)
{
    struct conf conf = testing_redis_conf(testing_env("ORDERD_KV_HOST"), atoi(testing_env("ORDERD_KV_PORT")));

    conf.redis_command_timeout = command_timeout;
    return conf;
}

static int64_t number_at(struct kv *on, const char *key)
{
    struct kv_reply *reply = testing_redis_do(on, "GET", key, NULL);
    int64_t n = kv_reply_integer(reply);

    kv_reply_free(&reply);
    return n;
}

static enum error_code code_of_ping(struct kv *on)
{
    struct error err = {0};
    struct kv_reply *reply = kv_command(on, (const struct slice[]){slice_of("PING")}, 1, &err);

    kv_reply_free(&reply);
    return err.code;
}

START_TEST(replies_have_kinds_and_are_binary_safe)
{
    static const char bytes[] = "a\0b\r\n$5\xff";
    const char *key = testing_name("kv_bytes");
    struct error err;
    struct kv_reply *reply;

    reply = kv_command(kv, (const struct slice[]){slice_of("SET"), slice_of(key), {bytes, sizeof bytes}}, 3, &err);
    ck_assert_msg(reply != NULL, "%s", err.text);
    ck_assert(slice_is(kv_reply_text(reply), "OK"));
    kv_reply_free(&reply);
    reply = testing_redis_do(kv, "GETDEL", key, NULL);
    ck_assert_int_eq(kv_reply_kind(reply), KV_TEXT);
    ck_assert(slice_equal(kv_reply_text(reply), (struct slice){bytes, sizeof bytes}));
    ck_assert_int_eq(kv_reply_integer(reply), 0);
    kv_reply_free(&reply);
    reply = testing_redis_do(kv, "GET", key, NULL);
    ck_assert_int_eq(kv_reply_kind(reply), KV_NIL);
    kv_reply_free(&reply);
    reply = testing_redis_do(kv, "EVAL", "return {'9007199254740993', 7, 'x', {}}", "0", NULL);
    ck_assert_int_eq(kv_reply_kind(reply), KV_LIST);
    ck_assert_uint_eq(kv_reply_count(reply), 4);
    ck_assert_int_eq(kv_reply_integer(kv_reply_at(reply, 0)), INT64_C(9007199254740993));
    ck_assert_int_eq(kv_reply_integer(kv_reply_at(reply, 1)), 7);
    ck_assert_int_eq(kv_reply_kind(kv_reply_at(reply, 3)), KV_LIST);
    ck_assert_ptr_null(kv_reply_at(reply, 4));
    kv_reply_free(&reply);
}
END_TEST

START_TEST(an_error_reply_leaves_the_connection_usable)
{
    struct error err;
    const char *key = testing_name("kv_type");

    testing_redis_run(kv, "SET", key, "x", "EX", "60", NULL);
    ck_assert_ptr_null(kv_command(kv, (const struct slice[]){slice_of("INCR"), slice_of(key)}, 2, &err));
    ck_assert_int_eq(err.code, ERROR_KV_DATA);
    ck_assert_ptr_null(kv_command(kv, (const struct slice[]){slice_of("HLEN"), slice_of(key)}, 2, &err));
    ck_assert_int_eq(err.code, ERROR_KV_DATA);
    ck_assert_ptr_null(kv_command(kv, (const struct slice[]){slice_of("NOSUCH")}, 1, &err));
    ck_assert_int_eq(err.code, ERROR_KV_SETUP);
    ck_assert_int_eq(code_of_ping(kv), ERROR_NONE);
}
END_TEST

#define CALLS 60

/* Every third call fails by itself, and the server forgets every script before the pipeline: each of the others must
 * have run exactly once, and each answer must be that of its own call. */
START_TEST(a_pipeline_repeats_exactly_what_was_not_run)
{
    struct kv_call calls[CALLS];
    struct kv_reply *replies[CALLS];
    struct error errs[CALLS], err;
    const char *key = testing_name("kv_pipeline");
    char failed[80];
    const struct slice keys[] = {slice_of(key)}, one[] = {slice_of("1")}, text[] = {slice_of("text")};

    snprintf(failed, sizeof failed, "%s_failed", key);
    for (int i = 0; i < CALLS; i++) {
        const struct kv_script *script = i % 3 == 0 ? &increment : i % 3 == 1 ? &failing : &echo;
        calls[i] = (struct kv_call){script, keys, 1, script == &echo ? text : one, 1};
    }
    for (int round = 1; round <= 3; round++) {
        if (round > 1) /* in round 1 they have never been loaded */
            testing_redis_run(kv, "SCRIPT", "FLUSH", NULL);
        ck_assert_ok(kv_script_pipeline(kv, calls, CALLS, replies, errs, &err), &err);
        for (int i = 0; i < CALLS; i++) {
            if (i % 3 == 0)
                ck_assert_int_eq(kv_reply_integer(replies[i]), (round - 1) * CALLS / 3 + i / 3 + 1);
            else if (i % 3 == 2)
                ck_assert(slice_is(kv_reply_text(replies[i]), "text"));
            ck_assert_int_eq(errs[i].code, i % 3 == 1 ? ERROR_KV_DATA : ERROR_NONE);
            ck_assert(i % 3 != 1 || !replies[i]);
            kv_reply_free(&replies[i]);
        }
        ck_assert_int_eq(number_at(kv, key), round * CALLS / 3);
        ck_assert_int_eq(number_at(kv, failed), round * CALLS / 3); /* ran once, then failed: not repeated */
    }
    testing_redis_run(kv, "DEL", key, failed, NULL);
}
END_TEST

/* More than both sockets' buffers can hold, in both directions: whoever only writes first waits for ever. */
START_TEST(a_large_pipeline_does_not_lock_up)
{
    enum { COUNT = 20000 };
    static char bytes[2048];
    struct kv_call *calls = calloc(COUNT, sizeof *calls);
    struct kv_reply **replies = calloc(COUNT, sizeof *replies);
    struct error *errs = calloc(COUNT, sizeof *errs), err;
    const struct slice arg = {bytes, sizeof bytes};

    memset(bytes, 'x', sizeof bytes);
    for (int i = 0; i < COUNT; i++)
        calls[i] = (struct kv_call){&echo, NULL, 0, &arg, 1};
    ck_assert_ok(kv_script_pipeline(kv, calls, COUNT, replies, errs, &err), &err);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_uint_eq(kv_reply_text(replies[i]).len, sizeof bytes);
        kv_reply_free(&replies[i]);
    }
    free(calls);
    free(replies);
    free(errs);
}
END_TEST

START_TEST(a_script_that_does_not_compile_is_named)
{
    static const struct kv_script broken = {"broken", "this is not Lua", false};
    struct kv_call call = {&broken, NULL, 0, NULL, 0};
    struct error err;

    ck_assert_ptr_null(kv_script_call(kv, &call, &err));
    ck_assert_int_eq(err.code, ERROR_KV_DATA);
    ck_assert_ptr_nonnull(strstr(err.text, "script broken"));
    ck_assert_int_eq(code_of_ping(kv), ERROR_NONE);
}
END_TEST

/* The command runs after we gave up on it: its answer must reach nobody. */
START_TEST(after_a_time_out_no_answer_is_taken_for_another)
{
    struct conf conf = shared_conf(150);
    struct error err;
    struct kv *slow = kv_open(&conf, "slow", &err);
    const char *key = testing_name("kv_slow");
    int64_t started;

    ck_assert_msg(slow != NULL, "%s", err.text);
    testing_redis_run(kv, "CLIENT", "PAUSE", "60000", "WRITE", NULL); /* until it is told to go on */
    started = testing_now_ms();
    ck_assert_ptr_null(kv_command(slow, (const struct slice[]){slice_of("INCR"), slice_of(key)}, 2, &err));
    ck_assert_msg(err.code == ERROR_KV_LOST, "%s", err.text);
    ck_assert_int_ge(testing_now_ms() - started, 140);
    testing_redis_run(kv, "CLIENT", "UNPAUSE", NULL);
    testing_wait(number_at(kv, key) == 1, 5000, "the command takes effect after all");
    ck_assert_int_eq(code_of_ping(slow), ERROR_KV_AWAY); /* although the answer to INCR is there by now */
    kv_close(&slow);
    conf = shared_conf(5000);
    slow = kv_open(&conf, "slow", &err);
    ck_assert_msg(slow != NULL, "%s", err.text);
    ck_assert_int_eq(number_at(slow, key), 1);
    kv_close(&slow);
    testing_redis_run(kv, "DEL", key, NULL);
}
END_TEST

START_TEST(a_restarted_server_is_noticed_before_anything_is_sent)
{
    struct testing_redis server;
    struct kv *old, *fresh;
    const struct slice keys[] = {slice_of("n")}, args[] = {slice_of("5")};
    struct kv_call call = {&increment, keys, 1, args, 1};
    struct kv_reply *reply;
    struct error err;

    testing_redis_start(&server, NULL);
    old = testing_redis_open(server.port);
    reply = kv_script_call(old, &call, &err);
    ck_assert_int_eq(kv_reply_integer(reply), 5);
    kv_reply_free(&reply);
    testing_redis_kill(&server);
    ck_assert_ptr_null(kv_script_call(old, &call, &err));
    ck_assert_msg(err.code == ERROR_KV_AWAY, "%s", err.text);
    testing_redis_again(&server, NULL);
    ck_assert_int_eq(code_of_ping(old), ERROR_KV_AWAY);
    fresh = testing_redis_open(server.port);
    reply = kv_script_call(fresh, &call, &err);
    ck_assert_int_eq(kv_reply_integer(reply), 5); /* an empty server; its script cache too */
    kv_reply_free(&reply);
    kv_close(&old);
    kv_close(&fresh);
    testing_redis_stop(&server);
}
END_TEST

/* Whether somebody's command waits in the server. */
static bool somebody_waits(struct kv *on)
{
    struct kv_reply *reply = testing_redis_do(on, "INFO", "clients", NULL);
    struct slice text = kv_reply_text(reply);
    static const char line[] = "blocked_clients:1\r";
    bool waits = memmem(text.ptr, text.len, line, strlen(line)) != NULL;

    kv_reply_free(&reply);
    return waits;
}

static void *kill_over_a_call(void *data)
{
    struct testing_redis *server = data;
    struct kv *watcher = testing_redis_open(server->port);

    testing_wait(somebody_waits(watcher), 4000, "the command is there");
    testing_redis_kill(server);
    kv_close(&watcher);
    return NULL;
}

START_TEST(a_server_that_dies_over_a_call_leaves_it_unknown)
{
    struct testing_redis server;
    struct kv *victim;
    struct error err;
    pthread_t killer;

    testing_redis_start(&server, NULL);
    victim = testing_redis_open(server.port);
    CHECK_ZERO(pthread_create(&killer, NULL, kill_over_a_call, &server));
    ck_assert_ptr_null(
        kv_command(victim, (const struct slice[]){slice_of("BLPOP"), slice_of("nothing"), slice_of("0")}, 3, &err));
    ck_assert_msg(err.code == ERROR_KV_LOST, "%s", err.text);
    CHECK_ZERO(pthread_join(killer, NULL));
    kv_close(&victim);
    testing_redis_stop(&server);
}
END_TEST

static void assert_open(const struct conf *conf, enum error_code code)
{
    struct error err = {0};
    struct kv *opened = kv_open(conf, "login", &err);

    ck_assert_msg(err.code == code, "%s: %s", error_code_name(err.code), err.text);
    ck_assert(!opened == (code != ERROR_NONE));
    ck_assert_ptr_null(strstr(err.text, "secret"));
    kv_close(&opened);
}

START_TEST(logins_are_refused_as_setup_errors)
{
    struct testing_redis server;
    struct conf conf;

    testing_redis_start(&server, (const char *const[]){"--requirepass", "secret", "--user", "shop", "on", ">secret2",
                                                       "~*", "+@all", NULL});
    conf = testing_redis_conf("127.0.0.1", server.port);
    assert_open(&conf, ERROR_KV_SETUP);
    conf.redis_password_file = NULL;
    assert_open(&conf, ERROR_KV_SETUP);
    conf.redis_password_file = "secretx";
    assert_open(&conf, ERROR_KV_SETUP);
    conf.redis_password_file = "secret";
    assert_open(&conf, ERROR_NONE);
    conf.redis_database = 5;
    assert_open(&conf, ERROR_NONE);
    conf.redis_database = 99;
    assert_open(&conf, ERROR_KV_SETUP);
    conf.redis_database = 0;
    conf.redis_user = "nobody";
    assert_open(&conf, ERROR_KV_SETUP);
    conf.redis_user = "shop";
    assert_open(&conf, ERROR_KV_SETUP);
    conf.redis_password_file = "secret2";
    assert_open(&conf, ERROR_NONE);
    testing_redis_stop(&server);
}
END_TEST

/* The account may run scripts, but not a command inside: 7.0 words that as a plain ERR. */
START_TEST(missing_rights_are_setup_errors)
{
    struct testing_redis server;
    struct conf conf;
    const struct slice keys[] = {slice_of("n")}, args[] = {slice_of("5")};
    struct kv_call call = {&increment, keys, 1, args, 1};
    struct error err;
    struct kv *shop;

    testing_redis_start(
        &server, (const char *const[]){"--user", "shop", "on", ">secret", "~*", "+@all", "-incrby", "-config", NULL});
    conf = testing_redis_conf("127.0.0.1", server.port);
    conf.redis_user = "shop";
    conf.redis_password_file = "secret";
    shop = kv_open(&conf, "shop", &err);
    ck_assert_msg(shop != NULL, "%s", err.text);
    ck_assert_ptr_null(kv_script_call(shop, &call, &err));
    ck_assert_msg(err.code == ERROR_KV_SETUP, "%s", err.text);
    ck_assert_ptr_null(
        kv_command(shop, (const struct slice[]){slice_of("CONFIG"), slice_of("GET"), slice_of("port")}, 3, &err));
    ck_assert_msg(err.code == ERROR_KV_SETUP, "%s", err.text);
    ck_assert_int_eq(code_of_ping(shop), ERROR_NONE);
    kv_close(&shop);
    testing_redis_stop(&server);
}
END_TEST

START_TEST(a_replica_is_read_only)
{
    struct testing_redis server;
    struct error err;
    struct kv *replica;
    char nobody[16];

    snprintf(nobody, sizeof nobody, "%d", testing_free_port());
    testing_redis_start(&server, (const char *const[]){"--replicaof", "127.0.0.1", nobody, NULL});
    replica = testing_redis_open(server.port);
    ck_assert_ptr_null(
        kv_command(replica, (const struct slice[]){slice_of("SET"), slice_of("a"), slice_of("1")}, 3, &err));
    ck_assert_msg(err.code == ERROR_KV_READ_ONLY, "%s", err.text);
    ck_assert_int_eq(code_of_ping(replica), ERROR_KV_AWAY); /* find the primary with a new connection */
    kv_close(&replica);
    testing_redis_stop(&server);
}
END_TEST

START_TEST(too_many_clients_is_an_outage)
{
    struct testing_redis server;
    struct conf conf;
    struct error err = {0};
    struct kv *first, *second;

    testing_redis_start(&server, NULL);
    first = testing_redis_open(server.port);
    testing_redis_run(first, "CONFIG", "SET", "maxclients", "1", NULL);
    conf = testing_redis_conf("127.0.0.1", server.port);
    second = kv_open(&conf, "second", &err);
    ck_assert_ptr_null(second);
    ck_assert_msg(err.code == ERROR_KV_AWAY, "%s", err.text);
    kv_close(&first);
    testing_redis_stop(&server);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv");
    TCase *tc = tcase_create("kv");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, replies_have_kinds_and_are_binary_safe);
    tcase_add_test(tc, an_error_reply_leaves_the_connection_usable);
    tcase_add_test(tc, a_pipeline_repeats_exactly_what_was_not_run);
    tcase_add_test(tc, a_large_pipeline_does_not_lock_up);
    tcase_add_test(tc, a_script_that_does_not_compile_is_named);
    tcase_add_test(tc, after_a_time_out_no_answer_is_taken_for_another);
    tcase_add_test(tc, a_restarted_server_is_noticed_before_anything_is_sent);
    tcase_add_test(tc, a_server_that_dies_over_a_call_leaves_it_unknown);
    tcase_add_test(tc, logins_are_refused_as_setup_errors);
    tcase_add_test(tc, missing_rights_are_setup_errors);
    tcase_add_test(tc, a_replica_is_read_only);
    tcase_add_test(tc, too_many_clients_is_an_outage);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
