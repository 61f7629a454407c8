#include "orderd/create_queue.h"

#include <stdio.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/topology.h"

void create_queue_name(const struct conf *conf, unsigned number, char out[CREATE_QUEUE_NAME_MAX])
{
    int len;

    CHECK(number >= 1 && number <= CREATE_QUEUES_MAX);
    len = number == 1 ? snprintf(out, CREATE_QUEUE_NAME_MAX, "%s", conf->create_queue)
                      : snprintf(out, CREATE_QUEUE_NAME_MAX, "%s.%u", conf->create_queue, number);
    CHECK(len < CREATE_QUEUE_NAME_MAX);
}

/* The published function, but in whole numbers: for so few queues a quotient of doubles never comes near enough to a
 * whole number to be another one, and a shell can do this. */
unsigned create_queue_number(int64_t activity_id, unsigned queues)
{
    uint64_t key = (uint64_t)activity_id, next = 0;
    unsigned number = 0;

    CHECK(queues >= 1 && queues <= CREATE_QUEUES_MAX);
    while (next < queues) {
        number = (unsigned)next + 1;
        key = key * 2862933555777941757U + 1;
        next = ((uint64_t)number << 31) / ((key >> 33) + 1);
    }
    return number;
}

void create_queue_of(const struct conf *conf, int64_t activity_id, char out[CREATE_QUEUE_NAME_MAX])
{
    create_queue_name(conf, create_queue_number(activity_id, (unsigned)conf->create_queues), out);
}

/* "", or ".2" to ".16". */
static bool is_number(struct slice rest)
{
    unsigned number = 0;

    if (rest.len == 0)
        return true;
    if (rest.len < 2 || rest.len > 3 || rest.ptr[0] != '.' || rest.ptr[1] == '0')
        return false;
    for (size_t i = 1; i < rest.len; i++) {
        if (rest.ptr[i] < '0' || rest.ptr[i] > '9')
            return false;
        number = number * 10 + (unsigned)(rest.ptr[i] - '0');
    }
    return number >= 2 && number <= CREATE_QUEUES_MAX;
}

static bool is_one_of(const char *first, struct slice name)
{
    size_t len = strlen(first);

    return name.len >= len && memcmp(name.ptr, first, len) == 0 &&
           is_number((struct slice){name.ptr + len, name.len - len});
}

bool create_queue_is(const char *create_queue, struct slice name)
{
    return is_one_of(create_queue, name) || is_one_of(topology_name(TOPOLOGY_QUEUE_CREATE), name);
}

bool create_queue_count(struct broker *broker, const struct conf *conf, unsigned *count, bool *seen, struct error *err)
{
    enum broker_presence presence = BROKER_PRESENT;

    *count = (unsigned)conf->create_queues;
    while (*count < CREATE_QUEUES_MAX) {
        char name[CREATE_QUEUE_NAME_MAX];

        create_queue_name(conf, *count + 1, name);
        if (!broker_find_queue(broker, name, &presence, err))
            return false;
        if (presence != BROKER_PRESENT)
            break;
        ++*count;
    }
    *seen = presence != BROKER_FORBIDDEN;
    return true;
}

/* One that is not used any more may have been deleted since they were counted. */
static bool look_at(struct broker *broker, const char *name, bool used, int64_t *waiting, struct error *err)
{
    uint32_t ready = 0, consumers;

    if (!broker_queue_depth(broker, name, &ready, &consumers, err)) {
        if (used || err->code != ERROR_BROKER_SETUP)
            return false;
        error_clear(err);
    }
    *waiting = ready;
    return true;
}

bool create_queue_look(struct broker *broker, const struct conf *conf, unsigned count, struct create_queues *out,
                       struct error *err)
{
    unsigned used = (unsigned)conf->create_queues;

    *out = (struct create_queues){.used = used, .count = count > used ? count : used};
    for (unsigned i = 0; i < out->count; i++) {
        char name[CREATE_QUEUE_NAME_MAX];

        create_queue_name(conf, i + 1, name);
        if (!look_at(broker, name, i < used, &out->waiting[i], err))
            return false;
        out->sum += out->waiting[i];
    }
    return true;
}

int64_t create_queue_reached(const struct create_queues *queues, const int64_t *by_queue)
{
    int64_t earliest = INT64_MAX;

    for (unsigned i = 0; i < queues->count; i++) {
        int64_t reached = i < queues->used ? by_queue[i] : 0;

        if (queues->waiting[i] > 0 && reached < earliest)
            earliest = reached;
    }
    return earliest;
}
