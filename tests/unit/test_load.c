/* orderload's parts that need no server. */
#include "testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/program/load/book.h"
#include "../../src/program/load/garbage.h"
#include "../../src/program/load/idset.h"
#include "../../src/program/load/options.h"
#include "../../src/program/load/order_no.h"
#include "../../src/program/load/pace.h"
#include "../../src/program/load/report.h"
#include "../../src/program/load/spread.h"

/* ---- idset ---- */

START_TEST(idset_gives_each_text_its_own_index)
{
    enum { N = 100000 };
    struct idset set = {0};
    char text[32];
    bool fresh;

    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "%d", 1000000 + i * 7);
        ck_assert_uint_eq(idset_add(&set, slice_of(text), &fresh), (uint32_t)i);
        ck_assert(fresh);
    }
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "%d", 1000000 + i * 7);
        ck_assert_uint_eq(idset_find(&set, slice_of(text)), (uint32_t)i);
        ck_assert_uint_eq(idset_add(&set, slice_of(text), &fresh), (uint32_t)i);
        ck_assert(!fresh);
        ck_assert_str_eq(idset_text(&set, (uint32_t)i), text);
        snprintf(text, sizeof text, "%d", 1000000 + i * 7 + 1);
        ck_assert_uint_eq(idset_find(&set, slice_of(text)), IDSET_NONE);
    }
    ck_assert_uint_eq(set.count, N);
    idset_release(&set);
}
END_TEST

START_TEST(idset_tells_prefixes_apart)
{
    struct idset set = {0};

    ck_assert_uint_eq(idset_find(&set, slice_of("a")), IDSET_NONE);
    ck_assert_uint_eq(idset_add(&set, slice_of("ab"), NULL), 0);
    ck_assert_uint_eq(idset_add(&set, slice_of("abc"), NULL), 1);
    ck_assert_uint_eq(idset_add(&set, (struct slice){"abcd", 1}, NULL), 2);
    ck_assert_uint_eq(idset_add(&set, slice_of(""), NULL), 3);
    ck_assert_uint_eq(idset_add(&set, (struct slice){"ab\0c", 4}, NULL), 0);
    ck_assert_uint_eq(idset_find(&set, slice_of("abc")), 1);
    ck_assert_uint_eq(idset_find(&set, slice_of("A")), IDSET_NONE);
    idset_release(&set);
}
END_TEST

/* ---- book and ids files ---- */

static struct order order_of(const char *order_no)
{
    struct order o = {.activity_id = 5,
                      .user_id = 42,
                      .sku_id = 77,
                      .user_seq = 3,
                      .quantity = 2,
                      .amount = 19800,
                      .shard = 9,
                      .epoch = 4,
                      .reserved_at = INT64_C(1764400000123)};

    snprintf(o.order_no, sizeof o.order_no, "%s", order_no);
    return o;
}

static char path[64];

static const char *scratch_file(const char *content)
{
    FILE *file;

    snprintf(path, sizeof path, "/tmp/orderd_test_ids_XXXXXX");
    close(mkstemp(path));
    file = fopen(path, "w");
    ck_assert(file != NULL);
    fputs(content, file);
    fclose(file);
    return path;
}

START_TEST(book_keeps_orders_through_a_file)
{
    const char *name = scratch_file("");
    struct book book, again;
    struct error err = {0};
    struct order a = order_of("1000000000000000001"), b = order_of("x_y-r12"), read;
    FILE *file;

    b.shard = ORDER_SHARD_MAX;
    b.user_id = INT64_MAX;
    book_init(&book, 5, 77);
    file = book_open(name, &err);
    ck_assert_ok(file, &err);
    book_write(file, &book, book_accept(&book, &a, BOOK_RESERVED));
    book_write(file, &book, book_accept(&book, &b, BOOK_SILENT));
    fclose(file);
    ck_assert_uint_eq(book_accept(&book, &a, BOOK_RESERVED), IDSET_NONE);

    book_init(&again, 5, 77);
    ck_assert_ok(book_read(&again, name, &err), &err);
    ck_assert_ok(book_read(&again, name, &err), &err); /* a file given twice counts once */
    ck_assert_uint_eq(again.ids.count, 2);
    ck_assert_uint_eq(again.accepted[BOOK_RESERVED], 1);
    ck_assert_uint_eq(again.accepted[BOOK_SILENT], 1);
    ck_assert_uint_eq(again.accepted[BOOK_NOT_ACCEPTED], 0);
    book_order(&again, 0, &read);
    ck_assert_mem_eq(&read, &a, sizeof a);
    book_order(&again, 1, &read);
    ck_assert_mem_eq(&read, &b, sizeof b);
    unlink(name);
    book_release(&book);
    book_release(&again);
}
END_TEST

