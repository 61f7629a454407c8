/* What of the stock module needs no server: keys, home shards, and that the scripts' contracts name every code. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>

#include "orderd/stock.h"

/* Any language must get the same shard; these come from zlib's crc32 of the decimal text. */
START_TEST(home_shard_is_crc32_of_the_decimal_id)
{
    static const struct {
        int64_t user;
        int shards, shard;
    } rows[] = {{123456789, 1024, 0xCBF43926 % 1024},
                {42, 1024, 0x3224B088 % 1024},
                {INT64_MAX, 1000, 0x42EA0ADE % 1000},
                {42, 1, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_int_eq(stock_home_shard(rows[i].user, rows[i].shards), rows[i].shard);
}
END_TEST

START_TEST(home_shards_are_even)
{
    static const int counts[] = {2, 3, 8, 10, 16, 100};

    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        int users[100] = {0};

        for (int64_t user = 1; user <= 100000; user++)
            users[stock_home_shard(user, counts[c])]++;
        for (int s = 0; s < counts[c]; s++) {
            ck_assert_int_gt(users[s], 100000 / counts[c] * 8 / 10);
            ck_assert_int_lt(users[s], 100000 / counts[c] * 12 / 10);
        }
    }
}
END_TEST

START_TEST(keys_of_a_shard_share_one_tag)
{
    struct stock_keys keys;

    stock_keys_of(&keys, INT64_MAX, 1023);
    ck_assert_str_eq(keys.text[STOCK_KEY_STOCK], "sk:{9223372036854775807:1023}:stock");
    ck_assert_str_eq(keys.text[STOCK_KEY_HELD], "sk:{9223372036854775807:1023}:held");
    ck_assert_str_eq(keys.text[STOCK_KEY_GONE], "sk:{9223372036854775807:1023}:gone");
    ck_assert_str_eq(keys.text[STOCK_KEY_BUYERS], "sk:{9223372036854775807:1023}:buyers");
    ck_assert_str_eq(keys.text[STOCK_KEY_META], "sk:{9223372036854775807:1023}:meta");
}
END_TEST

START_TEST(the_state_lies_with_shard_0)
{
    char key[STOCK_STATE_KEY_MAX];

    stock_state_key(key, INT64_MAX);
    ck_assert_str_eq(key, "sk:{9223372036854775807:0}:state");
}
END_TEST

static const struct {
    enum stock_script script;
    int number;
} codes[] = {
#define X(script, code, number, name, sentence) {STOCK_SCRIPT_##script, number},
#include "orderd/tbl/script_code.h"
#undef X
};

/* The head comment is what a web tier's author reads: it must explain exactly the codes of the table. */
START_TEST(head_comments_explain_exactly_the_codes)
{
    for (int script = 0; script < STOCK_SCRIPT_COUNT; script++) {
        const char *source = stock_script((enum stock_script)script)->source;
        int explained = 0, in_table = 0;

        ck_assert(strncmp(source, "#!lua", 5) == 0);
        for (const char *line = source; *line; line = strchr(line, '\n') + 1) {
            bool comment = strncmp(line, "--   ", 5) == 0;
            const char *digits = comment ? line + 2 + strspn(line + 2, " ") : line;
            char *end;
            long number = strtol(digits, &end, 10);

            if (comment && end > digits && end - line == 7 && strncmp(end, "  ", 2) == 0) {
                ck_assert_msg(stock_code_name((enum stock_script)script, (int)number) != NULL, "%.40s", line);
                explained++;
            }
        }
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
            in_table += codes[i].script == (enum stock_script)script;
        ck_assert_int_eq(explained, in_table);
    }
}
END_TEST

/* Byte for byte: a web tier that loads the installed file must find the script that orderd loaded. */
START_TEST(embedded_scripts_are_the_files)
{
    for (int script = 0; script < STOCK_SCRIPT_COUNT; script++) {
        const struct kv_script *s = stock_script((enum stock_script)script);
        char path[512], text[16384];
        FILE *f;
        size_t len;

        snprintf(path, sizeof path, "%s/src/domain/stock/%s.lua", testing_env("ORDERD_SOURCE"), s->name);
        f = fopen(path, "r");
        ck_assert_msg(f != NULL, "%s", path);
        len = fread(text, 1, sizeof text - 1, f);
        fclose(f);
        text[len] = '\0';
        ck_assert_str_eq(text, s->source);
    }
}
END_TEST

START_TEST(unknown_codes_have_no_name)
{
    ck_assert_str_eq(stock_code_name(STOCK_SCRIPT_DEDUCT, 1), "taken");
    ck_assert_str_eq(stock_code_name(STOCK_SCRIPT_RETURN, -2), "refused");
    ck_assert_ptr_null(stock_code_name(STOCK_SCRIPT_DEDUCT, 3));
    ck_assert_ptr_null(stock_code_sentence(STOCK_SCRIPT_AUDIT, 2));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock");
    TCase *tc = tcase_create("stock");

    tcase_add_test(tc, home_shard_is_crc32_of_the_decimal_id);
    tcase_add_test(tc, home_shards_are_even);
    tcase_add_test(tc, keys_of_a_shard_share_one_tag);
    tcase_add_test(tc, the_state_lies_with_shard_0);
    tcase_add_test(tc, head_comments_explain_exactly_the_codes);
    tcase_add_test(tc, embedded_scripts_are_the_files);
    tcase_add_test(tc, unknown_codes_have_no_name);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
