/* orderctl(1), from the tables. */
#include "orderd/manual.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"

static void add_option(struct strbuf *out, const struct ctl_option *o)
{
    struct strbuf text = STRBUF_INIT;
    char name[64];

    snprintf(name, sizeof name, "--%s", o->spelling);
    manual_entry(out, name, o->value);
    strbuf_addf(&text, "%c%s", toupper((unsigned char)o->help[0]), o->help + 1);
    if (o->type != CTL_FLAG && !o->def)
        strbuf_add_str(&text, " (must be given)");
    else if (o->def && o->def[0])
        strbuf_addf(&text, " (default %s)", o->def);
    strbuf_add_char(&text, '.');
    manual_below(out, text.data);
    strbuf_release(&text);
}

static void add_command(struct strbuf *out, enum ctl_command_id id)
{
    const struct ctl_command *c = &ctl_commands[id];

    strbuf_addf(out, "\n## orderctl %s", c->words);
    strbuf_addf(out, "%s%s\n\n", c->operands[0] ? " " : "", c->operands);
    strbuf_add_char(out, (char)toupper((unsigned char)c->brief[0]));
    manual_text(out, c->brief + 1);
    strbuf_add_str(out, ".\n");
    for (size_t i = 0; i < CTL_OPTION_COUNT; i++) {
        if (ctl_options[i].command == id)
            add_option(out, &ctl_options[i]);
    }
    manual_prose(out, c->more);
}

void ctl_manual_commands(struct strbuf *out)
{
    for (int id = 0; id < CTL_COMMAND_COUNT; id++)
        add_command(out, (enum ctl_command_id)id);
}

void ctl_manual_options(struct strbuf *out)
{
    for (size_t i = 0; i < CTL_GLOBAL_COUNT; i++) {
        const struct ctl_global *g = &ctl_globals[i];
        struct strbuf text = STRBUF_INIT;
        char name[64];

        if (g->letter)
            snprintf(name, sizeof name, "-%c, --%s", g->letter, g->spelling);
        else
            snprintf(name, sizeof name, "--%s", g->spelling);
        manual_entry(out, name, g->value);
        strbuf_addf(&text, "%c%s.", toupper((unsigned char)g->help[0]), g->help + 1);
        manual_below(out, text.data);
        strbuf_release(&text);
    }
}

void ctl_manual_exit_codes(struct strbuf *out)
{
    manual_prose(out, ctl_exit_codes + 1);
}

/* ---- words ---- */

/* Commands of one first word stand together: it is told with the first of them. */
static void tell_command(size_t i, manual_word_fn on_word, void *arg)
{
    const char *words = ctl_commands[i].words, *space = strchr(words, ' ');
    char first[CTL_PATH_MAX];

    if (!space) {
        on_word(arg, &(struct manual_word){.path = "", .word = words, .help = ctl_commands[i].brief});
        return;
    }
    snprintf(first, sizeof first, "%.*s", (int)(space - words), words);
    if (i == 0 || !ctl_next_word(ctl_commands[i - 1].words, first))
        on_word(arg, &(struct manual_word){.path = "", .word = first, .help = ""});
    on_word(arg, &(struct manual_word){.path = first, .word = space + 1, .help = ctl_commands[i].brief});
}

static void tell_option(const struct ctl_option *o, manual_word_fn on_word, void *arg)
{
    char name[64];
    struct manual_word w = {.path = ctl_commands[o->command].words, .word = name, .choice = o->value, .help = o->help};

    snprintf(name, sizeof name, "--%s", o->spelling);
    w.kind = o->type == CTL_FLAG                               ? MANUAL_FLAG
             : o->type == CTL_CHOICE || o->type == CTL_CHOICES ? MANUAL_CHOICE
                                                               : MANUAL_VALUE;
    on_word(arg, &w);
}

static void tell_global(const struct ctl_global *g, manual_word_fn on_word, void *arg)
{
    char name[64];
    struct manual_word w = {.path = "", .word = name, .letter = g->letter, .choice = "", .help = g->help};

    snprintf(name, sizeof name, "--%s", g->spelling);
    w.kind = !g->value[0] ? MANUAL_FLAG : strcmp(g->value, "FILE") == 0 ? MANUAL_FILE : MANUAL_VALUE;
    on_word(arg, &w);
}

void ctl_manual_words(manual_word_fn on_word, void *arg)
{
    for (size_t i = 0; i < CTL_COMMAND_COUNT; i++)
        tell_command(i, on_word, arg);
    for (size_t i = 0; i < CTL_OPTION_COUNT; i++)
        tell_option(&ctl_options[i], on_word, arg);
    for (size_t i = 0; i < CTL_GLOBAL_COUNT; i++)
        tell_global(&ctl_globals[i], on_word, arg);
}
