#include "wire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const names[] = {[PROTOCOL_AMQP] = "amqp", [PROTOCOL_MYSQL] = "mysql", [PROTOCOL_REDIS] = "redis"};

enum protocol protocol_of(const char *word)
{
    enum protocol p = 0;

    while (p < PROTOCOL_COUNT && strcmp(names[p], word) != 0)
        p++;
    return p;
}

void wire_release(struct wire *w)
{
    strbuf_release(&w->asked);
}

static unsigned byte_at(struct slice s, size_t at)
{
    return at < s.len ? (unsigned char)s.ptr[at] : 0;
}

static uint64_t little(struct slice s, size_t at, size_t bytes)
{
    uint64_t n = 0;

    while (bytes-- > 0)
        n = n << 8 | byte_at(s, at + bytes);
    return n;
}

/* ---- AMQP 0-9-1: type, channel, length, payload, end byte ---- */

#define AMQP_HEADER    8 /* the client's first bytes */
#define AMQP_METHOD    1
#define AMQP_BASIC     60
#define AMQP_BASIC_ACK 80

static size_t amqp_frame(const struct wire *w, enum way way, struct slice in)
{
    size_t len;

    if (way == WAY_UP && !w->greeted)
        return in.len >= AMQP_HEADER ? AMQP_HEADER : 0;
    if (in.len < 7)
        return 0;
    len = 8 + (byte_at(in, 3) << 24 | byte_at(in, 4) << 16 | byte_at(in, 5) << 8 | byte_at(in, 6));
    return in.len >= len ? len : 0;
}

static bool amqp_pass(struct wire *w, enum way way, struct slice f)
{
    if (way == WAY_UP)
        w->greeted = true;
    return way == WAY_DOWN && byte_at(f, 0) == AMQP_METHOD && (byte_at(f, 7) << 8 | byte_at(f, 8)) == AMQP_BASIC &&
           (byte_at(f, 9) << 8 | byte_at(f, 10)) == AMQP_BASIC_ACK;
}

/* ---- MySQL: length (3 bytes, little end first), sequence number, payload ---- */

#define MYSQL_HEAD         4
#define MYSQL_QUERY        3          /* COM_QUERY */
#define MYSQL_SHORT_ENDS   (1u << 24) /* CLIENT_DEPRECATE_EOF */
#define MYSQL_MORE_RESULTS 8          /* SERVER_MORE_RESULTS_EXISTS */
#define MYSQL_OK           0x00
#define MYSQL_ERROR        0xff
#define MYSQL_END          0xfe

static size_t mysql_frame(struct slice in)
{
    size_t len = MYSQL_HEAD + (size_t)little(in, 0, 3);

    return in.len >= MYSQL_HEAD && in.len >= len ? len : 0;
}

/* A number of 1, 3, 4 or 9 bytes, by the first of them. */
static uint64_t packed(struct slice s, size_t *at)
{
    unsigned first = byte_at(s, (*at)++);
    size_t bytes = first == 0xfc ? 2 : first == 0xfd ? 3 : first == 0xfe ? 8 : 0;
    uint64_t n = bytes ? little(s, *at, bytes) : first;

    *at += bytes;
    return n;
}

static bool more_follows(const struct wire *w, struct slice body)
{
    size_t at = 1;

    if (byte_at(body, 0) == MYSQL_END && !w->short_ends)
        return little(body, 3, 2) & MYSQL_MORE_RESULTS;
    (void)packed(body, &at); /* rows */
    (void)packed(body, &at); /* last id */
    return little(body, at, 2) & MYSQL_MORE_RESULTS;
}

/* A result is over. true: it was the last one of a COMMIT. */
static bool end_result(struct wire *w, struct slice body)
{
    w->part = more_follows(w, body) ? PART_FIRST : PART_NONE;
    return w->part == PART_NONE && w->commits;
}

static bool begin_result(struct wire *w, struct slice body)
{
    size_t at = 0;

    if (byte_at(body, 0) == MYSQL_OK)
        return end_result(w, body);
    w->columns = (size_t)packed(body, &at);
    w->part = PART_COLUMNS;
    return false;
}

