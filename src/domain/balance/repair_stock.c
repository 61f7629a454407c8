/* What is mended by a script in Redis. */
#include <inttypes.h>
#include <stdlib.h>

#include "orderd/check.h"
#include "repair_private.h"

/* An error of one call: of the connection it ends everything, of this key alone it is told. */
static bool told(struct repair *r, size_t i, const struct error *own)
{
    if (own->code == ERROR_NONE)
        return false;
    repair_says(r, r->picked[i], BALANCE_MENDED_NOT, "%.180s", own->text);
    return true;
}

/* ---- return ---- */

static void say_returned(struct repair *r, size_t i, const struct stock_returned *a)
{
    size_t finding = r->picked[i];

    switch (a->code) {
    case STOCK_RETURN_GIVEN_BACK:
    case STOCK_RETURN_CUT:
        repair_says(r, finding, BALANCE_MENDED,
                    "%" PRId64 " units given back, %" PRId64 " forfeited, %" PRId64 " over the cap", a->back,
                    a->forfeited, a->dropped);
        break;
    case STOCK_RETURN_REFUSED:
        repair_says(r, finding, BALANCE_MENDED, "it held nothing; its number is refused for good now");
        break;
    case STOCK_RETURN_ALREADY:
        repair_says(r, finding, BALANCE_MENDED_BEFORE, "it was given back before (%s)", a->note);
        break;
    default:
        repair_says(r, finding, BALANCE_MENDED_NOT, "%s", stock_code_sentence(STOCK_SCRIPT_RETURN, a->code));
        break;
    }
}

/* As it was decided: a rejected order never was live, so its mark goes; else the activity says. */
static struct stock_giveback giveback_of(const struct repair *r, const struct subject *s)
{
    const struct row *row = &s->row;

    return (struct stock_giveback){
        .activity = r->activity->id,
        .shard = s->shard,
        .order_no = slice_of(s->order_no),
        .units_back = row->units_returned,
        .units_forfeited = row->units_forfeited,
        .epoch = row->order.epoch,
        .free_mark = row->status == ORDER_REJECTED || r->activity->rebuy_after_release,
        .reservations = r->activity->reservations,
    };
}

bool repair_returns(struct repair *r)
{
    struct stock_giveback *list = check_calloc(r->picked_count, sizeof *list);
    struct stock_returned *answers = check_calloc(r->picked_count, sizeof *answers);
    struct error *errs = check_calloc(r->picked_count, sizeof *errs);
    bool ok;

    for (size_t i = 0; i < r->picked_count; i++)
        list[i] = giveback_of(r, repair_subject(r, i));
    ok = stock_return_many(r->kv, list, r->picked_count, answers, errs, r->err);
    for (size_t i = 0; i < r->picked_count && ok; i++) {
        if (!told(r, i, &errs[i]))
            say_returned(r, i, &answers[i]);
    }
    free(errs);
    free(answers);
    free(list);
    return ok;
}

/* ---- settle ---- */

static void say_settled(struct repair *r, size_t i, const struct stock_settled *a)
{
    if (a->code == STOCK_SETTLE_SETTLED)
        repair_says(r, r->picked[i], BALANCE_MENDED, "%" PRId64 " units are sold now", a->units);
    else if (a->code == STOCK_SETTLE_ALREADY)
        repair_says(r, r->picked[i], BALANCE_MENDED_BEFORE, "it was settled before");
    else
        repair_says(r, r->picked[i], BALANCE_MENDED_NOT, "%s", stock_code_sentence(STOCK_SCRIPT_SETTLE, a->code));
}

bool repair_settlements(struct repair *r)
{
    struct stock_paid *list = check_calloc(r->picked_count, sizeof *list);
    struct stock_settled *answers = check_calloc(r->picked_count, sizeof *answers);
    struct error *errs = check_calloc(r->picked_count, sizeof *errs);
    bool ok;

    for (size_t i = 0; i < r->picked_count; i++) {
        const struct subject *s = repair_subject(r, i);

        list[i] = (struct stock_paid){r->activity->id, s->shard, slice_of(s->order_no)};
    }
    ok = stock_settle_many(r->kv, list, r->picked_count, answers, errs, r->err);
    for (size_t i = 0; i < r->picked_count && ok; i++) {
        if (!told(r, i, &errs[i]))
            say_settled(r, i, &answers[i]);
    }
    free(errs);
    free(answers);
    free(list);
    return ok;
}

/* ---- adopt ---- */

