#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "orderd/check.h"
#include "signals.h"

struct terminal {
    enum frame_style style;
    struct frame *shown; /* NULL: nothing is known about what the screen shows */
    struct keyboard keyboard;
    unsigned char typed[64];
    size_t typed_len, typed_next;
    bool has_keys;
};

/* Second screen, no cursor, no wrapping at the edge; and the other way: wrapping, cursor, below everything (for
 * terminals without a second screen), first screen. */
static const char enter[] = "\033[?1049h\033[?25l\033[?7l\033[0m\033[2J";
static const char leave[] = "\033[0m\033[?7h\033[?25h\033[999;1H\n\033[?1049l";

/* What a signal handler needs to give the terminal back: constant while `taken`. */
static struct termios before;
static volatile sig_atomic_t taken;
static bool has_modes;

/* ---- taking and giving back ---- */

/* false: it takes no more. A signal ends the wait for a terminal that takes nothing (Ctrl-S, a stuck connection). */
static bool write_all(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes, len);

        if (n < 0 && (errno != EINTR || signals_ending()))
            return false;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    return true;
}

/* As far as it goes; also called by a signal handler that ends the process. */
static void give_back(void)
{
    ssize_t ignored;

    if (!taken)
        return;
    taken = 0;
    ignored = write(STDOUT_FILENO, leave, sizeof leave - 1);
    (void)ignored;
    if (has_modes)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static bool take_over(void)
{
    struct termios raw;

    has_modes = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    if (has_modes) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        while (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0) {
            if (errno != EINTR || signals_ending())
                return false;
        }
    }
    taken = 1;
    return write_all(enter, sizeof enter - 1);
}

struct terminal *terminal_open(enum frame_style style, struct error *err)
{
    struct terminal *t = check_calloc(1, sizeof *t);

    t->style = style;
    signals_take(give_back);
    if (!take_over()) {
        error_set(err, ERROR_IO, "the terminal cannot be used: %s", strerror(errno));
        terminal_close(&t);
        return NULL;
    }
    t->has_keys = has_modes;
    return t;
}

void terminal_close(struct terminal **terminal)
{
    give_back();
    signals_give_back();
    if (*terminal)
        frame_destroy(&(*terminal)->shown);
    free(*terminal);
    *terminal = NULL;
}

void terminal_die(void)
{
    int which = signals_killed_by();

    if (which) {
        signal(which, SIG_DFL);
        raise(which);
    }
}

/* ---- drawing ---- */

void terminal_size(const struct terminal *t, int *width, int *height)
{
    struct winsize size = {0};

    (void)t;
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *width = size.ws_col > 0 ? size.ws_col : 80;
    *height = size.ws_row > 0 ? size.ws_row : 24;
}

void terminal_forget(struct terminal *t)
{
    frame_destroy(&t->shown);
}

bool terminal_draw(struct terminal *t, const struct frame *f)
{
    bool all = !t->shown || t->shown->width != f->width || t->shown->height != f->height, ok;
    struct strbuf out = STRBUF_INIT;

    if (all)
        strbuf_add_str(&out, "\033[0m\033[2J");
    for (int row = 0; row < f->height; row++) {
        if (!all && frame_row_equal(t->shown, f, row))
            continue;
        strbuf_addf(&out, "\033[%d;1H", row + 1);
        if (frame_print_row(f, row, t->style, &out) < f->width) /* at the edge it would take the last character */
            strbuf_add_str(&out, "\033[K");
    }
    ok = out.len == 0 || write_all(out.data, out.len);
    strbuf_release(&out);
    frame_destroy(&t->shown);
    t->shown = frame_create(f->width, f->height, f->utf8);
    memcpy(t->shown->cells, f->cells, (size_t)f->width * (size_t)f->height * sizeof *f->cells);
    return ok;
}

/* ---- waiting ---- */

/* As Ctrl-Z wants it: the shell gets its terminal as it was, and we are back when it says so. */
static void stop(struct terminal *t)
{
    give_back();
    raise(SIGSTOP);
    signals_resumed();
    if (!take_over())
        signals_hang_up();
    terminal_forget(t);
}

static enum terminal_event of_signals(struct terminal *t)
{
    unsigned seen = signals_seen();

    if (seen & SIGNALS_STOP) {
        stop(t);
        seen |= SIGNALS_RESIZE;
    } else if (seen & SIGNALS_CONTINUE) {
        give_back();
        if (!take_over())
            signals_hang_up();
    }
    if (signals_killed_by())
        return TERMINAL_KILLED;
    if (signals_ending())
        return TERMINAL_END;
    if (seen == 0)
        return TERMINAL_NOTHING;
    terminal_forget(t);
    return TERMINAL_REDRAW;
}

static enum terminal_event read_keys(struct terminal *t)
{
    ssize_t n = read(STDIN_FILENO, t->typed, sizeof t->typed);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return TERMINAL_NOTHING;
    if (n <= 0) {
        signals_hang_up();
        return TERMINAL_KILLED;
    }
    t->typed_len = (size_t)n;
    t->typed_next = 0;
    return TERMINAL_KEYS;
}

enum terminal_event terminal_wait(struct terminal *t, int fd, int timeout_ms)
{
    struct pollfd on[] = {{signals_fd(), POLLIN, 0}, {fd, POLLIN, 0}, {t->has_keys ? STDIN_FILENO : -1, POLLIN, 0}};
    int n = poll(on, sizeof on / sizeof *on, timeout_ms);

    if ((n < 0 && errno == EINTR) || (n > 0 && on[0].revents))
        return of_signals(t);
    if (n > 0 && on[2].revents)
        return read_keys(t);
    return TERMINAL_NOTHING;
}

enum terminal_key terminal_key(struct terminal *t)
{
    enum terminal_key key = KEY_NONE;

    while (key == KEY_NONE && t->typed_next < t->typed_len)
        key = keyboard_take(&t->keyboard, t->typed[t->typed_next++]);
    return key;
}
