/* One JSON object as one line, built member by member; commas are put in between. */
#ifndef ORDERD_CTL_RECORD_H
#define ORDERD_CTL_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/strbuf.h"

/* bracket: '{' or '['. name: of the member that it is; NULL at the top and inside a list. */
void record_open(struct strbuf *line, const char *name, char bracket);
void record_close(struct strbuf *line, char bracket); /* '}' or ']' */

void record_text(struct strbuf *line, const char *name, const char *text);   /* NULL: null */
void record_slice(struct strbuf *line, const char *name, struct slice text); /* ptr NULL: null */
void record_number(struct strbuf *line, const char *name, int64_t number);
void record_bool(struct strbuf *line, const char *name, bool value);
void record_null(struct strbuf *line, const char *name);

/* "2027-11-11T10:00:00.000Z"; null for 0 */
void record_time(struct strbuf *line, const char *name, int64_t wall_ms);

/* Writes the line to standard output and empties it. */
void record_print(struct strbuf *line);

#endif
