#include "orderd/balance.h"

#include <inttypes.h>
#include <stdlib.h>

#include "balance_private.h"
#include "orderd/activity_store.h"
#include "orderd/check.h"
#include "orderd/clock.h"

/* ---- what the pages add up to ---- */

/* Units held without a live order, and units of live orders that Redis does not know: the two terms of the equation
 * that only a comparison by order can tell. */
static void add_units(struct scan *scan, const struct subject *s, bool ledger)
{
    struct balance_sums *sums = &scan->report->sums;
    bool live = s->row.exists && order_status_live(s->row.status);

    if (s->ignored)
        return;
    if (ledger && s->seen.held)
        sums->held_without_live += live ? s->seen.quantity - s->row.order.quantity : s->seen.quantity;
    else if (!ledger && live && !s->seen.held && s->seen.gone != STOCK_GONE_SOLD)
        sums->live_unknown += s->row.order.quantity;
}

/* Of what is held, the walk over the ledger tells all but what it does not see: the marks, and that a pending order,
 * which it takes for good, is among the gone ones too. */
static bool told_by_ledger(const struct subject *s)
{
    bool unseen = s->kind == FINDING_LEDGER_DAMAGED && s->seen.held_valid && s->row.status == ORDER_PENDING;

    return s->seen.held && !unseen && s->kind != FINDING_MARK_MISSING && s->kind != FINDING_MARK_TAKEN;
}

static void report_page(struct scan *scan, bool ledger)
{
    for (size_t i = 0; i < scan->page.count; i++) {
        const struct subject *s = &scan->page.list[i];

        add_units(scan, s, ledger);
        if (ledger || !told_by_ledger(s))
            report_subject(scan, s);
    }
}

/* ---- the hashes of a shard ---- */

struct hash_walk {
    struct scan *scan;
    int shard;
    int64_t units, orders; /* of all pages */
    bool damaged;          /* an entry does not say how many units it has */
};

static void report_foreign(struct scan *scan, int shard, const char *hash, struct slice order_no)
{
    struct strbuf shown = STRBUF_INIT;

    strbuf_add_utf8(&shown, (struct slice){order_no.ptr, order_no.len < 60 ? order_no.len : 60});
    report_shard(scan, FINDING_LEDGER_DAMAGED, shard, 0, 0, "hash %s: \"%s\" is no order number of ours", hash,
                 shown.data ? shown.data : "");
    strbuf_release(&shown);
}

static void take_held(const struct stock_entry *e, void *data)
{
    struct hash_walk *w = data;
    struct subject *s = page_add(&w->scan->page, e->order_no);

    if (!s && order_no_valid(e->order_no))
        return; /* shown twice */
    w->units += e->quantity;
    w->orders++;
    w->damaged = w->damaged || !s || !e->valid;
    w->scan->units_unknown = w->scan->units_unknown || w->damaged;
    if (!s) {
        report_foreign(w->scan, w->shard, "held", e->order_no);
        return;
    }
    s->shard = w->shard;
    s->seen = (struct stock_seen){
        .held = true,
        .held_valid = e->valid,
        .user = e->user,
        .user_seq = e->user_seq,
        .quantity = e->quantity,
        .amount = e->amount,
        .epoch = e->epoch,
        .reserved_at = e->reserved_at,
        .gone_valid = true,
    };
}

/* What is sold, and what is no word of ours; the rest is looked at from the side of MySQL. */
static void take_gone(const struct stock_entry *e, void *data)
{
    struct hash_walk *w = data;
    struct subject *s;

    w->orders++;
    if (e->valid && e->gone != STOCK_GONE_SOLD)
        return;
    s = page_add(&w->scan->page, e->order_no);
    if (!s) {
        if (!order_no_valid(e->order_no))
            report_foreign(w->scan, w->shard, "gone", e->order_no);
        return;
    }
    s->shard = w->shard;
    s->seen = (struct stock_seen){.gone = e->gone, .gone_valid = e->valid};
}

/* The sum of the ledger can be compared with its counter only where nobody changed the shard meanwhile, and every order
 * was shown once. */
static bool check_counter(struct scan *scan, const struct hash_walk *w, const struct stock_audit *before,
                          struct error *err)
{
    struct stock_audit after;

