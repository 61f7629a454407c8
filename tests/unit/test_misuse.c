/* The three programs wrongly used, without servers: every command and every option of their tables, so that a new row
 * is covered by being there. Each mistake is one sentence on standard error, the right exit code, and nothing else. */
#include "testing_line.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/program/load/options.h"
#include "orderd/exitcode.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct program p;
static struct testing_line line;

static void run_line(void)
{
    program_start(&p, line.args);
    program_wait(&p);
}

static void is_misuse(int code)
{
    run_line();
    testing_says(&p, "orderctl", code, testing_line_text(&line));
    ck_assert_msg(p.out[0] == '\0', "%s prints:\n%s", testing_line_text(&line), p.out);
}

/* The words alone, or with all that must be given (but for one option). */
static void begin(size_t command, bool filled, size_t but)
{
    testing_line_words(&line, command, NULL);
    if (filled)
        testing_line_fill(&line, command, but, "1");
}

static void misuse_of(size_t command, const char *first, const char *second, size_t but)
{
    begin(command, true, but);
    if (first)
        testing_line_add(&line, first);
    if (second)
        testing_line_add(&line, second);
    is_misuse(EXIT_USAGE);
}

/* ---- orderctl: words and options ---- */

START_TEST(word)
{
    const struct ctl_command *c = &ctl_commands[_i];
    const struct testing_operand *operand = testing_operand_of((size_t)_i);
    const char *more[] = {"1", "2"};

    misuse_of((size_t)_i, "--no-such-option", NULL, CTL_OPTION_COUNT);
    misuse_of((size_t)_i, "-z", NULL, CTL_OPTION_COUNT);
    misuse_of((size_t)_i, "--json=\x1b[31m\n", NULL, CTL_OPTION_COUNT);
    misuse_of((size_t)_i, "--config", NULL, CTL_OPTION_COUNT);
    misuse_of((size_t)_i, "--bad\x1b[31m\noption", NULL, CTL_OPTION_COUNT);
    if (c->least > 0) { /* an operand that is missing */
        begin((size_t)_i, false, 0);
        is_misuse(EXIT_USAGE);
    }
    if (c->most < SIZE_MAX) /* one too many */
        misuse_of((size_t)_i, more[0], c->most > 0 && !operand ? more[1] : NULL, CTL_OPTION_COUNT);
    if (strchr(c->words, ' ')) { /* an unknown word in its group */
        begin((size_t)_i, false, 0);
        line.args[line.count - 1] = "no_such_word";
        is_misuse(EXIT_USAGE);
        line.args[--line.count] = NULL;
        is_misuse(EXIT_USAGE); /* and none */
    }
}
END_TEST

/* Values that no option of this type takes. */
static size_t wrong_values(const struct ctl_option *o, char out[4][64])
{
    static const char *const plain[] = {[CTL_FLAG] = "",
                                        [CTL_NUMBER] = "1x",
                                        [CTL_DURATION] = "5",
                                        [CTL_TEXT] = "",
                                        [CTL_WHEN] = "tomorrow",
                                        [CTL_PAST] = "+5m",
                                        [CTL_CHOICE] = "no_such_choice",
                                        [CTL_CHOICES] = "no_such_choice"};
    size_t n = 0;

    snprintf(out[n++], 64, "%s", plain[o->type]);
    if (o->type != CTL_TEXT)
        snprintf(out[n++], 64, "%s", "");
    if (o->type == CTL_NUMBER || o->type == CTL_DURATION) {
        const char *unit = o->type == CTL_DURATION ? "ms" : "";

        snprintf(out[n++], 64, "%" PRId64 "%s", o->least - 1, unit);
        if (o->most < INT64_MAX)
            snprintf(out[n++], 64, "%" PRId64 "%s", o->most + 1, unit);
    }
    return n;
}

START_TEST(option)
{
    const struct ctl_option *o = &ctl_options[_i];
    char spelled[80], given[1100], wrong[4][64];
    static char longest[1000];

    snprintf(spelled, sizeof spelled, "--%s", o->spelling);
    if (o->type == CTL_FLAG) {
        snprintf(given, sizeof given, "--%s=yes", o->spelling);
        misuse_of(o->command, given, NULL, (size_t)_i);
        misuse_of(o->command, spelled, spelled, (size_t)_i);
        return;
    }
    misuse_of(o->command, spelled, NULL, (size_t)_i);
    if (!o->def)
        misuse_of(o->command, NULL, NULL, (size_t)_i);
    for (size_t i = wrong_values(o, wrong); i-- > 0;) {
        misuse_of(o->command, spelled, wrong[i], (size_t)_i);
        snprintf(given, sizeof given, "--%s=%s", o->spelling, wrong[i]);
        misuse_of(o->command, given, NULL, (size_t)_i);
    }
    if (o->type == CTL_TEXT) {
        ck_assert_int_lt(o->most, (int64_t)sizeof longest);
        memset(longest, 'A', (size_t)o->most + 1);
        misuse_of(o->command, spelled, longest, (size_t)_i);
    }
}
END_TEST

