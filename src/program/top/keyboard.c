#include "terminal.h"

/* ESC [ A, ESC O A, and the longer ones ESC [ 1 ; 5 A. */
enum { PLAIN, ESCAPE, SEQUENCE };

static enum terminal_key letter(unsigned char byte)
{
    switch (byte) {
    case 'q':
    case 'Q':
        return KEY_QUIT;
    case '?':
    case 'h':
        return KEY_HELP;
    case 'p':
    case ' ':
        return KEY_PAUSE;
    case 'k':
        return KEY_UP;
    case 'j':
        return KEY_DOWN;
    case 'L' - '@':
        return KEY_REDRAW;
    default:
        return KEY_OTHER;
    }
}

static enum terminal_key last_of_sequence(unsigned char byte)
{
    return byte == 'A' ? KEY_UP : byte == 'B' ? KEY_DOWN : KEY_OTHER;
}

enum terminal_key keyboard_take(struct keyboard *k, unsigned char byte)
{
    int state = k->state;

    k->state = PLAIN;
    if (byte == 0x1b) {
        k->state = ESCAPE;
        return KEY_NONE;
    }
    if (state == ESCAPE && (byte == '[' || byte == 'O')) {
        k->state = SEQUENCE;
        return KEY_NONE;
    }
    if (state == SEQUENCE && byte >= 0x20 && byte < 0x40) { /* its numbers */
        k->state = SEQUENCE;
        return KEY_NONE;
    }
    return state == SEQUENCE ? last_of_sequence(byte) : letter(byte);
}
