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

START_TEST(comes_back_as_it_went)
{
    const struct stock_giveback *in = &samples[_i], *out;
    struct strbuf text = STRBUF_INIT;
    struct stock_effect effect;
    struct error err = {0};

    stock_effect_encode(in, &text);
    ck_assert_ok(stock_effect_decode((struct slice){text.data, text.len}, &effect, &err), &err);
    strbuf_release(&text);
    out = &effect.giveback;
    ck_assert(slice_equal(in->order_no, out->order_no));
    ck_assert_int_eq(in->activity, out->activity);
    ck_assert_int_eq(in->shard, out->shard);
    ck_assert_int_eq(in->units_back, out->units_back);
    ck_assert_int_eq(in->units_forfeited, out->units_forfeited);
    ck_assert_int_eq(in->epoch, out->epoch);
    ck_assert(in->free_mark == out->free_mark && in->reservations == out->reservations);
}
END_TEST

/* A good payload with one member replaced. */
#define MEMBERS(no, activity, shard, epoch, back, forfeited, mark, reservations)                                       \
    "{\"order_no\":" no ",\"activity_id\":" activity ",\"shard\":" shard ",\"epoch\":" epoch ",\"units_back\":" back   \
    ",\"units_forfeited\":" forfeited ",\"free_mark\":" mark ",\"reservations\":" reservations "}"

static const struct {
    const char *payload;
    bool good;
} payloads[] = {
    {MEMBERS("\"A\"", "1", "0", "1", "1", "0", "true", "true"), true},
    {" \n" MEMBERS("\"A\"", "1", "0", "1", "1", "0", "true", "true") " \n", true},
    {MEMBERS("\"A\"", "1", "1023", "1", "0", "999999999", "false", "false"), true},
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
    struct stock_effect effect;
    struct error err = {0};
    /* On the heap and without an end, so that a sanitizer sees a byte read too many. */
    size_t len = strlen(payloads[_i].payload);
    char *exact = malloc(len ? len : 1);
    bool ok;

    memcpy(exact, payloads[_i].payload, len);
    ok = stock_effect_decode((struct slice){exact, len}, &effect, &err);
    ck_assert_msg(ok == payloads[_i].good, "%s was %s: %s", payloads[_i].payload, ok ? "read" : "refused", err.text);
    if (!ok) {
        ck_assert_int_eq(err.code, ERROR_INPUT_INVALID);
        ck_assert(err.text[0] != '\0');
    }
    free(exact);
}
END_TEST

START_TEST(nests_of_any_depth_are_refused)
{
    struct strbuf text = STRBUF_INIT;
    struct stock_effect effect;
    struct error err = {0};

    for (int i = 0; i < 100000; i++)
        strbuf_add_char(&text, i & 1 ? '[' : '{');
    ck_assert(!stock_effect_decode((struct slice){text.data, text.len}, &effect, &err));
    strbuf_release(&text);
    ck_assert(!stock_effect_decode((struct slice){NULL, 0}, &effect, &err));
}
END_TEST

/* Every cut and every changed byte of a good payload: read as something valid, or refused; never a crash. */
START_TEST(cut_and_changed)
{
    struct strbuf text = STRBUF_INIT;
    struct stock_effect effect;
    struct error err = {0};

    stock_effect_encode(&samples[1], &text);
    for (size_t n = 0; n < text.len; n++)
        ck_assert(!stock_effect_decode((struct slice){text.data, n}, &effect, &err));
    for (size_t n = 0; n < text.len; n++) {
        char old = text.data[n];

        for (int c = 0; c < 256; c++) {
            text.data[n] = (char)c;
            if (stock_effect_decode((struct slice){text.data, text.len}, &effect, &err))
                ck_assert(effect.giveback.shard >= 0 && effect.giveback.shard < STOCK_SHARDS_MAX &&
                          effect.giveback.units_back >= 0 && effect.giveback.units_forfeited >= 0 &&
                          effect.giveback.order_no.len <= STOCK_ORDER_NO_MAX);
        }
        text.data[n] = old;
    }
    strbuf_release(&text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stock_effect");
    TCase *c = tcase_create("payload");

    tcase_add_loop_test(c, comes_back_as_it_went, 0, (int)(sizeof samples / sizeof *samples));
    tcase_add_loop_test(c, only_ours_are_read, 0, (int)(sizeof payloads / sizeof *payloads));
    tcase_add_test(c, nests_of_any_depth_are_refused);
    tcase_add_test(c, cut_and_changed);
    suite_add_tcase(s, c);
    return testing_main(s);
}
