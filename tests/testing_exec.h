/* Starting one of the programs from a test that may have threads: between fork and exec nothing may be allocated, since
 * a thread that is not in the child may have held the allocator's lock (it happened, under AddressSanitizer). So what
 * the program is started with is made before the fork. */
#ifndef ORDERD_TESTING_EXEC_H
#define ORDERD_TESTING_EXEC_H

#define TESTING_EXEC_VARIABLES 512

struct testing_exec {
    char path[512];
    char *env[TESTING_EXEC_VARIABLES + 1];
};

/* A program of this build, with the variables of this process and changes to them: "NAME=value" sets one, "NAME" leaves
 * one out, NULL ends the list. Borrows both. */
void testing_exec_prepare(struct testing_exec *e, const char *program, const char *const *changes);

#endif
