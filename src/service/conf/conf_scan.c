#include "conf_scan.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf_file.h"
#include "conf_lexer.h"

#define DEPTH_LIMIT 10 /* libconfig's own; it reports what is deeper */
#define INCLUDES_LIMIT                                                                                                 \
    64 /* a file that includes itself twice would be read a thousand times on the way to that depth */

struct scan {
    const char *main_path;
    int files;            /* how many includes deep */
    int included;         /* how many in all */
    int braces;           /* how many groups deep */
    char section[64];     /* the group at depth 1 */
    char name[64];        /* the last name seen: the key, where a value follows */
    struct strbuf *paths; /* of the included ones */
    struct error *err;
};

static bool scan_text(struct scan *scan, const char *path, struct slice source);

static void keep(char *to, size_t size, struct slice text)
{
    snprintf(to, size, "%.*s", (int)(text.len < size ? text.len : size), text.ptr);
}

static bool is_digits(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    }
    return text.len > 0;
}

/* Whether libconfig would keep this literal, an integer without L, in an int and lose bits. */
static bool loses_bits(struct slice text)
{
    char copy[32];
    char *end;
    bool negative = text.ptr[0] == '-';
    bool hex = text.len > 2 && text.ptr[0] == '0' && (text.ptr[1] == 'x' || text.ptr[1] == 'X');
    struct slice digits = text;
    unsigned long long value;

    if (negative || text.ptr[0] == '+')
        digits = (struct slice){text.ptr + 1, text.len - 1};
    if (!hex && !is_digits(digits))
        return false; /* a float, or it has its L */
    if (digits.len >= sizeof copy)
        return true;
    keep(copy, sizeof copy, digits);
    errno = 0;
    value = strtoull(copy, &end, hex ? 16 : 10);
    return *end == '\0' && (errno == ERANGE || value > (unsigned long long)INT32_MAX + negative);
}

static bool number(struct scan *scan, const char *path, const struct conf_lexer *lexer)
{
    int len = lexer->text.len > 40 ? 40 : (int)lexer->text.len;

    if (!loses_bits(lexer->text))
        return true;
    return error_set(scan->err, ERROR_CONF_INVALID, "%s:%u: %s%s%s: 64-bit number needs an L (expected %.*sL)", path,
                     lexer->line, scan->braces ? scan->section : "", scan->braces ? "." : "", scan->name, len,
                     lexer->text.ptr);
}

/* libconfig's scanner ends the whole process where it cannot read what it has opened, e.g. a folder. */
static bool include(struct scan *scan, const char *path, unsigned line, struct slice name)
{
    struct strbuf file = STRBUF_INIT, source = STRBUF_INIT;
    struct stat st;
    char text[256];
    bool ok = true;

    if (name.len >= sizeof text || scan->files == DEPTH_LIMIT)
        return true;
    if (++scan->included > INCLUDES_LIMIT)
        return error_set(scan->err, ERROR_CONF_INVALID, "%s:%u: @include: more than %d files are included", path, line,
                         INCLUDES_LIMIT);
    keep(text, sizeof text, name);
    conf_file_beside(scan->main_path, text, &file);
    if (stat(file.data, &st) == 0) {
        int failure = S_ISREG(st.st_mode) ? conf_file_read(file.data, CONF_FILE_LIMIT, &source) : EINVAL;

        scan->files++;
        strbuf_add(scan->paths, file.data, file.len + 1); /* with its NUL */
        ok = failure ? error_set(scan->err, ERROR_CONF_INVALID, "%s:%u: @include \"%s\": %s (expected a file)", path,
                                 line, text, failure == EINVAL ? "not a regular file" : strerror(failure))
                     : scan_text(scan, file.data, (struct slice){source.data, source.len});
        scan->files--;
    }
    strbuf_release(&file);
    strbuf_release(&source);
    return ok;
}

static void name(struct scan *scan, struct slice text)
{
    keep(scan->name, sizeof scan->name, text);
    if (scan->braces == 0)
        keep(scan->section, sizeof scan->section, text);
}

static bool take(struct scan *scan, const char *path, struct conf_lexer *lexer, enum conf_token token)
{
    switch (token) {
    case CONF_TOKEN_NAME:
        name(scan, lexer->text);
        return true;
    case CONF_TOKEN_OPEN:
        scan->braces++;
        return true;
    case CONF_TOKEN_CLOSE:
        scan->braces -= scan->braces > 0;
        return true;
    case CONF_TOKEN_NUMBER:
        return number(scan, path, lexer);
    case CONF_TOKEN_INCLUDE:
        return conf_lexer_next(lexer) != CONF_TOKEN_STRING || include(scan, path, lexer->line, lexer->text);
    case CONF_TOKEN_ENDLESS:
        return error_set(scan->err, ERROR_CONF_INVALID, "%s:%u: comment does not end (expected */)", path, lexer->line);
    default:
        return true;
    }
}

static bool scan_text(struct scan *scan, const char *path, struct slice source)
{
    struct conf_lexer lexer;
    enum conf_token token;

    if (source.len && memchr(source.ptr, '\0', source.len))
        return error_set(scan->err, ERROR_CONF_INVALID, "%s: holds a NUL byte (expected text)", path);
    conf_lexer_init(&lexer, source);
    while ((token = conf_lexer_next(&lexer)) != CONF_TOKEN_END) {
        if (!take(scan, path, &lexer, token))
            return false;
    }
    return true;
}

bool conf_scan(const char *path, struct slice source, struct strbuf *included, struct error *err)
{
    struct scan scan = {.main_path = path, .paths = included, .err = err};

    return scan_text(&scan, path, source);
}
