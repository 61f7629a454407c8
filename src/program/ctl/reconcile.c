/* orderctl reconcile: compares, shows, mends, compares again, and writes down that it did. */
#include "reconcile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/fault.h"

#define PAGE         500
#define LISTED_BYTES ((size_t)512 * 1024) /* of reconcile_run.listed */

/* ---- what a scan finds ---- */

static void keep(struct reconcile_list *l, const struct balance_finding *f)
{
    if (l->count == l->room) {
        l->room = l->room ? l->room * 2 : 64;
        l->list = check_realloc(l->list, l->room * sizeof *l->list);
    }
    l->list[l->count++] = *f;
}

static bool mendable(const struct balance_finding *f)
{
    enum finding_mender mender = finding_mender(f->kind);

    return (mender == FINDING_MENDER_WALK || mender == FINDING_MENDER_REPAIR) && f->kind != FINDING_UNRECOVERABLE;
}

static bool take_findings(void *arg, const struct balance_finding *findings, size_t count)
{
    struct reconcile *r = arg;

    for (size_t i = 0; i < count; i++) {
        const struct balance_finding *f = &findings[i];

        if (r->shown_of[f->kind] < r->limit) {
            keep(&r->shown, f);
            r->shown_of[f->kind]++;
        }
        r->mendable += mendable(f);
        if (mendable(f) && r->mending.count < r->max)
            keep(&r->mending, f);
    }
    return true;
}

static bool ignore(void *arg, const struct balance_finding *findings, size_t count)
{
    (void)arg;
    (void)findings;
    (void)count;
    return true;
}

static void progress(void *arg, int64_t orders)
{
    const struct reconcile *r = arg;

    print_progress(r->ctl, "activity %" PRId64 ": %" PRId64 " orders compared", r->run.activity_id, orders);
}

/* Asked anew for each scan: the queues move on. */
static bool look_at_queues(struct reconcile *r, struct error *err)
{
    reconcile_read_queues(r->ctl, &r->queues);
    return balance_frontier(r->db, &r->queues.create, r->queues.read ? r->queues.elsewhere : 1,
                            conf_retry_total(r->ctl->conf), &r->options.worked_to, err);
}

static bool scan(struct reconcile *r, unsigned parts, balance_findings_fn on_findings, void *arg,
                 struct balance_report *report, struct error *err)
{
    struct balance_options options = r->options;
    bool ok;

    options.parts &= parts;
    ok = balance_scan(r->db, r->kv, r->run.activity_id, &options, on_findings, arg, report, err);
    print_progress_end();
    return ok;
}

/* ---- mending ---- */

static bool take_reclaimable(void *arg, const struct balance_finding *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (findings[i].kind == FINDING_FORFEITED_RECLAIMABLE)
            keep(arg, &findings[i]);
    }
    return true;
}

static bool seen_again(const struct reconcile_list *again, const struct balance_finding *f)
{
    for (size_t i = 0; i < again->count; i++) {
        const struct balance_finding *a = &again->list[i];

        if (a->shard == f->shard && a->units == f->units && a->seen == f->seen && a->epoch == f->epoch)
            return true;
    }
    return false;
}

/* Units are reclaimed only where two scans agree (balance.h). */
static bool confirm_reclaims(struct reconcile *r, struct error *err)
{
    struct reconcile_list list = {0};
    struct balance_report ignored;
    size_t kept = 0;
    bool ok = true;

    if (r->before.by_kind[FINDING_FORFEITED_RECLAIMABLE].findings > 0)
        ok = scan(r, BALANCE_LIVE | BALANCE_SUMS, take_reclaimable, &list, &ignored, err);
    for (size_t i = 0; i < r->mending.count && ok; i++) {
        const struct balance_finding *f = &r->mending.list[i];

        if (f->kind != FINDING_FORFEITED_RECLAIMABLE || seen_again(&list, f))
            r->mending.list[kept++] = *f;
    }
    if (ok)
        r->mending.count = kept;
    free(list.list);
    return ok;
}

