/* Another body for a letter that no queue takes: where it comes from, and what it changes. */
#ifndef ORDERD_CTL_DLQ_EDIT_H
#define ORDERD_CTL_DLQ_EDIT_H

#include "dlq.h"
#include "orderd/dead_letter_made.h"

#define DLQ_EDIT_MAX ((size_t)64 * 1024) /* more than any queue takes */

/* The bytes of that file, "-" for standard input, without a newline at their end. */
ORDERD_MUST_CHECK bool dlq_edit_read(const char *name, struct strbuf *out, struct error *err);

/* Lets the person at the terminal change `bytes` in $VISUAL or $EDITOR, in a file of its own, whose name (at most
 * DLQ_EDIT_PATH - 1 bytes) is then in path, "" after a failure; the caller removes it. Waits for the editor. */
#define DLQ_EDIT_PATH 256
ORDERD_MUST_CHECK bool dlq_edit_in_editor(struct ctl *ctl, struct slice bytes, char path[DLQ_EDIT_PATH],
                                          struct strbuf *out, struct error *err);

/* Both on standard output, line by line, JSON with a member a line: "-" before what goes, "+" before what comes. */
void dlq_edit_show(const struct ctl *ctl, struct slice before, struct slice after);

#endif
