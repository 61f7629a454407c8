/* domain/stock: the payload of `stock.return`, written and read back, and hostile ones refused. */
#include "testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/stock_effect.h"

static const struct stock_giveback samples[] = {
    {.activity = 1001, .order_no = {"A", 1}, .units_back = 1, .epoch = 1, .free_mark = true, .reservations = true},
    {.activity = INT64_MAX,
     .shard = STOCK_SHARDS_MAX - 1,
     .order_no = {"1234567890123456789012345678-r9999", 34},
     .units_back = 999999999,
     .units_forfeited = 999999999,
     .epoch = 999999999},
    {.activity = 9007199254740993, .shard = 7, .order_no = {"a_b", 3}, .epoch = 3, .reservations = true},
};

#define SAMPLES (sizeof samples / sizeof *samples)

static struct arena *arena;

static void setup(void)
{
    arena = arena_create(256);
}

static void teardown(void)
{
    arena_destroy(&arena);
}

static bool read_back(struct slice payload, struct stock_giveback **list, size_t *count)
{
    struct error err = {0};
    bool ok = stock_effect_decode(payload, arena, list, count, &err);

    /* No ck_assert: each one writes to the runner, and some tests come here a hundred thousand times. */
    if (!ok && (err.code != ERROR_INPUT_INVALID || err.text[0] == '\0' || *count != 0))
        ck_abort_msg("refused with %d \"%s\", %zu entries", (int)err.code, err.text, *count);
    return ok;
}

static void assert_same(const struct stock_giveback *in, const struct stock_giveback *out)
{
    ck_assert(slice_equal(in->order_no, out->order_no));
    ck_assert_int_eq(in->activity, out->activity);
    ck_assert_int_eq(in->shard, out->shard);
    ck_assert_int_eq(in->units_back, out->units_back);
    ck_assert_int_eq(in->units_forfeited, out->units_forfeited);
    ck_assert_int_eq(in->epoch, out->epoch);
    ck_assert(in->free_mark == out->free_mark && in->reservations == out->reservations);
}

START_TEST(comes_back_as_it_went)
{
    struct strbuf text = STRBUF_INIT;
    struct stock_giveback *out;
    size_t count;

    stock_effect_encode(samples, SAMPLES, &text);
    ck_assert(read_back((struct slice){text.data, text.len}, &out, &count));
    strbuf_release(&text);
    ck_assert_uint_eq(count, SAMPLES);
    for (size_t i = 0; i < SAMPLES; i++)
        assert_same(&samples[i], &out[i]);
}
END_TEST

START_TEST(as_many_as_a_message_names)
{
    static struct stock_giveback in[ORDER_LIST_MAX];
    static char numbers[ORDER_LIST_MAX][20];
    struct strbuf text = STRBUF_INIT;
    struct stock_giveback *out;
    size_t count;

    for (int i = 0; i < ORDER_LIST_MAX; i++) {
        snprintf(numbers[i], sizeof numbers[i], "N%d", i);
        in[i] = samples[0];
        in[i].order_no = slice_of(numbers[i]);
    }
    stock_effect_encode(in, ORDER_LIST_MAX, &text);
    ck_assert(read_back((struct slice){text.data, text.len}, &out, &count));
    ck_assert_uint_eq(count, ORDER_LIST_MAX);
    for (size_t i = 0; i < count; i++)
        assert_same(&in[i], &out[i]);
    strbuf_cut(&text, text.len - 2); /* one more than that */
    strbuf_add_str(&text, ",{\"order_no\":\"A\",\"activity_id\":1,\"shard\":0,\"epoch\":1,\"units_back\":1,"
                          "\"units_forfeited\":0,\"free_mark\":true,\"reservations\":true}]}");
    ck_assert(!read_back((struct slice){text.data, text.len}, &out, &count));
    strbuf_release(&text);
}
END_TEST

