/* Signals are ordinary calls in one place: blocked in every thread, taken by the main thread when it waits. */
#include "daemon.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "orderd/check.h"

static void fill(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR1);
    sigaddset(set, SIGUSR2);
    sigaddset(set, SIGCONT);
}

void signals_block(void)
{
    sigset_t set;

    fill(&set);
    CHECK_ZERO(pthread_sigmask(SIG_BLOCK, &set, NULL));
    /* hiredis writes without suppressing it; a peer that hangs up must be an error, not our end. */
    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
}

int signals_wait(int64_t ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    sigset_t set;
    int signal_;

    fill(&set);
    signal_ = sigtimedwait(&set, NULL, &t);
    return signal_ > 0 ? signal_ : 0;
}
