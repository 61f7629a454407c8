#include "orderd/order_record.h"

#include <string.h>

#include "order_row.h"

#define MS(column) "CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01'," column ") DIV 1000 AS SIGNED)"

struct reading {
    struct order_record *record;
    bool found;
};

/* NULL is "". */
static bool take_text(struct slice column, char *out, size_t size)
{
    if (column.len >= size)
        return false;
    if (column.len)
        memcpy(out, column.ptr, column.len);
    out[column.len] = '\0';
    return true;
}

/* Of another order; a number that is none was written by somebody else. */
static bool take_order_no(struct slice column, char *out, size_t size)
{
    return take_text(column, out, size) && (out[0] == '\0' || order_no_valid(column));
}

static int64_t time_of(struct slice column)
{
    int64_t ms;

    return db_column_i64(column, &ms) ? ms : 0;
}

static bool take_record(void *arg, const struct slice *c, unsigned count)
{
    struct reading *reading = arg;
    struct order_record *r = reading->record;
    const struct slice *rest = c + ORDER_ROW_COLUMN_COUNT;
    struct order_row row;
    int64_t overdue;

    if (count != ORDER_ROW_COLUMN_COUNT + 11 || !order_row_read(c, count, &row) ||
        !take_text(rest[0], r->reason, sizeof r->reason) || !db_column_i64(rest[1], &r->units_returned) ||
        !db_column_i64(rest[2], &r->units_forfeited) || !take_order_no(rest[3], r->replaces, sizeof r->replaces) ||
        !take_order_no(rest[4], r->replaced_by, sizeof r->replaced_by) || !db_column_i64(rest[10], &overdue))
        return false;
    r->order = row.order;
    r->status = row.status;
    r->order.reserved_at = time_of(rest[5]);
    r->created_at = time_of(rest[6]);
    r->expires_at = time_of(rest[7]);
    r->paid_at = time_of(rest[8]);
    r->closed_at = time_of(rest[9]);
    r->overdue = overdue != 0;
    reading->found = true;
    return true;
}

bool order_record_read(struct db *db, const char *order_no, struct order_record *out, bool *found, struct error *err)
{
    struct reading reading = {out, false};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    *out = (struct order_record){0};
    strbuf_addf(
        &sql,
        "SELECT " ORDER_ROW_COLUMNS
        ",reason,units_returned,units_forfeited,replaces,replaced_by," MS("reserved_at") "," MS("created_at") "," MS(
            "expires_at") "," MS("paid_at") "," MS("closed_at") ",COALESCE(status="
                                                                "'pending' AND expires_at<=NOW(6),0) FROM orders WHERE "
                                                                "order_no='%s'",
        order_no_checked(order_no));
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_record, &reading, err);
    *found = reading.found;
    strbuf_release(&sql);
    return ok;
}

struct paying {
    order_payment_fn on_payment;
    void *arg;
};

static bool take_payment(void *arg, const struct slice *c, unsigned count)
{
    const struct paying *paying = arg;
    struct order_payment p = {0};

    if (count != 6 || !db_column_i64(c[1], &p.amount) || !payment_outcome_of_name(c[2], &p.outcome))
        return false;
    p.ref = c[0];
    p.reason = c[3];
    p.paid_at = time_of(c[4]);
    p.decided_at = time_of(c[5]);
    paying->on_payment(paying->arg, &p);
    return true;
}

bool order_record_payments(struct db *db, const char *order_no, order_payment_fn on_payment, void *arg,
                           struct error *err)
{
    struct paying paying = {on_payment, arg};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT payment_ref,amount,outcome,reason," MS("paid_at") "," MS(
                    "decided_at") " FROM payment WHERE order_no='%s' ORDER BY id",
                order_no_checked(order_no));
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_payment, &paying, err);
    strbuf_release(&sql);
    return ok;
}
