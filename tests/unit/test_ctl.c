/* orderctl without servers: every mistake on its command line and its sentence, --help against the tables, what the
 * output does when nobody takes it; and the pure parts. */
#include "testing_program.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/program/ctl/ctl.h"
#include "../../src/program/ctl/payload.h"
#include "../../src/program/ctl/print.h"
#include "../../src/program/ctl/record.h"
#include "../../src/program/ctl/tally.h"
#include "orderd/dead_letter_store.h"
#include "orderd/local_message_admin.h"
#include "orderd/near.h"

static struct program p;

/* ---- mistakes ---- */

#define CREATE         "activity", "create"
#define CREATE_ALL     "activity", "create", "--id", "1", "--title", "t", "--sku", "1", "--price", "1", "--currency", "CNY"
#define HELP_OF(what)  "; see `orderctl " what " --help`"
#define NOTHING_CHOSEN "LETTER is missing, or an option that chooses letters, or --all"
#define TWO_WAYS       "name letters or choose them by options, not both"
#define ALL_ALONE      "--all is every letter: give it alone, or name letters, or choose them by options"
#define UNCONFIRMED    "letters that are not named take --confirm with the number of them, which --dry-run shows"

static const struct {
    const char *args[24];
    const char *sentence; /* without "orderctl: " and the newline */
} mistakes[] = {
    {{NULL},
     "a command is missing (one of migrate, topology, activity, order, outbox, dlq, reconcile, doctor, config, "
     "status, quiet, resume, top); "
     "see `orderctl --help`"},
    {{"migrat", NULL}, "unknown command \"migrat\" (did you mean \"migrate\"?); see `orderctl --help`"},
    {{"xyz", NULL}, "unknown command \"xyz\"; see `orderctl --help`"},
    {{"", NULL}, "unknown command \"\"; see `orderctl --help`"},
    {{"dlq", "show", NULL}, "dlq show: " NOTHING_CHOSEN HELP_OF("dlq show")},
    {{"dlq", "discard", "--note", "x", NULL}, "dlq discard: " NOTHING_CHOSEN HELP_OF("dlq discard")},
    {{"dlq", "restore", NULL}, "dlq restore: " NOTHING_CHOSEN HELP_OF("dlq restore")},
    {{"dlq", "replay", "--confirm", "1", NULL}, "dlq replay: " NOTHING_CHOSEN HELP_OF("dlq replay")},
    {{"dlq", "replay", "17", "--queue", "q", NULL}, "dlq replay: " TWO_WAYS HELP_OF("dlq replay")},
    {{"dlq", "list", "17", "--since", "-1h", NULL}, "dlq list: " TWO_WAYS HELP_OF("dlq list")},
    {{"dlq", "discard", "--all", "--reason", "constraint", "--note", "x", "--confirm", "7", NULL},
     "dlq discard: " ALL_ALONE HELP_OF("dlq discard")},
    {{"dlq", "restore", "--all", "17", NULL}, "dlq restore: " ALL_ALONE HELP_OF("dlq restore")},
    {{"dlq", "discard", "--all", "--note", "x", NULL}, "dlq discard: " UNCONFIRMED HELP_OF("dlq discard")},
    {{"dlq", "restore", "--activity", "1001", NULL}, "dlq restore: " UNCONFIRMED HELP_OF("dlq restore")},
    {{"dlq", "discard", "--state", "discarded", "--note", "x", NULL},
     "dlq discard: --state \"discarded\" is not one of open" HELP_OF("dlq discard")},
    {{"dlq", "discard", "--reason", "sold", "--note", "x", "--dry-run", NULL},
     "dlq discard: there is no reason \"sold\"; `orderctl dlq stats` shows those that occur" HELP_OF("dlq discard")},
    {{"dlq", "stats", "--by", "reason,minutes", NULL},
     "dlq stats: --by \"reason,minutes\" is not some of state|reason|queue|activity|minute|hour|day, with commas "
     "between" HELP_OF("dlq stats")},
    {{"dlq", "stats", "--by", "reason,", NULL},
     "dlq stats: --by \"reason,\" is not some of state|reason|queue|activity|minute|hour|day, with commas "
     "between" HELP_OF("dlq stats")},
    {{"dlq", "stats", "--by", "hour,day", NULL},
     "dlq stats: --by takes one of minute, hour and day" HELP_OF("dlq stats")},
    {{"dlq", "show", "17", "x", NULL},
     "dlq show: \"x\" is no id of a letter; `orderctl dlq list` shows them" HELP_OF("dlq show")},
    {{"dlq", "discard", "17", NULL}, "dlq discard: --note is missing" HELP_OF("dlq discard")},
    {{"dlq", "export", NULL}, "dlq export: " NOTHING_CHOSEN HELP_OF("dlq export")},
    {{"dlq", "export", "1", "--all", NULL}, "dlq export: " ALL_ALONE HELP_OF("dlq export")},
    {{"dlq", "import", NULL}, "dlq import: FILE is missing" HELP_OF("dlq import")},
    {{"dlq", "history", "--action", "lost", NULL},
     "dlq history: --action \"lost\" is not one of "
     "drained|met_again|died_again|replayed|renewing|renewed|refused|edited|resolved|rejects_order|"
     "discarded|restored|imported" HELP_OF("dlq history")},
    {{"dlq", "list", "--reason", "sold", NULL},
     "dlq list: there is no reason \"sold\"; `orderctl dlq stats` shows those that occur" HELP_OF("dlq list")},
    {{"dlq", "list", "--order", "a b", NULL},
     "dlq list: \"a b\" is no order number (1 to 28 of [0-9A-Za-z_], with an optional -r<n>)" HELP_OF("dlq list")},
    {{"dlq", "list", "--state", "dead", NULL},
     "dlq list: --state \"dead\" is not one of open|replayed|resolved|discarded" HELP_OF("dlq list")},
    {{"migrate", NULL}, "migrate: a command is missing (one of status, up)" HELP_OF("migrate")},
    {{"activity", "creat", NULL}, "activity: unknown command \"creat\" (did you mean \"create\"?)" HELP_OF("activity")},
    {{"config", "help", NULL}, "config: unknown command \"help\"" HELP_OF("config")},
    {{"migrate", "up", "now", NULL}, "migrate up: unexpected argument \"now\"" HELP_OF("migrate up")},
    {{"migrate", "up", "--dri-run", NULL},
     "migrate up: unknown option \"--dri-run\" (did you mean \"--dry-run\"?)" HELP_OF("migrate up")},
    {{"--dry-run", "migrate", "up", NULL}, "unknown option \"--dry-run\"; see `orderctl --help`"},
    {{"migrate", "status", "--dry-run", NULL},
     "migrate status: unknown option \"--dry-run\"" HELP_OF("migrate status")},
    {{"-x", NULL}, "unknown option \"-x\"; see `orderctl --help`"},
    {{"-qx", NULL}, "unknown option \"-x\"; see `orderctl --help`"},
    {{"--jso", NULL}, "unknown option \"--jso\" (did you mean \"--json\"?); see `orderctl --help`"},
    {{"config", "check", "--config", NULL}, "config check: --config needs a value" HELP_OF("config check")},
    {{"-c", NULL}, "--config needs a value; see `orderctl --help`"},
    {{"--json=yes", NULL}, "--json takes no value; see `orderctl --help`"},
    {{"migrate", "up", "--dry-run=no", NULL}, "migrate up: --dry-run takes no value" HELP_OF("migrate up")},
    {{"migrate", "up", "--dry-run", "--dry-run", NULL}, "migrate up: --dry-run is given twice" HELP_OF("migrate up")},
    {{"activity", "show", NULL}, "activity show: ID is missing" HELP_OF("activity show")},
    {{"activity", "show", "1", "2", NULL}, "activity show: unexpected argument \"2\"" HELP_OF("activity show")},
    {{"activity", "show", "x", NULL},
     "activity show: \"x\" is not a number from 1 to 9223372036854775807" HELP_OF("activity show")},
    {{"activity", "approve", "0", NULL},
     "activity approve: \"0\" is not a number from 1 to 9223372036854775807" HELP_OF("activity approve")},
    {{"activity", "preheat", "--", "-1", NULL},
     "activity preheat: \"-1\" is not a number from 1 to 9223372036854775807" HELP_OF("activity preheat")},
    {{"activity", "preheat", "9223372036854775808", NULL},
     "activity preheat: \"9223372036854775808\" is not a number from 1 to 9223372036854775807" HELP_OF(
         "activity preheat")},
    {{CREATE, NULL}, "activity create: --id is missing" HELP_OF("activity create")},
    {{CREATE, "--id", NULL}, "activity create: --id needs a value" HELP_OF("activity create")},
    {{CREATE, "--id", "1001x", NULL},
     "activity create: --id \"1001x\" is not a number from 1 to 9223372036854775807" HELP_OF("activity create")},
    {{CREATE, "--id=", NULL},
     "activity create: --id \"\" is not a number from 1 to 9223372036854775807" HELP_OF("activity create")},
    {{CREATE_ALL, NULL}, "activity create: --stock is missing" HELP_OF("activity create")},
    {{CREATE, "--price", "99.00", NULL},
     "activity create: --price \"99.00\" is not a number from 0 to 999999999999999" HELP_OF("activity create")},
    {{CREATE, "--price", "-1", NULL},
     "activity create: --price \"-1\" is not a number from 0 to 999999999999999" HELP_OF("activity create")},
    {{CREATE, "--limit", "101", NULL},
     "activity create: --limit \"101\" is not a number from 1 to 100" HELP_OF("activity create")},
    {{CREATE, "--shards", "1025", NULL},
     "activity create: --shards \"1025\" is not a number from 1 to 1024" HELP_OF("activity create")},
    {{CREATE, "--currency", "EURO", NULL},
     "activity create: --currency \"EURO\" has not 3 bytes" HELP_OF("activity create")},
    {{CREATE, "--title", "", NULL}, "activity create: --title \"\" has not 1 to 800 bytes" HELP_OF("activity create")},
    {{CREATE, "--pay-timeout", "15", NULL},
     "activity create: --pay-timeout \"15\" is not a time such as 15m, from 1s to 30d" HELP_OF("activity create")},
    {{CREATE, "--pay-timeout", "31d", NULL},
     "activity create: --pay-timeout \"31d\" is not a time such as 15m, from 1s to 30d" HELP_OF("activity create")},
    {{CREATE, "--starts", "tomorrow", NULL},
     "activity create: --starts \"tomorrow\" is not a time such as 2027-11-11T10:00:00Z, now or +5m" HELP_OF(
         "activity create")},
    {{"outbox", NULL}, "outbox: a command is missing (one of stats, list, show, retry, purge)" HELP_OF("outbox")},
    {{"outbox", "stats", "1", NULL}, "outbox stats: unexpected argument \"1\"" HELP_OF("outbox stats")},
    {{"outbox", "list", "--state", "dead", NULL},
     "outbox list: --state \"dead\" is not one of pending|sent|quarantined" HELP_OF("outbox list")},
    {{"outbox", "list", "--state", "", NULL},
     "outbox list: --state \"\" is not one of pending|sent|quarantined" HELP_OF("outbox list")},
    {{"outbox", "list", "--state", "pending|sent", NULL},
     "outbox list: --state \"pending|sent\" is not one of pending|sent|quarantined" HELP_OF("outbox list")},
    {{"outbox", "list", "--state", "sent", "--due", NULL},
     "outbox list: --due is about pending messages, not about sent ones" HELP_OF("outbox list")},
    {{"outbox", "list", "--since", "+5m", NULL},
     "outbox list: --since \"+5m\" is not a time such as 2027-11-11T10:00:00Z or -5m" HELP_OF("outbox list")},
    {{"outbox", "list", "--until", "yesterday", NULL},
     "outbox list: --until \"yesterday\" is not a time such as 2027-11-11T10:00:00Z or -5m" HELP_OF("outbox list")},
    {{"outbox", "list", "--limit", "-1", NULL},
     "outbox list: --limit \"-1\" is not a number from 0 to 9223372036854775807" HELP_OF("outbox list")},
    {{"outbox", "list", "--key=", NULL}, "outbox list: --key \"\" has not 1 to 100 bytes" HELP_OF("outbox list")},
    {{"outbox", "list", "17", NULL}, "outbox list: unexpected argument \"17\"" HELP_OF("outbox list")},
    {{"outbox", "show", NULL}, "outbox show: KEY|ID is missing" HELP_OF("outbox show")},
    {{"outbox", "retry", NULL}, "outbox retry: KEY|ID or --all-quarantined is missing" HELP_OF("outbox retry")},
    {{"outbox", "retry", "--all-quarantined", "17", NULL},
     "outbox retry: name messages or give --all-quarantined, not both" HELP_OF("outbox retry")},
    {{"outbox", "retry", "17", "--topic", "t", NULL},
     "outbox retry: --topic goes with --all-quarantined only" HELP_OF("outbox retry")},
    {{"outbox", "retry", "--all-quarantined", "--sent", NULL},
     "outbox retry: --sent is for messages that are named, not for --all-quarantined" HELP_OF("outbox retry")},
    {{"outbox", "retry", "--all", NULL}, "outbox retry: unknown option \"--all\"" HELP_OF("outbox retry")},
    {{"outbox", "purge", NULL}, "outbox purge: --state is missing, or KEY|ID" HELP_OF("outbox purge")},
    {{"outbox", "purge", "--state", "pending", NULL},
     "outbox purge: --state \"pending\" is not one of sent|quarantined" HELP_OF("outbox purge")},
    {{"outbox", "purge", "--state", "quarantined", NULL},
     "outbox purge: --state quarantined needs --confirm with the number of rows that --dry-run names" HELP_OF(
         "outbox purge")},
    {{"outbox", "purge", "--state", "sent", "--confirm", "1", NULL},
     "outbox purge: --confirm is for --state quarantined only" HELP_OF("outbox purge")},
    {{"outbox", "purge", "--state", "sent", "17", "--older-than", "1h", NULL},
     "outbox purge: name messages or choose them by options, not both" HELP_OF("outbox purge")},
    {{"outbox", "purge", "--state", "sent", "--older-than", "60", NULL},
     "outbox purge: --older-than \"60\" is not a time such as 15m, from 0 to 3650d" HELP_OF("outbox purge")},
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void run(const char *const *args)
{
    const char *argv[32] = {"orderctl"};

    for (size_t i = 0; args[i]; i++)
        argv[i + 1] = args[i];
    program_start(&p, argv);
    program_wait(&p);
}

START_TEST(mistake)
{
    char expected[512];

    snprintf(expected, sizeof expected, "orderctl: %s\n", mistakes[_i].sentence);
    run(mistakes[_i].args);
    ck_assert_str_eq(p.err, expected);
    ck_assert_int_eq(p.code, EXIT_USAGE);
    ck_assert_str_eq(p.out, "");
}
END_TEST

/* ---- help ---- */

static void all_lines_fit(void)
{
    for (const char *line = p.out; *line; line += strcspn(line, "\n") + 1)
        ck_assert_msg(strcspn(line, "\n") <= 80, "over 80 columns: %.120s", line);
}

/* Every command has a help that names each of its options and shows how to call it. */
START_TEST(help_of_command)
{
    const struct ctl_command *c = &ctl_commands[_i];
    char first[16], second[16], text[128];
    int words = sscanf(c->words, "%15s %15s", first, second);

    ck_assert_int_ge(words, 1);
    if (words == 2)
        PROGRAM_RUN(&p, "orderctl", first, second, "--help");
    else
        PROGRAM_RUN(&p, "orderctl", first, "--help");
    ck_assert_int_eq(p.code, EXIT_OK);
    ck_assert_str_eq(p.err, "");
    snprintf(text, sizeof text, "Usage: orderctl %s", c->words);
    ck_assert_ptr_eq(strstr(p.out, text), p.out);
    ck_assert_ptr_nonnull(strstr(p.out, "\nExample"));
    ck_assert_ptr_nonnull(strstr(strstr(p.out, "\nExample"), first));
    for (size_t i = 0; i < CTL_OPTION_COUNT; i++) {
        snprintf(text, sizeof text, "\n  --%s", ctl_options[i].spelling);
        if ((size_t)ctl_options[i].command == (size_t)_i)
            ck_assert_msg(strstr(p.out, text), "--%s is not explained", ctl_options[i].spelling);
    }
    all_lines_fit();
    PROGRAM_RUN(&p, "orderctl", "-h", first);
    ck_assert_int_eq(p.code, EXIT_OK);
    ck_assert_ptr_nonnull(strstr(p.out, c->words));
    all_lines_fit();
}
END_TEST

START_TEST(help_of_all)
{
    static char first[sizeof p.out];

    PROGRAM_RUN(&p, "orderctl", "--help");
    ck_assert_int_eq(p.code, EXIT_OK);
    for (size_t i = 0; i < CTL_COMMAND_COUNT; i++)
        ck_assert_msg(strstr(p.out, ctl_commands[i].words), "%s is not listed", ctl_commands[i].words);
    for (size_t i = 0; i < CTL_GLOBAL_COUNT; i++)
        ck_assert_msg(strstr(p.out, ctl_globals[i].spelling), "--%s is not listed", ctl_globals[i].spelling);
    all_lines_fit();
    strcpy(first, p.out);
    PROGRAM_RUN(&p, "orderctl", "help");
    ck_assert_str_eq(p.out, first);
    PROGRAM_RUN(&p, "orderctl", "-V");
    ck_assert_str_eq(p.out, "orderctl " ORDERD_VERSION "\n");
}
END_TEST

/* The tables hold what the parser relies on. */
START_TEST(tables)
{
    char before[32] = "", first[32];

    for (size_t i = 0; i < CTL_COMMAND_COUNT; i++) {
        ck_assert_uint_le(ctl_commands[i].least, ctl_commands[i].most);
        ck_assert_int_eq(sscanf(ctl_commands[i].words, "%31s", first), 1);
        for (size_t j = 0; j < i && strcmp(first, before) != 0; j++)
            ck_assert_msg(!ctl_next_word(ctl_commands[j].words, first), "%s stands apart", ctl_commands[i].words);
        strcpy(before, first);
    }
    for (size_t i = 0; i < CTL_OPTION_COUNT; i++) {
        const struct ctl_option *o = &ctl_options[i];

        ck_assert_msg((o->type == CTL_FLAG) == (o->value[0] == '\0'), "--%s", o->spelling);
        for (size_t g = 0; g < CTL_GLOBAL_COUNT; g++)
            ck_assert_str_ne(o->spelling, ctl_globals[g].spelling);
    }
}
END_TEST

/* ---- configuration ---- */

static char conf_path[128];

static void write_conf(const char *text)
{
    int fd;

    snprintf(conf_path, sizeof conf_path, "%s/orderd.conf", testing_dir());
    fd = open(conf_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    ck_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

START_TEST(config_good)
{
    char expected[400];

    write_conf("mysql: { port = 4000; };\n");
    PROGRAM_RUN(&p, "orderctl", "-c", conf_path, "config", "check");
    snprintf(expected, sizeof expected, "%s is good\n", conf_path);
    ck_assert_str_eq(p.out, expected);
    ck_assert_int_eq(p.code, EXIT_OK);
    PROGRAM_RUN(&p, "orderctl", "config", "check", "--json", "--config", conf_path);
    snprintf(expected, sizeof expected, "{\"file\":\"%s\",\"good\":true}\n", conf_path);
    ck_assert_str_eq(p.out, expected);
    PROGRAM_RUN(&p, "orderctl", "config", "dump", "--json", "-c", conf_path);
    snprintf(expected, sizeof expected, "{\"key\":\"mysql.port\",\"value\":\"4000\",\"file\":\"%s\",\"line\":1}\n",
             conf_path);
    ck_assert_ptr_nonnull(strstr(p.out, expected));
    ck_assert_ptr_nonnull(
        strstr(p.out, "{\"key\":\"log.level\",\"value\":\"\\\"info\\\"\",\"file\":null,\"line\":null}\n"));
    PROGRAM_RUN(&p, "orderctl", "config", "dump", "-c", conf_path);
    ck_assert_ptr_nonnull(strstr(p.out, "    port = 4000;"));
    unlink(conf_path);
}
END_TEST

START_TEST(config_bad)
{
    char expected[400];

    write_conf("mysql: { port = 0; };\n");
    snprintf(
        expected, sizeof expected,
        "orderctl: config check: %s:1: mysql.port: 0 is out of range (expected a number from 1 to 65535); mend it, "
        "or name another file with --config\n",
        conf_path);
    PROGRAM_RUN(&p, "orderctl", "-c", conf_path, "config", "check");
    unlink(conf_path);
    ck_assert_str_eq(p.err, expected);
    ck_assert_int_eq(p.code, EXIT_CONFIG);
    ck_assert_str_eq(p.out, "");
    PROGRAM_RUN(&p, "orderctl", "-c", "/nowhere/orderd.conf", "activity", "list");
    ck_assert_str_eq(
        p.err, "orderctl: activity list: /nowhere/orderd.conf: No such file or directory (expected a configuration "
               "file, see -c; `orderd --dump-defaults` prints one to begin with); mend it, or name another file with "
               "--config\n");
    ck_assert_int_eq(p.code, EXIT_CONFIG);
}
END_TEST

START_TEST(config_defaults)
{
    static char sample[sizeof p.out];
    char path[512];
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "%s/config/orderd.conf", testing_env("ORDERD_SOURCE"));
    ck_assert((f = fopen(path, "r")) != NULL);
    n = fread(sample, 1, sizeof sample - 1, f);
    sample[n] = '\0';
    fclose(f);
    PROGRAM_RUN(&p, "orderctl", "config", "defaults");
    ck_assert_str_eq(p.out, sample);
    PROGRAM_RUN(&p, "orderctl", "config", "defaults", "--json");
    ck_assert_ptr_nonnull(strstr(p.out, "{\"key\":\"mysql.port\",\"value\":\"3306\",\"expected\":\"a number from 1 to "
                                        "65535\",\"reload\":false,\"about\":\"Port.\"}\n"));
}
END_TEST

/* ---- output ---- */

/* Runs orderctl with this file as standard output. */
static int code_with_output(int fd, const char *const *argv)
{
    int status;
    char path[512];
    pid_t pid;

    snprintf(path, sizeof path, "%s/src/orderctl", testing_env("ORDERD_BUILD"));
    pid = fork();
    if (pid == 0) {
        if (fd >= 0)
            dup2(fd, STDOUT_FILENO);
        else
            close(STDOUT_FILENO);
        execv(path, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    ck_assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(output_to_nobody)
{
    const char *const argv[] = {"orderctl", "config", "defaults", NULL};
    int pipe_fds[2], full = open("/dev/full", O_WRONLY);

    ck_assert(pipe(pipe_fds) == 0 && full >= 0);
    close(pipe_fds[0]);
    ck_assert_int_eq(code_with_output(pipe_fds[1], argv), EXIT_OK); /* the reader had enough */
    ck_assert_int_eq(code_with_output(full, argv), EXIT_IO);
    ck_assert_int_eq(code_with_output(-1, argv), EXIT_IO);
}
END_TEST

/* ---- pure parts ---- */

static const struct {
    const char *text;
    bool good, relative;
    int64_t ms;
} whens[] = {
    {"now", true, true, 0},
    {"+5m", true, true, 300000},
    {"+0", true, true, 0},
    {"2026-12-01T10:00:00Z", true, false, 1796119200000},
    {"2026-12-01T10:00:00.5Z", true, false, 1796119200500},
    {"2026-12-01T10:00:00.123Z", true, false, 1796119200123},
    {"2028-02-29T23:59:59Z", true, false, 1835481599000},
    {"2026-02-29T00:00:00Z", false, false, 0},
    {"2026-12-01T24:00:00Z", false, false, 0},
    {"2026-13-01T10:00:00Z", false, false, 0},
    {"2026-12-01T10:00:00", false, false, 0},
    {"2026-12-01 10:00:00Z", false, false, 0},
    {"2026-12-01T10:00:00+08:00", false, false, 0},
    {"2026-12-01T10:00:00.Z", false, false, 0},
    {"2026-12-01T10:00:00.1234Z", false, false, 0},
    {"2026-12-01T10:00Z", false, false, 0},
    {"2026-12- 1T10:00:00Z", false, false, 0},
    {"1970-01-01T00:00:00Z", false, false, 0},
    {"9999-12-31T00:00:00Z", false, false, 0},
    {"+5", false, false, 0},
    {"+99999d", false, false, 0},
    {"-5m", false, false, 0},
    {"", false, false, 0},
};

START_TEST(when)
{
    struct activity_when out;

    ck_assert_msg(ctl_parse_when(whens[_i].text, &out) == whens[_i].good, "%s", whens[_i].text);
    if (!whens[_i].good)
        return;
    ck_assert_int_eq(out.relative, whens[_i].relative);
    ck_assert_int_eq(out.ms, whens[_i].ms);
}
END_TEST

static const struct {
    const char *text;
    bool good, relative;
    int64_t ms;
} pasts[] = {
    {"now", true, true, 0},      {"-5m", true, true, 300000},
    {"-0", true, true, 0},       {"2026-12-01T10:00:00Z", true, false, 1796119200000},
    {"+5m", false, false, 0},    {"5m", false, false, 0},
    {"-5", false, false, 0},     {"--5m", false, false, 0},
    {"-3651d", false, false, 0}, {"-", false, false, 0},
    {"", false, false, 0},
};

START_TEST(past)
{
    struct activity_when out = {false, -1};

    ck_assert_msg(ctl_parse_past(pasts[_i].text, &out) == pasts[_i].good, "%s", pasts[_i].text);
    if (!pasts[_i].good)
        return;
    ck_assert_int_eq(out.relative, pasts[_i].relative);
    ck_assert_int_eq(out.ms, pasts[_i].ms);
}
END_TEST

static const struct {
    const char *in, *out; /* out NULL: is shown as it is */
} payloads[] = {
    {"{}", "{}"},
    {" [ ] ", "[]"},
    {"{\"a\":1,\"b\":[true,null,{\"c\":{}}]}",
     "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    null,\n    {\n      \"c\": {}\n    }\n  ]\n}"},
    {"{\"a,{b\\\"]\" :\n 1.10 ,\"a,{b\\\"]\":\"x: \\\\\"}",
     "{\n  \"a,{b\\\"]\": 1.10,\n  \"a,{b\\\"]\": \"x: \\\\\"\n}"},
    {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", NULL},
    {"", NULL},
    {"5", NULL},
    {"{\"a\":}", NULL},
    {"{\"a\":1", NULL},
    {"[\"\xff\"]", NULL},
};

START_TEST(payload)
{
    struct strbuf out = STRBUF_INIT;

    strbuf_add_str(&out, "before ");
    ck_assert_msg(payload_indent(slice_of(payloads[_i].in), &out) == (payloads[_i].out != NULL), "%s", payloads[_i].in);
    ck_assert_str_eq(out.data + 7, payloads[_i].out ? payloads[_i].out : "");
    strbuf_release(&out);
}
END_TEST

/* The vectors of RFC 4648. */
START_TEST(base64)
{
    static const char *const vectors[][2] = {{"f", "Zg=="},           {"fo", "Zm8="},        {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},    {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"},
                                             {"\xff\xfe\xfd", "//79"}};
    struct strbuf out = STRBUF_INIT;

    for (size_t i = 0; i < COUNT(vectors); i++) {
        strbuf_reset(&out);
        payload_add_base64(&out, slice_of(vectors[i][0]));
        ck_assert_str_eq(out.data, vectors[i][1]);
        strbuf_reset(&out);
        ck_assert(payload_take_base64(&out, slice_of(vectors[i][1])));
        ck_assert_str_eq(out.data, vectors[i][0]);
    }
    strbuf_release(&out);
}
END_TEST

START_TEST(no_base64)
{
    static const char *const bad[] = {
        "Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9", "Zm9v\n"};
    struct strbuf out = STRBUF_INIT;

    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(!payload_take_base64(&out, slice_of(bad[i])), "%s", bad[i]);
    strbuf_release(&out);
}
END_TEST

START_TEST(span)
{
    static const struct {
        int64_t ms;
        const char *text;
    } spans[] = {{0, "0ms"},        {999, "999ms"},  {1000, "1s"},       {119999, "119s"}, {120000, "2m"},
                 {7199999, "119m"}, {7200000, "2h"}, {172799999, "47h"}, {172800000, "2d"}};
    char text[SPAN_TEXT];

    for (size_t i = 0; i < COUNT(spans); i++)
        ck_assert_str_eq(span_text(text, spans[i].ms), spans[i].text);
}
END_TEST

static void seen(void *arg, struct slice name, int64_t count)
{
    strbuf_addf(arg, "%.*s=%d ", (int)name.len, name.ptr, (int)count);
}

START_TEST(tallied)
{
    struct tally *tally = NULL;
    struct strbuf text = STRBUF_INIT;

    ck_assert_int_eq(tally_add(&tally, slice_of("b")), 1);
    ck_assert_int_eq(tally_add(&tally, slice_of("a")), 1);
    ck_assert_int_eq(tally_add(&tally, slice_of("b")), 2);
    ck_assert_int_eq(tally_add(&tally, (struct slice){"b\0", 2}), 1);
    tally_each(tally, seen, &text);
    ck_assert_str_eq(text.data, "b=2 a=1 b=1 ");
    tally_free(&tally);
    strbuf_release(&text);
}
END_TEST

/* What a row of --state says is a state of its table. */
START_TEST(states_of_letters)
{
    enum dead_letter_state state;
    char words[64];
    int rows = 0;

    for (size_t i = 0; i < CTL_OPTION_COUNT; i++) {
        const struct ctl_option *o = &ctl_options[i];

        if (strncmp(ctl_commands[o->command].words, "dlq ", 4) != 0 || strcmp(o->spelling, "state") != 0)
            continue;
        snprintf(words, sizeof words, "%s", o->value);
        for (char *word = strtok(words, "|"); word; word = strtok(NULL, "|"), rows++)
            ck_assert_msg(dead_letter_state_of_name(slice_of(word), &state), "%s", word);
    }
    ck_assert_int_eq(rows, 4 * DEAD_LETTER_STATE_COUNT + 3); /* list, stats, show, export; replay, discard, restore */
}
END_TEST

START_TEST(states)
{
    char words[64];
    enum local_message_state state;
    const enum ctl_option_id options[] = {CTL_OPTION_outbox_list_state, CTL_OPTION_outbox_purge_state};

    for (size_t i = 0; i < COUNT(options); i++) {
        snprintf(words, sizeof words, "%s", ctl_options[options[i]].value);
        for (char *word = strtok(words, "|"); word; word = strtok(NULL, "|"))
            ck_assert_msg(local_message_state_of_name(slice_of(word), &state), "%s", word);
    }
    ck_assert(!local_message_state_of_name(slice_of("dead"), &state));
}
END_TEST

START_TEST(record)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    record_text(&line, "a", "x\"\n");
    record_open(&line, "b", '[');
    record_open(&line, NULL, '{');
    record_close(&line, '}');
    record_open(&line, NULL, '{');
    record_number(&line, "c", INT64_MIN);
    record_bool(&line, "d", false);
    record_close(&line, '}');
    record_close(&line, ']');
    record_time(&line, "e", 0);
    record_time(&line, "f", 1796119200500);
    record_null(&line, "g");
    record_slice(&line, "h", (struct slice){"a\0\xff", 3});
    record_close(&line, '}');
    ck_assert_str_eq(line.data, "{\"a\":\"x\\\"\\n\",\"b\":[{},{\"c\":-9223372036854775808,\"d\":false}],\"e\":null,"
                                "\"f\":\"2026-12-01T10:00:00.500Z\",\"g\":null,\"h\":\"a\\u0000\xef\xbf\xbd\"}");
    strbuf_release(&line);
}
END_TEST

START_TEST(near_words)
{
    char longest[80];
    struct near near;

    near_begin(&near, "preheet");
    near_try(&near, "create");
    near_try(&near, "preheat");
    near_try(&near, "prehea");
    ck_assert_str_eq(near.best, "preheat");
    near_begin(&near, "x");
    near_try(&near, "up");
    ck_assert_ptr_null(near.best);
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    near_begin(&near, longest);
    near_try(&near, longest);
    ck_assert_ptr_null(near.best);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ctl");
    TCase *line = tcase_create("line"), *help = tcase_create("help"), *config = tcase_create("config"),
          *pure = tcase_create("pure");

    tcase_add_loop_test(line, mistake, 0, COUNT(mistakes));
    tcase_add_test(line, output_to_nobody);
    tcase_add_loop_test(help, help_of_command, 0, CTL_COMMAND_COUNT);
    tcase_add_test(help, help_of_all);
    tcase_add_test(help, tables);
    tcase_add_test(config, config_good);
    tcase_add_test(config, config_bad);
    tcase_add_test(config, config_defaults);
    tcase_add_loop_test(pure, when, 0, COUNT(whens));
    tcase_add_loop_test(pure, past, 0, COUNT(pasts));
    tcase_add_loop_test(pure, payload, 0, COUNT(payloads));
    tcase_add_test(pure, base64);
    tcase_add_test(pure, no_base64);
    tcase_add_test(pure, span);
    tcase_add_test(pure, tallied);
    tcase_add_test(pure, states);
    tcase_add_test(pure, states_of_letters);
    tcase_add_test(pure, record);
    tcase_add_test(pure, near_words);
    suite_add_tcase(s, line);
    suite_add_tcase(s, help);
    suite_add_tcase(s, config);
    suite_add_tcase(s, pure);
    return testing_main(s);
}
