#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

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
    text[strlen("2027-11-11 10:00")] = '\0';
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
        t->widths[c] = at_least(t->widths[c], print_columns(head_text(t->heads[c])));
        for (size_t i = c; i < t->cells; i += t->columns)
            t->widths[c] = at_least(t->widths[c], print_columns(t->list[i].text));
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
    size_t all = print_width();

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
        size_t used = print_columns(row[c].text), pad = t->limits[c] > used ? t->limits[c] - used : 0;

        if (t->left_out[c])
            continue;
        if (right)
            printf("%*s", (int)pad, "");
        print_cut(ctl, row[c].text, t->limits[c], row[c].tint);
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
