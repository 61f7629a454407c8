/* orderctl dlq on letters that are in the table: what each filter lists, what show shows, who did what. */
#include "testing_dlq.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include "orderd/exitcode.h"

#define BINARY "\x1b[2J\xff\n\"quoted\""

/* 1 and 2: orders that the database had no stock for. 3: a payment of nobody's. 4: no text. 5: discarded. Those that
 * say when they died did so a day, an hour and five minutes ago. */
static void plant(void)
{
    dlq_publish_orders("o", 2);
    dlq_publish(&(struct dlq_letter){"pay", "order_unknown", "order.paid", NULL, slice_of("{\"order_no\":\"o9\"}")});
    dlq_publish(&(struct dlq_letter){"bytes", "body_not_json", "order.create", NULL, slice_of(BINARY)});
    dlq_publish(&(struct dlq_letter){"gone", NULL, NULL, NULL, slice_of("{}")});
    CTL("dlq", "drain", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    testing_ctl_run_sql("UPDATE dead_letter SET id=id+1000 ORDER BY id DESC;"
                        "UPDATE dead_letter_action SET letter_id=letter_id+1000;"
                        "UPDATE dead_letter SET died_at=UTC_TIMESTAMP(3)-INTERVAL 1 DAY WHERE message_id='o1';"
                        "UPDATE dead_letter SET died_at=UTC_TIMESTAMP(3)-INTERVAL 1 HOUR WHERE message_id='o2';"
                        "UPDATE dead_letter SET died_at=UTC_TIMESTAMP(3)-INTERVAL 5 MINUTE WHERE message_id='pay';"
                        "UPDATE dead_letter SET state='discarded' WHERE message_id='gone'");
}

static void setup(void)
{
    dlq_setup();
    plant();
}

static const char *id_of(const char *message_id)
{
    static char ids[4][24];
    static unsigned next;
    char *out = ids[next++ % 4];

    snprintf(out, sizeof ids[0], "%" PRId64,
             testing_ctl_number("SELECT id FROM dead_letter WHERE message_id='%s'", message_id));
    return out;
}

static json_t *parsed(const char *text)
{
    json_error_t where;
    json_t *json = json_loads(text, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &where);

    ck_assert_msg(json != NULL, "%s: %s", where.text, text);
    return json;
}

static const char *text(json_t *json, const char *name)
{
    const char *value = json_string_value(json_object_get(json, name));

    ck_assert_msg(value != NULL, "%s", name);
    return value;
}

/* "o1 o2": the message ids of the lines. */
static const char *listed(void)
{
    static char out[512];

    out[0] = '\0';
    for (const char *line = testing_ctl.out; *line; line = strchr(line, '\n') + 1) {
        json_t *json = parsed(line);

        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", out[0] ? " " : "", text(json, "message_id"));
        json_decref(json);
    }
    return out;
}

static void with_input(const char *input, const char *const *argv)
{
    int fds[2];

    ck_assert(pipe(fds) == 0);
    ck_assert_int_eq(write(fds[1], input, strlen(input)), (ssize_t)strlen(input));
    close(fds[1]);
    program_start_reading(&testing_ctl, argv, fds[0]);
    close(fds[0]);
    program_wait(&testing_ctl);
}

#define CTL_READS(input, ...)                                                                                          \
    with_input(input, (const char *const[]){"orderctl", "-c", testing_ctl_file, __VA_ARGS__, NULL})

/* ---- list ---- */

START_TEST(lists)
{
    static const struct {
        const char *args[5], *ids;
    } cases[] = {
        {{NULL}, "o1 o2 pay bytes gone"},
        {{"--state", "open"}, "o1 o2 pay bytes"},
        {{"--state", "discarded"}, "gone"},
        {{"--state", "replayed"}, ""},
        {{"--reason", "stock_short"}, "o1 o2"},
        {{"--reason", "unknown"}, "gone"},
        {{"--queue", "order.paid"}, "pay"},
        {{"--queue", "order"}, ""},
        {{"--queue", "\u51ac' OR 1=1"}, ""},
        {{"--activity", "1001"}, "o2"},
        {{"--message-id", "bytes"}, "bytes"},
        {{"--message-id", "byte"}, ""},
        {{"--message-id", "' OR 1=1 -- "}, ""},
        {{"--order", "o1"}, "o1"},
        {{"--order", "o9"}, "pay"},
        {{"--since", "-2h"}, "o2 pay bytes gone"},
        {{"--until", "-30m"}, "o1 o2"},
        {{"--since", "-2h", "--until", "-2m"}, "o2 pay"},
        {{"--limit", "0"}, "o1 o2 pay bytes gone"},
        {{"--state", "open", "--queue", "order.create"}, "o1 o2 bytes"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *a = cases[i].args;

        CTL("dlq", "list", "--json", a[0], a[1], a[2], a[3]);
        CTL_SAYS(EXIT_OK, "");
        ck_assert_msg(strcmp(listed(), cases[i].ids) == 0, "case %zu: \"%s\", not \"%s\"", i, listed(), cases[i].ids);
    }
    CTL("dlq", "list", "--json", "--limit", "2");
    CTL_SAYS(EXIT_OK, "orderctl: these are the first 2, there are more; `--limit 0` lists all\n");
    ck_assert_str_eq(listed(), "o1 o2");
    CTL("dlq", "list", "--queue", "none");
    CTL_SAYS(EXIT_OK, "orderctl: there is no such letter\n");
    ck_assert_str_eq(testing_ctl.out, "");
}
END_TEST

START_TEST(lists_what_is_named)
{
    char input[100];

    CTL("dlq", "list", "--json", id_of("pay"), id_of("o1"), id_of("pay"));
    CTL_SAYS(EXIT_OK, "");
    ck_assert_str_eq(listed(), "o1 pay");
    snprintf(input, sizeof input, "%s\n%s\n7\n", id_of("gone"), id_of("o2"));
    CTL_READS(input, "dlq", "list", "--json", "-");
    CTL_SAYS(EXIT_PARTIAL, "orderctl: warning: 1 of the 3 letters are not there\n");
    ck_assert_str_eq(listed(), "o2 gone");
    CTL_READS("", "dlq", "list", "--json", "-");
    CTL_SAYS(EXIT_OK, "orderctl: standard input named no letter\n");
    ck_assert_str_eq(testing_ctl.out, "");
}
END_TEST

/* All that choose letters choose the same ones. */
START_TEST(chooses_as_list_does)
{
    static const char *const readers[] = {"show", "export"};

    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        CTL("dlq", readers[i], "--json", "-q", "--queue", "order.create", "--since", "-2h");
        CTL_SAYS(EXIT_OK, "");
        ck_assert_str_eq(listed(), "o2 bytes");
        CTL("dlq", readers[i], "--json", "-q", "--all");
        CTL_SAYS(EXIT_OK, "");
        ck_assert_str_eq(listed(), "o1 o2 pay bytes gone");
        CTL("dlq", readers[i], "--json", "-q", "--order", "o77");
        ck_assert_str_eq(testing_ctl.out, "");
    }
    CTL("dlq", "stats", "--json", "--queue", "order.create", "--since", "-2h");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(dlq_member("open"), 2);
    CTL("dlq", "stats", "--json", id_of("gone"), id_of("o1"));
    ck_assert_int_eq(dlq_member("open"), 1);
    ck_assert_int_eq(dlq_member("discarded"), 1);
    CTL_READS("", "dlq", "stats", "--json", "-");
    ck_assert_int_eq(dlq_member("open"), 0);
}
END_TEST

/* Replaying without --confirm only shows, so it takes any way of choosing; of open letters. */
START_TEST(replay_chooses_as_list_does)
{
    char expected[200];

    CTL("dlq", "replay", "--json", "-q", "--queue", "order.create", "--since", "-2h");
    CTL_SAYS(EXIT_PARTIAL, "");
    snprintf(expected, sizeof expected, "{\"id\":%s,", id_of("o2"));
    ck_assert_ptr_eq(strstr(testing_ctl.out, expected), testing_ctl.out);
    snprintf(expected, sizeof expected, "\n{\"id\":%s,", id_of("bytes"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, expected));
    CTL("dlq", "replay", "--json", "-q", "--all");
    snprintf(expected, sizeof expected, "{\"id\":%s,", id_of("gone"));
    ck_assert_ptr_null(strstr(testing_ctl.out, expected));
    snprintf(expected, sizeof expected, "{\"id\":%s,", id_of("pay"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, expected));
}
END_TEST

START_TEST(no_time_between)
{
    static const char *const commands[] = {"list", "stats", "history"};

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        CTL("dlq", commands[i], "--since", "-1h", "--until", "-2h");
        ck_assert_int_eq(testing_ctl.code, EXIT_USAGE);
        ck_assert_ptr_nonnull(strstr(testing_ctl.err, ": --until is not after --since, so nothing lies between them;"));
    }
}
END_TEST