static void say_adopted(struct repair *r, size_t i, const struct stock_adopted *a)
{
    size_t finding = r->picked[i];
    bool mark = r->findings[finding].kind == FINDING_MARK_MISSING;

    switch (a->code) {
    case STOCK_ADOPT_ADOPTED:
        repair_says(r, finding, BALANCE_MENDED,
                    "%" PRId64 " units taken from the forfeited, %" PRId64 " from those left", a->from_forfeited,
                    a->from_left);
        break;
    case STOCK_ADOPT_HELD:
    case STOCK_ADOPT_SOLD:
    case STOCK_ADOPT_MARKED:
        if (a->note[0])
            repair_says(r, finding, BALANCE_MENDED_NOT, "another order has its buyer's mark by now");
        else
            repair_says(r, finding, mark ? BALANCE_MENDED : BALANCE_MENDED_BEFORE, "%s",
                        mark ? "the mark is set" : "Redis knows it");
        break;
    default:
        repair_says(r, finding, BALANCE_MENDED_NOT, "%s%s%s%s", stock_code_sentence(STOCK_SCRIPT_ADOPT, a->code),
                    a->note[0] ? " (" : "", a->note, a->note[0] ? ")" : "");
        break;
    }
}

static struct stock_row row_of(const struct repair *r, const struct subject *s)
{
    const struct order *o = &s->row.order;

    return (struct stock_row){
        .activity = r->activity->id,
        .shard = o->shard,
        .order_no = slice_of(s->order_no),
        .user = o->user_id,
        .user_seq = o->user_seq,
        .quantity = o->quantity,
        .amount = o->amount,
        .epoch = o->epoch,
        .reserved_at = o->reserved_at,
        .as = s->row.status == ORDER_PENDING ? STOCK_ADOPT_AS_PENDING
              : s->row.status == ORDER_PAID  ? STOCK_ADOPT_AS_PAID
                                             : STOCK_ADOPT_AS_CLOSED,
    };
}

bool repair_adoptions(struct repair *r)
{
    struct stock_row *list = check_calloc(r->picked_count, sizeof *list);
    struct stock_adopted *answers = check_calloc(r->picked_count, sizeof *answers);
    struct error *errs = check_calloc(r->picked_count, sizeof *errs);
    bool ok;

    for (size_t i = 0; i < r->picked_count; i++)
        list[i] = row_of(r, repair_subject(r, i));
    ok = stock_adopt_many(r->kv, list, r->picked_count, answers, errs, r->err);
    for (size_t i = 0; i < r->picked_count && ok; i++) {
        if (!told(r, i, &errs[i]))
            say_adopted(r, i, &answers[i]);
    }
    free(errs);
    free(answers);
    free(list);
    return ok;
}

/* ---- shards ---- */

static void say_extended(struct repair *r, size_t i, const struct stock_extended *a)
{
    if (a->code == STOCK_EXTEND_EXTENDED || a->code == STOCK_EXTEND_ALREADY)
        repair_says(r, r->picked[i], BALANCE_MENDED, "all keys of the shard end together, and late enough");
    else
        repair_says(r, r->picked[i], BALANCE_MENDED_NOT, "%s", stock_code_sentence(STOCK_SCRIPT_EXTEND, a->code));
}

bool repair_lives(struct repair *r)
{
    struct stock_extend *list = check_calloc(r->picked_count, sizeof *list);
    struct stock_extended *answers = check_calloc(r->picked_count, sizeof *answers);
    struct error *errs = check_calloc(r->picked_count, sizeof *errs);
    bool ok;

    for (size_t i = 0; i < r->picked_count; i++) {
        const struct balance_finding *f = &r->findings[r->picked[i]];

        list[i] = (struct stock_extend){
            .activity = f->activity_id, .shard = f->shard, .expire_at = f->seen, .epoch = f->epoch};
    }
    ok = stock_extend_many(r->kv, list, r->picked_count, answers, errs, r->err);
    for (size_t i = 0; i < r->picked_count && ok; i++) {
        if (!told(r, i, &errs[i]))
            say_extended(r, i, &answers[i]);
    }
    free(errs);
    free(answers);
    free(list);
    return ok;
}

bool repair_reclaims(struct repair *r)
{
    for (size_t i = 0; i < r->picked_count; i++) {
        const struct balance_finding *f = &r->findings[r->picked[i]];
        struct stock_reclaim what = {f->activity_id, f->shard, f->seen, f->units, f->epoch};
        struct stock_reclaimed a;

        if (!stock_reclaim(r->kv, &what, &a, r->err)) {
            if (r->err->code != ERROR_KV_DATA)
                return false;
            (void)told(r, i, r->err);
        } else if (a.code == STOCK_RECLAIM_RECLAIMED) {
            repair_says(r, r->picked[i], BALANCE_MENDED, "%" PRId64 " units are on sale again", f->units);
        } else {
            repair_says(r, r->picked[i], BALANCE_MENDED_NOT, "%s", stock_code_sentence(STOCK_SCRIPT_RECLAIM, a.code));
        }
    }
    return true;
}
