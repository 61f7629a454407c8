/* Garbage arguments: each script names the first bad one and writes nothing, on a live shard and where there is none.
 */
#include "testing_stock.h"

#include <stdio.h>
#include <string.h>

#define ARGS_MAX 9
#define TOO_LONG "0123456789012345678901234567890123456789"
#define SLICE(lit)                                                                                                     \
    {                                                                                                                  \
        lit, sizeof(lit) - 1                                                                                           \
    }

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

/* Runs the script on the shard of s and answers its code; its last element goes to note. */
static int64_t call(enum stock_script script, size_t key_count, const struct slice *args, size_t arg_count,
                    char note[STOCK_NOTE_MAX])
{
    struct slice keys[STOCK_KEY_COUNT + 1];
    struct kv_call c = {stock_script(script), keys, key_count, args, arg_count};
    struct error err;
    struct kv_reply *reply;
    struct slice text;
    int64_t code;

    for (size_t i = 0; i <= STOCK_KEY_COUNT; i++)
        keys[i] = slice_of(s.keys.text[i % STOCK_KEY_COUNT]);
    reply = kv_script_call(kv, &c, &err);
    ck_assert_msg(reply != NULL, "%s", err.text);
    text = kv_reply_text(kv_reply_at(reply, kv_reply_count(reply) - 1));
    snprintf(note, STOCK_NOTE_MAX, "%.*s", (int)text.len, text.len ? text.ptr : "");
    code = kv_reply_integer(kv_reply_at(reply, 0));
    kv_reply_free(&reply);
    return code;
}

struct bad {
    size_t index;
    const char *note;
    struct slice value;
};

static void try_all(enum stock_script script, const struct slice *good, size_t count, const struct bad *bad,
                    size_t bad_count)
{
    struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    char note[STOCK_NOTE_MAX];

    testing_shard_dump(&s, &before);
    for (size_t i = 0; i < bad_count; i++) {
        struct slice args[ARGS_MAX];

        memcpy(args, good, count * sizeof *good);
        args[bad[i].index] = bad[i].value;
        ck_assert_msg(call(script, 5, args, count, note) == -9, "%s: row %zu (%.*s) was taken",
                      stock_script(script)->name, i, (int)bad[i].value.len, bad[i].value.ptr);
        ck_assert_str_eq(note, bad[i].note);
    }
    for (size_t n = 0; n < count; n++)
        ck_assert_int_eq(call(script, 5, good, n, note), -9);
    ck_assert_int_eq(call(script, 4, good, count, note), -9);
    ck_assert_int_eq(call(script, 6, good, count, note), -9);
    testing_shard_dump(&s, &after);
    ck_assert(slice_equal((struct slice){before.data, before.len}, (struct slice){after.data, after.len}));
    strbuf_release(&before);
    strbuf_release(&after);
}

static void try_on_both(enum stock_script script, const struct slice *good, size_t count, const struct bad *bad,
                        size_t bad_count)
{
    testing_shard_plan(&s, kv, 10, 5);
    try_all(script, good, count, bad, bad_count);
    testing_shard_create(&s, kv, 10, 5);
    try_all(script, good, count, bad, bad_count);
}

#define BAD_ORDER_NOS                                                                                                  \
    {0, "order_no", SLICE("")}, {0, "order_no", SLICE("a b")}, {0, "order_no", SLICE("a-b")},                          \
        {0, "order_no", SLICE("-r1")}, {0, "order_no", SLICE("a-r0")}, {0, "order_no", SLICE("a-r01")},                \
        {0, "order_no", SLICE("a-r10000")}, {0, "order_no", SLICE("a-r1-r2")}, {0, "order_no", SLICE("a|1")},          \
        {0, "order_no", SLICE("a\n")}, {0, "order_no", SLICE("a\0b")}, {0, "order_no", SLICE("\xc3\xa4")},             \
        {0, "order_no", SLICE("12345678901234567890123456789")}, {0, "order_no", SLICE(TOO_LONG)},                     \
    {                                                                                                                  \
        0, "order_no", SLICE("12345678901234567890123456789-r1")                                                       \
    }

