/* Lines of a frame in the making, each with a weight: where the screen is too low, the lightest are left out. Fields
 * that no longer fit on their line go to the next one, so a number is never cut in two. */
#ifndef ORDERD_TOP_SHEET_H
#define ORDERD_TOP_SHEET_H

#include "frame.h"
#include "orderd/error.h"

/* Where what is said about a label begins. */
#define SHEET_INDENT 10

struct sheet {
    struct frame *frame;
    int *weights; /* of each row */
    int rows, room;
    int column; /* after what is on the last row */
    bool fresh; /* no field is on it yet */
    int weight; /* of what its fields continue on */
};

void sheet_begin(struct sheet *sheet, int width, bool utf8);
void sheet_end(struct sheet *sheet);

/* A new line; label may be "". Its continuations weigh `less` less. */
void sheet_line(struct sheet *sheet, int weight, int less, const char *label);

/* Between lines: vanishes at the edges, and beside another. */
void sheet_blank(struct sheet *sheet);

/* The next field of the line. */
void sheet_field(struct sheet *sheet, enum frame_tint tint, const char *fmt, ...) ORDERD_PRINTF(3, 4);

/* A sentence, word by word over as many lines as it takes. */
void sheet_words(struct sheet *sheet, enum frame_tint tint, const char *text);

/* The last field: as much of it as fits; nothing where under 8 columns are left. */
void sheet_rest(struct sheet *sheet, enum frame_tint tint, const char *text);

/* At the right edge, where it fits; fields must not follow. */
void sheet_right(struct sheet *sheet, enum frame_tint tint, const char *text);

/* Columns that are left on this line, for something of the caller's own at sheet->column (which then clears fresh). */
int sheet_left(const struct sheet *sheet);

/* The heaviest `height` rows, in their order, as a frame of that height; 0: all of them. */
struct frame *sheet_choose(const struct sheet *sheet, int height);

#endif
