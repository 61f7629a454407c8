/* A walk through the tokens by as much of libconfig's grammar as configurations use, to the first that does not fit. */
#include "conf_hint.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "conf_key.h"
#include "conf_lexer.h"

enum expected { SETTING, ASSIGNMENT, VALUE, END_OF_VALUE };

struct walk {
    struct conf_lexer lexer;
    enum conf_token token;
    enum expected expected;
    int depth;                     /* groups that are open */
    struct slice name;             /* of the setting in hand ... */
    unsigned name_line, text_line; /* ... and its line; where a text of several lines begins, or 0 */
    const char *wrong;             /* NULL: nothing yet */
    unsigned wrong_line;
    bool about_name; /* the sentence goes on with the setting's name */
};

static bool same(struct slice text, const char *word)
{
    return strlen(word) == text.len && strncasecmp(text.ptr, word, text.len) == 0;
}

static bool is(const struct walk *w, char c)
{
    return w->token == CONF_TOKEN_OTHER && w->lexer.text.ptr[0] == c;
}

static void found(struct walk *w, const char *wrong, unsigned line)
{
    w->wrong = wrong;
    w->wrong_line = line;
}

static void found_at_name(struct walk *w, const char *wrong)
{
    found(w, wrong, w->name_line);
    w->about_name = true;
}

static void setting(struct walk *w)
{
    if (w->token == CONF_TOKEN_NAME) {
        w->name = w->lexer.text;
        w->name_line = w->lexer.line;
        w->expected = ASSIGNMENT;
    } else if (w->token == CONF_TOKEN_CLOSE) {
        w->expected = END_OF_VALUE;
        if (--w->depth < 0)
            found(w, "there is a } too many", w->lexer.line);
    } else if (w->token == CONF_TOKEN_INCLUDE) {
        w->token = conf_lexer_next(&w->lexer);
    } else if (is(w, ';') || is(w, ',')) {
        found(w, "there is a ; or , too many", w->lexer.line);
    } else if (w->token == CONF_TOKEN_END) {
        if (w->depth > 0)
            found(w, "a } is missing at its end", w->lexer.line);
    } else {
        found(w, "a name is expected (as in: name = value;)", w->lexer.line);
    }
}

static void assignment(struct walk *w)
{
    w->expected = VALUE;
    if (w->lexer.text.len > 0 && w->lexer.text.ptr[0] == '.') /* .host looks like a number */
        found(w, "a name has no point (mysql.host is written as: mysql: { host = \"...\"; };)", w->lexer.line);
    else if (!is(w, '=') && !is(w, ':'))
        found_at_name(w, "a = or : is missing behind ");
}

/* Digits with a unit, as in 5s. */
static bool has_letters(struct slice number)
{
    bool hex = number.len > 1 && tolower((unsigned char)number.ptr[1]) == 'x';

    for (size_t i = 0; i < number.len; i++) {
        if (!hex && isalpha((unsigned char)number.ptr[i]) && !strchr("eEL", number.ptr[i]))
            return true;
    }
    return false;
}

static void value(struct walk *w)
{
    struct slice text = w->lexer.text;

    w->expected = END_OF_VALUE;
    if (w->token == CONF_TOKEN_OPEN) {
        w->depth++;
        w->expected = SETTING;
    } else if ((w->token == CONF_TOKEN_NAME && !same(text, "true") && !same(text, "false")) ||
               (w->token == CONF_TOKEN_NUMBER && has_letters(text)) || is(w, '\'')) {
        found_at_name(w, "text stands in double quotes, also 5s or 64KiB: see the value of ");
    } else if (w->token == CONF_TOKEN_CLOSE || w->token == CONF_TOKEN_END || is(w, ';') || is(w, ',')) {
        found_at_name(w, "a value is missing behind ");
    }
}

static void end_of_value(struct walk *w)
{
    w->expected = SETTING;
    if (!is(w, ';') && !is(w, ','))
        setting(w);
}

static void look_at_text(struct walk *w)
{
    if (w->token != CONF_TOKEN_STRING)
        return;
    if (w->text_line == 0 && memchr(w->lexer.text.ptr, '\n', w->lexer.text.len))
        w->text_line = w->lexer.line;
    if (w->lexer.text.ptr + w->lexer.text.len == w->lexer.end)
        found(w, "a \" is missing at the end of a text", w->lexer.line);
}

static void step(struct walk *w)
{
    static void (*const steps[])(struct walk *) = {
        [SETTING] = setting, [ASSIGNMENT] = assignment, [VALUE] = value, [END_OF_VALUE] = end_of_value};

    w->token = conf_lexer_next(&w->lexer);
    look_at_text(w);
    if (!w->wrong && (w->token != CONF_TOKEN_STRING || w->expected != END_OF_VALUE)) /* texts may be in pieces */
        steps[w->expected](w);
    if (w->wrong && w->text_line > 0) { /* what follows a text without its end fits nowhere */
        found(w, "a \" is missing at the end of a text", w->text_line);
        w->about_name = false;
    }
}

static bool known(struct slice name)
{
    for (size_t i = 0; i < CONF_KEY_COUNT; i++) {
        if (same(name, conf_keys[i].section) || same(name, conf_keys[i].name))
            return true;
    }
    return false;
}

void conf_hint(struct slice source, unsigned line, struct strbuf *out)
{
    struct walk w = {.expected = SETTING};

    conf_lexer_init(&w.lexer, source);
    do
        step(&w);
    while (!w.wrong && w.token != CONF_TOKEN_END && w.token != CONF_TOKEN_ENDLESS && !is(&w, '[') && !is(&w, '('));
    if (!w.wrong) {
        strbuf_add_str(out, "expected settings as in: mysql: { host = \"localhost\"; port = 3306; };");
        return;
    }
    strbuf_add_str(out, w.wrong);
    if (w.about_name && known(w.name))
        strbuf_addf(out, "\"%.*s\"", (int)w.name.len, w.name.ptr);
    else if (w.about_name)
        strbuf_add_str(out, "a name");
    if (w.wrong_line != line)
        strbuf_addf(out, " in line %u", w.wrong_line);
}
