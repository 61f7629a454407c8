/* The new order that a rejected one is replaced by (DESIGN sections 2 and 10). An order that was rejected stays so;
 * trying again is a new order under the next number: A, A-r1, A-r2, ...
 *
 * The rows of one purchase are a chain. replaced_by of a row names the next one. It is written once, into a row that is
 * rejected, and before anything is taken under the number that it names: so whoever comes second, or after a crash,
 * goes on with the same number; and a further number cannot begin before this one has a row that is rejected, since
 * there is nowhere to write it down. replaces, the other way, is written with each row itself (order_store.h). */
#ifndef ORDERD_ORDER_RENEWAL_H
#define ORDERD_ORDER_RENEWAL_H

#include <stdbool.h>
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/order_record.h"

enum order_renewal_stage {
    ORDER_RENEWAL_NONE,    /* the last one is rejected, and none is to replace it; `next` is free for that */
    ORDER_RENEWAL_BEGUN,   /* `next` is written down and has no row: something may have been taken for it */
    ORDER_RENEWAL_SENT,    /* the same, and its message is in the local message table */
    ORDER_RENEWAL_DECIDED, /* the last one is pending, paid or closed */
    ORDER_RENEWAL_SPENT,   /* the last one is rejected, and there are no more numbers */
};

struct order_renewal {
    enum order_renewal_stage stage;
    struct order_record last; /* the last of the purchase that has a row */
    int links;                /* from the order that was asked about to the last */
    char next[ORDER_NO_MAX + 1];
    bool taken_by_other; /* DECIDED: the last one is another purchase, made by foreign hands under that number */
};

/* Where the purchase of this order stands, which has a row. Reads what is committed now: one query for each link. */
ORDERD_MUST_CHECK bool order_renewal_find(struct db *db, const struct order_record *from, struct order_renewal *out,
                                          struct error *err);

/* Writes `next` down, with further statements in the same transaction (ptr NULL: none). *begun is false where somebody
 * else was faster: find again. Only from NONE. After DB_LOST: find tells. Deadlocks are tried again. */
ORDERD_MUST_CHECK bool order_renewal_begin(struct db *db, const struct order_renewal *renewal, struct slice with,
                                           bool *begun, struct error *err);

#endif
