/* Changes to a shard as a whole, while it lives. */
#include "stock_private.h"

/* reclaim */

static void build_reclaim(struct stock_call *call, const void *request)
{
    const struct stock_reclaim *what = request;

    stock_call_shard(call, what->activity, what->shard);
    stock_call_number(call, what->forfeited_seen);
    stock_call_number(call, what->units);
    stock_call_number(call, what->epoch);
}

static void read_reclaim(const struct kv_reply *reply, void *answer)
{
    struct stock_reclaimed *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->forfeited = stock_answer_number(reply, 1);
    out->left = stock_answer_number(reply, 2);
    stock_answer_note(out->note, reply, 3);
}

static const struct stock_shape reclaim = {
    STOCK_SCRIPT_RECLAIM, 4, sizeof(struct stock_reclaim), sizeof(struct stock_reclaimed), build_reclaim, read_reclaim};

bool stock_reclaim(struct kv *kv, const struct stock_reclaim *what, struct stock_reclaimed *out, struct error *err)
{
    return stock_call_one(kv, &reclaim, what, out, err);
}

/* restock */

static void build_restock(struct stock_call *call, const void *request)
{
    const struct stock_restock *what = request;

    stock_call_shard(call, what->activity, what->shard);
    stock_call_number(call, what->cap_seen);
    stock_call_number(call, what->cap);
    stock_call_number(call, what->epoch);
}

static void read_restock(const struct kv_reply *reply, void *answer)
{
    struct stock_restocked *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->cap = stock_answer_number(reply, 1);
    out->floor = stock_answer_number(reply, 2);
    out->left = stock_answer_number(reply, 3);
    stock_answer_note(out->note, reply, 4);
}

static const struct stock_shape restock = {
    STOCK_SCRIPT_RESTOCK, 5, sizeof(struct stock_restock), sizeof(struct stock_restocked), build_restock, read_restock};

bool stock_restock(struct kv *kv, const struct stock_restock *what, struct stock_restocked *out, struct error *err)
{
    return stock_call_one(kv, &restock, what, out, err);
}

/* extend */

static void build_extend(struct stock_call *call, const void *request)
{
    const struct stock_extend *what = request;

    stock_call_shard(call, what->activity, what->shard);
    stock_call_number(call, what->ends_at);
    stock_call_number(call, what->expire_at);
    stock_call_number(call, what->epoch);
    stock_call_number(call, what->starts_at);
}

static void read_extend(const struct kv_reply *reply, void *answer)
{
    struct stock_extended *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->ends_at = stock_answer_number(reply, 1);
    out->expire_at = stock_answer_number(reply, 2);
    out->starts_at = stock_answer_number(reply, 3);
    stock_answer_note(out->note, reply, 4);
}

static const struct stock_shape extend = {
    STOCK_SCRIPT_EXTEND, 5, sizeof(struct stock_extend), sizeof(struct stock_extended), build_extend, read_extend};

bool stock_extend(struct kv *kv, const struct stock_extend *what, struct stock_extended *out, struct error *err)
{
    return stock_call_one(kv, &extend, what, out, err);
}

bool stock_extend_many(struct kv *kv, const struct stock_extend *what, size_t count, struct stock_extended *out,
                       struct error *errs, struct error *err)
{
    return stock_call_many(kv, &extend, what, count, out, errs, err);
}

/* pause */

static void build_pause(struct stock_call *call, const void *request)
{
    const struct stock_pause *what = request;

    stock_call_shard(call, what->activity, what->shard);
    stock_call_number(call, what->paused);
    stock_call_number(call, what->epoch);
}

static void read_pause(const struct kv_reply *reply, void *answer)
{
    struct stock_paused *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    stock_answer_note(out->note, reply, 1);
}

static const struct stock_shape pause_shape = {STOCK_SCRIPT_PAUSE,          2,           sizeof(struct stock_pause),
                                               sizeof(struct stock_paused), build_pause, read_pause};

bool stock_pause(struct kv *kv, const struct stock_pause *what, struct stock_paused *out, struct error *err)
{
    return stock_call_one(kv, &pause_shape, what, out, err);
}

bool stock_pause_many(struct kv *kv, const struct stock_pause *what, size_t count, struct stock_paused *out,
                      struct error *errs, struct error *err)
{
    return stock_call_many(kv, &pause_shape, what, count, out, errs, err);
}
