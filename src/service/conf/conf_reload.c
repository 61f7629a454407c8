#include "orderd/conf.h"

#include "conf_private.h"
#include "conf_rule.h"
#include "conf_value.h"

struct merge {
    const struct conf *current;
    struct conf *fresh;
    bool set_back[CONF_KEY_COUNT]; /* rows that changed in the file and keep their old value */
};

static bool same(const struct merge *m, size_t i)
{
    return conf_value_equal(&conf_keys[i], conf_field_const(m->current, i), conf_field_const(m->fresh, i));
}

static const char *copy_text(struct conf *to, const char *text)
{
    return text ? conf_strdup(to, text) : NULL;
}

static void set_back(struct merge *m, size_t i)
{
    const struct conf_origin *from = &m->current->origins->of[i];
    struct conf_origin *to = &m->fresh->origins->of[i];

    if (same(m, i))
        return;
    conf_value_copy(&conf_keys[i], conf_field(m->fresh, i), conf_field_const(m->current, i), m->fresh->origins->arena);
    *to = (struct conf_origin){.file = copy_text(m->fresh, from->file),
                               .line = from->line,
                               .file_name = copy_text(m->fresh, from->file_name),
                               .file_path = copy_text(m->fresh, from->file_path)};
    m->set_back[i] = true;
}

/* Both files keep the rules, but a mix of them may not: then both keys of the rule stay as they are. That ends, since
 * each round sets back at least one more row and `current` keeps the rules. */
static void heal_rules(struct merge *m)
{
    const struct conf_rule *rule;

    while ((rule = conf_rule_broken(m->fresh)) != NULL) {
        set_back(m, rule->lower);
        set_back(m, rule->upper);
    }
}

static void add_name(struct strbuf *list, size_t i)
{
    strbuf_addf(list, "%s%s.%s", list->len ? "," : "", conf_keys[i].section, conf_keys[i].name);
}

void conf_merge_reload(const struct conf *current, struct conf *fresh, struct strbuf *taken,
                       struct strbuf *need_restart)
{
    struct merge m = {.current = current, .fresh = fresh};

    for (size_t i = 0; i < CONF_KEY_COUNT; i++) {
        if (!conf_keys[i].reload)
            set_back(&m, i);
    }
    heal_rules(&m);
    for (size_t i = 0; i < CONF_KEY_COUNT; i++) {
        if (m.set_back[i])
            add_name(need_restart, i);
        else if (!same(&m, i))
            add_name(taken, i);
    }
}
