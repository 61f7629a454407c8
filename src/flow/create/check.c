#include "create.h"

#include <inttypes.h>

/* Whether what is remembered will do. A rebuild commits the next epoch before any order can have it, so an order of a
 * later one than is remembered tells that the memory is old, or that the order is of no sale of ours. */
static bool is_known(struct lane *lane, const struct order *o)
{
    const struct activity *a =
        activity_cache_find(create_of(lane)->activities, o->activity_id, lane->conf->create_activity_refresh);

    return a && o->epoch <= a->epoch;
}

/* The activity ids of undecided items that are to be read (again), each once. */
static size_t ids_to_read(struct lane *lane, int64_t *ids)
{
    size_t count = 0;

    for (size_t i = 0; i < lane->batch.count; i++) {
        const struct item *item = item_at(lane, i);
        bool known = item->base.reason != REASON_NONE || is_known(lane, &item->order);

        for (size_t j = 0; j < count && !known; j++)
            known = ids[j] == item->order.activity_id;
        if (!known)
            ids[count++] = item->order.activity_id;
    }
    return count;
}

static void doubt(struct item *item, enum reason reason, const char *detail)
{
    item->doubt = reason;
    item->base.detail = detail;
}

static bool amount_fits(const struct order *o, const struct activity *a)
{
    int64_t amount;

    return a->free_amount ||
           (!__builtin_mul_overflow(a->unit_price, (int64_t)o->quantity, &amount) && amount == o->amount);
}

static void check(struct lane *lane, struct item *item)
{
    const struct order *o = &item->order;
    const struct activity *a = activity_cache_find(create_of(lane)->activities, o->activity_id, INT64_MAX);

    item->doubt = REASON_NONE;
    if (!a) {
        doubt(item, REASON_ACTIVITY_UNKNOWN,
              lane_detail(lane, "activity %" PRId64 " is not in the database", o->activity_id));
        return;
    }
    item->pay_timeout_ms = a->pay_timeout_ms;
    if (a->state == ACTIVITY_REVIEW)
        doubt(item, REASON_ACTIVITY_UNKNOWN, lane_detail(lane, "activity %" PRId64 " is still in review", a->id));
    else if (a->state == ACTIVITY_SETTLED)
        doubt(item, REASON_ACTIVITY_SETTLED, lane_detail(lane, "activity %" PRId64 " is settled", a->id));
    else if (o->sku_id != a->sku_id)
        doubt(item, REASON_SKU_MISMATCH,
              lane_detail(lane, "sku_id is %" PRId64 " (expected %" PRId64 ")", o->sku_id, a->sku_id));
    else if (o->shard >= a->shards)
        doubt(item, REASON_MEMBER_RANGE,
              lane_detail(lane, "member shard is %d (expected 0 to %d)", o->shard, a->shards - 1));
    else if (o->epoch > a->epoch)
        doubt(item, REASON_MEMBER_RANGE,
              lane_detail(lane, "member epoch is %d (expected 1 to %d, the activity's)", o->epoch, a->epoch));
    else if (!amount_fits(o, a))
        doubt(item, REASON_AMOUNT_MISMATCH,
              lane_detail(lane, "amount is %" PRId64 " (expected %" PRId64 " x %d)", o->amount, a->unit_price,
                          o->quantity));
}

bool check_items(struct lane *lane, struct error *err)
{
    int64_t *ids = arena_alloc(lane->arena, lane->batch.count * sizeof *ids);
    size_t count = ids_to_read(lane, ids);

    if (count > 0 && !activity_cache_load(create_of(lane)->activities, lane->db, ids, count, err))
        return error_prefix(err, "reading activities");
    for (size_t i = 0; i < lane->batch.count; i++) {
        if (item_at(lane, i)->base.reason == REASON_NONE)
            check(lane, item_at(lane, i));
    }
    return true;
}
