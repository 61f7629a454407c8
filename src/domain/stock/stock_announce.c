/* How an activity stands, told to whoever sells. */
#include "stock_private.h"

static void build_announce(struct stock_call *call, const void *request)
{
    const struct stock_announcement *what = request;

    stock_call_shard(call, what->activity, 0);
    stock_call_state(call, what->activity);
    stock_call_text(call, slice_of(what->state));
    stock_call_number(call, what->starts_at);
    stock_call_number(call, what->ends_at);
    stock_call_number(call, what->epoch);
    stock_call_number(call, what->shards);
    stock_call_number(call, what->look);
}

static void read_announce(const struct kv_reply *reply, void *answer)
{
    struct stock_announced *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->changed_at = stock_answer_number(reply, 1);
    stock_answer_note(out->note, reply, 2);
}

static const struct stock_shape announce = {
    STOCK_SCRIPT_ANNOUNCE, 3, sizeof(struct stock_announcement), sizeof(struct stock_announced), build_announce,
    read_announce};

bool stock_announce(struct kv *kv, const struct stock_announcement *what, struct stock_announced *out,
                    struct error *err)
{
    return stock_call_one(kv, &announce, what, out, err);
}

bool stock_announce_many(struct kv *kv, const struct stock_announcement *what, size_t count,
                         struct stock_announced *out, struct error *errs, struct error *err)
{
    return stock_call_many(kv, &announce, what, count, out, errs, err);
}
