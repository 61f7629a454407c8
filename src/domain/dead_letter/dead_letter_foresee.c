/* What Redis says of a letter that qualifies by MySQL alone. */
#include "dead_letter_row.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/activity_store.h"
#include "orderd/check.h"
#include "orderd/dead_letter_renew.h"
#include "orderd/stock.h"

void dead_letter_refuse(struct dead_letter_verdict *v, const char *fmt, ...)
{
    va_list ap;

    v->fate = DEAD_LETTER_REFUSE;
    va_start(ap, fmt);
    vsnprintf(v->why, sizeof v->why, fmt, ap);
    va_end(ap);
}

/* ---- foresight ---- */

bool dead_letter_read_activity(struct db *db, struct dead_letter_verdict *v, int64_t id, struct activity *out, bool *ok,
                               struct error *err)
{
    *ok = activity_store_get(db, id, out, err);
    if (*ok && out->reservations)
        return true;
    if (!*ok && err->code != ERROR_REFUSED)
        return false;
    if (*ok)
        dead_letter_refuse(
            v, "the web tier of activity %" PRId64 " takes stock by itself: the shop has to sell it anew", id);
    else
        dead_letter_refuse(v, "there is no activity %" PRId64, id);
    error_clear(err);
    *ok = true;
    return false;
}

/* Units of the buyer's live orders. */
static bool read_bought(struct db *db, const struct order *o, int64_t *units, struct error *err)
{
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_addf(&sql,
                "SELECT CAST(COALESCE(SUM(quantity),0) AS SIGNED) FROM orders WHERE activity_id=%" PRId64
                " AND live_user=%" PRId64,
                o->activity_id, o->user_id);
    ok = db_query_i64(db, (struct slice){sql.data, sql.len}, 0, units, err);
    strbuf_release(&sql);
    return ok;
}

static bool is_over(const struct activity *a)
{
    return a->state == ACTIVITY_ENDED || a->state == ACTIVITY_SETTLED;
}

/* Where the rejected order's own units are not given back yet, they still count against its buyer, and are not on sale.
 */
static bool look_for_return(struct kv *kv, const struct order *o, bool *waits, struct error *err)
{
    struct stock_sought sought = {o->shard, slice_of(o->order_no), 0, 0};
    struct stock_seen seen;
    int64_t now;

    if (!stock_look(kv, o->activity_id, &sought, 1, &seen, &now, err))
        return false;
    *waits = seen.held && seen.user == o->user_id;
    return true;
}

/* In the order in which deduct tests. */
static void judge_shard(struct dead_letter_verdict *v, const struct activity *a, const struct stock_audit *s,
                        int64_t bought, bool waits)
{
    const struct order *o = &v->renewal.last.order;

    if (is_over(a) || (s->code == STOCK_AUDIT_PRESENT && s->now >= s->ends_at))
        dead_letter_refuse(v, "the sale is over");
    else if (s->code != STOCK_AUDIT_PRESENT)
        dead_letter_refuse(v, "shard %" PRId32 " of activity %" PRId64 ": %s", o->shard, a->id,
                           stock_code_sentence(STOCK_SCRIPT_AUDIT, s->code));
    else if (s->epoch != a->epoch)
        dead_letter_refuse(v, "activity %" PRId64 " is being rebuilt; try it again after that", a->id);
    else if (s->now < s->starts_at)
        dead_letter_refuse(v, "the sale has not begun");
    else if (s->paused)
        dead_letter_refuse(v, "the sale is paused");
    else if (waits)
        dead_letter_refuse(v, "the units of order %s are not given back yet; a running orderd does that", o->order_no);
    else if (bought + o->quantity > s->limit)
        dead_letter_refuse(v,
                           "buyer has an order: %" PRId64 " units, and %" PRId32 " more are over the limit of %" PRId64,
                           bought, o->quantity, s->limit);
    else if (s->left < o->quantity)
        dead_letter_refuse(v, "sold out since: shard %" PRId32 " has %" PRId64 " units left", o->shard, s->left);
}

