/* The words of a program as functions of bash and zsh, and as calls of fish's `complete`. */
#include "orderd/manual.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

struct item {
    char path[64], word[64];
    struct manual_word w; /* path and word: not used */
};

struct words {
    const char *program;
    struct strbuf *out;
    struct item *items;
    size_t count;
};

static void keep(void *arg, const struct manual_word *w)
{
    struct words *words = arg;
    struct item *item;

    words->items = check_realloc(words->items, (words->count + 1) * sizeof *words->items);
    item = &words->items[words->count++];
    *item = (struct item){.w = *w};
    snprintf(item->path, sizeof item->path, "%s", w->path);
    snprintf(item->word, sizeof item->word, "%s", w->word);
}

/* For a shell, between single quotes. */
static void add_quoted(struct strbuf *out, const char *text, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'')
            strbuf_add_str(out, quote);
        else
            strbuf_add_char(out, *text);
    }
}

static bool seen_before(const struct words *words, size_t i, bool options)
{
    for (size_t j = 0; j < i; j++) {
        if (strcmp(words->items[j].path, words->items[i].path) == 0 &&
            (words->items[j].w.kind != MANUAL_COMMAND) == options)
            return true;
    }
    return false;
}

/* ---- bash and zsh: functions that answer by `case` ---- */

static void add_word(const struct words *words, const struct item *item, bool help)
{
    if (!help) {
        strbuf_addf(words->out, " %s", item->word);
        return;
    }
    strbuf_addf(words->out, " '%s:", item->word);
    add_quoted(words->out, item->w.help, "'\\''");
    strbuf_add_char(words->out, '\'');
}

/* _program_next, or _program_options: sets reply to the words that may follow the path $1. */
static void add_lists(const struct words *words, bool options, bool help)
{
    strbuf_addf(words->out, "_%s_%s() {\n    reply=()\n    case $1 in\n", words->program, options ? "options" : "next");
    for (size_t i = 0; i < words->count; i++) {
        const char *path = words->items[i].path;

        if ((words->items[i].w.kind != MANUAL_COMMAND) != options || seen_before(words, i, options))
            continue;
        strbuf_addf(words->out, "        '%s') reply=(", path);
        for (size_t j = i; j < words->count; j++) {
            if (strcmp(words->items[j].path, path) == 0 && (words->items[j].w.kind != MANUAL_COMMAND) == options)
                add_word(words, &words->items[j], help);
        }
        strbuf_add_str(words->out, " ) ;;\n");
    }
    strbuf_add_str(words->out, "    esac\n}\n\n");
}

static void add_value(const struct words *words, const struct item *item)
{
    strbuf_addf(words->out, "        '%s %s')", item->path, item->word);
    if (item->w.kind == MANUAL_FILE)
        strbuf_add_str(words->out, " kind=file");
    for (const char *at = item->w.kind == MANUAL_CHOICE ? item->w.choice : ""; *at;) {
        size_t len = strcspn(at, "|");

        strbuf_addf(words->out, "%s%.*s", at == item->w.choice ? " reply=(" : " ", (int)len, at);
        at += len + (at[len] == '|');
        if (!*at)
            strbuf_add_char(words->out, ')');
    }
    strbuf_add_str(words->out, " ;;\n");
}

/* _program_value "path option": fails where that option takes no value; else sets kind to file or none, and reply to
 * the words that it may be. */
static void add_values(const struct words *words)
{
    strbuf_addf(words->out, "_%s_value() {\n    reply=()\n    kind=none\n    case $1 in\n", words->program);
    for (size_t i = 0; i < words->count; i++) {
        const struct item *item = &words->items[i];

        if (item->w.kind == MANUAL_COMMAND || item->w.kind == MANUAL_FLAG)
            continue;
        add_value(words, item);
        if (item->w.letter) {
            struct item again = *item;

            snprintf(again.word, sizeof again.word, "-%c", item->w.letter);
            add_value(words, &again);
        }
    }
    strbuf_add_str(words->out, "        *) return 1 ;;\n    esac\n}\n");
}

static void bash(const struct words *words)
{
    add_lists(words, false, false);
    add_lists(words, true, false);
    add_values(words);
}

static void zsh(const struct words *words)
{
    add_lists(words, false, true);
    add_lists(words, true, true);
    add_values(words);
}

/* ---- fish ---- */

static void fish_kind(const struct words *words, const struct manual_word *w)
{
    if (w->kind == MANUAL_FILE) {
        strbuf_add_str(words->out, " -r -F");
    } else if (w->kind != MANUAL_FLAG) {
        strbuf_add_str(words->out, " -x");
        if (w->kind == MANUAL_CHOICE) {
            strbuf_add_str(words->out, " -a '");
            for (const char *c = w->choice; *c; c++)
                strbuf_add_char(words->out, *c == '|' ? ' ' : *c);
            strbuf_add_char(words->out, '\'');
        }
    }
}

/* __program_next: prints the words that may follow the path $argv[1]. */
static void fish_next(const struct words *words)
{
    strbuf_addf(words->out, "function __%s_next\n    switch \"$argv[1]\"\n", words->program);
    for (size_t i = 0; i < words->count; i++) {
        if (words->items[i].w.kind != MANUAL_COMMAND || seen_before(words, i, false))
            continue;
        strbuf_addf(words->out, "        case '%s'\n            string split ' ' '", words->items[i].path);
        for (size_t j = i; j < words->count; j++) {
            if (words->items[j].w.kind == MANUAL_COMMAND && strcmp(words->items[j].path, words->items[i].path) == 0)
                strbuf_addf(words->out, "%s%s", j == i ? "" : " ", words->items[j].word);
        }
        strbuf_add_str(words->out, "'\n");
    }
    strbuf_add_str(words->out, "    end\nend\n\n");
}

static void fish(const struct words *words)
{
    fish_next(words);
    for (size_t i = 0; i < words->count; i++) {
        const struct item *item = &words->items[i];
        bool command = item->w.kind == MANUAL_COMMAND;

        strbuf_addf(words->out, "complete -c %s", words->program);
        if (command || item->path[0])
            strbuf_addf(words->out, " -n '__%s_at \"%s\"'", words->program, item->path);
        strbuf_addf(words->out, command ? " -a %s" : " -l %s", item->word + (command ? 0 : 2));
        if (!command && item->w.letter)
            strbuf_addf(words->out, " -s %c", item->w.letter);
        if (!command)
            fish_kind(words, &item->w);
        if (item->w.help[0]) {
            strbuf_add_str(words->out, " -d '");
            add_quoted(words->out, item->w.help, "\\'");
            strbuf_add_char(words->out, '\'');
        }
        strbuf_add_char(words->out, '\n');
    }
}

bool manual_completion(const char *what, struct strbuf *out)
{
    static const struct {
        const char *name;
        void (*add)(const struct words *words);
    } shells[] = {{"bash-", bash}, {"zsh-", zsh}, {"fish-", fish}};
    static const struct {
        const char *name;
        void (*each)(manual_word_fn on_word, void *arg);
    } programs[] = {{"orderctl", ctl_manual_words}, {"orderload", load_manual_words}, {"orderd", daemon_manual_words}};

    for (size_t s = 0; s < sizeof shells / sizeof *shells; s++) {
        size_t len = strlen(shells[s].name);

        for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
            struct words words = {.program = programs[p].name, .out = out};

            if (strncmp(what, shells[s].name, len) != 0 || strcmp(what + len, programs[p].name) != 0)
                continue;
            programs[p].each(keep, &words);
            shells[s].add(&words);
            free(words.items);
            return true;
        }
    }
    return false;
}