/* What is not a plain decimal number. */
#define NOT_A_NUMBER(i, name)                                                                                          \
    {i, name, SLICE("")}, {i, name, SLICE("-1")}, {i, name, SLICE("+1")}, {i, name, SLICE("01")},                      \
        {i, name, SLICE("1.0")}, {i, name, SLICE("1e1")}, {i, name, SLICE("0x1")}, {i, name, SLICE(" 1")},             \
        {i, name, SLICE("1 ")}, {i, name, SLICE("1\0")}, {i, name, SLICE("nan")}, {i, name, SLICE("inf")},             \
    {                                                                                                                  \
        i, name, SLICE(TOO_LONG)                                                                                       \
    }

START_TEST(deduct_refuses_garbage)
{
    static const struct slice good[] = {SLICE("a"), SLICE("42"), SLICE("1"), SLICE("9900"), SLICE("2")};
    static const struct bad bad[] = {
        BAD_ORDER_NOS,
        NOT_A_NUMBER(1, "user"),
        {1, "user", SLICE("0")},
        {1, "user", SLICE("9223372036854775808")},
        {1, "user", SLICE("42:0")},
        NOT_A_NUMBER(2, "quantity"),
        {2, "quantity", SLICE("0")},
        {2, "quantity", SLICE("1000000000")},
        NOT_A_NUMBER(3, "amount"),
        {3, "amount", SLICE("1000000000000000")},
        NOT_A_NUMBER(4, "epoch"),
        {4, "epoch", SLICE("0")},
    };

    try_on_both(STOCK_SCRIPT_DEDUCT, good, 5, bad, sizeof bad / sizeof *bad);
}
END_TEST

START_TEST(return_refuses_garbage)
{
    static const struct slice good[] = {SLICE("a"), SLICE("1"), SLICE("0"), SLICE("2"), SLICE("1"), SLICE("1")};
    static const struct bad bad[] = {
        BAD_ORDER_NOS,
        NOT_A_NUMBER(1, "units_back"),
        {1, "units_back", SLICE("1000000000")},
        NOT_A_NUMBER(2, "units_forfeited"),
        NOT_A_NUMBER(3, "epoch"),
        {3, "epoch", SLICE("0")},
        NOT_A_NUMBER(4, "free_mark"),
        {4, "free_mark", SLICE("2")},
        NOT_A_NUMBER(5, "reservations"),
        {5, "reservations", SLICE("true")},
    };

    try_on_both(STOCK_SCRIPT_RETURN, good, 6, bad, sizeof bad / sizeof *bad);
}
END_TEST

/* rebuild takes what preheat takes. */
START_TEST(preheat_and_rebuild_refuse_garbage)
{
    static const struct slice good[] = {
        SLICE("10"), SLICE("2"), SLICE("5"), SLICE("1000"), SLICE("9000000000000"), SLICE("9000000000000")};
    static const struct bad bad[] = {
        NOT_A_NUMBER(0, "cap"),
        {0, "cap", SLICE("1000000000")},
        NOT_A_NUMBER(1, "epoch"),
        {1, "epoch", SLICE("0")},
        NOT_A_NUMBER(2, "limit"),
        {2, "limit", SLICE("0")},
        {2, "limit", SLICE("101")},
        NOT_A_NUMBER(3, "starts_at"),
        NOT_A_NUMBER(4, "ends_at"),
        {4, "ends_at", SLICE("1000")},
        {4, "ends_at", SLICE("999")},
        NOT_A_NUMBER(5, "expire_at"),
        {5, "expire_at", SLICE("8999999999999")},
    };
    static const struct bad past[] = {{5, "expire_at", SLICE("1700000000000")}};
    static const struct slice ended[] = {
        SLICE("10"), SLICE("2"), SLICE("5"), SLICE("1000"), SLICE("1700000000000"), SLICE("9000000000000")};

    try_on_both(STOCK_SCRIPT_PREHEAT, good, 6, bad, sizeof bad / sizeof *bad);
    try_on_both(STOCK_SCRIPT_PREHEAT, ended, 6, past, 1);
    try_on_both(STOCK_SCRIPT_REBUILD, good, 6, bad, sizeof bad / sizeof *bad);
    try_on_both(STOCK_SCRIPT_REBUILD, ended, 6, past, 1);
}
END_TEST

START_TEST(settle_refuses_garbage)
{
    static const struct slice good[] = {SLICE("a")};
    static const struct bad bad[] = {BAD_ORDER_NOS};

    try_on_both(STOCK_SCRIPT_SETTLE, good, 1, bad, sizeof bad / sizeof *bad);
}
END_TEST

