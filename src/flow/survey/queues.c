#include "survey_private.h"

#include <stdio.h>

#include "orderd/clock.h"
#include "orderd/create_queue.h"
#include "orderd/topology.h"

static bool connect(struct surveyor *s)
{
    struct error err = {0};
    char name[64];

    if (s->broker)
        return true;
    if (!surveyor_may_try(s, SURVEY_RABBITMQ))
        return false;
    snprintf(name, sizeof name, "orderd@%.32s survey", s->base.shared->instance);
    s->broker = broker_open(s->base.conf, name, &err);
    surveyor_note(s, SURVEY_RABBITMQ, s->broker ? NULL : &err);
    return s->broker != NULL;
}

size_t surveyor_create_queues(const struct surveyor *s)
{
    unsigned used = (unsigned)s->base.conf->create_queues, there = s->base.shared->create_queues;

    return there > used ? there : used;
}

static void name_queue(struct surveyor *s, const char *name)
{
    struct survey_queue *q = &s->survey.queues[s->survey.queue_count++];

    snprintf(q->name, sizeof q->name, "%s", name);
    q->ready = q->consumers = SURVEY_UNKNOWN;
}

/* The first are those of orders that are not rows yet: the create queues, then the retry queues. */
static size_t name_queues(struct surveyor *s)
{
    const struct conf_delays *delays = &s->base.conf->retry_delays;
    size_t create = surveyor_create_queues(s);
    char name[CREATE_QUEUE_NAME_MAX];

    _Static_assert(CREATE_QUEUES_MAX + CONF_DELAYS_MAX + 4 <= SURVEY_QUEUES_MAX,
                   "struct survey has no room for all queues");
    s->survey.queue_count = 0;
    for (unsigned number = 1; number <= create; number++) {
        create_queue_name(s->base.conf, number, name);
        name_queue(s, name);
    }
    for (size_t i = 0; i < delays->count; i++) {
        topology_retry_name(delays->ms[i], name);
        name_queue(s, name);
    }
    name_queue(s, topology_name(TOPOLOGY_QUEUE_PAID));
    name_queue(s, topology_name(TOPOLOGY_QUEUE_CANCEL));
    name_queue(s, topology_name(TOPOLOGY_QUEUE_UNPAID));
    name_queue(s, topology_name(TOPOLOGY_QUEUE_DEAD));
    return create + delays->count;
}

/* A create queue beyond create.queues: it was there at the start, and may be deleted. */
static bool is_spare(const struct surveyor *s, size_t index)
{
    return index >= (size_t)s->base.conf->create_queues && index < surveyor_create_queues(s);
}

/* false: the broker is away. A queue that is missing, or may not be looked at, stays unknown, and is told of. */
static bool look_at(struct surveyor *s, struct survey_queue *q, bool spare)
{
    struct error err = {0};
    uint32_t messages, consumers;

    if (broker_queue_depth(s->broker, q->name, &messages, &consumers, &err)) {
        q->ready = messages;
        q->consumers = consumers;
        return true;
    }
    if (err.code == ERROR_BROKER_SETUP && spare) {
        q->ready = q->consumers = 0;
        return true;
    }
    if (err.code == ERROR_BROKER_SETUP) {
        snprintf(s->survey.dependencies[SURVEY_RABBITMQ].why, ERROR_TEXT_MAX, "%s", err.text);
        return true;
    }
    broker_close(&s->broker, false);
    surveyor_note(s, SURVEY_RABBITMQ, &err);
    return false;
}

static void look_at_all(struct surveyor *s)
{
    surveyor_note(s, SURVEY_RABBITMQ, NULL);
    for (size_t i = 0; i < s->survey.queue_count; i++) {
        if (!look_at(s, &s->survey.queues[i], is_spare(s, i)))
            return;
        keeper_beats(&s->base);
    }
}

void queues_look(struct surveyor *s)
{
    size_t backlog = name_queues(s);

    if (connect(s))
        look_at_all(s);
    s->survey.backlog = 0;
    for (size_t i = 0; i < backlog && s->survey.backlog != SURVEY_UNKNOWN; i++) {
        int64_t ready = s->survey.queues[i].ready;

        s->survey.backlog = ready == SURVEY_UNKNOWN ? SURVEY_UNKNOWN : s->survey.backlog + ready;
    }
    s->survey.dead_queue = s->survey.queues[s->survey.queue_count - 1].ready;
}

void queues_pump(struct surveyor *s)
{
    struct error err = {0};

    if (!s->broker || broker_pump(s->broker, 0, &err))
        return;
    broker_close(&s->broker, false);
    surveyor_note(s, SURVEY_RABBITMQ, &err);
}
