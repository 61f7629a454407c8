/* What the newest rows say about how far the create lanes have come. */
#include "orderd/order_store.h"

#include <stdlib.h>

#include "orderd/check.h"

#define NEWEST_MAX 1000

struct newest {
    int64_t reserved_at[NEWEST_MAX];
    size_t count;
};

static bool take_time(void *arg, const struct slice *c, unsigned count)
{
    struct newest *newest = arg;

    return count == 1 && newest->count < NEWEST_MAX && db_column_i64(c[0], &newest->reserved_at[newest->count++]);
}

static int ascending(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

bool order_store_median_reserved(struct db *db, size_t last, int64_t *out, struct error *err)
{
    struct newest newest = {.count = 0};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    CHECK(last >= 1 && last <= NEWEST_MAX);
    strbuf_addf(&sql,
                "SELECT CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',reserved_at) DIV 1000 AS SIGNED) FROM orders "
                "FORCE INDEX(PRIMARY) ORDER BY id DESC LIMIT %zu",
                last);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_time, &newest, err);
    strbuf_release(&sql);
    qsort(newest.reserved_at, newest.count, sizeof *newest.reserved_at, ascending);
    *out = newest.count > 0 ? newest.reserved_at[newest.count / 2] : 0;
    return ok;
}