START_TEST(adopt_refuses_garbage)
{
    static const struct slice good[] = {
        SLICE("a"),      SLICE("42"), SLICE("0"), SLICE("1"), SLICE("9900"), SLICE("2"), SLICE("1764400000123"),
        SLICE("pending")};
    static const struct bad bad[] = {
        BAD_ORDER_NOS,
        NOT_A_NUMBER(1, "user"),
        {1, "user", SLICE("0")},
        {1, "user", SLICE("9223372036854775808")},
        {1, "user", SLICE("42:0")},
        NOT_A_NUMBER(2, "user_seq"),
        {2, "user_seq", SLICE("10000")},
        NOT_A_NUMBER(3, "quantity"),
        {3, "quantity", SLICE("0")},
        {3, "quantity", SLICE("1000000000")},
        NOT_A_NUMBER(4, "amount"),
        {4, "amount", SLICE("1000000000000000")},
        NOT_A_NUMBER(5, "epoch"),
        {5, "epoch", SLICE("0")},
        NOT_A_NUMBER(6, "reserved_at"),
        {6, "reserved_at", SLICE("0")},
        {6, "reserved_at", SLICE("1000000000000000")},
        {7, "status", SLICE("")},
        {7, "status", SLICE("1")},
        {7, "status", SLICE("rejected")},
        {7, "status", SLICE("paid ")},
        {7, "status", SLICE("paid\0")},
    };

    try_on_both(STOCK_SCRIPT_ADOPT, good, 8, bad, sizeof bad / sizeof *bad);
}
END_TEST

START_TEST(reclaim_refuses_garbage)
{
    static const struct slice good[] = {SLICE("5"), SLICE("3"), SLICE("2")};
    static const struct bad bad[] = {
        NOT_A_NUMBER(0, "forfeited_seen"),
        {0, "forfeited_seen", SLICE("0")},
        {0, "forfeited_seen", SLICE("1000000000")},
        NOT_A_NUMBER(1, "units"),
        {1, "units", SLICE("0")},
        {1, "units", SLICE("6")}, /* more than was seen */
        NOT_A_NUMBER(2, "epoch"),
        {2, "epoch", SLICE("0")},
    };

    try_on_both(STOCK_SCRIPT_RECLAIM, good, 3, bad, sizeof bad / sizeof *bad);
}
END_TEST

START_TEST(restock_refuses_garbage)
{
    static const struct slice good[] = {SLICE("10"), SLICE("20"), SLICE("2")};
    static const struct bad bad[] = {
        NOT_A_NUMBER(0, "cap_seen"), {0, "cap_seen", SLICE("1000000000")},
        NOT_A_NUMBER(1, "cap"),      {1, "cap", SLICE("1000000000")},
        NOT_A_NUMBER(2, "epoch"),    {2, "epoch", SLICE("0")},
    };

    try_on_both(STOCK_SCRIPT_RESTOCK, good, 3, bad, sizeof bad / sizeof *bad);
}
END_TEST

START_TEST(extend_refuses_garbage)
{
    static const struct slice good[] = {SLICE("9000000000000"), SLICE("9000000000001"), SLICE("2"), SLICE("0")};
    static const struct bad bad[] = {
        NOT_A_NUMBER(0, "ends_at"),   {0, "ends_at", SLICE("1000000000000000")},
        NOT_A_NUMBER(1, "expire_at"), {1, "expire_at", SLICE("8999999999999")}, /* before ends_at */
        NOT_A_NUMBER(2, "epoch"),     {2, "epoch", SLICE("0")},
        NOT_A_NUMBER(3, "starts_at"), {3, "starts_at", SLICE("1000000000000000")},
    };
    static const struct slice unmoved[] = {SLICE("0"), SLICE("9000000000001"), SLICE("2"), SLICE("0")};
    static const struct bad past[] = {{1, "expire_at", SLICE("1700000000000")}, {1, "expire_at", SLICE("0")}};

    try_on_both(STOCK_SCRIPT_EXTEND, good, 4, bad, sizeof bad / sizeof *bad);
    try_on_both(STOCK_SCRIPT_EXTEND, unmoved, 4, past, 2);
}
END_TEST

