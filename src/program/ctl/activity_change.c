/* orderctl activity start, end and extend. MySQL first, then every shard, then the gates: a crash in between leaves a
 * sale that still has its old times in Redis, never one that sells what MySQL does not have; the same command again, or
 * a running orderd within a second, does the rest. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "activity.h"
#include "orderd/activity_apply.h"
#include "orderd/activity_move.h"
#include "orderd/check.h"
#include "orderd/fault.h"
#include "record.h"

struct change {
    struct ctl *ctl;
    bool dry_run;
    /* What is to be seen to before the move; or NULL. */
    bool (*before)(struct change *change, struct error *err);
    bool (*move)(struct change *change, bool *moved, struct error *err);
    const char *done, *already, *would; /* results in JSON */
    const char *said;                   /* what was done, as people read it: "started" */
    const char *so;                     /* what it was before, where nothing was to be done: "is running" */
    struct db *db;                      /* holds the activity's lock unless it is a dry run */
    struct activity activity;
};

enum redis { REDIS_UNTOUCHED, REDIS_AGREES, REDIS_INCOMPLETE, REDIS_NOT_REACHED };

static const char *redis_name(enum redis redis)
{
    static const char *const names[] = {NULL, "agrees", "incomplete", "not_reached"};

    return names[redis];
}

/* Keys of a sale whose last payment was due long ago are gone, or about to go. */
static bool has_keys(const struct activity *a, int64_t now)
{
    struct stock_plan plan;

    activity_plan(a, 0, &plan);
    return a->state != ACTIVITY_SETTLED && plan.expire_at > now;
}

static enum redis judge(const struct change *c, const struct activity_applied *applied)
{
    const struct activity *a = &c->activity;

    if (applied->announced.note[0])
        print_warning("the account may not publish on the channel of activity %" PRId64
                      "; gates that only listen there are not told",
                      a->id);
    if (!a->preheated) /* what a preheat that was cut short has made was set, too */
        return REDIS_AGREES;
    if (applied->first_fault < 0 && applied->announced.code >= 0)
        return REDIS_AGREES;
    print_warning("shard %" PRId32 " and perhaps others could not be told; see `orderctl activity show %" PRId64 "`",
                  applied->first_fault < 0 ? 0 : applied->first_fault, a->id);
    return REDIS_INCOMPLETE;
}

static enum redis apply(struct change *c)
{
    struct activity_applied applied;
    struct error err = {0};
    struct kv *kv = ctl_open_kv(c->ctl, &err);
    enum redis redis = REDIS_NOT_REACHED;

    if (kv && activity_apply(kv, &c->activity, &applied, &err))
        redis = judge(c, &applied);
    else
        print_warning(
            "MySQL has it, but Redis could not be told: %s; a running orderd does that when Redis is back, or "
            "run this again",
            err.text);
    kv_close(&kv);
    return redis;
}

static const char *how_it_is(const struct change *c)
{
    return c->activity.state == ACTIVITY_SETTLED ? "is settled" : c->so;
}

static void tell(const struct change *c, bool moved, enum redis redis)
{
    const char *result = !moved ? c->already : c->dry_run ? c->would : c->done;
    struct strbuf line = STRBUF_INIT;

    if (c->ctl->json) {
        record_open(&line, NULL, '{');
        record_text(&line, "result", result);
        record_text(&line, "redis", redis_name(redis));
        activity_record(&line, &c->activity);
        record_close(&line, '}');
        record_print(&line);
        strbuf_release(&line);
    } else {
        if (moved && c->dry_run)
            printf("Nothing was changed; it would be\n");
        activity_print(c->ctl, &c->activity);
    }
    if (!moved)
        print_note(c->ctl, "activity %" PRId64 " %s already", c->activity.id, how_it_is(c));
    else if (c->dry_run)
        print_note(c->ctl, "it could be %s; nothing was changed", c->said);
    else
        print_note(c->ctl, "activity %" PRId64 " was %s", c->activity.id, c->said);
}

