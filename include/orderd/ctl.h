/* orderctl: the command line for the people who run orderd.
 *
 * Commands are rows of tbl/ctl_command.h, their options rows of tbl/ctl_option.h; a command is one row and one function
 * bool ctl_<id>(struct ctl *, struct error *) in src/program/ctl. Data goes to standard output, every message to
 * standard error. */
#ifndef ORDERD_CTL_H
#define ORDERD_CTL_H

#include "orderd/exitcode.h"

/* Runs one command line and answers how to end. Main thread, once per process. */
enum exitcode ctl_main(int argc, char **argv);

#endif
