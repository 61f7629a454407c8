/* orderctl doctor: RabbitMQ, as far as AMQP can tell. */
#include "doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/create_queue.h"
#include "orderd/topology.h"

/* RabbitMQ's usual consumer_timeout (30 minutes), less what a lane may need to give its deliveries back. */
#define HOLD_MOST_MS  (20 * 60000)

#define HOSTS_LEAST   3 /* of two nodes one is no majority */

#define OTHER_ACCOUNT "run doctor with orderctl's account (docs/accounts)"

struct broker_look {
    struct doctor *d;
    enum doctor_check check;
    unsigned present, else_, forbidden;
};

static void tell_item(void *arg, const struct topology_finding *f)
{
    struct broker_look *look = arg;

    if (f->presence == BROKER_PRESENT) {
        look->present++;
        return;
    }
    look->else_++;
    if (f->presence == BROKER_FORBIDDEN)
        look->forbidden++; /* an account that may not look at one is likely to look at none */
    else
        doctor_tell(look->d, DOCTOR_PROBLEM, look->check, f->name, "this %s is %s%s%s", f->kind,
                    f->presence == BROKER_MISSING ? "missing" : "different", f->detail[0] ? ": " : "", f->detail);
}

static void tell_forbidden(const struct broker_look *look, const char *what)
{
    bool trusted = look->d->ctl->conf->broker_topology == CONF_TOPOLOGY_TRUST;

    if (look->forbidden)
        doctor_tell_advice(look->d, trusted ? DOCTOR_LOOK : DOCTOR_PROBLEM, look->check,
                           trusted ? OTHER_ACCOUNT
                                   : OTHER_ACCOUNT "; where another account makes them, set broker.topology = "
                                                   "\"trust\" in this configuration",
                           NULL, "%u %s may not be looked at by this account", look->forbidden, what);
}

static void tell_version(void *arg, const char *sentence, bool certain)
{
    struct broker_look *look = arg;

    look->else_++;
    /* What cannot be seen says what to look up. */
    doctor_tell_advice(look->d, certain ? DOCTOR_WARNING : DOCTOR_LOOK, DOCTOR_BROKER_VERSION, certain ? NULL : "",
                       NULL, "%s", sentence);
}

static void version(struct doctor *d, int version_)
{
    struct broker_look look = {.d = d};

    topology_warn(version_, d->ctl->conf, tell_version, &look);
    if (!look.else_)
        doctor_tell(d, DOCTOR_OK, DOCTOR_BROKER_VERSION, NULL, "RabbitMQ %d.%d.%d", version_ / 10000,
                    version_ / 100 % 100, version_ % 100);
}

static bool topology(struct doctor *d, struct broker *broker, struct error *err)
{
    struct broker_look look = {.d = d, .check = DOCTOR_BROKER_TOPOLOGY};

    if (!topology_walk(broker, d->ctl->conf, false, tell_item, &look, err))
        return false;
    tell_forbidden(&look, "exchanges and queues");
    if (!look.else_)
        doctor_tell(d, DOCTOR_OK, DOCTOR_BROKER_TOPOLOGY, NULL,
                    "%u exchanges and queues are there, with the arguments that orderd needs", look.present);
    return true;
}

/* A queue beyond create.queues holds what was published before that was lowered, or what a web tier still publishes: it
 * is emptied as long as it is there, and nobody needs it. */
static bool create_queue(struct doctor *d, struct broker *broker, unsigned number, bool *told, struct error *err)
{
    int64_t used = d->ctl->conf->create_queues;
    char name[CREATE_QUEUE_NAME_MAX];
    uint32_t messages, consumers;

    create_queue_name(d->ctl->conf, number, name);
    if (!broker_queue_depth(broker, name, &messages, &consumers, err)) {
        *told = true; /* by the topology */
        return error_class_of(err) != ERROR_CLASS_OUTAGE;
    }
    if (number > used)
        doctor_tell(d, messages > 0 ? DOCTOR_WARNING : DOCTOR_LOOK, DOCTOR_BROKER_CREATE_QUEUES, name,
                    "beyond create.queues = %" PRId64 ": %" PRIu32 " messages wait, %" PRIu32 " consumers", used,
                    messages, consumers);
    else if (messages > 0 && consumers == 0)
        doctor_tell(d, DOCTOR_WARNING, DOCTOR_BROKER_CREATE_QUEUES, name, "%" PRIu32 " messages wait, and no consumer",
                    messages);
    else
        return true;
    *told = true;
    return true;
}

static bool create_queues(struct doctor *d, struct broker *broker, struct error *err)
{
    bool seen, told = false;
    unsigned count;

    if (!create_queue_count(broker, d->ctl->conf, &count, &seen, err))
        return false;
    for (unsigned number = 1; number <= count; number++) {
        if (!create_queue(d, broker, number, &told, err))
            return false;
    }
    if (!seen)
        doctor_tell_advice(d, DOCTOR_LOOK, DOCTOR_BROKER_CREATE_QUEUES, OTHER_ACCOUNT, NULL,
                           "this account may not see whether there are more than create.queues = %u", count);
    else if (!told)
        doctor_tell(d, DOCTOR_OK, DOCTOR_BROKER_CREATE_QUEUES, NULL, "%u, none of them left alone", count);
    error_clear(err);
    return true;
}

