/* Inside of the key-value client. hiredis formats nothing and touches no socket here: its reader parses what we
 * received. So the deadline covers a whole round trip on every version (its own time-out is per read, is not set by
 * redisConnectWithTimeout on 0.14 and is lost on reconnect), every address of a name is tried, and SIGPIPE is off. */
#ifndef ORDERD_KV_PRIVATE_H
#define ORDERD_KV_PRIVATE_H

#include <hiredis/hiredis.h>
#include <sys/types.h>

#include "orderd/kv.h"

struct kv_loaded { /* a script that this connection has loaded, and the server's name for it */
    const struct kv_script *script;
    char sha[41];
    bool fresh; /* false after NOSCRIPT: load it again before its next use */
};

struct kv_tls;

struct kv_watch { /* of a connection that Sentinels found: whether its server still is the primary */
    const struct conf *conf;
    struct conf_node primary;
    int64_t next_ms; /* when they are asked again */
};

struct kv_cluster;

/* One connection to one server; or, in a cluster, only `peer` and the way to the connections. */
struct kv {
    int fd;
    struct kv_tls *tls; /* NULL: plain text */
    bool broken;        /* saw an error that leaves the stream in doubt: never used again */
    redisReader *reader;
    struct strbuf out; /* requests of the round trip at hand */
    int64_t timeout_ms;
    char peer[320]; /* "host:port", for sentences */
    struct kv_loaded *loaded;
    size_t loaded_count;
    int64_t wait_replicas, wait_ms; /* 0: nobody waits for replicas */
    struct kv_watch *watch;         /* NULL without Sentinels */
    struct kv_cluster *cluster;     /* NULL outside of one */
};

/* Who said that there is a server: there an address is mended that its certificate does not name. */
enum kv_named { KV_NAMED_HOST, KV_NAMED_NODES, KV_NAMED_SENTINELS, KV_NAMED_CLUSTER };

/* kv_login.c: where one server is and how to log in there. The texts are borrowed; NULL is as good as "". */
struct kv_site {
    const char *host;
    int port;
    enum kv_named named;
    const char *user, *password;
    int64_t database, connect_timeout, command_timeout;
    int64_t wait_replicas, wait_timeout;
    const struct conf *tls; /* whose redis.tls rows it is; NULL: plain text */
};

struct kv_site kv_site_of(const struct conf *conf, enum kv_named named, const char *host,
                          int port); /* with the login of the redis group */
ORDERD_MUST_CHECK struct kv *kv_connect(const struct kv_site *site, const char *name, struct error *err);

/* kv_sentinel.c: kv_open for redis.mode "sentinel". */
ORDERD_MUST_CHECK struct kv *kv_sentinel_open(const struct conf *conf, const char *name, struct error *err);
/* false: breaks kv with KV_AWAY, since another server is the primary by now. Asks once a second; before any request. */
ORDERD_MUST_CHECK bool kv_sentinel_check(struct kv *kv, struct error *err);

/* kv_socket.c: a connected, non-blocking socket, or -1 with KV_AWAY. Tries each address for timeout_ms. */
int kv_socket_connect(const char *host, int port, int64_t timeout_ms, struct error *err);

/* kv_tls.c: shakes hands on the connected socket, in site->connect_timeout, and where nobody answers once more as long
 * to see who that is. false: KV_AWAY or KV_SETUP. Nothing of site is kept. */
ORDERD_MUST_CHECK bool kv_tls_open(struct kv *kv, const struct kv_site *site, struct error *err);
void kv_tls_close(struct kv *kv);

/* As kv_encrypted_by, of one connection. */
const char *kv_tls_cipher(const struct kv *kv, int64_t *until_s);

/* After the first exchange has failed: whether TLS knows why; then that is in *err. */
bool kv_tls_refused(struct kv *kv, struct error *err);

/* As send, recv and recv with MSG_PEEK, never blocking and without SIGPIPE, of the bytes inside. errno EPROTO: what
 * arrived is no TLS. */
ssize_t kv_bytes_send(struct kv *kv, const char *bytes, size_t len);
ssize_t kv_bytes_receive(struct kv *kv, char *bytes, size_t len);
ssize_t kv_bytes_peek(struct kv *kv, char *bytes, size_t len);

/* Whether there is something to receive that poll(2) does not know of. */
bool kv_bytes_left(const struct kv *kv);

/* kv.c: appends a command to kv->out. */
void kv_add_command(struct kv *kv, const struct slice *argv, size_t argc);

/* kv_exchange.c: appends one command to kv->out. */
void kv_request_begin(struct kv *kv, size_t argc);
void kv_request_add(struct kv *kv, struct slice arg);

/* Sends kv->out and collects count replies, in timeout_ms altogether. On failure none is kept and kv is broken: KV_AWAY
 * where no byte had left, else KV_LOST. */
ORDERD_MUST_CHECK bool kv_exchange(struct kv *kv, redisReply **replies, size_t count, struct error *err);

/* kv_error.c: the server's error sentence as one of ours. Breaks kv where the code is KV_AWAY or KV_READ_ONLY. */
bool kv_error_translate(struct kv *kv, const redisReply *reply, struct error *err);
bool kv_error_is(const redisReply *reply, const char *word);

/* kv_script.c: the calls on one connection, with what scripts they need loaded; raw[i] is the answer of calls[i].
 * false: no answer is kept. */
ORDERD_MUST_CHECK bool kv_script_run(struct kv *kv, const struct kv_call *calls, size_t count, redisReply **raw,
                                     struct error *err);
void kv_script_add_whole(struct kv *kv, const struct kv_call *call); /* as EVAL, to kv->out */

/* kv_wait.c: appends WAIT to kv->out where one of these calls may write and the configuration wants it; true: its
 * answer comes last, and is for kv_wait_note, which takes it, counts it and tells where it is too little. */
bool kv_wait_add(struct kv *kv, const struct kv_call *calls, size_t count);
void kv_wait_note(const struct kv *kv, redisReply *reply);

/* kv_reply.c */
struct kv_reply *kv_reply_wrap(redisReply *reply);

#endif
