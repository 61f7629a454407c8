/* orderctl dlq export and import: a letter comes out of the file as it went in, whatever its bytes are; what is no
 * letter changes nothing. */
#include "testing_dlq.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "orderd/exitcode.h"

static char file[128];

static void setup(void)
{
    static const char bytes[] = "\0\xff\xfe'\"\\\x1b";

    dlq_setup();
    snprintf(file, sizeof file, "%s/letters.jsonl", testing_dir());
    dlq_publish_orders("m", 3);
    dlq_publish(&(struct dlq_letter){"\xff\xfe", NULL, "q\xff", NULL, {bytes, sizeof bytes}});
    dlq_publish(&(struct dlq_letter){"", "order_unknown", "order.paid", "2026-11-29T10:00:00.123Z", slice_of("")});
    CTL("dlq", "drain", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    testing_ctl_run_sql(
        "UPDATE dead_letter SET state='discarded',times=7 WHERE message_id='m1';"
        "INSERT INTO dead_letter_action(letter_id,action,who,note,done_at) SELECT id,'discarded',"
        "'\u51ac@web','it''s \\\\ a test','2026-11-29 10:00:01.123' FROM dead_letter WHERE message_id='m1';"
        "INSERT INTO dead_letter_action(letter_id,action,who,done_at) SELECT id,'restored',"
        "'\u51ac@web','2026-11-29 10:00:02' FROM dead_letter WHERE message_id='m1';"
        "UPDATE dead_letter SET detail='\u51ac\\0\\'' WHERE message_id='m2'");
}

static void teardown(void)
{
    unlink(file);
    dlq_teardown();
}

static void keep(const char *text)
{
    FILE *f = fopen(file, "w");

    ck_assert(f != NULL);
    fputs(text, f);
    fclose(f);
}

/* All letters as one number, but for what the table itself gives them. */
static int64_t fingerprint(void)
{
    return testing_ctl_number(
        "SELECT COALESCE(SUM(CAST(CONV(LEFT(SHA2(CONCAT_WS('|',HEX(letter_key),HEX(message_id),HEX(content_type),"
        "HEX(body),headers,reason,detail,queue,attempts,COALESCE(activity_id,'-'),COALESCE(order_no,'-'),state,times,"
        "died_at,death_told),256),12),16,10) AS SIGNED)),0) FROM dead_letter");
}

static void wipe(void)
{
    testing_ctl_run_sql("DELETE FROM dead_letter_made;DELETE FROM dead_letter_action;DELETE FROM dead_letter");
}

static void counted(int64_t added, int64_t known, int64_t wrong)
{
    ck_assert_int_eq(dlq_member("added"), added);
    ck_assert_int_eq(dlq_member("known"), known);
    ck_assert_int_eq(dlq_member("wrong"), wrong);
}

START_TEST(there_and_back)
{
    int64_t before = fingerprint();

    CTL("dlq", "export", "--all");
    CTL_SAYS(EXIT_OK, "orderctl: 5 letters are written\n");
    ck_assert_int_eq(fingerprint(), before);
    keep(testing_ctl.out);
    wipe();
    CTL("dlq", "import", file, "--dry-run", "--json");
    CTL_SAYS(EXIT_OK, "orderctl: nothing was changed\n");
    counted(5, 0, 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter"), 0);
    CTL("dlq", "import", file, "--json");
    CTL_SAYS(EXIT_OK, "");
    counted(5, 0, 0);
    ck_assert_int_eq(fingerprint(), before);
    ck_assert_int_eq(
        testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action a JOIN dead_letter l ON l.id=a.letter_id "
                           "WHERE action='imported' AND note='from %s; the lines before this one are from there' AND "
                           "who LIKE '%%@%%'",
                           file),
        5);
    testing_ctl_run_sql("UPDATE dead_letter SET state='resolved' WHERE message_id='m1'");
    CTL("dlq", "import", file, "--json");
    CTL_SAYS(EXIT_OK, "");
    counted(0, 5, 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE state='resolved'"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action"), 5 + 7);
}
END_TEST

