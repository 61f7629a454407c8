#include "orderd/topology.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/create_queue.h"

const char *topology_name(enum topology_name name)
{
    static const char *const names[] = {
#define X(name, text) [TOPOLOGY_##name] = text,
#include "orderd/tbl/topology.h"
#undef X
    };

    CHECK(name < TOPOLOGY_NAME_COUNT);
    return names[name];
}

struct walk {
    struct broker *broker;
    const struct conf *conf;
    bool apply;
    topology_fn on_finding;
    void *arg;
    struct error *err;
};

static void report(struct walk *w, const char *kind, const char *name, enum broker_presence presence, bool created,
                   const char *detail)
{
    w->on_finding(w->arg, &(struct topology_finding){kind, name, presence, created, detail});
}

#define ARGUMENTS_MAX 8

struct arguments {
    struct broker_argument list[ARGUMENTS_MAX];
    size_t count;
};

static void add_text(struct arguments *a, const char *name, const char *text)
{
    CHECK(a->count < ARGUMENTS_MAX);
    a->list[a->count++] = (struct broker_argument){name, text, 0};
}

static void add_number(struct arguments *a, const char *name, int64_t number)
{
    CHECK(a->count < ARGUMENTS_MAX);
    a->list[a->count++] = (struct broker_argument){name, NULL, number};
}

static bool quorum(const struct walk *w)
{
    return w->conf->broker_queue_type == CONF_QUEUE_TYPE_QUORUM;
}

/* A work queue: what comes back too often (a message that crashes every worker) goes to the dead letters, by
 * at-least-once dead-lettering, which needs a quorum queue with reject-publish. A classic queue has no delivery limit.
 */
static void work_arguments(const struct walk *w, struct arguments *a)
{
    add_text(a, "x-queue-type", quorum(w) ? "quorum" : "classic");
    if (!quorum(w))
        return;
    add_number(a, "x-delivery-limit", w->conf->broker_delivery_limit);
    add_text(a, "x-dead-letter-exchange", topology_name(TOPOLOGY_EXCHANGE_ORDER));
    add_text(a, "x-dead-letter-routing-key", topology_name(TOPOLOGY_QUEUE_DEAD));
    add_text(a, "x-dead-letter-strategy", "at-least-once");
    add_text(a, "x-overflow", "reject-publish");
}

/* A delay queue of one fixed time: what lies in it so long goes back to exchange `order`, under the key it came with
 * unless another is given. A TTL per message would wait behind longer ones. */
static void delay_arguments(const struct walk *w, int64_t delay_ms, struct arguments *a)
{
    add_text(a, "x-queue-type", quorum(w) ? "quorum" : "classic");
    add_number(a, "x-message-ttl", delay_ms);
    add_text(a, "x-dead-letter-exchange", topology_name(TOPOLOGY_EXCHANGE_ORDER));
    if (!quorum(w))
        return;
    add_text(a, "x-dead-letter-strategy", "at-least-once");
    add_text(a, "x-overflow", "reject-publish");
}

/* Dead letters are kept until ops act: no TTL, no length limit, no delivery limit. From 4.0 on quorum queues have a
 * limit of 20 unless told otherwise; before, -1 would mean none at all was allowed. */
static void dead_arguments(const struct walk *w, struct arguments *a)
{
    add_text(a, "x-queue-type", quorum(w) ? "quorum" : "classic");
    if (quorum(w) && broker_version(w->broker) >= 40000)
        add_number(a, "x-delivery-limit", -1);
}

/* An exchange or a queue. */
struct item {
    const char *kind, *name;
    enum broker_exchange_kind exchange_kind;
    const struct arguments *arguments; /* NULL: an exchange */
};

static bool declare(struct walk *w, const struct item *i, bool create, enum broker_presence *presence,
                    struct error *detail)
{
    if (i->arguments)
        return broker_declare_queue(w->broker, i->name, i->arguments->list, i->arguments->count, create, presence,
                                    detail, w->err);
    return broker_declare_exchange(w->broker, i->name, i->exchange_kind, create, presence, detail, w->err);
}

/* Looks first, also where what is missing may be made: a declare does not tell whether it made anything. */
static bool settle(struct walk *w, const struct item *i, enum broker_presence *presence)
{
    struct error detail = {0};
    bool made = false;

    if (!declare(w, i, false, presence, &detail))
        return false;
    if (w->apply && *presence == BROKER_MISSING) {
        if (!declare(w, i, true, presence, &detail))
            return false;
        made = *presence == BROKER_PRESENT;
    }
    report(w, i->kind, i->name, *presence, made,
           *presence == BROKER_DIFFERENT || *presence == BROKER_FORBIDDEN ? detail.text : "");
    return true;
}

static bool exchange(struct walk *w, const char *name, enum broker_exchange_kind kind)
{
    struct item item = {.kind = "exchange", .name = name, .exchange_kind = kind};
    enum broker_presence presence;

    return settle(w, &item, &presence);
}

/* AMQP can make a binding (again) but not look at one, so only apply reports them. */
static bool bind_queue(struct walk *w, const char *queue_name, const char *from)
{
    struct error err = {0};
    char name[512];

    snprintf(name, sizeof name, "%s -> %s", from, queue_name);
    if (broker_bind_queue(w->broker, queue_name, from, queue_name, &err)) {
        report(w, "binding", name, BROKER_PRESENT, false, "");
        return true;
    }
    if (err.code == ERROR_BROKER_SETUP) {
        report(w, "binding", name, strstr(err.text, "ACCESS_REFUSED") ? BROKER_FORBIDDEN : BROKER_MISSING, false,
               err.text);
        return true;
    }
    *w->err = err;
    return false;
}

