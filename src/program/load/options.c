#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help.h"
#include "orderd/check.h"
#include "orderd/error.h"
#include "orderd/near.h"
#include "orderd/units.h"

const struct load_option_row load_option_rows[] = {
#define X(field, name, type, commands, def, min, max, argument, prose)                                                 \
    {name, LOAD_OPTION_##type, commands, def, min, max, argument, prose, offsetof(struct load_options, field)},
#include "orderd/tbl/load_option.h"
#undef X
};

const size_t load_option_count = sizeof load_option_rows / sizeof *load_option_rows;

const struct load_command_row load_command_rows[LOAD_COMMANDS] = {
#define X(command, name, arguments, line, prose, examples) {name, arguments, line, prose, examples},
#include "orderd/tbl/load_command.h"
#undef X
};

const char *load_command_name(enum load_command command)
{
    CHECK(command < LOAD_COMMANDS);
    return load_command_rows[command].name;
}

bool load_option_applies(const struct load_option_row *row, enum load_command command)
{
    static const char letters[LOAD_COMMANDS] = {
        [LOAD_SALE] = 'S', [LOAD_FILL] = 'F', [LOAD_RATE] = 'R', [LOAD_PAY] = 'P', [LOAD_VERIFY] = 'V'};

    return strchr(row->commands, letters[command]) != NULL;
}

/* Digits with at most one point in between; nothing else that strtod would take. */
static bool parse_decimal(const char *text, size_t len, double *out)
{
    char digits[32];

    if (len == 0 || len >= sizeof digits || strspn(text, "0123456789.") < len || text[0] == '.' || text[len - 1] == '.')
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    if (strchr(digits, '.') != strrchr(digits, '.'))
        return false;
    *out = strtod(digits, NULL);
    return true;
}

static bool parse_percent(const char *text, double *out)
{
    size_t len = strlen(text);

    if (len > 0 && text[len - 1] == '%')
        len--;
    return parse_decimal(text, len, out);
}

static bool parse_rate(const char *text, double *out)
{
    if (strcmp(text, "max") == 0) {
        *out = 0;
        return true;
    }
    return parse_decimal(text, strlen(text), out) && *out > 0;
}

static bool add_file(struct load_files *files, const char *name)
{
    if (files->count == LOAD_FILES_MAX || !name[0])
        return false;
    files->names[files->count++] = name;
    return true;
}

/* Sets one field; false where the text is not of its type and range. */
static bool set(struct load_options *o, const struct load_option_row *row, const char *text)
{
    void *field = (char *)o + row->offset;
    double decimal;

    switch (row->type) {
    case LOAD_OPTION_INT:
        return units_parse_i64(text, row->min, row->max, field);
    case LOAD_OPTION_PERCENT:
    case LOAD_OPTION_RATE:
        if (!(row->type == LOAD_OPTION_RATE ? parse_rate : parse_percent)(text, &decimal) || decimal > (double)row->max)
            return false;
        *(double *)field = decimal;
        return true;
    case LOAD_OPTION_DURATION:
        return units_parse_duration(text, field) && *(int64_t *)field <= row->max;
    case LOAD_OPTION_TEXT:
        *(const char **)field = text;
        return text[0] != '\0';
    case LOAD_OPTION_FLAG:
        *(bool *)field = true;
        return true;
    case LOAD_OPTION_FILES:
        return add_file(field, text);
    }
    return false;
}

static void set_defaults(struct load_options *o)
{
    for (size_t i = 0; i < load_option_count; i++) {
        if (load_option_rows[i].def[0])
            CHECK(set(o, &load_option_rows[i], load_option_rows[i].def));
    }
}

/* What was typed may hold anything: an error's sentence is one line without control characters. */
static enum exitcode misuse(const struct load_options *o, const char *problem, const char *what)
{
    bool known = o->command < LOAD_COMMANDS;
    struct error err;

    (void)error_set(&err, ERROR_INPUT_INVALID, "%s%.60s; see orderload %s%s--help", problem, what,
                    known ? load_command_name(o->command) : "", known ? " " : "");
    fprintf(stderr, "orderload: %s\n", err.text);
    return EXIT_USAGE;
}

static enum exitcode wrong_value(const struct load_options *o, const struct load_option_row *row, const char *text)
{
    const char *expected = row->argument;
    char range[64] = "", problem[200];

    if (row->type == LOAD_OPTION_INT)
        snprintf(range, sizeof range, " from %lld to %lld", (long long)row->min, (long long)row->max);
    else if (row->type == LOAD_OPTION_PERCENT)
        snprintf(range, sizeof range, " from 0 to %lld", (long long)row->max);
    else if (row->type == LOAD_OPTION_DURATION)
        snprintf(range, sizeof range, " like \"500ms\", \"30s\" or \"5m\"");
    else if (row->type == LOAD_OPTION_RATE)
        expected = o->command == LOAD_RATE ? "a number a second" : "a number a second, or max";
    snprintf(problem, sizeof problem, "--%s cannot be \"%.60s\" (expected %s%s)", row->name, text, expected, range);
    return misuse(o, problem, "");
}

enum { VAL_HELP = 'h', VAL_CONFIG = 'c', VAL_VERSION = 'V', VAL_FIRST_ROW = 256 };

/* The options of a command, or of all (LOAD_COMMANDS) before the command is known. */
static void build(enum load_command command, struct option *out)
{
    size_t n = 0;

    for (size_t i = 0; i < load_option_count; i++) {
        const struct load_option_row *row = &load_option_rows[i];

        if (command == LOAD_COMMANDS || load_option_applies(row, command))
            out[n++] = (struct option){row->name, row->type == LOAD_OPTION_FLAG ? no_argument : required_argument, NULL,
                                       VAL_FIRST_ROW + (int)i};
    }
    out[n++] = (struct option){"help", no_argument, NULL, VAL_HELP};
    out[n++] = (struct option){"version", no_argument, NULL, VAL_VERSION};
    out[n] = (struct option){0};
}

#define OPTIONS_MAX (sizeof load_option_rows / sizeof *load_option_rows + 3)

/* What getopt complains about: val is its answer, word the one it has in hand ("-xc" it may not be done with yet). */
static enum exitcode bad_option(const struct load_options *o, int val, const char *word, const struct option *options)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    char problem[160], name[64];
    struct near near;

    if (val == ':')
        return misuse(o, "an option needs a value: ", word);
    if (strncmp(word, "--", 2) != 0)
        return misuse(o, "unknown option ", letter);
    if (optopt)
        return misuse(o, "this option takes no value: ", word);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    near_begin(&near, name);
    for (; options->name; options++)
        near_try(&near, options->name);
    if (!near.best)
        return misuse(o, "unknown option ", word);
    snprintf(problem, sizeof problem, "unknown option --%s (did you mean --%s?)", name, near.best);
    return misuse(o, problem, "");
}