START_TEST(pause_refuses_garbage)
{
    static const struct slice good[] = {SLICE("1"), SLICE("2")};
    static const struct bad bad[] = {
        NOT_A_NUMBER(0, "paused"), {0, "paused", SLICE("2")}, {0, "paused", SLICE("true")},
        NOT_A_NUMBER(1, "epoch"),  {1, "epoch", SLICE("0")},
    };

    try_on_both(STOCK_SCRIPT_PAUSE, good, 2, bad, sizeof bad / sizeof *bad);
}
END_TEST

START_TEST(remove_refuses_garbage)
{
    static const struct slice good[] = {SLICE("2")};
    static const struct bad bad[] = {NOT_A_NUMBER(0, "epoch"), {0, "epoch", SLICE("0")}};

    try_on_both(STOCK_SCRIPT_REMOVE, good, 1, bad, sizeof bad / sizeof *bad);
}
END_TEST

START_TEST(audit_refuses_arguments)
{
    static const struct slice one[] = {SLICE("x")};
    char note[STOCK_NOTE_MAX];

    testing_shard_create(&s, kv, 10, 5);
    ck_assert_int_eq(call(STOCK_SCRIPT_AUDIT, 5, one, 1, note), STOCK_AUDIT_BAD_ARGUMENT);
    ck_assert_int_eq(call(STOCK_SCRIPT_AUDIT, 4, one, 0, note), STOCK_AUDIT_BAD_ARGUMENT);
    ck_assert_int_eq(call(STOCK_SCRIPT_AUDIT, 5, one, 0, note), STOCK_AUDIT_PRESENT);
}
END_TEST

START_TEST(the_widest_arguments_are_taken)
{
    struct stock_order order;
    struct stock_giveback giveback;
    struct stock_row row;

    testing_shard_create(&s, kv, 999999999, 100);
    order = testing_order(&s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_z-r9999", INT64_MAX, 100);
    order.amount = 999999999999999;
    ck_assert_int_eq(testing_deduct(&s, &order).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_deduct(&s, &order).code, STOCK_DEDUCT_HELD);
    ck_assert_int_eq(testing_take(&s, "b", INT64_MAX, 1).code, STOCK_DEDUCT_OVER_LIMIT);
    ck_assert_int_eq(testing_take(&s, "b", INT64_MAX - 1, 1).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_take(&s, "c", 1, 999999999).code, STOCK_DEDUCT_OVER_LIMIT);
    row = testing_row(&s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_z-r9999", INT64_MAX, 100, STOCK_ADOPT_AS_PAID);
    row.amount = 999999999999999;
    ck_assert_int_eq(testing_adopt_row(&s, &row).code, STOCK_ADOPT_HELD);
    giveback = testing_giveback(&s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_z-r9999", 999999999);
    ck_assert_int_eq(testing_return(&s, &giveback).back, 100);
    ck_assert_int_eq(testing_shard_audit(&s).left, 999999998);
    row = testing_row(&s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_y-r9999", INT64_MAX, 999999998, STOCK_ADOPT_AS_PENDING);
    row.user_seq = 9999;
    row.epoch = 1;
    row.reserved_at = 999999999999999;
    ck_assert_int_eq(testing_adopt_row(&s, &row).from_left, 999999998);
    ck_assert_int_eq(testing_settle(&s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_y-r9999").units, 999999998);
    testing_forfeit(&s, "b", 1);
    ck_assert_int_eq(testing_restock(&s, 999999999, 999999999).floor, 999999999);
    ck_assert_int_eq(testing_reclaim(&s, 1, 1).left, 1);
    ck_assert_int_eq(testing_extend(&s, 0, 999999999999999).expire_at, 999999999999999);
    ck_assert_int_eq(testing_shard_audit(&s).sold, 999999998);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_arguments");
    TCase *tc = tcase_create("stock_arguments");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, deduct_refuses_garbage);
    tcase_add_test(tc, return_refuses_garbage);
    tcase_add_test(tc, preheat_and_rebuild_refuse_garbage);
    tcase_add_test(tc, settle_refuses_garbage);
    tcase_add_test(tc, adopt_refuses_garbage);
    tcase_add_test(tc, reclaim_refuses_garbage);
    tcase_add_test(tc, restock_refuses_garbage);
    tcase_add_test(tc, extend_refuses_garbage);
    tcase_add_test(tc, pause_refuses_garbage);
    tcase_add_test(tc, remove_refuses_garbage);
    tcase_add_test(tc, audit_refuses_arguments);
    tcase_add_test(tc, the_widest_arguments_are_taken);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
