/* A growing byte buffer that always ends in NUL (not counted in len), and a read-only view of bytes. Memory that
 * cannot be had ends the process. One owner each; any thread. */
#ifndef ORDERD_STRBUF_H
#define ORDERD_STRBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "orderd/error.h"

struct slice { /* not NUL-terminated, not owned */
    const char *ptr;
    size_t len;
};

static inline struct slice slice_of(const char *text)
{
    return (struct slice){text, text ? strlen(text) : 0};
}

bool slice_equal(struct slice a, struct slice b);
bool slice_is(struct slice a, const char *text);
bool slice_is_utf8(struct slice s);

struct strbuf {
    char *data;
    size_t len, cap;
};

#define STRBUF_INIT                                                                                                    \
    {                                                                                                                  \
        0                                                                                                              \
    }

void strbuf_release(struct strbuf *sb); /* frees; the buffer is empty and usable again */
void strbuf_reset(struct strbuf *sb);   /* len = 0, keeps the memory; data is "" afterwards */
void strbuf_reserve(struct strbuf *sb, size_t extra);
void strbuf_cut(struct strbuf *sb, size_t len); /* len <= sb->len */

void strbuf_add(struct strbuf *sb, const void *bytes, size_t len);
void strbuf_add_str(struct strbuf *sb, const char *text);
void strbuf_add_slice(struct strbuf *sb, struct slice s);
void strbuf_add_char(struct strbuf *sb, char c);
void strbuf_add_i64(struct strbuf *sb, int64_t n); /* decimal, much faster than strbuf_addf */
void strbuf_add_u64(struct strbuf *sb, uint64_t n);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) ORDERD_PRINTF(2, 3);

/* Appends text; each byte that is not UTF-8 becomes U+FFFD. */
void strbuf_add_utf8(struct strbuf *sb, struct slice s);

/* Appends a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, so that the output is always valid. */
void strbuf_add_json(struct strbuf *sb, struct slice s);

/* Appends "text", quoted as logfmt wants it where it has spaces, quotes, '=' or control bytes. */
void strbuf_add_logfmt(struct strbuf *sb, struct slice s);

#endif