static bool foresee_renewal(struct db *db, struct kv *kv, struct dead_letter_verdict *v, struct error *err)
{
    const struct order *o = &v->renewal.last.order;
    struct activity activity;
    struct stock_audit shard;
    int64_t bought;
    bool ok, waits;

    if (!dead_letter_read_activity(db, v, o->activity_id, &activity, &ok, err))
        return ok;
    if (v->renewal.stage == ORDER_RENEWAL_BEGUN)
        return true; /* it may have its units: only the deduct tells */
    if (!stock_audit(kv, o->activity_id, o->shard, &shard, err) || !read_bought(db, o, &bought, err) ||
        !look_for_return(kv, o, &waits, err))
        return false;
    judge_shard(v, &activity, &shard, bought, waits);
    return true;
}

/* ---- its own number again ---- */

/* What a shard has of the number may be another purchase's, whose body was forged or mistyped: nothing of that is to
 * move. An edited body was written by a person, so it has to agree in the epoch too. */
static void judge_holder(struct dead_letter_verdict *v, int shard, const struct stock_seen *seen, bool edited)
{
    const struct order *o = &v->order;

    if (seen->held && (!seen->held_valid || seen->user != o->user_id || seen->quantity != o->quantity ||
                       seen->amount != o->amount || (edited && seen->epoch != o->epoch)))
        dead_letter_refuse(v,
                           "Redis holds %s for user %" PRId64 ", %" PRId64 " units for %" PRId64 " in epoch %" PRId64
                           ", which is not what the body says",
                           o->order_no, seen->user, seen->quantity, seen->amount, seen->epoch);
    else if (seen->held && shard != o->shard)
        dead_letter_refuse(v, "Redis holds %s in shard %d, which is not what the body says", o->order_no, shard);
    else if (!seen->gone_valid || seen->gone != STOCK_GONE_NONE)
        dead_letter_refuse(v, "Redis is done with order %s: %s", o->order_no,
                           seen->gone_valid ? stock_gone_name(seen->gone) : "its word is none of ours");
}

/* In all shards, whatever the body says. */
static bool look_for_holder(struct kv *kv, struct dead_letter_verdict *v, int shards, bool edited, struct error *err)
{
    struct stock_sought *sought = check_calloc((size_t)shards + 1, sizeof *sought);
    struct stock_seen *seen = check_calloc((size_t)shards + 1, sizeof *seen);
    int count = shards;
    int64_t now;
    bool ok;

    for (int i = 0; i < shards; i++)
        sought[i] = (struct stock_sought){i, slice_of(v->order.order_no), 0, 0};
    if (v->order.shard >= shards)
        sought[count++] = (struct stock_sought){v->order.shard, slice_of(v->order.order_no), 0, 0};
    ok = stock_look(kv, v->order.activity_id, sought, (size_t)count, seen, &now, err);
    for (int i = 0; ok && i < count && v->fate != DEAD_LETTER_REFUSE; i++)
        judge_holder(v, sought[i].shard, &seen[i], edited);
    free(sought);
    free(seen);
    return ok;
}

/* Without the activity, or where its web tier keeps no reservations, Redis cannot say whose it is. */
static bool foresee_sending(struct db *db, struct kv *kv, struct dead_letter_verdict *v, bool edited, struct error *err)
{
    struct activity activity;

    if (!activity_store_get(db, v->order.activity_id, &activity, err)) {
        if (err->code != ERROR_REFUSED)
            return false;
        error_clear(err);
        return true;
    }
    return !activity.reservations || look_for_holder(kv, v, activity.shards, edited, err);
}

bool dead_letter_foresee(struct db *db, struct kv *kv, const struct dead_letter_row *row, struct dead_letter_verdict *v,
                         struct error *err)
{
    if (v->fate == DEAD_LETTER_RENEW)
        return foresee_renewal(db, kv, v, err);
    if (v->fate == DEAD_LETTER_SEND && v->is_order)
        return foresee_sending(db, kv, v, row->body_id != 0, err);
    return true;
}
