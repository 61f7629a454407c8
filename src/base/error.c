#include "orderd/error.h"

#include <stdio.h>
#include <string.h>

#include "orderd/exitcode.h"

static const struct {
    enum error_class class_;
    const char *name;
} codes[] = {
    [ERROR_NONE] = {ERROR_CLASS_NONE, "none"},
#define X(code, class_, name) [ERROR_##code] = {ERROR_CLASS_##class_, name},
#include "orderd/tbl/error.h"
#undef X
};

enum error_class error_class_of(const struct error *err)
{
    return codes[err->code].class_;
}

const char *error_code_name(enum error_code code)
{
    return codes[code].name;
}

const char *error_class_name(enum error_class class_)
{
    static const char *const names[] = {"none", "transient", "outage", "setup", "permanent", "unknown", "bug"};
    return names[class_];
}

/* One line whatever a server put into its message. */
static void flatten(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ')
            *text = ' ';
    }
}

bool error_set(struct error *err, enum error_code code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    flatten(err->text);
    err->code = code;
    return false;
}

bool error_prefix(struct error *err, const char *fmt, ...)
{
    char old[ERROR_TEXT_MAX];
    va_list ap;
    size_t len;

    memcpy(old, err->text, sizeof old);
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    len = strlen(err->text);
    snprintf(err->text + len, sizeof err->text - len, ": %s", old);
    flatten(err->text);
    return false;
}

void error_clear(struct error *err)
{
    err->code = ERROR_NONE;
    err->text[0] = '\0';
}

enum exitcode exitcode_of(const struct error *err)
{
    if (err->code == ERROR_CONF_INVALID)
        return EXIT_CONFIG;
    if (err->code == ERROR_IO)
        return EXIT_IO;
    switch (error_class_of(err)) {
    case ERROR_CLASS_NONE:
        return EXIT_OK;
    case ERROR_CLASS_TRANSIENT:
        return EXIT_TEMPORARY;
    case ERROR_CLASS_OUTAGE:
        return EXIT_UNAVAILABLE;
    case ERROR_CLASS_SETUP:
        return EXIT_CONFIG;
    case ERROR_CLASS_PERMANENT:
        return EXIT_BAD_DATA;
    default:
        return EXIT_INTERNAL;
    }
}
