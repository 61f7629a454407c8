/* Mending. Whatever a scan said may be old by now: orders are read again first, and each step then is one script, one
 * statement or one transaction that is right whatever happens beside it. So a crash leaves some findings mended and the
 * others as they were, and the next scan finds those. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/check.h"
#include "repair_private.h"

void repair_says(struct repair *r, size_t finding, enum balance_mended mended, const char *fmt, ...)
{
    struct balance_outcome *out = &r->outcomes[finding];
    va_list ap;

    out->mended = mended;
    va_start(ap, fmt);
    vsnprintf(out->text, sizeof out->text, fmt, ap);
    va_end(ap);
}

struct subject *repair_subject(const struct repair *r, size_t i)
{
    return page_find(&r->scan->page, slice_of(r->findings[r->picked[i]].order.order_no));
}

struct step {
    enum finding_kind kind;
    bool (*run)(struct repair *r);
    /* Of an order as it stands now: whether this is still to be done. NULL: the step sees for itself. */
    bool (*still)(const struct repair *r, const struct balance_finding *f, const struct subject *s);
};

static bool needs_return(const struct repair *r, const struct balance_finding *f, const struct subject *s)
{
    (void)r;
    (void)f;
    return s->row.exists && !order_status_live(s->row.status);
}

static bool needs_settlement(const struct repair *r, const struct balance_finding *f, const struct subject *s)
{
    (void)r;
    (void)f;
    return s->row.exists && s->row.status == ORDER_PAID;
}

static bool needs_adoption(const struct repair *r, const struct balance_finding *f, const struct subject *s)
{
    bool mark = f->kind == FINDING_MARK_MISSING && s->row.status == ORDER_CLOSED && !r->activity->rebuy_after_release;

    return s->row.exists && (order_status_live(s->row.status) || mark);
}

/* The row may have come, and without a reservation no message may go out: it would make an order of nothing. */
static bool needs_message(const struct repair *r, const struct balance_finding *f, const struct subject *s)
{
    (void)r;
    return !s->row.exists && s->seen.held && s->seen.held_valid && s->message == BALANCE_MESSAGE_NONE &&
           s->recoveries == f->recoveries;
}

static const struct step steps[] = {
    {FINDING_RETURN_DUE, repair_returns, needs_return},
    {FINDING_RETURN_FORGOTTEN, repair_returns, needs_return},
    {FINDING_SETTLE_DUE, repair_settlements, needs_settlement},
    {FINDING_UNKNOWN_RESERVATION, repair_adoptions, needs_adoption},
    {FINDING_MARK_MISSING, repair_adoptions, needs_adoption},
    {FINDING_LOST_MESSAGE, repair_messages, needs_message},
    {FINDING_KEYS_WITHOUT_TTL, repair_lives, NULL},
    {FINDING_TTL_TOO_SHORT, repair_lives, NULL},
    {FINDING_FORFEITED_RECLAIMABLE, repair_reclaims, NULL},
    {FINDING_DB_UNBALANCED, repair_stock_row, NULL},
};

static void pick(struct repair *r, const struct step *step)
{
    r->picked_count = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct balance_finding *f = &r->findings[i];
        const struct subject *s = page_find(&r->scan->page, slice_of(f->order.order_no));

        if (f->kind != step->kind)
            continue;
        if (!step->still || (s && step->still(r, f, s)))
            r->picked[r->picked_count++] = i;
        else
            repair_says(r, i, BALANCE_MENDED_BEFORE, "it is not so any more");
    }
}

static bool run_steps(struct repair *r)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        pick(r, &steps[i]);
        if (r->picked_count > 0 && !steps[i].run(r))
            return false;
    }
    return true;
}

/* MySQL first, then Redis: a reservation is seen by a row that came meanwhile, never the other way. */
static bool read_again(struct scan *scan, const struct balance_finding *findings, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct subject *s = page_add(&scan->page, slice_of(findings[i].order.order_no));

        if (s)
            s->shard = findings[i].shard;
    }
    return rows_read(scan, false, err) && compare_look(scan, false, err);
}

bool balance_repair(struct db *db, struct kv *kv, const struct activity *activity,
                    const struct balance_finding *findings, size_t count, struct balance_outcome *outcomes,
                    struct error *err)
{
    struct balance_report report = {.activity = *activity};
    const struct balance_options options = {0};
    struct scan scan = {.db = db, .kv = kv, .options = &options, .report = &report};
    struct repair r = {db, kv, activity, findings, outcomes, count, &scan, NULL, 0, err};
    bool ok;

    CHECK(count >= 1 && count <= BALANCE_REPAIR_MAX);
    r.picked = check_calloc(count, sizeof *r.picked);
    for (size_t i = 0; i < count; i++) {
        CHECK(findings[i].activity_id == activity->id);
        outcomes[i].mended = BALANCE_MENDED_OTHER;
        snprintf(outcomes[i].text, sizeof outcomes[i].text, "%s", finding_mends(findings[i].kind));
    }
    ok = read_again(&scan, findings, count, err) && run_steps(&r);
    free(r.picked);
    page_release(&scan.page);
    strbuf_release(&scan.sql);
    return ok;
}
