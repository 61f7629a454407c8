/* Runs a program of the build and keeps what it says. */
#ifndef ORDERD_TESTING_PROGRAM_H
#define ORDERD_TESTING_PROGRAM_H

#include <sys/types.h>
#include "testing.h"

struct program {
    pid_t pid;
    int out_fd, err_fd;
    int code;                    /* of exit; 128 + the signal that ended it */
    char out[131072], err[8192]; /* standard output and error, cut when longer */
};

/* Starts "<build>/src/<name>" with these arguments (NULL ends them), no standard input. argv[0] is the name. */
void program_start(struct program *p, const char *const *argv);

/* The same with this file as its standard input. */
void program_start_reading(struct program *p, const char *const *argv, int in);

/* The ORDERD_FAULT of programs that are started from now on; NULL: none of their own. Set in the child alone: the
 * environment of a test must not change while its own threads read it. The text is kept by the caller. */
void program_faults(const char *text);

/* Where the standard output of programs that are started from now on goes: to this descriptor, nowhere (closed), or, as
 * at the beginning, into struct program. */
enum { PROGRAM_KEEPS = -1, PROGRAM_CLOSED = -2 };
void program_output(int fd);

/* Collects its output until it ends; fails the test after 60 s. */
void program_wait(struct program *p);

#define PROGRAM_RUN(p, ...)                                                                                            \
    do {                                                                                                               \
        program_start((p), (const char *const[]){__VA_ARGS__, NULL});                                                  \
        program_wait(p);                                                                                               \
    } while (0)

#endif
