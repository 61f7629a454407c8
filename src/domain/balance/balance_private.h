/* Inside of the balance module: one scan, and the page of orders that it compares. */
#ifndef ORDERD_BALANCE_PRIVATE_H
#define ORDERD_BALANCE_PRIVATE_H

#include <uthash.h>
#include "orderd/balance.h"

/* What MySQL has of one order. */
struct row {
    bool exists;
    struct order order; /* with reserved_at; order_no is the subject's */
    enum order_status status;
    enum reason reason;
    int32_t units_returned, units_forfeited;
    int64_t decided_age_ms;
};

/* One order under comparison. */
struct subject {
    UT_hash_handle hh;
    char order_no[ORDER_NO_MAX + 1];
    int shard;              /* where it was found, or where its row says */
    struct stock_seen seen; /* Redis */
    struct row row;
    enum balance_message message;
    int recoveries;
    int64_t sent_age_ms;
    bool ignored;  /* its shard cannot be read, and was reported as such */
    bool marks;    /* its buyer's mark is looked at too */
    bool doubtful; /* what was read last makes a gap that must be read again before it is reported */
    bool proven;   /* Redis said the same before and after MySQL was read: so it was at that instant */
    enum finding_kind kind;
};

/* Orders by number, each once. */
struct page {
    struct subject *list, *by_no; /* they move when one is added */
    size_t count, room;
};

struct scan {
    struct db *db;
    struct kv *kv;
    const struct balance_options *options;
    balance_findings_fn on_findings;
    void *arg;
    struct balance_report *report;
    int64_t redis_now;  /* the latest time of Redis that was seen */
    bool ended;         /* by on_findings or options->stop */
    bool units_unknown; /* of some order: the equation has no meaning */
    bool expects;       /* its shards ought to be in Redis */
    struct stock_audit *audits;
    bool *readable; /* of each shard: its hashes can be walked */
    struct page page;
    struct strbuf sql;
    struct balance_finding *found; /* of this page, not handed on yet */
    size_t found_count, found_room;
};

/* ---- page.c ---- */

void page_begin(struct page *page); /* empty */
void page_release(struct page *page);

/* NULL where the page has it already, or where the number can be none of ours (see order_no_valid). */
struct subject *page_add(struct page *page, struct slice order_no);
struct subject *page_find(const struct page *page, struct slice order_no);

/* ---- rows.c: MySQL ---- */

/* Local messages and rows of the page's orders (doubtful: only of those), the messages first: whoever sends one and
 * makes a row of it in between is then seen with its row. */
ORDERD_MUST_CHECK bool rows_read(struct scan *scan, bool doubtful, struct error *err);

/* The next live, or closed and rejected, orders of the activity, into the page (which begins anew). */
struct row_cursor {
    int64_t user, seq, id;
    bool begun, end;
};
ORDERD_MUST_CHECK bool rows_live(struct scan *scan, struct row_cursor *cursor, struct error *err);
ORDERD_MUST_CHECK bool rows_done(struct scan *scan, struct order_done *walk, struct error *err);

/* ---- live.c: their sums ---- */

/* Live orders of one shard, and their units; not at one instant. */
ORDERD_MUST_CHECK bool rows_of_shard(struct scan *scan, int shard, int64_t *orders, int64_t *units, struct error *err);

struct row_sums {
    bool has_stock;
    int64_t total_stock, total, available, live, live_orders;
    int64_t transfers, planned; /* between shards: all of them, and those that have not ended */
};
/* All at one instant. */
ORDERD_MUST_CHECK bool rows_sums(struct scan *scan, struct row_sums *out, struct error *err);

/* ---- compare.c ---- */

/* Looks the page's orders up in Redis (doubtful: only those). */
ORDERD_MUST_CHECK bool compare_look(struct scan *scan, bool doubtful, struct error *err);

/* With Redis and MySQL read: reads both again, in turns, for whatever would be a gap, until Redis says the same before
 * and after MySQL. Then every subject's kind is final. redis_last: Redis was read after MySQL. */
ORDERD_MUST_CHECK bool compare_settle(struct scan *scan, bool redis_last, struct error *err);

/* ---- report.c ---- */

/* Counts it and keeps it for report_flush, which hands them on: only where db and kv are free to be used. */
void report_finding(struct scan *scan, const struct balance_finding *finding);
void report_flush(struct scan *scan);

/* Flushes; after a pause, whether to go on with the next page. */
bool report_next(struct scan *scan);

void report_subject(struct scan *scan, const struct subject *subject);

/* What the message of a reservation says, with the activity's SKU. */
void report_order_of(const struct activity *activity, const struct subject *subject, struct order *out);
void report_shard(struct scan *scan, enum finding_kind kind, int shard, int64_t units, int64_t seen, const char *fmt,
                  ...) ORDERD_PRINTF(6, 7);

/* ---- shards.c ---- */

/* Reads all shards; false only where Redis is away. readable says which can be walked. */
ORDERD_MUST_CHECK bool shards_read(struct scan *scan, struct stock_audit *audits, bool *readable, struct error *err);
ORDERD_MUST_CHECK bool shards_check(struct scan *scan, struct error *err);

/* Nothing was changed in between. */
bool shard_quiet(const struct stock_audit *before, const struct stock_audit *after);

/* ---- sums.c ---- */

struct sums_before {
    struct row_sums rows;
    int64_t cap_off;  /* caps less the total stock */
    int64_t transfer; /* units between shards */
};
ORDERD_MUST_CHECK bool sums_begin(struct scan *scan, struct sums_before *before, struct error *err);
ORDERD_MUST_CHECK bool sums_end(struct scan *scan, const struct sums_before *before, struct error *err);

#endif
