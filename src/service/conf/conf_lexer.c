#include "conf_lexer.h"

#include <ctype.h>
#include <string.h>

void conf_lexer_init(struct conf_lexer *lexer, struct slice source)
{
    *lexer = (struct conf_lexer){.at = source.ptr, .end = source.ptr + source.len, .line = 1, .next_line = 1};
}

static size_t left(const struct conf_lexer *lexer)
{
    return (size_t)(lexer->end - lexer->at);
}

static bool sees(const struct conf_lexer *lexer, const char *word)
{
    return left(lexer) >= strlen(word) && memcmp(lexer->at, word, strlen(word)) == 0;
}

static void advance(struct conf_lexer *lexer, size_t n)
{
    for (; n > 0; n--) {
        if (*lexer->at++ == '\n')
            lexer->next_line++;
    }
}

static void skip_line(struct conf_lexer *lexer)
{
    while (lexer->at < lexer->end && *lexer->at != '\n')
        lexer->at++;
}

/* False where the file ends first. */
static bool skip_comment(struct conf_lexer *lexer)
{
    advance(lexer, 2);
    while (lexer->at < lexer->end && !sees(lexer, "*/"))
        advance(lexer, 1);
    if (lexer->at == lexer->end)
        return false;
    advance(lexer, 2);
    return true;
}

/* Blanks and comments; false at an endless comment. */
static bool skip_blank(struct conf_lexer *lexer)
{
    while (lexer->at < lexer->end) {
        lexer->line = lexer->next_line;
        if (isspace((unsigned char)*lexer->at))
            advance(lexer, 1);
        else if (*lexer->at == '#' || sees(lexer, "//"))
            skip_line(lexer);
        else if (!sees(lexer, "/*"))
            break;
        else if (!skip_comment(lexer))
            return false;
    }
    lexer->line = lexer->next_line;
    return true;
}

static enum conf_token string(struct conf_lexer *lexer)
{
    advance(lexer, 1);
    lexer->text.ptr = lexer->at;
    while (lexer->at < lexer->end && *lexer->at != '"')
        advance(lexer, *lexer->at == '\\' && left(lexer) > 1 ? 2 : 1);
    lexer->text.len = (size_t)(lexer->at - lexer->text.ptr);
    if (lexer->at < lexer->end)
        advance(lexer, 1);
    return CONF_TOKEN_STRING;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '*';
}

static bool in_number(char before, char c)
{
    return isalnum((unsigned char)c) || c == '.' || ((c == '+' || c == '-') && tolower((unsigned char)before) == 'e');
}

static enum conf_token word(struct conf_lexer *lexer, enum conf_token kind)
{
    const char *start = lexer->at++;

    while (lexer->at < lexer->end &&
           (kind == CONF_TOKEN_NAME ? in_name(*lexer->at) : in_number(lexer->at[-1], *lexer->at)))
        lexer->at++;
    lexer->text = (struct slice){start, (size_t)(lexer->at - start)};
    return kind;
}

static bool begins_number(const struct conf_lexer *lexer)
{
    char c = *lexer->at;

    if ((c == '-' || c == '+') && left(lexer) > 1)
        c = lexer->at[1];
    return isdigit((unsigned char)c) || c == '.';
}

static enum conf_token single(struct conf_lexer *lexer)
{
    char c = *lexer->at;

    lexer->text = (struct slice){lexer->at, 1};
    advance(lexer, 1);
    return c == '{' ? CONF_TOKEN_OPEN : c == '}' ? CONF_TOKEN_CLOSE : CONF_TOKEN_OTHER;
}

enum conf_token conf_lexer_next(struct conf_lexer *lexer)
{
    if (!skip_blank(lexer))
        return CONF_TOKEN_ENDLESS;
    if (lexer->at == lexer->end)
        return CONF_TOKEN_END;
    if (*lexer->at == '"')
        return string(lexer);
    if (isalpha((unsigned char)*lexer->at) || *lexer->at == '*')
        return word(lexer, CONF_TOKEN_NAME);
    if (begins_number(lexer))
        return word(lexer, CONF_TOKEN_NUMBER);
    if (sees(lexer, "@include")) {
        advance(lexer, strlen("@include"));
        return CONF_TOKEN_INCLUDE;
    }
    return single(lexer);
}