#define LINE "1000000000000000001 5 42 0 1 9900 0 1 1764400000123 reserved\n"

START_TEST(a_line_cut_short_is_passed_over_and_cut_off)
{
    const char *name = scratch_file(LINE "1000000000000000002 5 43 0 1 99");
    struct book book;
    struct error err = {0};
    struct order o = order_of("1000000000000000003");
    FILE *file;

    book_init(&book, 5, 77);
    ck_assert_ok(book_read(&book, name, &err), &err);
    ck_assert_uint_eq(book.ids.count, 1);
    file = book_open(name, &err);
    ck_assert_ok(file, &err);
    book_write(file, &book, book_accept(&book, &o, BOOK_FILLED));
    fclose(file);
    book_release(&book);

    book_init(&book, 5, 77);
    ck_assert_ok(book_read(&book, name, &err), &err);
    ck_assert_uint_eq(book.ids.count, 2);
    ck_assert_uint_eq(book.accepted[BOOK_FILLED], 1);
    book_release(&book);
    book_init(&book, 6, 77); /* another activity's orders are not ours */
    ck_assert_ok(book_read(&book, name, &err), &err);
    ck_assert_uint_eq(book.ids.count, 0);
    unlink(name);
}
END_TEST

/* What verify says of a file that has no order of activity 6; NULL: nothing, it may go on. */
static const struct {
    const char *content, *says;
} no_order_files[] = {
    {"# order_no activity user user_seq quantity amount shard epoch reserved_at how\n", NULL},
    {LINE, "has no order of activity 6 (it has 1 of 5)"},
    {LINE "1000000000000000002 7 42 0 1 9900 0 1 1764400000123 reserved\n" LINE,
     "has no order of activity 6 (it has 2 of 5 and, of others, 1)"},
    {"", "has no order of activity 6: it is empty"},
    {"# order_no activ", "has no order of activity 6: it is empty"},
};

START_TEST(a_file_without_an_order_of_the_activity_says_why)
{
    const char *name = scratch_file(no_order_files[_i].content), *says = no_order_files[_i].says;
    struct load_files files = {.names = {name}, .count = 1};
    struct error err = {0};
    struct book book;

    book_init(&book, 6, 77);
    ck_assert_ok(book_read(&book, name, &err), &err);
    ck_assert_uint_eq(book.ids.count, 0);
    ck_assert_int_eq(lines_explain_none(&book.passed, &files, 6, "order", &err), says == NULL);
    ck_assert_int_eq(err.code, says ? ERROR_INPUT_INVALID : ERROR_NONE);
    ck_assert_msg(!says || (strstr(err.text, says) && strstr(err.text, name)), "%s", err.text);
    unlink(name);
    book_release(&book);
}
END_TEST

START_TEST(several_files_without_an_order_of_the_activity_are_told_of_together)
{
    struct load_files files = {.names = {"a", "b"}, .count = 2};
    struct lines_passed passed = {.complete = 1001, .other = 5, .of_other = 1000};
    struct error err = {0};

    ck_assert(!lines_explain_none(&passed, &files, 6, "payment", &err));
    ck_assert_str_eq(err.text, "these files have no payment of activity 6 (they have 1,000 of 5)");
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_not_damaged)
{
    struct error err = {0};
    struct book book;

    book_init(&book, 5, 77);
    ck_assert(!book_read(&book, "/nope/ids", &err));
    ck_assert_int_eq(err.code, ERROR_IO);
    ck_assert_int_eq(exitcode_of(&err), EXIT_IO);
    err = (struct error){0};
    ck_assert(!book_read(&book, "/", &err));
    ck_assert_int_eq(err.code, ERROR_IO);
}
END_TEST

