#include "pay_queue.h"

#include "orderd/topology.h"
#include "print.h"

struct look {
    const struct ctl *ctl;
    bool dry_run;
    struct error *err;
};

/* Where the topology is another account's affair (broker.topology is trust), not being allowed to look says nothing. */
static void forbidden(const struct look *look, const struct topology_finding *f)
{
    if (look->ctl->conf->broker_topology == CONF_TOPOLOGY_TRUST)
        print_note(look->ctl, "%s %s: not to be looked at by this account; see that it is there", f->kind, f->name);
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
            print_note(look->ctl, "%s %s would be created", f->kind, f->name);
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
    struct look look = {ctl, dry_run, &finding};
    struct broker *broker = ctl_open_broker(ctl, err);
    bool ok;

    if (!broker)
        return error_prefix(err, "the activity's delay queue must be there before it is approved");
    ok = topology_walk_unpaid(broker, ctl->conf, &pay_timeout_ms, 1, !dry_run, tell, &look, err);
    ctl_close_broker(&broker);
    if (ok && finding.code != ERROR_NONE) {
        *err = finding;
        ok = false;
    }
    return ok;
}
