#include "asker.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/thread.h"

/* The curve has a point every few seconds. */
#define HISTORY_EVERY_MS 5000

struct asker {
    const struct top *top;
    int stop_fd, news_fd; /* eventfd */
    struct thread thread;
    int64_t answered_at, history_at; /* the thread's: when it asks for the curve next */
    pthread_mutex_t lock;
    bool fresh;             /* under lock */
    struct asker_news news; /* under lock */
};

static void destroy_news(struct asker_news *news)
{
    sale_view_destroy(&news->sale);
    sale_history_destroy(&news->history);
}

/* A daemon without it has no curve, and that is all. */
static struct sale_history *ask_history(struct asker *a)
{
    struct strbuf body = STRBUF_INIT;
    struct sale_history *history = NULL;
    struct error ignored = {0};
    int status = 0;

    if (clock_mono_ms() < a->history_at)
        return NULL;
    a->history_at = clock_mono_ms() + HISTORY_EVERY_MS;
    if (a->top->ask(a->top->arg, "/sale/history", a->stop_fd, &status, &body, &ignored) && status == 200 && body.len)
        history = sale_history_parse(body.data, body.len, &ignored);
    strbuf_release(&body);
    return history;
}

static void put(struct asker *a, struct asker_news *news)
{
    struct asker_news old;

    CHECK_ZERO(pthread_mutex_lock(&a->lock));
    old = a->news;
    a->news = *news;
    if (!a->news.history && a->fresh) { /* what nobody took yet is still the newest */
        a->news.history = old.history;
        old.history = NULL;
    }
    a->fresh = true;
    CHECK_ZERO(pthread_mutex_unlock(&a->lock));
    destroy_news(&old);
    CHECK_ZERO(eventfd_write(a->news_fd, 1));
}

/* false: it is to stop. */
static bool wait_until(const struct asker *a, int64_t then)
{
    struct pollfd stop = {a->stop_fd, POLLIN, 0};
    int64_t left = then - clock_mono_ms();

    return poll(&stop, 1, left > 0 ? (int)left : 0) == 0;
}

static void run(void *data)
{
    struct asker *a = data;
    int64_t next = clock_mono_ms();

    while (wait_until(a, next)) {
        struct asker_news news = {0};

        news.sale = top_fetch(a->top, a->stop_fd, NULL, &news.why);
        if (news.sale)
            a->answered_at = clock_mono_ms();
        if (news.sale)
            news.history = ask_history(a);
        news.answered_at = a->answered_at;
        put(a, &news);
        next += a->top->interval_ms;
        if (next < clock_mono_ms()) /* it took longer */
            next = clock_mono_ms();
    }
}

struct asker *asker_start(const struct top *top)
{
    struct asker *a = check_calloc(1, sizeof *a);

    a->top = top;
    a->stop_fd = eventfd(0, EFD_CLOEXEC);
    a->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(a->stop_fd >= 0 && a->news_fd >= 0);
    CHECK_ZERO(pthread_mutex_init(&a->lock, NULL));
    a->thread = (struct thread){.name = "asker", .run = run, .data = a};
    thread_start(&a->thread);
    return a;
}

void asker_stop(struct asker **asker)
{
    struct asker *a = *asker;

    *asker = NULL;
    CHECK_ZERO(eventfd_write(a->stop_fd, 1));
    thread_join(&a->thread);
    destroy_news(&a->news);
    CHECK_ZERO(pthread_mutex_destroy(&a->lock));
    close(a->stop_fd);
    close(a->news_fd);
    free(a);
}

int asker_fd(const struct asker *a)
{
    return a->news_fd;
}

bool asker_take(struct asker *a, struct asker_news *news)
{
    eventfd_t ignored;
    bool fresh;

    CHECK_ZERO(pthread_mutex_lock(&a->lock));
    eventfd_read(a->news_fd, &ignored);
    fresh = a->fresh;
    if (fresh)
        *news = a->news;
    a->fresh = false;
    if (fresh)
        a->news = (struct asker_news){0};
    CHECK_ZERO(pthread_mutex_unlock(&a->lock));
    return fresh;
}
