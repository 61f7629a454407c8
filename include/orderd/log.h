/* The log: events from tbl/log_event.h with named fields, one line each on standard error (logfmt or JSON).
 *
 *   log_event(LOG_EVENT_BROKER_DOWN, LOG_STR("host", host), LOG_INT("wait_ms", wait), LOG_ERR(&err));
 *
 * ts level event program instance thread, the fields, suppressed (where it is not 0), msg: in this order, in both
 * formats. Lines are written with one write(2) and never interleave. May be called by any thread, not by a signal
 * handler; blocks only as long as standard error blocks. Repeats above an event's rate are counted, and the count is
 * carried by its next line. A text field is cut to LOG_TEXT_MAX bytes, and an empty one is left out. A line that
 * cannot be written is dropped: the programs ignore SIGPIPE. */
#ifndef ORDERD_LOG_H
#define ORDERD_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/conf.h"
#include "orderd/error.h"
#include "orderd/strbuf.h"

enum log_event {
#define X(event, level, per_second, name, sentence) LOG_EVENT_##event,
#include "orderd/tbl/log_event.h"
#undef X
    LOG_EVENT_COUNT
};

#define LOG_TEXT_MAX 1024

struct log_field {
    const char *name; /* NULL ends the list */
    enum { LOG_FIELD_STR, LOG_FIELD_INT, LOG_FIELD_ERR } kind;
    struct slice text;
    int64_t number;
    const struct error *err;
};

#define LOG_STR(name_, text_)    ((struct log_field){.name = (name_), .kind = LOG_FIELD_STR, .text = slice_of(text_)})
#define LOG_SLICE(name_, slice_) ((struct log_field){.name = (name_), .kind = LOG_FIELD_STR, .text = (slice_)})
#define LOG_INT(name_, n_)       ((struct log_field){.name = (name_), .kind = LOG_FIELD_INT, .number = (int64_t)(n_)})
/* Writes two fields: reason=<code> error="sentence". */
#define LOG_ERR(err_) ((struct log_field){.name = "error", .kind = LOG_FIELD_ERR, .err = (err_)})

/* At least one field; an event without fields is log_write(event, NULL). */
#define log_event(event, ...) log_write((event), (const struct log_field[]){__VA_ARGS__, {0}})

void log_write(enum log_event event, const struct log_field *fields);

/* Whether a line of this event would be written now; for callers that would have to prepare fields (per order). */
bool log_wanted(enum log_event event);

/* Takes level, format and prefix from conf and keeps nothing of it; may be called again on reload. Before the first
 * call: info, logfmt, auto. */
void log_configure(const struct conf *conf);

/* For a program that is told to be quiet, instead. */
void log_errors_only(void);

/* Set once at start, before other threads: program name and instance ("orderd", "1"), fields of every line; kept by
 * pointer. Without an instance ("") there is no such field. */
void log_set_identity(const char *program, const char *instance);

/* The calling thread's name (e.g. "create.0"), a field of its lines; kept by pointer. "main" until set. */
void log_set_thread(const char *name);

/* Lines of this event so far, written and suppressed by its rate (for metrics). */
uint64_t log_count(enum log_event event);

#endif