    if (!stock_audit(scan->kv, scan->report->activity.id, w->shard, &after, err))
        return false;
    if (!w->damaged && shard_quiet(before, &after) && w->orders == after.held_orders && w->units != after.held)
        report_shard(scan, FINDING_HELD_COUNTER_WRONG, w->shard, after.held - w->units, after.held,
                     "counter %" PRId64 ", reservations %" PRId64 " units in %" PRId64 " orders", after.held, w->units,
                     w->orders);
    return true;
}

static bool walk_held(struct scan *scan, int shard, struct error *err)
{
    struct stock_walk walk = {scan->report->activity.id, shard, STOCK_KEY_HELD, scan->options->page, 0};
    struct stock_cursor cursor = {.at = "0"};
    struct hash_walk w = {.scan = scan, .shard = shard};
    struct stock_audit before;

    if (!stock_audit(scan->kv, walk.activity, shard, &before, err))
        return false;
    while (!cursor.end) {
        page_begin(&scan->page);
        if (!stock_walk_page(scan->kv, &walk, &cursor, take_held, &w, err) || !rows_read(scan, false, err) ||
            !compare_settle(scan, false, err))
            return false;
        scan->report->held_orders += (int64_t)scan->page.count;
        report_page(scan, true);
        if (!report_next(scan))
            return true;
    }
    return check_counter(scan, &w, &before, err);
}

/* Only what MySQL has no row of: the others were met among the live, or the closed and rejected. */
static void report_sold_without_row(struct scan *scan)
{
    for (size_t i = 0; i < scan->page.count; i++) {
        const struct subject *s = &scan->page.list[i];

        if (s->row.exists)
            continue;
        scan->units_unknown = scan->units_unknown || s->kind != FINDING_NONE;
        report_subject(scan, s);
    }
}

static bool each_shard(struct scan *scan, bool (*walk)(struct scan *, int, struct error *), struct error *err)
{
    for (int i = 0; i < scan->report->activity.shards && !scan->ended; i++) {
        if (scan->readable[i] && !walk(scan, i, err))
            return false;
    }
    return true;
}

/* ---- the rows ---- */

/* Orders of a shard that cannot be read were reported with it. */
static void drop_unreadable(struct scan *scan)
{
    for (size_t i = 0; i < scan->page.count; i++) {
        struct subject *s = &scan->page.list[i];

        if (s->shard < scan->report->activity.shards && !scan->readable[s->shard])
            s->ignored = true;
    }
}

static bool walk_live(struct scan *scan, struct error *err)
{
    struct row_cursor cursor = {0};

    while (!cursor.end && !scan->ended) {
        if (!rows_live(scan, &cursor, err))
            return false;
        drop_unreadable(scan);
        if (!compare_look(scan, false, err) || !compare_settle(scan, true, err))
            return false;
        scan->report->live_orders += (int64_t)scan->page.count;
        report_page(scan, false);
        (void)report_next(scan);
    }
    return true;
}

/* The reservations of closed and rejected orders were met in the ledger. */
static void report_done(struct scan *scan)
{
    for (size_t i = 0; i < scan->page.count; i++) {
        if (!scan->page.list[i].seen.held)
            report_subject(scan, &scan->page.list[i]);
    }
}

/* ---- what is over ---- */

struct history {
    struct balance_history *to; /* all up to there was compared, and what was found is mended */
    int64_t until;              /* monotonic ms */
};

static bool goes_on(const struct scan *scan, const struct history *h)
{
    return !scan->ended && clock_mono_ms() < h->until;
}

static bool walk_rows(struct scan *scan, struct history *h, struct error *err)
{
    struct order_done *rows = &h->to->rows;
    struct order_done next = *rows;

    next.activity_id = scan->report->activity.id;
    while (!rows->end && goes_on(scan, h)) {
        if (!rows_done(scan, &next, err))
            return false;
        drop_unreadable(scan);
        if (!compare_look(scan, false, err) || !compare_settle(scan, true, err))
            return false;
        scan->report->done_orders += (int64_t)scan->page.count;
        report_done(scan);
        if (report_next(scan))
            *rows = next;
    }
    return true;
}

