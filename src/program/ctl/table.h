/* Aligned tables on standard output, for people. */
#ifndef ORDERD_CTL_TABLE_H
#define ORDERD_CTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/strbuf.h"
#include "print.h"

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

/* "2027-11-11 10:00" */
void table_time(struct table *table, int64_t wall_ms);

/* Prints the rows so far, for a list of any length; columns stay as wide as they were, or get wider. */
void table_flush(const struct ctl *ctl, struct table *table);

/* Prints the rest and frees; nothing where there was no row. */
void table_end(const struct ctl *ctl, struct table *table);

#endif
