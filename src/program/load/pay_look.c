/* The pending orders of an activity, in the order of its unique key. */
#include "pay.h"

#include <inttypes.h>

#include "orderd/clock.h"

#define PAGE 1000

struct paging {
    struct pay_look *look;
    int64_t user, seq; /* of the last row */
    int64_t rows;
};

enum { USER, USER_SEQ, AMOUNT, LEFT_MS, NUMBERS, ORDER_NO = NUMBERS, ALL };

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
    p->user = n[USER];
    p->seq = n[USER_SEQ];
    p->rows++;
    take(p->look, c[ORDER_NO], n);
    return true;
}

bool pay_look(struct pay_look *look, struct db *db, struct error *err)
{
    struct paging p = {.look = look, .seq = -1};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    look->pass++;
    look->pending = 0;
    do {
        p.rows = 0;
        strbuf_reset(&sql);
        strbuf_addf(&sql,
                    "SELECT live_user,user_seq,amount,"
                    "TIMESTAMPDIFF(MICROSECOND,UTC_TIMESTAMP(6),expires_at) DIV 1000,order_no FROM orders "
                    "FORCE INDEX(uk_live) WHERE activity_id=%" PRId64 " AND (live_user>%" PRId64
                    " OR (live_user=%" PRId64 " AND user_seq>%" PRId64
                    ")) AND status='pending' ORDER BY live_user,user_seq LIMIT %d",
                    look->bills->activity, p.user, p.user, p.seq, PAGE);
        ok = db_query(db, (struct slice){sql.data, sql.len}, on_row, &p, err);
    } while (ok && p.rows == PAGE);
    strbuf_release(&sql);
    return ok;
}