static bool walk_gone(struct scan *scan, struct history *h, struct error *err)
{
    struct balance_history *to = h->to;
    struct stock_walk walk = {scan->report->activity.id, to->shard, STOCK_KEY_GONE, scan->options->page, 0};
    struct hash_walk w = {.scan = scan, .shard = to->shard};
    struct stock_cursor cursor = to->at;

    if (cursor.at[0] == '\0')
        cursor.at[0] = '0';
    while (!cursor.end && goes_on(scan, h)) {
        page_begin(&scan->page);
        if (!stock_walk_page(scan->kv, &walk, &cursor, take_gone, &w, err) || !rows_read(scan, false, err) ||
            !compare_settle(scan, false, err))
            return false;
        report_sold_without_row(scan);
        if (report_next(scan))
            to->at = cursor;
    }
    return true;
}

static bool walk_shards(struct scan *scan, struct history *h, struct error *err)
{
    struct balance_history *to = h->to;

    while (to->shard < scan->report->activity.shards && goes_on(scan, h)) {
        if (scan->readable[to->shard] && !walk_gone(scan, h, err))
            return false;
        if (scan->readable[to->shard] && !to->at.end)
            return true;
        to->shard++;
        to->at = (struct stock_cursor){0};
    }
    return true;
}

static bool walk_done(struct scan *scan, struct error *err)
{
    struct balance_history all = {0};
    int64_t began = clock_mono_ms();
    struct history h = {&all, INT64_MAX};
    bool ok;

    if (scan->options->history)
        h = (struct history){scan->options->history, began + scan->options->history_ms};
    ok = walk_rows(scan, &h, err) && (!h.to->rows.end || walk_shards(scan, &h, err));
    if (ok && h.to->rows.end && h.to->shard >= scan->report->activity.shards)
        *h.to = (struct balance_history){0};
    scan->report->done_ms = clock_mono_ms() - began;
    return ok;
}

/* ---- all of it ---- */

/* Its keys ought to be in Redis: from preheat until they are removed by the settlement. */
static bool expects_shards(const struct activity *a)
{
    return a->preheated && a->state != ACTIVITY_REVIEW && a->state != ACTIVITY_SETTLED;
}

static bool begin(struct scan *scan, int64_t activity_id, struct error *err)
{
    struct balance_report *r = scan->report;
    size_t shards;

    if (!activity_store_get(scan->db, activity_id, &r->activity, err) || !activity_store_now(scan->db, &r->db_now, err))
        return false;
    shards = (size_t)r->activity.shards;
    scan->audits = check_calloc(shards, sizeof *scan->audits);
    scan->readable = check_calloc(shards, sizeof *scan->readable);
    scan->expects = expects_shards(&r->activity);
    if (scan->expects && (!shards_read(scan, scan->audits, scan->readable, err) || !shards_check(scan, err)))
        return false;
    r->redis_now = scan->redis_now;
    return true;
}

static bool run(struct scan *scan, int64_t activity_id, struct error *err)
{
    unsigned parts = scan->options->parts;
    struct sums_before before = {0};
    bool ledger;

    if (!begin(scan, activity_id, err) || !sums_begin(scan, &before, err))
        return false;
    ledger = scan->expects && scan->report->activity.reservations;
    report_flush(scan);
    if (ledger && parts & BALANCE_LEDGER && !each_shard(scan, walk_held, err))
        return false;
    if (ledger && parts & BALANCE_LIVE && !walk_live(scan, err))
        return false;
    if (scan->expects && parts & BALANCE_DONE && !walk_done(scan, err))
        return false;
    return scan->ended || sums_end(scan, &before, err);
}

bool balance_scan(struct db *db, struct kv *kv, int64_t activity_id, const struct balance_options *options,
                  balance_findings_fn on_findings, void *arg, struct balance_report *report, struct error *err)
{
    struct scan scan = {
        .db = db, .kv = kv, .options = options, .on_findings = on_findings, .arg = arg, .report = report};
    int64_t began = clock_mono_ms();
    bool ok;

    CHECK(options->page >= 1 && options->page <= BALANCE_REPAIR_MAX);
    CHECK(options->window.in_flight_ms > 0);
    *report = (struct balance_report){0};
    ok = run(&scan, activity_id, err);
    report->complete = ok && !scan.ended;
    report->took_ms = clock_mono_ms() - began;
    page_release(&scan.page);
    strbuf_release(&scan.sql);
    free(scan.found);
    free(scan.readable);
    free(scan.audits);
    return ok;
}
