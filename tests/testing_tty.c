#include "testing_tty.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing_exec.h"

/* ---- the screen ---- */

static void erase(struct tty *t, int row, int from)
{
    for (int i = from; i < TTY_WIDTH_MAX; i++)
        t->cells[row][i] = L' ';
}

static void erase_all(struct tty *t)
{
    for (int row = 0; row < TTY_HEIGHT_MAX; row++)
        erase(t, row, 0);
}

/* "[?25l", "[12;1H", "[K", "[0;1m": only what orderctl writes; anything else fails the test. */
static void obey(struct tty *t, const char *sequence)
{
    char last = sequence[strlen(sequence) - 1];
    int row, column;

    if (strcmp(sequence, "[?1049h") == 0 || strcmp(sequence, "[?1049l") == 0)
        t->second = last == 'h';
    else if (strcmp(sequence, "[?25h") == 0 || strcmp(sequence, "[?25l") == 0)
        t->cursor = last == 'h';
    else if (strcmp(sequence, "[2J") == 0)
        erase_all(t);
    else if (strcmp(sequence, "[K") == 0)
        erase(t, t->row, t->column);
    else if (last == 'H' && sscanf(sequence, "[%d;%dH", &row, &column) == 2) {
        t->row = row < t->height ? row - 1 : t->height - 1;
        t->column = column - 1;
    } else
        ck_assert_msg(last == 'm' || strcmp(sequence, "[?7l") == 0 || strcmp(sequence, "[?7h") == 0,
                      "unexpected sequence ESC %s", sequence);
}

/* Without wrapping: at the edge the cursor stays on the last column. */
static void show(struct tty *t, wchar_t c)
{
    int columns = wcwidth(c);

    if (c == L'\r')
        t->column = 0;
    else if (c == L'\n')
        t->row += t->row + 1 < t->height;
    if (c == L'\r' || c == L'\n')
        return;
    ck_assert_msg(columns == 1 || columns == 2, "U+%04X on the screen", (unsigned)c);
    ck_assert_msg(t->column + columns <= t->width, "over the edge");
    t->cells[t->row][t->column] = c;
    if (columns == 2)
        t->cells[t->row][t->column + 1] = 0;
    t->column = t->column + columns < t->width ? t->column + columns : t->width - 1;
}

static void take(struct tty *t, char byte)
{
    mbstate_t state = {0};
    wchar_t c;
    size_t n;

    ck_assert(t->open_len + 1 < sizeof t->open);
    t->open[t->open_len++] = byte;
    t->open[t->open_len] = '\0';
    if (t->open[0] == '\033') {
        if (t->open_len < 3 || byte < '@')
            return;
        t->open_len = 0;
        obey(t, t->open + 1);
        return;
    }
    n = mbrtowc(&c, t->open, t->open_len, &state);
    if (n == (size_t)-2)
        return;
    ck_assert_msg(n != (size_t)-1, "bytes that are no character");
    t->open_len = 0;
    show(t, c);
}

static void pump(struct tty *t)
{
    char bytes[65536];
    ssize_t n;

    while ((n = read(t->fd, bytes, sizeof bytes)) > 0) {
        size_t kept = (size_t)n < sizeof t->out - 1 - t->out_len ? (size_t)n : sizeof t->out - 1 - t->out_len;

        memcpy(t->out + t->out_len, bytes, kept);
        t->out_len += kept;
        for (ssize_t i = 0; i < n; i++)
            take(t, bytes[i]);
    }
}

static void print_row(const struct tty *t, int row, char *out)
{
    for (int i = 0; i < t->width; i++) {
        mbstate_t state = {0};

        if (t->cells[row][i])
            out += wcrtomb(out, t->cells[row][i], &state);
    }
    *out = '\0';
}

bool tty_shows(struct tty *t, const char *text)
{
    char row[TTY_WIDTH_MAX * MB_LEN_MAX];

    pump(t);
    for (int i = 0; i < t->height; i++) {
        print_row(t, i, row);
        if (strstr(row, text))
            return true;
    }
    return false;
}

const char *tty_screen(struct tty *t)
{
    static char text[TTY_HEIGHT_MAX * TTY_WIDTH_MAX * MB_LEN_MAX];
    char *out = text;

    pump(t);
    for (int i = 0; i < t->height; i++) {
        print_row(t, i, out);
        out += strlen(out);
        *out++ = '\n';
    }
    *out = '\0';
    return text;
}

/* ---- the program ---- */

static void become(const struct tty *t, const struct testing_exec *e, const char *const *argv)
{
    setsid();
    ioctl(t->slave, TIOCSCTTY, 0);
    for (int fd = 0; fd <= 2; fd++)
        dup2(t->slave, fd);
    execve(e->path, (char *const *)(uintptr_t)argv, e->env);
    _exit(127);
}

void tty_start(struct tty *t, int width, int height, const char *const *env, const char *const *argv)
{
    struct winsize size = {.ws_col = (unsigned short)width, .ws_row = (unsigned short)height};
    struct testing_exec exec;

    memset(t, 0, sizeof *t);
    t->width = width;
    t->height = height;
    t->cursor = true;
    erase_all(t);
    ck_assert(openpty(&t->fd, &t->slave, NULL, NULL, &size) == 0);
    ck_assert(fcntl(t->fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(t->slave, F_SETFD, FD_CLOEXEC) == 0);
    ck_assert(fcntl(t->fd, F_SETFL, O_NONBLOCK) == 0);
    ck_assert(tcgetattr(t->slave, &t->before) == 0);
    testing_exec_prepare(&exec, argv[0], env);
    t->pid = fork();
    ck_assert(t->pid >= 0);
    if (t->pid == 0)
        become(t, &exec, argv);
}

void tty_type(struct tty *t, const char *keys)
{
    ck_assert(write(t->fd, keys, strlen(keys)) == (ssize_t)strlen(keys));
}

void tty_resize(struct tty *t, int width, int height)
{
    struct winsize size = {.ws_col = (unsigned short)width, .ws_row = (unsigned short)height};

    pump(t);
    t->width = width;
    t->height = height;
    ck_assert(ioctl(t->fd, TIOCSWINSZ, &size) == 0);
}

bool tty_as_before(struct tty *t)
{
    struct termios now;

    ck_assert(tcgetattr(t->slave, &now) == 0);
    return now.c_iflag == t->before.c_iflag && now.c_oflag == t->before.c_oflag && now.c_cflag == t->before.c_cflag &&
           now.c_lflag == t->before.c_lflag && memcmp(now.c_cc, t->before.c_cc, sizeof now.c_cc) == 0;
}

int tty_wait(struct tty *t)
{
    int64_t deadline = testing_now_ms() + TESTING_PATIENCE * 20000;
    int status;

    for (;;) {
        pid_t got = waitpid(t->pid, &status, WNOHANG | WUNTRACED);

        ck_assert(got >= 0);
        pump(t); /* else it may wait for us */
        if (got == t->pid)
            return status;
        if (testing_now_ms() >= deadline) {
            kill(t->pid, SIGKILL);
            ck_abort_msg("it did not end in 20 s, with\n%s", tty_screen(t));
        }
        testing_pause();
    }
}

void tty_hang_up(struct tty *t)
{
    close(t->fd);
    close(t->slave);
    t->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}