/* Such a file is somebody's notes, say: a sale that appended to it would cut the line off. */
START_TEST(half_a_line_that_no_run_left_is_refused)
{
    const char *name = scratch_file("x");
    struct error err = {0};
    struct book book;

    book_init(&book, 5, 77);
    ck_assert(!book_read(&book, name, &err));
    ck_assert_int_eq(err.code, ERROR_INPUT_INVALID);
    ck_assert_msg(strstr(err.text, ":1: not a line of an ids file") != NULL, "%s", err.text);
    unlink(name);
}
END_TEST

static const char *const bad_lines[] = {
    "\n",
    "1000000000000000001 5 42 0 1 9900 0 1 1764400000123\n",
    "1000000000000000001 5 42 0 1 9900 0 1 1764400000123 lost\n",
    "1000000000000000001 5 42 0 1 9900 0 1 1764400000123 reserved \n",
    "1000000000000000001 5 42 0 0 9900 0 1 1764400000123 reserved\n",
    "1000000000000000001 5 x 0 1 9900 0 1 1764400000123 reserved\n",
    "no'-- 5 42 0 1 9900 0 1 1764400000123 reserved\n",
    "1000000000000000001 0 42 0 1 9900 0 1 1764400000123 reserved\n",
};

START_TEST(a_damaged_ids_file_is_refused_by_line)
{
    char content[512], where[96];
    const char *name;
    struct book book;
    struct error err = {0};

    snprintf(content, sizeof content, LINE "%s", bad_lines[_i]);
    name = scratch_file(content);
    book_init(&book, 5, 77);
    ck_assert(!book_read(&book, name, &err));
    ck_assert_int_eq(err.code, ERROR_INPUT_INVALID);
    snprintf(where, sizeof where, "%s:2:", name);
    ck_assert_msg(strstr(err.text, where) != NULL, "%s", err.text);
    unlink(name);
    book_release(&book);
}
END_TEST

/* ---- pace ---- */

START_TEST(pace_keeps_the_rate_whatever_the_steps)
{
    struct pace pace;
    size_t begun = 0;

    pace_init(&pace, 333, 1000000);
    for (int64_t now = 1000000; now < 11000000; now += 7919)
        begun += pace_due(&pace, now, 1000);
    ck_assert_uint_ge(begun, 3327);
    ck_assert_uint_le(begun, 3330);
}
END_TEST

START_TEST(pace_tells_when_the_next_is_due)
{
    struct pace pace;

    pace_init(&pace, 4, 0);
    ck_assert_int_eq(pace_wait_us(&pace, 0), 0);
    ck_assert_uint_eq(pace_due(&pace, 0, 10), 1);
    ck_assert_uint_eq(pace_due(&pace, 100000, 10), 0);
    ck_assert_int_le(llabs(pace_wait_us(&pace, 100000) - 150000), 1);
    ck_assert_uint_eq(pace_due(&pace, 250000, 10), 1);
    ck_assert_uint_eq(pace_due(&pace, 1000000, 2), 2); /* two of three: the rest stays due */
    ck_assert_int_eq(pace_wait_us(&pace, 1000000), 0);
    ck_assert_uint_eq(pace_due(&pace, 1000000, 2), 1);
}
END_TEST

START_TEST(pace_does_not_burst_after_an_outage)
{
    struct pace pace;

    pace_init(&pace, 100, 0);
    ck_assert_uint_eq(pace_due(&pace, 0, 1000), 1);
    ck_assert_uint_eq(pace_due(&pace, 60000000, 100000), 100);
    ck_assert_uint_le(pace_due(&pace, 61000000, 100000), 101);
}
END_TEST

