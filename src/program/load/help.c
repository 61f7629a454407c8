#include "help.h"

#include <stdio.h>
#include <string.h>

#include "orderd/strbuf.h"

#define TEXT_COLUMN 28
#define WIDTH       110

enum exitcode help_print(const char *text)
{
    if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
        return EXIT_OK;
    fprintf(stderr, "orderload: cannot write to standard output\n");
    return EXIT_IO;
}

static void pad(struct strbuf *out, size_t line_begin, size_t column)
{
    while (out->len - line_begin < column)
        strbuf_add_char(out, ' ');
}

/* Words from the column on, broken before the width is passed. */
static void wrap(struct strbuf *out, size_t line_begin, const char *text)
{
    while (*text) {
        size_t word = strcspn(text, " ");

        if (out->len - line_begin + word + 1 > WIDTH) {
            strbuf_add_char(out, '\n');
            line_begin = out->len;
        }
        if (out->len - line_begin < TEXT_COLUMN)
            pad(out, line_begin, TEXT_COLUMN);
        else
            strbuf_add_char(out, ' ');
        strbuf_add(out, text, word);
        text += word;
        text += strspn(text, " ");
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
    wrap(out, begin, text);
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

    strbuf_addf(&out, "Usage: orderload %s %s\n\n%s\n", c->name, c->arguments, c->prose);
    for (size_t i = 0; i < load_option_count; i++) {
        if (load_option_applies(&load_option_rows[i], command))
            add_option(&out, &load_option_rows[i]);
    }
    begin = out.len;
    strbuf_add_str(&out, "  -h, --help");
    wrap(&out, begin, "print this");
    strbuf_addf(&out, "\nExamples:\n%s", c->examples);
    return print_and_release(&out);
}

enum exitcode help_top(void)
{
    struct strbuf out = STRBUF_INIT;

    strbuf_add_str(&out, "Usage: orderload COMMAND [OPTIONS]      (in any order)\n"
                         "       orderload COMMAND --help\n\n"
                         "Makes load for orderd as a web tier does, and proves by id sets what became of it.\n\n");
    for (int command = 0; command < LOAD_COMMANDS; command++)
        strbuf_addf(&out, "  %-8s %s\n", load_command_rows[command].name, load_command_rows[command].line);
    strbuf_add_str(&out, "\nExamples:\n");
    for (int command = 0; command < LOAD_COMMANDS; command++)
        strbuf_add(&out, load_command_rows[command].examples, strcspn(load_command_rows[command].examples, "\n") + 1);
    strbuf_add_str(
        &out,
        "\nServers and accounts come from the daemon's configuration file (-c FILE), secrets from the files it "
        "names.\n"
        "Progress goes to standard error: a bar on a terminal (NO_COLOR is respected), else a line every 5 s.\n"
        "Exit status: 0 the verdict is good, 1 it is not, 64 wrong command line, 65 the activity takes no such orders\n"
        "or an ids file is damaged, 69 a server is away, 74 a file cannot be read or written, 78 configuration,\n"
        "schema, topology or account is wrong.\n");
    return print_and_release(&out);
}
