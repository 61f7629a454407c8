/* orderctl activity rebuild */
#include "orderd/activity_rebuild.h"

#include <inttypes.h>
#include <stdlib.h>

#include "activity.h"
#include "orderd/check.h"
#include "record.h"

#define VALUE(name) (&ctl->values[CTL_OPTION_activity_rebuild_##name])

struct command {
    struct ctl *ctl;
    bool dry_run, force;
    struct activity activity;
    struct activity_rebuilt done;
};

static void show_progress(void *arg, enum activity_rebuild_step step, const struct activity_rebuilt *so_far)
{
    const struct ctl *ctl = arg;

    switch (step) {
    case REBUILD_DRAINING:
        print_progress(ctl, "paused; waiting for what is on its way: %" PRId64 " messages in queues, %" PRId64 " local",
                       so_far->drain.waiting, so_far->drain.local);
        break;
    case REBUILD_COUNTING:
        print_progress(ctl, "counting live orders: %" PRId64, so_far->live_orders);
        break;
    case REBUILD_ADOPTING:
        print_progress(ctl, "adopting orders: %" PRId64, so_far->live_orders + so_far->closed_orders);
        break;
    case REBUILD_VERIFYING:
        print_progress(ctl, "reading the shards back");
    }
}

static const char *was(const struct activity_rebuilt_shard *s)
{
    return s->was == SHARD_FINE ? "whole" : shard_fault_name(s->was);
}

static void print_record(const struct command *c)
{
    const struct activity_rebuilt *d = &c->done;
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    record_text(&line, "result", c->dry_run ? "would_be_rebuilt" : "rebuilt");
    record_number(&line, "epoch", d->epoch);
    record_bool(&line, "drained", d->drained);
    record_number(&line, "messages_waiting", d->drain.waiting);
    record_number(&line, "local_messages_waiting", d->drain.local);
    record_number(&line, "live_orders", d->live_orders);
    record_number(&line, "closed_orders", d->closed_orders);
    record_number(&line, "kept_reservations", d->kept_orders);
    record_number(&line, "unreadable_reservations", d->unreadable_orders);
    record_number(&line, "orders_without_room", d->short_orders);
    record_open(&line, "shards", '[');
    for (int32_t i = 0; i < c->activity.shards; i++) {
        record_open(&line, NULL, '{');
        record_number(&line, "shard", i);
        record_text(&line, "was", was(&d->shards[i]));
        record_number(&line, "cap", d->shards[i].cap);
        record_number(&line, "live", d->shards[i].live);
        record_number(&line, "kept", d->shards[i].kept);
        record_close(&line, '}');
    }
    record_close(&line, ']');
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

static void print_table(const struct command *c)
{
    static const char *const heads[] = {"-SHARD", "-CAP", "-LIVE", "-KEPT", "WAS"};
    struct table table;

    table_begin(&table, heads, 5);
    for (int32_t i = 0; i < c->activity.shards; i++) {
        const struct activity_rebuilt_shard *s = &c->done.shards[i];

        table_number(&table, i);
        table_number(&table, s->cap);
        table_number(&table, s->live);
        table_number(&table, s->kept);
        table_text(&table, was(s), s->was == SHARD_FINE ? TINT_GOOD : TINT_BAD);
    }
    table_end(c->ctl, &table);
}

static void warn(const struct command *c)
{
    const struct activity_rebuilt *d = &c->done;

    if (!c->dry_run && !d->drained)
        print_warning("orders may have been on their way still; the walk adopts those that become rows now");
    if (d->unreadable_orders > 0)
        print_warning("%" PRId64 " reservations of the old shards were not in our format and are lost",
                      d->unreadable_orders);
    if (d->short_orders > 0)
        print_warning("%" PRId64 " live orders are not in the shards; `orderctl reconcile --activity %" PRId64
                      "` names them",
                      d->short_orders, c->activity.id);
}

static void tell(const struct command *c)
{
    const struct activity_rebuilt *d = &c->done;

    if (c->ctl->json)
        print_record(c);
    else
        print_table(c);
    warn(c);
    if (c->dry_run)
        print_note(c->ctl,
                   "%" PRId64 " live orders would go into %" PRId32 " new shards, and %" PRId64
                   " reservations without an order; nothing was changed",
                   d->live_orders, c->activity.shards, d->kept_orders);
    else
        print_note(c->ctl,
                   "activity %" PRId64 " was rebuilt with epoch %" PRId32 ": %" PRId64 " live orders and %" PRId64
                   " reservations without an order are in its shards",
                   c->activity.id, d->epoch, d->live_orders, d->kept_orders);
}

static bool rebuild(struct command *c, const struct activity_rebuild *how, struct error *err)
{
    bool ok;

    c->done.shards = check_calloc((size_t)c->activity.shards, sizeof *c->done.shards);
    ok = activity_rebuild(how, &c->done, err);
    print_progress_end();
    if (ok)
        tell(c);
    else if (error_class_of(err) == ERROR_CLASS_OUTAGE)
        ctl_advise(c->ctl, "run the same command again: it begins anew, and the sale stays paused until it is done");
    else if (err->code == ERROR_DB_CONFLICT && !c->dry_run)
        ctl_advise(c->ctl, "run this again when they are done, or with --force");
    if (ok && c->done.short_orders > 0)
        c->ctl->code = EXIT_PARTIAL;
    free(c->done.shards);
    return ok;
}

static bool run(struct command *c, struct activity_rebuild *how, struct error *err)
{
    if (!c->dry_run && !activity_hold(c->ctl, how->db, err))
        return false;
    return activity_store_get(how->db, c->ctl->operand_id, &c->activity, err) && rebuild(c, how, err);
}

/* A broker that is away keeps nobody from counting, nor whoever insists from rebuilding. */
static bool open_all(struct command *c, struct activity_rebuild *how, struct error *err)
{
    struct error broker = {0};

    how->db = ctl_open_schema(c->ctl, err);
    how->kv = how->db ? ctl_open_kv(c->ctl, err) : NULL;
    if (!how->kv)
        return false;
    how->conf = c->ctl->conf;
    how->broker = ctl_open_broker(c->ctl, &broker);
    if (!how->broker && !c->force && !c->dry_run) {
        *err = broker;
        return false;
    }
    if (!how->broker)
        print_warning("whether orders are on their way is not known: %s", broker.text);
    c->ctl->advice[0] = '\0';
    return true;
}

bool ctl_activity_rebuild(struct ctl *ctl, struct error *err)
{
    struct command command = {.ctl = ctl, .dry_run = VALUE(dry_run)->set, .force = VALUE(force)->set};
    struct activity_rebuild how = {.activity = &command.activity,
                                   .drain_ms = VALUE(drain)->number,
                                   .force = command.force,
                                   .dry_run = command.dry_run,
                                   .progress = show_progress,
                                   .arg = ctl};
    bool ok = open_all(&command, &how, err) && run(&command, &how, err);

    if (how.broker)
        ctl_close_broker(&how.broker);
    kv_close(&how.kv);
    db_close(&how.db);
    return ok;
}
