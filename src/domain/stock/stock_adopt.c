/* What the database decided about one order: paid, or that it lives and Redis does not know. */
#include "stock_private.h"

/* settle */

static void build_settle(struct stock_call *call, const void *request)
{
    const struct stock_paid *order = request;

    stock_call_shard(call, order->activity, order->shard);
    stock_call_text(call, order->order_no);
}

static void read_settle(const struct kv_reply *reply, void *answer)
{
    struct stock_settled *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->units = stock_answer_number(reply, 1);
    stock_answer_note(out->note, reply, 2);
}

static const struct stock_shape settle = {
    STOCK_SCRIPT_SETTLE, 3, sizeof(struct stock_paid), sizeof(struct stock_settled), build_settle, read_settle};

bool stock_settle(struct kv *kv, const struct stock_paid *order, struct stock_settled *out, struct error *err)
{
    return stock_call_one(kv, &settle, order, out, err);
}

bool stock_settle_many(struct kv *kv, const struct stock_paid *orders, size_t count, struct stock_settled *out,
                       struct error *errs, struct error *err)
{
    return stock_call_many(kv, &settle, orders, count, out, errs, err);
}

/* adopt */

static void build_adopt(struct stock_call *call, const void *request)
{
    static const char *const status[] = {"pending", "paid", "closed"};
    const struct stock_row *row = request;

    stock_call_shard(call, row->activity, row->shard);
    stock_call_text(call, row->order_no);
    stock_call_number(call, row->user);
    stock_call_number(call, row->user_seq);
    stock_call_number(call, row->quantity);
    stock_call_number(call, row->amount);
    stock_call_number(call, row->epoch);
    stock_call_number(call, row->reserved_at);
    stock_call_text(call, slice_of(status[row->as]));
}

static void read_adopt(const struct kv_reply *reply, void *answer)
{
    struct stock_adopted *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->from_forfeited = stock_answer_number(reply, 1);
    out->from_left = stock_answer_number(reply, 2);
    out->left = stock_answer_number(reply, 3);
    stock_answer_note(out->note, reply, 4);
}

static const struct stock_shape adopt = {STOCK_SCRIPT_ADOPT,           5,           sizeof(struct stock_row),
                                         sizeof(struct stock_adopted), build_adopt, read_adopt};

bool stock_adopt(struct kv *kv, const struct stock_row *row, struct stock_adopted *out, struct error *err)
{
    return stock_call_one(kv, &adopt, row, out, err);
}

bool stock_adopt_many(struct kv *kv, const struct stock_row *rows, size_t count, struct stock_adopted *out,
                      struct error *errs, struct error *err)
{
    return stock_call_many(kv, &adopt, rows, count, out, errs, err);
}