static bool mysql_answer(struct wire *w, struct slice body)
{
    if (w->part != PART_NONE && w->part != PART_COLUMNS && byte_at(body, 0) == MYSQL_ERROR) {
        w->part = PART_NONE;
        return false;
    }
    switch (w->part) {
    case PART_FIRST:
        return begin_result(w, body);
    case PART_COLUMNS:
        if (--w->columns == 0)
            w->part = w->short_ends ? PART_ROWS : PART_COLUMNS_END;
        return false;
    case PART_COLUMNS_END:
        w->part = PART_ROWS;
        return false;
    case PART_ROWS:
        return byte_at(body, 0) == MYSQL_END && (w->short_ends || body.len < 9) && end_result(w, body);
    default:
        return false;
    }
}

static void mysql_ask(struct wire *w, unsigned sequence, struct slice body)
{
    static const char commit[] = "COMMIT";
    size_t len = sizeof commit - 1;

    if (sequence == 0) { /* a command; before the first one the client logs in */
        w->part = byte_at(body, 0) == MYSQL_QUERY ? PART_FIRST : PART_NONE;
        w->commits = body.len > len && memcmp(body.ptr + body.len - len, commit, len) == 0;
    } else if (sequence == 1 && body.len >= 32) {
        w->short_ends = little(body, 0, 4) & MYSQL_SHORT_ENDS;
    }
}

static bool mysql_pass(struct wire *w, enum way way, struct slice f)
{
    struct slice body = {f.ptr + MYSQL_HEAD, f.len - MYSQL_HEAD};

    if (way == WAY_DOWN)
        return mysql_answer(w, body);
    mysql_ask(w, byte_at(f, 3), body);
    return false;
}

/* ---- Redis: a type, a number or text to the end of the line, for some the bytes or elements that the number counts
 * ---- */

static size_t line_end(struct slice in, size_t from)
{
    const char *end = from < in.len ? memmem(in.ptr + from, in.len - from, "\r\n", 2) : NULL;

    return end ? (size_t)(end - in.ptr) + 2 : 0;
}

static size_t value_end(struct slice in, size_t from)
{
    size_t end = line_end(in, from);
    char type = (char)byte_at(in, from);
    long count;

    if (end == 0 || !strchr("$=!*~>%", type))
        return end;
    count = strtol(in.ptr + from + 1, NULL, 10);
    if (strchr("$=!", type)) {
        end += count < 0 ? 0 : (size_t)count + 2;
        return end <= in.len ? end : 0;
    }
    for (count *= type == '%' ? 2 : 1; count > 0 && end > 0; count--)
        end = value_end(in, end);
    return end;
}

static bool is_script(struct slice command)
{
    static const char *const words[] = {"EVALSHA", "EVAL", "FCALL"};
    size_t name = line_end(command, 0);

    name = name ? line_end(command, name) : 0; /* after the count, and after the first word's length */
    for (size_t i = 0; i < sizeof words / sizeof *words && name; i++) {
        if (command.len - name > strlen(words[i]) && strncasecmp(command.ptr + name, words[i], strlen(words[i])) == 0)
            return true;
    }
    return false;
}

static bool redis_pass(struct wire *w, enum way way, struct slice f)
{
    bool script;

    if (way == WAY_UP) {
        strbuf_add_char(&w->asked, is_script(f) ? 's' : '.');
        return false;
    }
    if (w->asked.len == 0)
        return false;
    script = w->asked.data[0] == 's';
    memmove(w->asked.data, w->asked.data + 1, w->asked.len - 1);
    strbuf_cut(&w->asked, w->asked.len - 1);
    return script && byte_at(f, 0) != '-';
}

/* ---- all ---- */

size_t wire_frame(const struct wire *w, enum way way, struct slice in)
{
    if (in.len == 0)
        return 0;
    switch (w->protocol) {
    case PROTOCOL_AMQP:
        return amqp_frame(w, way, in);
    case PROTOCOL_MYSQL:
        return mysql_frame(in);
    default:
        return value_end(in, 0);
    }
}

bool wire_pass(struct wire *w, enum way way, struct slice frame)
{
    switch (w->protocol) {
    case PROTOCOL_AMQP:
        return amqp_pass(w, way, frame);
    case PROTOCOL_MYSQL:
        return mysql_pass(w, way, frame);
    default:
        return redis_pass(w, way, frame);
    }
}
