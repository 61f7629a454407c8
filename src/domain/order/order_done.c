#include "orderd/order_done.h"

#include <inttypes.h>

/* Rows of all activities that one statement may look at. */
#define WINDOW 20000

static bool jump(struct db *db, struct order_done *walk, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    int64_t next;
    bool ok;

    strbuf_addf(&sql,
                "SELECT MIN(id) FROM orders FORCE INDEX(uk_live) WHERE activity_id=%" PRId64
                " AND live_user IS NULL AND id>%" PRId64,
                walk->activity_id, walk->id);
    ok = db_query_i64(db, (struct slice){sql.data, sql.len}, 0, &next, err);
    strbuf_release(&sql);
    if (!ok)
        return false;
    walk->end = next == 0;
    walk->near = !walk->end;
    if (walk->near)
        walk->id = next - 1;
    return true;
}

bool order_done_seek(struct db *db, struct order_done *walk, struct error *err)
{
    return walk->near || walk->end || jump(db, walk, err);
}

void order_done_window(const struct order_done *walk, struct strbuf *sql)
{
    strbuf_addf(sql,
                " FROM orders FORCE INDEX(PRIMARY) WHERE id>%" PRId64 " AND id<=%" PRId64 " AND activity_id=%" PRId64
                " AND live_user IS NULL",
                walk->id, walk->id + WINDOW, walk->activity_id);
}

void order_done_passed(struct order_done *walk, bool any)
{
    walk->id += WINDOW;
    walk->near = any;
}

void order_done_where(const struct order_done *walk, struct strbuf *sql, const char *which, size_t page)
{
    order_done_window(walk, sql);
    strbuf_addf(sql, "%s ORDER BY id LIMIT %zu", which, page);
}

void order_done_took(struct order_done *walk, size_t rows, size_t page, int64_t last)
{
    walk->id = rows == page ? last : walk->id + WINDOW;
    walk->near = rows > 0;
}