static int64_t of_group(json_t *groups, size_t i, const char *name)
{
    json_t *value = json_object_get(json_array_get(groups, i), name);

    ck_assert_msg(json_is_integer(value), "%zu: %s", i, name);
    return json_integer_value(value);
}

START_TEST(counts_by)
{
    json_t *json, *groups;

    testing_ctl_run_sql(
        "UPDATE dead_letter SET died_at='2026-11-29 09:59:59.999' WHERE message_id='o1';"
        "UPDATE dead_letter SET died_at='2026-11-29 10:00:00' WHERE message_id IN ('o2','pay');"
        "UPDATE dead_letter SET died_at='2026-11-29 10:59:59.999' WHERE message_id IN ('bytes','gone')");
    CTL("dlq", "stats", "--json", "--by", "hour,queue");
    CTL_SAYS(EXIT_OK, "");
    json = parsed(testing_ctl.out);
    groups = json_object_get(json, "groups");
    ck_assert_uint_eq(json_array_size(groups), 4);
    ck_assert_str_eq(text(json_array_get(groups, 0), "from"), "2026-11-29T09:00:00.000Z");
    ck_assert_int_eq(of_group(groups, 0, "letters"), 1);
    for (size_t i = 1; i < 4; i++)
        ck_assert_str_eq(text(json_array_get(groups, i), "from"), "2026-11-29T10:00:00.000Z");
    ck_assert_str_eq(text(json_array_get(groups, 1), "queue"), "order.create");
    ck_assert_int_eq(of_group(groups, 1, "letters"), 2);
    ck_assert_int_eq(of_group(groups, 1, "open"), 2);
    ck_assert_str_eq(text(json_array_get(groups, 2), "queue"), "");
    ck_assert_int_eq(of_group(groups, 2, "discarded"), 1);
    ck_assert_ptr_null(json_object_get(json_array_get(groups, 1), "reason"));
    json_decref(json);

    CTL("dlq", "stats", "--json", "--by", "minute", "--state", "open");
    json = parsed(testing_ctl.out);
    groups = json_object_get(json, "groups");
    ck_assert_uint_eq(json_array_size(groups), 3);
    ck_assert_str_eq(text(json_array_get(groups, 2), "from"), "2026-11-29T10:59:00.000Z");
    ck_assert_int_eq(of_group(groups, 2, "letters"), 1);
    json_decref(json);

    CTL("dlq", "stats", "--by", "day,reason,activity");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "FROM "));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "2026-11-29 00:00  stock_short"));
}
END_TEST

