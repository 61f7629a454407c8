/* The two halves of a transfer between shards. */
#include "stock_private.h"

static void build_borrow(struct stock_call *call, const void *request)
{
    const struct stock_transfer *what = request;

    stock_call_shard(call, what->activity, what->shard);
    stock_call_number(call, what->id);
    stock_call_number(call, what->units);
    stock_call_number(call, what->epoch);
}

static void build_lend(struct stock_call *call, const void *request)
{
    const struct stock_transfer *what = request;

    build_borrow(call, request);
    stock_call_number(call, what->come);
}

static void read_transferred(const struct kv_reply *reply, void *answer)
{
    struct stock_transferred *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->units = stock_answer_number(reply, 1);
    out->left = stock_answer_number(reply, 2);
    stock_answer_note(out->note, reply, 3);
}

static const struct stock_shape lend = {
    STOCK_SCRIPT_LEND, 4, sizeof(struct stock_transfer), sizeof(struct stock_transferred), build_lend,
    read_transferred};
static const struct stock_shape borrow = {
    STOCK_SCRIPT_BORROW, 4, sizeof(struct stock_transfer), sizeof(struct stock_transferred), build_borrow,
    read_transferred};

bool stock_lend(struct kv *kv, const struct stock_transfer *what, struct stock_transferred *out, struct error *err)
{
    return stock_call_one(kv, &lend, what, out, err);
}

bool stock_borrow(struct kv *kv, const struct stock_transfer *what, struct stock_transferred *out, struct error *err)
{
    return stock_call_one(kv, &borrow, what, out, err);
}