START_TEST(pace_without_rate_is_always_due)
{
    struct pace pace;

    pace_init(&pace, 0, 0);
    ck_assert_uint_eq(pace_due(&pace, 0, 64), 64);
    ck_assert_uint_eq(pace_due(&pace, 0, 64), 64);
    ck_assert_int_eq(pace_wait_us(&pace, 0), 0);
}
END_TEST

/* ---- order numbers, spread ---- */

START_TEST(order_numbers_are_unique_and_valid)
{
    struct order_no_maker maker = {.node = 1023};
    int64_t last = 0;
    char text[32];

    for (int i = 0; i < 100000; i++) {
        /* A clock that stands, and once steps back. */
        int64_t next = order_no_next(&maker, INT64_C(1764400000000) - (i == 50000 ? 1000 : 0));

        ck_assert_int_gt(next, last);
        last = next;
    }
    snprintf(text, sizeof text, "%" PRId64, last);
    ck_assert_uint_eq(strlen(text), 19);
    ck_assert(order_no_valid(slice_of(text)));
    ck_assert_int_eq(last >> 12 & 1023, 1023);
}
END_TEST

START_TEST(spread_answers_quantiles_to_three_percent)
{
    struct spread spread = {.count = 0};

    ck_assert_int_eq(spread_quantile(&spread, 0.5), 0);
    for (int64_t us = 1; us <= 100000; us++)
        spread_add(&spread, us, 1);
    ck_assert_int_ge(spread_quantile(&spread, 0.5), 50000);
    ck_assert_int_le(spread_quantile(&spread, 0.5), 51600);
    ck_assert_int_ge(spread_quantile(&spread, 0.99), 99000);
    ck_assert_int_eq(spread_quantile(&spread, 1), 100000);
    spread_add(&spread, -5, 1);
    spread_add(&spread, INT64_MAX, 1);
    ck_assert_int_ge(spread_quantile(&spread, 1), 1000000000);
}
END_TEST

/* ---- garbage ---- */

START_TEST(no_garbage_is_an_order)
{
    struct order o = order_of("1000000000000000001"), out;
    char detail[256];

    for (uint64_t n = 0; n < 40; n++) {
        struct strbuf body = STRBUF_INIT;
        enum reason reason;

        garbage_malformed(n * GARBAGE_KINDS + (uint64_t)_i, &o, &body);
        reason = order_decode((struct slice){body.data, body.len}, &out, detail, sizeof detail);
        ck_assert_msg(reason_what(reason) == REASON_WHAT_DEAD, "%s, number %d: %s", garbage_name((enum garbage_kind)_i),
                      (int)n, reason_name(reason));
        ck_assert_uint_le(body.len, ORDER_BODY_MAX);
        strbuf_release(&body);
    }
}
END_TEST

START_TEST(garbage_of_one_number_is_always_the_same)
{
    struct order o = order_of("1000000000000000001");
    struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

    for (uint64_t n = 0; n < 100; n++) {
        garbage_malformed(n, &o, &a);
        garbage_malformed(n, &o, &b);
    }
    ck_assert_uint_eq(a.len, b.len);
    ck_assert_mem_eq(a.data, b.data, a.len);
    strbuf_release(&a);
    strbuf_release(&b);
}
END_TEST

START_TEST(oversized_is_only_that)
{
    struct order o = order_of("1000000000000000001"), out;
    char detail[256];

    for (uint64_t n = 0; n < 10000; n += 997) {
        struct strbuf body = STRBUF_INIT;

        garbage_oversized(n, &o, &body);
        ck_assert_uint_gt(body.len, ORDER_BODY_MAX);
        ck_assert_int_eq(order_decode((struct slice){body.data, body.len}, &out, detail, sizeof detail),
                         REASON_BODY_TOO_LARGE);
        ck_assert(body.data[body.len - 1] == '}');
        strbuf_release(&body);
    }
}
END_TEST

/* ---- command line ---- */

