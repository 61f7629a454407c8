/* The closed and rejected orders of one activity in pages, at a cost that grows with their number and no faster. (By
 * uk_live the rows of one user_seq lie in the order of their primary key too, but MariaDB reads and sorts all of them
 * for each page.) So the pages go through the table by its primary key, a bounded window in each statement, and jump
 * by uk_live over windows that have nothing of the activity.
 *
 * A row that is done all the time is met once; one that becomes so meanwhile may be. */
#ifndef ORDERD_ORDER_DONE_H
#define ORDERD_ORDER_DONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/strbuf.h"

struct order_done { /* begins with activity_id alone */
    int64_t activity_id;
    int64_t id; /* all up to here were met */
    bool near;  /* it goes on behind id */
    bool end;   /* there are no more */
};

/* Before each page: finds out where it goes on. false: the database failed. */
ORDERD_MUST_CHECK bool order_done_seek(struct db *db, struct order_done *walk, struct error *err);

/* Not at the end: what follows the columns in the page's SELECT. which: "" or a further condition, " AND ...". */
void order_done_where(const struct order_done *walk, struct strbuf *sql, const char *which, size_t page);

/* The same for a sum of the whole window, and after it: whether it had any. */
void order_done_window(const struct order_done *walk, struct strbuf *sql);
void order_done_passed(struct order_done *walk, bool any);

/* After a page: how many rows it had, which may be none although more follow, and the id of the last. */
void order_done_took(struct order_done *walk, size_t rows, size_t page, int64_t last);

#endif
