#include "testing_cluster.h"

#include <stdio.h>
#include <string.h>

int testing_cluster_first_slot(int primary)
{
    return TESTING_SLOTS * primary / TESTING_PRIMARIES;
}

int testing_cluster_owner(int slot)
{
    int primary = 0;

    while (slot >= testing_cluster_first_slot(primary + 1))
        primary++;
    return primary;
}

static void start_node(struct testing_cluster *c, int node)
{
    char bus[16], port[16];

    snprintf(bus, sizeof bus, "%d", testing_free_port());
    testing_redis_prepare(&c->nodes[node]);
    if (c->tls)
        testing_redis_speak_tls(&c->nodes[node]);
    testing_redis_again(&c->nodes[node],
                        (const char *const[]){"--cluster-enabled", "yes", "--cluster-port", bus,
                                              "--cluster-node-timeout", "1500", "--cluster-require-full-coverage", "no",
                                              "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay",
                                              "0", NULL});
    c->links[node] = testing_redis_open(c->nodes[node].port);
    if (node == 0)
        return;
    snprintf(port, sizeof port, "%d", testing_redis_known(&c->nodes[node]));
    testing_redis_run(c->links[0], "CLUSTER", "MEET", "127.0.0.1", port, bus, NULL);
}

static void give_slots(struct testing_cluster *c, int primary)
{
    char from[16], to[16];

    snprintf(from, sizeof from, "%d", testing_cluster_first_slot(primary));
    snprintf(to, sizeof to, "%d", testing_cluster_first_slot(primary + 1) - 1);
    testing_redis_run(c->links[primary], "CLUSTER", "ADDSLOTSRANGE", from, to, NULL);
}

static bool has_line(struct kv *kv, const char *const command[2], const char *line)
{
    struct kv_reply *reply = testing_redis_do(kv, command[0], command[1], NULL);
    struct slice text = kv_reply_text(reply);
    bool has = memmem(text.ptr, text.len, line, strlen(line)) != NULL;

    kv_reply_free(&reply);
    return has;
}

static bool is_whole(const struct testing_cluster *c, int node)
{
    static const char *const info[] = {"CLUSTER", "INFO"};
    char known[40];

    snprintf(known, sizeof known, "cluster_known_nodes:%d", c->count);
    return has_line(c->links[node], info, "cluster_state:ok") && has_line(c->links[node], info, "cluster_size:3") &&
           has_line(c->links[node], info, known);
}

static void node_id(const struct testing_cluster *c, int node, char id[48])
{
    struct kv_reply *reply = testing_redis_do(c->links[node], "CLUSTER", "MYID", NULL);

    snprintf(id, 48, "%s", kv_reply_text(reply).ptr);
    kv_reply_free(&reply);
}

static bool follows(const struct testing_cluster *c, const char *id)
{
    struct error err;
    struct kv_reply *reply =
        kv_command(c->links[TESTING_PRIMARIES],
                   (const struct slice[]){slice_of("CLUSTER"), slice_of("REPLICATE"), slice_of(id)}, 3, &err);
    bool ok = reply != NULL;

    kv_reply_free(&reply);
    return ok;
}

static void make_replica(struct testing_cluster *c)
{
    static const char *const info[] = {"INFO", "replication"};
    char id[48];

    node_id(c, 0, id);
    testing_wait(follows(c, id), 10000, "the replica knows its primary");
    testing_wait(has_line(c->links[TESTING_PRIMARIES], info, "master_link_status:up"), 10000,
                 "the replica has its data");
}

static void start(struct testing_cluster *c, bool replica, bool tls)
{
    c->tls = tls;
    c->count = TESTING_PRIMARIES + replica;
    for (int node = 0; node < c->count; node++)
        start_node(c, node);
    for (int node = 0; node < TESTING_PRIMARIES; node++)
        give_slots(c, node);
    if (replica)
        make_replica(c);
    for (int node = 0; node < c->count; node++)
        testing_wait(is_whole(c, node), 20000, "the cluster is whole");
    snprintf(c->seeds, sizeof c->seeds, "127.0.0.1:%d, 127.0.0.1:%d", testing_redis_known(&c->nodes[0]),
             testing_redis_known(&c->nodes[1]));
}

void testing_cluster_start(struct testing_cluster *c, bool replica)
{
    start(c, replica, false);
}

void testing_cluster_start_tls(struct testing_cluster *c, bool replica)
{
    start(c, replica, true);
}

void testing_cluster_stop(struct testing_cluster *c)
{
    for (int node = 0; node < c->count; node++) {
        kv_close(&c->links[node]);
        testing_redis_stop(&c->nodes[node]);
    }
}

struct conf testing_cluster_conf(const struct testing_cluster *c)
{
    struct conf conf = testing_redis_conf("127.0.0.1", 1);

    conf.redis_mode = CONF_MODE_CLUSTER;
    conf.redis_nodes = c->seeds;
    if (c->tls)
        testing_redis_by_tls(&conf);
    return conf;
}

int testing_cluster_slot(const struct testing_cluster *c, const char *key)
{
    struct kv_reply *reply = testing_redis_do(c->links[1], "CLUSTER", "KEYSLOT", key, NULL);
    int slot = (int)kv_reply_integer(reply);

    kv_reply_free(&reply);
    return slot;
}

/* ---- moving a slot ---- */

static void set_slot(const struct testing_cluster *c, int at, int slot, const char *how, int node)
{
    char number[16], id[48];

    snprintf(number, sizeof number, "%d", slot);
    node_id(c, node, id);
    testing_redis_run(c->links[at], "CLUSTER", "SETSLOT", number, how, id, NULL);
}

void testing_cluster_move_begin(const struct testing_cluster *c, int slot, int from, int to)
{
    set_slot(c, to, slot, "IMPORTING", from);
    set_slot(c, from, slot, "MIGRATING", to);
}

int testing_cluster_move_keys(const struct testing_cluster *c, int slot, int from, int to, int count)
{
    char number[16], most[16], port[16];
    struct kv_reply *keys;
    int moved;

    snprintf(number, sizeof number, "%d", slot);
    snprintf(most, sizeof most, "%d", count);
    snprintf(port, sizeof port, "%d", testing_redis_known(&c->nodes[to]));
    keys = testing_redis_do(c->links[from], "CLUSTER", "GETKEYSINSLOT", number, most, NULL);
    moved = (int)kv_reply_count(keys);
    for (int i = 0; i < moved; i++)
        testing_redis_run(c->links[from], "MIGRATE", "127.0.0.1", port, kv_reply_text(kv_reply_at(keys, (size_t)i)).ptr,
                          "0", "5000", NULL);
    kv_reply_free(&keys);
    return moved;
}

void testing_cluster_move_end(const struct testing_cluster *c, int slot, int from, int to)
{
    set_slot(c, to, slot, "NODE", to);
    set_slot(c, from, slot, "NODE", to);
}
