/* The pending orders of an activity, those first that are due first: by an index that has none but pending ones, since
 * of those that are paid there may be millions. */
#include "pay.h"

#include <inttypes.h>
#include <stdio.h>

#include "orderd/clock.h"

#define PAGE     1000
#define DUE_SIZE 32 /* "2026-11-30 12:00:00.123456" */

struct paging {
    struct pay_look *look;
    char due[DUE_SIZE]; /* of the last row */
    int64_t id;
    int64_t rows;
};

enum { ID, AMOUNT, LEFT_MS, NUMBERS, ORDER_NO = NUMBERS, DUE, ALL };

static void take(struct pay_look *look, struct slice order_no, const int64_t *n)
{
    size_t known = look->bills->ids.count;
    uint32_t index = bills_add(look->bills, order_no, n[AMOUNT]);
    struct bill *b = &look->bills->list[index];

    b->pass = look->pass;
    look->pending++;
    if (index < known)
        return;
    b->until_ms = clock_mono_ms() + n[LEFT_MS];
    look->found(look->arg, index);
}

static bool on_row(void *arg, const struct slice *c, unsigned count)
{
    struct paging *p = arg;
    int64_t n[NUMBERS];

    for (int i = 0; i < NUMBERS; i++) {
        if (count != ALL || !db_column_i64(c[i], &n[i]))
            return false;
    }
    p->id = n[ID];
    snprintf(p->due, sizeof p->due, "%.*s", (int)c[DUE].len, c[DUE].ptr);
    p->rows++;
    take(p->look, c[ORDER_NO], n);
    return true;
}

bool pay_look(struct pay_look *look, struct db *db, struct error *err)
{
    struct paging p = {.look = look, .due = "1000-01-01"};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    look->pass++;
    look->pending = 0;
    do {
        p.rows = 0;
        strbuf_reset(&sql);
        strbuf_addf(&sql,
                    "SELECT id,amount,TIMESTAMPDIFF(MICROSECOND,UTC_TIMESTAMP(6),expires_at) DIV 1000,order_no,"
                    "CAST(expires_at AS CHAR) FROM orders FORCE INDEX(k_due) WHERE status='pending' AND "
                    "expires_at>='%s' AND (expires_at>'%s' OR id>%" PRId64 ") AND activity_id=%" PRId64
                    " ORDER BY expires_at,id LIMIT %d",
                    p.due, p.due, p.id, look->bills->activity, PAGE);
        ok = db_query(db, (struct slice){sql.data, sql.len}, on_row, &p, err);
    } while (ok && p.rows == PAGE);
    strbuf_release(&sql);
    return ok;
}
