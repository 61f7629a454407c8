/* Which process it is that has a number. */
#ifndef ORDERD_PROCESS_H
#define ORDERD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "orderd/error.h"

/* When the process was started, in ticks since the machine was: with its number it names one process for good. false:
 * there is none of that number, or it may not be seen. */
ORDERD_MUST_CHECK bool process_started(pid_t pid, int64_t *ticks);

#endif
