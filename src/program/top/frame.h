/* A rectangle of characters with tints: what is on the screen, or would be. Text of any origin goes in by frame_put
 * alone, so nothing that steers a terminal comes out. */
#ifndef ORDERD_TOP_FRAME_H
#define ORDERD_TOP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

#include "orderd/strbuf.h"

enum frame_tint {
    FRAME_PLAIN,
    FRAME_DIM,
    FRAME_STRONG,
    FRAME_GOOD,
    FRAME_WARN,
    FRAME_BAD,
    FRAME_ALARM, /* cannot be overlooked, without colour either */
    FRAME_CHOSEN,
    FRAME_TINT_COUNT
};

struct frame_cell {
    wchar_t c; /* 0: the right half of the wide character before it */
    unsigned char tint;
};

struct frame {
    int width, height;
    bool utf8; /* what can be shown; else all that is not ASCII is '?' */
    struct frame_cell *cells;
};

struct frame *frame_create(int width, int height, bool utf8);
void frame_destroy(struct frame **frame);

/* More empty rows below; height only grows. */
void frame_grow(struct frame *frame, int height);

/* Columns that text takes. Invisible characters (marks that combine, direction overrides) take none and are left out;
 * control characters and bytes that are no character are '?'. */
int frame_columns(const struct frame *frame, const char *text);

/* Writes text from column on, before `end`; what would not fit is cut and ends in a dot-dot-dot. Answers the column
 * after it. */
int frame_put(struct frame *frame, int row, int column, int end, enum frame_tint tint, const char *text);

/* One character of one column, at a place inside. */
void frame_set(struct frame *frame, int row, int column, enum frame_tint tint, wchar_t c);

/* Copies a row to a row of another frame of the same width. */
void frame_copy_row(struct frame *to, int to_row, const struct frame *from, int from_row);

bool frame_row_equal(const struct frame *a, const struct frame *b, int row);

/* Appends the row as text, blanks at its end left out; MONO, COLOR: with the escape sequences for its tints, of which
 * MONO takes no colours. Answers its columns. */
enum frame_style { FRAME_TEXT, FRAME_MONO, FRAME_COLOR };
int frame_print_row(const struct frame *frame, int row, enum frame_style style, struct strbuf *out);

#endif
