/* The equation (DESIGN invariant 5) in sums: of MySQL at one instant, of all shards, and of both together. */
#include "balance_private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "orderd/check.h"

static void add_up(struct scan *scan, const struct stock_audit *audits)
{
    struct balance_sums *sums = &scan->report->sums;

    sums->cap = sums->left = sums->held = sums->sold = sums->forfeited = sums->transfer = 0;
    for (int i = 0; i < scan->report->activity.shards; i++) {
        sums->cap += audits[i].cap;
        sums->left += audits[i].left;
        sums->transfer += audits[i].out;
        sums->held += audits[i].held;
        sums->sold += audits[i].sold;
        sums->forfeited += audits[i].forfeited;
    }
}

static bool all_present(const struct scan *scan, const struct stock_audit *audits)
{
    for (int i = 0; i < scan->report->activity.shards; i++) {
        if (audits[i].code != STOCK_AUDIT_PRESENT)
            return false;
    }
    return true;
}

static int64_t cap_off(const struct scan *scan, const struct row_sums *rows)
{
    const struct balance_sums *sums = &scan->report->sums;

    return sums->cap + sums->transfer - rows->total_stock;
}

bool sums_begin(struct scan *scan, struct sums_before *before, struct error *err)
{
    add_up(scan, scan->audits);
    if (!(scan->options->parts & BALANCE_SUMS))
        return true;
    if (!rows_sums(scan, &before->rows, err))
        return false;
    before->cap_off = cap_off(scan, &before->rows);
    before->transfer = scan->report->sums.transfer;
    return true;
}

/* ---- MySQL ---- */

static void check_rows(struct scan *scan, const struct row_sums *before, const struct row_sums *now)
{
    int64_t off = now->available + now->live - now->total;

    if (!now->has_stock) {
        report_shard(scan, FINDING_STOCK_ROW_MISSING, -1, 0, 0, "%" PRId64 " live orders", now->live_orders);
        return;
    }
    /* Seen twice: a restock may be under way between the two tables. */
    if (now->total != now->total_stock && before->total != before->total_stock)
        report_shard(scan, FINDING_STOCK_TOTAL_DIFFERS, -1, now->total - now->total_stock, now->total,
                     "activity.total_stock %" PRId64 ", activity_stock.total %" PRId64, now->total_stock, now->total);
    if (now->live > now->total)
        report_shard(scan, FINDING_OVERSOLD, -1, now->live - now->total, now->total, "total %" PRId64 ", live %" PRId64,
                     now->total, now->live);
    if (off != 0)
        report_shard(scan, FINDING_DB_UNBALANCED, -1, off, now->available,
                     "total %" PRId64 ", available %" PRId64 " + live %" PRId64 ": %" PRId64 " %s", now->total,
                     now->available, now->live, off < 0 ? -off : off, off < 0 ? "lost" : "too many");
}

/* ---- Redis ---- */

static void check_cap(struct scan *scan, int64_t before, const struct row_sums *now)
{
    int64_t off = cap_off(scan, now);

    /* Seen twice, as above. */
    if (off != 0 && before == off)
        report_shard(scan, FINDING_CAP_TOTAL, -1, off, scan->report->sums.cap,
                     "caps %" PRId64 " + in transfer %" PRId64 ", total stock %" PRId64, scan->report->sums.cap,
                     scan->report->sums.transfer, now->total_stock);
}

/* The caps then add up, whatever was lost or made on the way. Seen twice, and nobody moved anything in between. */
static void check_transfer(struct scan *scan, const struct sums_before *before, const struct row_sums *now)
{
    int64_t transfer = scan->report->sums.transfer;

    if (transfer != 0 && transfer == before->transfer && before->rows.planned == 0 && now->planned == 0 &&
        before->rows.transfers == now->transfers)
        report_shard(scan, FINDING_TRANSFER_UNKNOWN, -1, transfer, transfer, "%" PRId64 " units %s",
                     transfer < 0 ? -transfer : transfer, transfer < 0 ? "came that never left" : "never came");
}

/* ---- both ---- */

