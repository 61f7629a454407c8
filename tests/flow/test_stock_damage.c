/* Damage: each script names what is out of order, for each thing that it needs, before it writes anything. deduct,
 * return, preheat and rebuild have such tests of their own. */
#include "testing_stock.h"

#include <stdio.h>
#include <string.h>

#define NEEDS_MAX 8

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

/* A call that would write on the shard of create_used, and what the script needs for it. */
static const struct row {
    enum stock_script script;
    const char *args[9];
    const char *meta[NEEDS_MAX];
    const char *keys; /* s h g b m: those whose type it must find out first */
    bool needs_stock;
} rows[] = {
    {STOCK_SCRIPT_SETTLE, {"a"}, {"held", "sold", "expire_at"}, "shgm", true},
    {STOCK_SCRIPT_ADOPT,
     {"c", "44", "0", "2", "19800", "2", "1764400000123", "pending"},
     {"held", "sold", "forfeited", "epoch", "expire_at"},
     "shgbm",
     true},
    {STOCK_SCRIPT_ADOPT,
     {"c", "44", "0", "2", "19800", "2", "1764400000123", "paid"},
     {"held", "sold", "forfeited", "epoch", "expire_at"},
     "shgbm",
     true},
    {STOCK_SCRIPT_ADOPT,
     {"c", "44", "0", "2", "19800", "2", "1764400000123", "closed"},
     {"epoch", "expire_at"},
     "shgbm",
     true},
    {STOCK_SCRIPT_RECLAIM, {"1", "1", "2"}, {"cap", "held", "sold", "forfeited", "epoch", "expire_at"}, "sm", true},
    {STOCK_SCRIPT_RESTOCK, {"10", "20", "2"}, {"cap", "held", "sold", "forfeited", "epoch", "expire_at"}, "sm", true},
    {STOCK_SCRIPT_LEND, {"7", "1", "2", "0"}, {"cap", "epoch", "expire_at"}, "sm", true},
    {STOCK_SCRIPT_BORROW, {"7", "1", "2"}, {"cap", "epoch", "expire_at"}, "sm", true},
    {STOCK_SCRIPT_EXTEND,
     {"9000000000000", "9000000000000", "2", "1000000000000"},
     {"starts_at", "ends_at", "expire_at", "epoch"},
     "sm",
     true},
    {STOCK_SCRIPT_PAUSE, {"1", "2"}, {"paused", "epoch", "expire_at"}, "sm", true},
    {STOCK_SCRIPT_REMOVE, {"2"}, {"epoch", "held", "ends_at", "paused"}, "hm", false},
};

#define ROWS (sizeof rows / sizeof *rows)

/* The code, or 1000 for an error reply; its last element goes to note. */
static int64_t call(const struct row *row, char note[STOCK_NOTE_MAX])
{
    struct slice keys[STOCK_KEY_COUNT], args[9], text;
    struct kv_call c = {stock_script(row->script), keys, STOCK_KEY_COUNT, args, 0};
    struct kv_reply *reply;
    struct error err;
    int64_t code;

    for (int i = 0; i < STOCK_KEY_COUNT; i++)
        keys[i] = slice_of(s.keys.text[i]);
    while (row->args[c.arg_count]) {
        args[c.arg_count] = slice_of(row->args[c.arg_count]);
        c.arg_count++;
    }
    reply = kv_script_call(kv, &c, &err);
    if (!reply) {
        ck_assert_msg(err.code == ERROR_KV_DATA && strstr(err.text, "WRONGTYPE"), "%s", err.text);
        return 1000;
    }
    text = kv_reply_text(kv_reply_at(reply, kv_reply_count(reply) - 1));
    snprintf(note, STOCK_NOTE_MAX, "%.*s", (int)text.len, text.len ? text.ptr : "");
    code = kv_reply_integer(kv_reply_at(reply, 0));
    kv_reply_free(&reply);
    return code;
}

/* One unit forfeited; one reserved, but for remove, which wants none and a sale that is over. */
static void create_used(const struct row *row)
{
    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "f", 41, 1);
    testing_forfeit(&s, "f", 1);
    if (row->script != STOCK_SCRIPT_REMOVE)
        testing_take(&s, "a", 42, 1);
    else
        testing_shard_meta(&s, "ends_at", s.plan.starts_at + 1);
}

static void must_name(const struct row *row, const char *note, const char *what)
{
    struct strbuf before = STRBUF_INIT;
    char found[STOCK_NOTE_MAX] = "";
    int64_t code;

    testing_shard_dump(&s, &before);
    code = call(row, found);
    ck_assert_msg(code == -8, "%s, %s: code %ld", stock_script(row->script)->name, what, (long)code);
    ck_assert_msg(strcmp(found, note) == 0, "%s, %s: note %s", stock_script(row->script)->name, what, found);
    ck_assert(testing_shard_is(&s, &before));
    strbuf_release(&before);
}

START_TEST(the_calls_of_the_table_would_write)
{
    for (size_t i = 0; i < ROWS; i++) {
        char note[STOCK_NOTE_MAX];

        create_used(&rows[i]);
        ck_assert_int_gt(call(&rows[i], note), 0);
        ck_assert_str_eq(note, "");
    }
}
END_TEST

