/* announce: the hash and the message say what the database said, once for each change. */
#include "testing_stock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct kv *kv;
static struct testing_shard s;
static char key[STOCK_STATE_KEY_MAX];
static struct testing_listener *listener;

static void setup(void)
{
    struct stock_preheated done;
    struct error err;

    kv = testing_redis_shared();
    testing_shard_plan(&s, kv, 10, 5);
    s.plan.shard = 0;
    stock_keys_of(&s.keys, s.plan.activity, 0);
    ck_assert_ok(stock_preheat(kv, &s.plan, &done, &err), &err);
    stock_state_key(key, s.plan.activity);
    listener = testing_listener_open(key);
}

static void teardown(void)
{
    testing_listener_close(&listener);
    kv_close(&kv);
}

static void expect_field(const char *field, const char *fmt, ...) ORDERD_PRINTF(2, 3);

static void expect_field(const char *field, const char *fmt, ...)
{
    struct kv_reply *reply = testing_redis_do(kv, "HGET", key, field, NULL);
    char want[64];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(want, sizeof want, fmt, ap);
    va_end(ap);
    ck_assert_msg(slice_is(kv_reply_text(reply), want), "%s is %.*s, not %s", field, (int)kv_reply_text(reply).len,
                  kv_reply_text(reply).ptr, want);
    kv_reply_free(&reply);
}

static int64_t number(const char *command)
{
    struct kv_reply *reply = testing_redis_do(kv, command, key, NULL);
    int64_t n = kv_reply_integer(reply);

    kv_reply_free(&reply);
    return n;
}

static void expect_message(const char *state, int64_t changed_at)
{
    const char *text = testing_listener_next(listener, 20000);
    char want[512];

    snprintf(want, sizeof want,
             "{\"v\":1,\"activity\":%" PRId64 ",\"state\":\"%s\",\"starts_at\":%" PRId64 ",\"ends_at\":%" PRId64
             ",\"epoch\":%" PRId64 ",\"shards\":4,\"changed_at\":%" PRId64 "}",
             s.plan.activity, state, s.plan.starts_at, s.plan.ends_at, s.plan.epoch, changed_at);
    ck_assert_msg(text != NULL, "no message for %s", state);
    ck_assert_str_eq(text, want);
}

START_TEST(each_change_is_written_and_published_once)
{
    struct stock_announced a = testing_announce(&s, "scheduled", 4), again;

    ck_assert_int_eq(a.code, STOCK_ANNOUNCE_ANNOUNCED);
    ck_assert_str_eq(a.note, "");
    expect_message("scheduled", a.changed_at);
    expect_field("state", "scheduled");
    expect_field("starts_at", "%" PRId64, s.plan.starts_at);
    expect_field("ends_at", "%" PRId64, s.plan.ends_at);
    expect_field("epoch", "%" PRId64, s.plan.epoch);
    expect_field("shards", "4");
    expect_field("changed_at", "%" PRId64, a.changed_at);
    ck_assert_int_eq(number("PEXPIRETIME"), s.plan.expire_at);

    again = testing_announce(&s, "scheduled", 4);
    ck_assert_int_eq(again.code, STOCK_ANNOUNCE_ALREADY);
    ck_assert_int_eq(again.changed_at, a.changed_at);
    a = testing_announce(&s, "running", 4);
    expect_message("running", a.changed_at); /* and nothing for the repetition */
    s.plan.ends_at += 1;                     /* the same state until later */
    ck_assert_int_eq(testing_announce(&s, "running", 4).code, STOCK_ANNOUNCE_ANNOUNCED);
    ck_assert_ptr_nonnull(testing_listener_next(listener, 20000));
    ck_assert_ptr_null(testing_listener_next(listener, 50));
}
END_TEST

