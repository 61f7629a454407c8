/* A command line becomes a struct ctl. Own code and not getopt: which options there are depends on the words before,
 * and each mistake gets a sentence. */
#include "ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/near.h"
#include "orderd/units.h"

struct line {
    struct ctl *ctl;
    char **argv;
    int argc, next;
    bool only_operands; /* after "--" */
    struct error *err;
};

static bool misuse(struct line *l, const char *fmt, ...) ORDERD_PRINTF(2, 3);

static bool misuse(struct line *l, const char *fmt, ...)
{
    const char *path = l->ctl->path, *colon = path[0] ? ": " : "";
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ctl_advise(l->ctl, "see `orderctl%s%s --help`", path[0] ? " " : "", path);
    return error_set(l->err, ERROR_INPUT_INVALID, "%s%s%s", path, colon, text);
}

bool ctl_misuse(struct ctl *ctl, struct error *err, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ctl_advise(ctl, "see `orderctl %s --help`", ctl->path);
    ctl->code = EXIT_USAGE;
    return error_set(err, ERROR_INPUT_INVALID, "%s", text);
}

static bool unknown(struct line *l, const char *what, const char *prefix, const struct near *near)
{
    if (near->best)
        return misuse(l, "unknown %s \"%s%.60s\" (did you mean \"%s%s\"?)", what, prefix, near->word, prefix,
                      near->best);
    return misuse(l, "unknown %s \"%s%.60s\"", what, prefix, near->word);
}

/* ---- words ---- */

static size_t word_length(const char *words)
{
    return strcspn(words, " ");
}

static bool unknown_word(struct line *l, const char *word)
{
    char candidates[CTL_COMMAND_COUNT][CTL_PATH_MAX];
    struct near near;

    near_begin(&near, word);
    for (size_t i = 0; i < CTL_COMMAND_COUNT; i++) {
        const char *next = ctl_next_word(ctl_commands[i].words, l->ctl->path);

        if (!next || !*next)
            continue;
        snprintf(candidates[i], sizeof candidates[i], "%.*s", (int)word_length(next), next);
        near_try(&near, candidates[i]);
    }
    return unknown(l, "command", "", &near);
}

static bool take_word(struct line *l, const char *word)
{
    struct ctl *ctl = l->ctl;

    for (size_t i = 0; i < CTL_COMMAND_COUNT; i++) {
        const char *next = ctl_next_word(ctl_commands[i].words, ctl->path);
        size_t len = next ? word_length(next) : 0;

        if (len == 0 || strlen(word) != len || memcmp(word, next, len) != 0)
            continue;
        snprintf(ctl->path, sizeof ctl->path, "%.*s", (int)(next + len - ctl_commands[i].words), ctl_commands[i].words);
        if (next[len] == '\0')
            ctl->id = (enum ctl_command_id)i;
        return true;
    }
    return unknown_word(l, word);
}

static bool take_operand(struct line *l, const char *text)
{
    struct ctl *ctl = l->ctl;

    if (ctl->id == CTL_COMMAND_COUNT) {
        if (strcmp(text, "help") != 0 || ctl->path[0])
            return take_word(l, text);
        ctl->help = true;
        return true;
    }
    if (ctl->operand_count == ctl_commands[ctl->id].most)
        return misuse(l, "unexpected argument \"%.60s\"", text);
    ctl->operands[ctl->operand_count++] = l->argv[l->next - 1];
    return true;
}

/* ---- values ---- */

static bool wrong_value(struct line *l, const struct ctl_option *o, const char *text)
{
    char least[24], most[24];

    switch (o->type) {
    case CTL_NUMBER:
        return misuse(l, "--%s \"%.60s\" is not a number from %" PRId64 " to %" PRId64, o->spelling, text, o->least,
                      o->most);
    case CTL_DURATION:
        units_format_duration(least, sizeof least, o->least);
        units_format_duration(most, sizeof most, o->most);
        return misuse(l, "--%s \"%.60s\" is not a time such as 15m, from %s to %s", o->spelling, text, least, most);
    case CTL_WHEN:
        return misuse(l, "--%s \"%.60s\" is not a time such as 2027-11-11T10:00:00Z, now or +5m", o->spelling, text);
    case CTL_PAST:
        return misuse(l, "--%s \"%.60s\" is not a time such as 2027-11-11T10:00:00Z or -5m", o->spelling, text);
    case CTL_CHOICE:
        return misuse(l, "--%s \"%.60s\" is not one of %s", o->spelling, text, o->value);
    case CTL_CHOICES:
        return misuse(l, "--%s \"%.60s\" is not some of %s, with commas between", o->spelling, text, o->value);
    default:
        if (o->least == o->most)
            return misuse(l, "--%s \"%.60s\" has not %" PRId64 " bytes", o->spelling, text, o->most);
        return misuse(l, "--%s \"%.60s\" has not %" PRId64 " to %" PRId64 " bytes", o->spelling, text, o->least,
                      o->most);
    }
}

