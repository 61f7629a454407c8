/* Reservations that have no row: their messages are on their way, or were lost with a web tier, and the walk recovers
 * them. They are carried over as they stand, so that a rebuild costs nobody a unit. */
#include "activity_rebuild_private.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

struct reading {
    struct rebuild *r;
    int32_t shard;
    struct rebuild_order page[REBUILD_PAGE];
    size_t count;
    bool ok;
};

static void keep(struct rebuild *r, const struct rebuild_order *order)
{
    if (r->kept_count == r->kept_room) {
        r->kept_room = r->kept_room ? r->kept_room * 2 : 64;
        r->kept = check_realloc(r->kept, r->kept_room * sizeof *r->kept);
    }
    r->kept[r->kept_count++] = *order;
    r->out->kept_orders++;
    r->out->shards[order->shard].kept += order->quantity;
}

static bool keep_page(struct reading *reading)
{
    size_t count = reading->count;

    reading->count = 0;
    if (count == 0)
        return true;
    if (!rebuild_without_row(reading->r, reading->page, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        keep(reading->r, &reading->page[i]);
    return true;
}

static bool take_entry(const struct stock_entry *e, void *data)
{
    struct reading *reading = data;
    struct rebuild_order *o = &reading->page[reading->count];

    if (!e->valid || !order_no_valid(e->order_no)) {
        reading->r->out->unreadable_orders++;
        return true;
    }
    *o = (struct rebuild_order){.user = e->user,
                                .user_seq = e->user_seq,
                                .quantity = e->quantity,
                                .amount = e->amount,
                                .epoch = e->epoch,
                                .reserved_at = e->reserved_at,
                                .shard = reading->shard,
                                .as = STOCK_ADOPT_AS_PENDING};
    memcpy(o->order_no, e->order_no.ptr, e->order_no.len);
    if (++reading->count == REBUILD_PAGE)
        reading->ok = keep_page(reading);
    return reading->ok;
}

/* A key of a foreign type holds nothing that could be kept. */
static bool keep_shard(struct rebuild *r, int32_t shard)
{
    const struct stock_walk walk = {r->how->activity->id, shard, STOCK_KEY_HELD, REBUILD_PAGE, 0};
    struct reading *reading = check_calloc(1, sizeof *reading);
    bool ok;

    *reading = (struct reading){.r = r, .shard = shard, .ok = true};
    ok = stock_walk(r->how->kv, &walk, take_entry, reading, r->err);
    if (!ok && r->err->code == ERROR_KV_DATA) {
        error_clear(r->err);
        ok = true;
    }
    ok = ok && reading->ok && keep_page(reading);
    free(reading);
    return ok;
}

static int by_order_no(const void *a, const void *b)
{
    const struct rebuild_order *x = a, *y = b;

    return strcmp(x->order_no, y->order_no);
}

/* HSCAN may show an entry twice; counted twice it would take room for two. */
static void drop_twins(struct rebuild *r)
{
    size_t n = 0;

    if (r->kept_count == 0)
        return;
    qsort(r->kept, r->kept_count, sizeof *r->kept, by_order_no);
    for (size_t i = 0; i < r->kept_count; i++) {
        const struct rebuild_order *o = &r->kept[i];

        if (n > 0 && strcmp(r->kept[n - 1].order_no, o->order_no) == 0) {
            r->out->kept_orders--;
            r->out->shards[o->shard].kept -= o->quantity;
            continue;
        }
        r->kept[n++] = *o;
    }
    r->kept_count = n;
}

bool rebuild_keep(struct rebuild *r)
{
    for (int32_t i = 0; i < r->how->activity->shards; i++) {
        if (r->audits[i].code != STOCK_AUDIT_NO_SHARD && !keep_shard(r, i))
            return false;
    }
    drop_twins(r);
    return true;
}
