#include "verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

/* Between two looks at what looks wrong, and how many must agree on it. */
#define LOOK_MS    300
#define SAME_LOOKS 3

static void forget(struct verify *v)
{
    free(v->marks);
    *v = (struct verify){.conf = v->conf,
                         .recovered = v->recovered,
                         .may_reject = v->may_reject,
                         .activity = {.id = v->book->activity},
                         .book = v->book,
                         .report = v->report};
    book_forget_seen(v->book);
    memset(v->report->checks, 0, sizeof v->report->checks);
}

/* Redis has something to say where anything was ever taken from it, or the activity was put on sale; no more when its
 * books are closed, since its keys are removed then. */
static bool has_stock(const struct verify *v)
{
    if (v->activity.state == ACTIVITY_SETTLED)
        return false;
    return v->activity.preheated || v->book->accepted[BOOK_RESERVED] > 0 || v->book->accepted[BOOK_SILENT] > 0;
}

static bool read_all(struct verify *v, struct error *err)
{
    forget(v);
    return verify_read_rows(v, err) && (!has_stock(v) || verify_read_stock(v, err));
}

static bool read_patiently(struct verify *v, int64_t wait_ms, struct error *err)
{
    int64_t until = clock_mono_ms() + wait_ms;

    while (!read_all(v, err)) {
        if (error_class_of(err) != ERROR_CLASS_OUTAGE || clock_mono_ms() >= until)
            return false;
        clock_sleep_ms(500);
    }
    return true;
}

/* One accepted order against what was seen of it. */
struct tally {
    int64_t lost, rejected, unheld, unsettled, bad_marks;
};

static void judge_row(struct verify *v, uint32_t index, struct tally *t)
{
    const struct book_entry *e = &v->book->entries[index];
    const char *order_no = idset_text(&v->book->ids, index);

    if (e->how == BOOK_REPLAYED && !(e->seen & (BOOK_ROW | BOOK_HELD)))
        return; /* of an earlier look */
    if (!(e->seen & BOOK_ROW) && (e->how != BOOK_SILENT || v->recovered)) {
        t->lost++;
        report_example(v->report, REPORT_LOST, "%s of user %" PRId64, order_no, e->user);
    }
    if (e->seen & BOOK_REJECTED && e->how != BOOK_REPLAYED && !(e->seen & BOOK_REPLACED)) {
        t->rejected++;
        report_example(v->report, REPORT_REJECTED, "%s of user %" PRId64, order_no, e->user);
    }
}

static void judge_reservation(struct verify *v, uint32_t index, struct tally *t)
{
    const struct book_entry *e = &v->book->entries[index];
    const char *order_no = idset_text(&v->book->ids, index);
    bool pending = !(e->seen & BOOK_ROW) || ((e->seen & BOOK_LIVE) && !(e->seen & BOOK_PAID));
    bool known = e->seen & BOOK_HELD || (e->seen & BOOK_PAID && e->seen & BOOK_SOLD);

    if (e->how == BOOK_REPLAYED && !(e->seen & (BOOK_ROW | BOOK_HELD)))
        return;
    if ((pending || e->seen & BOOK_PAID) && !known) {
        t->unheld++;
        report_example(v->report, REPORT_UNHELD, "%s of user %" PRId64 ", shard %u%s", order_no, e->user, e->shard,
                       e->seen & BOOK_GONE ? ": Redis calls it done with" : "");
    }
    if (!pending && (e->seen & BOOK_HELD || (e->seen & BOOK_SOLD && !(e->seen & BOOK_PAID)))) {
        t->unsettled++;
        report_example(v->report, REPORT_UNSETTLED, "%s of user %" PRId64 ", %s%s", order_no, e->user,
                       e->seen & BOOK_PAID ? "paid" : "closed or rejected", e->seen & BOOK_HELD ? "" : ", but sold");
    }
    if (e->seen & (BOOK_HELD | BOOK_SOLD) && !(e->seen & BOOK_MARK)) {
        t->bad_marks++;
        report_example(v->report, REPORT_MARKS, "%s: mark %" PRId64 ":%u is missing", order_no, e->user, e->user_seq);
    }
}

/* available = left + held without a live order + forfeited - live units that Redis does not know (DESIGN invariant 5).
 */
static int64_t accounted(const struct verify *v)
{
    int64_t units = v->left + v->forfeited;

    for (size_t i = 0; i < v->book->ids.count; i++) {
        const struct book_entry *e = &v->book->entries[i];

        if (e->seen & BOOK_HELD && !(e->seen & BOOK_LIVE))
            units += e->held_quantity;
        if (e->seen & BOOK_LIVE && !(e->seen & (BOOK_HELD | BOOK_SOLD)))
            units -= e->row_quantity;
    }
    return units;
}

static void none(struct verify *v, enum report_check_kind kind, int64_t found)
{
    report_check(v->report, kind, REPORT_EQUAL, 0, found);
}

