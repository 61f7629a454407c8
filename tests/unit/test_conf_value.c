/* conf: every TYPE that a row may have, also those no row has today, by rows of the test's own. */
#include "testing.h"

#include <string.h>

#include "../../src/service/conf/conf_value.h"
#include "orderd/conf.h"

static const struct conf_key rows[] = {
    [CONF_KIND_INT] = {.section = "s", .name = "k", .kind = CONF_KIND_INT, .min = -5, .max = INT64_C(1) << 40},
    [CONF_KIND_DURATION] = {.section = "s", .name = "k", .kind = CONF_KIND_DURATION, .min = 0, .max = 60000},
    [CONF_KIND_SECONDS] = {.section = "s", .name = "k", .kind = CONF_KIND_SECONDS, .min = 1000, .max = 60000},
    [CONF_KIND_SIZE] = {.section = "s", .name = "k", .kind = CONF_KIND_SIZE, .min = 1024, .max = 1 << 20},
    [CONF_KIND_BOOL] = {.section = "s", .name = "k", .kind = CONF_KIND_BOOL, .max = 1},
    [CONF_KIND_STRING] = {.section = "s", .name = "k", .kind = CONF_KIND_STRING, .min = 2, .max = 4},
    [CONF_KIND_SECRET] = {.section = "s", .name = "k", .kind = CONF_KIND_SECRET, .max = 9},
    [CONF_KIND_CHOICE] = {.section = "s", .name = "k", .kind = CONF_KIND_CHOICE, .prose = "on|off: Prose: more."},
    [CONF_KIND_DELAYS] = {.section = "s", .name = "k", .kind = CONF_KIND_DELAYS, .min = 100, .max = 60000},
};

#define EXPECT_DELAYS " (expected 1 to 16 durations like \"1s,5s\", each one from 100ms to 1m)"
#define SIXTEEN       "1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s"

static const struct {
    enum conf_kind kind;
    const char *text;    /* as in the file */
    const char *problem; /* NULL: is taken, and printed as it was written */
} values[] = {
    {CONF_KIND_INT, "-5", NULL},
    {CONF_KIND_INT, "2147483647", NULL},
    {CONF_KIND_INT, "1099511627776L", NULL},
    {CONF_KIND_INT, "1099511627777L", "1099511627777 is out of range (expected a number from -5 to 1099511627776)"},
    {CONF_KIND_DURATION, "\"0\"", NULL},
    {CONF_KIND_DURATION, "\"1m\"", NULL},
    {CONF_KIND_DURATION, "\"61s\"", "\"61s\" is out of range (expected a duration like \"5s\" from 0 to 1m)"},
    {CONF_KIND_SECONDS, "\"59s\"", NULL},
    {CONF_KIND_SIZE, "\"64KiB\"", NULL},
    {CONF_KIND_SIZE, "\"1MiB\"", NULL},
    {CONF_KIND_SIZE, "\"64KB\"", "\"64KB\" is not a size (expected a size like \"64KiB\" from 1KiB to 1MiB)"},
    {CONF_KIND_SIZE, "\"1023\"", "\"1023\" is out of range (expected a size like \"64KiB\" from 1KiB to 1MiB)"},
    {CONF_KIND_BOOL, "true", NULL},
    {CONF_KIND_BOOL, "false", NULL},
    {CONF_KIND_BOOL, "\"true\"", "a string is the wrong type (expected true or false)"},
    {CONF_KIND_BOOL, "1", "a number is the wrong type (expected true or false)"},
    {CONF_KIND_STRING, "\"four\"", NULL},
    {CONF_KIND_STRING, "\"1\"", "text of 1 bytes is too short (expected text of 2 to 4 bytes)"},
    {CONF_KIND_STRING, "\"fives\"", "text of 5 bytes is too long (expected text of 2 to 4 bytes)"},
    {CONF_KIND_SECRET, "\"any/file name\"", NULL},
    {CONF_KIND_CHOICE, "\"off\"", NULL},
    {CONF_KIND_CHOICE, "\"of\"", "\"of\" is not one of its words (expected one of \"on\", \"off\")"},
    {CONF_KIND_CHOICE, "\"Prose\"", "\"Prose\" is not one of its words (expected one of \"on\", \"off\")"},
    {CONF_KIND_DELAYS, "\"1s\"", NULL},
    {CONF_KIND_DELAYS, "\"1s,5s,30s,100ms\"", NULL},
    {CONF_KIND_DELAYS, "\"" SIXTEEN "\"", NULL},
    {CONF_KIND_DELAYS, "\"" SIXTEEN ",1s\"", "has more than 16 delays" EXPECT_DELAYS},
    {CONF_KIND_DELAYS, "\"\"", "\"\" is not a duration" EXPECT_DELAYS},
    {CONF_KIND_DELAYS, "\"1s,\"", "\"\" is not a duration" EXPECT_DELAYS},
    {CONF_KIND_DELAYS, "\"1s, 5s\"", "\" 5s\" is not a duration" EXPECT_DELAYS},
    {CONF_KIND_DELAYS, "\"1s,2m\"", "\"2m\" is out of range" EXPECT_DELAYS},
    {CONF_KIND_DELAYS, "\"0000000000000000000000000000000000000000001s\"",
     "\"0000000000000000000000000000000\" is not a duration" EXPECT_DELAYS},
};

