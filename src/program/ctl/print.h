/* What people read: tinted words and prose on standard output, notes on standard error. For tables see table.h. */
#ifndef ORDERD_CTL_PRINT_H
#define ORDERD_CTL_PRINT_H

#include <stddef.h>
#include "ctl.h"

/* What a word says: colours on a terminal. */
enum tint { TINT_NONE, TINT_GOOD, TINT_CHANGED, TINT_BAD, TINT_DIM };

/* text in at least width columns, tinted, control bytes shown as '?'. Negative width: to the right. */
void print_word(const struct ctl *ctl, const char *text, int width, enum tint tint);

/* How many columns of a terminal it takes. */
size_t print_columns(const char *text);

/* As print_word of no width, but cut to `most` columns; one that is cut ends in a dot-dot-dot. */
void print_cut(const struct ctl *ctl, const char *text, size_t most, enum tint tint);

/* Columns of standard output; SIZE_MAX where it is no terminal: nothing is cut for a program or a file. */
size_t print_width(void);

/* The rest of a line that stands at column `indent`, and its end. On a terminal it goes on in the next line, from that
 * column, where it does not fit; a word that no line takes, as a long path, is broken. */
void print_prose(const char *text, size_t indent);

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

#endif