static bool delay_queues(struct doctor *d, struct broker *broker, struct error *err)
{
    struct broker_look look = {.d = d, .check = DOCTOR_BROKER_DELAY_QUEUE};

    if (!d->timeouts_known) {
        doctor_tell(d, DOCTOR_LOOK, DOCTOR_BROKER_DELAY_QUEUE, NULL,
                    "which pay time-outs are in use is not known, since the activities could not be read");
        return true;
    }
    if (!topology_walk_unpaid(broker, d->ctl->conf, d->timeouts, d->timeout_count, false, tell_item, &look, err))
        return false;
    tell_forbidden(&look, "delay queues of pay time-outs");
    if (!look.else_)
        doctor_tell(d, DOCTOR_OK, DOCTOR_BROKER_DELAY_QUEUE, NULL, "%u pay time-outs in use, each with its queue",
                    look.present);
    return true;
}

static void hold(struct doctor *d)
{
    int64_t most = d->ctl->conf->create_hold_max;

    doctor_tell(d, most > HOLD_MOST_MS ? DOCTOR_WARNING : DOCTOR_LOOK, DOCTOR_BROKER_CONSUMER_TIMEOUT, NULL,
                "lanes keep deliveries for up to create.hold_max = %" PRId64
                " s; consumer_timeout is 1800 s by default",
                most / 1000);
    doctor_tell(d, DOCTOR_LOOK, DOCTOR_BROKER_POLICY, NULL, "a policy can drop messages from any queue");
}

static void encryption(struct doctor *d, const struct broker *broker, const char *host, const char *subject)
{
    struct doctor_tls tls = {.subject = subject, .verified = true, .here = doctor_is_here(host)};

    tls.by = broker_encrypted_by(broker, &tls.until_s);
    doctor_tell_tls(d, DOCTOR_BROKER_TLS, &tls);
}

/* ---- broker.hosts ---- */

struct cluster {
    char name[256], of[300]; /* of the first host that said it */
};

static void same_cluster(struct doctor *d, const struct broker *broker, struct cluster *cluster)
{
    const char *name = broker_cluster(broker), *subject = broker_peer(broker);

    if (!cluster->name[0]) {
        snprintf(cluster->name, sizeof cluster->name, "%s", name);
        snprintf(cluster->of, sizeof cluster->of, "%s", subject);
    }
    if (strcmp(name, cluster->name) == 0)
        doctor_tell(d, DOCTOR_OK, DOCTOR_BROKER_HOSTS, subject, "it answers, and is of the cluster \"%s\"", name);
    else
        doctor_tell(d, DOCTOR_LOOK, DOCTOR_BROKER_HOSTS, subject,
                    "it answers, but calls its cluster \"%s\" and %s \"%s\": two clusters have no queue in common, but "
                    "nodes of one that has no name say their own",
                    name, cluster->of, cluster->name);
}

/* One that does not answer is only a warning, since that is what the others are for. */
static void host(struct doctor *d, const struct conf_node *node, struct cluster *cluster)
{
    char subject[300];
    struct error err = {0};
    struct broker *broker = ctl_open_broker_at(d->ctl, node, &err);

    snprintf(subject, sizeof subject, "%s:%d", node->host, node->port);
    if (broker) {
        same_cluster(d, broker, cluster);
        encryption(d, broker, node->host, subject);
    } else {
        doctor_tell_advice(d, DOCTOR_WARNING, DOCTOR_BROKER_HOSTS, doctor_advice(DOCTOR_BROKER_SERVER, &err), subject,
                           "%s", err.text);
    }
    ctl_close_broker(&broker);
}

static void hosts(struct doctor *d)
{
    const char *list = d->ctl->conf->broker_hosts;
    struct cluster cluster = {0};
    struct conf_node node;
    unsigned count = 0;

    for (; conf_node_next(&list, &node); count++)
        host(d, &node, &cluster);
    if (count > 0 && count < HOSTS_LEAST)
        doctor_tell(d, DOCTOR_LOOK, DOCTOR_BROKER_HOSTS, NULL,
                    "broker.hosts names %u: quorum queues of fewer than three nodes stop when one is lost", count);
    d->ctl->advice[0] = '\0';
}

void doctor_broker(struct doctor *d)
{
    const struct conf *conf = d->ctl->conf;
    bool listed = conf_node_count(conf->broker_hosts) > 0;
    struct error err = {0};
    struct broker *broker;

    hosts(d);
    broker = ctl_open_broker(d->ctl, &err);
    if (broker) {
        doctor_tell(d, DOCTOR_OK, DOCTOR_BROKER_SERVER, NULL, "it answers");
        if (!listed)
            encryption(d, broker, conf->broker_host, NULL);
        version(d, broker_version(broker));
    }
    if (!broker || !topology(d, broker, &err) || !create_queues(d, broker, &err) || !delay_queues(d, broker, &err))
        doctor_failed(d, DOCTOR_BROKER_SERVER, NULL, &err);
    else
        hold(d);
    ctl_close_broker(&broker);
}
