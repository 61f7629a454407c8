#include "kv_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/units.h"

#define TRIES_MAX    10 /* redirections of one call; it pauses before the later ones, so that the map can settle */
#define TRIES_QUICK  3
#define AWAY_MAX     2 /* a connection that was closed meanwhile, and the server that took over */
#define PAUSE_MS     10
#define PAUSE_MAX_MS 160
#define ANYWHERE     KV_SLOTS

/* A script call or a command, on its way to whoever has its keys. Only what certainly has not run goes out again. */
struct item {
    const struct kv_call *call; /* NULL: argv */
    const struct slice *argv;
    size_t argc;
    unsigned slot; /* ANYWHERE: any server will do */
    size_t ask;    /* this once there, with ASKING; KV_NOBODY: where the map says */
    unsigned tries, away;
    bool done;
    redisReply *raw; /* where err is none */
    struct error err;
};

struct trip {
    struct kv_cluster *c;
    struct item *items;
    size_t count;
    int64_t deadline;
    bool pause; /* somebody said: not now */
};

static void fail(struct item *item, const struct error *err)
{
    item->err = *err;
    item->done = true;
}

/* ---- answers ---- */

static void answer(struct trip *t, size_t server, struct item *item, redisReply *raw)
{
    item->done = true;
    if (raw->type != REDIS_REPLY_ERROR) {
        item->raw = raw;
        return;
    }
    kv_error_translate(t->c->servers[server].link, raw, &item->err);
    t->c->stale |= item->err.code == ERROR_KV_READ_ONLY;
    freeReplyObject(raw);
}

static void take(struct trip *t, size_t server, struct item *item, redisReply *raw)
{
    size_t ask = KV_NOBODY;
    enum kv_turn turn = kv_redirect(t->c, server, raw, &ask);

    if (turn == KV_TURN_ANSWER) {
        answer(t, server, item, raw);
        return;
    }
    item->ask = turn == KV_TURN_ASK ? ask : KV_NOBODY;
    item->tries += turn != KV_TURN_AGAIN;
    if (turn == KV_TURN_AGAIN || item->tries >= TRIES_QUICK)
        t->pause = true;
    if (turn != KV_TURN_AGAIN && item->tries >= TRIES_MAX) {
        error_set(&item->err, ERROR_KV_READ_ONLY, "%s: sent from server to server: %.*s", t->c->servers[server].text,
                  (int)(raw->len < 200 ? raw->len : 200), raw->str);
        item->done = true;
    }
    freeReplyObject(raw);
}

/* The connection failed under it. */
static void lose(struct trip *t, struct item *item, const struct error *err)
{
    item->ask = KV_NOBODY;
    if (err->code != ERROR_KV_AWAY || ++item->away >= AWAY_MAX)
        fail(item, err);
    t->c->stale = true;
}

/* ---- one server ---- */

/* ASKING holds for the next command only. */
static bool run_alone(struct kv *link, const struct item *item, redisReply **raw, struct error *err)
{
    redisReply *both[2];
    bool asking = item->ask != KV_NOBODY;

    if (asking)
        kv_add_command(link, (const struct slice[]){slice_of("ASKING")}, 1);
    if (item->call)
        kv_script_add_whole(link, item->call);
    else
        kv_add_command(link, item->argv, item->argc);
    if (!kv_exchange(link, both, asking ? 2 : 1, err))
        return false;
    if (asking)
        freeReplyObject(both[0]);
    *raw = both[asking];
    return true;
}

static void send_alone(struct trip *t, size_t server, struct item *item)
{
    struct error err;
    struct kv *link = kv_map_link(t->c, server, &err);
    redisReply *raw;

    if (!link || !run_alone(link, item, &raw, &err))
        lose(t, item, &err);
    else
        take(t, server, item, raw);
}

static void send_scripts(struct trip *t, size_t server, struct item **items, size_t count)
{
    struct kv_call *calls = check_calloc(count, sizeof *calls);
    redisReply **raw = check_calloc(count + 1, sizeof *raw);
    struct error err;
    struct kv *link = kv_map_link(t->c, server, &err);
    bool ok;

    for (size_t i = 0; i < count; i++)
        calls[i] = *items[i]->call;
    ok = link && kv_script_run(link, calls, count, raw, &err);
    for (size_t i = 0; i < count; i++) {
        if (ok)
            take(t, server, items[i], raw[i]);
        else
            lose(t, items[i], &err);
    }
    free(raw);
    free(calls);
}

/* A server with a connection, or that may be tried now; without a choice, the first. */
static size_t any_server(const struct kv_cluster *c)
{
    size_t first = KV_NOBODY, best = KV_NOBODY;

    for (size_t i = 0; i < c->count; i++) {
        const struct kv_server *s = &c->servers[i];

        if (!s->listed)
            continue;
        if (s->link && !s->link->broken)
            return i;
        first = first == KV_NOBODY ? i : first;
        best = best == KV_NOBODY && clock_mono_ms() >= s->rest_until ? i : best;
    }
    return best == KV_NOBODY ? first : best;
}

static size_t server_of(const struct kv_cluster *c, const struct item *item)
{
    if (item->ask != KV_NOBODY)
        return item->ask;
    return item->slot == ANYWHERE ? any_server(c) : c->owner[item->slot];
}

static void visit(struct trip *t, size_t server)
{
    struct item **scripts = check_calloc(t->count, sizeof(struct item *));
    size_t n = 0;

    for (size_t i = 0; i < t->count; i++) {
        struct item *item = &t->items[i];

        if (item->done || server_of(t->c, item) != server)
            continue;
        if (item->call && item->ask == KV_NOBODY)
            scripts[n++] = item;
        else
            send_alone(t, server, item);
    }
    if (n > 0)
        send_scripts(t, server, scripts, n);
    free(scripts);
}