/* A terminal of 80 columns: no line is longer, and what is left out is not what a letter is known by. */
START_TEST(fits_a_terminal)
{
    static char out[16384];
    struct winsize size = {.ws_col = 80, .ws_row = 24};
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
    size_t len = 0;
    ssize_t n;
    pid_t pid;

    testing_ctl_run_sql("UPDATE dead_letter SET order_no=REPEAT('9',28),reason='payment_ref_invalid',"
                        "activity_id=9223372036854775807,detail=REPEAT('\u51ac',200) WHERE message_id='o1'");
    ck_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    ck_assert(slave >= 0 && ioctl(slave, TIOCSWINSZ, &size) == 0);
    pid = fork();
    if (pid == 0) {
        char path[512];

        snprintf(path, sizeof path, "%s/src/orderctl", getenv("ORDERD_BUILD"));
        dup2(slave, STDOUT_FILENO);
        close(master);
        execl(path, "orderctl", "-c", testing_ctl_file, "--no-color", "dlq", "list", (char *)NULL);
        _exit(127);
    }
    close(slave);
    while ((n = read(master, out + len, sizeof out - 1 - len)) > 0)
        len += (size_t)n;
    close(master);
    ck_assert(waitpid(pid, NULL, 0) == pid);
    out[len] = '\0';
    setlocale(LC_CTYPE, "C.UTF-8");
    for (char *line = strtok(out, "\r\n"); line; line = strtok(NULL, "\r\n"), n++) {
        wchar_t wide[512];
        size_t count = mbstowcs(wide, line, 512);

        ck_assert_msg(count != (size_t)-1 && wcswidth(wide, count) <= 80, "%s", line);
        if (strstr(line, "payment_ref_invalid"))
            ck_assert_ptr_nonnull(strstr(line, "9999999999999999999999999999"));
    }
    ck_assert_ptr_nonnull(strstr(out, "STATE"));
    ck_assert_ptr_null(strstr(out, "DEATHS"));
}
END_TEST

