/* --help, from the tables. */
#include "ctl.h"

#include <stdio.h>
#include <string.h>

#define LINE_WIDTH 78
#define VALUE_MAX  50

/* Column of the text behind a name; longer names push it to the next line. */
#define TEXT_COLUMN 22

/* Words of text after `column` used columns, broken into lines that begin at `indent`. */
static void add_wrapped(struct strbuf *out, const char *text, size_t column, size_t indent)
{
    bool first = true;

    while (*text) {
        size_t len = strcspn(text, " ");

        if (!first && column + 1 + len > LINE_WIDTH) {
            strbuf_addf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            strbuf_add_char(out, ' ');
            column++;
        }
        strbuf_add(out, text, len);
        column += len;
        text += len + strspn(text + len, " ");
        first = false;
    }
    strbuf_add_char(out, '\n');
}

/* "  name          text" */
static void add_item(struct strbuf *out, const char *name, const char *text)
{
    size_t len = strlen(name) + 2;

    strbuf_addf(out, "  %s", name);
    if (len + 1 > TEXT_COLUMN) {
        strbuf_add_char(out, '\n');
        len = 0;
    }
    strbuf_addf(out, "%*s", (int)(TEXT_COLUMN - len), "");
    add_wrapped(out, text, TEXT_COLUMN, TEXT_COLUMN);
}

static void add_globals(struct strbuf *out, const char *title)
{
    strbuf_addf(out, "\n%s:\n", title);
    for (size_t i = 0; i < CTL_GLOBAL_COUNT; i++) {
        const struct ctl_global *g = &ctl_globals[i];
        char name[64], letter[8] = "    ";

        if (g->letter)
            snprintf(letter, sizeof letter, "-%c, ", g->letter);
        snprintf(name, sizeof name, "%s--%s%s%s", letter, g->spelling, g->value[0] ? " " : "", g->value);
        add_item(out, name, g->help);
    }
}

static void add_commands(const char *path, struct strbuf *out)
{
    for (size_t i = 0; i < CTL_COMMAND_COUNT; i++) {
        const struct ctl_command *c = &ctl_commands[i];
        char name[64];

        if (!ctl_next_word(c->words, path))
            continue;
        snprintf(name, sizeof name, "%s%s%s", c->words, c->operands[0] ? " " : "", c->operands);
        add_item(out, name, c->brief);
    }
}

const char ctl_exit_codes[] = "\n"
                              "Exit codes: 0 done; 1 a check says no; 3 done in part; 64 wrong command line;\n"
                              "65 refused by a rule, or wrong input; 69 a server is away; 70 a bug of orderd;\n"
                              "74 output cannot be written; 75 try again later; 77 no permission;\n"
                              "78 configuration, account, schema or topology is wrong. Data is on standard\n"
                              "output, messages on standard error.\n";

static void help_all(struct strbuf *out)
{
    strbuf_add_str(out, "Usage: orderctl [OPTION...] COMMAND [ARGUMENT...]\n"
                        "\n"
                        "For the people who run orderd: schema, broker topology, activities (sales)\n"
                        "and the local message table (outbox).\n"
                        "Whatever changes something has --dry-run, and may be repeated.\n"
                        "\n"
                        "Commands:\n");
    add_commands("", out);
    add_globals(out, "Options, before or after the command");
    strbuf_add_str(out, ctl_exit_codes);
    strbuf_add_str(out, "\n"
                        "The first steps:\n"
                        "  orderctl migrate up\n"
                        "  orderctl topology apply\n"
                        "  orderctl activity create --help\n");
}

static void help_group(const char *path, struct strbuf *out)
{
    strbuf_addf(out,
                "Usage: orderctl [OPTION...] %s COMMAND [ARGUMENT...]\n"
                "\n"
                "Commands:\n",
                path);
    add_commands(path, out);
    add_globals(out, "Options");
    strbuf_addf(out, "\nOf one command: orderctl %s COMMAND --help\n", path);
}

/* As it stands in a line; what has too many words for that is explained below. */
static const char *value_name(const struct ctl_option *o)
{
    return strlen(o->value) > VALUE_MAX ? "WORD" : o->value;
}

static void add_words(struct strbuf *out, const char *choices)
{
    strbuf_add_str(out, "; WORD is one of ");
    for (const char *c = choices; *c; c++) {
        if (*c == '|')
            strbuf_add_str(out, ", ");
        else
            strbuf_add_char(out, *c);
    }
}

/* Usage lines are broken between options, never inside one. */
static void add_usage(enum ctl_command_id id, struct strbuf *out)
{
    const struct ctl_command *c = &ctl_commands[id];
    size_t column, indent = strlen("       orderctl ");
    char piece[96];

    snprintf(piece, sizeof piece, "Usage: orderctl %s", c->words);
    strbuf_add_str(out, piece);
    column = strlen(piece);
    for (size_t i = 0; i <= CTL_OPTION_COUNT; i++) {
        const struct ctl_option *o = i < CTL_OPTION_COUNT ? &ctl_options[i] : NULL;
        bool needed = o && o->type != CTL_FLAG && !o->def;

        if (o ? o->command != id : !c->operands[0])
            continue;
        if (o)
            snprintf(piece, sizeof piece, "%s--%s%s%s%s", needed ? "" : "[", o->spelling, o->value[0] ? " " : "",
                     value_name(o), needed ? "" : "]");
        else
            snprintf(piece, sizeof piece, "%s", c->operands);
        if (column + 1 + strlen(piece) > LINE_WIDTH) {
            strbuf_addf(out, "\n%*s", (int)indent - 1, "");
            column = indent - 1;
        }
        strbuf_addf(out, " %s", piece);
        column += 1 + strlen(piece);
    }
    strbuf_add_char(out, '\n');
}

static void add_options(enum ctl_command_id id, struct strbuf *out)
{
    bool any = false;

    for (size_t i = 0; i < CTL_OPTION_COUNT; i++) {
        const struct ctl_option *o = &ctl_options[i];
        struct strbuf text = STRBUF_INIT;
        char name[64];

        if (o->command != id)
            continue;
        if (!any)
            strbuf_add_str(out, "\nOptions:\n");
        any = true;
        snprintf(name, sizeof name, "--%s%s%s", o->spelling, o->value[0] ? " " : "", value_name(o));
        strbuf_add_str(&text, o->help);
        if (value_name(o) != o->value)
            add_words(&text, o->value);
        if (o->def && o->def[0])
            strbuf_addf(&text, " (default %s)", o->def);
        add_item(out, name, text.data);
        strbuf_release(&text);
    }
}

static void help_command(enum ctl_command_id id, struct strbuf *out)
{
    add_usage(id, out);
    strbuf_addf(out, "\n%c%s.\n\n%s", ctl_commands[id].brief[0] - 'a' + 'A', ctl_commands[id].brief + 1,
                ctl_commands[id].more);
    add_options(id, out);
    add_globals(out, "Options of every command");
    strbuf_add_str(out, "\nAll exit codes: orderctl --help\n");
}

void ctl_help(const struct ctl *ctl, struct strbuf *out)
{
    if (ctl->id != CTL_COMMAND_COUNT)
        help_command(ctl->id, out);
    else if (ctl->path[0])
        help_group(ctl->path, out);
    else
        help_all(out);
}
