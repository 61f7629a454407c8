/* What the difference between Redis and MySQL about one order means. Pure. */
#include "orderd/balance.h"

struct balance_window balance_window_of(const struct conf *conf)
{
    int64_t tries = conf->walk_in_flight + conf_retry_total(conf); /* what a message sent again may take */

    return (struct balance_window){
        .in_flight_ms = conf->walk_in_flight,
        .recover_ms = conf->walk_recover_backoff > tries ? conf->walk_recover_backoff : tries,
    };
}

/* The back-off must outlast a message that waits in a queue, or three lost minutes would end in a refusal. */
static int64_t recovery_wait(const struct balance_case *c, const struct balance_window *w)
{
    int64_t first = w->recover_ms > 0 ? w->recover_ms : w->in_flight_ms;

    return first << (c->recoveries < 16 ? c->recoveries - 1 : 15);
}

/* Sent again before: it is lost again only when its turn in the queue is over too. */
static enum finding_kind after_recovery(const struct balance_case *c, const struct balance_window *w)
{
    int most = w->recover_max > 0 ? w->recover_max : BALANCE_RECOVER_MAX;

    if (!c->worked_to || c->sent_age_ms < recovery_wait(c, w))
        return FINDING_RECOVERING;
    return c->recoveries >= most ? FINDING_UNRECOVERABLE : FINDING_LOST_MESSAGE;
}

static enum finding_kind without_row(const struct balance_case *c, const struct balance_window *w)
{
    if (c->message == BALANCE_MESSAGE_PENDING)
        return FINDING_MESSAGE_WAITING;
    if (c->message == BALANCE_MESSAGE_QUARANTINED)
        return FINDING_MESSAGE_QUARANTINED;
    if (c->recoveries > 0)
        return after_recovery(c, w);
    if (c->held_age_ms < w->in_flight_ms || c->sent_age_ms < w->in_flight_ms)
        return FINDING_IN_FLIGHT;
    return c->worked_to ? FINDING_LOST_MESSAGE : FINDING_BACKLOG;
}

static enum finding_kind by_mark(const struct balance_case *c)
{
    switch (c->mark) {
    case BALANCE_MARK_NONE:
        return FINDING_MARK_MISSING;
    case BALANCE_MARK_OTHER:
        return FINDING_MARK_TAKEN;
    case BALANCE_MARK_OWN:
    case BALANCE_MARK_UNREAD:
        break;
    }
    return FINDING_NONE;
}

static enum finding_kind held_with_row(const struct balance_case *c, const struct balance_window *w)
{
    bool fresh = c->decided_age_ms < w->in_flight_ms;

    if (!c->same)
        return FINDING_OTHER_CONTENT;
    switch (c->status) {
    case ORDER_PENDING:
        return by_mark(c);
    case ORDER_PAID:
        return fresh ? FINDING_EFFECT_WAITING : FINDING_SETTLE_DUE;
    default:
        return fresh ? FINDING_EFFECT_WAITING : FINDING_RETURN_DUE;
    }
}

static enum finding_kind live_not_held(const struct balance_case *c)
{
    switch (c->gone) {
    case STOCK_GONE_NONE:
        return FINDING_UNKNOWN_RESERVATION;
    case STOCK_GONE_SOLD:
        return c->status == ORDER_PAID ? by_mark(c) : FINDING_SOLD_NOT_PAID;
    default:
        return FINDING_RETURNED_BUT_LIVE;
    }
}

/* What a rebuild left behind gave its units back by not being adopted, and needs no trace. */
static enum finding_kind done_not_held(const struct balance_case *c, const struct balance_window *w)
{
    if (c->gone == STOCK_GONE_SOLD)
        return FINDING_SOLD_NOT_PAID;
    if (c->gone == STOCK_GONE_NONE && c->current_epoch)
        return c->decided_age_ms < w->in_flight_ms ? FINDING_EFFECT_WAITING : FINDING_RETURN_FORGOTTEN;
    /* Another order's mark keeps the buyer from buying just as well. */
    return c->keeps_mark && c->mark == BALANCE_MARK_NONE ? FINDING_MARK_MISSING : FINDING_NONE;
}

enum finding_kind balance_classify(const struct balance_case *c, const struct balance_window *w)
{
    if (c->held == BALANCE_HELD_DAMAGED || (c->held == BALANCE_HELD && c->gone != STOCK_GONE_NONE))
        return FINDING_LEDGER_DAMAGED; /* no script leaves an order in both hashes */
    if (c->held == BALANCE_HELD)
        return c->has_row ? held_with_row(c, w) : without_row(c, w);
    if (c->wrong_shard)
        return order_status_live(c->status) ? FINDING_WRONG_SHARD : FINDING_NONE;
    if (!c->has_row)
        return c->gone == STOCK_GONE_SOLD ? FINDING_SOLD_NOT_PAID : FINDING_NONE;
    return order_status_live(c->status) ? live_not_held(c) : done_not_held(c, w);
}
