/* Sums of an activity's live orders, slice by slice. */
#include "balance_private.h"

#include <inttypes.h>

#include "orderd/order_live.h"

static struct slice text_of(const struct strbuf *sql)
{
    return (struct slice){sql->data, sql->len};
}

struct sum {
    int64_t orders, units;
};

static bool take_sum(void *arg, const struct slice *c, unsigned count)
{
    struct sum *sum = arg;
    int64_t orders, units;

    if (count != 2 || !db_column_i64(c[0], &orders) || !db_column_i64(c[1], &units))
        return false;
    sum->orders += orders;
    sum->units += units;
    return true;
}

static bool add_slice(struct scan *scan, const struct order_live *slice, const char *more, struct sum *sum,
                      struct error *err)
{
    strbuf_reset(&scan->sql);
    strbuf_add_str(&scan->sql, "SELECT COUNT(*),COALESCE(SUM(quantity),0)");
    order_live_where(slice, &scan->sql);
    strbuf_add_str(&scan->sql, more);
    return db_query(scan->db, text_of(&scan->sql), take_sum, sum, err);
}

static bool sum_live(struct scan *scan, const char *more, struct sum *sum, struct error *err)
{
    const struct balance_options *o = scan->options;
    struct order_live slice = {.activity_id = scan->report->activity.id};

    while (slice.end != INT64_MAX) {
        if (!order_live_next(scan->db, &slice, err) || !add_slice(scan, &slice, more, sum, err))
            return false;
        if (o->progress)
            o->progress(o->arg, scan->report->held_orders + scan->report->live_orders + scan->report->done_orders);
    }
    return true;
}

bool rows_of_shard(struct scan *scan, int shard, int64_t *orders, int64_t *units, struct error *err)
{
    struct sum sum = {0, 0};
    char more[32];

    snprintf(more, sizeof more, " AND shard=%d", shard);
    if (!sum_live(scan, more, &sum, err))
        return false;
    *orders = sum.orders;
    *units = sum.units;
    return true;
}

static bool take_heads(void *arg, const struct slice *c, unsigned count)
{
    struct row_sums *out = arg;

    if (count != 5 || !db_column_i64(c[0], &out->total_stock) || !db_column_i64(c[3], &out->transfers) ||
        !db_column_i64(c[4], &out->planned))
        return false;
    out->has_stock = c[1].ptr != NULL;
    return !out->has_stock || (db_column_i64(c[1], &out->total) && db_column_i64(c[2], &out->available));
}

static bool read_heads(struct scan *scan, struct row_sums *out, struct error *err)
{
    strbuf_reset(&scan->sql);
    strbuf_addf(&scan->sql,
                "SELECT a.total_stock,s.total,s.available,(SELECT COUNT(*) FROM stock_transfer t WHERE "
                "t.activity_id=a.id),(SELECT COUNT(*) FROM stock_transfer t WHERE t.activity_id=a.id AND "
                "t.state='planned') FROM activity a LEFT JOIN activity_stock s ON s.activity_id=a.id WHERE "
                "a.id=%" PRId64,
                scan->report->activity.id);
    return db_query(scan->db, text_of(&scan->sql), take_heads, out, err);
}

/* One transaction with one read view, so the numbers belong together while orders come and go. */
bool rows_sums(struct scan *scan, struct row_sums *out, struct error *err)
{
    struct sum sum = {0, 0};

    *out = (struct row_sums){0};
    if (!order_live_begin(scan->db, err))
        return false;
    if (!read_heads(scan, out, err) || !sum_live(scan, "", &sum, err)) {
        if (db_usable(scan->db))
            db_rollback(scan->db);
        return false;
    }
    out->live_orders = sum.orders;
    out->live = sum.units;
    return db_run(scan->db, slice_of("COMMIT"), err);
}