static enum exitcode print_version(void)
{
    return help_print("orderload " ORDERD_VERSION "\n");
}

static bool take_options(int argc, char **argv, struct load_options *o, enum exitcode *code)
{
    struct option options[OPTIONS_MAX];
    int val;

    build(o->command, options);
    opterr = 0;
    optind = 0; /* begins anew, whatever the order of the last time */
    while ((val = getopt_long(argc, argv, ":c:hV", options, NULL)) != -1) {
        const struct load_option_row *row = &load_option_rows[val >= VAL_FIRST_ROW ? val - VAL_FIRST_ROW : 0];

        if (val == VAL_HELP || val == VAL_VERSION) {
            *code = val == VAL_HELP ? help_command(o->command) : print_version();
            return false;
        }
        if (val == ':' || val == '?') {
            *code = bad_option(o, val, argv[optind - 1], options);
            return false;
        }
        if (val == VAL_CONFIG)
            o->conf = optarg;
        else if (!set(o, row, optarg)) {
            *code = wrong_value(o, row, optarg);
            return false;
        }
    }
    return true;
}

static bool take_words(int argc, char **argv, struct load_options *o, enum exitcode *code)
{
    for (int i = optind; i < argc; i++) {
        bool taken = false;

        if (o->command == LOAD_VERIFY)
            taken = add_file(&o->ids, argv[i]);
        else if (o->command == LOAD_FILL && i == optind)
            taken = units_parse_i64(argv[i], 1, 100000000, &o->count);
        if (!taken) {
            *code = misuse(o, "unexpected argument ", argv[i]);
            return false;
        }
    }
    return true;
}

