/* Files of lines that runs append to, and that a killed run may leave with half a line at the end. */
#ifndef ORDERD_LOAD_LINES_H
#define ORDERD_LOAD_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "options.h"
#include "orderd/error.h"

/* Opens it for appending, made where it is missing, with head as its first lines, and cuts off a last line without its
 * end. NULL: IO. */
ORDERD_MUST_CHECK FILE *lines_open(const char *path, const char *head, struct error *err);

/* What reading such files passed over: it tells a file that names nothing from one that names something else. All 0
 * before the first file. */
struct lines_passed {
    size_t complete; /* lines with their end, the head's and those of ours among them */
    int64_t other;   /* the first other activity that was met; 0: none ... */
    size_t of_other; /* ... its lines ... */
    size_t of_more;  /* ... and those of further ones */
};

void lines_pass(struct lines_passed *passed, int64_t activity);

/* Whether half a line is what a killed run leaves where the first line should be: the begin of the head. Behind the
 * first line it may be anything. */
bool lines_cut_head(const char *line, unsigned number, const char *head);

/* Of an activity that no line was of: false with INPUT_INVALID where that cannot be what was asked for, because these
 * files are of other activities, or are empty. True where a run wrote the head alone: it accepted nothing. what:
 * "order". */
ORDERD_MUST_CHECK bool lines_explain_none(const struct lines_passed *passed, const struct load_files *files,
                                          int64_t activity, const char *what, struct error *err);

#endif
