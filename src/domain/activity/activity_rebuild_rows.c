/* The orders of one activity in pages that an index serves, however many there are. A row that is there all the time is
 * met; one that comes or goes meanwhile may be. */
#include "activity_rebuild_private.h"

#include <inttypes.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/order_done.h"

#define COLUMNS                                                                                                        \
    "id,user_id,user_seq,quantity,amount,shard,epoch,"                                                                 \
    "CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',reserved_at) DIV 1000 AS SIGNED),status,order_no"
enum { ID, USER, USER_SEQ, QUANTITY, AMOUNT, SHARD, EPOCH, RESERVED_AT, NUMBERS, STATUS = NUMBERS, ORDER_NO, ALL };

struct page {
    struct rebuild_order list[REBUILD_PAGE];
    size_t count;
    int64_t last[NUMBERS]; /* of the last row */
};

static enum stock_adopt_as as_of(struct slice status)
{
    if (slice_is(status, order_status_name(ORDER_PENDING)))
        return STOCK_ADOPT_AS_PENDING;
    return slice_is(status, order_status_name(ORDER_PAID)) ? STOCK_ADOPT_AS_PAID : STOCK_ADOPT_AS_CLOSED;
}

static bool take_row(void *arg, const struct slice *c, unsigned count)
{
    struct page *p = arg;
    struct rebuild_order *o = &p->list[p->count];
    int64_t *n = p->last;

    if (count != ALL || p->count == REBUILD_PAGE || c[ORDER_NO].len > ORDER_NO_MAX)
        return false;
    for (int i = 0; i < NUMBERS; i++) {
        if (!db_column_i64(c[i], &n[i]))
            return false;
    }
    *o = (struct rebuild_order){.user = n[USER],
                                .user_seq = n[USER_SEQ],
                                .quantity = n[QUANTITY],
                                .amount = n[AMOUNT],
                                .epoch = n[EPOCH],
                                .reserved_at = n[RESERVED_AT],
                                .shard = (int32_t)n[SHARD],
                                .as = as_of(c[STATUS])};
    memcpy(o->order_no, c[ORDER_NO].ptr, c[ORDER_NO].len);
    p->count++;
    return true;
}

static bool turn_page(struct rebuild *r, const struct strbuf *sql, struct page *p)
{
    p->count = 0;
    return db_query(r->how->db, (struct slice){sql->data, sql->len}, take_row, p, r->err);
}

/* live_user is the user while the order lives, so that uk_live lists the live orders of an activity in order. */
static void add_live(struct strbuf *sql, int64_t activity, const int64_t *last)
{
    strbuf_reset(sql);
    strbuf_addf(sql,
                "SELECT " COLUMNS " FROM orders FORCE INDEX(uk_live) WHERE activity_id=%" PRId64
                " AND (live_user>%" PRId64 " OR (live_user=%" PRId64 " AND user_seq>%" PRId64
                ")) ORDER BY live_user,user_seq LIMIT %d",
                activity, last[USER], last[USER], last[USER_SEQ], REBUILD_PAGE);
}

bool rebuild_live_rows(struct rebuild *r, rebuild_page_fn on_page)
{
    struct page *p = check_calloc(1, sizeof *p);
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    p->last[USER_SEQ] = -1;
    do {
        add_live(&sql, r->how->activity->id, p->last);
        ok = turn_page(r, &sql, p) && (p->count == 0 || on_page(r, p->list, p->count));
    } while (ok && p->count == REBUILD_PAGE);
    strbuf_release(&sql);
    free(p);
    return ok;
}

static bool closed_page(struct rebuild *r, struct order_done *walk, struct page *p, rebuild_page_fn on_page)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, "SELECT " COLUMNS);
    order_done_where(walk, &sql, " AND status='closed'", REBUILD_PAGE);
    ok = turn_page(r, &sql, p);
    strbuf_release(&sql);
    if (!ok)
        return false;
    order_done_took(walk, p->count, REBUILD_PAGE, p->last[ID]);
    return p->count == 0 || on_page(r, p->list, p->count);
}

bool rebuild_closed_rows(struct rebuild *r, rebuild_page_fn on_page)
{
    struct order_done walk = {.activity_id = r->how->activity->id};
    struct page *p = check_calloc(1, sizeof *p);
    bool ok;

    do
        ok = order_done_seek(r->how->db, &walk, r->err) && (walk.end || closed_page(r, &walk, p, on_page));
    while (ok && !walk.end);
    free(p);
    return ok;
}

/* ---- which have a row ---- */

struct known {
    struct rebuild_order *list;
    bool *has_row;
    size_t count;
};

static bool note_row(void *arg, const struct slice *c, unsigned count)
{
    struct known *known = arg;

    if (count != 1)
        return false;
    for (size_t i = 0; i < known->count; i++)
        known->has_row[i] = known->has_row[i] || slice_is(c[0], known->list[i].order_no);
    return true;
}

bool rebuild_without_row(struct rebuild *r, struct rebuild_order *list, size_t *count)
{
    bool has_row[REBUILD_PAGE] = {false};
    struct known known = {list, has_row, *count};
    struct strbuf sql = STRBUF_INIT;
    size_t left = 0;
    bool ok;

    CHECK(*count > 0 && *count <= REBUILD_PAGE);
    for (size_t i = 0; i < *count; i++)
        strbuf_addf(&sql, "%s'%s'", i ? "," : "SELECT order_no FROM orders WHERE order_no IN(",
                    order_no_checked(list[i].order_no));
    strbuf_add_char(&sql, ')');
    ok = db_query(r->how->db, (struct slice){sql.data, sql.len}, note_row, &known, r->err);
    strbuf_release(&sql);
    for (size_t i = 0; i < *count; i++) {
        if (!has_row[i])
            list[left++] = list[i];
    }
    *count = left;
    return ok;
}
