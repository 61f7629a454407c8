#include "kv_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"

static struct kv_loaded *find(struct kv *kv, const struct kv_script *script)
{
    for (size_t i = 0; i < kv->loaded_count; i++) {
        if (kv->loaded[i].script == script)
            return &kv->loaded[i];
    }
    return NULL;
}

static struct kv_loaded *find_or_add(struct kv *kv, const struct kv_script *script)
{
    struct kv_loaded *known = find(kv, script);

    if (known)
        return known;
    kv->loaded = check_realloc(kv->loaded, (kv->loaded_count + 1) * sizeof *kv->loaded);
    known = &kv->loaded[kv->loaded_count++];
    *known = (struct kv_loaded){.script = script};
    return known;
}

/* SCRIPT LOAD and not EVAL for the first use: servers from 7.4 on drop what EVAL brought when they have 500 of it. */
static bool load(struct kv *kv, struct kv_loaded *script, struct error *err)
{
    const struct slice argv[] = {slice_of("SCRIPT"), slice_of("LOAD"), slice_of(script->script->source)};
    struct kv_reply *reply = kv_command(kv, argv, 3, err);
    struct slice sha;

    if (!reply)
        return error_prefix(err, "script %s", script->script->name);
    sha = kv_reply_text(reply);
    script->fresh = sha.len == sizeof script->sha - 1;
    if (script->fresh)
        memcpy(script->sha, sha.ptr, sizeof script->sha);
    else
        error_set(err, ERROR_KV_DATA, "%s: SCRIPT LOAD did not answer with a SHA1", kv->peer);
    kv_reply_free(&reply);
    return script->fresh;
}

static bool load_all(struct kv *kv, const struct kv_call *calls, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct kv_loaded *script = find_or_add(kv, calls[i].script);

        if (script->fresh)
            continue;
        if (!load(kv, script, err)) {
            /* The calls have not left: whatever became of the loading, nothing can be in doubt. */
            if (err->code == ERROR_KV_LOST)
                err->code = ERROR_KV_AWAY;
            return false;
        }
    }
    return true;
}

static void add_call(struct kv *kv, const struct kv_call *call, const char *verb, struct slice script)
{
    char keys[24];

    snprintf(keys, sizeof keys, "%zu", call->key_count);
    kv_request_begin(kv, 3 + call->key_count + call->arg_count);
    kv_request_add(kv, slice_of(verb));
    kv_request_add(kv, script);
    kv_request_add(kv, slice_of(keys));
    for (size_t i = 0; i < call->key_count; i++)
        kv_request_add(kv, call->keys[i]);
    for (size_t i = 0; i < call->arg_count; i++)
        kv_request_add(kv, call->args[i]);
}

/* What is in kv->out, `expected` answers, and WAIT behind it; replies has room for one more. */
static bool exchange(struct kv *kv, const struct kv_call *calls, size_t count, redisReply **replies, size_t expected,
                     struct error *err)
{
    bool waits = kv_wait_add(kv, calls, count);

    if (!kv_exchange(kv, replies, expected + waits, err))
        return false;
    if (waits)
        kv_wait_note(kv, replies[expected]);
    return true;
}

/* Repeats with EVAL those calls, and only those, that the server refused before running them. */
static bool repeat_unknown(struct kv *kv, const struct kv_call *calls, size_t count, redisReply **replies,
                           struct error *err)
{
    size_t *which = check_calloc(count, sizeof *which);
    redisReply **again = check_calloc(count + 1, sizeof *again);
    size_t n = 0;
    bool ok = true;

    for (size_t i = 0; i < count; i++) {
        if (!kv_error_is(replies[i], "NOSCRIPT"))
            continue;
        which[n++] = i;
        find(kv, calls[i].script)->fresh = false;
        kv_script_add_whole(kv, &calls[i]);
    }
    if (n > 0)
        ok = exchange(kv, calls, count, again, n, err);
    if (!ok && n < count) /* whose answers go with it */
        err->code = ERROR_KV_LOST;
    for (size_t i = 0; i < n && ok; i++) {
        freeReplyObject(replies[which[i]]);
        replies[which[i]] = again[i];
    }
    free(which);
    free(again);
    return ok;
}

static void hand_out(struct kv *kv, redisReply **raw, size_t count, struct kv_reply **replies, struct error *errs)
{
    for (size_t i = 0; i < count; i++) {
        error_clear(&errs[i]);
        replies[i] = NULL;
        if (raw[i]->type == REDIS_REPLY_ERROR) {
            kv_error_translate(kv, raw[i], &errs[i]);
            freeReplyObject(raw[i]);
        } else {
            replies[i] = kv_reply_wrap(raw[i]);
        }
    }
}

void kv_script_add_whole(struct kv *kv, const struct kv_call *call)
{
    add_call(kv, call, "EVAL", slice_of(call->script->source));
}

bool kv_script_run(struct kv *kv, const struct kv_call *calls, size_t count, redisReply **raw, struct error *err)
{
    bool ok;

    if (!load_all(kv, calls, count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        raw[i] = NULL;
        add_call(kv, &calls[i], "EVALSHA", slice_of(find(kv, calls[i].script)->sha));
    }
    ok = exchange(kv, calls, count, raw, count, err) && repeat_unknown(kv, calls, count, raw, err);
    for (size_t i = 0; i < count && !ok; i++) {
        if (raw[i])
            freeReplyObject(raw[i]);
    }
    return ok;
}

bool kv_script_pipeline(struct kv *kv, const struct kv_call *calls, size_t count, struct kv_reply **replies,
                        struct error *errs, struct error *err)
{
    redisReply **raw;
    bool ok;

    if (count == 0)
        return true;
    if (kv->cluster)
        return kv_cluster_pipeline(kv, calls, count, replies, errs, err);
    if (kv->watch && !kv_sentinel_check(kv, err))
        return false;
    raw = check_calloc(count + 1, sizeof *raw);
    ok = kv_script_run(kv, calls, count, raw, err);
    if (ok)
        hand_out(kv, raw, count, replies, errs);
    free(raw);
    return ok;
}

struct kv_reply *kv_script_call(struct kv *kv, const struct kv_call *call, struct error *err)
{
    struct kv_reply *reply = NULL;
    struct error own;

    if (!kv_script_pipeline(kv, call, 1, &reply, &own, err))
        return NULL;
    if (!reply)
        *err = own;
    return reply;
}