static bool run(struct change *c, struct error *err)
{
    enum redis redis = REDIS_UNTOUCHED;
    int64_t now;
    bool moved;

    if (!c->dry_run && !activity_hold(c->ctl, c->db, err))
        return false;
    if ((c->before && !c->before(c, err)) || !c->move(c, &moved, err) || !activity_store_now(c->db, &now, err)) {
        if (error_class_of(err) == ERROR_CLASS_OUTAGE)
            ctl_advise(c->ctl, "run the same command again: it tells what was done");
        return false;
    }
    FAULT(ACTIVITY_AFTER_DATABASE);
    if (!c->dry_run && has_keys(&c->activity, now))
        redis = apply(c);
    tell(c, moved, redis);
    if (redis == REDIS_INCOMPLETE || redis == REDIS_NOT_REACHED)
        c->ctl->code = EXIT_PARTIAL;
    return true;
}

static bool change_run(struct change *c, struct error *err)
{
    bool ok;

    c->db = ctl_open_schema(c->ctl, err);
    ok = c->db && run(c, err);
    db_close(&c->db);
    return ok;
}

/* ---- start ---- */

static bool move_start(struct change *c, bool *moved, struct error *err)
{
    return activity_move_start(c->db, c->ctl->operand_id, c->dry_run, moved, &c->activity, err);
}

bool ctl_activity_start(struct ctl *ctl, struct error *err)
{
    struct change change = {.ctl = ctl,
                            .dry_run = ctl->values[CTL_OPTION_activity_start_dry_run].set,
                            .move = move_start,
                            .done = "started",
                            .already = "running_before",
                            .would = "would_be_started",
                            .said = "started",
                            .so = "is running"};

    return change_run(&change, err);
}

/* ---- end ---- */

static bool move_end(struct change *c, bool *moved, struct error *err)
{
    return activity_move_end(c->db, c->ctl->operand_id, c->dry_run, moved, &c->activity, err);
}

bool ctl_activity_end(struct ctl *ctl, struct error *err)
{
    struct change change = {.ctl = ctl,
                            .dry_run = ctl->values[CTL_OPTION_activity_end_dry_run].set,
                            .move = move_end,
                            .done = "ended",
                            .already = "ended_before",
                            .would = "would_be_ended",
                            .said = "ended",
                            .so = "has ended"};

    return change_run(&change, err);
}

/* ---- extend ---- */

static bool move_extend(struct change *c, bool *moved, struct error *err)
{
    const struct ctl_value *ends = &c->ctl->values[CTL_OPTION_activity_extend_ends];

    return activity_move_extend(c->db, c->ctl->operand_id, (struct activity_when){ends->relative, ends->number},
                                c->dry_run, moved, &c->activity, err);
}

/* Redis forgets a sale that is over; one whose keys are gone cannot run again. */
static bool look_at_ended(struct change *c, struct error *err)
{
    struct activity_look look;
    struct stock_audit *audits;
    struct kv *kv;
    bool ok;

    if (!activity_store_get(c->db, c->ctl->operand_id, &c->activity, err))
        return false;
    if (c->activity.state != ACTIVITY_ENDED || !c->activity.preheated)
        return true;
    kv = ctl_open_kv(c->ctl, err);
    if (!kv)
        return false;
    audits = check_calloc((size_t)c->activity.shards, sizeof *audits);
    ok = activity_look(kv, &c->activity, audits, &look, err) && activity_look_whole(&c->activity, &look, err);
    free(audits);
    kv_close(&kv);
    return ok;
}

bool ctl_activity_extend(struct ctl *ctl, struct error *err)
{
    struct change change = {.ctl = ctl,
                            .dry_run = ctl->values[CTL_OPTION_activity_extend_dry_run].set,
                            .before = look_at_ended,
                            .move = move_extend,
                            .done = "extended",
                            .already = "extended_before",
                            .would = "would_be_extended",
                            .said = "extended",
                            .so = "ends then"};

    return change_run(&change, err);
}