START_TEST(lists_as_a_table)
{
    CTL("dlq", "list", "--state", "open");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "STATE"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "stock_short"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, " 24h "));
    ck_assert_ptr_null(strstr(testing_ctl.out, "discarded"));
}
END_TEST

/* More than one page, and none twice. */
START_TEST(pages)
{
    testing_ctl_run_sql("INSERT INTO dead_letter(letter_key,message_id,content_type,body,headers,reason,detail,queue,"
                        "attempts,died_at,death_told) SELECT UNHEX(SHA2(CONCAT(a.n,'/',b.n),256)),CONCAT(a.n,'/',b.n),"
                        "'','','{}','constraint','','',0,UTC_TIMESTAMP(),0 FROM (SELECT 1 AS n UNION SELECT 2 UNION "
                        "SELECT 3) a,(WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n+1 FROM r WHERE n<800) "
                        "SELECT n FROM r) b");
    CTL("dlq", "list", "--reason", "constraint", "--limit", "0");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    CTL("dlq", "list", "--reason", "constraint", "--limit", "2400");
    CTL_SAYS(EXIT_OK, "");
    CTL("dlq", "list", "--reason", "constraint", "--limit", "2399");
    CTL_SAYS(EXIT_OK, "orderctl: these are the first 2399, there are more; `--limit 0` lists all\n");
}
END_TEST

/* ---- show ---- */

START_TEST(shows)
{
    json_t *json, *history;

    CTL("dlq", "show", id_of("o1"), "--json");
    CTL_SAYS(EXIT_OK, "");
    json = parsed(testing_ctl.out);
    ck_assert_str_eq(text(json, "body"), "{\"v\":1,\"order_no\":\"o1\",\"activity_id\":1002}");
    ck_assert_str_eq(text(json, "reason"), "stock_short");
    ck_assert_str_eq(text(json, "order_no"), "o1");
    ck_assert_str_eq(text(json_object_get(json, "headers"), "orderd-origin"), "order.create");
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(json, "headers"), "orderd-attempt")), 3);
    history = json_object_get(json, "history");
    ck_assert_uint_eq(json_array_size(history), 1);
    ck_assert_str_eq(text(json_array_get(history, 0), "action"), "drained");
    json_decref(json);

    CTL("dlq", "show", id_of("bytes"), "--json");
    json = parsed(testing_ctl.out);
    ck_assert(json_is_null(json_object_get(json, "body")));
    ck_assert_str_eq(text(json, "body_base64"), "G1sySv8KInF1b3RlZCI=");
    json_decref(json);

    CTL("dlq", "show", id_of("bytes"));
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  body        14 bytes\n    \\x1b[2J\\xff\n"));
    ck_assert_ptr_null(strchr(testing_ctl.out, 0x1b));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, " drained by "));
}
END_TEST

START_TEST(shows_what_is_there)
{
    char input[100];

    snprintf(input, sizeof input, "%s\r\n\n%s\n", id_of("o2"), id_of("o1"));
    CTL_READS(input, "dlq", "show", "-", "--json");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_str_eq(listed(), "o2 o1");
    CTL("dlq", "show", id_of("o1"), "7", "--json");
    CTL_SAYS(EXIT_PARTIAL, "orderctl: warning: there is no letter 7\n");
    ck_assert_str_eq(listed(), "o1");
    CTL("dlq", "show", "7");
    CTL_SAYS(EXIT_BAD_DATA, "orderctl: dlq show: there is no letter 7; see `orderctl dlq list`\n");
    CTL_READS("17\nx\n", "dlq", "show", "-");
    CTL_SAYS(EXIT_BAD_DATA, "orderctl: dlq show: standard input has a line that is no id of a letter\n");
    CTL_READS("", "dlq", "show", "-");
    CTL_SAYS(EXIT_OK, "orderctl: standard input named no letter\n");
}
END_TEST

/* ---- history ---- */