/* What no single option can say. */
static bool complete(struct load_options *o, enum exitcode *code)
{
    const char *problem = NULL;

    if (o->activity == 0)
        problem = "--activity is missing";
    else if (o->command == LOAD_FILL && o->count == 0)
        problem = "how many messages? The count is missing";
    else if (o->command == LOAD_RATE && (o->seconds == 0 || o->rate <= 0))
        problem = "--seconds and --rate (a number) are needed";
    else if (o->command == LOAD_PAY && o->share + o->late + o->wrong + o->cancel > 100)
        problem = "--share, --late, --wrong and --cancel are more than all orders";
    else if (o->command == LOAD_VERIFY && o->ids.count == 0)
        problem = "--ids is missing: what was accepted?";
    if (problem)
        *code = misuse(o, problem, "");
    return !problem;
}

static enum load_command command_of(const char *word)
{
    int command = 0;

    while (command < LOAD_COMMANDS && strcmp(word, load_command_rows[command].name) != 0)
        command++;
    return (enum load_command)command;
}

static enum exitcode unknown_command(const struct load_options *o, const char *word)
{
    char problem[160]; /* a word that is near a command is short */
    struct near near;

    near_begin(&near, word);
    for (int command = 0; command < LOAD_COMMANDS; command++)
        near_try(&near, load_command_rows[command].name);
    if (!near.best)
        return misuse(o, "unknown command ", word);
    snprintf(problem, sizeof problem, "unknown command %s (did you mean %s?)", word, near.best);
    return misuse(o, problem, "");
}

/* Options may stand before the command: its place in argv is left in *at. Options of all commands are known here; those
 * that are not of this one are refused later. */
static bool find_command(int argc, char **argv, struct load_options *o, int *at, enum exitcode *code)
{
    struct option options[OPTIONS_MAX];
    int val;

    build(LOAD_COMMANDS, options);
    opterr = 0;
    optind = 0;
    while ((val = getopt_long(argc, argv, "+:c:hV", options, NULL)) != -1) {
        if (val == VAL_HELP)
            *code = help_top();
        else if (val == VAL_VERSION)
            *code = print_version();
        else if (val == ':' || val == '?')
            *code = bad_option(o, val, argv[optind - 1], options);
        else
            continue;
        return false;
    }
    *at = optind;
    if (optind == argc)
        *code = misuse(o, "what to do? sale, fill, rate, pay or verify", "");
    return optind < argc;
}

static enum exitcode help_about(const struct load_options *o, const char *word)
{
    enum load_command command = word ? command_of(word) : LOAD_COMMANDS;

    if (!word)
        return help_top();
    return command < LOAD_COMMANDS ? help_command(command) : unknown_command(o, word);
}

bool load_options_parse(int argc, char **argv, struct load_options *o, enum exitcode *code)
{
    int at;

    *o = (struct load_options){.command = LOAD_COMMANDS};
    set_defaults(o);
    if (!find_command(argc, argv, o, &at, code))
        return false;
    if (strcmp(argv[at], "help") == 0) {
        *code = help_about(o, argv[at + 1]);
        return false;
    }
    o->command = command_of(argv[at]);
    if (o->command == LOAD_COMMANDS) {
        *code = unknown_command(o, argv[at]);
        return false;
    }
    /* Takes the command out: what is left is a program's name and options, as getopt wants it. */
    memmove(&argv[1], &argv[0], (size_t)at * sizeof *argv);
    return take_options(argc - 1, argv + 1, o, code) && take_words(argc - 1, argv + 1, o, code) && complete(o, code);
}