static bool mend(struct reconcile *r, struct error *err)
{
    for (size_t i = 0; i < r->mending.count; i += PAGE) {
        size_t left = r->mending.count - i, count = left < PAGE ? left : PAGE;

        if (!balance_repair(r->db, r->kv, &r->before.activity, &r->mending.list[i], count, &r->outcomes[i], err))
            return false;
        print_progress(r->ctl, "activity %" PRId64 ": %zu of %zu mended", r->run.activity_id, i + count,
                       r->mending.count);
    }
    print_progress_end();
    for (size_t i = 0; i < r->mending.count; i++) {
        bool done = r->outcomes[i].mended == BALANCE_MENDED || r->outcomes[i].mended == BALANCE_MENDED_BEFORE;

        r->repaired += done;
        r->not_repaired += !done;
    }
    FAULT(RECONCILE_AFTER_REPAIR);
    return true;
}

static void pretend(struct reconcile *r)
{
    for (size_t i = 0; i < r->mending.count; i++) {
        r->outcomes[i].mended = BALANCE_MENDED;
        snprintf(r->outcomes[i].text, sizeof r->outcomes[i].text, "%s", finding_mends(r->mending.list[i].kind));
    }
}

static bool repair(struct reconcile *r, struct error *err)
{
    if (r->mode == RECONCILE_LOOK)
        return true;
    if (!confirm_reclaims(r, err))
        return false;
    r->outcomes = check_calloc(r->mending.count + 1, sizeof *r->outcomes);
    if (r->mode == RECONCILE_DRY_RUN) {
        pretend(r);
        return true;
    }
    return mend(r, err) && look_at_queues(r, err) && scan(r, BALANCE_ALL, ignore, NULL, &r->after, err);
}

/* ---- one activity ---- */

static bool log_run(struct reconcile *r, struct error *err)
{
    struct strbuf listed = STRBUF_INIT;
    struct reconcile_result result = {r->verdict, &r->before, r->repaired, r->not_repaired, {0}};
    bool ok;

    strbuf_add_char(&listed, '[');
    for (size_t i = 0; i < r->shown.count && listed.len < LISTED_BYTES; i++) {
        strbuf_add_str(&listed, i ? "," : "");
        balance_finding_json(&r->shown.list[i], &listed);
    }
    strbuf_add_char(&listed, ']');
    result.listed = (struct slice){listed.data, listed.len};
    ok = reconcile_run_end(r->db, &r->run, &result, err);
    strbuf_release(&listed);
    return ok;
}

/* Whatever was mended just now is explained, not clean. */
static enum balance_verdict verdict_of(const struct reconcile *r)
{
    enum balance_verdict before = balance_verdict(&r->before), after;

    if (r->mode != RECONCILE_REPAIR)
        return before;
    after = balance_verdict(&r->after);
    return after == BALANCE_CLEAN && before != BALANCE_CLEAN ? BALANCE_EXPLAINED : after;
}

static bool compare(struct reconcile *r, struct error *err)
{
    if (!reconcile_run_begin(r->db, &r->run, err) || !look_at_queues(r, err) ||
        !scan(r, BALANCE_ALL, take_findings, r, &r->before, err))
        return false;
    if (!r->ctl->json)
        reconcile_print_found(r);
    if (!repair(r, err))
        return false;
    r->verdict = verdict_of(r);
    if (r->ctl->json) {
        reconcile_record(r);
    } else {
        reconcile_print_done(r);
        reconcile_print_verdict(r);
    }
    return log_run(r, err);
}

static bool reconcile_one(struct reconcile *r, int64_t activity_id, struct error *err)
{
    static const enum exitcode codes[] = {EXIT_OK, EXIT_PARTIAL, EXIT_BAD_DATA};
    bool ok;

    r->run.activity_id = activity_id;
    r->run.mode = r->mode;
    r->shown.count = r->mending.count = 0;
    memset(r->shown_of, 0, sizeof r->shown_of);
    r->mendable = r->repaired = r->not_repaired = 0;
    ok = compare(r, err);
    free(r->outcomes);
    r->outcomes = NULL;
    if (ok && codes[r->verdict] > r->ctl->code)
        r->ctl->code = codes[r->verdict];
    return ok;
}

