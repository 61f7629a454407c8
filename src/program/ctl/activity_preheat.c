/* orderctl activity preheat */
#include "orderd/activity_preheat.h"

#include <inttypes.h>
#include <string.h>

#include "activity.h"
#include "record.h"

struct report {
    const struct ctl *ctl;
    struct table table;
};

static void print_record(const struct activity_shard *s)
{
    struct strbuf line = STRBUF_INIT;

    record_open(&line, NULL, '{');
    record_number(&line, "activity", s->plan.activity);
    record_number(&line, "shard", s->plan.shard);
    record_text(&line, "state", activity_shard_state_name(s->state));
    record_number(&line, "cap", s->plan.cap);
    if (s->left < 0)
        record_null(&line, "left");
    else
        record_number(&line, "left", s->left);
    record_number(&line, "epoch", s->plan.epoch);
    record_time(&line, "expire_at", s->plan.expire_at);
    record_close(&line, '}');
    record_print(&line);
    strbuf_release(&line);
}

static void tell(void *arg, const struct activity_shard *s)
{
    struct report *r = arg;

    if (r->ctl->json) {
        print_record(s);
        return;
    }
    table_number(&r->table, s->plan.shard);
    table_number(&r->table, s->plan.cap);
    if (s->left < 0)
        table_text(&r->table, "-", TINT_DIM);
    else
        table_number(&r->table, s->left);
    table_text(&r->table, activity_shard_state_name(s->state),
               s->state == ACTIVITY_SHARD_THERE ? TINT_GOOD : TINT_CHANGED);
}

/* Under an allkeys-* policy a full Redis throws stock away instead of refusing writes. An account that may not ask is
 * not told. */
static void warn_of_eviction(struct kv *kv)
{
    struct slice argv[] = {slice_of("CONFIG"), slice_of("GET"), slice_of("maxmemory-policy")};
    struct error ignored;
    struct kv_reply *reply = kv_command(kv, argv, 3, &ignored);
    struct slice policy = {0};

    if (reply && kv_reply_count(reply) == 2)
        policy = kv_reply_text(kv_reply_at(reply, 1));
    if (policy.len > 8 && memcmp(policy.ptr, "allkeys-", 8) == 0)
        print_warning("Redis has maxmemory-policy %.*s: when its memory is full it deletes stock; set noeviction",
                      (int)policy.len, policy.ptr);
    kv_reply_free(&reply);
}

static bool preheat(struct ctl *ctl, struct db *db, struct kv *kv, struct activity *activity, struct error *err)
{
    static const char *const heads[] = {"-SHARD", "-CAP", "-LEFT", "STATE"};
    bool dry_run = ctl->values[CTL_OPTION_activity_preheat_dry_run].set, ok;
    struct report report = {.ctl = ctl};

    table_begin(&report.table, heads, 4);
    ok = activity_preheat(db, kv, ctl->operand_id, dry_run, tell, &report, activity, err);
    table_end(ctl, &report.table);
    if (ok)
        warn_of_eviction(kv);
    if (!ok && error_class_of(err) == ERROR_CLASS_OUTAGE)
        ctl_advise(ctl, "run the same command again: it goes on where it stopped");
    if (ok && activity->state == ACTIVITY_RUNNING)
        print_note(ctl, "activity %" PRId64 " is running and was preheated before; nothing was changed", activity->id);
    else if (ok && dry_run)
        print_note(ctl, "nothing was changed");
    else if (ok)
        print_note(ctl, "the stock of activity %" PRId64 " is in Redis and was read back; shards: %" PRId32,
                   activity->id, activity->shards);
    return ok;
}

bool ctl_activity_preheat(struct ctl *ctl, struct error *err)
{
    struct activity activity;
    struct db *db = ctl_open_schema(ctl, err);
    struct kv *kv = db ? ctl_open_kv(ctl, err) : NULL;
    bool hold = !ctl->values[CTL_OPTION_activity_preheat_dry_run].set;
    bool ok = kv && (!hold || activity_hold(ctl, db, err)) && preheat(ctl, db, kv, &activity, err);

    kv_close(&kv);
    db_close(&db);
    return ok;
}
