/* What people read: aligned tables and tinted words on standard output, notes and warnings on standard error. */
#ifndef ORDERD_CTL_PRINT_H
#define ORDERD_CTL_PRINT_H

#include <stddef.h>
#include "ctl.h"

/* What a word says: colours on a terminal. */
enum tint { TINT_NONE, TINT_GOOD, TINT_CHANGED, TINT_BAD, TINT_DIM };

/* text in at least width columns, tinted, control bytes shown as '?'. Negative width: to the right. */
void print_word(const struct ctl *ctl, const char *text, int width, enum tint tint);

/* The rest of a line that stands at column `indent`, and its end. On a terminal it goes on in the next line, from that
 * column, where it does not fit. */
void print_prose(const struct ctl *ctl, const char *text, size_t indent);

/* "orderctl: ..." on standard error; a note is silenced by --quiet. */
void print_note(const struct ctl *ctl, const char *fmt, ...) ORDERD_PRINTF(2, 3);
void print_warning(const char *fmt, ...) ORDERD_PRINTF(1, 2);

/* A line on a terminal that each call writes over, a few times a second at most; nothing with --quiet, or where
 * standard error is no terminal. print_progress_end removes it. */
void print_progress(const struct ctl *ctl, const char *fmt, ...) ORDERD_PRINTF(2, 3);
void print_progress_end(void);

/* Any bytes, on lines that begin with indent columns; indent 0: on one line, whatever they are. What is no printable
 * character is shown as \x1b; with json, as \u001b, which is right in its strings. Ends with a newline. */
enum print_escape { ESCAPE_TEXT, ESCAPE_JSON };
void print_escaped(const char *bytes, size_t len, int indent, enum print_escape escape);

/* A rough length of time: "350ms", "12s", "5m", "30h", "9d". */
#define SPAN_TEXT 24
const char *span_text(char out[SPAN_TEXT], int64_t ms);

/* A table grows row by row and is printed at once, each column as wide as it needs. Where that is wider than the
 * terminal, columns that may be left out are, from the right, and then texts are cut, the last column first, to no less
 * than TABLE_CUT_MIN; numbers never are. */
#define TABLE_CUT_MIN     8
#define TABLE_COLUMNS_MAX 12

struct table {
    const char *heads[TABLE_COLUMNS_MAX]; /* "-HEAD": numbers, to the right; "=HEAD": texts, never cut;
                                             "?HEAD", "?-HEAD": may be left out */
    size_t columns, cells, room;
    size_t widths[TABLE_COLUMNS_MAX]; /* of what was printed so far, uncut */
    size_t limits[TABLE_COLUMNS_MAX]; /* cut to this */
    bool left_out[TABLE_COLUMNS_MAX]; /* decided by the first rows */
    bool headed;
    struct table_cell {
        char *text;
        enum tint tint;
    } * list;
};

/* heads: columns of them. */
void table_begin(struct table *table, const char *const *heads, size_t columns);
void table_text(struct table *table, const char *text, enum tint tint);
void table_slice(struct table *table, struct slice text, enum tint tint);
void table_number(struct table *table, int64_t number);
void table_span(struct table *table, int64_t ms);

/* "2026-12-01 10:00" */
void table_time(struct table *table, int64_t wall_ms);

/* Prints the rows so far, for a list of any length; columns stay as wide as they were, or get wider. */
void table_flush(const struct ctl *ctl, struct table *table);

/* Prints the rest and frees; nothing where there was no row. */
void table_end(const struct ctl *ctl, struct table *table);

#endif
