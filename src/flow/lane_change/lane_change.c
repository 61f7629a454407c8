#include "orderd/lane_change.h"

#include <stdlib.h>

#include "orderd/check.h"
#include "orderd/log.h"
#include "orderd/relay.h"

struct lane_wish **lane_changing_list(struct lane_changing *changing, size_t count)
{
    if (count > changing->list_room) {
        changing->list = check_realloc(changing->list, count * sizeof *changing->list);
        changing->list_room = count;
    }
    return changing->list;
}

void lane_changing_end(struct lane_changing *changing)
{
    free(changing->list);
}

static void keep_alive(void *arg)
{
    struct error ignored;

    (void)!lane_pump(arg, &ignored); /* a lost consumer shows at the acknowledgement */
}

/* Whether it wrote anything: that shows more than a row that was found as it should be. */
static bool wrote(enum reason verdict)
{
    switch (verdict) {
    case REASON_PAID:
    case REASON_CANCELLED:
    case REASON_UNPAID:
    case REASON_NOT_DUE:
    case REASON_REFUND_SECOND:
    case REASON_REFUND_CLOSED:
    case REASON_REFUND_REJECTED:
        return true;
    default:
        return false;
    }
}

static bool run_all(struct lane *lane, struct lane_changing *changing, struct lane_wish **set, size_t count,
                    struct error *err)
{
    struct order_change *changes = changing->room;
    struct relay *relay = lane->shared->relay;
    struct order_change_options options = {
        .owner = relay_owner(relay),
        .lease_ms = relay_lease_ms(relay, lane->conf),
        .events = lane->conf->events_enabled,
        .metrics = lane->metrics,
        .keep_alive = keep_alive,
        .arg = lane,
    };
    struct local_messages committed;
    bool ok;

    local_messages_init(&committed);
    for (size_t i = 0; i < count; i++)
        changes[i] = set[i]->change;
    ok = order_change_run(lane->db, changes, count, &options, &committed, err);
    for (size_t i = 0; i < count && ok; i++) {
        set[i]->change.verdict = changes[i].verdict;
        lane_storm_fine(lane, wrote(changes[i].verdict));
    }
    if (ok)
        relay_offer(relay, &committed);
    local_messages_free(&committed);
    return ok;
}

/* Refused alone: its own fault, unless a storm is on. */
static bool alone(struct lane *lane, struct lane_wish *wish, const struct error *why, struct error *err)
{
    bool before = lane->storm.on;

    if (!lane_storm_refused(lane, wish->item, wish->change.order_no)) {
        wish->change.verdict = error_class_of(why) == ERROR_CLASS_PERMANENT ? REASON_CONSTRAINT : REASON_ERROR_UNKNOWN;
        wish->why = lane_detail(lane, "%s", why->text);
        return true;
    }
    *err = *why;
    if (before)
        return false;
    return error_prefix(err, "many different messages in a row failed alike; no more are taken until one succeeds");
}

static bool run_set(struct lane *lane, struct lane_changing *changing, struct lane_wish **set, size_t count,
                    struct error *err);

static bool halve(struct lane *lane, struct lane_changing *changing, struct lane_wish **set, size_t count,
                  const struct error *why, struct error *err)
{
    metric_add(lane->metrics, METRIC_BATCH_SPLITS, 1);
    log_event(LOG_EVENT_BATCH_SPLIT, LOG_INT("orders", count), LOG_ERR(why));
    keep_alive(lane);
    return run_set(lane, changing, set, count / 2, err) &&
           run_set(lane, changing, set + count / 2, count - count / 2, err);
}

static bool run_set(struct lane *lane, struct lane_changing *changing, struct lane_wish **set, size_t count,
                    struct error *err)
{
    struct error why = {0};

    if (run_all(lane, changing, set, count, &why))
        return true;
    switch (error_class_of(&why)) {
    case ERROR_CLASS_TRANSIENT:
    case ERROR_CLASS_OUTAGE:
    case ERROR_CLASS_SETUP:
        if (why.code == ERROR_DB_LOST)
            metric_add(lane->metrics, METRIC_COMMITS_UNKNOWN, 1);
        *err = why;
        return false;
    default:
        break;
    }
    if (!db_usable(lane->db)) {
        lane_close_db(lane);
        if (!lane_mend(lane, err))
            return false;
    }
    return count > 1 ? halve(lane, changing, set, count, &why, err) : alone(lane, set[0], &why, err);
}

/* Those without a verdict, moved to the front. */
static size_t keep_open(struct lane_wish **wishes, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (wishes[i]->change.verdict == REASON_NONE)
            wishes[n++] = wishes[i];
    }
    return n;
}

bool lane_change(struct lane *lane, struct lane_changing *changing, struct lane_wish **wishes, size_t count,
                 size_t at_once, struct error *err)
{
    size_t n = keep_open(wishes, count);

    if (lane->storm.on && n > 0) {
        /* One at a time asks whether it is over; another one each time, since the first may be at fault. */
        if (!run_set(lane, changing, &wishes[changing->probe++ % n], 1, err))
            return false;
        n = keep_open(wishes, n);
    }
    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < at_once ? n - done : at_once;
        keep_alive(lane);
        if (!run_set(lane, changing, wishes + done, some, err))
            return false;
    }
    return true;
}
