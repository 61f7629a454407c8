#include "testing_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/exitcode.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct testing_operand operands[] = {
    {"ID", NULL, "x", EXIT_USAGE, false},
    {"NO", "1812345678901234567", "a b", EXIT_USAGE, false},
    {"KEY|ID", "1", NULL, 0, false},
    {"LETTER", "1", "x", EXIT_USAGE, true},
    {"FILE", "/dev/null", "/nowhere/letters.jsonl", EXIT_IO, true},
    {"INSTANCE", "1", "a b", EXIT_USAGE, false},
};

const struct testing_operand *testing_operand_of(size_t command)
{
    const char *name = ctl_commands[command].operands + strspn(ctl_commands[command].operands, "[");
    size_t len = strcspn(name, ".]");

    if (len == 0)
        return NULL;
    for (size_t i = 0; i < COUNT(operands); i++) {
        if (strlen(operands[i].name) == len && memcmp(operands[i].name, name, len) == 0)
            return &operands[i];
    }
    ck_abort_msg("tests/testing_line.c has no row for the operand %s of %s", name, ctl_commands[command].words);
    return NULL;
}

void testing_line_add(struct testing_line *line, const char *text)
{
    ck_assert_uint_lt(line->count, TESTING_LINE_ARGS - 1);
    line->args[line->count++] = text;
    line->args[line->count] = NULL;
}

/* Texts of its own are as many as arguments at most. */
static char *own(struct testing_line *line)
{
    return line->texts[line->count];
}

void testing_line_words(struct testing_line *line, size_t command, const char *file)
{
    const char *words = ctl_commands[command].words;

    memset(line, 0, sizeof *line);
    testing_line_add(line, "orderctl");
    if (file) {
        testing_line_add(line, "-c");
        testing_line_add(line, file);
    }
    testing_line_add(line, "-q");
    while (*words) {
        size_t len = strcspn(words, " ");

        snprintf(own(line), sizeof line->texts[0], "%.*s", (int)len, words);
        testing_line_add(line, own(line));
        words += len + (words[len] == ' ');
    }
}

/* Two times in one line follow each other: begin and end. */
static void good_value(struct testing_line *line, const struct ctl_option *o, const char *activity)
{
    char *text = own(line);
    size_t size = sizeof line->texts[0];

    switch (o->type) {
    case CTL_FLAG:
        return;
    case CTL_NUMBER:
        snprintf(text, size, "%" PRId64, o->least > 1 ? o->least : 1);
        if (strcmp(o->spelling, "id") == 0)
            snprintf(text, size, "%s", activity);
        break;
    case CTL_DURATION:
        snprintf(text, size, "%" PRId64 "ms", o->least > 1 ? o->least : 1);
        break;
    case CTL_TEXT:
        memset(text, 'A', (size_t)(o->least > 1 ? o->least : 1));
        break;
    case CTL_WHEN:
        snprintf(text, size, "+%zuh", line->count);
        break;
    case CTL_PAST:
        snprintf(text, size, "-1h");
        break;
    case CTL_CHOICE:
    case CTL_CHOICES:
        snprintf(text, size, "%.*s", (int)strcspn(o->value, "|"), o->value);
        break;
    }
    testing_line_add(line, text);
}

void testing_line_fill(struct testing_line *line, size_t command, size_t but, const char *activity)
{
    const struct testing_operand *operand = testing_operand_of(command);

    if (operand)
        testing_line_add(line, operand->good ? operand->good : activity);
    for (size_t i = 0; i < CTL_OPTION_COUNT; i++) {
        const struct ctl_option *o = &ctl_options[i];

        if ((size_t)o->command != command || o->type == CTL_FLAG || o->def || i == but)
            continue;
        snprintf(own(line), sizeof line->texts[0], "--%s", o->spelling);
        testing_line_add(line, own(line));
        good_value(line, o, activity);
    }
}

void testing_line_dry_run(struct testing_line *line, size_t command)
{
    for (size_t i = 0; i < CTL_OPTION_COUNT; i++) {
        const struct ctl_option *o = &ctl_options[i];

        if ((size_t)o->command != command || strcmp(o->spelling, "dry-run") != 0)
            continue;
        if (sscanf(o->help, "with %63[^:]:", own(line)) == 1)
            testing_line_add(line, own(line));
        testing_line_add(line, "--dry-run");
    }
}

void testing_says(const struct program *p, const char *program, int code, const char *what)
{
    size_t len = strlen(program);
    const char *end = strchr(p->err, '\n');

    ck_assert_msg(p->code == code, "%s ended with %d and not %d: %s", what, p->code, code, p->err);
    ck_assert_msg(end && end[1] == '\0', "%s does not say one line:\n%s", what, p->err);
    ck_assert_msg(strncmp(p->err, program, len) == 0 && strncmp(p->err + len, ": ", 2) == 0, "%s says %s", what,
                  p->err);
    for (const char *c = p->err; c < end; c++)
        ck_assert_msg((unsigned char)*c >= ' ', "%s says a control character: %s", what, p->err);
}

const char *testing_line_text(const struct testing_line *line)
{
    static char text[1024];
    size_t len = 0;

    for (size_t i = 0; i < line->count && len < sizeof text; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s\"%s\"", i ? " " : "", line->args[i]);
    return text;
}
