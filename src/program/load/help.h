/* The rows of the command line and the help that is printed from them. */
#ifndef ORDERD_LOAD_HELP_H
#define ORDERD_LOAD_HELP_H

#include "options.h"

enum load_option_type {
    LOAD_OPTION_INT,
    LOAD_OPTION_PERCENT,
    LOAD_OPTION_RATE,
    LOAD_OPTION_DURATION,
    LOAD_OPTION_TEXT,
    LOAD_OPTION_FLAG,
    LOAD_OPTION_FILES,
};

struct load_option_row {
    const char *name;
    enum load_option_type type;
    const char *commands, *def;
    int64_t min, max;
    const char *argument, *prose;
    size_t offset;
};

struct load_command_row {
    const char *name, *arguments, *line, *prose, *examples;
};

extern const struct load_option_row load_option_rows[];
extern const size_t load_option_count;
extern const struct load_command_row load_command_rows[LOAD_COMMANDS];

bool load_option_applies(const struct load_option_row *row, enum load_command command);

/* Each prints and answers how to end. */
enum exitcode help_top(void);
enum exitcode help_command(enum load_command command);
enum exitcode help_print(const char *text);

#endif
