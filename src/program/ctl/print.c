#include "print.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "orderd/check.h"
#include "orderd/clock.h"

/* ---- words ---- */

/* The next character: its columns, and its bytes in *len. Bytes that are no character, and those that would steer a
 * terminal, count as one column and are shown as '?'. */
static int character(const char *text, size_t *len, bool *shown)
{
    mbstate_t state = {0};
    wchar_t c;
    size_t n = mbrtowc(&c, text, strlen(text), &state);
    int columns = n == 0 || n > MB_LEN_MAX ? -1 : wcwidth(c);

    *shown = columns >= 0;
    *len = *shown ? n : 1;
    return *shown ? columns : 1;
}

size_t print_columns(const char *text)
{
    size_t columns = 0, len;
    bool shown;

    for (; *text; text += len)
        columns += (size_t)character(text, &len, &shown);
    return columns;
}

/* At most `most` columns; one that is cut ends in a dot-dot-dot. */
static void put_cut(const char *text, size_t most)
{
    bool cut = print_columns(text) > most;
    size_t left = cut && most > 0 ? most - 1 : most, len;
    bool shown;

    for (; *text; text += len) {
        size_t columns = (size_t)character(text, &len, &shown);

        if (columns > left)
            break;
        left -= columns;
        if (shown)
            fwrite(text, 1, len, stdout);
        else
            putchar('?');
    }
    if (cut && most > 0)
        fputs("\u2026", stdout);
}

static void put_escape(const char *text, size_t len, enum print_escape escape)
{
    mbstate_t state = {0};
    wchar_t c;
    size_t n = mbrtowc(&c, text, len, &state);

    if (escape == ESCAPE_JSON && n > 0 && n <= len && c > 0xffff)
        printf("\\u%04x\\u%04x", 0xd7c0 + ((unsigned)c >> 10), 0xdc00 + ((unsigned)c & 0x3ff));
    else if (escape == ESCAPE_JSON && n > 0 && n <= len)
        printf("\\u%04x", (unsigned)c);
    else
        for (size_t i = 0; i < len; i++)
            printf("\\x%02x", (unsigned char)text[i]);
}

/* One character of what print_escaped shows: its bytes. */
static size_t put_shown(const char *text, size_t left, enum print_escape escape)
{
    mbstate_t state = {0};
    wchar_t c;
    size_t n = mbrtowc(&c, text, left, &state);
    bool good = n > 0 && n <= left;

    if (!good)
        n = 1;
    if (!good || wcwidth(c) < 1)
        put_escape(text, n, escape);
    else if (c == '\\' && escape == ESCAPE_TEXT)
        fputs("\\\\", stdout);
    else
        fwrite(text, 1, n, stdout);
    return n;
}

void print_escaped(const char *bytes, size_t len, int indent, enum print_escape escape)
{
    printf("%*s", indent, "");
    for (size_t i = 0; i < len;) {
        if (bytes[i] != '\n' || indent == 0) {
            i += put_shown(bytes + i, len - i, escape);
        } else if (++i < len) {
            printf("\n%*s", indent, "");
        }
    }
    putchar('\n');
}

void print_cut(const struct ctl *ctl, const char *text, size_t most, enum tint tint)
{
    static const char *const colors[] = {"", "\033[32m", "\033[33m", "\033[31m", "\033[2m"};

    if (ctl->color && tint != TINT_NONE)
        fputs(colors[tint], stdout);
    put_cut(text, most);
    if (ctl->color && tint != TINT_NONE)
        fputs("\033[0m", stdout);
}

void print_word(const struct ctl *ctl, const char *text, int width, enum tint tint)
{
    int pad = abs(width) - (int)print_columns(text);

    if (width < 0 && pad > 0)
        printf("%*s", pad, "");
    print_cut(ctl, text, SIZE_MAX, tint);
    if (width > 0 && pad > 0)
        printf("%*s", pad, "");
}

/* ---- prose ---- */

size_t print_width(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO))
        return SIZE_MAX;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : 80;
}

/* Writes text, and begins the next line wherever one is full; the column after it. */
static size_t put_broken(const char *text, size_t at, size_t indent, size_t all)
{
    size_t len;
    bool shown;

    for (; *text; text += len) {
        size_t columns = (size_t)character(text, &len, &shown);

        if (all != SIZE_MAX && at > indent && at + columns > all) {
            printf("\n%*s", (int)indent, "");
            at = indent;
        }
        fwrite(shown ? text : "?", 1, shown ? len : 1, stdout);
        at += columns;
    }
    return at;
}

void print_prose(const char *text, size_t indent)
{
    size_t all = print_width(), at = indent;

    while (*text) {
        size_t len = strcspn(text, " ");
        char *word = check_strdup(text);

        word[len] = '\0';
        if (at > indent && all != SIZE_MAX && at + 1 + print_columns(word) > all) {
            printf("\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            putchar(' ');
            at++;
        }
        at = put_broken(word, at, indent, all);
        free(word);
        text += len + strspn(text + len, " ");
    }
    putchar('\n');
}

/* ---- messages ---- */

void print_note(const struct ctl *ctl, const char *fmt, ...)
{
    va_list ap;

    if (ctl->quiet)
        return;
    va_start(ap, fmt);
    fputs("orderctl: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

void print_warning(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("orderctl: warning: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

/* ---- progress ---- */

#define PROGRESS_EVERY_MS 200

static int64_t progress_at; /* 0: no line is shown */

void print_progress(const struct ctl *ctl, const char *fmt, ...)
{
    int64_t now = clock_mono_ms();
    va_list ap;

    if (ctl->quiet || now - progress_at < PROGRESS_EVERY_MS || !isatty(STDERR_FILENO))
        return;
    progress_at = now;
    va_start(ap, fmt);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fflush(stderr);
}

void print_progress_end(void)
{
    if (progress_at)
        fputs("\r\033[K", stderr);
    progress_at = 0;
}

/* ---- numbers ---- */

const char *span_text(char out[SPAN_TEXT], int64_t ms)
{
    static const struct {
        int64_t below, unit;
        const char *name;
    } units[] = {{1000, 1, "ms"}, {120000, 1000, "s"}, {7200000, 60000, "m"}, {172800000, 3600000, "h"}};
    size_t i = 0;

    while (i < sizeof units / sizeof *units && ms >= units[i].below)
        i++;
    if (i < sizeof units / sizeof *units)
        snprintf(out, SPAN_TEXT, "%" PRId64 "%s", ms / units[i].unit, units[i].name);
    else
        snprintf(out, SPAN_TEXT, "%" PRId64 "d", ms / 86400000);
    return out;
}
