/* Signals of a program that has a terminal in its hands: counted by handlers, told through a pipe. Handlers and not
 * signalfd, so that a write to a terminal that takes nothing is interrupted. */
#ifndef ORDERD_TOP_SIGNALS_H
#define ORDERD_TOP_SIGNALS_H

#include <stdbool.h>

enum { SIGNALS_RESIZE = 1, SIGNALS_STOP = 2, SIGNALS_CONTINUE = 4 };

/* From now on. give_back is called before the process ends by an abort or a fault of its own; it may do only what a
 * signal handler may. */
void signals_take(void (*give_back)(void));

/* As they were before. What ended the program is still known. */
void signals_give_back(void);

/* Readable where signals_seen has something new. */
int signals_fd(void);

/* What came since the last call: SIGNALS_ bits. */
unsigned signals_seen(void);

/* Whether one came that ends the program; and which, where it was not Ctrl-C (0: none). */
bool signals_ending(void);
int signals_killed_by(void);

/* As if SIGHUP had come: the terminal is gone. */
void signals_hang_up(void);

/* Back from SIGSTOP: the SIGCONT that woke us is no news. */
void signals_resumed(void);

#endif