START_TEST(paid_come_back_as_they_went)
{
    static const struct stock_paid in[] = {
        {1001, 0, {"A", 1}},
        {INT64_MAX, STOCK_SHARDS_MAX - 1, {"1234567890123456789012345678-r9999", 34}},
    };
    struct strbuf text = STRBUF_INIT;
    struct stock_paid *out;
    struct error err = {0};
    size_t count;

    stock_effect_encode_paid(in, 2, &text);
    ck_assert_str_eq(text.data, "{\"v\":1,\"orders\":[{\"order_no\":\"A\",\"activity_id\":1001,\"shard\":0},"
                                "{\"order_no\":\"1234567890123456789012345678-r9999\",\"activity_id\":"
                                "9223372036854775807,\"shard\":1023}]}");
    ck_assert_ok(stock_effect_decode_paid((struct slice){text.data, text.len}, arena, &out, &count, &err), &err);
    ck_assert_uint_eq(count, 2);
    for (size_t i = 0; i < count; i++) {
        ck_assert(slice_equal(in[i].order_no, out[i].order_no));
        ck_assert_int_eq(in[i].activity, out[i].activity);
        ck_assert_int_eq(in[i].shard, out[i].shard);
    }
    strbuf_release(&text);
}
END_TEST

/* A good payload with one member replaced. */
#define MEMBERS(no, activity, shard, epoch, back, forfeited, mark, reservations)                                       \
    "{\"order_no\":" no ",\"activity_id\":" activity ",\"shard\":" shard ",\"epoch\":" epoch ",\"units_back\":" back   \
    ",\"units_forfeited\":" forfeited ",\"free_mark\":" mark ",\"reservations\":" reservations "}"

#define GOOD(no)      MEMBERS("\"" no "\"", "1", "0", "1", "1", "0", "true", "true")
#define LIST(entries) "{\"v\":1,\"orders\":[" entries "]}"

