/* The MySQL half: every row of the activity, paged by id. */
#include "verify.h"

#include <inttypes.h>
#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/db.h"
#include "orderd/order_store.h"

#define PAGE 5000

struct paging {
    struct verify *v;
    int64_t last_id;
    size_t rows;
};

/* By the activity's rows only, but along the primary key: the pages then never meet one row twice, and none needs a
 * sort. */
#define COLUMNS                                                                                                        \
    "id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,"                                                          \
    "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',reserved_at) DIV 1000,order_no,status"
enum { ID, USER, USER_SEQ, SKU, QUANTITY, AMOUNT, SHARD, EPOCH, RESERVED_AT, NUMBERS, ORDER_NO = NUMBERS, STATUS, ALL };

static bool status_of(struct slice name, enum order_status *out)
{
    for (int status = 0; status < ORDER_STATUS_COUNT; status++) {
        if (slice_is(name, order_status_name((enum order_status)status))) {
            *out = (enum order_status)status;
            return true;
        }
    }
    return false;
}

static void add_mark(struct verify *v, uint32_t index, const int64_t *n)
{
    if (v->mark_count == v->mark_cap) {
        v->mark_cap = v->mark_cap ? v->mark_cap * 2 : 1024;
        v->marks = check_realloc(v->marks, v->mark_cap * sizeof *v->marks);
    }
    v->marks[v->mark_count++] = (struct verify_mark){n[USER], (uint32_t)n[USER_SEQ], index};
}

/* Where a replay was reserved is its own; the rest is its original's. */
static void adopt_replay(struct book_entry *e, const int64_t *n)
{
    e->user_seq = (uint16_t)n[USER_SEQ];
    e->shard = (uint16_t)n[SHARD];
    e->epoch = (int32_t)n[EPOCH];
    e->reserved_at = n[RESERVED_AT];
}

static void compare(struct verify *v, uint32_t index, const int64_t *n)
{
    const struct book_entry *e = &v->book->entries[index];
    const char *order_no = idset_text(&v->book->ids, index);
    const struct {
        const char *name;
        int64_t accepted, row;
    } members[] = {
        {"user", e->user, n[USER]},       {"user_seq", e->user_seq, n[USER_SEQ]},
        {"sku_id", v->book->sku, n[SKU]}, {"quantity", e->quantity, n[QUANTITY]},
        {"amount", e->amount, n[AMOUNT]}, {"shard", e->shard, n[SHARD]},
        {"epoch", e->epoch, n[EPOCH]},    {"reserved_at", e->reserved_at, n[RESERVED_AT]},
    };

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (members[i].accepted == members[i].row)
            continue;
        v->wrong++;
        report_example(v->report, REPORT_WRONG, "%s: %s is %" PRId64 ", accepted was %" PRId64, order_no,
                       members[i].name, members[i].row, members[i].accepted);
        return;
    }
}

static void take(struct verify *v, uint32_t index, const int64_t *n, enum order_status status)
{
    struct book_entry *e = &v->book->entries[index];
    bool live = status == ORDER_PENDING || status == ORDER_PAID;

    v->rows++;
    if (e->seen & BOOK_ROW) {
        v->doubled++;
        report_example(v->report, REPORT_DOUBLED, "%s: two rows", idset_text(&v->book->ids, index));
    }
    e->seen |= BOOK_ROW;
    if (live) {
        e->seen |= BOOK_LIVE;
        e->row_quantity = (int32_t)n[QUANTITY];
        v->live_rows++;
        v->live_units += n[QUANTITY];
        add_mark(v, index, n);
    }
    if (status == ORDER_PAID)
        e->seen |= BOOK_PAID;
    if (status == ORDER_REJECTED)
        e->seen |= BOOK_REJECTED;
    if (e->how == BOOK_REPLAYED) {
        adopt_replay(e, n);
        if (live)
            v->book->entries[book_original(v->book, slice_of(idset_text(&v->book->ids, index)))].seen |= BOOK_REPLACED;
    }
    if (e->how != BOOK_NOT_ACCEPTED) {
        compare(v, index, n);
        return;
    }
    v->extra++;
    report_example(v->report, REPORT_EXTRA, "%s of user %" PRId64 ", row %" PRId64, idset_text(&v->book->ids, index),
                   n[USER], n[ID]);
}

static bool on_row(void *arg, const struct slice *c, unsigned count)
{
    struct paging *p = arg;
    enum order_status status;
    int64_t n[NUMBERS];

    if (count != ALL || !status_of(c[STATUS], &status))
        return false;
    for (int i = 0; i < NUMBERS; i++) {
        if (!db_column_i64(c[i], &n[i]))
            return false;
    }
    take(p->v, book_see(p->v->book, c[ORDER_NO]), n, status);
    p->last_id = n[ID];
    p->rows++;
    return true;
}

static bool read_pages(struct verify *v, struct db *db, struct error *err)
{
    struct paging p = {.v = v};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    do {
        p.rows = 0;
        strbuf_reset(&sql);
        strbuf_addf(&sql,
                    "SELECT " COLUMNS " FROM orders FORCE INDEX(PRIMARY) WHERE activity_id=%" PRId64 " AND id>%" PRId64
                    " ORDER BY id LIMIT %d",
                    v->activity.id, p.last_id, PAGE);
        ok = db_query(db, (struct slice){sql.data, sql.len}, on_row, &p, err);
    } while (ok && p.rows == PAGE);
    strbuf_release(&sql);
    return ok;
}

static void take_activity(void *arg, const struct activity *activity)
{
    *(struct activity *)arg = *activity;
}

static int by_mark(const void *a, const void *b)
{
    const struct verify_mark *x = a, *y = b;

    if (x->user != y->user)
        return x->user < y->user ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static void find_doubled_marks(struct verify *v)
{
    if (v->mark_count > 0)
        qsort(v->marks, v->mark_count, sizeof *v->marks, by_mark);
    for (size_t i = 1; i < v->mark_count; i++) {
        if (by_mark(&v->marks[i - 1], &v->marks[i]) != 0 || v->marks[i - 1].index == v->marks[i].index)
            continue;
        v->doubled++;
        report_example(v->report, REPORT_DOUBLED, "user %" PRId64 ", mark %u: %s and %s", v->marks[i].user,
                       v->marks[i].seq, idset_text(&v->book->ids, v->marks[i - 1].index),
                       idset_text(&v->book->ids, v->marks[i].index));
    }
}

static bool read_all(struct verify *v, struct db *db, struct error *err)
{
    struct order_stock stock;
    int64_t id = v->activity.id;

    if (!read_pages(v, db, err) || !order_store_stock(db, id, &stock, err) ||
        !activity_read(db, &id, 1, take_activity, &v->activity, err))
        return false;
    v->stock_total = stock.total;
    v->activity.available = stock.available;
    find_doubled_marks(v);
    return true;
}

bool verify_read_rows(struct verify *v, struct error *err)
{
    struct db *db = db_open(v->conf, err);
    bool ok = db && read_all(v, db, err);

    db_close(&db);
    return ok || error_prefix(err, "reading orders");
}