static bool walked(const struct scan *scan, unsigned parts)
{
    return (scan->options->parts & parts) == parts && !scan->ended;
}

/* available - left - held without a live order, written with sums that ordinary traffic does not change: available +
 * live of MySQL at one instant, and left + held + sold of each shard at one. What of it is forfeited can be sold. */
static void check_forfeited(struct scan *scan, const struct stock_audit *audits, const struct row_sums *now)
{
    const struct balance_sums *sums = &scan->report->sums;
    int64_t had =
        now->available + now->live - sums->live_unknown - sums->left - sums->transfer - sums->held - sums->sold;

    for (int i = 0; i < scan->report->activity.shards && had > 0; i++) {
        int64_t units = audits[i].forfeited < had ? audits[i].forfeited : had;

        if (units <= 0)
            continue;
        had -= units;
        report_shard(scan, FINDING_FORFEITED_RECLAIMABLE, i, units, audits[i].forfeited,
                     "%" PRId64 " of %" PRId64 " forfeited units", units, audits[i].forfeited);
    }
}

/* One shard that lost or won a unit by foreign hands would make another's forfeited units look like MySQL's. */
static bool sound(const struct scan *scan, const struct stock_audit *audits)
{
    bool sound = all_present(scan, audits);

    for (int i = 0; i < scan->report->activity.shards && sound; i++)
        sound = stock_audit_balances(&audits[i]) && audits[i].epoch == scan->report->activity.epoch;
    return sound;
}

static bool quiet(const struct scan *scan, const struct stock_audit *audits, const struct row_sums *a,
                  const struct row_sums *b)
{
    bool quiet = !scan->units_unknown && a->total == b->total && a->available == b->available && a->live == b->live &&
                 a->live_orders == b->live_orders;

    for (int i = 0; i < scan->report->activity.shards && quiet; i++)
        quiet = shard_quiet(&scan->audits[i], &audits[i]);
    return quiet;
}

static void check_equation(struct scan *scan, const struct row_sums *now)
{
    struct balance_sums *sums = &scan->report->sums;

    sums->quiet = true;
    sums->unexplained = sums->held + sums->sold - now->live - (sums->held_without_live - sums->live_unknown);
    if (sums->unexplained != 0)
        report_shard(scan, FINDING_UNEXPLAINED, -1, sums->unexplained, 0,
                     "held %" PRId64 " + sold %" PRId64 " - live %" PRId64
                     ", but by orders: held without a live one %" PRId64 " - live unknown %" PRId64,
                     sums->held, sums->sold, now->live, sums->held_without_live, sums->live_unknown);
}

static void check_all(struct scan *scan, const struct sums_before *before, const struct stock_audit *audits,
                      const struct row_sums *now)
{
    check_rows(scan, &before->rows, now);
    if (!scan->expects || !all_present(scan, audits))
        return;
    check_cap(scan, before->cap_off, now);
    check_transfer(scan, before, now);
    if (!scan->report->activity.reservations)
        return;
    if (walked(scan, BALANCE_LIVE) && sound(scan, audits) && now->has_stock)
        check_forfeited(scan, audits, now);
    if (walked(scan, BALANCE_LIVE | BALANCE_LEDGER) && quiet(scan, audits, &before->rows, now))
        check_equation(scan, now);
}

bool sums_end(struct scan *scan, const struct sums_before *before, struct error *err)
{
    size_t shards = (size_t)scan->report->activity.shards;
    struct stock_audit *audits = check_calloc(shards, sizeof *audits);
    bool *readable = check_calloc(shards, sizeof *readable);
    struct row_sums now;
    bool ok = true;

    if (scan->options->parts & BALANCE_SUMS) {
        ok = rows_sums(scan, &now, err) && (!scan->expects || shards_read(scan, audits, readable, err));
        if (ok) {
            add_up(scan, audits);
            scan->report->sums.total = now.total;
            scan->report->sums.available = now.available;
            scan->report->sums.live = now.live;
            check_all(scan, before, audits, &now);
            report_flush(scan);
        }
    }
    free(readable);
    free(audits);
    return ok;
}
