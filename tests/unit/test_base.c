/* base: strbuf, units, backoff, arena, error. */
#include "testing.h"

#include <string.h>

#include "orderd/arena.h"
#include "orderd/backoff.h"
#include "orderd/clock.h"
#include "orderd/strbuf.h"
#include "orderd/units.h"

static const struct {
    const char *text;
    bool ok;
    int64_t ms;
} durations[] = {
    {"0", true, 0},
    {"250ms", true, 250},
    {"5s", true, 5000},
    {"15m", true, 900000},
    {"2h", true, 7200000},
    {"1d", true, 86400000},
    {"5", false, 0},
    {"", false, 0},
    {"s", false, 0},
    {"-5s", false, 0},
    {" 5s", false, 0},
    {"5 s", false, 0},
    {"5s ", false, 0},
    {"1.5s", false, 0},
    {"5S", false, 0},
    {"999999999999999999d", false, 0},
    {"99999999999999999999ms", false, 0},
};

START_TEST(duration)
{
    int64_t ms = -1;

    ck_assert_int_eq(units_parse_duration(durations[_i].text, &ms), durations[_i].ok);
    ck_assert_int_eq(ms, durations[_i].ok ? durations[_i].ms : -1);
}
END_TEST

static const struct {
    const char *text;
    bool ok;
    int64_t bytes;
} sizes[] = {
    {"512", true, 512}, {"16KiB", true, 16384}, {"64MiB", true, 67108864}, {"1GiB", true, 1073741824},
    {"7B", true, 7},    {"16KB", false, 0},     {"1k", false, 0},          {"999999999999999999GiB", false, 0},
};

START_TEST(size)
{
    int64_t bytes = -1;

    ck_assert_int_eq(units_parse_size(sizes[_i].text, &bytes), sizes[_i].ok);
    ck_assert_int_eq(bytes, sizes[_i].ok ? sizes[_i].bytes : -1);
}
END_TEST

START_TEST(units_round_trip)
{
    static const int64_t values[] = {0, 1, 999, 1000, 90000, 900000, 86400000, 172800001};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[32];
        int64_t back = -1;

        units_format_duration(text, sizeof text, values[i]);
        ck_assert(units_parse_duration(text, &back));
        ck_assert_int_eq(back, values[i]);
        units_format_size(text, sizeof text, values[i]);
        ck_assert(units_parse_size(text, &back));
        ck_assert_int_eq(back, values[i]);
    }
}
END_TEST

