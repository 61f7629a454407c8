#include "kv_private.h"

#include <string.h>

#include "orderd/units.h"

/* A kv_reply is hiredis' own reply under another name; only this file knows. */
struct kv_reply *kv_reply_wrap(redisReply *reply)
{
    return (struct kv_reply *)reply;
}

static const redisReply *inside(const struct kv_reply *reply)
{
    return (const redisReply *)reply;
}

/* What is not there (past the end of a list that is shorter than it should be) is NIL. */
enum kv_kind kv_reply_kind(const struct kv_reply *reply)
{
    if (!reply)
        return KV_NIL;
    switch (inside(reply)->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
        return KV_TEXT;
    case REDIS_REPLY_INTEGER:
        return KV_INTEGER;
    case REDIS_REPLY_ARRAY:
        return KV_LIST;
    default:
        return KV_NIL;
    }
}

struct slice kv_reply_text(const struct kv_reply *reply)
{
    if (kv_reply_kind(reply) != KV_TEXT)
        return (struct slice){"", 0};
    return (struct slice){inside(reply)->str, inside(reply)->len};
}

int64_t kv_reply_integer(const struct kv_reply *reply)
{
    struct slice text;
    int64_t n;

    if (kv_reply_kind(reply) == KV_INTEGER)
        return inside(reply)->integer;
    text = kv_reply_text(reply);
    if (strlen(text.ptr) != text.len || !units_parse_i64(text.ptr, INT64_MIN, INT64_MAX, &n))
        return 0;
    return n;
}

size_t kv_reply_count(const struct kv_reply *reply)
{
    return kv_reply_kind(reply) == KV_LIST ? inside(reply)->elements : 0;
}

const struct kv_reply *kv_reply_at(const struct kv_reply *reply, size_t i)
{
    return i < kv_reply_count(reply) ? kv_reply_wrap(inside(reply)->element[i]) : NULL;
}

void kv_reply_free(struct kv_reply **reply)
{
    if (*reply)
        freeReplyObject(*reply);
    *reply = NULL;
}
