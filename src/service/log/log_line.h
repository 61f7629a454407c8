/* One log line as text, pure: no clock, no file. */
#ifndef ORDERD_SERVICE_LOG_LINE_H
#define ORDERD_SERVICE_LOG_LINE_H

#include "orderd/log.h"
#include "orderd/strbuf.h"

struct log_line {
    int64_t wall_ms;
    const char *level, *event, *program, *instance, *thread, *sentence;
    const struct log_field *fields; /* ends with a NULL name; NULL: none */
    uint64_t suppressed;
};

/* Appends the line with its newline. */
void log_line_logfmt(const struct log_line *line, struct strbuf *out);
void log_line_json(const struct log_line *line, struct strbuf *out);

#endif
