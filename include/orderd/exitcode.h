/* Exit codes of all three programs: sysexits where one fits, so that systemd names them (DESIGN section 10). */
#ifndef ORDERD_EXITCODE_H
#define ORDERD_EXITCODE_H

enum exitcode {
    EXIT_OK = 0,
    EXIT_FAILED = 1,       /* a check or verdict said no (orderload verify, topology check) */
    EXIT_PARTIAL = 3,      /* some of the work was done, some was not */
    EXIT_USAGE = 64,       /* the command line is wrong */
    EXIT_BAD_DATA = 65,    /* input was read and is wrong */
    EXIT_UNAVAILABLE = 69, /* a server is away */
    EXIT_INTERNAL = 70,    /* our own mistake */
    EXIT_IO = 74,          /* a file or standard output cannot be read or written */
    EXIT_TEMPORARY = 75,   /* try again later; nothing is lost */
    EXIT_NO_PERMISSION = 77,
    EXIT_CONFIG = 78, /* configuration, schema or topology is wrong; a restart will not help */
};

#include "orderd/error.h"

/* The code a command ends with when this error ended it. */
enum exitcode exitcode_of(const struct error *err);

#endif
