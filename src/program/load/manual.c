/* orderload(1), from the tables. */
#include "orderd/manual.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "help.h"

static void add_option(struct strbuf *out, const struct load_option_row *row)
{
    struct strbuf text = STRBUF_INIT;
    char name[64];

    snprintf(name, sizeof name, "%s--%s", strcmp(row->name, "config") == 0 ? "-c, " : "", row->name);
    manual_entry(out, name, row->argument);
    strbuf_addf(&text, "%c%s", toupper((unsigned char)row->prose[0]), row->prose + 1);
    if (row->def[0] && strcmp(row->def, "-1") != 0)
        strbuf_addf(&text, " (default %s)", row->def);
    strbuf_add_char(&text, '.');
    manual_below(out, text.data);
    strbuf_release(&text);
}

static void add_command(struct strbuf *out, enum load_command command)
{
    const struct load_command_row *c = &load_command_rows[command];
    struct strbuf examples = STRBUF_INIT;

    strbuf_addf(out, "\n## orderload %s %s\n\n", c->name, c->arguments);
    strbuf_add_char(out, (char)toupper((unsigned char)c->line[0]));
    manual_text(out, c->line + 1);
    strbuf_add_str(out, ".\n");
    manual_prose(out, c->prose);
    for (size_t i = 0; i < load_option_count; i++) {
        if (load_option_applies(&load_option_rows[i], command))
            add_option(out, &load_option_rows[i]);
    }
    strbuf_addf(&examples, "Examples:\n%s", c->examples);
    manual_prose(out, examples.data);
    strbuf_release(&examples);
}

void load_manual_commands(struct strbuf *out)
{
    for (int command = 0; command < LOAD_COMMANDS; command++)
        add_command(out, (enum load_command)command);
}

/* ---- words ---- */

static void tell_option(const char *path, const struct load_option_row *row, manual_word_fn on_word, void *arg)
{
    char name[64];
    struct manual_word w = {.path = path, .word = name, .choice = "", .help = row->prose};

    snprintf(name, sizeof name, "--%s", row->name);
    w.letter = strcmp(row->name, "config") == 0 ? 'c' : '\0';
    w.kind = row->type == LOAD_OPTION_FLAG        ? MANUAL_FLAG
             : strcmp(row->argument, "FILE") == 0 ? MANUAL_FILE
                                                  : MANUAL_VALUE;
    on_word(arg, &w);
}

void load_manual_words(manual_word_fn on_word, void *arg)
{
    for (int command = 0; command < LOAD_COMMANDS; command++) {
        const struct load_command_row *c = &load_command_rows[command];

        on_word(arg, &(struct manual_word){.path = "", .word = c->name, .help = c->line});
        for (size_t i = 0; i < load_option_count; i++) {
            if (load_option_applies(&load_option_rows[i], (enum load_command)command))
                tell_option(c->name, &load_option_rows[i], on_word, arg);
        }
    }
    on_word(arg, &(struct manual_word){
                     .path = "", .word = "--help", .letter = 'h', .kind = MANUAL_FLAG, .help = "print help"});
    on_word(arg, &(struct manual_word){
                     .path = "", .word = "--version", .letter = 'V', .kind = MANUAL_FLAG, .help = "print the version"});
}
