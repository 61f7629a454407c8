#include "orderd/topology.h"

#include <string.h>

#include "orderd/check.h"

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

static void report(struct walk *w, const char *kind, const char *name, enum broker_presence before,
                   const struct error *detail)
{
    bool created = w->apply && before == BROKER_MISSING;
    struct topology_finding finding = {
        .kind = kind,
        .name = name,
        .presence = created ? BROKER_PRESENT : before,
        .created = created,
        .detail = detail->text,
    };

    w->on_finding(w->arg, &finding);
}

static bool exchange(struct walk *w, enum topology_name which, enum broker_exchange_kind kind)
{
    struct error detail = {0};
    enum broker_presence presence;

    if (!broker_declare_exchange(w->broker, topology_name(which), kind, w->apply, &presence, &detail, w->err))
        return false;
    report(w, "exchange", topology_name(which), presence, &detail);
    return true;
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

/* Dead letters are kept until ops act: no TTL, no length limit, no delivery limit. From 4.0 on quorum queues have a
 * limit of 20 unless told otherwise; before, -1 would mean none at all was allowed. */
static void dead_arguments(const struct walk *w, struct arguments *a)
{
    add_text(a, "x-queue-type", quorum(w) ? "quorum" : "classic");
    if (quorum(w) && broker_version(w->broker) >= 40000)
        add_number(a, "x-delivery-limit", -1);
}

static bool queue(struct walk *w, const char *name, const struct arguments *a)
{
    struct error detail = {0};
    enum broker_presence presence;
    const char *exchange_name = topology_name(TOPOLOGY_EXCHANGE_ORDER);

    if (!broker_declare_queue(w->broker, name, a->list, a->count, w->apply, &presence, &detail, w->err))
        return false;
    report(w, "queue", name, presence, &detail);
    if (!w->apply || (presence != BROKER_PRESENT && presence != BROKER_MISSING))
        return true;
    return broker_bind_queue(w->broker, name, exchange_name, name, w->err);
}

static bool work_queues(struct walk *w)
{
    static const enum topology_name names[] = {TOPOLOGY_QUEUE_CREATE, TOPOLOGY_QUEUE_PAID, TOPOLOGY_QUEUE_CANCEL,
                                               TOPOLOGY_QUEUE_UNPAID};
    struct arguments a = {.count = 0};
    bool own = false;

    work_arguments(w, &a);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        own = own || strcmp(w->conf->create_queue, topology_name(names[i])) == 0;
        if (!queue(w, topology_name(names[i]), &a))
            return false;
    }
    return own || queue(w, w->conf->create_queue, &a);
}

bool topology_walk(struct broker *broker, const struct conf *conf, bool apply, topology_fn on_finding, void *arg,
                   struct error *err)
{
    struct walk w = {broker, conf, apply, on_finding, arg, err};
    struct arguments dead = {.count = 0};

    dead_arguments(&w, &dead);
    return exchange(&w, TOPOLOGY_EXCHANGE_ORDER, BROKER_EXCHANGE_DIRECT) &&
           exchange(&w, TOPOLOGY_EXCHANGE_EVENT, BROKER_EXCHANGE_TOPIC) &&
           queue(&w, topology_name(TOPOLOGY_QUEUE_DEAD), &dead) && work_queues(&w);
}
