/* Looking orders up by their numbers, in any shards of one activity at once. */
#include "stock_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/check.h"

#define STRETCH_MAX  200 /* orders, as look.lua takes them */
#define PER_ORDER    3   /* elements of the answer */
#define BEFORE_FIRST 2

struct place {
    int shard;
    size_t order; /* into the caller's list */
};

/* One call: orders of one shard, from `first` on in the sorted places. */
struct stretch {
    struct stock_keys keys;
    struct slice key_slices[STOCK_KEY_COUNT];
    size_t first, count;
};

struct looking {
    const struct stock_sought *orders;
    struct place *places; /* by shard */
    struct slice *args;   /* two for each place */
    char (*marks)[48];
    struct stretch *list;
    size_t count;
};

static int by_shard(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static struct stretch *begin_stretch(struct looking *l, int64_t activity, size_t first)
{
    struct stretch *s = &l->list[l->count++];

    stock_keys_of(&s->keys, activity, l->places[first].shard);
    for (int i = 0; i < STOCK_KEY_COUNT; i++)
        s->key_slices[i] = slice_of(s->keys.text[i]);
    s->first = first;
    return s;
}

static void add_order(struct looking *l, size_t place)
{
    const struct stock_sought *order = &l->orders[l->places[place].order];

    if (order->user)
        snprintf(l->marks[place], sizeof l->marks[0], "%" PRId64 ":%" PRId64, order->user, order->user_seq);
    l->args[2 * place] = order->order_no;
    l->args[2 * place + 1] = slice_of(l->marks[place]);
}

static void divide(struct looking *l, int64_t activity, size_t count)
{
    struct stretch *s = NULL;

    for (size_t i = 0; i < count; i++)
        l->places[i] = (struct place){l->orders[i].shard, i};
    qsort(l->places, count, sizeof *l->places, by_shard);
    for (size_t i = 0; i < count; i++) {
        if (!s || s->count == STRETCH_MAX || l->places[i].shard != l->places[i - 1].shard)
            s = begin_stretch(l, activity, i);
        add_order(l, i);
        s->count++;
    }
}

static void read_held(struct slice value, struct stock_seen *out)
{
    struct stock_entry entry = {.value = value};

    out->held = value.len > 0;
    out->held_valid = out->held && stock_entry_parse_held(&entry);
    if (!out->held_valid)
        return;
    out->user = entry.user;
    out->user_seq = entry.user_seq;
    out->quantity = entry.quantity;
    out->amount = entry.amount;
    out->epoch = entry.epoch;
    out->reserved_at = entry.reserved_at;
}

static void read_gone(struct slice value, struct stock_seen *out)
{
    struct stock_entry entry = {.value = value};

    out->gone_valid = value.len == 0 || stock_entry_parse_gone(&entry);
    out->gone = out->gone_valid ? entry.gone : STOCK_GONE_NONE;
}

static void read_mark(struct slice value, struct slice order_no, struct stock_seen *out)
{
    out->marked = value.len > 0;
    out->mark_own = value.len > order_no.len && value.ptr[order_no.len] == '|' &&
                    slice_equal((struct slice){value.ptr, order_no.len}, order_no);
}

static bool read_stretch(const struct looking *l, const struct stretch *s, const struct kv_reply *reply,
                         struct stock_seen *out, int64_t *now, struct error *err)
{
    int64_t code = stock_answer_number(reply, 0), at = stock_answer_number(reply, 1);

    if (code != STOCK_LOOK_READ || kv_reply_count(reply) != BEFORE_FIRST + PER_ORDER * s->count)
        return error_set(err, ERROR_KV_DATA, "script look: unexpected answer (code %" PRId64 ")", code);
    *now = at > *now ? at : *now;
    for (size_t i = 0; i < s->count; i++) {
        size_t order = l->places[s->first + i].order, first = BEFORE_FIRST + PER_ORDER * i;
        struct stock_seen *seen = &out[order];

        *seen = (struct stock_seen){0};
        read_held(kv_reply_text(kv_reply_at(reply, first)), seen);
        read_gone(kv_reply_text(kv_reply_at(reply, first + 1)), seen);
        read_mark(kv_reply_text(kv_reply_at(reply, first + 2)), l->orders[order].order_no, seen);
    }
    return true;
}

static bool call_all(struct kv *kv, const struct looking *l, struct stock_seen *out, int64_t *now, struct error *err)
{
    struct kv_call *calls = check_calloc(l->count, sizeof *calls);
    struct kv_reply **replies = check_calloc(l->count, sizeof *replies);
    struct error *errs = check_calloc(l->count, sizeof *errs);
    bool ok;

    for (size_t i = 0; i < l->count; i++) {
        const struct stretch *s = &l->list[i];

        calls[i] = (struct kv_call){stock_script(STOCK_SCRIPT_LOOK), s->key_slices, STOCK_KEY_COUNT,
                                    &l->args[2 * s->first], 2 * s->count};
    }
    ok = kv_script_pipeline(kv, calls, l->count, replies, errs, err);
    for (size_t i = 0; i < l->count; i++) {
        if (ok && !replies[i]) {
            *err = errs[i];
            ok = false;
        }
        ok = ok && read_stretch(l, &l->list[i], replies[i], out, now, err);
        kv_reply_free(&replies[i]);
    }
    free(errs);
    free(replies);
    free(calls);
    return ok;
}

bool stock_look(struct kv *kv, int64_t activity, const struct stock_sought *orders, size_t count,
                struct stock_seen *out, int64_t *now, struct error *err)
{
    struct looking l = {.orders = orders};
    bool ok;

    *now = 0;
    if (count == 0)
        return true;
    l.places = check_calloc(count, sizeof *l.places);
    l.args = check_calloc(2 * count, sizeof *l.args);
    l.marks = check_calloc(count, sizeof *l.marks);
    l.list = check_calloc(count, sizeof *l.list);
    divide(&l, activity, count);
    ok = call_all(kv, &l, out, now, err);
    free(l.list);
    free(l.marks);
    free(l.args);
    free(l.places);
    return ok;
}