static const struct {
    const char *words[8];
    bool good;
} lines[] = {
    {{"sale", "--activity", "7"}, true},
    {{"sale", "--activity", "7", "--malformed", "2.5%", "--rate", "max"}, true},
    {{"sale", "--activity=7", "--rate=0.5", "-c", "/x"}, true},
    {{"fill", "200000", "--activity", "7"}, true},
    {{"fill", "--activity", "7", "200000"}, true},
    {{"rate", "--activity", "7", "--rate", "200", "--seconds", "3"}, true},
    {{"verify", "--activity", "7", "--ids", "a", "b", "c"}, true},
    {{"-c", "/x", "sale", "--activity", "7"}, true},
    {{"--activity=7", "fill", "5"}, true},
    {{"--activity", "7", "--json", "verify", "a"}, true},
    {{""}, false},
    {{"-c"}, false},
    {{"-c", "/x"}, false},
    {{"--seconds", "3", "sale", "--activity", "7"}, false},
    {{"--json=1", "sale", "--activity", "7"}, false},
    {{"help", "sell"}, false},
    {{"--rate"}, false},
    {{"sell"}, false},
    {{"sale"}, false},
    {{"sale", "--activity"}, false},
    {{"sale", "--activity", "0"}, false},
    {{"sale", "--activity", "7", "8"}, false},
    {{"sale", "--activity", "7", "--seconds", "3"}, false},
    {{"sale", "--activity", "7", "--rate", "-1"}, false},
    {{"sale", "--activity", "7", "--rate", "0"}, false},
    {{"sale", "--activity", "7", "--rate", "1e3"}, false},
    {{"sale", "--activity", "7", "--malformed", "51"}, false},
    {{"sale", "--activity", "7", "--malformed", "1.2.3"}, false},
    {{"sale", "--activity", "7", "--wait", "5"}, false},
    {{"fill", "--activity", "7"}, false},
    {{"fill", "0", "--activity", "7"}, false},
    {{"rate", "--activity", "7", "--rate", "max", "--seconds", "3"}, false},
    {{"rate", "--activity", "7", "--rate", "200"}, false},
    {{"verify", "--activity", "7"}, false},
    {{"pay", "--activity", "7"}, true},
    {{"pay", "--activity", "7", "--share=40", "--late=20", "--wrong=20", "--cancel=20"}, true},
    {{"pay", "--activity", "7", "--share=41", "--late=20", "--wrong=20", "--cancel=20"}, false},
    {{"pay", "--activity", "7", "--ids", "a"}, false},
};

START_TEST(command_lines)
{
    char *argv[10] = {(char *)(uintptr_t) "orderload"};
    struct load_options o;
    enum exitcode code = EXIT_OK;
    int argc = 1;

    for (; argc < 9 && lines[_i].words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)lines[_i].words[argc - 1];
    ck_assert_int_eq(load_options_parse(argc, argv, &o, &code), lines[_i].good);
    if (!lines[_i].good)
        ck_assert_int_eq(code, EXIT_USAGE);
    else
        ck_assert_int_eq(o.activity, 7);
}
END_TEST

START_TEST(options_reach_their_fields)
{
    char *argv[] = {(char *)(uintptr_t) "orderload",     (char *)(uintptr_t) "sale",
                    (char *)(uintptr_t) "--activity=9",  (char *)(uintptr_t) "--rate=0.5",
                    (char *)(uintptr_t) "--silent=7.5%", (char *)(uintptr_t) "--wait=2m",
                    (char *)(uintptr_t) "--ids=a",       (char *)(uintptr_t) "--ids=b",
                    (char *)(uintptr_t) "--json",        NULL};
    struct load_options o;
    enum exitcode code;

    ck_assert(load_options_parse(9, argv, &o, &code));
    ck_assert_int_eq(o.command, LOAD_SALE);
    ck_assert_int_eq(o.activity, 9);
    ck_assert_int_eq(o.buyers, 10000);
    ck_assert(o.rate > 0.49 && o.rate < 0.51);
    ck_assert(o.silent > 7.49 && o.silent < 7.51);
    ck_assert_int_eq(o.wait_ms, 120000);
    ck_assert_int_eq(o.settle_ms, 10000);
    ck_assert_uint_eq(o.ids.count, 2);
    ck_assert_str_eq(o.ids.names[1], "b");
    ck_assert(o.json);
}
END_TEST