static void conclude_rows(struct verify *v, const struct tally *t)
{
    none(v, REPORT_LOST, t->lost);
    none(v, REPORT_EXTRA, v->extra);
    none(v, REPORT_DOUBLED, v->doubled);
    none(v, REPORT_WRONG, v->wrong);
    report_check(v->report, REPORT_REJECTED, REPORT_AT_MOST, v->may_reject, t->rejected);
    report_check(v->report, REPORT_OVERSOLD, REPORT_AT_MOST, v->activity.total_stock, v->live_units);
    report_example(v->report, REPORT_DB_STOCK,
                   "total %" PRId64 " (activity: %" PRId64 "), available %" PRId64 " + live %" PRId64, v->stock_total,
                   v->activity.total_stock, v->activity.available, v->live_units);
    report_check(v->report, REPORT_DB_STOCK, REPORT_EQUAL, v->activity.total_stock,
                 v->stock_total == v->activity.total_stock ? v->activity.available + v->live_units : v->stock_total);
}

static void conclude_stock(struct verify *v, const struct tally *t)
{
    int64_t available = accounted(v);

    none(v, REPORT_SHARDS, v->unbalanced);
    report_check(v->report, REPORT_CAPS, REPORT_EQUAL, v->activity.total_stock, v->caps);
    none(v, REPORT_LEDGER, v->ledger);
    none(v, REPORT_UNHELD, t->unheld);
    none(v, REPORT_STRAY, v->stray);
    none(v, REPORT_UNSETTLED, t->unsettled);
    none(v, REPORT_HELD_WRONG, v->held_wrong);
    none(v, REPORT_MARKS, v->bad_marks + t->bad_marks);
    report_example(v->report, REPORT_ACROSS,
                   "MySQL has %" PRId64 " units available; Redis has %" PRId64 " left, and accounts for %" PRId64,
                   v->activity.available, v->left, available);
    report_check(v->report, REPORT_ACROSS, REPORT_EQUAL, available, v->activity.available);
}

static void skip_stock(struct verify *v)
{
    for (int kind = REPORT_SHARDS; kind <= REPORT_ACROSS; kind++)
        report_skip(v->report, (enum report_check_kind)kind,
                    v->activity.state == ACTIVITY_SETTLED ? "settled, its keys are removed" : "not on sale in Redis");
}

static void judge(struct verify *v)
{
    struct tally t = {0};
    bool stock = has_stock(v);

    for (uint32_t i = 0; i < v->book->ids.count; i++) {
        enum book_how how = (enum book_how)v->book->entries[i].how;

        if (how != BOOK_NOT_ACCEPTED)
            judge_row(v, i, &t);
        if (stock && (how == BOOK_RESERVED || how == BOOK_SILENT || how == BOOK_REPLAYED))
            judge_reservation(v, i, &t);
    }
    conclude_rows(v, &t);
    if (stock)
        conclude_stock(v, &t);
    else
        skip_stock(v);
}

static void add_facts(struct verify *v)
{
    int64_t recovered = 0;

    for (size_t i = 0; i < v->book->ids.count; i++) {
        const struct book_entry *e = &v->book->entries[i];

        recovered += e->how == BOOK_SILENT && e->seen & BOOK_ROW;
    }
    report_fact(v->report, "rows", "rows in the database", v->rows);
    if (v->rows > v->live_rows)
        report_fact(v->report, "ended", "  of them ended, their units came back", v->rows - v->live_rows);
    report_fact(v->report, "live_units", "units in live orders", v->live_units);
    report_fact(v->report, "total_stock", "units the activity has", v->activity.total_stock);
    report_fact(v->report, "available", "units available in the database", v->activity.available);
    if (has_stock(v)) {
        report_fact(v->report, "left", "units left in Redis", v->left);
        report_fact(v->report, "reservations", "reservations in Redis", v->reservations);
    }
    if (v->book->accepted[BOOK_SILENT] > 0) {
        report_fact(v->report, "silent", "accepted, on purpose never published",
                    (int64_t)v->book->accepted[BOOK_SILENT]);
        report_fact(v->report, "recovered", "  of these, found and recovered", recovered);
    }
}

/* Whether this look found what the last one did. */
static bool same_again(const struct report *now, struct report *last)
{
    bool same = memcmp(now->checks, last->checks, sizeof now->checks) == 0;

    memcpy(last->checks, now->checks, sizeof now->checks);
    return same;
}

bool verify(const struct conf *conf, struct book *book, struct report *report, const struct load_options *options,
            struct error *err)
{
    struct verify v = {
        .conf = conf, .recovered = options->recovered, .may_reject = options->rejected, .book = book, .report = report};
    int64_t until = clock_mono_ms() + options->wait_ms + options->settle_ms;
    struct report *last = check_calloc(1, sizeof *last);
    int same = 0;
    bool ok;

    while ((ok = read_patiently(&v, options->wait_ms, err))) {
        judge(&v);
        same = same_again(report, last) ? same + 1 : 1;
        if (report_good(report) || same == SAME_LOOKS || clock_mono_ms() >= until)
            break;
        clock_sleep_ms(LOOK_MS);
    }
    if (ok)
        add_facts(&v);
    free(last);
    free(v.marks);
    return ok;
}
