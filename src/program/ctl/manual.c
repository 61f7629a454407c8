/* orderctl(1), from the tables. */
#include "orderd/manual.h"

#include <ctype.h>
#include <stdio.h>

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