union field {
    int64_t number;
    bool truth;
    const char *text;
    int word;
    struct conf_delays delays;
};

static void assert_prints(const struct conf_key *key, const union field *field, const char *text)
{
    struct strbuf out = STRBUF_INIT;

    conf_value_print(key, field, &out);
    ck_assert_str_eq(out.data, text);
    strbuf_release(&out);
}

START_TEST(value)
{
    const struct conf_key *key = &rows[values[_i].kind];
    struct arena *arena = arena_create(256);
    union field field, copy;
    struct error err = {0};
    char text[256];
    config_t config;
    bool ok;

    memset(&field, 0, sizeof field);
    memset(&copy, 0, sizeof copy);
    snprintf(text, sizeof text, "k = %s;", values[_i].text);
    config_init(&config);
    ck_assert_int_eq(config_read_string(&config, text), CONFIG_TRUE);
    ok = conf_value_read(key, config_lookup(&config, "k"), &field, arena, &err);
    config_destroy(&config);
    ck_assert_str_eq(err.text, values[_i].problem ? values[_i].problem : "");
    ck_assert_int_eq(ok, values[_i].problem == NULL);
    if (ok) {
        assert_prints(key, &field, values[_i].text);
        conf_value_copy(key, &copy, &field, arena);
        ck_assert(conf_value_equal(key, &copy, &field));
        assert_prints(key, &copy, values[_i].text);
    }
    arena_destroy(&arena);
}
END_TEST

START_TEST(differs)
{
    struct conf_delays three = {3, {1, 2, 3}}, two = {2, {1, 2}}, other = {2, {1, 3}};
    const char *text = "a", *missing = NULL;
    bool yes = true, no = false;

    ck_assert(!conf_value_equal(&rows[CONF_KIND_DELAYS], &three, &two));
    ck_assert(!conf_value_equal(&rows[CONF_KIND_DELAYS], &other, &two));
    ck_assert(!conf_value_equal(&rows[CONF_KIND_SECRET], &text, &missing));
    ck_assert(conf_value_equal(&rows[CONF_KIND_SECRET], &missing, &missing));
    ck_assert(!conf_value_equal(&rows[CONF_KIND_BOOL], &yes, &no));
}
END_TEST

START_TEST(prose_follows_the_words)
{
    ck_assert_str_eq(conf_key_prose(&rows[CONF_KIND_CHOICE]), "Prose: more.");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("conf_value");
    TCase *c = tcase_create("conf_value");

    tcase_add_loop_test(c, value, 0, sizeof values / sizeof *values);
    tcase_add_test(c, differs);
    tcase_add_test(c, prose_follows_the_words);
    suite_add_tcase(s, c);
    return testing_main(s);
}
