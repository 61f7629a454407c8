#include "hosts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/backoff.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"

/* A process has one list; tests have several. What finds no room is not remembered, and tried in its turn. */
#define KNOWN_MAX 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { /* guarded by lock */
    struct conf_node host[KNOWN_MAX];
    struct hosts_mark mark[KNOWN_MAX];
    unsigned count;
    uint64_t next; /* where the next connection begins; by chance at first, so that replicas differ */
    bool begun;
} known;

static bool is_well(const struct hosts_mark *mark, int64_t now_ms)
{
    return mark->failed_ms == 0 || now_ms - mark->failed_ms >= HOSTS_AVOID_MS;
}

static void put_well(const struct hosts_mark *marks, unsigned count, uint64_t start, int64_t now_ms, unsigned *order,
                     unsigned *well)
{
    unsigned list[HOSTS_MAX];

    *well = 0;
    for (unsigned i = 0; i < count; i++) {
        if (is_well(&marks[i], now_ms))
            list[(*well)++] = i;
    }
    for (unsigned i = 0; i < *well; i++)
        order[i] = list[(start % *well + i) % *well];
}

void hosts_arrange(const struct hosts_mark *marks, unsigned count, uint64_t start, int64_t now_ms, unsigned *order)
{
    unsigned well, at;

    CHECK(count <= HOSTS_MAX);
    put_well(marks, count, start, now_ms, order, &well);
    at = well;
    for (unsigned i = 0; i < count; i++) {
        unsigned place = at;

        if (is_well(&marks[i], now_ms))
            continue;
        for (; place > well && marks[order[place - 1]].failed_ms > marks[i].failed_ms; place--)
            order[place] = order[place - 1];
        order[place] = i;
        at++;
    }
}

/* Under the lock. NULL: unknown, and no room for more. */
static struct hosts_mark *mark_of(const struct conf_node *host)
{
    for (unsigned i = 0; i < known.count; i++) {
        if (known.host[i].port == host->port && strcmp(known.host[i].host, host->host) == 0)
            return &known.mark[i];
    }
    if (known.count == KNOWN_MAX)
        return NULL;
    known.host[known.count] = *host;
    known.mark[known.count] = (struct hosts_mark){0};
    return &known.mark[known.count++];
}

static uint64_t take_ticket(void)
{
    if (!known.begun)
        known.next = backoff_seed();
    known.begun = true;
    return known.next++;
}

static void read_list(const struct conf *conf, struct hosts *out)
{
    const char *list = conf->broker_hosts;

    out->count = 0;
    while (out->count < HOSTS_MAX && conf_node_next(&list, &out->list[out->count]))
        out->count++;
    if (out->count > 0)
        return;
    snprintf(out->list[0].host, sizeof out->list[0].host, "%s", conf->broker_host);
    out->list[0].port = (int)conf->broker_port;
    out->count = 1;
}

/* The first is on trial where its time to be avoided is over: nobody else tries it meanwhile. */
static void arrange(struct hosts *hosts)
{
    struct hosts_mark marks[HOSTS_MAX] = {{0}}, *mark;
    unsigned order[HOSTS_MAX];
    struct hosts given = *hosts;
    int64_t now = clock_mono_ms();

    for (unsigned i = 0; i < given.count; i++) {
        if ((mark = mark_of(&given.list[i])))
            marks[i] = *mark;
    }
    hosts_arrange(marks, given.count, take_ticket(), now, order);
    for (unsigned i = 0; i < given.count; i++)
        hosts->list[i] = given.list[order[i]];
    if (marks[order[0]].failed_ms != 0)
        mark_of(&hosts->list[0])->failed_ms = now;
}

void hosts_take(const struct conf *conf, struct hosts *out)
{
    read_list(conf, out);
    if (out->count == 1)
        return;
    CHECK_ZERO(pthread_mutex_lock(&lock));
    arrange(out);
    CHECK_ZERO(pthread_mutex_unlock(&lock));
}

/* Answers whether it had failed before. */
static bool set_mark(const struct conf_node *host, int64_t failed_ms)
{
    struct hosts_mark *mark;
    bool before = true;

    CHECK_ZERO(pthread_mutex_lock(&lock));
    mark = mark_of(host);
    if (mark) {
        before = mark->failed_ms != 0;
        mark->failed_ms = failed_ms;
    }
    CHECK_ZERO(pthread_mutex_unlock(&lock));
    return before;
}

void hosts_failed(const struct conf_node *host, const struct error *why)
{
    if (!set_mark(host, clock_mono_ms()))
        log_event(LOG_EVENT_BROKER_HOST_DOWN, LOG_STR("host", host->host), LOG_INT("port", host->port), LOG_ERR(why));
}

void hosts_reached(const struct conf_node *host)
{
    if (set_mark(host, 0))
        log_event(LOG_EVENT_BROKER_HOST_UP, LOG_STR("host", host->host), LOG_INT("port", host->port));
}
