/* Every command of orderctl against something that is broken, measured by what it answers where all is well. */
#ifndef ORDERD_TESTING_MISUSE_H
#define ORDERD_TESTING_MISUSE_H

#include "testing_line.h"

extern struct program misuse;           /* the last run */
extern struct testing_line misuse_line; /* and its command line */

/* A sale that is on, with an order, a dead letter and a local message to be shown; sale_teardown ends it. */
void misuse_setup(void);

/* The line with all that must be given, and --dry-run where that is wanted and to be had. */
void misuse_begin(size_t command, bool dry_run);
int misuse_run(void); /* answers the code */

/* What each command answers where all is well; as a dry run, so that the next one finds the same. */
struct misuse_usual {
    int code;
    bool prints;
};
extern struct misuse_usual misuse_usual[CTL_COMMAND_COUNT];
void misuse_measure(void);

/* Fails unless the last run, of this command, said one sentence and ended with one of these codes, or with its usual
 * one; or printed its verdict. */
void misuse_fails_well(size_t command, const int *codes, size_t count, const char *how);

/* That for every command, and nothing in the database has changed. how: what is broken, for messages. */
void misuse_all(const int *codes, size_t count, bool dry_run, const char *how);

bool misuse_is(size_t command, const char *const *words, size_t count); /* one of these commands */
bool misuse_is_report(size_t command);                                  /* it has a line for each server */

/* All that the database has, in one number. */
int64_t misuse_database(void);

/* Makes a schema with nothing in it, which the caller drops; its name. */
const char *misuse_empty_schema(void);

#endif
