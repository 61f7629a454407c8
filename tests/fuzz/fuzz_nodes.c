/* What Sentinels and the servers of a cluster say of each other: which server is the primary, which one has a slot, and
 * where a call is to go instead. */
#include "../../src/client/kv/kv_cluster.h"
#include "orderd/clock.h"
#include "orderd/stock.h"
#include "redis_server.h"

#define ACTIVITY INT64_C(1001)
#define SHARDS   4 /* of several slots */

/* ---- the clock: pauses take no time, and a run is the same each time ---- */

static int64_t now_ms;

__typeof__(clock_mono_ms) __wrap_clock_mono_ms;
__typeof__(clock_sleep_ms) __wrap_clock_sleep_ms;

int64_t __wrap_clock_mono_ms(void)
{
    return ++now_ms;
}

void __wrap_clock_sleep_ms(int64_t ms)
{
    now_ms += ms;
}

/* ---- what must hold, whatever they say ---- */

static void check_address(const struct conf_node *at)
{
    CHECK(at->port >= 1 && at->port <= 65535 && at->host[0] && memchr(at->host, '\0', sizeof at->host));
}

static void check_map(const struct kv_cluster *c)
{
    CHECK(c->count <= KV_SERVERS_MAX);
    for (size_t i = 0; i < c->count; i++)
        check_address(&c->servers[i].at);
    for (size_t slot = 0; slot < KV_SLOTS; slot++)
        CHECK(c->owner[slot] == KV_NOBODY || c->owner[slot] < c->count);
}

/* Each call has its own answer, or its own reason why not. */
static void settle(struct kv *kv)
{
    struct stock_paid orders[SHARDS];
    struct stock_settled out[SHARDS];
    struct error errs[SHARDS], err;

    for (int shard = 0; shard < SHARDS; shard++)
        orders[shard] = (struct stock_paid){ACTIVITY, shard, slice_of("A1")};
    error_clear(&err);
    if (!stock_settle_many(kv, orders, SHARDS, out, errs, &err)) {
        CHECK(err.code != ERROR_NONE && err.text[0]);
        return;
    }
    for (int i = 0; i < SHARDS; i++)
        CHECK(errs[i].code != ERROR_NONE ? errs[i].text[0] != '\0'
                                         : stock_code_name(STOCK_SCRIPT_SETTLE, out[i].code) != NULL);
}

static void command(struct kv *kv)
{
    struct error err;
    struct kv_reply *reply =
        kv_command(kv, (const struct slice[]){slice_of("GET"), slice_of("sk:{1001:0}:stock")}, 2, &err);

    CHECK(reply || err.text[0]);
    kv_reply_free(&reply);
}

/* Twice, and later: the second time whoever is asked is asked anew. */
static void converse(const struct conf *conf)
{
    struct error err;
    struct kv *kv;

    error_clear(&err);
    kv = kv_open(conf, "fuzz", &err);
    CHECK(kv ? kv_peer(kv)[0] != '\0' : err.code != ERROR_NONE && err.text[0]);
    if (kv)
        settle(kv);
    now_ms += 2000;
    if (kv && kv->cluster)
        check_map(kv->cluster);
    if (kv && !kv->broken)
        command(kv);
    if (kv && kv->cluster)
        check_map(kv->cluster);
    kv_close(&kv);
}

static void redirection(struct slice text)
{
    const struct conf_node from = {.host = "kv1.example", .port = 6379};
    struct conf_node at;
    unsigned slot;

    if (!kv_redirect_parse(text, &from, &slot, &at))
        return;
    CHECK(slot < KV_SLOTS);
    check_address(&at);
}

/* The first byte: who speaks, and whether replicas are waited for; the second: in what pieces. An hour between two
 * inputs: what one was told of failovers is forgotten. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const nobody[] = {NULL};
    uint8_t who = fuzz_take_byte(&data, &size), piece = fuzz_take_byte(&data, &size);
    struct conf conf = {.redis_host = "redis",
                        .redis_port = 6379,
                        .redis_connect_timeout = 60000,
                        .redis_command_timeout = 60000,
                        .redis_mode = who & 1 ? CONF_MODE_CLUSTER : CONF_MODE_SENTINEL,
                        .redis_nodes = "kv1.example:6379, kv2.example:6379",
                        .redis_sentinel_master = "sale",
                        .redis_sentinel_timeout = 60000,
                        .redis_wait_replicas = who & 2 ? 1 : 0,
                        .redis_wait_timeout = 100};

    now_ms += 3600000;
    redirection(fuzz_slice(data, size));
    server.greetings = nobody;
    server.input = fuzz_slice(data, size);
    server.now.len = 0;
    server.piece = piece ? piece : 1 << 20;
    converse(&conf);
    return 0;
}