/* Which of "a|b|c", from 0. */
static bool choose(const char *choices, const char *text, int64_t *out)
{
    size_t len = strlen(text);

    for (*out = 0; *choices; ++*out) {
        size_t word = strcspn(choices, "|");

        if (word == len && memcmp(choices, text, len) == 0)
            return true;
        choices += word + (choices[word] == '|');
    }
    return false;
}

static bool choose_some(const char *choices, const char *text, int64_t *out)
{
    char word[64];
    int64_t which;

    *out = 0;
    for (;;) {
        size_t len = strcspn(text, ",");

        snprintf(word, sizeof word, "%.*s", len < sizeof word ? (int)len : 0, text);
        if (!choose(choices, word, &which))
            return false;
        *out |= INT64_C(1) << which;
        if (!text[len])
            return true;
        text += len + 1;
    }
}

static bool read_value(const struct ctl_option *o, const char *text, struct ctl_value *v)
{
    struct activity_when when = {false, 0};
    bool good;

    *v = (struct ctl_value){true, text, 0, false};
    switch (o->type) {
    case CTL_FLAG:
        return true;
    case CTL_NUMBER:
        return units_parse_i64(text, o->least, o->most, &v->number);
    case CTL_DURATION:
        return units_parse_duration(text, &v->number) && v->number >= o->least && v->number <= o->most;
    case CTL_TEXT:
        return (int64_t)strlen(text) >= o->least && (int64_t)strlen(text) <= o->most;
    case CTL_CHOICE:
        return choose(o->value, text, &v->number);
    case CTL_CHOICES:
        return choose_some(o->value, text, &v->number);
    case CTL_WHEN:
    case CTL_PAST:
        good = o->type == CTL_WHEN ? ctl_parse_when(text, &when) : ctl_parse_past(text, &when);
        v->number = when.ms;
        v->relative = when.relative;
        return good;
    }
    return false;
}

/* The value that belongs to an option: after its '=', or the next argument. */
static const char *value_of(struct line *l, const char *attached)
{
    if (attached)
        return attached;
    return l->next < l->argc ? l->argv[l->next++] : NULL;
}

/* ---- options ---- */

/* Of commands, only those of the one that the words name; CTL_OPTION_COUNT where there is none. */
static size_t find_option(const struct line *l, const char *name, size_t len)
{
    size_t i = 0;

    while (i < CTL_OPTION_COUNT && (ctl_options[i].command != l->ctl->id || strlen(ctl_options[i].spelling) != len ||
                                    memcmp(ctl_options[i].spelling, name, len) != 0))
        i++;
    return i;
}

static bool take_option(struct line *l, size_t i, const char *attached)
{
    const struct ctl_option *o = &ctl_options[i];
    const char *text = "";

    if (l->ctl->values[i].set)
        return misuse(l, "--%s is given twice", o->spelling);
    if (o->type == CTL_FLAG && attached)
        return misuse(l, "--%s takes no value", o->spelling);
    if (o->type != CTL_FLAG && !(text = value_of(l, attached)))
        return misuse(l, "--%s needs a value", o->spelling);
    return read_value(o, text, &l->ctl->values[i]) || wrong_value(l, o, text);
}

static bool take_global(struct line *l, size_t i, const char *attached)
{
    const struct ctl_global *g = &ctl_globals[i];
    const char *text = NULL;

    if (!g->value[0] && attached)
        return misuse(l, "--%s takes no value", g->spelling);
    if (g->value[0] && !(text = value_of(l, attached)))
        return misuse(l, "--%s needs a value", g->spelling);
    switch (i) {
    case CTL_GLOBAL_CONFIG:
        l->ctl->conf_path = text;
        break;
    case CTL_GLOBAL_JSON:
        l->ctl->json = true;
        break;
    case CTL_GLOBAL_QUIET:
        l->ctl->quiet = true;
        break;
    case CTL_GLOBAL_NO_COLOR:
        l->ctl->color = false;
        break;
    case CTL_GLOBAL_HELP:
        l->ctl->help = true;
        break;
    default:
        l->ctl->version = true;
        break;
    }
    return true;
}

