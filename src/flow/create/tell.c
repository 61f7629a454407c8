/* What is committed together with new orders: their timers, and the event that tells of them.
 *
 * A COMMIT whose answer was lost runs again, perhaps with other neighbours. That makes no second timer and no second
 * event: if the first took effect, each of its orders answers 1062, the whole second transaction goes with all it
 * wrote, and only those that have no row yet are tried again. So every order stands in one timer, that of the
 * transaction that created it. The messages of a COMMIT that took effect unheard are not handed to the relay; it finds
 * them when their lease has ended. */
#include "create.h"

#include <stdlib.h>

#include "orderd/order_event.h"
#include "orderd/order_timer.h"
#include "orderd/relay.h"

static const char *owner(const struct lane *lane)
{
    return relay_owner(lane->shared->relay);
}

static int by_timeout(const void *a, const void *b)
{
    const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;

    if (x->pay_timeout_ms != y->pay_timeout_ms)
        return x->pay_timeout_ms < y->pay_timeout_ms ? -1 : 1;
    return item_by_order_no(a, b);
}

/* Those with the same pay time-out beside each other. Mostly they all have the same, and are sorted already. */
static struct item **group(struct lane *lane, struct item **set, size_t count)
{
    struct item **sorted = arena_alloc(lane->arena, count * sizeof *sorted);
    bool mixed = false;

    for (size_t i = 0; i < count; i++) {
        sorted[i] = set[i];
        mixed = mixed || set[i]->pay_timeout_ms != set[0]->pay_timeout_ms;
    }
    if (mixed)
        qsort(sorted, count, sizeof *sorted, by_timeout);
    return sorted;
}

static void add_timers(struct lane *lane, struct item **set, size_t count, struct local_messages *told)
{
    const char **numbers = arena_alloc(lane->arena, count * sizeof *numbers);
    struct item **sorted = group(lane, set, count);
    size_t first = 0;

    for (size_t i = 0; i < count; i++)
        numbers[i] = sorted[i]->order.order_no;
    for (size_t i = 1; i <= count; i++) {
        if (i < count && sorted[i]->pay_timeout_ms == sorted[first]->pay_timeout_ms)
            continue;
        order_timer_add(told, numbers + first, i - first, sorted[first]->pay_timeout_ms, owner(lane));
        first = i;
    }
}

/* expires_at is about what the row has: the database computes that by its own clock, which decides. Ours may be wrong,
 * and a buyer who is told it would pay too late. */
static void add_events(struct lane *lane, struct item **set, size_t count, struct local_messages *told)
{
    struct order_event_entry *entries = arena_zalloc(lane->arena, count * sizeof *entries);
    int64_t now = db_clock_ms(lane->db);

    for (size_t i = 0; i < count; i++) {
        entries[i].order = &set[i]->order;
        entries[i].expires_at = now + set[i]->pay_timeout_ms;
    }
    for (size_t i = 0; i < count; i += ORDER_LIST_MAX) {
        size_t some = count - i < ORDER_LIST_MAX ? count - i : ORDER_LIST_MAX;

        order_event_add(told, ORDER_EVENT_CREATED, entries + i, some, now, owner(lane));
    }
}

void tell_created(struct lane *lane, struct item **set, size_t count, struct local_messages *told)
{
    struct strbuf *sql = &create_of(lane)->sql;

    add_timers(lane, set, count, told);
    if (lane->conf->events_enabled)
        add_events(lane, set, count, told);
    local_message_add_insert(lane->db, sql, told, relay_lease_ms(lane->shared->relay, lane->conf));
}