START_TEST(every_number_that_is_needed_is_looked_at)
{
    static const char *const values[] = {"", "x", "007", "1e3", " 1", "1.0", "--1", "12345678901234567"};

    for (size_t i = 0; i < ROWS; i++) {
        for (size_t m = 0; rows[i].meta[m]; m++) {
            for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                create_used(&rows[i]);
                testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_META], rows[i].meta[m], values[v], NULL);
                must_name(&rows[i], "meta", rows[i].meta[m]);
            }
            testing_redis_run(kv, "HDEL", s.keys.text[STOCK_KEY_META], rows[i].meta[m], NULL);
            must_name(&rows[i], "meta", rows[i].meta[m]);
        }
    }
}
END_TEST

/* A TTL somebody took away: re-applying the moment that has passed would delete the shard. */
START_TEST(an_expiry_that_has_passed_is_damage)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].script == STOCK_SCRIPT_REMOVE)
            continue;
        create_used(&rows[i]);
        testing_shard_meta(&s, "expire_at", s.plan.starts_at);
        must_name(&rows[i], "meta", "expire_at in the past");
    }
}
END_TEST

START_TEST(stock_that_is_no_number_is_damage)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (!rows[i].needs_stock)
            continue;
        create_used(&rows[i]);
        testing_redis_run(kv, "SET", s.keys.text[STOCK_KEY_STOCK], "ten", NULL);
        must_name(&rows[i], "stock", "stock");
        testing_redis_run(kv, "SET", s.keys.text[STOCK_KEY_STOCK], "07", NULL);
        must_name(&rows[i], "stock", "stock");
    }
}
END_TEST

START_TEST(ledger_and_marks_are_looked_at)
{
    static const char *const held[] = {"", "42|0|1|9900|2", "42|0|1|9900|2|x", "42|0|01|9900|2|5", "42|0||9900|2|5"};
    static const char *const marks[] = {"", "c", "c|0", "c|x", "|1", "c|1|2"};

    for (size_t v = 0; v < sizeof held / sizeof *held; v++) {
        create_used(&rows[0]);
        testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_HELD], "a", held[v], NULL);
        must_name(&rows[0], "held", held[v]);
    }
    for (size_t i = 1; i <= 3; i++) {
        ck_assert_int_eq(rows[i].script, STOCK_SCRIPT_ADOPT);
        for (size_t v = 0; v < sizeof marks / sizeof *marks; v++) {
            create_used(&rows[i]);
            testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_BUYERS], "44:0", marks[v], NULL);
            must_name(&rows[i], "buyers", marks[v]);
        }
        testing_redis_run(kv, "HSET", s.keys.text[STOCK_KEY_HELD], "c", "44|0|2", NULL);
        must_name(&rows[i], "held", "held");
    }
}
END_TEST

/* More would leave the counter than it counts. */
START_TEST(settle_never_makes_a_counter_negative)
{
    create_used(&rows[0]);
    testing_shard_meta(&s, "held", 0);
    must_name(&rows[0], "meta", "held");
}
END_TEST

START_TEST(negative_counters_give_no_units)
{
    struct stock_adopted a;

    testing_shard_create(&s, kv, 10, 5);
    testing_shard_meta(&s, "forfeited", -3);
    a = testing_adopt(&s, "a", 42, 2, STOCK_ADOPT_AS_PENDING);
    ck_assert_int_eq(a.from_forfeited, 0);
    ck_assert_int_eq(a.from_left, 2);
    testing_redis_run(kv, "SET", s.keys.text[STOCK_KEY_STOCK], "-1", "KEEPTTL", NULL);
    ck_assert_int_eq(testing_adopt(&s, "b", 43, 1, STOCK_ADOPT_AS_PENDING).code, STOCK_ADOPT_SHORT);
    ck_assert_int_eq(testing_restock(&s, 10, 10).floor, 11);
    ck_assert_int_eq(testing_restock(&s, 10, 9).code, STOCK_RESTOCK_TOO_LOW);
}
END_TEST

/* A key of a foreign type is an error reply, before the first write. */
START_TEST(foreign_types_are_errors_without_effect)
{
    static const char letters[] = "shgbm";
    struct strbuf before = STRBUF_INIT;
    char note[STOCK_NOTE_MAX];

    for (size_t i = 0; i < ROWS; i++) {
        for (const char *key = rows[i].keys; *key; key++) {
            int which = (int)(strchr(letters, *key) - letters);

            create_used(&rows[i]);
            testing_redis_run(kv, "DEL", s.keys.text[which], NULL);
            testing_redis_run(kv, "SADD", s.keys.text[which], "x", NULL);
            testing_shard_dump(&s, &before);
            ck_assert_msg(call(&rows[i], note) == 1000, "%s, key %d", stock_script(rows[i].script)->name, which);
            ck_assert(testing_shard_is(&s, &before));
        }
    }
    strbuf_release(&before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_damage");
    TCase *tc = tcase_create("stock_damage");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, the_calls_of_the_table_would_write);
    tcase_add_test(tc, every_number_that_is_needed_is_looked_at);
    tcase_add_test(tc, an_expiry_that_has_passed_is_damage);
    tcase_add_test(tc, stock_that_is_no_number_is_damage);
    tcase_add_test(tc, ledger_and_marks_are_looked_at);
    tcase_add_test(tc, settle_never_makes_a_counter_negative);
    tcase_add_test(tc, negative_counters_give_no_units);
    tcase_add_test(tc, foreign_types_are_errors_without_effect);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
