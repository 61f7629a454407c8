/* A page of orders in Redis and MySQL, read in turns until both belong together. */
#include "balance_private.h"

#include <stdlib.h>

#include "orderd/check.h"

/* An order changes at most twice in Redis (it comes, it goes), so this many turns end with the truth. */
#define TURNS_MAX 4

/* ---- what was read, as a case ---- */

static bool same_purchase(const struct scan *scan, const struct subject *s)
{
    const struct order *o = &s->row.order;

    return o->activity_id == scan->report->activity.id && o->shard == s->shard && o->user_id == s->seen.user &&
           o->user_seq == s->seen.user_seq && o->quantity == s->seen.quantity && o->amount == s->seen.amount;
}

static enum balance_mark mark_of(const struct subject *s)
{
    if (!s->marks)
        return BALANCE_MARK_UNREAD;
    if (!s->seen.marked)
        return BALANCE_MARK_NONE;
    return s->seen.mark_own ? BALANCE_MARK_OWN : BALANCE_MARK_OTHER;
}

static enum balance_held held_of(const struct subject *s)
{
    if (!s->seen.gone_valid || (s->seen.held && !s->seen.held_valid))
        return BALANCE_HELD_DAMAGED;
    return s->seen.held ? BALANCE_HELD : BALANCE_HELD_NOT;
}

/* By the clock of Redis: when the last message of it was sent, as far as we know. */
static int64_t sent_at(const struct scan *scan, const struct subject *s)
{
    return s->sent_age_ms == INT64_MAX ? s->seen.reserved_at : scan->redis_now - s->sent_age_ms;
}

static enum finding_kind kind_of(const struct scan *scan, const struct subject *s)
{
    const struct activity *a = &scan->report->activity;
    bool wrong = s->row.exists && s->row.order.shard >= a->shards;
    struct balance_case c = {
        .held = held_of(s),
        .gone = s->seen.gone,
        .mark = mark_of(s),
        .held_age_ms = scan->redis_now - s->seen.reserved_at,
        .worked_to = sent_at(scan, s) < scan->options->worked_to,
        .has_row = s->row.exists,
        .status = s->row.status,
        .same = !s->seen.held || !s->row.exists || same_purchase(scan, s),
        .decided_age_ms = s->row.decided_age_ms,
        .wrong_shard = wrong,
        .current_epoch = !wrong && s->row.exists && s->row.order.epoch == scan->audits[s->shard].epoch,
        .keeps_mark = a->reservations && s->row.exists && s->row.status == ORDER_CLOSED && !a->rebuy_after_release,
        .message = s->message,
        .recoveries = s->recoveries,
        .sent_age_ms = s->sent_age_ms,
    };

    return balance_classify(&c, &scan->options->window);
}

/* ---- Redis ---- */

static bool same_in_redis(const struct subject *s, const struct stock_seen *b)
{
    const struct stock_seen *a = &s->seen;
    bool held = a->held == b->held && a->held_valid == b->held_valid && a->user == b->user &&
                a->user_seq == b->user_seq && a->quantity == b->quantity && a->amount == b->amount &&
                a->epoch == b->epoch && a->reserved_at == b->reserved_at;

    return held && a->gone == b->gone && a->gone_valid == b->gone_valid &&
           (!s->marks || (a->marked == b->marked && a->mark_own == b->mark_own));
}

static size_t list_sought(const struct scan *scan, bool doubtful, struct stock_sought *sought, struct subject **who)
{
    size_t n = 0;

    for (size_t i = 0; i < scan->page.count; i++) {
        struct subject *s = &scan->page.list[i];

        if (s->ignored || (doubtful && !s->doubtful))
            continue;
        who[n] = s;
        sought[n++] = (struct stock_sought){s->shard, slice_of(s->order_no), s->marks ? s->row.order.user_id : 0,
                                            s->marks ? s->row.order.user_seq : 0};
    }
    return n;
}

bool compare_look(struct scan *scan, bool doubtful, struct error *err)
{
    size_t room = scan->page.count + 1, n;
    struct stock_sought *sought = check_calloc(room, sizeof *sought);
    struct stock_seen *seen = check_calloc(room, sizeof *seen);
    struct subject **who = check_calloc(room, sizeof *who);
    int64_t now;
    bool ok;

    n = list_sought(scan, doubtful, sought, who);
    ok = stock_look(scan->kv, scan->report->activity.id, sought, n, seen, &now, err);
    for (size_t i = 0; i < n && ok; i++) {
        who[i]->proven = same_in_redis(who[i], &seen[i]);
        who[i]->seen = seen[i];
    }
    if (ok && now > scan->redis_now)
        scan->redis_now = now;
    free(who);
    free(seen);
    free(sought);
    return ok;
}

/* ---- in turns ---- */

/* What nobody needs to mend is reported as it was seen; the rest must be proven. */
static size_t doubt(struct scan *scan)
{
    size_t doubtful = 0;

    for (size_t i = 0; i < scan->page.count; i++) {
        struct subject *s = &scan->page.list[i];

        if (s->proven || s->ignored)
            continue;
        s->kind = kind_of(scan, s);
        s->doubtful = finding_mender(s->kind) != FINDING_MENDER_NOBODY;
        doubtful += s->doubtful;
    }
    return doubtful;
}

/* Redis again, after MySQL: those that say the same are proven. Answers how many are not. */
static size_t prove(struct scan *scan)
{
    size_t changed = 0;

    for (size_t i = 0; i < scan->page.count; i++) {
        struct subject *s = &scan->page.list[i];

        if (!s->doubtful)
            continue;
        s->doubtful = !s->proven;
        changed += s->doubtful;
    }
    scan->report->rechecked += (int64_t)changed;
    return changed;
}

/* An order that would not keep still: it is busy, so it is in flight. */
static void give_up(struct scan *scan)
{
    for (size_t i = 0; i < scan->page.count; i++) {
        struct subject *s = &scan->page.list[i];

        if (s->doubtful)
            s->kind = FINDING_NONE;
        s->doubtful = false;
    }
}

bool compare_settle(struct scan *scan, bool redis_last, struct error *err)
{
    for (size_t i = 0; i < scan->page.count; i++)
        scan->page.list[i].proven = false;
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        if (doubt(scan) == 0)
            return true;
        if (redis_last) {
            if (!rows_read(scan, true, err))
                return false;
            /* What MySQL said now may settle it; what is doubtful still is to be proven. */
            if (doubt(scan) == 0)
                return true;
        }
        if (!compare_look(scan, true, err))
            return false;
        redis_last = true;
        if (prove(scan) == 0)
            return true;
    }
    give_up(scan);
    return true;
}
