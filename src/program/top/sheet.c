#include "sheet.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

/* Fields are two columns apart. */
#define GAP          2

#define BLANK_WEIGHT 1

void sheet_begin(struct sheet *p, int width, bool utf8)
{
    *p = (struct sheet){.frame = frame_create(width, 0, utf8)};
}

void sheet_end(struct sheet *p)
{
    frame_destroy(&p->frame);
    free(p->weights);
}

static void add_row(struct sheet *p, int weight)
{
    if (p->rows == p->room) {
        p->room = p->room ? p->room * 2 : 64;
        frame_grow(p->frame, p->room);
        p->weights = check_realloc(p->weights, (size_t)p->room * sizeof *p->weights);
    }
    p->weights[p->rows++] = weight;
    p->column = 0;
    p->fresh = true;
}

void sheet_line(struct sheet *p, int weight, int less, const char *label)
{
    add_row(p, weight);
    p->weight = weight - less;
    if (label[0]) {
        frame_put(p->frame, p->rows - 1, 0, SHEET_INDENT - 1, FRAME_DIM, label);
        p->column = SHEET_INDENT;
    }
}

void sheet_blank(struct sheet *p)
{
    add_row(p, BLANK_WEIGHT);
}

int sheet_left(const struct sheet *p)
{
    return p->frame->width - p->column;
}

/* `gap` columns after what is there, or on a line of its own. */
static void put(struct sheet *p, int gap, enum frame_tint tint, const char *text)
{
    if (!p->fresh && frame_columns(p->frame, text) + gap > sheet_left(p)) {
        add_row(p, p->weight);
        p->column = SHEET_INDENT;
    } else if (!p->fresh) {
        p->column += gap;
    }
    p->fresh = false;
    p->column = frame_put(p->frame, p->rows - 1, p->column, INT_MAX, tint, text);
}

void sheet_field(struct sheet *p, enum frame_tint tint, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    put(p, GAP, tint, text);
}

void sheet_words(struct sheet *p, enum frame_tint tint, const char *text)
{
    char word[512];

    for (bool first = true; *text; first = false) {
        size_t len = strcspn(text, " ");

        snprintf(word, sizeof word, "%.*s", (int)(len < sizeof word ? len : sizeof word - 1), text);
        put(p, first ? GAP : 1, tint, word);
        text += len + strspn(text + len, " ");
    }
}

void sheet_rest(struct sheet *p, enum frame_tint tint, const char *text)
{
    int from = p->fresh ? p->column : p->column + GAP;

    p->fresh = false;
    if (p->frame->width - from >= 8)
        p->column = frame_put(p->frame, p->rows - 1, from, INT_MAX, tint, text);
}

void sheet_right(struct sheet *p, enum frame_tint tint, const char *text)
{
    int from = p->frame->width - frame_columns(p->frame, text);

    if (from >= p->column + GAP)
        frame_put(p->frame, p->rows - 1, from, INT_MAX, tint, text);
}

/* ---- what is left out ---- */

static bool is_blank(const struct sheet *p, int row)
{
    return p->weights[row] == BLANK_WEIGHT;
}

/* A blank after a blank, at the beginning or at the end, of the rows that are kept. */
static void drop_blanks(const struct sheet *p, bool *kept, int *count)
{
    int blank = -1;
    bool text = false;

    for (int i = 0; i < p->rows; i++) {
        if (!kept[i])
            continue;
        if (!is_blank(p, i)) {
            text = true;
            blank = -1;
        } else if (!text || blank >= 0) {
            kept[i] = false;
            --*count;
        } else {
            blank = i;
        }
    }
    if (blank >= 0) {
        kept[blank] = false;
        --*count;
    }
}

/* Of equal ones the last. */
static void drop_lightest(const struct sheet *p, bool *kept, int *count)
{
    int lightest = -1;

    for (int i = 0; i < p->rows; i++) {
        if (kept[i] && (lightest < 0 || p->weights[i] <= p->weights[lightest]))
            lightest = i;
    }
    kept[lightest] = false;
    --*count;
}

struct frame *sheet_choose(const struct sheet *p, int height)
{
    bool *kept = check_malloc((size_t)p->rows + 1);
    int count = p->rows, at = 0;
    struct frame *f;

    memset(kept, true, (size_t)p->rows);
    drop_blanks(p, kept, &count);
    while (height > 0 && count > height) {
        drop_lightest(p, kept, &count);
        drop_blanks(p, kept, &count);
    }
    f = frame_create(p->frame->width, height > 0 ? height : count, p->frame->utf8);
    for (int i = 0; i < p->rows; i++) {
        if (kept[i])
            frame_copy_row(f, at++, p->frame, i);
    }
    free(kept);
    return f;
}
