/* Standard output as all three programs end it: what a reader did not want is no failure, what could not be written is
 * one. */
#ifndef ORDERD_OUTPUT_H
#define ORDERD_OUTPUT_H

#include <stdbool.h>

#include "orderd/exitcode.h"

/* First thing in main, before any thread. A standard descriptor that the caller closed is taken, so that no socket gets
 * its number, and a pipe whose reader is gone raises no signal. */
void output_prepare(void);

/* Last thing in main: flushes standard output, and answers how to end. Where it could not be written that is EXIT_IO
 * with a sentence on standard error, in place of any verdict: who reads the code has not seen what it is about. But for
 * two cases: a reader that has seen enough (`| head`), and a program that has told already why it failed; then code
 * stays. */
enum exitcode output_end(const char *program, enum exitcode code, bool failed);

#endif
