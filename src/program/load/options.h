/* The command line, by the rows of tbl/load_command.h and tbl/load_option.h. */
#ifndef ORDERD_LOAD_OPTIONS_H
#define ORDERD_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/exitcode.h"

enum load_command {
#define X(command, name, arguments, line, prose, examples) LOAD_##command,
#include "orderd/tbl/load_command.h"
#undef X
    LOAD_COMMANDS
};

#define LOAD_FILES_MAX 64

struct load_files {
    const char *names[LOAD_FILES_MAX];
    size_t count;
};

#define LOAD_FIELD_INT      int64_t
#define LOAD_FIELD_PERCENT  double
#define LOAD_FIELD_RATE     double
#define LOAD_FIELD_DURATION int64_t
#define LOAD_FIELD_TEXT     const char *
#define LOAD_FIELD_FLAG     bool
#define LOAD_FIELD_FILES    struct load_files

struct load_options {
    enum load_command command;
    int64_t count; /* fill: how many */
#define X(field, name, type, commands, def, min, max, argument, prose) LOAD_FIELD_##type field;
#include "orderd/tbl/load_option.h"
#undef X
};

/* true: go on with *o. false: help was printed, or one sentence about a mistake; *code is how to end. The texts of *o
 * point into argv. */
bool load_options_parse(int argc, char **argv, struct load_options *o, enum exitcode *code);

const char *load_command_name(enum load_command command);

#endif
