#include "stock_private.h"

/* deduct */

static void build_deduct(struct stock_call *call, const void *request)
{
    const struct stock_order *order = request;

    stock_call_shard(call, order->activity, order->shard);
    stock_call_text(call, order->order_no);
    stock_call_number(call, order->user);
    stock_call_number(call, order->quantity);
    stock_call_number(call, order->amount);
    stock_call_number(call, order->epoch);
}

static void read_deduct(const struct kv_reply *reply, void *answer)
{
    struct stock_deducted *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->user_seq = (int)stock_answer_number(reply, 1);
    out->left = stock_answer_number(reply, 2);
    out->reserved_at = stock_answer_number(reply, 3);
    stock_answer_note(out->note, reply, 4);
}

static const struct stock_shape deduct = {
    STOCK_SCRIPT_DEDUCT, 5, sizeof(struct stock_order), sizeof(struct stock_deducted), build_deduct, read_deduct};

bool stock_deduct(struct kv *kv, const struct stock_order *order, struct stock_deducted *out, struct error *err)
{
    return stock_call_one(kv, &deduct, order, out, err);
}

bool stock_deduct_many(struct kv *kv, const struct stock_order *orders, size_t count, struct stock_deducted *out,
                       struct error *errs, struct error *err)
{
    return stock_call_many(kv, &deduct, orders, count, out, errs, err);
}

/* return */

static void build_return(struct stock_call *call, const void *request)
{
    const struct stock_giveback *order = request;

    stock_call_shard(call, order->activity, order->shard);
    stock_call_text(call, order->order_no);
    stock_call_number(call, order->units_back);
    stock_call_number(call, order->units_forfeited);
    stock_call_number(call, order->epoch);
    stock_call_number(call, order->free_mark);
    stock_call_number(call, order->reservations);
}

static void read_return(const struct kv_reply *reply, void *answer)
{
    struct stock_returned *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->back = stock_answer_number(reply, 1);
    out->forfeited = stock_answer_number(reply, 2);
    out->dropped = stock_answer_number(reply, 3);
    out->left = stock_answer_number(reply, 4);
    stock_answer_note(out->note, reply, 5);
}

static const struct stock_shape giveback = {
    STOCK_SCRIPT_RETURN, 6, sizeof(struct stock_giveback), sizeof(struct stock_returned), build_return, read_return};

bool stock_return(struct kv *kv, const struct stock_giveback *order, struct stock_returned *out, struct error *err)
{
    return stock_call_one(kv, &giveback, order, out, err);
}

bool stock_return_many(struct kv *kv, const struct stock_giveback *orders, size_t count, struct stock_returned *out,
                       struct error *errs, struct error *err)
{
    return stock_call_many(kv, &giveback, orders, count, out, errs, err);
}

/* preheat */

static void build_plan(struct stock_call *call, const void *request)
{
    const struct stock_plan *plan = request;

    stock_call_shard(call, plan->activity, plan->shard);
    stock_call_number(call, plan->cap);
    stock_call_number(call, plan->epoch);
    stock_call_number(call, plan->limit);
    stock_call_number(call, plan->starts_at);
    stock_call_number(call, plan->ends_at);
    stock_call_number(call, plan->expire_at);
}

static void read_preheat(const struct kv_reply *reply, void *answer)
{
    struct stock_preheated *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->left = stock_answer_number(reply, 1);
    stock_answer_note(out->note, reply, 2);
}

static const struct stock_shape preheat = {STOCK_SCRIPT_PREHEAT,           3,          sizeof(struct stock_plan),
                                           sizeof(struct stock_preheated), build_plan, read_preheat};

bool stock_preheat(struct kv *kv, const struct stock_plan *plan, struct stock_preheated *out, struct error *err)
{
    return stock_call_one(kv, &preheat, plan, out, err);
}

/* rebuild */

static void read_rebuild(const struct kv_reply *reply, void *answer)
{
    struct stock_rebuilt *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->left = stock_answer_number(reply, 1);
    out->dropped = stock_answer_number(reply, 2);
    stock_answer_note(out->note, reply, 3);
}

static const struct stock_shape rebuild = {STOCK_SCRIPT_REBUILD,         4,          sizeof(struct stock_plan),
                                           sizeof(struct stock_rebuilt), build_plan, read_rebuild};

bool stock_rebuild(struct kv *kv, const struct stock_plan *plan, struct stock_rebuilt *out, struct error *err)
{
    return stock_call_one(kv, &rebuild, plan, out, err);
}