/* ---- report ---- */

static const struct {
    double value;
    int decimals;
    const char *text;
} numbers[] = {
    {0, 0, "0"},       {999, 0, "999"}, {1000, 0, "1,000"}, {-1234567, 0, "-1,234,567"}, {1234.5, 2, "1,234.50"},
    {0.126, 2, "0.13"}};

START_TEST(numbers_for_people)
{
    struct strbuf out = STRBUF_INIT;

    report_number(&out, numbers[_i].value, numbers[_i].decimals);
    ck_assert_str_eq(out.data, numbers[_i].text);
    strbuf_release(&out);
}
END_TEST

START_TEST(a_broken_check_breaks_the_report)
{
    struct report r = {.command = "sale", .activity = 1};
    struct strbuf out = STRBUF_INIT;

    report_check(&r, REPORT_OVERSOLD, REPORT_AT_MOST, 10, 10);
    report_check(&r, REPORT_DEAD, REPORT_AT_LEAST, 3, 4);
    report_skip(&r, REPORT_MARKS, "no Redis");
    ck_assert(report_good(&r));
    for (int i = 0; i < 9; i++)
        report_example(&r, REPORT_LOST, "order \"%d\"", i);
    report_check(&r, REPORT_LOST, REPORT_EQUAL, 0, 9);
    ck_assert(!report_good(&r));
    report_table(&r, false, &out);
    ck_assert(strstr(out.data, "BROKEN") != NULL);
    ck_assert(strstr(out.data, "order \"4\"") != NULL && !strstr(out.data, "order \"5\""));
    strbuf_reset(&out);
    report_json(&r, &out);
    ck_assert_msg(strstr(out.data, "\"good\":false") && strstr(out.data, "\"order \\\"4\\\"\""), "%s", out.data);
    strbuf_release(&out);
}
END_TEST

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

int main(void)
{
    Suite *suite = suite_create("load");
    TCase *t = tcase_create("load");

    tcase_add_test(t, idset_gives_each_text_its_own_index);
    tcase_add_test(t, idset_tells_prefixes_apart);
    tcase_add_test(t, book_keeps_orders_through_a_file);
    tcase_add_test(t, a_line_cut_short_is_passed_over_and_cut_off);
    tcase_add_loop_test(t, a_file_without_an_order_of_the_activity_says_why, 0,
                        (int)(sizeof no_order_files / sizeof *no_order_files));
    tcase_add_test(t, several_files_without_an_order_of_the_activity_are_told_of_together);
    tcase_add_test(t, a_file_that_cannot_be_read_is_not_damaged);
    tcase_add_test(t, half_a_line_that_no_run_left_is_refused);
    tcase_add_loop_test(t, a_damaged_ids_file_is_refused_by_line, 0, COUNT(bad_lines));
    tcase_add_test(t, pace_keeps_the_rate_whatever_the_steps);
    tcase_add_test(t, pace_tells_when_the_next_is_due);
    tcase_add_test(t, pace_does_not_burst_after_an_outage);
    tcase_add_test(t, pace_without_rate_is_always_due);
    tcase_add_test(t, order_numbers_are_unique_and_valid);
    tcase_add_test(t, spread_answers_quantiles_to_three_percent);
    tcase_add_loop_test(t, no_garbage_is_an_order, 0, GARBAGE_KINDS);
    tcase_add_test(t, garbage_of_one_number_is_always_the_same);
    tcase_add_test(t, oversized_is_only_that);
    tcase_add_loop_test(t, command_lines, 0, COUNT(lines));
    tcase_add_test(t, options_reach_their_fields);
    tcase_add_loop_test(t, numbers_for_people, 0, COUNT(numbers));
    tcase_add_test(t, a_broken_check_breaks_the_report);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
