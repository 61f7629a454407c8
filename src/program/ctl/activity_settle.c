/* orderctl activity settle */
#include "orderd/activity_settle.h"

#include <inttypes.h>

#include "activity.h"
#include "record.h"

struct command {
    struct ctl *ctl;
    bool dry_run;
    struct activity activity;
    struct activity_settled done;
};

static void show_progress(void *arg, int64_t orders)
{
    print_progress(arg, "%" PRId64 " orders compared", orders);
}

static void print_record(const struct command *c)
{
    const struct activity_settled *d = &c->done;
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    record_text(&line, "result", !d->changed ? "settled_before" : c->dry_run ? "would_be_settled" : "settled");
    record_number(&line, "orders_compared", d->balance.held_orders + d->balance.live_orders + d->balance.done_orders);
    record_number(&line, "shards_removed", d->removal.shards);
    record_number(&line, "further_keys_removed", d->removal.strays);
    if (d->removal.refused < 0)
        record_null(&line, "shard_refused");
    else
        record_number(&line, "shard_refused", d->removal.refused);
    activity_record(&line, &c->activity);
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

/* One that may not be removed has something that nobody expected; its keys have a TTL. */
static void tell_refused(const struct command *c)
{
    const struct stock_removal_done *r = &c->done.removal;

    print_warning(
        "shard %d was not removed: %s; it goes by itself when its time is over, see `orderctl activity show %" PRId64
        "`",
        r->refused, stock_code_sentence(STOCK_SCRIPT_REMOVE, r->last.code), c->activity.id);
    c->ctl->code = EXIT_PARTIAL;
}

static void tell(const struct command *c)
{
    const struct activity_settled *d = &c->done;
    int64_t id = c->activity.id;

    if (c->ctl->json)
        print_record(c);
    else
        activity_print(c->ctl, &c->activity);
    if (c->dry_run && d->changed)
        print_note(c->ctl, "it could be settled; nothing was changed");
    else if (!d->changed)
        print_note(c->ctl, "activity %" PRId64 " is settled already; shards removed: %d", id, d->removal.shards);
    else
        print_note(c->ctl, "activity %" PRId64 " was settled; shards removed: %d", id, d->removal.shards);
    if (d->removal.refused >= 0)
        tell_refused(c);
}

static bool run(struct command *c, struct activity_settle *how, struct error *err)
{
    bool ok;

    if (!c->dry_run && !activity_hold(c->ctl, how->db, err))
        return false;
    if (!activity_store_get(how->db, c->ctl->operand_id, &c->activity, err))
        return false;
    ok = activity_settle(how, &c->done, err);
    print_progress_end();
    if (ok)
        tell(c);
    else if (error_class_of(err) == ERROR_CLASS_OUTAGE)
        ctl_advise(c->ctl, "run the same command again: it goes on where it stopped");
    return ok;
}

bool ctl_activity_settle(struct ctl *ctl, struct error *err)
{
    struct command command = {.ctl = ctl, .dry_run = ctl->values[CTL_OPTION_activity_settle_dry_run].set};
    struct activity_settle how = {
        .activity = &command.activity, .dry_run = command.dry_run, .progress = show_progress, .arg = ctl};
    bool ok;

    how.db = ctl_open_schema(ctl, err);
    how.kv = how.db ? ctl_open_kv(ctl, err) : NULL;
    if (how.kv)
        how.in_flight_ms = ctl->conf->walk_in_flight;
    ok = how.kv && run(&command, &how, err);
    kv_close(&how.kv);
    db_close(&how.db);
    return ok;
}
