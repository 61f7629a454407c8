/* orderctl doctor: RabbitMQ, as far as AMQP can tell. */
#include "doctor.h"

#include <inttypes.h>
#include <stdio.h>

#include "orderd/topology.h"

/* RabbitMQ's usual consumer_timeout (30 minutes), less what a lane may need to give its deliveries back. */
#define HOLD_MOST_MS (20 * 60000)

struct broker_look {
    struct doctor *d;
    enum doctor_check check;
    unsigned present, else_;
};

static void tell_item(void *arg, const struct topology_finding *f)
{
    static const char *const words[] = {
        [BROKER_MISSING] = "missing", [BROKER_DIFFERENT] = "different", [BROKER_FORBIDDEN] = "may not be looked at"};
    struct broker_look *look = arg;
    bool trusted = f->presence == BROKER_FORBIDDEN && look->d->ctl->conf->broker_topology == CONF_TOPOLOGY_TRUST;

    if (f->presence == BROKER_PRESENT) {
        look->present++;
        return;
    }
    look->else_++;
    doctor_tell(look->d, trusted ? DOCTOR_LOOK : DOCTOR_PROBLEM, look->check, f->name, "this %s is %s%s%s", f->kind,
                words[f->presence], f->detail[0] ? ": " : "", f->detail);
}

static void tell_version(void *arg, const char *sentence, bool certain)
{
    struct broker_look *look = arg;

    look->else_++;
    doctor_tell(look->d, certain ? DOCTOR_WARNING : DOCTOR_LOOK, DOCTOR_BROKER_VERSION, NULL, "%s", sentence);
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
    if (!look.else_)
        doctor_tell(d, DOCTOR_OK, DOCTOR_BROKER_TOPOLOGY, NULL,
                    "%u exchanges and queues are there, with the arguments that orderd needs", look.present);
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

static void encryption(struct doctor *d, const struct broker *broker)
{
    struct doctor_tls tls = {.verified = true, .here = doctor_is_here(d->ctl->conf->broker_host)};

    tls.by = broker_encrypted_by(broker, &tls.until_s);
    doctor_tell_tls(d, DOCTOR_BROKER_TLS, &tls);
}

void doctor_broker(struct doctor *d)
{
    struct error err = {0};
    struct broker *broker = ctl_open_broker(d->ctl, &err);

    if (broker) {
        doctor_tell(d, DOCTOR_OK, DOCTOR_BROKER_SERVER, NULL, "it answers");
        encryption(d, broker);
        version(d, broker_version(broker));
    }
    if (!broker || !topology(d, broker, &err) || !delay_queues(d, broker, &err))
        doctor_failed(d, DOCTOR_BROKER_SERVER, NULL, &err);
    else
        hold(d);
    ctl_close_broker(&broker);
}
