/* A program of the build on a terminal of its own, and what stands on that terminal's screen. */
#ifndef ORDERD_TESTING_TTY_H
#define ORDERD_TESTING_TTY_H

#include <sys/types.h>
#include <termios.h>
#include <wchar.h>
#include "testing.h"

#define TTY_WIDTH_MAX  160
#define TTY_HEIGHT_MAX 60

struct tty {
    int fd, slave; /* the test's end; the program's, kept so that its modes can be looked at */
    pid_t pid;
    struct termios before;
    int width, height;
    bool second;                                  /* it shows its second screen */
    bool cursor;                                  /* it shows a cursor */
    wchar_t cells[TTY_HEIGHT_MAX][TTY_WIDTH_MAX]; /* of the screen that is shown last; 0: right half */
    int row, column;
    char open[64]; /* an escape sequence or character that is not complete */
    size_t open_len;
    char out[1 << 20]; /* all that came, cut when longer */
    size_t out_len;
};

/* Starts "<build>/src/<argv[0]>" on a new terminal of this size, as the leader of a session. env: "NAME=VALUE" or
 * "NAME" to unset it, NULL ends. */
void tty_start(struct tty *tty, int width, int height, const char *const *env, const char *const *argv);

void tty_type(struct tty *tty, const char *keys);
void tty_resize(struct tty *tty, int width, int height);

/* Takes what came; whether the screen shows this text now, in one row. */
bool tty_shows(struct tty *tty, const char *text);

/* The whole screen as text, for messages. Static storage. */
const char *tty_screen(struct tty *tty);

/* Whether the modes are those it had before the program. */
bool tty_as_before(struct tty *tty);

/* Until it has ended, or stopped (WUNTRACED): what waitpid said. Fails the test after 20 s. */
int tty_wait(struct tty *tty);

/* The terminal is gone. */
void tty_hang_up(struct tty *tty);

#define tty_await(tty_, text_)                                                                                         \
    do {                                                                                                               \
        int64_t until_ = testing_now_ms() + 15000;                                                                     \
        while (!tty_shows(tty_, text_)) {                                                                              \
            ck_assert_msg(testing_now_ms() < until_, "waited for \"%s\" in vain on\n%s", text_, tty_screen(tty_));     \
            testing_pause();                                                                                           \
        }                                                                                                              \
    } while (0)

#endif