static bool unknown_option(struct line *l, const char *name, size_t len)
{
    char word[CTL_PATH_MAX];
    struct near near;

    snprintf(word, sizeof word, "%.*s", (int)len, name);
    near_begin(&near, word);
    for (size_t i = 0; i < CTL_OPTION_COUNT; i++) {
        if (ctl_options[i].command == l->ctl->id)
            near_try(&near, ctl_options[i].spelling);
    }
    for (size_t i = 0; i < CTL_GLOBAL_COUNT; i++)
        near_try(&near, ctl_globals[i].spelling);
    return unknown(l, "option", "--", &near);
}

static bool take_long(struct line *l, const char *name)
{
    size_t len = strcspn(name, "="), i = find_option(l, name, len);
    const char *attached = name[len] == '=' ? name + len + 1 : NULL;

    if (i < CTL_OPTION_COUNT)
        return take_option(l, i, attached);
    for (i = 0; i < CTL_GLOBAL_COUNT; i++) {
        if (strlen(ctl_globals[i].spelling) == len && memcmp(ctl_globals[i].spelling, name, len) == 0)
            return take_global(l, i, attached);
    }
    return unknown_option(l, name, len);
}

/* "-qV", "-cFILE" */
static bool take_short(struct line *l, const char *letters)
{
    for (; *letters; letters++) {
        size_t i = 0;

        while (i < CTL_GLOBAL_COUNT && ctl_globals[i].letter != *letters)
            i++;
        if (i == CTL_GLOBAL_COUNT)
            return misuse(l, "unknown option \"-%c\"", *letters);
        if (ctl_globals[i].value[0])
            return take_global(l, i, letters[1] ? letters + 1 : NULL);
        if (!take_global(l, i, NULL))
            return false;
    }
    return true;
}

static bool take(struct line *l, const char *text)
{
    if (l->only_operands || text[0] != '-' || text[1] == '\0')
        return take_operand(l, text);
    if (strcmp(text, "--") == 0) {
        l->only_operands = true;
        return true;
    }
    return text[1] == '-' ? take_long(l, text + 2) : take_short(l, text + 1);
}

/* ---- what must be there ---- */

static bool word_missing(struct line *l)
{
    struct strbuf list = STRBUF_INIT;
    size_t from = 0;

    for (size_t i = 0; i < CTL_COMMAND_COUNT; i++) {
        const char *next = ctl_next_word(ctl_commands[i].words, l->ctl->path);
        size_t len = next ? word_length(next) : 0;

        /* Commands of one first word stand together. */
        if (len == 0 || (list.len > 0 && list.len - from == len && memcmp(list.data + from, next, len) == 0))
            continue;
        strbuf_add_str(&list, list.len ? ", " : "");
        from = list.len;
        strbuf_add(&list, next, len);
    }
    misuse(l, "a command is missing (one of %s)", list.data);
    strbuf_release(&list);
    return false;
}

static bool complete(struct line *l)
{
    struct ctl *ctl = l->ctl;
    const struct ctl_command *command = &ctl_commands[ctl->id];

    if (ctl->operand_count < command->least)
        return misuse(l, "%.*s is missing", (int)strcspn(command->operands, "."), command->operands);
    if (ctl->operand_count && strcmp(command->operands, "ID") == 0 &&
        !units_parse_i64(ctl->operands[0], 1, INT64_MAX, &ctl->operand_id))
        return misuse(l, "\"%.60s\" is not a number from 1 to %" PRId64, ctl->operands[0], INT64_MAX);
    if (ctl->operand_count && strstr(command->operands, "INSTANCE") && !conf_instance_valid(ctl->operands[0]))
        return misuse(l, "\"%.60s\" is no name of an instance (at most 40 of letters, digits, '_', '.', '-')",
                      ctl->operands[0]);
    for (size_t i = 0; i < CTL_OPTION_COUNT; i++) {
        const struct ctl_option *o = &ctl_options[i];

        if (o->command != ctl->id || ctl->values[i].set || o->type == CTL_FLAG)
            continue;
        if (!o->def)
            return misuse(l, "--%s is missing", o->spelling);
        if (o->def[0] && !read_value(o, o->def, &ctl->values[i]))
            return wrong_value(l, o, o->def);
    }
    return true;
}

bool ctl_parse(struct ctl *ctl, int argc, char **argv, struct error *err)
{
    struct line l = {ctl, argv, argc, 1, false, err};

    ctl->id = CTL_COMMAND_COUNT;
    ctl->operands = argv + 1; /* never overtakes what is still to be read */
    while (l.next < l.argc) {
        if (!take(&l, l.argv[l.next++]))
            return false;
    }
    if (ctl->help || ctl->version)
        return true;
    return ctl->id == CTL_COMMAND_COUNT ? word_missing(&l) : complete(&l);
}
