/* The parts by name, and those that belong to no program. */
#include "orderd/manual.h"

#include <stdio.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/conf.h"

struct keys {
    struct strbuf *out;
    char section[32];
};

static void add_key(void *arg, const struct conf_setting *s)
{
    struct keys *keys = arg;
    char name[96];
    struct strbuf text = STRBUF_INIT;

    if (strcmp(keys->section, s->section) != 0) {
        snprintf(keys->section, sizeof keys->section, "%s", s->section);
        strbuf_addf(keys->out, "\n## %s\n", s->section);
    }
    snprintf(name, sizeof name, "%s.%s", s->section, s->name);
    strbuf_addf(&text, "= %s", s->value);
    manual_entry(keys->out, name, text.data);
    strbuf_reset(&text);
    manual_below(keys->out, s->prose);
    strbuf_addf(&text, "Takes %s; %s.", s->expected, s->reload ? "read again on SIGHUP" : "read once at start");
    strbuf_add_char(keys->out, '\n');
    manual_below(keys->out, text.data);
    strbuf_release(&text);
}

static void conf_keys_part(struct strbuf *out)
{
    struct keys keys = {.out = out};

    conf_each(NULL, add_key, &keys);
}

bool manual_part(const char *name, struct strbuf *out)
{
    static const struct {
        const char *name;
        void (*add)(struct strbuf *out);
    } parts[] = {
        {"conf-keys", conf_keys_part},
        {"orderctl-commands", ctl_manual_commands},
        {"orderctl-options", ctl_manual_options},
        {"orderctl-exit-codes", ctl_manual_exit_codes},
        {"orderload-commands", load_manual_commands},
        {"orderd-options", daemon_manual_options},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(parts[i].name, name) == 0) {
            parts[i].add(out);
            return true;
        }
    }
    return manual_completion(name, out);
}
