/* How many messages wait in the queues that orders pass. */
#include <stdio.h>

#include "orderd/create_queue.h"
#include "orderd/topology.h"
#include "reconcile.h"

static struct reconcile_queue *add(struct reconcile_queues *q, const char *name)
{
    struct reconcile_queue *queue = &q->list[q->count++];

    *queue = (struct reconcile_queue){.messages = -1};
    snprintf(queue->name, sizeof queue->name, "%s", name);
    return queue;
}

/* A queue that is missing, or that this account may not look at, is no reason to stop. */
static bool ask(struct broker *broker, struct reconcile_queue *queue, struct error *err)
{
    uint32_t messages, consumers;

    if (!broker_queue_depth(broker, queue->name, &messages, &consumers, err))
        return error_class_of(err) != ERROR_CLASS_OUTAGE;
    queue->known = true;
    queue->messages = messages;
    return true;
}

static void list_queues(const struct conf *conf, struct reconcile_queues *q)
{
    static const enum topology_name others[] = {TOPOLOGY_QUEUE_UNPAID, TOPOLOGY_QUEUE_PAID, TOPOLOGY_QUEUE_CANCEL,
                                                TOPOLOGY_QUEUE_DEAD};
    char name[CREATE_QUEUE_NAME_MAX];

    for (unsigned number = 1; number <= q->create.count; number++) {
        create_queue_name(conf, number, name);
        add(q, name);
    }
    for (size_t i = 0; i < conf->retry_delays.count; i++) {
        topology_retry_name(conf->retry_delays.ms[i], name);
        add(q, name);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add(q, topology_name(others[i]));
}

static void sum_up(const struct conf *conf, struct reconcile_queues *q)
{
    unsigned create = q->create.count;

    for (size_t i = 0; i < create + conf->retry_delays.count; i++) {
        int64_t messages = q->list[i].known ? q->list[i].messages : 0;

        if (i >= create) {
            q->elsewhere += messages;
            continue;
        }
        q->create.waiting[i] = messages;
        q->create.sum += messages;
    }
}

void reconcile_read_queues(struct ctl *ctl, struct reconcile_queues *out)
{
    struct error err;
    struct broker *broker = ctl_open_broker(ctl, &err);
    unsigned used = (unsigned)ctl->conf->create_queues;
    bool seen;

    *out = (struct reconcile_queues){.create = {.used = used, .count = used}};
    out->read = broker && create_queue_count(broker, ctl->conf, &out->create.count, &seen, &err);
    list_queues(ctl->conf, out);
    for (size_t i = 0; i < out->count && out->read; i++)
        out->read = ask(broker, &out->list[i], &err);
    sum_up(ctl->conf, out);
    if (!out->read) {
        print_warning("the queues are not read, so orders that may wait in one are no gaps: %s", err.text);
        ctl->advice[0] = '\0';
    }
    ctl_close_broker(&broker);
}
