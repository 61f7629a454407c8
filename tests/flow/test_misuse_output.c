/* Every command of orderctl where the schema is not ours, where its output cannot be written or nobody takes it, where
 * nobody's shell has started it, and where its input is nonsense. See test_misuse.c. */
#include "testing_misuse.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "orderd/exitcode.h"
#include "testing_sale.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- a schema that is not ours ---- */

/* They say what the schema is. */
static const char *const judges[] = {"migrate status", "migrate up", "doctor"};

static void other_schema(const char *how)
{
    for (size_t c = 0; c < CTL_COMMAND_COUNT; c++) {
        static const int codes[] = {EXIT_CONFIG};

        misuse_begin(c, true);
        misuse_run();
        ck_assert_int_ne(misuse.code, EXIT_INTERNAL);
        if (!misuse_is(c, judges, COUNT(judges)))
            misuse_fails_well(c, codes, COUNT(codes), how);
    }
}

START_TEST(wrong_schema)
{
    const char *empty = misuse_empty_schema();

    misuse_measure();
    testing_ctl_run_sql(
        "INSERT INTO schema_migration(version,name,checksum) VALUES(9999,'9999_of_tomorrow',SHA2('',256))");
    other_schema("a schema of a newer orderd");
    testing_ctl_run_sql("DELETE FROM schema_migration WHERE version=9999");
    testing_ctl_run_sql("DELETE FROM schema_migration ORDER BY version DESC LIMIT 1");
    other_schema("a schema of an older orderd");
    testing_ctl_configure(&(struct testing_ctl_conf){.schema = empty});
    other_schema("a schema of somebody else");
    testing_ctl_configure(&(struct testing_ctl_conf){.schema = "orderd_no_such_schema"});
    other_schema("a schema that is not there");
    testing_ctl_run_sql("DROP DATABASE %s", empty);
}
END_TEST

static const struct {
    const char *table, *column;
} columns[] = {
    {"activity", "title"},         {"activity_stock", "takes_orders"},
    {"orders", "reserved_at"},     {"local_message", "first_due_at"},
    {"dead_letter", "death_told"}, {"dead_letter_action", "who"},
    {"payment", "payment_ref"},
};

/* By hand, behind the migrations' back. */
START_TEST(damaged_schema)
{
    misuse_measure();
    for (size_t i = 0; i < COUNT(columns); i++)
        testing_ctl_run_sql("ALTER TABLE %s RENAME COLUMN %s TO gone", columns[i].table, columns[i].column);
    other_schema("columns are missing");
    for (size_t i = 0; i < COUNT(columns); i++)
        testing_ctl_run_sql("RENAME TABLE %s TO gone_%s", columns[i].table, columns[i].table);
    other_schema("tables are missing");
}
END_TEST

/* ---- output and input ---- */

/* A sale that does not add up, so that whoever compares has a verdict to print. */
static void spoil(void)
{
    sale_forget(1);
}

START_TEST(full_output)
{
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC), printing = 0;

    spoil();
    misuse_measure();
    program_output(full);
    for (size_t c = 0; c < CTL_COMMAND_COUNT; c++) {
        bool failed;

        misuse_begin(c, true);
        misuse_run();
        failed = misuse.err[0] && !strstr(misuse.err, "cannot write to standard output");
        if (misuse_usual[c].prints && !failed)
            testing_says(&misuse, "orderctl", EXIT_IO, testing_line_text(&misuse_line));
        else
            ck_assert_msg(misuse.code == misuse_usual[c].code, "%s: %d %s", testing_line_text(&misuse_line),
                          misuse.code, misuse.err);
        printing += misuse.code == EXIT_IO;
    }
    ck_assert_int_gt(printing, 25);
    close(full);
}
END_TEST

START_TEST(no_reader)
{
    int ends[2];

    spoil();
    misuse_measure();
    ck_assert(pipe2(ends, O_CLOEXEC) == 0);
    close(ends[0]);
    program_output(ends[1]);
    for (size_t c = 0; c < CTL_COMMAND_COUNT; c++) {
        misuse_begin(c, true);
        misuse_run();
        ck_assert_msg(misuse.code == misuse_usual[c].code, "%s: %d %s", testing_line_text(&misuse_line), misuse.code,
                      misuse.err);
        ck_assert_msg(!strstr(misuse.err, "standard output"), "%s says %s", testing_line_text(&misuse_line),
                      misuse.err);
    }
    close(ends[1]);
}
END_TEST

/* What comes out of the other end of a terminal, until the program has ended; nothing of it is longer than 80 columns.
 */
