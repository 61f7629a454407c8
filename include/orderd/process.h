/* Which process it is that has a number, and what this one leaves behind. */
#ifndef ORDERD_PROCESS_H
#define ORDERD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "orderd/error.h"

/* When the process was started, in ticks since the machine was: with its number it names one process for good. false:
 * there is none of that number, or it may not be seen. */
ORDERD_MUST_CHECK bool process_started(pid_t pid, int64_t *ticks);

/* This process and its children write no core file from now on: it would hold the servers' passwords. (Systems that
 * hand cores to a program of their own leave it to that program to respect the limit; systemd's and Ubuntu's do.) Where a
 * process broke, check.h and the log say; a debugger can be attached. */
void process_no_core(void);

#endif
