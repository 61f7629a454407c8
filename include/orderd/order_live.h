/* The live orders of one activity in slices of buyers, along uk_live: there may be millions, and no statement may take
 * as long as a connection waits for its answer (mysql.read_timeout). A buyer's orders are never in two slices. */
#ifndef ORDERD_ORDER_LIVE_H
#define ORDERD_ORDER_LIVE_H

#include <stdint.h>
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/strbuf.h"

/* Begins a transaction in which all that is read is of one instant, however many slices it takes; ended by COMMIT. */
ORDERD_MUST_CHECK bool order_live_begin(struct db *db, struct error *err);

/* The first is from 0 on; the last ends before INT64_MAX. */
struct order_live {
    int64_t activity_id;
    int64_t from, end; /* buyers */
};

/* Goes on to the slice that begins where this one ends (the first: with both 0). false: the database failed. */
ORDERD_MUST_CHECK bool order_live_next(struct db *db, struct order_live *slice, struct error *err);

/* What follows the columns in the slice's SELECT. */
void order_live_where(const struct order_live *slice, struct strbuf *sql);

#endif