/* ---- the whole ---- */

static size_t unfinished(const struct trip *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->count; i++)
        n += !t->items[i].done;
    return n;
}

/* By the map nobody has the slot: perhaps by the next one. */
static void wait_for_owners(struct trip *t)
{
    struct error err;

    for (size_t i = 0; i < t->count; i++) {
        struct item *item = &t->items[i];

        if (item->done || server_of(t->c, item) != KV_NOBODY)
            continue;
        error_set(&err, ERROR_KV_AWAY, "by the map of the cluster no server has slot %u; nothing was sent", item->slot);
        lose(t, item, &err);
        t->pause = true;
    }
}

static void give_up(struct trip *t)
{
    struct error err;

    error_set(&err, ERROR_KV_AWAY, "the slot is being moved, and neither server takes the call; it has not run");
    for (size_t i = 0; i < t->count; i++) {
        if (!t->items[i].done)
            fail(&t->items[i], &err);
    }
}

static void run(struct trip *t)
{
    int64_t pause = PAUSE_MS;

    t->deadline = clock_mono_ms() + t->c->conf->redis_command_timeout;
    while (unfinished(t) > 0) {
        kv_map_refresh(t->c);
        t->pause = false;
        for (size_t server = 0; server < t->c->count; server++)
            visit(t, server);
        wait_for_owners(t);
        if (!t->pause)
            continue;
        if (clock_mono_ms() + pause > t->deadline)
            give_up(t);
        else
            clock_sleep_ms(pause);
        pause = pause * 2 < PAUSE_MAX_MS ? pause * 2 : PAUSE_MAX_MS;
    }
}

/* Where none got through, there is no connection to speak of. */
static bool all_out(const struct trip *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (error_class_of(&t->items[i].err) != ERROR_CLASS_OUTAGE)
            return false;
    }
    return true;
}

bool kv_cluster_pipeline(struct kv *kv, const struct kv_call *calls, size_t count, struct kv_reply **replies,
                         struct error *errs, struct error *err)
{
    struct item *items = check_calloc(count, sizeof *items);
    struct trip t = {.c = kv->cluster, .items = items, .count = count};
    bool ok;

    for (size_t i = 0; i < count; i++)
        items[i] = (struct item){.call = &calls[i],
                                 .slot = calls[i].key_count > 0 ? kv_slot_of(calls[i].keys[0]) : ANYWHERE,
                                 .ask = KV_NOBODY};
    run(&t);
    ok = !all_out(&t);
    if (!ok)
        *err = items[0].err;
    for (size_t i = 0; i < count && ok; i++) {
        errs[i] = items[i].err;
        replies[i] = items[i].raw ? kv_reply_wrap(items[i].raw) : NULL;
    }
    free(items);
    return ok;
}

static bool one_of(struct slice word, const char *const *words)
{
    for (; *words; words++) {
        if (word.len == strlen(*words) && strncasecmp(word.ptr, *words, word.len) == 0)
            return true;
    }
    return false;
}

/* The first key of a command: its first argument, but for scripts, and those that have none. */
static unsigned slot_of_command(const struct slice *argv, size_t argc)
{
    static const char *const keyless[] = {"PING",   "TIME", "INFO",    "CONFIG",  "SCRIPT", "ROLE",
                                          "CLIENT", "ACL",  "CLUSTER", "PUBLISH", "ECHO",   NULL};
    static const char *const scripts[] = {"EVAL", "EVALSHA", NULL};

    if (one_of(argv[0], scripts))
        return argc > 3 && !slice_is(argv[2], "0") ? kv_slot_of(argv[3]) : ANYWHERE;
    return argc > 1 && !one_of(argv[0], keyless) ? kv_slot_of(argv[1]) : ANYWHERE;
}

struct kv_reply *kv_cluster_command(struct kv *kv, const struct slice *argv, size_t argc, struct error *err)
{
    struct item item = {.argv = argv, .argc = argc, .slot = slot_of_command(argv, argc), .ask = KV_NOBODY};
    struct trip t = {.c = kv->cluster, .items = &item, .count = 1};

    run(&t);
    if (item.raw)
        return kv_reply_wrap(item.raw);
    *err = item.err;
    return NULL;
}

struct kv_reply *kv_cluster_command_at(struct kv *kv, size_t server, const struct slice *argv, size_t argc,
                                       struct error *err)
{
    struct kv *link = kv_map_link(kv->cluster, server, err);
    struct kv_reply *reply = link ? kv_command(link, argv, argc, err) : NULL;

    if (!reply && error_class_of(err) == ERROR_CLASS_OUTAGE)
        kv_map_lost(kv->cluster, server);
    return reply;
}

struct kv *kv_cluster_open(const struct conf *conf, const char *name, struct error *err)
{
    struct kv *kv = check_calloc(1, sizeof *kv);
    struct kv_cluster *c = check_calloc(1, sizeof *c);

    c->conf = conf;
    snprintf(c->name, sizeof c->name, "%s", name);
    memset(c->owner, 0xff, sizeof c->owner); /* KV_NOBODY */
    kv->cluster = c;
    kv->fd = -1;
    if (kv_map_read(c, err)) {
        snprintf(kv->peer, sizeof kv->peer, "cluster of %.250s", conf->redis_nodes);
        return kv;
    }
    kv_close(&kv);
    return NULL;
}
