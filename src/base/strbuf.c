#include "orderd/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/check.h"

bool slice_equal(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool slice_is(struct slice a, const char *text)
{
    return slice_equal(a, slice_of(text));
}

void strbuf_release(struct strbuf *sb)
{
    free(sb->data);
    *sb = (struct strbuf)STRBUF_INIT;
}

void strbuf_reserve(struct strbuf *sb, size_t extra)
{
    size_t need = sb->len + extra + 1;

    CHECK(need > extra);
    if (need <= sb->cap)
        return;
    sb->cap = need > sb->cap * 2 ? need : sb->cap * 2;
    if (sb->cap < 64)
        sb->cap = 64;
    sb->data = check_realloc(sb->data, sb->cap);
    sb->data[sb->len] = '\0';
}

void strbuf_reset(struct strbuf *sb)
{
    strbuf_reserve(sb, 0);
    strbuf_cut(sb, 0);
}

void strbuf_cut(struct strbuf *sb, size_t len)
{
    CHECK(len <= sb->len);
    sb->len = len;
    if (sb->data)
        sb->data[len] = '\0';
}

void strbuf_add(struct strbuf *sb, const void *bytes, size_t len)
{
    strbuf_reserve(sb, len);
    if (len)
        memcpy(sb->data + sb->len, bytes, len);
    sb->len += len;
    sb->data[sb->len] = '\0';
}

void strbuf_add_str(struct strbuf *sb, const char *text)
{
    strbuf_add(sb, text, strlen(text));
}

void strbuf_add_slice(struct strbuf *sb, struct slice s)
{
    strbuf_add(sb, s.ptr, s.len);
}

void strbuf_add_char(struct strbuf *sb, char c)
{
    strbuf_add(sb, &c, 1);
}

void strbuf_add_u64(struct strbuf *sb, uint64_t n)
{
    char digits[20];
    size_t i = sizeof digits;

    do {
        digits[--i] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    strbuf_add(sb, digits + i, sizeof digits - i);
}

void strbuf_add_i64(struct strbuf *sb, int64_t n)
{
    if (n < 0)
        strbuf_add_char(sb, '-');
    strbuf_add_u64(sb, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
    va_list ap, again;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    CHECK(n >= 0);
    strbuf_reserve(sb, (size_t)n);
    vsnprintf(sb->data + sb->len, (size_t)n + 1, fmt, again);
    va_end(again);
    sb->len += (size_t)n;
}

/* Length of the valid UTF-8 sequence at s (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF), or 0. */
static size_t utf8_len(const unsigned char *s, size_t left)
{
    size_t len = s[0] < 0x80                   ? 1
                 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                               : 0;

    if (len == 0 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

bool slice_is_utf8(struct slice s)
{
    size_t i = 0, len = 1;

    for (; i < s.len && len > 0; i += len)
        len = utf8_len((const unsigned char *)s.ptr + i, s.len - i);
    return len > 0;
}

void strbuf_add_utf8(struct strbuf *sb, struct slice s)
{
    for (size_t i = 0; i < s.len;) {
        size_t len = utf8_len((const unsigned char *)s.ptr + i, s.len - i);

        if (len > 0)
            strbuf_add(sb, s.ptr + i, len);
        else
            strbuf_add_str(sb, "\xef\xbf\xbd");
        i += len ? len : 1;
    }
}

static void add_escaped(struct strbuf *sb, unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
        strbuf_addf(sb, "\\%c", c);
        break;
    case '\n':
        strbuf_add_str(sb, "\\n");
        break;
    default:
        strbuf_addf(sb, "\\u%04x", c);
    }
}

void strbuf_add_json(struct strbuf *sb, struct slice s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;

    strbuf_add_char(sb, '"');
    for (size_t i = 0; i < s.len;) {
        size_t len = utf8_len(p + i, s.len - i);

        if (len == 0)
            strbuf_add_str(sb, "\xef\xbf\xbd");
        else if (len == 1 && (p[i] < 0x20 || p[i] == '"' || p[i] == '\\' || p[i] == 0x7f))
            add_escaped(sb, p[i]);
        else
            strbuf_add(sb, p + i, len);
        i += len ? len : 1;
    }
    strbuf_add_char(sb, '"');
}

void strbuf_add_logfmt(struct strbuf *sb, struct slice s)
{
    bool plain = s.len > 0;

    for (size_t i = 0; i < s.len && plain; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        plain = c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
    }
    if (plain)
        strbuf_add_slice(sb, s);
    else
        strbuf_add_json(sb, s);
}
