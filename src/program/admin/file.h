/* The files of the live page (tbl/admin_file.h). */
#ifndef ORDERD_ADMIN_FILE_H
#define ORDERD_ADMIN_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct admin_file {
    const char *path, *type;
    const char *etag; /* with its quotes; another one as soon as a byte is another */
    const char *data; /* *len bytes */
    const size_t *len;
};

/* NULL: none has this path. */
const struct admin_file *admin_file_of(const char *path);

/* Whether a request with this If-None-Match (NULL: without one) has the file already.
 * Source: RFC 9110, 13.1.2; the comparison is the weak one. */
bool admin_file_known(const struct admin_file *file, const char *if_none_match);

#endif