START_TEST(wrong_operand)
{
    const struct testing_operand *operand = testing_operand_of((size_t)_i);

    if (!operand || !operand->bad || operand->needs_files)
        return;
    begin((size_t)_i, true, CTL_OPTION_COUNT);
    for (size_t i = 0; i < line.count; i++) {
        if (line.args[i] == operand->good || (!operand->good && strcmp(line.args[i], "1") == 0)) {
            line.args[i] = operand->bad;
            break;
        }
    }
    is_misuse(operand->bad_code);
}
END_TEST

/* ---- orderctl: the configuration ---- */

static char conf_path[128];

static void write_conf(const char *text)
{
    int fd = open(conf_path, O_WRONLY | O_TRUNC);

    ck_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void conf_setup(void)
{
    int fd;

    snprintf(conf_path, sizeof conf_path, "%s/orderd.conf", testing_dir());
    fd = open(conf_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert(fd >= 0);
    close(fd);
}

static const struct {
    const char *file, *text; /* file NULL: one with this text */
    mode_t mode;
} bad_confs[] = {
    {"/nowhere/orderd.conf", NULL, 0},
    {"/tmp", NULL, 0},
    {"", NULL, 0},
    {NULL, "this is no configuration\n", 0600},
    {NULL, "mysql: { no_such_key = 1; };\n", 0600},
    {NULL, "mysql: { port = \"x\"; };\n", 0600},
    {NULL, "mysql: { password_file = \"/nowhere/secret\"; };\n", 0600},
    {NULL, "mysql: { database = \"a\n\x1b[31mb\"; };\n}", 0600},
    {NULL, "", 0}, /* nobody may read it */
};

static bool is_readable_anyway(size_t i)
{
    return !bad_confs[i].file && bad_confs[i].mode == 0 && geteuid() == 0;
}

/* Only what says so in its help works without a configuration. */
static bool needs_no_conf(const char *words)
{
    return strcmp(words, "config defaults") == 0;
}

static const char *bad_conf(int i)
{
    if (bad_confs[i].file)
        return bad_confs[i].file;
    write_conf(bad_confs[i].text);
    ck_assert_int_eq(chmod(conf_path, bad_confs[i].mode), 0);
    return conf_path;
}

START_TEST(configuration)
{
    const char *file;

    if (is_readable_anyway((size_t)_i))
        return;
    file = bad_conf(_i);
    for (size_t c = 0; c < CTL_COMMAND_COUNT; c++) {
        if (needs_no_conf(ctl_commands[c].words))
            continue;
        testing_line_words(&line, c, file);
        testing_line_fill(&line, c, CTL_OPTION_COUNT, "1");
        is_misuse(EXIT_CONFIG);
    }
    PROGRAM_RUN(&p, "orderd", "-c", file, "-t");
    testing_says(&p, "orderd", EXIT_CONFIG, "orderd -t");
    PROGRAM_RUN(&p, "orderd", "-c", file);
    testing_says(&p, "orderd", EXIT_CONFIG, "orderd");
    for (size_t c = 0; c < LOAD_COMMANDS; c++) {
        PROGRAM_RUN(&p, "orderload", load_command_name((enum load_command)c), c == LOAD_FILL ? "1" : "--activity=1",
                    "--activity=1", "-c", file, c == LOAD_VERIFY ? "--ids=/dev/null" : "--activity=1",
                    c == LOAD_RATE ? "--rate=1" : "--activity=1", c == LOAD_RATE ? "--seconds=1" : "--activity=1");
        testing_says(&p, "orderload", EXIT_CONFIG, load_command_name((enum load_command)c));
    }
}
END_TEST

/* ---- orderd and orderload ---- */

static const struct {
    const char *args[6];
} mistakes[] = {
    {{"orderd", "now"}},
    {{"orderd", "--no-such-option"}},
    {{"orderd", "-z"}},
    {{"orderd", "-tz"}},
    {{"orderd", "--bad\x1b[31m\noption"}},
    {{"orderd", "-c"}},
    {{"orderd", "--config"}},
    {{"orderd", "--instance"}},
    {{"orderd", "--check-config=yes"}},
    {{"orderd", "-i", "a b"}},
    {{"orderd", "-i", "a\nb"}},
    {{"orderd", "-i", "12345678901234567890123456789012345678901"}},
    {{"orderd", "-t", "surplus"}},
    {{"orderload"}},
    {{"orderload", "no_such_word"}},
    {{"orderload", "help", "no_such_word"}},
    {{"orderload", "a\x1b[31m\nb"}},
    {{"orderload", "--no-such-option", "sale"}},
};

START_TEST(mistake)
{
    program_start(&p, mistakes[_i].args);
    program_wait(&p);
    testing_says(&p, mistakes[_i].args[0], EXIT_USAGE, "a mistake");
    ck_assert_str_eq(p.out, "");
}
END_TEST

static void load_misuse(enum load_command c, const char *first, const char *second)
{
    const char *const args[] = {"orderload", load_command_name(c), first, second, NULL};

    program_start(&p, args);
    program_wait(&p);
    testing_says(&p, "orderload", EXIT_USAGE, first ? first : load_command_name(c));
    ck_assert_str_eq(p.out, "");
}

START_TEST(load_command)
{
    enum load_command c = (enum load_command)_i;

    load_misuse(c, NULL, NULL); /* what must be given is missing */
    load_misuse(c, "--no-such-option", NULL);
    load_misuse(c, "-z", NULL);
    load_misuse(c, "--config", NULL);
    load_misuse(c, "--activity=1", c == LOAD_VERIFY ? "" : "surplus\x1b[31m\n");
}
END_TEST

static const struct {
    const char *name, *type, *commands, *min, *max;
} load_rows[] = {
#define X(field, name, type, commands, def, min, max, argument, prose) {name, #type, commands, #min, #max},
#include "orderd/tbl/load_option.h"
#undef X
};

START_TEST(load_option)
{
    static const char letters[] = "SFRPV";
    const char *type = load_rows[_i].type;
    char name[64], text[128];

    for (size_t c = 0; c < LOAD_COMMANDS; c++) {
        bool flag = strcmp(type, "FLAG") == 0, text_type = strcmp(type, "TEXT") == 0 || strcmp(type, "FILES") == 0;

        snprintf(name, sizeof name, "--%s", load_rows[_i].name);
        if (!strchr(load_rows[_i].commands, letters[c])) {
            load_misuse((enum load_command)c, name, "1"); /* it is of another command */
            continue;
        }
        snprintf(text, sizeof text, "%s=%s", name, flag ? "yes" : text_type ? "" : "1x\n");
        load_misuse((enum load_command)c, text, NULL);
        if (flag)
            continue;
        load_misuse((enum load_command)c, name, NULL);
        snprintf(text, sizeof text, "%s=-1", name);
        if (!text_type)
            load_misuse((enum load_command)c, text, NULL);
    }
}
END_TEST

/* ---- output that nobody takes, or that cannot be written ---- */

static void with_output(int fd, const char *const *args, int code, const char *what)
{
    program_output(fd);
    program_start(&p, args);
    program_wait(&p);
    program_output(PROGRAM_KEEPS);
    if (code != EXIT_OK) {
        testing_says(&p, args[0], code, what);
        return;
    }
    ck_assert_msg(p.code == code, "%s ended with %d", what, p.code);
    ck_assert_msg(p.err[0] == '\0', "%s says %s", what, p.err);
}

static void with_no_output(const char *const *args)
{
    int ends[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    ck_assert(full >= 0 && pipe2(ends, O_CLOEXEC) == 0);
    close(ends[0]);
    with_output(ends[1], args, EXIT_OK, "without a reader"); /* it had enough */
    with_output(full, args, EXIT_IO, "on a full disk");
    with_output(PROGRAM_CLOSED, args, EXIT_IO, "with its output closed");
    close(ends[1]);
    close(full);
}

START_TEST(help_output)
{
    begin((size_t)_i, false, 0);
    testing_line_add(&line, "--help");
    with_no_output(line.args);
}
END_TEST

static const struct {
    const char *args[6];
} printing[] = {
    {{"orderctl", "--version"}},
    {{"orderctl", "config", "defaults"}},
    {{"orderd", "--help"}},
    {{"orderd", "-V"}},
    {{"orderd", "--dump-defaults"}},
    {{"orderd", "-t", "-c", conf_path}},
    {{"orderd", "-T", "-c", conf_path}},
    {{"orderload", "--help"}},
    {{"orderload", "-V"}},
    {{"orderload", "sale", "--help"}},
    {{"orderload", "help", "pay"}},
    {{"orderctl", "-c", conf_path, "config", "dump"}},
    {{"orderctl", "-c", conf_path, "config", "check"}},
};

START_TEST(output)
{
    with_no_output(printing[_i].args);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("misuse");
    TCase *ctl = tcase_create("ctl"), *conf = tcase_create("conf"), *others = tcase_create("others");

    tcase_add_loop_test(ctl, word, 0, CTL_COMMAND_COUNT);
    tcase_add_loop_test(ctl, option, 0, CTL_OPTION_COUNT);
    tcase_add_loop_test(ctl, wrong_operand, 0, CTL_COMMAND_COUNT);
    tcase_add_loop_test(ctl, help_output, 0, CTL_COMMAND_COUNT);
    tcase_add_checked_fixture(conf, conf_setup, NULL);
    tcase_add_loop_test(conf, configuration, 0, COUNT(bad_confs));
    tcase_add_loop_test(conf, output, 0, COUNT(printing));
    tcase_add_loop_test(others, mistake, 0, COUNT(mistakes));
    tcase_add_loop_test(others, load_command, 0, LOAD_COMMANDS);
    tcase_add_loop_test(others, load_option, 0, COUNT(load_rows));
    suite_add_tcase(s, ctl);
    suite_add_tcase(s, conf);
    suite_add_tcase(s, others);
    return testing_main(s);
}
