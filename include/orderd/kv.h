/* One connection to Redis or Valkey. One thread owns it. Any KV_AWAY, KV_LOST or KV_READ_ONLY leaves it of no use:
 * every later call fails at once with KV_AWAY, so that a late answer can never be taken for that of another question;
 * close it and open a new one. KV_SETUP and KV_DATA leave it usable.
 *
 * Bounded time: kv_open by redis.connect_timeout for each address of the host and once more for TLS (twice, where it is
 * not answered in TLS) and for the login (resolving the name is the system's affair); every other call by
 * redis.command_timeout for each round trip, however many calls that carries. No call raises SIGPIPE, and the socket is
 * closed on exec.
 *
 * KV_AWAY from a call means that nothing of it had been sent, or that the server refused it before running it
 * (LOADING, BUSY, too many clients); KV_LOST that it may or may not have run. */
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

/* Connects, by TLS where redis.tls wants it, and says AUTH, SELECT and CLIENT SETNAME as the redis rows of conf want it
 * (only they are read). KV_AWAY where nobody answers, KV_SETUP where the login or the database is refused, and the
 * sentence of the fault where TLS comes to nothing. Certificates are read at each call. name: without spaces.
 *
 * redis.mode "sentinel": asks the Sentinels of redis.nodes in turn, first the one that knew last time, and connects to
 * the primary they name. That server must say by ROLE that it is the primary, else the next Sentinel is asked: its
 * answer may be newer. KV_READ_ONLY where all they name are replicas (a failover is on its way: open again after a
 * while), KV_SETUP where none of those that answer knows redis.sentinel_master. Such a
 * connection asks again every second whether its server still is the primary, and is of no use any more (KV_AWAY)
 * where another one is: a demoted one takes writes for a while that will be lost. So after a failover the new primary
 * is found by closing a connection that is of no use and opening one. Takes at most 3 x redis.sentinel_timeout (by TLS
 * 4 x) for each Sentinel, and for each server that they name what is said above; asking again may take as long, while
 * they do not answer. conf must outlive the connection. */
ORDERD_MUST_CHECK struct kv *kv_open(const struct conf *conf, const char *name, struct error *err);
void kv_close(struct kv **kv);

/* "host:port" of the server that was found, or what the cluster is called; for people. Valid until kv_close. */
const char *kv_peer(const struct kv *kv);

/* One Sentinel alone, with the Sentinels' login, to ask what only it knows; node: as redis.nodes names it. As kv_open,
 * by redis.sentinel_timeout throughout; only conf is read. */
ORDERD_MUST_CHECK struct kv *kv_open_sentinel(const struct conf *conf, const struct conf_node *node, const char *name,
                                              struct error *err);

/* redis.mode "cluster": one struct kv stands for all servers. kv_open reads from any server of redis.nodes which of
 * them has which slots; a connection to each is made when it is needed first. A command goes to the server that has its
 * key (its first argument; that of EVAL its fourth word), a script call to that of its first key, and what has no key
 * to any server. Where slots have moved, or are moving, the servers say so before they run anything (MOVED, ASK,
 * TRYAGAIN): the call follows, and the map is read again.
 *
 * What a caller sees of it: a pipeline is several round trips, one for each server. A server that is away fails only
 * the calls that are its own: errs[i] is KV_AWAY or KV_LOST, and the connection stays usable; only where all calls of a
 * pipeline fail so, it answers false. So does no KV_AWAY break such a connection: a later call tries again, at the
 * server that took over meanwhile. Bounded time: what is said above, once for each server that the call needs and,
 * where the map has to be read, once for each that is asked for it before one answers. conf must outlive the
 * connection. */

/* One by one: SCAN has to be asked of each server. Indexes from 0 to count - 1; the name ("host:port", valid until the
 * next call) is NULL where that index has no server now. Outside of a cluster there is one, index 0. */
size_t kv_server_count(const struct kv *kv);
const char *kv_server_name(const struct kv *kv, size_t server);
ORDERD_MUST_CHECK struct kv_reply *kv_command_at(struct kv *kv, size_t server, const struct slice *argv, size_t argc,
                                                 struct error *err);

/* What the connection to one of them is encrypted by, "TLSv1.3, TLS_AES_256_GCM_SHA384", and *until_s: when the
 * certificate of the server ends, seconds since 1970. NULL where it is plain text, or there is none at the moment. */
const char *kv_encrypted_by(const struct kv *kv, size_t server, int64_t *until_s);

/* One command, binary safe. NULL on any error, an error reply included. */
ORDERD_MUST_CHECK struct kv_reply *kv_command(struct kv *kv, const struct slice *argv, size_t argc, struct error *err);

/* A script. The client knows none: a connection loads each one (SCRIPT LOAD) when it first calls it, and calls it by
 * EVALSHA; on NOSCRIPT, and only then (the server has not run it), the same call again by EVAL. The struct is the
 * script's identity and must outlive the connection. */
struct kv_script {
    const char *name, *source; /* source is NUL-terminated */
    bool only_reads;           /* then nobody waits for replicas */
};

struct kv_call {
    const struct kv_script *script;
    const struct slice *keys;
    size_t key_count;
    const struct slice *args;
    size_t arg_count;
};

ORDERD_MUST_CHECK struct kv_reply *kv_script_call(struct kv *kv, const struct kv_call *call, struct error *err);

/* redis.wait_replicas: each round trip of script calls ends with WAIT, which costs a message to the replicas and back,
 * at most redis.wait_timeout. It proves nothing: a call whose replicas did not confirm has run and counts as done, and
 * a failover may still choose a replica that has not got it. It makes what a failover loses rare; that it does no harm
 * is the ledger's and the walk's part. A call sent on while its slot moves (ASK) is not waited for. */

/* Independent script calls in one round trip, run in this order but for those repeated after NOSCRIPT. replies[i] is
 * the answer of calls[i], or NULL with errs[i] set (that call's own error reply; otherwise errs[i].code is ERROR_NONE).
 * false: the connection failed (all of them unknown, or not sent: see the code) or a script could not be loaded (none
 * was sent); then replies and errs are not set. */
ORDERD_MUST_CHECK bool kv_script_pipeline(struct kv *kv, const struct kv_call *calls, size_t count,
                                          struct kv_reply **replies, struct error *errs, struct error *err);

enum kv_kind { KV_NIL, KV_INTEGER, KV_TEXT, KV_LIST };
enum kv_kind kv_reply_kind(const struct kv_reply *reply); /* NULL, here and below: NIL */
int64_t kv_reply_integer(const struct kv_reply *reply);   /* INTEGER, or TEXT that is a number; else 0 */
struct slice kv_reply_text(const struct kv_reply *reply); /* TEXT; else empty */
size_t kv_reply_count(const struct kv_reply *reply);      /* LIST; else 0 */
const struct kv_reply *kv_reply_at(const struct kv_reply *reply, size_t i); /* borrowed; NULL past the end */
void kv_reply_free(struct kv_reply **reply);

#endif
