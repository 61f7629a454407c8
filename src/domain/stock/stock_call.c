#include "stock_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/check.h"

void stock_call_shard(struct stock_call *call, int64_t activity, int shard)
{
    stock_keys_of(&call->keys, activity, shard);
    for (int i = 0; i < STOCK_KEY_COUNT; i++)
        call->key_slices[i] = slice_of(call->keys.text[i]);
    call->key_count = STOCK_KEY_COUNT;
}

void stock_call_state(struct stock_call *call, int64_t activity)
{
    CHECK(call->key_count == STOCK_KEY_COUNT);
    stock_state_key(call->state_key, activity);
    call->key_slices[call->key_count++] = slice_of(call->state_key);
}

void stock_call_text(struct stock_call *call, struct slice text)
{
    CHECK(call->arg_count < STOCK_ARGS_MAX);
    call->args[call->arg_count++] = text;
}

void stock_call_number(struct stock_call *call, int64_t number)
{
    char *digits = call->digits[call->arg_count];

    CHECK(call->arg_count < STOCK_ARGS_MAX);
    snprintf(digits, sizeof call->digits[0], "%" PRId64, number);
    stock_call_text(call, slice_of(digits));
}

int64_t stock_answer_number(const struct kv_reply *reply, size_t i)
{
    return kv_reply_integer(kv_reply_at(reply, i));
}

void stock_answer_note(char note[STOCK_NOTE_MAX], const struct kv_reply *reply, size_t i)
{
    struct slice text = kv_reply_text(kv_reply_at(reply, i));

    snprintf(note, STOCK_NOTE_MAX, "%.*s", (int)(text.len < STOCK_NOTE_MAX ? text.len : STOCK_NOTE_MAX - 1), text.ptr);
}

/* A list of the right length whose first element is a code we know. */
static bool understand(const struct stock_shape *shape, const struct kv_reply *reply, struct error *err)
{
    const struct kv_reply *first = kv_reply_at(reply, 0);
    int64_t code;

    if (!first || kv_reply_kind(first) != KV_INTEGER)
        return error_set(err, ERROR_KV_DATA, "script %s: the answer has no code", stock_script(shape->script)->name);
    code = kv_reply_integer(first);
    if (code < INT16_MIN || code > INT16_MAX || !stock_code_name(shape->script, (int)code))
        return error_set(err, ERROR_KV_DATA, "script %s: answered with the unknown code %" PRId64,
                         stock_script(shape->script)->name, code);
    if (kv_reply_count(reply) < shape->elements)
        return error_set(err, ERROR_KV_DATA, "script %s: the answer has %zu of %zu elements",
                         stock_script(shape->script)->name, kv_reply_count(reply), shape->elements);
    return true;
}

static void read_answers(const struct stock_shape *shape, struct kv_reply **replies, size_t count, char *answers,
                         struct error *errs)
{
    for (size_t i = 0; i < count; i++) {
        if (replies[i] && understand(shape, replies[i], &errs[i]))
            shape->read(replies[i], answers + i * shape->answer_size);
        kv_reply_free(&replies[i]);
    }
}

static void build_calls(const struct stock_shape *shape, const char *requests, size_t count, struct stock_call *memory,
                        struct kv_call *calls)
{
    for (size_t i = 0; i < count; i++) {
        shape->build(&memory[i], requests + i * shape->request_size);
        calls[i] = (struct kv_call){stock_script(shape->script), memory[i].key_slices, memory[i].key_count,
                                    memory[i].args, memory[i].arg_count};
    }
}

bool stock_call_many(struct kv *kv, const struct stock_shape *shape, const void *requests, size_t count, void *answers,
                     struct error *errs, struct error *err)
{
    struct stock_call *memory = check_calloc(count, sizeof *memory);
    struct kv_call *calls = check_calloc(count, sizeof *calls);
    struct kv_reply **replies = check_calloc(count, sizeof *replies);
    bool ok;

    build_calls(shape, requests, count, memory, calls);
    ok = kv_script_pipeline(kv, calls, count, replies, errs, err);
    if (ok)
        read_answers(shape, replies, count, answers, errs);
    free(replies);
    free(calls);
    free(memory);
    return ok;
}

bool stock_call_one(struct kv *kv, const struct stock_shape *shape, const void *request, void *answer,
                    struct error *err)
{
    struct error own;

    if (!stock_call_many(kv, shape, request, 1, answer, &own, err))
        return false;
    if (own.code == ERROR_NONE)
        return true;
    *err = own;
    return false;
}