/* ---- which ---- */

struct ids {
    int64_t *list;
    size_t count, room;
};

static void take_activity(void *arg, const struct activity *a)
{
    struct ids *ids = arg;

    if (!a->preheated || a->state == ACTIVITY_REVIEW || a->state == ACTIVITY_SETTLED)
        return;
    if (ids->count == ids->room) {
        ids->room = ids->room ? ids->room * 2 : 16;
        ids->list = check_realloc(ids->list, ids->room * sizeof *ids->list);
    }
    ids->list[ids->count++] = a->id;
}

static bool reconcile_all(struct reconcile *r, struct error *err)
{
    struct ids ids = {0};
    bool ok = activity_read(r->db, NULL, 0, take_activity, &ids, err);

    for (size_t i = 0; i < ids.count && ok; i++)
        ok = reconcile_one(r, ids.list[i], err);
    if (ok && ids.count == 0)
        print_note(r->ctl, "no activity is between preheat and settlement; --activity names any other");
    free(ids.list);
    return ok;
}

/* --in-flight: shorter, to look closer, or longer, where the web tier is slow. */
static struct balance_window window(const struct ctl *ctl)
{
    const struct ctl_value *v = &ctl->values[CTL_OPTION_reconcile_in_flight];
    struct balance_window w = balance_window_of(ctl->conf);

    if (v->set)
        w.in_flight_ms = v->number;
    return w;
}

static void prepare(struct reconcile *r)
{
    const struct ctl_value *v = r->ctl->values;
    int64_t limit = v[CTL_OPTION_reconcile_limit].number;

    r->limit = limit ? (size_t)limit : SIZE_MAX;
    r->max = (size_t)v[CTL_OPTION_reconcile_max].number;
    r->options = (struct balance_options){
        .parts = v[CTL_OPTION_reconcile_quick].set ? BALANCE_ALL & ~(unsigned)BALANCE_DONE : BALANCE_ALL,
        .window = window(r->ctl),
        .page = PAGE,
        .pause_ms = v[CTL_OPTION_reconcile_pause].number,
        .progress = progress,
        .arg = r,
    };
    r->run.in_flight_ms = r->options.window.in_flight_ms;
}

static bool run(struct reconcile *r, struct error *err)
{
    const struct ctl_value *activity = &r->ctl->values[CTL_OPTION_reconcile_activity];

    r->db = ctl_open_schema(r->ctl, err);
    r->kv = r->db ? ctl_open_kv(r->ctl, err) : NULL;
    if (!r->kv)
        return false;
    prepare(r);
    return activity->set ? reconcile_one(r, activity->number, err) : reconcile_all(r, err);
}

bool ctl_reconcile(struct ctl *ctl, struct error *err)
{
    const struct ctl_value *v = ctl->values;
    struct reconcile r = {.ctl = ctl};
    char name[CTL_WHO_MAX];
    bool ok;

    if (v[CTL_OPTION_reconcile_dry_run].set && !v[CTL_OPTION_reconcile_repair].set)
        return ctl_misuse(ctl, err, "--dry-run is for --repair; without both, nothing is changed anyway");
    r.mode = !v[CTL_OPTION_reconcile_repair].set   ? RECONCILE_LOOK
             : v[CTL_OPTION_reconcile_dry_run].set ? RECONCILE_DRY_RUN
                                                   : RECONCILE_REPAIR;
    r.run.who = ctl_who(name);
    ok = run(&r, err);
    if (!ok && error_class_of(err) == ERROR_CLASS_OUTAGE && r.mode == RECONCILE_REPAIR)
        ctl_advise(ctl, "run the same command again: what was mended stays so, and is not mended twice");
    free(r.shown.list);
    free(r.mending.list);
    kv_close(&r.kv);
    db_close(&r.db);
    return ok;
}
