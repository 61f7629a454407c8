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

static size_t columns_of(const char *text)
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
    bool cut = columns_of(text) > most;
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

static void put_tinted(const struct ctl *ctl, const char *text, size_t most, enum tint tint)
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
    int pad = abs(width) - (int)columns_of(text);

    if (width < 0 && pad > 0)
        printf("%*s", pad, "");
    put_tinted(ctl, text, SIZE_MAX, tint);
    if (width > 0 && pad > 0)
        printf("%*s", pad, "");
}

/* ---- prose ---- */

/* SIZE_MAX where standard output is no terminal: nothing is cut for a program or a file. */
static size_t width_of_output(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO))
        return SIZE_MAX;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : 80;
}

void print_prose(const struct ctl *ctl, const char *text, size_t indent)
{
    size_t all = width_of_output(), at = indent;

    while (*text) {
        size_t len = strcspn(text, " ");
        char *word = check_strdup(text);

        word[len] = '\0';
        if (at > indent && all != SIZE_MAX && at + 1 + columns_of(word) > all) {
            printf("\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            putchar(' ');
            at++;
        }
        print_word(ctl, word, 0, TINT_NONE);
        at += columns_of(word);
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

/* ---- tables ---- */

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

void table_begin(struct table *t, const char *const *heads, size_t columns)
{
    CHECK(columns > 0 && columns <= TABLE_COLUMNS_MAX);
    *t = (struct table){.columns = columns};
    for (size_t i = 0; i < columns; i++)
        t->heads[i] = heads[i];
}

void table_text(struct table *t, const char *text, enum tint tint)
{
    if (t->cells == t->room) {
        t->room = t->room ? t->room * 2 : 64;
        t->list = check_realloc(t->list, t->room * sizeof *t->list);
    }
    t->list[t->cells++] = (struct table_cell){check_strdup(text), tint};
}

/* A NUL in it is shown, as every byte that is no character. */
void table_slice(struct table *t, struct slice text, enum tint tint)
{
    char *copy = check_malloc(text.len + 1);

    for (size_t i = 0; i < text.len; i++)
        copy[i] = text.ptr[i] ? text.ptr[i] : '\x01';
    copy[text.len] = '\0';
    table_text(t, copy, tint);
    free(copy);
}

void table_span(struct table *t, int64_t ms)
{
    char text[SPAN_TEXT];

    table_text(t, span_text(text, ms), TINT_NONE);
}

void table_number(struct table *t, int64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, number);
    table_text(t, text, TINT_NONE);
}

void table_time(struct table *t, int64_t wall_ms)
{
    char text[32];

    clock_format_sql(text, sizeof text, wall_ms);
    text[strlen("2026-12-01 10:00")] = '\0';
    table_text(t, text, TINT_NONE);
}

static size_t at_least(size_t a, size_t b)
{
    return a > b ? a : b;
}

static const char *head_text(const char *head)
{
    head += head[0] == '?';
    return head + (head[0] == '-' || head[0] == '=');
}

static bool is_number(const char *head)
{
    return head[head[0] == '?'] == '-';
}

static void measure(struct table *t)
{
    for (size_t c = 0; c < t->columns; c++) {
        t->widths[c] = at_least(t->widths[c], columns_of(head_text(t->heads[c])));
        for (size_t i = c; i < t->cells; i += t->columns)
            t->widths[c] = at_least(t->widths[c], columns_of(t->list[i].text));
        t->limits[c] = t->widths[c];
    }
}

static size_t width_of(const struct table *t)
{
    size_t sum = 0;

    for (size_t c = 0; c < t->columns; c++)
        sum += t->left_out[c] ? 0 : t->limits[c] + 2;
    return sum - 2;
}

static void leave_out(struct table *t, size_t all)
{
    for (size_t c = t->columns; c-- > 0 && width_of(t) > all;)
        t->left_out[c] = t->heads[c][0] == '?';
}

/* The widest text; t->columns where none can be cut any more. */
static size_t widest(const struct table *t)
{
    size_t best = t->columns;

    for (size_t c = 0; c < t->columns; c++) {
        if (!t->left_out[c] && !is_number(t->heads[c]) && t->heads[c][0] != '=' && t->limits[c] > TABLE_CUT_MIN &&
            (best == t->columns || t->limits[c] > t->limits[best]))
            best = c;
    }
    return best;
}

static void cut(struct table *t, size_t all)
{
    size_t last = t->columns - 1, over = width_of(t) > all ? width_of(t) - all : 0, c;

    if (over > 0 && t->limits[last] > TABLE_CUT_MIN && !is_number(t->heads[last]))
        t->limits[last] -= t->limits[last] - TABLE_CUT_MIN < over ? t->limits[last] - TABLE_CUT_MIN : over;
    while (width_of(t) > all && (c = widest(t)) < t->columns)
        t->limits[c]--;
}

static void lay_out(struct table *t)
{
    size_t all = width_of_output();

    measure(t);
    if (all == SIZE_MAX)
        return;
    if (!t->headed) {
        t->limits[t->columns - 1] = TABLE_CUT_MIN; /* the last one is cut before another one is left out */
        leave_out(t, all);
        t->limits[t->columns - 1] = t->widths[t->columns - 1];
    }
    cut(t, all);
}

static void put_row(const struct ctl *ctl, const struct table *t, const struct table_cell *row)
{
    for (size_t c = 0; c < t->columns; c++) {
        bool right = is_number(t->heads[c]), last = c + 1 == t->columns;
        size_t used = columns_of(row[c].text), pad = t->limits[c] > used ? t->limits[c] - used : 0;

        if (t->left_out[c])
            continue;
        if (right)
            printf("%*s", (int)pad, "");
        put_tinted(ctl, row[c].text, t->limits[c], row[c].tint);
        if (!last)
            printf("%*s", (int)(right ? 2 : pad + 2), "");
    }
    putchar('\n');
}

static void put_heads(const struct ctl *ctl, const struct table *t)
{
    struct table_cell heads[TABLE_COLUMNS_MAX];

    for (size_t c = 0; c < t->columns; c++)
        heads[c] = (struct table_cell){(char *)(uintptr_t)head_text(t->heads[c]), TINT_DIM};
    put_row(ctl, t, heads);
}

void table_flush(const struct ctl *ctl, struct table *t)
{
    if (t->cells == 0)
        return;
    lay_out(t);
    if (!t->headed)
        put_heads(ctl, t);
    t->headed = true;
    for (size_t i = 0; i + t->columns <= t->cells; i += t->columns)
        put_row(ctl, t, &t->list[i]);
    for (size_t i = 0; i < t->cells; i++)
        free(t->list[i].text);
    t->cells = 0;
}

void table_end(const struct ctl *ctl, struct table *t)
{
    table_flush(ctl, t);
    free(t->list);
}