/* One order's members alone are what older releases wrote. */
static const struct {
    const char *payload;
    bool good;
} payloads[] = {
    {MEMBERS("\"A\"", "1", "0", "1", "1", "0", "true", "true"), true},
    {" \n" MEMBERS("\"A\"", "1", "0", "1", "1", "0", "true", "true") " \n", true},
    {MEMBERS("\"A\"", "1", "1023", "1", "0", "999999999", "false", "false"), true},
    /* lists */
    {LIST(GOOD("A")), true},
    {LIST(GOOD("A") "," GOOD("B")), true},
    {LIST(GOOD("A") "," GOOD("A")), true}, /* the second has nothing to do */
    {"{\"more\":[],\"orders\":[" GOOD("A") "],\"v\":1}", true},
    {LIST(""), false},
    {LIST("{}"), false},
    {LIST("1"), false},
    {LIST("null"), false},
    {LIST("[" GOOD("A") "]"), false},
    {LIST(GOOD("A") ",{}"), false},
    {LIST(GOOD("A") "," GOOD("a b")), false},
    {LIST(GOOD("A") ",null"), false},
    {"{\"v\":2,\"orders\":[" GOOD("A") "]}", false},
    {"{\"v\":\"1\",\"orders\":[" GOOD("A") "]}", false},
    {"{\"v\":1.0,\"orders\":[" GOOD("A") "]}", false},
    {"{\"orders\":[" GOOD("A") "]}", false},
    {"{\"v\":1,\"orders\":" GOOD("A") "}", false},
    {"{\"v\":1,\"orders\":null}", false},
    {"{\"v\":1,\"orders\":{}}", false},
    {"{\"v\":1,\"v\":1,\"orders\":[" GOOD("A") "]}", false},
    {"{\"v\":1}", false},
    {"[" GOOD("A") "]", false},
    {"", false},
    {"{}", false},
    {"[]", false},
    {"null", false},
    {"\"A\"", false},
    {"{", false},
    {"\xff\xfe", false},
    {MEMBERS("\"A\"", "1", "0", "1", "1", "0", "true", "true") "x", false},
    {MEMBERS("\"A\"", "1", "0", "1", "1", "0", "true", "true") "{}", false},
    /* order_no: the alphabet and length of ours */
    {MEMBERS("\"\"", "1", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("1", "1", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("null", "1", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"a b\"", "1", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"a'b\"", "1", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"a\\u0000b\"", "1", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"12345678901234567890123456789\"", "1", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"1234567890123456789012345678-r10000\"", "1", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"\xc3\xa9\"", "1", "0", "1", "1", "0", "true", "true"), false},
    /* numbers */
    {MEMBERS("\"A\"", "-1", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"A\"", "1.0", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"A\"", "\"1\"", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"A\"", "9223372036854775808", "0", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"A\"", "1", "1024", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"A\"", "1", "4294967296", "1", "1", "0", "true", "true"), false}, /* 0 in 32 bits */
    {MEMBERS("\"A\"", "1", "-1", "1", "1", "0", "true", "true"), false},
    {MEMBERS("\"A\"", "1", "0", "-1", "1", "0", "true", "true"), false},
    {MEMBERS("\"A\"", "1", "0", "1", "-1", "0", "true", "true"), false},
    {MEMBERS("\"A\"", "1", "0", "1", "1e3", "0", "true", "true"), false},
    {MEMBERS("\"A\"", "1", "0", "1", "1", "-1", "true", "true"), false},
    {MEMBERS("\"A\"", "1", "0", "1", "1", "null", "true", "true"), false},
    /* flags */
    {MEMBERS("\"A\"", "1", "0", "1", "1", "0", "1", "true"), false},
    {MEMBERS("\"A\"", "1", "0", "1", "1", "0", "true", "\"true\""), false},
    {MEMBERS("\"A\"", "1", "0", "1", "1", "0", "null", "true"), false},
    /* a member twice: which one counts? */
    {MEMBERS("\"A\"", "1", "0", "1", "1", "0", "true", "true,\"units_back\":9"), false},
    {"{\"order_no\":\"A\",\"order_no\":\"B\",\"activity_id\":1,\"shard\":0,\"epoch\":1,\"units_back\":1,"
     "\"units_forfeited\":0,\"free_mark\":true,\"reservations\":true}",
     false},
    /* one missing */
    {"{\"order_no\":\"A\",\"activity_id\":1,\"shard\":0,\"epoch\":1,\"units_back\":1,\"free_mark\":true,"
     "\"reservations\":true}",
     false},
    {"{\"order_no\":\"A\",\"activity_id\":1,\"shard\":0,\"epoch\":1,\"units_back\":1,\"units_forfeited\":0,"
     "\"free_mark\":true}",
     false},
};

START_TEST(only_ours_are_read)
{
    struct stock_giveback *list;
    size_t count;
    /* On the heap and without an end, so that a sanitizer sees a byte read too many. */
    size_t len = strlen(payloads[_i].payload);
    char *exact = malloc(len ? len : 1);
    bool ok;

    memcpy(exact, payloads[_i].payload, len);
    ok = read_back((struct slice){exact, len}, &list, &count);
    ck_assert_msg(ok == payloads[_i].good, "%s was %s", payloads[_i].payload, ok ? "read" : "refused");
    free(exact);
}
END_TEST

START_TEST(nests_of_any_depth_are_refused)
{
    struct strbuf text = STRBUF_INIT;
    struct stock_giveback *list;
    size_t count;

    for (int i = 0; i < 100000; i++)
        strbuf_add_char(&text, i & 1 ? '[' : '{');
    ck_assert(!read_back((struct slice){text.data, text.len}, &list, &count));
    strbuf_release(&text);
    ck_assert(!read_back((struct slice){NULL, 0}, &list, &count));
}
END_TEST

/* Every cut and every changed byte of a good payload: read as something valid, or refused; never a crash. */
START_TEST(cut_and_changed)
{
    struct strbuf text = STRBUF_INIT;
    struct stock_giveback *list;
    bool sound = true;
    size_t count;

    stock_effect_encode(&samples[1], 2, &text);
    for (size_t n = 0; n < text.len; n++)
        ck_assert(!read_back((struct slice){text.data, n}, &list, &count));
    for (size_t n = 0; n < text.len; n++) {
        char old = text.data[n];

        for (int c = 0; c < 256; c++) {
            arena_reset(arena);
            text.data[n] = (char)c;
            if (!read_back((struct slice){text.data, text.len}, &list, &count))
                continue;
            for (size_t i = 0; i < count; i++)
                sound = sound && list[i].shard >= 0 && list[i].shard < STOCK_SHARDS_MAX && list[i].units_back >= 0 &&
                        list[i].units_forfeited >= 0 && list[i].order_no.len <= STOCK_ORDER_NO_MAX;
        }
        ck_assert(sound);
        text.data[n] = old;
    }
    strbuf_release(&text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stock_effect");
    TCase *c = tcase_create("payload");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, comes_back_as_it_went);
    tcase_add_test(c, as_many_as_a_message_names);
    tcase_add_test(c, paid_come_back_as_they_went);
    tcase_add_loop_test(c, only_ours_are_read, 0, (int)(sizeof payloads / sizeof *payloads));
    tcase_add_test(c, nests_of_any_depth_are_refused);
    tcase_add_test(c, cut_and_changed);
    suite_add_tcase(s, c);
    return testing_main(s);
}
