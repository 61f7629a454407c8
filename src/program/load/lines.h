/* Files of lines that runs append to, and that a killed run may leave with half a line at the end. */
#ifndef ORDERD_LOAD_LINES_H
#define ORDERD_LOAD_LINES_H

#include <stdio.h>
#include "orderd/error.h"

/* Opens it for appending, made where it is missing, with head as its first lines, and cuts off a last line without its
 * end. NULL: IO. */
ORDERD_MUST_CHECK FILE *lines_open(const char *path, const char *head, struct error *err);

#endif
