#include "orderd/fault.h"

#ifdef ORDERD_FAULTS

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/exitcode.h"
#include "orderd/units.h"

#define ORDERS_MAX 16
#define STALL_MS   30000

enum action { ACTION_KILL, ACTION_EXIT, ACTION_FAIL, ACTION_STALL, ACTION_STOP, ACTION_COUNT };

static const char *const action_names[] = {"kill", "exit", "fail", "stall", "stop"};
static const char *const point_names[] = {
#define X(fault, name) name,
#include "orderd/tbl/fault.h"
#undef X
};

struct order {
    enum fault point;
    enum action action;
    int64_t from, to; /* passings, both included */
};

/* Written once by parse_all, read-only afterwards. */
static struct {
    pthread_once_t once;
    size_t count;
    struct order list[ORDERS_MAX];
} orders = {.once = PTHREAD_ONCE_INIT};

static _Atomic int64_t passings[FAULT_COUNT];

/* A drill with a misspelled point would pass without having tested anything. */
__attribute__((noreturn)) static void refuse(const char *word, const char *complaint)
{
    fprintf(
        stderr,
        "orderd: ORDERD_FAULT: \"%s\" %s (expected point=kill|exit|fail|stall|stop@n or @n+, separated by commas)\n",
        word, complaint);
    _exit(EXIT_USAGE);
}

static int index_of(const char *word, const char *const *names, int count, const char *complaint)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(word, names[i]) == 0)
            return i;
    }
    refuse(word, complaint);
}

static void parse_passings(char *text, struct order *order)
{
    size_t len = strlen(text);
    bool open = len > 0 && text[len - 1] == '+';

    if (open)
        text[len - 1] = '\0';
    if (!units_parse_i64(text, 1, INT64_MAX, &order->from))
        refuse(text, "is not a passing, 1 or more");
    order->to = open ? INT64_MAX : order->from;
}

static void parse_one(char *text)
{
    char *action = strchr(text, '='), *n = action ? strchr(action, '@') : NULL;
    struct order *order = &orders.list[orders.count];

    if (n == NULL)
        refuse(text, "is not a fault");
    if (orders.count == ORDERS_MAX)
        refuse(text, "is one fault too many");
    *action++ = '\0';
    *n++ = '\0';
    order->point = (enum fault)index_of(text, point_names, FAULT_COUNT, "is not a fault point");
    order->action = (enum action)index_of(action, action_names, ACTION_COUNT, "is not an action");
    parse_passings(n, order);
    orders.count++;
}

static void parse_all(void)
{
    const char *value = getenv("ORDERD_FAULT");
    char *copy, *rest;

    if (value == NULL || value[0] == '\0')
        return;
    copy = check_strdup(value);
    for (char *one = copy; one; one = rest) {
        rest = strchr(one, ',');
        if (rest)
            *rest++ = '\0';
        parse_one(one);
    }
    free(copy);
}

static bool act(enum action action)
{
    switch (action) {
    case ACTION_KILL:
        kill(getpid(), SIGKILL);
        pause(); /* the signal is on its way: nothing after this point may run */
        break;
    case ACTION_EXIT:
        _exit(EXIT_FAILED);
    case ACTION_STALL:
        clock_sleep_ms(STALL_MS);
        break;
    case ACTION_STOP:
        (void)raise(SIGSTOP); /* to this thread: it does not go on until all have stopped */
        break;
    default:
        break;
    }
    return action == ACTION_FAIL;
}

bool fault_passes(enum fault fault)
{
    bool fails = false;
    int64_t n;

    CHECK_ZERO(pthread_once(&orders.once, parse_all));
    n = atomic_fetch_add(&passings[fault], 1) + 1;
    for (size_t i = 0; i < orders.count; i++) {
        const struct order *o = &orders.list[i];

        if (o->point == fault && n >= o->from && n <= o->to)
            fails |= act(o->action);
    }
    return fails;
}

void fault_reset(void)
{
    orders.once = (pthread_once_t)PTHREAD_ONCE_INIT;
    orders.count = 0;
    for (int i = 0; i < FAULT_COUNT; i++)
        atomic_store(&passings[i], 0);
}

#endif
