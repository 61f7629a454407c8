/* A Redis Cluster for tests: three primaries with a third of the slots each, and where wanted a replica of the first,
 * all of a test's own on loopback. */
#ifndef ORDERD_TESTING_CLUSTER_H
#define ORDERD_TESTING_CLUSTER_H

#include "testing_redis.h"

enum { TESTING_PRIMARIES = 3, TESTING_NODES = TESTING_PRIMARIES + 1, TESTING_SLOTS = 16384 };

struct testing_cluster {
    struct testing_redis nodes[TESTING_NODES];
    struct kv *links[TESTING_NODES]; /* to each of them alone */
    int count;
    bool tls;        /* they call each other by their TLS ports */
    char seeds[128]; /* for redis.nodes */
};

/* Returns once all of them know each other and all slots are served. Without the replica of one that dies its shards
 * are away while the others go on (cluster-require-full-coverage no). */
void testing_cluster_start(struct testing_cluster *c, bool replica);
void testing_cluster_start_tls(struct testing_cluster *c, bool replica);
void testing_cluster_stop(struct testing_cluster *c);

/* The redis rows for it. */
struct conf testing_cluster_conf(const struct testing_cluster *c);

int testing_cluster_slot(const struct testing_cluster *c, const char *key); /* by the server's own count */
int testing_cluster_first_slot(int primary);
int testing_cluster_owner(int slot); /* as the cluster began */

/* The three steps of moving a slot, as redis-cli does them: `from` and `to` are primaries. A step of keys moves at most
 * count of them, and answers how many it has moved. */
void testing_cluster_move_begin(const struct testing_cluster *c, int slot, int from, int to);
int testing_cluster_move_keys(const struct testing_cluster *c, int slot, int from, int to, int count);
void testing_cluster_move_end(const struct testing_cluster *c, int slot, int from, int to);

#endif
