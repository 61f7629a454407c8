/* orderctl activity restock */
#include "orderd/activity_restock.h"

#include <inttypes.h>
#include <stdlib.h>

#include "activity.h"
#include "orderd/check.h"
#include "record.h"

struct command {
    struct ctl *ctl;
    bool dry_run;
    int64_t wanted;
    struct activity activity;
    struct activity_cap *caps;
    struct activity_restocked done;
};

static const char *result_of(const struct command *c)
{
    if (!c->done.changed)
        return "restocked_before";
    if (c->dry_run)
        return "would_be_restocked";
    return c->done.total == c->wanted ? "restocked" : "restocked_in_part";
}

static void print_record(const struct command *c)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    record_text(&line, "result", result_of(c));
    record_number(&line, "asked_for", c->wanted);
    record_number(&line, "total_was", c->done.was);
    record_number(&line, "total", c->done.total);
    record_open(&line, "shards", '[');
    for (int32_t i = 0; i < c->activity.shards && c->caps[0].was >= 0; i++) {
        record_open(&line, NULL, '{');
        record_number(&line, "shard", i);
        record_number(&line, "cap_was", c->caps[i].was);
        record_number(&line, "cap", c->caps[i].cap);
        record_close(&line, '}');
    }
    record_close(&line, ']');
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

static void print_table(const struct command *c)
{
    static const char *const heads[] = {"-SHARD", "-LEFT", "-CAP WAS", "-CAP"};
    struct table table;

    table_begin(&table, heads, 4);
    for (int32_t i = 0; i < c->activity.shards && c->caps[0].was >= 0; i++) {
        table_number(&table, i);
        table_number(&table, c->caps[i].left);
        table_number(&table, c->caps[i].was);
        table_number(&table, c->caps[i].cap);
    }
    table_end(c->ctl, &table);
}

static void tell(const struct command *c)
{
    int64_t id = c->activity.id, total = c->done.total;

    if (c->ctl->json)
        print_record(c);
    else
        print_table(c);
    if (!c->done.changed)
        print_note(c->ctl, "activity %" PRId64 " has %" PRId64 " units already; nothing was changed", id, total);
    else if (c->dry_run)
        print_note(c->ctl, "activity %" PRId64 " would go from %" PRId64 " to %" PRId64 " units; nothing was changed",
                   id, c->done.was, total);
    else
        print_note(c->ctl, "activity %" PRId64 " went from %" PRId64 " to %" PRId64 " units", id, c->done.was, total);
    if (total > c->wanted)
        print_warning("%" PRId64 " of its units are sold, reserved or forfeited, so that it cannot have %" PRId64,
                      total, c->wanted);
}

static bool run(struct command *c, struct db *db, struct kv *kv, struct error *err)
{
    bool ok;

    if (!c->dry_run && !activity_hold(c->ctl, db, err))
        return false;
    if (!activity_store_get(db, c->ctl->operand_id, &c->activity, err))
        return false;
    c->caps = check_calloc((size_t)c->activity.shards, sizeof *c->caps);
    ok = activity_restock(db, kv, &c->activity, c->wanted, c->dry_run, c->caps, &c->done, err);
    if (ok)
        tell(c);
    else if (error_class_of(err) == ERROR_CLASS_OUTAGE)
        ctl_advise(c->ctl, "run the same command again: it goes on where it stopped");
    if (ok && c->done.total > c->wanted)
        c->ctl->code = EXIT_PARTIAL;
    free(c->caps);
    return ok;
}

bool ctl_activity_restock(struct ctl *ctl, struct error *err)
{
    struct command command = {.ctl = ctl,
                              .dry_run = ctl->values[CTL_OPTION_activity_restock_dry_run].set,
                              .wanted = ctl->values[CTL_OPTION_activity_restock_stock].number};
    struct db *db = ctl_open_schema(ctl, err);
    struct kv *kv = db ? ctl_open_kv(ctl, err) : NULL;
    bool ok = kv && run(&command, db, kv, err);

    kv_close(&kv);
    db_close(&db);
    return ok;
}
