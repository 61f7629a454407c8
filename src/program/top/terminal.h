/* The terminal, while a frame stands on it: its second screen, without echo and cursor. Whatever ends the program, but
 * SIGKILL, it is as it was before; while the program is stopped too.
 *
 * Written in the sequences of ECMA-48 that every terminal with a cursor has had for decades, rather than through
 * curses: what is drawn is a finished frame, so of all that curses does (windows, its own diff, pads) nothing would be
 * left to do but to hold the same sequences in a database.
 *
 * One at a time; one thread. */
#ifndef ORDERD_TOP_TERMINAL_H
#define ORDERD_TOP_TERMINAL_H

#include <stdbool.h>

#include "frame.h"
#include "orderd/error.h"

struct terminal;

/* Takes over standard output, which must be a terminal, and the keys of standard input where that is one. NULL: it
 * cannot be had (IO). style: MONO or COLOR. */
ORDERD_MUST_CHECK struct terminal *terminal_open(enum frame_style style, struct error *err);

/* Gives it back. The signals that ended it (see terminal_wait) are answered afterwards by terminal_die. */
void terminal_close(struct terminal **terminal);

/* At least 1 and 1. */
void terminal_size(const struct terminal *terminal, int *width, int *height);

/* Makes the screen show this; writes only rows that changed. false: nobody can see it any more. */
ORDERD_MUST_CHECK bool terminal_draw(struct terminal *terminal, const struct frame *frame);

/* The next draw writes every row. */
void terminal_forget(struct terminal *terminal);

enum terminal_event {
    TERMINAL_NOTHING, /* the time is over, or fd can be read */
    TERMINAL_KEYS,    /* terminal_key has some */
    TERMINAL_REDRAW,  /* another size, or back from being stopped */
    TERMINAL_END,     /* Ctrl-C */
    TERMINAL_KILLED,  /* another signal that ends a program, or the terminal is gone */
};

/* Waits for one of these, or until fd (-1: none) can be read, at most timeout_ms. Stops and continues with Ctrl-Z and
 * fg by itself. */
enum terminal_event terminal_wait(struct terminal *terminal, int fd, int timeout_ms);

enum terminal_key { KEY_NONE, KEY_QUIT, KEY_HELP, KEY_PAUSE, KEY_UP, KEY_DOWN, KEY_REDRAW, KEY_OTHER };

/* The next key that was typed; KEY_NONE: no more for now. */
enum terminal_key terminal_key(struct terminal *terminal);

/* After terminal_close: ends the process by the signal that asked for it, so that who started it sees that; returns
 * where there was none. */
void terminal_die(void);

/* Bytes of a keyboard become keys; a sequence may come in pieces. Pure. */
struct keyboard {
    int state; /* zeroed: nothing is open */
};
enum terminal_key keyboard_take(struct keyboard *keyboard, unsigned char byte);

#endif
