#include "create.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/order_store.h"

static int by_tag(const struct item *a, const struct item *b)
{
    return (a->base.delivery.tag > b->base.delivery.tag) - (a->base.delivery.tag < b->base.delivery.tag);
}

static int compare_order_no(const struct item *a, const struct item *b)
{
    return strcmp(a->order.order_no, b->order.order_no);
}

static int compare_mark(const struct order *a, const struct order *b)
{
    if (a->activity_id != b->activity_id)
        return a->activity_id < b->activity_id ? -1 : 1;
    if (a->user_id != b->user_id)
        return a->user_id < b->user_id ? -1 : 1;
    return (a->user_seq > b->user_seq) - (a->user_seq < b->user_seq);
}

int item_by_order_no(const void *a, const void *b)
{
    const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;
    int order = compare_order_no(x, y);

    return order ? order : by_tag(x, y);
}

int item_by_mark(const void *a, const void *b)
{
    const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;
    int order = compare_mark(&x->order, &y->order);

    return order ? order : by_tag(x, y);
}

bool item_same_order_no(const struct item *a, const struct item *b)
{
    return compare_order_no(a, b) == 0;
}

bool item_same_mark(const struct item *a, const struct item *b)
{
    return compare_mark(&a->order, &b->order) == 0;
}

struct resolving {
    struct lane *lane;
    struct item **by_order_no, **by_mark;
    size_t count;
};

/* The first index whose item does not come before the row. */
static size_t first_order_no(const struct resolving *r, const char *order_no)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp(r->by_order_no[mid]->order.order_no, order_no) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static size_t first_mark(const struct resolving *r, const struct order *order)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (compare_mark(&r->by_mark[mid]->order, order) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void decide_same_number(struct lane *lane, struct item *item, const struct order_row *row)
{
    char differences[320];

    if (order_same_content(&item->order, &row->order)) {
        item_decide(lane, item, REASON_DUPLICATE, "");
        return;
    }
    order_differences(&item->order, "the message", &row->order, "the stored order", false, differences,
                      sizeof differences);
    item_decide(lane, item, REASON_ORDER_CONFLICT, lane_detail(lane, "%s", differences));
}

static void take_row(void *arg, const struct order_row *row)
{
    struct resolving *r = arg;

    for (size_t i = first_order_no(r, row->order.order_no);
         i < r->count && strcmp(r->by_order_no[i]->order.order_no, row->order.order_no) == 0; i++) {
        if (r->by_order_no[i]->base.reason == REASON_NONE)
            decide_same_number(r->lane, r->by_order_no[i], row);
    }
    if (row->status != ORDER_PENDING && row->status != ORDER_PAID)
        return;
    for (size_t i = first_mark(r, &row->order); i < r->count && compare_mark(&r->by_mark[i]->order, &row->order) == 0;
         i++) {
        struct item *item = r->by_mark[i];

        /* Its own row says "duplicate", and comes in this answer too: both queries of the UNION find it. Other doubts
         * (foreign bytes) go first: they move no stock. */
        if (item->base.reason != REASON_NONE || item->doubt != REASON_NONE ||
            strcmp(item->order.order_no, row->order.order_no) == 0)
            continue;
        item->doubt = REASON_BUYER_HAS_ORDER;
        item->base.detail = lane_detail(r->lane, "live order %s", row->order.order_no);
    }
}

bool resolve(struct lane *lane, struct item **set, size_t count, struct error *err)
{
    size_t bytes = count * sizeof *set;
    struct resolving r = {lane, arena_alloc(lane->arena, bytes), arena_alloc(lane->arena, bytes), count};
    const struct order **orders = arena_alloc(lane->arena, count * sizeof *orders);

    if (count == 0)
        return true;
    memcpy(r.by_order_no, set, bytes);
    memcpy(r.by_mark, set, bytes);
    qsort(r.by_order_no, count, sizeof *set, item_by_order_no);
    qsort(r.by_mark, count, sizeof *set, item_by_mark);
    for (size_t i = 0; i < count; i++)
        orders[i] = &set[i]->order;
    if (!order_store_find(lane->db, orders, count, take_row, &r, err))
        return error_prefix(err, "reading existing orders");
    /* Only now: an order number's own row, wherever it stood in the answer, comes before its buyer's other order. */
    for (size_t i = 0; i < count; i++) {
        if (set[i]->base.reason == REASON_NONE && set[i]->doubt != REASON_NONE)
            item_decide(lane, set[i], set[i]->doubt, set[i]->base.detail);
    }
    return true;
}