START_TEST(recounts)
{
    json_t *json;

    CTL("dlq", "history", "--limit", "1", "--json");
    CTL_SAYS(EXIT_OK, "");
    json = parsed(testing_ctl.out);
    ck_assert_int_eq(json_integer_value(json_object_get(json, "letter")),
                     testing_ctl_number("SELECT MAX(id) FROM dead_letter"));
    ck_assert_str_eq(text(json, "action"), "drained");
    ck_assert_ptr_nonnull(strchr(text(json, "who"), '@'));
    json_decref(json);
    CTL("dlq", "history", "1");
    CTL_SAYS(EXIT_OK, "orderctl: nothing of this kind was done so far\n");
    CTL("dlq", "history", id_of("o1"));
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "drained"));
    CTL_READS("", "dlq", "history", "-");
    CTL_SAYS(EXIT_OK, "orderctl: standard input named no letter\n");
    ck_assert_str_eq(testing_ctl.out, "");
}
END_TEST

/* The notes of the lines, "a b". */
static const char *recounted(void)
{
    static char out[512];

    out[0] = '\0';
    for (const char *line = testing_ctl.out; *line; line = strchr(line, '\n') + 1) {
        json_t *json = parsed(line);

        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", out[0] ? " " : "", text(json, "note"));
        json_decref(json);
    }
    return out;
}

START_TEST(recounts_some)
{
    static const struct {
        const char *args[6], *notes;
    } cases[] = {
        {{NULL}, "a b c d"},
        {{"--limit", "0"}, "a b c d"},
        {{"--limit", "2"}, "c d"},
        {{"--who", "ann"}, "a c"},
        {{"--who", "ann@one"}, "a"},
        {{"--who", "an"}, ""},
        {{"--who", "an_"}, ""},
        {{"--action", "discarded"}, "a b"},
        {{"--action", "discarded", "--limit", "1"}, "b"},
        {{"--since", "-90m"}, "b c d"},
        {{"--until", "-30m"}, "a b"},
        {{"--since", "-90m", "--until", "-30m", "--who", "bob"}, "b"},
        {{"1", "2"}, "a b c"},
        {{"3", "--action", "restored"}, "d"},
    };

    testing_ctl_run_sql("DELETE FROM dead_letter_action;"
                        "INSERT INTO dead_letter_action(letter_id,action,who,note,done_at) VALUES"
                        "(1,'discarded','ann@one','a',UTC_TIMESTAMP(6)-INTERVAL 2 HOUR),"
                        "(2,'discarded','bob@one','b',UTC_TIMESTAMP(6)-INTERVAL 1 HOUR),"
                        "(1,'restored','ann@two','c',UTC_TIMESTAMP(6)-INTERVAL 1 MINUTE),"
                        "(3,'restored','anna@one','d',UTC_TIMESTAMP(6))");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *a = cases[i].args;

        CTL("dlq", "history", "--json", a[0], a[1], a[2], a[3], a[4], a[5]);
        CTL_SAYS(EXIT_OK, "");
        ck_assert_msg(strcmp(recounted(), cases[i].notes) == 0, "case %zu: \"%s\", not \"%s\"", i, recounted(),
                      cases[i].notes);
    }
}
END_TEST

/* A disk that is full. */
START_TEST(output_is_lost)
{
    static const char *const readers[][2] = {
        {"list", NULL}, {"show", "--all"}, {"export", "--all"}, {"history", NULL}, {"stats", NULL}};

    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        char command[600];
        int code;

        snprintf(command, sizeof command, "%s/src/orderctl -q -c %s dlq %s %s >/dev/full 2>/dev/null",
                 getenv("ORDERD_BUILD"), testing_ctl_file, readers[i][0], readers[i][1] ? readers[i][1] : "");
        code = system(command);
        ck_assert_msg(WIFEXITED(code) && WEXITSTATUS(code) == EXIT_IO, "%s: %d", readers[i][0], code);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ctl_dlq");
    TCase *t = tcase_create("dlq");

    tcase_add_checked_fixture(t, setup, dlq_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, lists);
    tcase_add_test(t, lists_what_is_named);
    tcase_add_test(t, chooses_as_list_does);
    tcase_add_test(t, replay_chooses_as_list_does);
    tcase_add_test(t, no_time_between);
    tcase_add_test(t, counts_by);
    tcase_add_test(t, fits_a_terminal);
    tcase_add_test(t, lists_as_a_table);
    tcase_add_test(t, pages);
    tcase_add_test(t, shows);
    tcase_add_test(t, shows_what_is_there);
    tcase_add_test(t, recounts);
    tcase_add_test(t, recounts_some);
    tcase_add_test(t, output_is_lost);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