/* Who did what to a letter elsewhere, as it was there, before the line of who brought it here. */
START_TEST(history_comes_along)
{
    static const char lines[] =
        "SELECT COUNT(*) FROM dead_letter_action a JOIN dead_letter l ON l.id=a.letter_id WHERE "
        "message_id='m1' AND CONCAT(action,'|',who,'|',note,'|',done_at)=";

    CTL("dlq", "export", "--message-id", "m1", "-q");
    keep(testing_ctl.out);
    wipe();
    CTL("dlq", "import", file, "--json");
    counted(1, 0, 0);
    ck_assert_int_eq(testing_ctl_number("%s'discarded|\u51ac@web|it''s \\\\ a test|2026-11-29 10:00:01.123000'", lines),
                     1);
    ck_assert_int_eq(testing_ctl_number("%s'restored|\u51ac@web||2026-11-29 10:00:02.000000'", lines), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action"), 4);
    ck_assert_int_eq(testing_ctl_number("SELECT action='imported' FROM dead_letter_action ORDER BY id DESC LIMIT 1"),
                     1);
    ck_assert_int_eq(testing_ctl_number("SELECT action='drained' FROM dead_letter_action ORDER BY id LIMIT 1"), 1);
}
END_TEST

/* What was half imported is completed; a letter that was imported is met by a drain as the same one. */
/* The newest body that a person gave a letter, text or not, and who that was. */
START_TEST(new_body_comes_along)
{
    testing_ctl_run_sql("INSERT INTO dead_letter_made(letter_id,kind,body,who) SELECT id,'body',0x%s,'\u51ac@web' FROM "
                        "dead_letter WHERE message_id='m1'",
                        _i ? "ff00" : "7b7d");
    CTL("dlq", "export", "--message-id", "m1", "-q");
    keep(testing_ctl.out);
    wipe();
    CTL("dlq", "import", file, "--json");
    counted(1, 0, 0);
    ck_assert_int_eq(
        testing_ctl_number("SELECT COUNT(*) FROM dead_letter_made m JOIN dead_letter l ON l.id=m.letter_id "
                           "WHERE m.kind='body' AND m.body=0x%s AND m.who='\u51ac@web' AND "
                           "message_id='m1'",
                           _i ? "ff00" : "7b7d"),
        1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_made"), 1);
}
END_TEST

START_TEST(again_after_a_crash)
{
    int64_t before = fingerprint();

    CTL("dlq", "export", "--all", "-q");
    keep(testing_ctl.out);
    testing_ctl_run_sql("DELETE FROM dead_letter WHERE message_id IN ('m2','')");
    CTL("dlq", "import", file, "--json");
    counted(2, 3, 0);
    ck_assert_int_eq(fingerprint(), before);
    dlq_publish(&(struct dlq_letter){"", "order_unknown", "order.paid", "2026-11-29T10:00:00.123Z", slice_of("")});
    CTL("dlq", "drain", "--json");
    ck_assert_int_eq(dlq_member("known"), 1);
    ck_assert_int_eq(fingerprint(), before);
}
END_TEST

START_TEST(some_by_id)
{
    char id[24];

    snprintf(id, sizeof id, "%d", (int)dlq_id("m2"));
    CTL("dlq", "export", id, "777777");
    CTL_SAYS(EXIT_PARTIAL, "orderctl: warning: there is no letter 777777\norderctl: 1 letters are written\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"message_id\":\"m2\""));
    ck_assert_ptr_eq(strchr(testing_ctl.out, '\n') + 1, testing_ctl.out + strlen(testing_ctl.out));
}
END_TEST

#define WHOLE(state, reason, deaths, died, body)                                                                       \
    "{\"v\":1,\"id\":1,\"state\":" state ",\"reason\":" reason ",\"detail\":\"\",\"queue\":\"q\",\"activity\":null,"   \
    "\"order_no\":null,\"attempts\":0,\"deaths\":" deaths ",\"died_at\":" died ",\"death_told\":false,"                \
    "\"message_id\":\"i\",\"content_type\":\"\",\"headers\":{}," body "}"
#define HISTORY(action, at) ",\"history\":[{\"done_at\":" at ",\"action\":" action ",\"who\":\"w\",\"note\":\"\"}]"
#define DIED                "\"2026-11-29T10:00:00.000Z\""
#define BODY                "\"body\":\"b\""

static const struct {
    const char *line, *why; /* NULL: it is a letter */
} lines[] = {
    {WHOLE("\"open\"", "\"constraint\"", "1", DIED, BODY), NULL},
    {WHOLE("\"open\"", "\"constraint\"", "1", DIED, BODY HISTORY("\"drained\"", DIED)), NULL},
    {WHOLE("\"open\"", "\"constraint\"", "1", DIED, BODY HISTORY("\"DROP\"", DIED)),
     "its member is missing or wrong: history"},
    {WHOLE("\"open\"", "\"constraint\"", "1", DIED, BODY HISTORY("7", DIED)),
     "its member is missing or wrong: history"},
    {WHOLE("\"open\"", "\"constraint\"", "1", DIED, BODY HISTORY("\"drained\"", "7")),
     "its member is missing or wrong: history"},
    {WHOLE("\"open\"", "\"constraint\"", "1", DIED, BODY ",\"history\":{}"), "its member is missing or wrong: history"},
    {"[]", "it is not one JSON object"},
    {"{\"v\":1", "it is not one JSON object"},
    {"{}", "its member is missing or wrong: state"},
    {WHOLE("\"dead\"", "\"constraint\"", "1", DIED, BODY), "its member is missing or wrong: state"},
    {WHOLE("\"open\"", "\"a'b\"", "1", DIED, BODY), "its member is missing or wrong: reason"},
    {WHOLE("\"open\"", "7", "1", DIED, BODY), "its member is missing or wrong: reason"},
    {WHOLE("\"open\"", "\"constraint\"", "0", DIED, BODY), "its member is missing or wrong: deaths"},
    {WHOLE("\"open\"", "\"constraint\"", "1", "\"now\"", BODY), "its member is missing or wrong: died_at"},
    {WHOLE("\"open\"", "\"constraint\"", "1", "\"2026-02-30T10:00:00Z\"", BODY),
     "its member is missing or wrong: died_at"},
    {WHOLE("\"open\"", "\"constraint\"", "1", DIED, "\"body_base64\":\"A\""), "its member is missing or wrong: body"},
    {WHOLE("\"open\"", "\"constraint\"", "1", DIED, "\"body_base64\":\"QQ==\",\"body\":\"A\""),
     "its member is missing or wrong: body"},
    {WHOLE("\"open\"", "\"constraint\"", "1", DIED, "\"bodies\":1"), "its member is missing or wrong: body"},
};

START_TEST(wrong_lines)
{
    char said[200];

    wipe();
    keep(lines[_i].line);
    CTL("dlq", "import", file, "--json");
    if (lines[_i].why) {
        snprintf(said, sizeof said, "orderctl: warning: line 1 is no letter: %s\n", lines[_i].why);
        CTL_SAYS(EXIT_PARTIAL, said);
        counted(0, 0, 1);
        ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter"), 0);
    } else {
        CTL_SAYS(EXIT_OK, "");
        counted(1, 0, 0);
        ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE body='b' AND message_id='i'"), 1);
    }
}
END_TEST

START_TEST(no_file)
{
    CTL("dlq", "import", "/nonexistent/letters");
    CTL_SAYS(EXIT_IO, "orderctl: dlq import: cannot read /nonexistent/letters: No such file or directory\n");
    CTL("dlq", "import", "/tmp");
    ck_assert_int_eq(testing_ctl.code, EXIT_IO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ctl_dlq_move");
    TCase *t = tcase_create("move");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, there_and_back);
    tcase_add_test(t, history_comes_along);
    tcase_add_loop_test(t, new_body_comes_along, 0, 2);
    tcase_add_test(t, again_after_a_crash);
    tcase_add_test(t, some_by_id);
    tcase_add_loop_test(t, wrong_lines, 0, (int)(sizeof lines / sizeof *lines));
    tcase_add_test(t, no_file);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
