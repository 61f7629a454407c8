#include "orderd/thread.h"

#include <signal.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/log.h"

/* All signals belong to the main thread, except those that a thread causes by its own fault: blocked, they would end
 * the process without the sanitizers' or the core dump's word. */
static void signals_to_block(sigset_t *set)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

    CHECK_ZERO(sigfillset(set));
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        CHECK_ZERO(sigdelset(set, own[i]));
}

static void *begin(void *arg)
{
    struct thread *t = arg;

    CHECK_ZERO(pthread_setname_np(pthread_self(), t->name));
    log_set_thread(t->name);
    t->run(t->data);
    return NULL;
}

void thread_start(struct thread *t)
{
    sigset_t block, old;

    CHECK(!t->started && t->run != NULL && memchr(t->name, '\0', sizeof t->name) != NULL);
    signals_to_block(&block);
    CHECK_ZERO(pthread_sigmask(SIG_BLOCK, &block, &old)); /* the new thread inherits the mask */
    CHECK_ZERO(pthread_create(&t->id, NULL, begin, t));
    CHECK_ZERO(pthread_sigmask(SIG_SETMASK, &old, NULL));
    t->started = true;
}

void thread_join(struct thread *t)
{
    if (!t->started)
        return;
    CHECK_ZERO(pthread_join(t->id, NULL));
    t->started = false;
}
