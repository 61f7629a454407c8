/* The verification: everything that MySQL and Redis have of an activity, read in pages, compared with the book. Nothing
 * may be on its way meanwhile, or it shows as missing. */
#ifndef ORDERD_LOAD_VERIFY_H
#define ORDERD_LOAD_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include "book.h"
#include "options.h"
#include "orderd/activity.h"
#include "orderd/conf.h"
#include "report.h"

struct verify_mark { /* a buyer's mark of a live row */
    int64_t user;
    uint32_t seq, index;
};

struct verify {
    const struct conf *conf;
    bool recovered;           /* silent orders must be rows too */
    int64_t may_reject;       /* accepted orders at most that were rejected */
    struct activity activity; /* read again */
    struct book *book;
    struct report *report;

    int64_t rows, live_rows, live_units, stock_total;
    int64_t extra, doubled, wrong;
    struct verify_mark *marks;
    size_t mark_count, mark_cap;

    int64_t left, forfeited, caps, reservations;
    int64_t unbalanced, ledger, stray, held_wrong, bad_marks;
};

/* Fills the checks of the report. Tries again from the start when a server goes away, for options->wait_ms. Silent
 * orders need no row, unless options->recovered. MySQL and Redis are read one after the other, so an order that is paid
 * or closed in between looks wrong: what looks wrong is read again until it is right or three looks in a row, 300 ms
 * apart, found the same. */
ORDERD_MUST_CHECK bool verify(const struct conf *conf, struct book *book, struct report *report,
                              const struct load_options *options, struct error *err);

/* ---- the two halves ---- */
ORDERD_MUST_CHECK bool verify_read_rows(struct verify *v, struct error *err);
ORDERD_MUST_CHECK bool verify_read_stock(struct verify *v, struct error *err);

#endif
