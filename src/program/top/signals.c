#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "orderd/check.h"

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};
static const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct sigaction old_watched[COUNT(watched)], old_faults[COUNT(faults)];
static int pipe_fds[2] = {-1, -1};
static volatile sig_atomic_t resized, stopped, continued, interrupted, killed_by;
static void (*on_fault)(void);

static void note(int which)
{
    int kept = errno;
    ssize_t ignored;

    if (which == SIGWINCH)
        resized = 1;
    else if (which == SIGTSTP)
        stopped = 1;
    else if (which == SIGCONT)
        continued = 1;
    else if (which == SIGINT)
        interrupted = 1;
    else
        killed_by = which;
    ignored = write(pipe_fds[1], "", 1); /* full: somebody is about to look anyway */
    (void)ignored;
    errno = kept;
}

/* Its action is the usual one again by now (SA_RESETHAND), and ends the process. */
static void fault(int which)
{
    on_fault();
    raise(which);
}

void signals_take(void (*give_back)(void))
{
    struct sigaction noting = {.sa_handler = note}, faulting = {.sa_handler = fault, .sa_flags = (int)SA_RESETHAND};

    on_fault = give_back;
    resized = stopped = continued = interrupted = killed_by = 0;
    CHECK_ZERO(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK));
    sigfillset(&noting.sa_mask);
    for (size_t i = 0; i < COUNT(watched); i++)
        CHECK_ZERO(sigaction(watched[i], &noting, &old_watched[i]));
    for (size_t i = 0; i < COUNT(faults); i++)
        CHECK_ZERO(sigaction(faults[i], &faulting, &old_faults[i]));
}

void signals_give_back(void)
{
    for (size_t i = 0; i < COUNT(watched); i++)
        CHECK_ZERO(sigaction(watched[i], &old_watched[i], NULL));
    for (size_t i = 0; i < COUNT(faults); i++)
        CHECK_ZERO(sigaction(faults[i], &old_faults[i], NULL));
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    pipe_fds[0] = pipe_fds[1] = -1;
}

int signals_fd(void)
{
    return pipe_fds[0];
}

static unsigned taken(volatile sig_atomic_t *flag, unsigned bit)
{
    unsigned seen = *flag ? bit : 0;

    *flag = 0;
    return seen;
}

unsigned signals_seen(void)
{
    char bytes[64];

    while (read(pipe_fds[0], bytes, sizeof bytes) > 0)
        ;
    return taken(&resized, SIGNALS_RESIZE) | taken(&stopped, SIGNALS_STOP) | taken(&continued, SIGNALS_CONTINUE);
}

bool signals_ending(void)
{
    return interrupted || killed_by;
}

int signals_killed_by(void)
{
    return killed_by;
}

void signals_hang_up(void)
{
    killed_by = SIGHUP;
}

void signals_resumed(void)
{
    continued = 0;
}
