#include "pay_queue.h"

#include "orderd/topology.h"
#include "print.h"

struct look {
    struct ctl *ctl;
    struct broker *broker;
    bool dry_run;
    struct error *err;
};

/* Where the topology is another account's affair (broker.topology is trust). To see that a queue is there takes fewer
 * rights than to make or to compare it; where even that is refused, or it is missing, somebody else has to see to it,
 * and a script is told by the exit code. */
static void trust(const struct look *look, const struct topology_finding *f)
{
    enum broker_presence presence = BROKER_FORBIDDEN;

    if (f->kind[0] == 'q' && !broker_find_queue(look->broker, f->name, &presence, look->err))
        return;
    if (presence == BROKER_PRESENT)
        return;
    print_warning("%s %s %s, and without it unpaid orders are closed late: run `orderctl topology apply` with "
                  "orderctl's account (docs/accounts)",
                  f->kind, f->name,
                  presence == BROKER_MISSING ? "is missing and may not be made by this account"
                                             : "may not be looked at by this account");
    look->ctl->code = EXIT_PARTIAL;
}

static bool trusting(const struct look *look)
{
    return look->ctl->conf->broker_topology == CONF_TOPOLOGY_TRUST;
}

static void forbidden(const struct look *look, const struct topology_finding *f)
{
    if (trusting(look))
        trust(look, f);
    else
        error_set(look->err, ERROR_BROKER_SETUP, "%s %s may not be made or looked at: %s", f->kind, f->name, f->detail);
}

static void tell(void *arg, const struct topology_finding *f)
{
    const struct look *look = arg;

    if (look->err->code != ERROR_NONE)
        return;
    switch (f->presence) {
    case BROKER_PRESENT:
        if (f->created)
            print_note(look->ctl, "%s %s was created", f->kind, f->name);
        break;
    case BROKER_MISSING:
        if (look->dry_run)
            print_note(look->ctl, "%s %s would be created%s", f->kind, f->name,
                       trusting(look) ? ", if this account may" : ""); /* to see that takes trying */
        else
            error_set(look->err, ERROR_BROKER_SETUP, "%s %s cannot be made: run `orderctl topology apply` first",
                      f->kind, f->name);
        break;
    case BROKER_DIFFERENT:
        error_set(look->err, ERROR_BROKER_SETUP,
                  "%s %s is declared otherwise: %s; delete it when it is empty, or make broker.queue_type fit it",
                  f->kind, f->name, f->detail);
        break;
    case BROKER_FORBIDDEN:
        forbidden(look, f);
        break;
    }
}

bool ctl_pay_queue(struct ctl *ctl, int64_t pay_timeout_ms, bool dry_run, struct error *err)
{
    struct error finding = {0};
    struct look look = {ctl, NULL, dry_run, &finding};
    struct broker *broker = ctl_open_broker(ctl, err);
    bool ok;

    if (!broker)
        return error_prefix(err, "the activity's delay queue must be there before it is approved");
    look.broker = broker;
    ok = topology_walk_unpaid(broker, ctl->conf, &pay_timeout_ms, 1, !dry_run, tell, &look, err);
    ctl_close_broker(&broker);
    if (ok && finding.code != ERROR_NONE) {
        *err = finding;
        ok = false;
    }
    return ok;
}
