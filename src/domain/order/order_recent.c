/* What the newest rows say about how far the create lanes have come. */
#include "orderd/order_store.h"

#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/create_queue.h"

#define NEWEST_MAX 1000

struct newest {
    unsigned queues;
    size_t each;
    size_t count[CREATE_QUEUES_MAX];
    int64_t *reserved_at; /* `each` of a queue, queue after queue */
};

static bool take_time(void *arg, const struct slice *c, unsigned count)
{
    struct newest *newest = arg;
    int64_t activity, at;
    unsigned i;

    if (count != 2 || !db_column_i64(c[0], &activity) || !db_column_i64(c[1], &at))
        return false;
    i = create_queue_number(activity, newest->queues) - 1;
    if (newest->count[i] < newest->each)
        newest->reserved_at[i * newest->each + newest->count[i]++] = at;
    return true;
}

static int ascending(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void sum_up(struct newest *newest, struct order_recent *out)
{
    for (unsigned i = 0; i < newest->queues; i++) {
        int64_t *list = newest->reserved_at + i * newest->each;
        size_t count = newest->count[i];

        qsort(list, count, sizeof *list, ascending);
        out->median[i] = count > 0 ? list[count / 2] : 0;
        out->earliest[i] = count > 0 ? list[0] : 0;
    }
}

bool order_store_recent(struct db *db, unsigned queues, size_t each, struct order_recent *out, struct error *err)
{
    struct newest newest = {.queues = queues, .each = each};
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    CHECK(queues >= 1 && queues <= CREATE_QUEUES_MAX && each >= 1 && each <= NEWEST_MAX);
    newest.reserved_at = check_calloc(queues * each, sizeof *newest.reserved_at);
    strbuf_addf(&sql,
                "SELECT activity_id,CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',reserved_at) DIV 1000 AS SIGNED) FROM "
                "orders FORCE INDEX(PRIMARY) ORDER BY id DESC LIMIT %zu",
                queues * each);
    ok = db_query(db, (struct slice){sql.data, sql.len}, take_time, &newest, err);
    strbuf_release(&sql);
    sum_up(&newest, out);
    free(newest.reserved_at);
    return ok;
}