static const struct {
    const char *in;
    size_t len;
    const char *json, *logfmt;
} quoted[] = {
    {"plain", 5, "\"plain\"", "plain"},
    {"", 0, "\"\"", "\"\""},
    {"two words", 9, "\"two words\"", "\"two words\""},
    {"a\"b\\c\n", 6, "\"a\\\"b\\\\c\\n\"", "\"a\\\"b\\\\c\\n\""},
    {"k=v", 3, "\"k=v\"", "\"k=v\""},
    {"a\0b", 3, "\"a\\u0000b\"", "\"a\\u0000b\""},
    {"\xc3\xa9", 2, "\"\xc3\xa9\"", "\"\xc3\xa9\""},
    {"\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\"", "\"\xf0\x9f\x98\x80\""},
    {"x\xff", 2, "\"x\xef\xbf\xbd\"", "\"x\xef\xbf\xbd\""},                          /* never UTF-8 */
    {"\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"", "\"\xef\xbf\xbd\xef\xbf\xbd\""}, /* overlong */
    {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
     "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},                                    /* surrogate */
    {"\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"", "\"\xef\xbf\xbd\xef\xbf\xbd\""}, /* cut */
};

START_TEST(quoting)
{
    struct strbuf sb = STRBUF_INIT;
    struct slice in = {quoted[_i].in, quoted[_i].len};

    strbuf_add_json(&sb, in);
    ck_assert_str_eq(sb.data, quoted[_i].json);
    strbuf_reset(&sb);
    strbuf_add_logfmt(&sb, in);
    ck_assert_str_eq(sb.data, quoted[_i].logfmt);
    strbuf_release(&sb);
}
END_TEST

START_TEST(numbers)
{
    struct strbuf sb = STRBUF_INIT;

    strbuf_add_i64(&sb, INT64_MIN);
    strbuf_add_char(&sb, ' ');
    strbuf_add_i64(&sb, 0);
    strbuf_add_char(&sb, ' ');
    strbuf_add_u64(&sb, UINT64_MAX);
    ck_assert_str_eq(sb.data, "-9223372036854775808 0 18446744073709551615");
    strbuf_release(&sb);
}
END_TEST

START_TEST(backoff_stays_in_range)
{
    struct backoff b;
    int64_t ceiling = 100;

    backoff_init(&b, 100, 5000, 42);
    for (int i = 0; i < 1000; i++) {
        int64_t wait = backoff_next(&b);

        ck_assert_int_ge(wait, ceiling / 2);
        ck_assert_int_le(wait, ceiling);
        ceiling = ceiling * 2 > 5000 ? 5000 : ceiling * 2;
    }
    backoff_reset(&b);
    ck_assert_int_le(backoff_next(&b), 100);
}
END_TEST

START_TEST(arena_holds)
{
    struct arena *arena = arena_create(128);

    for (int round = 0; round < 3; round++) {
        char *pieces[64];

        for (size_t i = 0; i < 64; i++) {
            pieces[i] = arena_alloc(arena, i * 7 + 1);
            ck_assert_uint_eq((uintptr_t)pieces[i] % 16, 0);
            memset(pieces[i], (int)i, i * 7 + 1);
        }
        for (size_t i = 0; i < 64; i++) {
            for (size_t j = 0; j < i * 7 + 1; j++)
                ck_assert_int_eq(pieces[i][j], (char)i);
        }
        arena_reset(arena);
    }
    arena_destroy(&arena);
    ck_assert_ptr_null(arena);
}
END_TEST

START_TEST(error_is_one_line)
{
    struct error err;

    ck_assert(!error_set(&err, ERROR_DB_AWAY, "first\nsecond %d", 2));
    ck_assert(!error_prefix(&err, "opening %s", "it"));
    ck_assert_str_eq(err.text, "opening it: first second 2");
    ck_assert_int_eq(error_class_of(&err), ERROR_CLASS_OUTAGE);
    ck_assert_str_eq(error_code_name(err.code), "db_away");
}
END_TEST

START_TEST(clock_formats)
{
    char text[32];

    clock_format_iso(text, sizeof text, INT64_C(1764400000123));
    ck_assert_str_eq(text, "2025-11-29T07:06:40.123Z");
    clock_format_sql(text, sizeof text, INT64_C(1764400000007));
    ck_assert_str_eq(text, "2025-11-29 07:06:40.007");
}
END_TEST

START_TEST(utf8)
{
    ck_assert(slice_is_utf8(slice_of("")));
    ck_assert(slice_is_utf8((struct slice){"a\0b", 3}));
    ck_assert(slice_is_utf8(slice_of("\u51ac \U0001f600")));
    ck_assert(!slice_is_utf8(slice_of("a\xff")));
    ck_assert(!slice_is_utf8(slice_of("\xe5\x86")));         /* cut */
    ck_assert(!slice_is_utf8(slice_of("\xed\xa0\x80")));     /* a surrogate */
    ck_assert(!slice_is_utf8(slice_of("\xc0\xaf")));         /* overlong */
    ck_assert(!slice_is_utf8(slice_of("\xf4\x90\x80\x80"))); /* beyond U+10FFFF, which mbrtowc takes */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("base");
    TCase *c = tcase_create("base");

    tcase_add_loop_test(c, duration, 0, sizeof durations / sizeof *durations);
    tcase_add_loop_test(c, size, 0, sizeof sizes / sizeof *sizes);
    tcase_add_loop_test(c, quoting, 0, sizeof quoted / sizeof *quoted);
    tcase_add_test(c, units_round_trip);
    tcase_add_test(c, numbers);
    tcase_add_test(c, utf8);
    tcase_add_test(c, backoff_stays_in_range);
    tcase_add_test(c, arena_holds);
    tcase_add_test(c, error_is_one_line);
    tcase_add_test(c, clock_formats);
    suite_add_tcase(s, c);
    return testing_main(s);
}
