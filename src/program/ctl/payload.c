#include "payload.h"

#include <jansson.h>
#include <string.h>

/* Beyond these the white space alone would be too much. */
#define JSON_MAX  ((size_t)256 * 1024)
#define DEPTH_MAX 32

static bool is_json(struct slice s)
{
    json_error_t where;
    json_t *json = json_loadb(s.ptr, s.len, 0, &where);

    json_decref(json);
    return json != NULL;
}

struct indenting {
    struct slice in;
    struct strbuf *out;
    size_t at;
    int depth, deepest;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void new_line(struct indenting *x)
{
    strbuf_addf(x->out, "\n%*s", x->depth * 2, "");
}

static void skip_blanks(struct indenting *x)
{
    while (x->at < x->in.len && is_blank(x->in.ptr[x->at]))
        x->at++;
}

/* From its quote to the other. */
static void take_string(struct indenting *x)
{
    size_t from = x->at++;

    while (x->in.ptr[x->at] != '"')
        x->at += x->in.ptr[x->at] == '\\' ? 2 : 1;
    x->at++;
    strbuf_add(x->out, x->in.ptr + from, x->at - from);
}

/* An empty object or list stays on its line. */
static void open_bracket(struct indenting *x, char c)
{
    strbuf_add_char(x->out, c);
    x->at++;
    skip_blanks(x);
    if (x->in.ptr[x->at] == '}' || x->in.ptr[x->at] == ']') {
        strbuf_add_char(x->out, x->in.ptr[x->at++]);
        return;
    }
    x->depth++;
    x->deepest = x->depth > x->deepest ? x->depth : x->deepest;
    new_line(x);
}

static void take(struct indenting *x)
{
    char c = x->in.ptr[x->at];

    if (c == '"') {
        take_string(x);
        return;
    }
    if (c == '{' || c == '[') {
        open_bracket(x, c);
        return;
    }
    if (c == '}' || c == ']') {
        x->depth--;
        new_line(x);
    }
    strbuf_add_char(x->out, c);
    x->at++;
    if (c == ',')
        new_line(x);
    else if (c == ':')
        strbuf_add_char(x->out, ' ');
}

bool payload_indent(struct slice json, struct strbuf *out)
{
    struct indenting x = {.in = json, .out = out};
    size_t before = out->len;

    if (json.len == 0 || json.len > JSON_MAX || !is_json(json))
        return false;
    for (skip_blanks(&x); x.at < json.len && x.deepest <= DEPTH_MAX; skip_blanks(&x))
        take(&x);
    if (x.deepest <= DEPTH_MAX)
        return true;
    strbuf_cut(out, before);
    return false;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void payload_add_base64(struct strbuf *out, struct slice bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.ptr;

    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        unsigned group = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0);

        strbuf_add_char(out, digits[group >> 18]);
        strbuf_add_char(out, digits[group >> 12 & 63]);
        strbuf_add_char(out, left > 1 ? digits[group >> 6 & 63] : '=');
        strbuf_add_char(out, left > 2 ? digits[group & 63] : '=');
    }
}

/* Four digits to up to three bytes; the bits that padding leaves over must be none. */
static bool take_group(struct strbuf *out, const char *four, size_t digits_used)
{
    unsigned group = 0;

    for (size_t i = 0; i < 4; i++) {
        const char *at = i < digits_used ? memchr(digits, four[i], 64) : NULL;

        if (i < digits_used && !at)
            return false;
        group = group << 6 | (at ? (unsigned)(at - digits) : 0);
    }
    for (size_t i = 0; i + 1 < digits_used; i++)
        strbuf_add_char(out, (char)(group >> (16 - 8 * i) & 255));
    return digits_used == 4 || (group & (digits_used == 3 ? 0xffu : 0xffffu)) == 0;
}

bool payload_take_base64(struct strbuf *out, struct slice text)
{
    size_t used = 4;

    if (text.len % 4 != 0)
        return false;
    for (size_t i = 0; i < text.len; i += 4) {
        if (i + 4 == text.len && text.ptr[i + 3] == '=')
            used = text.ptr[i + 2] == '=' ? 2 : 3;
        if (!take_group(out, text.ptr + i, used))
            return false;
    }
    return true;
}
