/* The daemon: start, run until told to stop, drain, end. Main thread only. */
#ifndef ORDERD_DAEMON_H
#define ORDERD_DAEMON_H

#include "orderd/conf.h"
#include "orderd/exitcode.h"

/* Runs with this configuration (taken over: it is freed at the end) until SIGTERM or SIGINT. instance: "" or the
 * replica's name. Waits for servers that are away; answers CONFIG where schema, topology or an account is wrong, since
 * a restart would not help. Signals: TERM and INT drain (a second one ends at once), HUP reloads the file it was read
 * from, USR1 makes it quiet until CONT, USR2 writes what each thread does into the log. */
enum exitcode daemon_run(struct conf **conf, const char *instance);

#endif
