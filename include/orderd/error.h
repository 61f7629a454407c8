/* An error is a value: a code, a class that says what to do about it, and one sentence with context.
 *
 * A function that can fail takes `struct error *err` last and returns false (or NULL); on success it leaves *err
 * alone. err may not be NULL. Plain data: copy it freely, any thread. */
#ifndef ORDERD_ERROR_H
#define ORDERD_ERROR_H

#include <stdbool.h>
#include <stdarg.h>

#define ORDERD_MUST_CHECK        __attribute__((warn_unused_result))
#define ORDERD_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* What the caller does about it; see DESIGN section 6. */
enum error_class {
    ERROR_CLASS_NONE,
    ERROR_CLASS_TRANSIENT, /* the same again at once, with jitter, a bounded number of times */
    ERROR_CLASS_OUTAGE,    /* wait, reconnect, the same again; what was sent may have taken effect */
    ERROR_CLASS_SETUP,     /* stop, raise an alarm, go on when an operator has mended it */
    ERROR_CLASS_PERMANENT, /* this one request's own fault: the same again cannot help */
    ERROR_CLASS_UNKNOWN,   /* not understood: a few tries, then treated as the request's own fault */
    ERROR_CLASS_BUG,       /* our own mistake */
};

enum error_code {
    ERROR_NONE,
#define X(code, class_, name) ERROR_##code,
#include "orderd/tbl/error.h"
#undef X
    ERROR_CODE_COUNT
};

#define ERROR_TEXT_MAX 384

struct error {
    enum error_code code;
    char text[ERROR_TEXT_MAX]; /* one sentence, no newline; cut when longer, never with secrets */
};

enum error_class error_class_of(const struct error *err);
const char *error_class_name(enum error_class class_);
const char *error_code_name(enum error_code code);

/* Sets code and sentence and answers false, so that `return error_set(err, ...)` reads as "fail with". */
bool error_set(struct error *err, enum error_code code, const char *fmt, ...) ORDERD_PRINTF(3, 4);

/* Puts "prefix: " before the sentence, keeps the code, answers false: context on the way up. */
bool error_prefix(struct error *err, const char *fmt, ...) ORDERD_PRINTF(2, 3);

void error_clear(struct error *err);

#endif
