/* One connection to Redis or Valkey. One thread owns it. Any KV_AWAY, KV_LOST or KV_READ_ONLY leaves it of no use:
 * close it and open a new one (a late reply would answer the next command). Blocks at most redis.connect_timeout (open)
 * or redis.command_timeout per answer. The process must ignore SIGPIPE. */
#ifndef ORDERD_KV_H
#define ORDERD_KV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/conf.h"
#include "orderd/error.h"
#include "orderd/strbuf.h"

struct kv;
struct kv_reply; /* owned by the caller: kv_reply_free */

/* Connects, AUTH, SELECT, CLIENT SETNAME, loads every script of tbl/script.h. */
ORDERD_MUST_CHECK struct kv *kv_open(const struct conf *conf, const char *name, struct error *err);
void kv_close(struct kv **kv);

/* One command, binary safe. NULL on any error, an error reply included. */
ORDERD_MUST_CHECK struct kv_reply *kv_command(struct kv *kv, const struct slice *argv, size_t argc, struct error *err);

/* A script by EVALSHA; on NOSCRIPT, and only then (the server has not run it), the same again by EVAL. */
struct kv_script {
    const char *name, *source; /* source is NUL-terminated */
};

struct kv_call {
    const struct kv_script *script;
    const struct slice *keys;
    size_t key_count;
    const struct slice *args;
    size_t arg_count;
};

ORDERD_MUST_CHECK struct kv_reply *kv_script_call(struct kv *kv, const struct kv_call *call, struct error *err);

/* Independent script calls in one round trip. replies[i] is the answer of calls[i], or NULL with errs[i] set (that
 * call's own error reply). false (all of them unknown) only when the connection failed. */
ORDERD_MUST_CHECK bool kv_script_pipeline(struct kv *kv, const struct kv_call *calls, size_t count,
                                          struct kv_reply **replies, struct error *errs, struct error *err);

enum kv_kind { KV_NIL, KV_INTEGER, KV_TEXT, KV_LIST };
enum kv_kind kv_reply_kind(const struct kv_reply *reply);
int64_t kv_reply_integer(const struct kv_reply *reply);   /* INTEGER, or TEXT that is a number; else 0 */
struct slice kv_reply_text(const struct kv_reply *reply); /* TEXT; else empty */
size_t kv_reply_count(const struct kv_reply *reply);      /* LIST; else 0 */
const struct kv_reply *kv_reply_at(const struct kv_reply *reply, size_t i); /* borrowed */
void kv_reply_free(struct kv_reply **reply);

#endif
