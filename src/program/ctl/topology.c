/* orderctl topology: exchanges, queues and bindings. */
#include "orderd/topology.h"

#include <stdio.h>
#include <stdlib.h>

#include "print.h"
#include "record.h"

struct walk {
    const struct ctl *ctl;
    bool apply;
    unsigned present, missing, different, forbidden;
    const char *advised; /* the last one printed: what holds for many is said once */
};

static const char *state_of(const struct topology_finding *f, enum tint *tint)
{
    static const struct {
        const char *name;
        enum tint tint;
    } states[] = {
        [BROKER_MISSING] = {"missing", TINT_CHANGED},
        [BROKER_PRESENT] = {"present", TINT_GOOD},
        [BROKER_DIFFERENT] = {"different", TINT_BAD},
        [BROKER_FORBIDDEN] = {"forbidden", TINT_BAD},
    };

    *tint = f->created ? TINT_CHANGED : states[f->presence].tint;
    if (f->kind[0] == 'b' && f->presence == BROKER_PRESENT)
        return "bound"; /* the broker does not say whether it was before */
    return f->created ? "created" : states[f->presence].name;
}

static const char *advice_of(const struct walk *w, const struct topology_finding *f)
{
    switch (f->presence) {
    case BROKER_MISSING:
        return w->apply ? "its exchange or queue could not be made: see above" : "`orderctl topology apply` makes it";
    case BROKER_DIFFERENT:
        return f->kind[0] == 'q'
                   ? "arguments of a queue cannot be changed: drain and delete it and apply again, or make "
                     "broker.queue_type and broker.delivery_limit fit it"
                   : "the kind of an exchange cannot be changed: delete it and apply again";
    case BROKER_FORBIDDEN:
        return w->ctl->conf->broker_topology == CONF_TOPOLOGY_TRUST
                   ? "use an account that may configure it: orderctl's, in docs/accounts"
                   : "use an account that may configure it, or set broker.topology = \"trust\" where another does";
    default:
        return "";
    }
}

static void print_record(const struct topology_finding *f, const char *state, const char *advice)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    record_text(&line, "kind", f->kind);
    record_text(&line, "name", f->name);
    record_text(&line, "state", state);
    record_text(&line, "detail", f->detail[0] ? f->detail : NULL);
    record_text(&line, "advice", advice[0] ? advice : NULL);
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

#define INDENT 10

static void print_finding(struct walk *w, const struct topology_finding *f, const char *state, enum tint tint,
                          const char *advice)
{
    const struct ctl *ctl = w->ctl;

    print_word(ctl, f->kind, INDENT, TINT_NONE);
    print_word(ctl, f->name, 44, TINT_NONE);
    putchar(' ');
    print_word(ctl, state, 0, tint);
    putchar('\n');
    if (f->detail[0]) {
        print_word(ctl, "", INDENT, TINT_NONE);
        print_prose(f->detail, INDENT);
    }
    if ((f->presence == BROKER_DIFFERENT || f->presence == BROKER_FORBIDDEN) && advice != w->advised) {
        print_word(ctl, "", INDENT, TINT_NONE);
        print_prose(advice, INDENT);
        w->advised = advice;
    }
}

static void tell(void *arg, const struct topology_finding *f)
{
    struct walk *w = arg;
    enum tint tint;
    const char *state = state_of(f, &tint), *advice = advice_of(w, f);

    w->present += f->presence == BROKER_PRESENT;
    w->missing += f->presence == BROKER_MISSING;
    w->different += f->presence == BROKER_DIFFERENT;
    w->forbidden += f->presence == BROKER_FORBIDDEN;
    if (w->ctl->json)
        print_record(f, state, advice);
    else
        print_finding(w, f, state, tint, advice);
}

static void warn(void *arg, const char *sentence, bool certain)
{
    const struct walk *w = arg;

    if (certain)
        print_warning("%s", sentence);
    else if (!w->apply)
        print_note(w->ctl, "note: %s", sentence);
}

/* The delay queues of the pay time-outs come with the activities. The topology is often made before there is a database
 * to be asked: that is worth a note, and no more. */
static bool read_timeouts(struct ctl *ctl, int64_t **timeouts, size_t *count)
{
    struct error err = {0};
    struct db *db = ctl_open_schema(ctl, &err);
    bool ok = db && activity_store_timeouts(db, timeouts, count, &err);

    db_close(&db);
    if (!ok)
        print_note(ctl, "note: the delay queues of pay time-outs are left out, since the activities cannot be read: %s",
                   err.text);
    ctl->advice[0] = '\0';
    return ok;
}

static bool go_over_all(struct ctl *ctl, struct walk *w, struct broker *broker, struct error *err)
{
    int64_t *timeouts = NULL;
    size_t count = 0;
    bool ok = topology_walk(broker, ctl->conf, w->apply, tell, w, err);

    if (ok && read_timeouts(ctl, &timeouts, &count))
        ok = topology_walk_unpaid(broker, ctl->conf, timeouts, count, w->apply, tell, w, err);
    free(timeouts);
    return ok;
}

static bool go_over(struct ctl *ctl, struct walk *w, struct error *err)
{
    struct broker *broker = ctl_open_broker(ctl, err);
    bool ok = broker && go_over_all(ctl, w, broker, err);

    if (ok)
        topology_warn(broker_version(broker), ctl->conf, warn, w);
    else if (broker && w->apply && error_class_of(err) == ERROR_CLASS_OUTAGE)
        ctl_advise(ctl, "run the same command again: it goes on where it stopped");
    ctl_close_broker(&broker);
    return ok;
}

bool ctl_topology_apply(struct ctl *ctl, struct error *err)
{
    bool dry_run = ctl->values[CTL_OPTION_topology_apply_dry_run].set;
    struct walk w = {.ctl = ctl, .apply = !dry_run};

    if (!go_over(ctl, &w, err))
        return false;
    if (dry_run && w.missing)
        print_note(ctl, "what is missing would be created; nothing was changed");
    if (w.forbidden && !w.present)
        ctl->code = EXIT_NO_PERMISSION;
    else if (w.different || w.forbidden || (w.missing && !dry_run))
        ctl->code = EXIT_PARTIAL;
    return true;
}

bool ctl_topology_check(struct ctl *ctl, struct error *err)
{
    struct walk w = {.ctl = ctl};

    if (!go_over(ctl, &w, err))
        return false;
    if (w.missing)
        print_note(ctl, "%u missing; run `orderctl topology apply`", w.missing);
    if (w.missing || w.different)
        ctl->code = EXIT_FAILED;
    else if (w.forbidden)
        ctl->code = EXIT_NO_PERMISSION;
    return true;
}
