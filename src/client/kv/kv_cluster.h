/* Redis Cluster inside of the key-value client: several connections behind one struct kv.
 *
 *   kv_slot.c      a key's slot; pure
 *   kv_map.c       the servers, which of them has which slot, and connections to them
 *   kv_redirect.c  what an answer means: taken, somewhere else, not now; pure but for the map
 *   kv_cluster.c   calls: each goes to its server, and again until it has an answer */
#ifndef ORDERD_KV_CLUSTER_H
#define ORDERD_KV_CLUSTER_H

#include "kv_private.h"

#define KV_SLOTS       16384
#define KV_SERVERS_MAX 1024 /* Redis itself is made for up to 1000 */
#define KV_NOBODY      UINT16_MAX

struct kv_server {
    struct conf_node at;
    enum kv_named named;
    char text[264];  /* "host:port" */
    struct kv *link; /* NULL: not connected */
    int64_t
        rest_until;   /* it could not be reached; asked again then, so that one that is away does not slow the others */
    struct error why; /* until then */
    bool listed;      /* has slots, by the map or by a word of another server since */
};

struct kv_cluster {
    const struct conf *conf;
    char name[64];
    struct kv_server *servers;
    size_t count;
    uint16_t owner[KV_SLOTS];
    int64_t read_at;
    bool stale; /* something was not where the map says */
};

/* kv_slot.c */
unsigned kv_slot_of(struct slice key);

/* kv_map.c */

/* Reads the map from the first server that answers: those that are connected, those that are known, redis.nodes. false:
 * none did; the old map stays. */
ORDERD_MUST_CHECK bool kv_map_read(struct kv_cluster *cluster, struct error *err);

/* The same where it is stale, but at most every KV_MAP_MS: errors come by the hundred. */
#define KV_MAP_MS 100
void kv_map_refresh(struct kv_cluster *cluster);

/* The index of a server that may be new to us; stays the same until the next map that does not list it. KV_NOBODY:
 * there are KV_SERVERS_MAX others. */
size_t kv_map_server(struct kv_cluster *cluster, enum kv_named named, const struct conf_node *at);

/* Its connection, made where there is none; NULL with KV_AWAY or KV_SETUP, for a while without trying:
 * the same as last time. */
ORDERD_MUST_CHECK struct kv *kv_map_link(struct kv_cluster *cluster, size_t server, struct error *err);

/* After an error that leaves the connection of no use. */
void kv_map_lost(struct kv_cluster *cluster, size_t server);
void kv_map_free(struct kv_cluster *cluster);

/* kv_redirect.c */
enum kv_turn {
    KV_TURN_ANSWER, /* this is the answer, be it an error */
    KV_TURN_MOVED,  /* not run: the slot is at another server, as the map says now */
    KV_TURN_ASK,    /* not run: this once at *ask, with ASKING */
    KV_TURN_AGAIN   /* not run: the same again after a pause */
};

enum kv_turn kv_redirect(struct kv_cluster *cluster, size_t server, const redisReply *reply, size_t *ask);

/* "MOVED 3999 127.0.0.1:6381": slot and address; a missing host is that of `from`. The last colon ends the host, since
 * IPv6 addresses come without brackets. */
ORDERD_MUST_CHECK bool kv_redirect_parse(struct slice text, const struct conf_node *from, unsigned *slot,
                                         struct conf_node *at);

/* kv_cluster.c: the functions of kv.h for redis.mode "cluster". */
ORDERD_MUST_CHECK struct kv *kv_cluster_open(const struct conf *conf, const char *name, struct error *err);
ORDERD_MUST_CHECK struct kv_reply *kv_cluster_command(struct kv *kv, const struct slice *argv, size_t argc,
                                                      struct error *err);
ORDERD_MUST_CHECK bool kv_cluster_pipeline(struct kv *kv, const struct kv_call *calls, size_t count,
                                           struct kv_reply **replies, struct error *errs, struct error *err);
ORDERD_MUST_CHECK struct kv_reply *kv_cluster_command_at(struct kv *kv, size_t server, const struct slice *argv,
                                                         size_t argc, struct error *err);

#endif