START_TEST(a_look_changes_nothing)
{
    struct stock_announcement look = {
        s.plan.activity, "running", s.plan.starts_at, s.plan.ends_at, s.plan.epoch, 4, true};
    struct stock_announced out;
    struct error err;

    ck_assert_ok(stock_announce(kv, &look, &out, &err), &err);
    ck_assert_int_eq(out.code, STOCK_ANNOUNCE_ANNOUNCED);
    ck_assert_int_eq(out.changed_at, 0);
    ck_assert_int_eq(number("EXISTS"), 0);
    testing_announce(&s, "running", 4);
    testing_redis_run(kv, "PERSIST", key, NULL);
    ck_assert_ok(stock_announce(kv, &look, &out, &err), &err);
    ck_assert_int_eq(out.code, STOCK_ANNOUNCE_ALREADY);
    ck_assert_int_eq(number("PTTL"), -1);
    ck_assert_int_eq(testing_announce(&s, "running", 4).code, STOCK_ANNOUNCE_ALREADY);
    ck_assert_int_eq(number("PEXPIRETIME"), s.plan.expire_at); /* a lost TTL comes back without a message */
    ck_assert_ptr_nonnull(testing_listener_next(listener, 20000));
    ck_assert_ptr_null(testing_listener_next(listener, 50));
}
END_TEST

/* A hash of which somebody has changed or taken a part is written anew. */
START_TEST(a_damaged_hash_is_mended)
{
    testing_announce(&s, "running", 4);
    testing_redis_run(kv, "HSET", key, "state", "ended", NULL);
    ck_assert_int_eq(testing_announce(&s, "running", 4).code, STOCK_ANNOUNCE_ANNOUNCED);
    expect_field("state", "running");
    testing_redis_run(kv, "HDEL", key, "changed_at", NULL);
    ck_assert_int_eq(testing_announce(&s, "running", 4).code, STOCK_ANNOUNCE_ANNOUNCED);
    ck_assert_int_eq(number("HLEN"), 6);
}
END_TEST

START_TEST(nothing_is_announced_that_is_not_for_sale)
{
    struct stock_audit before = testing_shard_audit(&s);

    s.plan.epoch++;
    ck_assert_int_eq(testing_announce(&s, "running", 4).code, STOCK_ANNOUNCE_OTHER_EPOCH);
    s.plan.epoch -= 2;
    ck_assert_int_eq(testing_announce(&s, "running", 4).code, STOCK_ANNOUNCE_OTHER_EPOCH);
    s.plan.epoch++;
    testing_redis_run(kv, "HDEL", s.keys.text[STOCK_KEY_META], "expire_at", NULL);
    ck_assert_int_eq(testing_announce(&s, "running", 4).code, STOCK_ANNOUNCE_DAMAGED);
    testing_shard_meta(&s, "expire_at", before.now - 1);
    ck_assert_int_eq(testing_announce(&s, "running", 4).code, STOCK_ANNOUNCE_DAMAGED);
    testing_redis_run(kv, "SET", s.keys.text[STOCK_KEY_STOCK], "many", NULL);
    ck_assert_str_eq(testing_announce(&s, "running", 4).note, "stock");
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], NULL);
    ck_assert_int_eq(testing_announce(&s, "running", 4).code, STOCK_ANNOUNCE_NO_SHARD);
    ck_assert_int_eq(number("EXISTS"), 0);
    ck_assert_ptr_null(testing_listener_next(listener, 50));
}
END_TEST

START_TEST(settled_removes_the_hash)
{
    struct stock_announced a;

    ck_assert_int_eq(testing_announce(&s, "settled", 4).code, STOCK_ANNOUNCE_ALREADY);
    testing_announce(&s, "ended", 4);
    ck_assert_ptr_nonnull(testing_listener_next(listener, 20000));
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_STOCK], s.keys.text[STOCK_KEY_META], NULL);
    a = testing_announce(&s, "settled", 4); /* whether or not its shard is gone */
    ck_assert_int_eq(a.code, STOCK_ANNOUNCE_ANNOUNCED);
    expect_message("settled", a.changed_at);
    ck_assert_int_eq(number("EXISTS"), 0);
    ck_assert_int_eq(testing_announce(&s, "settled", 4).code, STOCK_ANNOUNCE_ALREADY);
    ck_assert_ptr_null(testing_listener_next(listener, 50));
}
END_TEST

