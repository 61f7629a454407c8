/* The tables as data. */
#include "ctl.h"

#include <string.h>

const struct ctl_command ctl_commands[CTL_COMMAND_COUNT] = {
#define X(id, words, operands, least, most, brief, more)                                                               \
    [CTL_##id] = {words, operands, least, most, brief, more, ctl_##id},
#include "orderd/tbl/ctl_command.h"
#undef X
};

const struct ctl_option ctl_options[CTL_OPTION_COUNT] = {
#define X(command, name, spelling, type, value, least, most, def, help)                                                \
    [CTL_OPTION_##command##_##name] = {CTL_##command, spelling, CTL_##type, value, least, most, def, help},
#include "orderd/tbl/ctl_option.h"
#undef X
};

const struct ctl_global ctl_globals[CTL_GLOBAL_COUNT] = {
    [CTL_GLOBAL_CONFIG] = {'c', "config", "FILE", "configuration file (default " CTL_DEFAULT_CONF ")"},
    [CTL_GLOBAL_JSON] = {0, "json", "", "print JSON, one object per line"},
    [CTL_GLOBAL_QUIET] = {'q', "quiet", "", "no notes on standard error, only warnings and errors"},
    [CTL_GLOBAL_NO_COLOR] = {0, "no-color", "", "no colour on a terminal (also where NO_COLOR is set)"},
    [CTL_GLOBAL_HELP] = {'h', "help", "", "print this; of a command: its options and examples"},
    [CTL_GLOBAL_VERSION] = {'V', "version", "", "print the version"},
};

const char *ctl_next_word(const char *words, const char *path)
{
    size_t len = strlen(path);

    if (len == 0)
        return words;
    if (strncmp(words, path, len) != 0 || (words[len] != ' ' && words[len] != '\0'))
        return NULL;
    return words + len + (words[len] == ' ');
}
