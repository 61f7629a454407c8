/* Taking a settled activity out of Redis, in small steps. */
#include "stock_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/fault.h"

static void build_remove(struct stock_call *call, const void *request)
{
    const struct stock_remove *what = request;

    stock_call_shard(call, what->activity, what->shard);
    stock_call_number(call, what->epoch);
}

static void read_remove(const struct kv_reply *reply, void *answer)
{
    struct stock_removed *out = answer;

    out->code = (int)stock_answer_number(reply, 0);
    out->held = stock_answer_number(reply, 1);
    stock_answer_note(out->note, reply, 2);
}

static const struct stock_shape shape = {
    STOCK_SCRIPT_REMOVE, 3, sizeof(struct stock_remove), sizeof(struct stock_removed), build_remove, read_remove};

bool stock_remove(struct kv *kv, const struct stock_remove *what, struct stock_removed *out, struct error *err)
{
    return stock_call_one(kv, &shape, what, out, err);
}

/* ---- strays: found by SCAN, a page at a time, at each server ---- */

struct sweep {
    char prefix[40];
    size_t server;
    char cursor[24];
    int page;
    int64_t removed;
};

/* The server's pattern is not trusted with what is to be deleted. */
static size_t ours(const struct sweep *s, const struct kv_reply *keys, struct slice *out)
{
    size_t len = strlen(s->prefix), n = 0;

    for (size_t i = 0; i < kv_reply_count(keys); i++) {
        struct slice key = kv_reply_text(kv_reply_at(keys, i));

        if (key.len > len && memcmp(key.ptr, s->prefix, len) == 0)
            out[n++] = key;
    }
    return n;
}

/* Of one shard, and so of one slot: they are the same up to the end of the tag. */
static bool same_tag(struct slice a, struct slice b)
{
    const char *end = memchr(a.ptr, '}', a.len);
    size_t len = end ? (size_t)(end - a.ptr) + 1 : a.len;

    return b.len >= len && memcmp(a.ptr, b.ptr, len) == 0;
}

/* argv[1] to argv[n] are keys; those that are not of argv[1]'s shard are moved behind. Answers how many are. */
static size_t gather(struct slice *argv, size_t n)
{
    size_t same = 1;

    for (size_t i = 2; i <= n; i++) {
        struct slice key = argv[i];

        if (!same_tag(argv[1], key))
            continue;
        argv[i] = argv[++same];
        argv[same] = key;
    }
    return same;
}

static bool unlink_page(struct kv *kv, struct sweep *s, const struct kv_reply *keys, struct error *err)
{
    struct slice *all = check_calloc(kv_reply_count(keys) + 1, sizeof *all), *argv = all;
    size_t n = ours(s, keys, argv + 1);
    bool ok = true;

    while (n > 0 && ok) {
        size_t same = gather(argv, n);
        struct kv_reply *reply;

        argv[0] = slice_of("UNLINK");
        reply = kv_command(kv, argv, same + 1, err);
        ok = reply != NULL;
        if (ok)
            s->removed += kv_reply_integer(reply);
        kv_reply_free(&reply);
        argv += same;
        n -= same;
    }
    free(all);
    return ok;
}

static bool take_page(struct kv *kv, struct sweep *s, const struct kv_reply *reply, struct error *err)
{
    const struct kv_reply *keys = kv_reply_at(reply, 1);
    struct slice cursor = kv_reply_text(kv_reply_at(reply, 0));

    if (kv_reply_count(reply) != 2 || kv_reply_kind(keys) != KV_LIST || cursor.len == 0 ||
        cursor.len >= sizeof s->cursor)
        return error_set(err, ERROR_KV_DATA, "SCAN: unexpected shape of answer");
    memcpy(s->cursor, cursor.ptr, cursor.len);
    s->cursor[cursor.len] = '\0';
    return unlink_page(kv, s, keys, err);
}

static bool turn_page(struct kv *kv, struct sweep *s, struct error *err)
{
    char pattern[48], count[16];
    struct kv_reply *reply;
    bool ok;

    snprintf(pattern, sizeof pattern, "%s*", s->prefix);
    snprintf(count, sizeof count, "%d", s->page);
    reply = kv_command_at(kv, s->server,
                          (const struct slice[]){slice_of("SCAN"), slice_of(s->cursor), slice_of("MATCH"),
                                                 slice_of(pattern), slice_of("COUNT"), slice_of(count)},
                          6, err);
    if (!reply)
        return false;
    ok = take_page(kv, s, reply, err);
    kv_reply_free(&reply);
    return ok;
}

/* What moves to another server meanwhile may be overlooked, and ends by its TTL. */
static bool sweep(struct kv *kv, const struct stock_removal *what, int64_t *removed, struct error *err)
{
    struct sweep s = {.page = what->page};
    bool ok = true;

    snprintf(s.prefix, sizeof s.prefix, "sk:{%" PRId64 ":", what->activity);
    for (; ok && s.server < kv_server_count(kv); s.server++) {
        if (!kv_server_name(kv, s.server))
            continue;
        snprintf(s.cursor, sizeof s.cursor, "0");
        while ((ok = turn_page(kv, &s, err)) && strcmp(s.cursor, "0") != 0)
            clock_sleep_ms(what->pause_ms);
    }
    *removed = s.removed;
    return ok;
}

bool stock_remove_all(struct kv *kv, const struct stock_removal *what, struct stock_removal_done *out,
                      struct error *err)
{
    CHECK(what->shards >= 1 && what->shards <= STOCK_SHARDS_MAX);
    CHECK(what->page >= 1 && what->page <= 10000);
    *out = (struct stock_removal_done){.refused = -1};
    for (int shard = 0; shard < what->shards; shard++) {
        struct stock_remove one = {what->activity, shard, what->epoch};

        if (!stock_remove(kv, &one, &out->last, err))
            return false;
        if (out->last.code < 0) {
            out->refused = shard;
            return true;
        }
        out->shards += out->last.code == STOCK_REMOVE_REMOVED;
        FAULT(SETTLE_AFTER_SHARD);
        clock_sleep_ms(what->pause_ms);
    }
    return sweep(kv, what, &out->strays, err);
}