static bool queue(struct walk *w, const char *name, const char *from, const struct arguments *a)
{
    struct item item = {.kind = "queue", .name = name, .arguments = a};
    enum broker_presence presence;

    if (!settle(w, &item, &presence))
        return false;
    return !w->apply || presence != BROKER_PRESENT || bind_queue(w, name, from);
}

static bool work_queues(struct walk *w)
{
    static const enum topology_name names[] = {TOPOLOGY_QUEUE_CREATE, TOPOLOGY_QUEUE_PAID, TOPOLOGY_QUEUE_CANCEL,
                                               TOPOLOGY_QUEUE_UNPAID};
    const char *order = topology_name(TOPOLOGY_EXCHANGE_ORDER);
    struct arguments a = {.count = 0};
    bool own = false;

    work_arguments(w, &a);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        own = own || strcmp(w->conf->create_queue, topology_name(names[i])) == 0;
        if (!queue(w, topology_name(names[i]), order, &a))
            return false;
    }
    for (unsigned number = own ? 2 : 1; number <= (unsigned)w->conf->create_queues; number++) {
        char name[CREATE_QUEUE_NAME_MAX];

        create_queue_name(w->conf, number, name);
        if (!queue(w, name, order, &a))
            return false;
    }
    return true;
}

void topology_retry_name(int64_t delay_ms, char out[TOPOLOGY_RETRY_NAME_MAX])
{
    snprintf(out, TOPOLOGY_RETRY_NAME_MAX, "order.retry.%" PRId64, delay_ms);
}

void topology_unpaid_name(int64_t pay_timeout_ms, char out[TOPOLOGY_RETRY_NAME_MAX])
{
    snprintf(out, TOPOLOGY_RETRY_NAME_MAX, "%s.%" PRId64, topology_name(TOPOLOGY_QUEUE_UNPAID), pay_timeout_ms);
}

bool topology_walk_unpaid(struct broker *broker, const struct conf *conf, const int64_t *pay_timeout_ms, size_t count,
                          bool apply, topology_fn on_finding, void *arg, struct error *err)
{
    struct walk w = {broker, conf, apply, on_finding, arg, err};

    for (size_t i = 0; i < count; i++) {
        char name[TOPOLOGY_RETRY_NAME_MAX];
        struct arguments a = {.count = 0};

        topology_unpaid_name(pay_timeout_ms[i], name);
        delay_arguments(&w, pay_timeout_ms[i], &a);
        add_text(&a, "x-dead-letter-routing-key", topology_name(TOPOLOGY_QUEUE_UNPAID));
        if (!queue(&w, name, topology_name(TOPOLOGY_EXCHANGE_ORDER), &a))
            return false;
    }
    return true;
}

/* A fanout exchange before each delay queue lets the routing key go on naming the queue that the message goes back to.
 */
static bool retry_queues(struct walk *w)
{
    for (size_t i = 0; i < w->conf->retry_delays.count; i++) {
        char name[TOPOLOGY_RETRY_NAME_MAX];
        struct arguments a = {.count = 0};

        topology_retry_name(w->conf->retry_delays.ms[i], name);
        delay_arguments(w, w->conf->retry_delays.ms[i], &a);
        if (!exchange(w, name, BROKER_EXCHANGE_FANOUT) || !queue(w, name, name, &a))
            return false;
    }
    return true;
}

bool topology_walk(struct broker *broker, const struct conf *conf, bool apply, topology_fn on_finding, void *arg,
                   struct error *err)
{
    struct walk w = {broker, conf, apply, on_finding, arg, err};
    struct arguments dead = {.count = 0};

    dead_arguments(&w, &dead);
    return exchange(&w, topology_name(TOPOLOGY_EXCHANGE_ORDER), BROKER_EXCHANGE_DIRECT) &&
           exchange(&w, topology_name(TOPOLOGY_EXCHANGE_EVENT), BROKER_EXCHANGE_TOPIC) &&
           queue(&w, topology_name(TOPOLOGY_QUEUE_DEAD), topology_name(TOPOLOGY_EXCHANGE_ORDER), &dead) &&
           work_queues(&w) && retry_queues(&w);
}

void topology_warn(int version, const struct conf *conf, topology_warning_fn on_warning, void *arg)
{
    bool classic = conf->broker_queue_type == CONF_QUEUE_TYPE_CLASSIC;
    char text[256];

    if (classic)
        on_warning(
            arg,
            "broker.queue_type is classic: such queues are one copy on one node, give a message that crashes its "
            "worker back for ever, and may lose what they dead-letter",
            true);
    if (version == 0) {
        on_warning(arg, "the broker does not say its version; orderd is made for RabbitMQ 3.10 to 4.3", true);
    } else if (version < 31000) {
        snprintf(
            text, sizeof text,
            "the broker is RabbitMQ %d.%d.%d; before 3.10 quorum queues can lose what they dead-letter: upgrade it",
            version / 10000, version / 100 % 100, version % 100);
        on_warning(arg, text, true);
    } else if (version < 31200 && !classic) {
        on_warning(
            arg,
            "on RabbitMQ 3.10 and 3.11 at-least-once dead-lettering needs the feature flag stream_queue; see that "
            "`rabbitmqctl list_feature_flags` has it enabled",
            false);
    }
}
