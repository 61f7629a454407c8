#include "guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orderd/broker.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct guard *registry; /* guarded by lock */

bool guard_add(struct guard *g, int fd)
{
    g->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (g->fd < 0)
        return false;
    CHECK_ZERO(pthread_mutex_lock(&lock));
    g->next = registry;
    g->link = &registry;
    if (g->next)
        g->next->link = &g->next;
    registry = g;
    CHECK_ZERO(pthread_mutex_unlock(&lock));
    return true;
}

void guard_remove(struct guard *g)
{
    if (g->fd < 0)
        return;
    CHECK_ZERO(pthread_mutex_lock(&lock));
    *g->link = g->next;
    if (g->next)
        g->next->link = g->link;
    close(g->fd);
    g->fd = -1;
    CHECK_ZERO(pthread_mutex_unlock(&lock));
}

void guard_enter(struct guard *g, int64_t budget_ms)
{
    int64_t now = clock_mono_ms();

    CHECK_ZERO(pthread_mutex_lock(&lock));
    g->budget_ms = budget_ms;
    g->until_ms = now + budget_ms;
    CHECK_ZERO(pthread_mutex_unlock(&lock));
}

bool guard_leave(struct guard *g)
{
    bool shot;

    CHECK_ZERO(pthread_mutex_lock(&lock));
    g->until_ms = 0;
    shot = g->shot;
    CHECK_ZERO(pthread_mutex_unlock(&lock));
    return shot;
}

/* Only shutdown, never close: the number stays taken, and whoever sleeps in send or poll on it wakes up. */
static void shoot(struct guard *g)
{
    g->shot = true;
    (void)shutdown(g->fd, SHUT_RDWR);
}

struct shot {
    char name[64];
    int64_t stuck_ms;
};

static bool shoot_one(struct shot *out)
{
    int64_t now = clock_mono_ms();
    bool found = false;

    CHECK_ZERO(pthread_mutex_lock(&lock));
    for (struct guard *g = registry; g && !found; g = g->next) {
        if (g->shot || g->until_ms == 0 || now <= g->until_ms)
            continue;
        shoot(g);
        snprintf(out->name, sizeof out->name, "%s", g->name);
        out->stuck_ms = now - g->until_ms + g->budget_ms;
        found = true;
    }
    CHECK_ZERO(pthread_mutex_unlock(&lock));
    return found;
}

unsigned broker_guard_check(void)
{
    struct shot s;
    unsigned n = 0;

    for (; shoot_one(&s); n++) /* logged without the lock: standard error may block, the owners must not */
        log_event(LOG_EVENT_BROKER_STUCK, LOG_STR("connection", s.name), LOG_INT("stuck_ms", s.stuck_ms));
    return n;
}

void broker_guard_shutdown_all(void)
{
    CHECK_ZERO(pthread_mutex_lock(&lock));
    for (struct guard *g = registry; g; g = g->next)
        shoot(g);
    CHECK_ZERO(pthread_mutex_unlock(&lock));
}
