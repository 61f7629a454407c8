/* What the database knows goes into the new shards; nothing moves where a shard knows it already, so every pass may be
 * repeated. */
#include "activity_rebuild_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/fault.h"

/* ---- counting ---- */

static bool count_page(struct rebuild *r, struct rebuild_order *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].shard < r->how->activity->shards)
            r->live[list[i].shard] += list[i].quantity;
    }
    r->out->live_orders += (int64_t)count;
    rebuild_progress(r, REBUILD_COUNTING);
    return true;
}

static void begin_count(struct rebuild *r)
{
    memset(r->live, 0, (size_t)r->how->activity->shards * sizeof *r->live);
    r->out->live_orders = 0;
}

bool rebuild_count_live(struct rebuild *r)
{
    begin_count(r);
    return rebuild_live_rows(r, count_page);
}

/* ---- adopting ---- */

static struct stock_row row_of(const struct rebuild *r, const struct rebuild_order *o)
{
    return (struct stock_row){.activity = r->how->activity->id,
                              .shard = o->shard,
                              .order_no = slice_of(o->order_no),
                              .user = o->user,
                              .user_seq = o->user_seq,
                              .quantity = o->quantity,
                              .amount = o->amount,
                              .epoch = o->epoch,
                              .reserved_at = o->reserved_at,
                              .as = o->as};
}

static bool judge(struct rebuild *r, const struct rebuild_order *o, const struct stock_adopted *answer)
{
    switch (answer->code) {
    case STOCK_ADOPT_ADOPTED:
    case STOCK_ADOPT_HELD:
    case STOCK_ADOPT_SOLD:
    case STOCK_ADOPT_MARKED:
        return true;
    case STOCK_ADOPT_SHORT:
    case STOCK_ADOPT_NEWER_EPOCH: /* its message lied, or MySQL was set back: one row must not keep the sale away */
    case STOCK_ADOPT_CONFLICT:    /* what was kept became a row of another purchase meanwhile */
        r->out->short_orders++;
        return true;
    case STOCK_ADOPT_GONE: /* closed since it was read, and its return was quicker: nothing is to be adopted */
        return true;
    default:
        return error_set(r->err, ERROR_REFUSED, "order %s in shard %" PRId32 ": %s (%s)", o->order_no, o->shard,
                         stock_code_sentence(STOCK_SCRIPT_ADOPT, answer->code), answer->note);
    }
}

static bool adopt(struct rebuild *r, const struct rebuild_order *list, size_t count)
{
    struct stock_row *rows = check_calloc(count, sizeof *rows);
    struct stock_adopted *answers = check_calloc(count, sizeof *answers);
    struct error *errs = check_calloc(count, sizeof *errs);
    size_t n = 0;
    bool ok;

    for (size_t i = 0; i < count; i++) {
        if (list[i].shard <
            r->how->activity->shards) /* others are foreign hands' work: `orderctl reconcile` names them */
            rows[n++] = row_of(r, &list[i]);
    }
    ok = n == 0 || stock_adopt_many(r->how->kv, rows, n, answers, errs, r->err);
    for (size_t i = 0, at = 0; i < count && ok; i++) {
        if (list[i].shard >= r->how->activity->shards)
            continue;
        if (errs[at].code != ERROR_NONE) {
            *r->err = errs[at];
            ok = error_prefix(r->err, "order %s", list[i].order_no);
        } else {
            ok = judge(r, &list[i], &answers[at]);
        }
        at++;
    }
    free(rows);
    free(answers);
    free(errs);
    FAULT(REBUILD_AFTER_ADOPT);
    return ok;
}

static bool adopt_live(struct rebuild *r, struct rebuild_order *list, size_t count)
{
    (void)count_page(r, list, count);
    rebuild_progress(r, REBUILD_ADOPTING);
    return adopt(r, list, count);
}

static bool adopt_closed(struct rebuild *r, struct rebuild_order *list, size_t count)
{
    r->out->closed_orders += (int64_t)count;
    rebuild_progress(r, REBUILD_ADOPTING);
    return adopt(r, list, count);
}

bool rebuild_adopt_rows(struct rebuild *r)
{
    begin_count(r);
    r->out->closed_orders = r->out->short_orders = 0;
    return rebuild_live_rows(r, adopt_live) &&
           (r->how->activity->rebuy_after_release || rebuild_closed_rows(r, adopt_closed));
}

bool rebuild_adopt_kept(struct rebuild *r, int32_t shard)
{
    struct rebuild_order page[REBUILD_PAGE];
    size_t count = 0;

    for (size_t i = 0; i < r->kept_count; i++) {
        if (r->kept[i].shard == shard)
            page[count++] = r->kept[i];
        if (count == REBUILD_PAGE || (i + 1 == r->kept_count && count > 0)) {
            if (!adopt(r, page, count))
                return false;
            count = 0;
        }
    }
    return true;
}
