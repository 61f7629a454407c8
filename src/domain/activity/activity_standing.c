/* How an activity's orders stand. There may be millions, and no statement may take as long as a connection waits for
 * its answer (mysql.read_timeout): live ones are read in slices of buyers, the others in windows of the table. */
#include <inttypes.h>
#include <string.h>

#include "orderd/activity_store.h"
#include "orderd/order_done.h"
#include "orderd/order_live.h"
#include "orderd/strbuf.h"

static bool status_of_name(struct slice name, enum order_status *out)
{
    for (int i = 0; i < ORDER_STATUS_COUNT; i++) {
        if (slice_is(name, order_status_name((enum order_status)i))) {
            *out = (enum order_status)i;
            return true;
        }
    }
    return false;
}

/* ("stock", total, available) or (status, orders, units) */
static bool take_standing(void *arg, const struct slice *c, unsigned count)
{
    struct activity_standing *s = arg;
    enum order_status status;
    int64_t a, b;

    if (count != 3 || !db_column_i64(c[1], &a) || !db_column_i64(c[2], &b))
        return false;
    if (slice_is(c[0], "stock")) {
        s->has_stock = true;
        s->total = a;
        s->available = b;
        return true;
    }
    if (!status_of_name(c[0], &status))
        return false;
    s->by_status[status].orders += a;
    s->by_status[status].units += b;
    return true;
}

static bool run(struct db *db, struct strbuf *sql, struct activity_standing *out, struct error *err)
{
    bool ok = db_query(db, (struct slice){sql->data, sql->len}, take_standing, out, err);

    strbuf_release(sql);
    return ok;
}

#define BY_STATUS "SELECT CAST(status AS CHAR),COUNT(*),COALESCE(SUM(quantity),0)"

static bool read_stock(struct db *db, int64_t id, struct activity_standing *out, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;

    strbuf_addf(&sql, "SELECT 'stock',total,available FROM activity_stock WHERE activity_id=%" PRId64, id);
    return run(db, &sql, out, err);
}

static bool read_live(struct db *db, int64_t id, struct activity_standing *out, struct error *err)
{
    struct order_live slice = {.activity_id = id};

    while (slice.end != INT64_MAX) {
        struct strbuf sql = STRBUF_INIT;

        if (!order_live_next(db, &slice, err))
            return false;
        strbuf_add_str(&sql, BY_STATUS);
        order_live_where(&slice, &sql);
        strbuf_add_str(&sql, " GROUP BY status");
        if (!run(db, &sql, out, err))
            return false;
    }
    return true;
}

static int64_t done(const struct activity_standing *s)
{
    int64_t orders = 0;

    for (int i = 0; i < ORDER_STATUS_COUNT; i++)
        orders += order_status_live((enum order_status)i) ? 0 : s->by_status[i].orders;
    return orders;
}

static bool read_done(struct db *db, int64_t id, struct activity_standing *out, struct error *err)
{
    struct order_done walk = {.activity_id = id};

    for (;;) {
        struct strbuf sql = STRBUF_INIT;
        int64_t before = done(out);

        if (!order_done_seek(db, &walk, err))
            return false;
        if (walk.end)
            return true;
        strbuf_add_str(&sql, BY_STATUS);
        order_done_window(&walk, &sql);
        strbuf_add_str(&sql, " GROUP BY status");
        if (!run(db, &sql, out, err))
            return false;
        order_done_passed(&walk, done(out) > before);
    }
}

/* One transaction with one read view, so the numbers belong together while orders come in. */
bool activity_store_standing(struct db *db, int64_t id, struct activity_standing *out, struct error *err)
{
    memset(out, 0, sizeof *out);
    if (!order_live_begin(db, err))
        return false;
    if (read_stock(db, id, out, err) && read_live(db, id, out, err) && read_done(db, id, out, err))
        return db_run(db, slice_of("COMMIT"), err);
    if (db_usable(db))
        db_rollback(db);
    return false;
}