/* An account that may write the keys and may not publish. */
START_TEST(without_the_right_to_publish_the_hash_is_right)
{
    struct stock_announced a;

    testing_redis_run(kv, "ACL", "SETUSER", "mute", "on", ">secret", "~sk:*", "+@all", "resetchannels", NULL);
    s.kv = testing_redis_shared();
    testing_redis_run(s.kv, "AUTH", "mute", "secret", NULL);
    a = testing_announce(&s, "running", 4);
    kv_close(&s.kv);
    testing_redis_run(kv, "ACL", "DELUSER", "mute", NULL);
    ck_assert_int_eq(a.code, STOCK_ANNOUNCE_ANNOUNCED);
    ck_assert_str_eq(a.note, "not_published");
    expect_field("state", "running");
    ck_assert_ptr_null(testing_listener_next(listener, 50));
}
END_TEST

/* ---- garbage ---- */

static int64_t code_of(const char *state_key, const char *const *args, size_t count, char note[STOCK_NOTE_MAX])
{
    struct slice keys[STOCK_KEY_COUNT + 1], argv[8];
    struct kv_call call = {stock_script(STOCK_SCRIPT_ANNOUNCE), keys, STOCK_KEY_COUNT + 1, argv, count};
    struct error err;
    struct kv_reply *reply;
    int64_t code;

    for (int i = 0; i < STOCK_KEY_COUNT; i++)
        keys[i] = slice_of(s.keys.text[i]);
    keys[STOCK_KEY_COUNT] = slice_of(state_key);
    for (size_t i = 0; i < count; i++)
        argv[i] = slice_of(args[i]);
    if (!state_key[0])
        call.key_count = STOCK_KEY_COUNT;
    reply = kv_script_call(kv, &call, &err);
    ck_assert_msg(reply != NULL, "%s", err.text);
    code = kv_reply_integer(kv_reply_at(reply, 0));
    snprintf(note, STOCK_NOTE_MAX, "%.*s", (int)kv_reply_text(kv_reply_at(reply, 2)).len,
             kv_reply_text(kv_reply_at(reply, 2)).ptr);
    kv_reply_free(&reply);
    return code;
}

static const struct {
    size_t index;
    const char *value, *note;
} garbage[] = {
    {0, "", "state"},      {0, "review", "state"},     {0, "running\"", "state"}, {0, "Running", "state"},
    {1, "", "starts_at"},  {1, "-1", "starts_at"},     {1, "1e3", "starts_at"},   {1, "1000000000000000", "starts_at"},
    {2, "", "ends_at"},    {2, " 1", "ends_at"},       {2, "0x1", "ends_at"},     {2, "1000000000000000", "ends_at"},
    {3, "0", "epoch"},     {3, "1000000000", "epoch"}, {3, "", "epoch"},          {4, "0", "shards"},
    {4, "1025", "shards"}, {4, "", "shards"},          {5, "", "look"},           {5, "2", "look"},
};

START_TEST(garbage_is_refused)
{
    const char *args[] = {"running", "1000000000000", "1000000000001", "2", "4", "0", "0"};
    char note[STOCK_NOTE_MAX];

    for (size_t n = 0; n <= 7; n++) {
        if (n != 6)
            ck_assert_int_eq(code_of(key, args, n, note), STOCK_ANNOUNCE_BAD_ARGUMENT);
    }
    ck_assert_int_eq(code_of("", args, 6, note), STOCK_ANNOUNCE_BAD_ARGUMENT);
    ck_assert_str_eq(note, "count");
    ck_assert_int_eq(code_of("sk:{5:1}:state", args, 6, note), STOCK_ANNOUNCE_BAD_ARGUMENT);
    ck_assert_str_eq(note, "key");
    args[garbage[_i].index] = garbage[_i].value;
    ck_assert_int_eq(code_of(key, args, 6, note), STOCK_ANNOUNCE_BAD_ARGUMENT);
    ck_assert_str_eq(note, garbage[_i].note);
    ck_assert_int_eq(number("EXISTS"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_announce");
    TCase *tc = tcase_create("announce");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, each_change_is_written_and_published_once);
    tcase_add_test(tc, a_look_changes_nothing);
    tcase_add_test(tc, a_damaged_hash_is_mended);
    tcase_add_test(tc, nothing_is_announced_that_is_not_for_sale);
    tcase_add_test(tc, settled_removes_the_hash);
    tcase_add_test(tc, without_the_right_to_publish_the_hash_is_right);
    tcase_add_loop_test(tc, garbage_is_refused, 0, sizeof garbage / sizeof *garbage);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
