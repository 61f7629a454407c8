/* Command lines of orderctl made from its tables alone, so that a test covers a command the day it is added. */
#ifndef ORDERD_TESTING_LINE_H
#define ORDERD_TESTING_LINE_H

#include "testing_program.h"

#include "../src/program/ctl/ctl.h"

#define TESTING_LINE_ARGS 48

struct testing_line {
    const char *args[TESTING_LINE_ARGS]; /* "orderctl", then the rest; NULL after them */
    size_t count;
    char texts[TESTING_LINE_ARGS][64]; /* what args may point at */
};

/* What stands for an operand, as the table's "operands" names it without dots and brackets. */
struct testing_operand {
    const char *name, *good;
    const char *bad;  /* no such thing can be; NULL: anything can */
    int bad_code;     /* what it ends with */
    bool needs_files; /* bad is seen only once the configuration is read */
};

/* The row of a command's operand; NULL: it takes none. Fails the test where tests/testing_line.c has none. */
const struct testing_operand *testing_operand_of(size_t command);

/* orderctl [-c FILE] -q and the words of the command, nothing else. file may be NULL. */
void testing_line_words(struct testing_line *line, size_t command, const char *file);

void testing_line_add(struct testing_line *line, const char *text); /* text outlives the line */

/* All that must be given: options with a good value, and a good operand where it takes any. but: an option that is left
 * out (CTL_OPTION_COUNT: none). activity: the text of an ID. */
void testing_line_fill(struct testing_line *line, size_t command, size_t but, const char *activity);

/* Adds --dry-run where the command has it, and the option that it goes with ("with --x: ..." in its row). */
void testing_line_dry_run(struct testing_line *line, size_t command);

/* Fails the test unless standard error is one sentence of that program and the code is this. what: for the message. */
void testing_says(const struct program *p, const char *program, int code, const char *what);

/* All of the line in one text, for messages; static storage. */
const char *testing_line_text(const struct testing_line *line);

#endif
