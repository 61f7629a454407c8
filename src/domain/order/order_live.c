#include "orderd/order_live.h"

#include <inttypes.h>

/* A tenth of a second where the rows are in memory, some where they are not. */
#define SLICE 20000

bool order_live_begin(struct db *db, struct error *err)
{
    return db_run(db,
                  slice_of("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
                           "START TRANSACTION WITH CONSISTENT SNAPSHOT,READ ONLY"),
                  err);
}

bool order_live_next(struct db *db, struct order_live *slice, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    slice->from = slice->end;
    strbuf_addf(&sql,
                "SELECT COALESCE((SELECT live_user FROM orders FORCE INDEX(uk_live) WHERE activity_id=%" PRId64
                " AND live_user>=%" PRId64 " ORDER BY live_user LIMIT 1 OFFSET %d),%" PRId64 ")",
                slice->activity_id, slice->from, SLICE, INT64_MAX);
    ok = db_query_i64(db, (struct slice){sql.data, sql.len}, 0, &slice->end, err);
    strbuf_release(&sql);
    return ok;
}

void order_live_where(const struct order_live *slice, struct strbuf *sql)
{
    strbuf_addf(sql,
                " FROM orders FORCE INDEX(uk_live) WHERE activity_id=%" PRId64 " AND live_user>=%" PRId64
                " AND live_user<%" PRId64,
                slice->activity_id, slice->from, slice->end);
}