static void read_terminal(int master)
{
    char bytes[4096];
    size_t column = 0;
    ssize_t n;

    while ((n = read(master, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (bytes[i] == '\n' || bytes[i] == '\r')
                column = 0;
            else if (((unsigned char)bytes[i] & 0xc0) != 0x80) /* one for each character */
                column++;
            ck_assert_msg(column <= 80, "%s writes more than 80 columns: %.*s", testing_line_text(&misuse_line), (int)n,
                          bytes);
        }
    }
}

/* What they print is a file, to be read by a program. */
static const char *const files[] = {"config defaults", "config dump", "dlq export"};

/* The same file by a name that no line takes. */
static void lengthen(char *path, size_t size, const char *variable)
{
    snprintf(path, size, "%s%s", "/././././././././././././././././././././././././././././././././././././.",
             getenv(variable));
}

/* Over ssh, at 80 columns. Uncoloured, so that each character is a column. */
START_TEST(narrow_terminal)
{
    const struct winsize size = {.ws_row = 24, .ws_col = 80};
    char secret[PATH_MAX];

    lengthen(secret, sizeof secret, "ORDERD_MQ_PASSWORD_FILE");
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_password_file = secret});
    for (size_t c = 0; c < CTL_COMMAND_COUNT; c++) {
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

        if (misuse_is(c, files, COUNT(files)))
            continue;
        ck_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
        slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
        ck_assert(slave >= 0 && ioctl(slave, TIOCSWINSZ, &size) == 0);
        misuse_begin(c, true);
        testing_line_add(&misuse_line, "--no-color");
        program_output(slave);
        program_start(&misuse, misuse_line.args);
        close(slave);
        read_terminal(master);
        program_wait(&misuse);
        close(master);
    }
}
END_TEST

/* Started by nobody's shell: no variables, no input, no terminal. */
START_TEST(bare)
{
    static const char *const kept[] = {"ORDERD_BUILD", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"};
    char *values[COUNT(kept)];

    misuse_measure();
    for (size_t i = 0; i < COUNT(kept); i++)
        values[i] = getenv(kept[i]) ? check_strdup(getenv(kept[i])) : NULL;
    clearenv();
    for (size_t i = 0; i < COUNT(kept); i++) {
        if (values[i])
            setenv(kept[i], values[i], 1);
        free(values[i]);
    }
    for (size_t c = 0; c < CTL_COMMAND_COUNT; c++) {
        misuse_begin(c, true);
        misuse_run();
        ck_assert_msg(misuse.code == misuse_usual[c].code, "%s: %d %s", testing_line_text(&misuse_line), misuse.code,
                      misuse.err);
        ck_assert_ptr_null(strchr(misuse.out, '\x1b'));
    }
}
END_TEST

/* Names that come from standard input: none, a folder in its place, bytes that are no names. */
START_TEST(input)
{
    static const char *const inputs[] = {"/dev/null", "/tmp", "/bin/true"};

    for (size_t c = 0; c < CTL_COMMAND_COUNT; c++) {
        if (!strstr(ctl_commands[c].operands, "..."))
            continue;
        for (size_t i = 0; i < COUNT(inputs); i++) {
            int in = open(inputs[i], O_RDONLY | O_CLOEXEC);

            ck_assert_int_ge(in, 0);
            misuse_begin(c, true);
            for (size_t a = 0; a < misuse_line.count; a++) {
                if (misuse_line.args[a] == testing_operand_of(c)->good)
                    misuse_line.args[a] = "-";
            }
            program_start_reading(&misuse, misuse_line.args, in);
            program_wait(&misuse);
            close(in);
            ck_assert_msg(misuse.code == EXIT_OK || misuse.code == EXIT_PARTIAL || misuse.code == EXIT_USAGE ||
                              misuse.code == EXIT_BAD_DATA || misuse.code == EXIT_IO,
                          "%s < %s: %d %s", testing_line_text(&misuse_line), inputs[i], misuse.code, misuse.err);
            ck_assert_msg(i != 1 || misuse.code == EXIT_IO, "%s < /tmp: %d %s", testing_line_text(&misuse_line),
                          misuse.code, misuse.err);
            ck_assert_ptr_null(strchr(misuse.err, '\x1b'));
        }
    }
}
END_TEST

/* Operands that can be judged only once the configuration is known. */
START_TEST(wrong_operand)
{
    for (size_t c = 0; c < CTL_COMMAND_COUNT; c++) {
        const struct testing_operand *operand = testing_operand_of(c);

        if (!operand || !operand->bad || !operand->needs_files)
            continue;
        misuse_begin(c, true);
        for (size_t i = 0; i < misuse_line.count; i++) {
            if (misuse_line.args[i] == operand->good)
                misuse_line.args[i] = operand->bad;
        }
        misuse_run();
        testing_says(&misuse, "orderctl", operand->bad_code, testing_line_text(&misuse_line));
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("misuse_output");
    TCase *t = tcase_create("misuse_output");

    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, misuse_setup, sale_teardown);
    tcase_add_test(t, wrong_schema);
    tcase_add_test(t, damaged_schema);
    tcase_add_test(t, full_output);
    tcase_add_test(t, no_reader);
    tcase_add_test(t, narrow_terminal);
    tcase_add_test(t, bare);
    tcase_add_test(t, input);
    tcase_add_test(t, wrong_operand);
    suite_add_tcase(s, t);
    return testing_main(s);
}
