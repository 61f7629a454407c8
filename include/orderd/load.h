/* orderload: makes sales, fills queues and proves by id sets what became of them. */
#ifndef ORDERD_LOAD_H
#define ORDERD_LOAD_H

#include "orderd/exitcode.h"

/* The whole program, from its command line to its exit code. Main thread only; takes SIGINT and SIGTERM: the first
 * makes no new buyers, finishes what was accepted and verifies, the second ends the process. */
enum exitcode load_main(int argc, char **argv);

#endif
