#include "help.h"

#include <stdio.h>
#include <string.h>

#include "orderd/output.h"
#include "orderd/strbuf.h"

#define TEXT_COLUMN    28
#define COMMAND_COLUMN 11
#define WIDTH          78

enum exitcode help_print(const char *text)
{
    fputs(text, stdout);
    return output_end("orderload", EXIT_OK, false);
}

static void pad(struct strbuf *out, size_t line_begin, size_t column)
{
    while (out->len - line_begin < column)
        strbuf_add_char(out, ' ');
}

/* Words (separated by spaces or line ends) from the column on, broken before the width is passed. */
static void wrap(struct strbuf *out, size_t line_begin, size_t column, const char *text)
{
    while (*text) {
        size_t word = strcspn(text, " \n");

        if (out->len - line_begin + word + 1 > WIDTH) {
            strbuf_add_char(out, '\n');
            line_begin = out->len;
        }
        if (out->len - line_begin < column)
            pad(out, line_begin, column);
        else if (out->len > line_begin)
            strbuf_add_char(out, ' ');
        strbuf_add(out, text, word);
        text += word;
        text += strspn(text, " \n");
    }
    strbuf_add_char(out, '\n');
}

static void add_option(struct strbuf *out, const struct load_option_row *row)
{
    size_t begin = out->len;
    char text[512];

    strbuf_addf(out, "  %s--%s %s", strcmp(row->name, "config") == 0 ? "-c, " : "    ", row->name, row->argument);
    if (out->len - begin >= TEXT_COLUMN) {
        strbuf_add_char(out, '\n');
        begin = out->len;
    }
    if (row->def[0] && strcmp(row->def, "-1") != 0)
        snprintf(text, sizeof text, "%s (default %s)", row->prose, row->def);
    else
        snprintf(text, sizeof text, "%s", row->prose);
    wrap(out, begin, TEXT_COLUMN, text);
}

static enum exitcode print_and_release(struct strbuf *out)
{
    enum exitcode code = help_print(out->data);

    strbuf_release(out);
    return code;
}

enum exitcode help_command(enum load_command command)
{
    const struct load_command_row *c = &load_command_rows[command];
    struct strbuf out = STRBUF_INIT;
    size_t begin;

    strbuf_addf(&out, "Usage: orderload %s %s\n\n", c->name, c->arguments);
    wrap(&out, out.len, 0, c->prose);
    strbuf_add_char(&out, '\n');
    for (size_t i = 0; i < load_option_count; i++) {
        if (load_option_applies(&load_option_rows[i], command))
            add_option(&out, &load_option_rows[i]);
    }
    begin = out.len;
    strbuf_add_str(&out, "  -h, --help");
    wrap(&out, begin, TEXT_COLUMN, "print this");
    strbuf_addf(&out, "\nExamples:\n%s", c->examples);
    return print_and_release(&out);
}

static void add_commands(struct strbuf *out)
{
    for (int command = 0; command < LOAD_COMMANDS; command++) {
        size_t begin = out->len;

        strbuf_addf(out, "  %s", load_command_rows[command].name);
        wrap(out, begin, COMMAND_COLUMN, load_command_rows[command].line);
    }
}

enum exitcode help_top(void)
{
    struct strbuf out = STRBUF_INIT;

    strbuf_add_str(&out, "Usage: orderload COMMAND [OPTIONS]      (in any order)\n"
                         "       orderload COMMAND --help\n\n"
                         "Makes load for orderd as a web tier does, and proves by id sets what became of\n"
                         "it.\n\n");
    add_commands(&out);
    strbuf_add_str(&out, "\nExamples:\n");
    for (int command = 0; command < LOAD_COMMANDS; command++)
        strbuf_add(&out, load_command_rows[command].examples, strcspn(load_command_rows[command].examples, "\n") + 1);
    strbuf_add_str(&out, "\nServers and accounts come from the daemon's configuration file (-c FILE),\n"
                         "secrets from the files it names. Progress goes to standard error: a bar on a\n"
                         "terminal (NO_COLOR is respected), else a line every 5 s.\n\n"
                         "Exit status: 0 the verdict is good, 1 it is not, 64 wrong command line,\n"
                         "65 the activity takes no such orders, or a file of orders or payments is damaged\n"
                         "or has none of it, 69 a server is away, 74 a file cannot be read or written,\n"
                         "78 configuration, schema, topology or account is wrong.\n");
    return print_and_release(&out);
}
