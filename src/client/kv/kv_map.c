#include "kv_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

#define REST_MS 500

static bool same_node(const struct conf_node *a, const struct conf_node *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

size_t kv_map_server(struct kv_cluster *c, enum kv_named named, const struct conf_node *at)
{
    size_t i;

    for (i = 0; i < c->count; i++) {
        if (!same_node(&c->servers[i].at, at))
            continue;
        c->servers[i].listed = true;
        c->servers[i].named = named;
        return i;
    }
    for (i = 0; i < c->count && (c->servers[i].listed || c->servers[i].link); i++)
        ;
    if (i == KV_SERVERS_MAX)
        return KV_NOBODY;
    if (i == c->count) {
        c->servers = check_realloc(c->servers, ++c->count * sizeof *c->servers);
    }
    c->servers[i] = (struct kv_server){.at = *at, .named = named, .listed = true};
    snprintf(c->servers[i].text, sizeof c->servers[i].text, "%s:%d", at->host, at->port);
    return i;
}

struct kv *kv_map_link(struct kv_cluster *c, size_t server, struct error *err)
{
    struct kv_server *s = &c->servers[server];
    struct kv_site site = kv_site_of(c->conf, s->named, s->at.host, s->at.port);
    int64_t began = clock_mono_ms();

    if (s->link && !s->link->broken)
        return s->link;
    kv_close(&s->link);
    if (began < s->rest_until) { /* as it was a moment ago; nothing is sent */
        *err = s->why;
        return NULL;
    }
    s->link = kv_connect(&site, c->name, err);
    if (!s->link) { /* at least half of the time is for the others */
        s->rest_until = clock_mono_ms() + REST_MS + (clock_mono_ms() - began);
        s->why = *err;
    }
    return s->link;
}

void kv_map_lost(struct kv_cluster *c, size_t server)
{
    kv_close(&c->servers[server].link);
    c->stale = true;
}

void kv_map_free(struct kv_cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        kv_close(&c->servers[i].link);
    free(c->servers);
    free(c);
}

/* ---- CLUSTER SLOTS: [from, to, [host, port, id ...], replicas ...] ... ---- */

/* A server that knows no name for itself is the one we asked. */
static bool read_server(const struct kv_reply *reply, const struct conf_node *from, struct conf_node *at)
{
    const struct kv_reply *host = kv_reply_at(reply, 0), *port = kv_reply_at(reply, 1);
    struct slice text = host ? kv_reply_text(host) : (struct slice){"", 0};
    int64_t number = port ? kv_reply_integer(port) : 0;

    if (number < 1 || number > 65535 || text.len >= sizeof at->host || slice_is(text, "?") ||
        memchr(text.ptr, '\0', text.len))
        return false;
    *at = *from;
    at->port = (int)number;
    if (text.len > 0) {
        memcpy(at->host, text.ptr, text.len);
        at->host[text.len] = '\0';
    }
    return true;
}

static bool read_range(struct kv_cluster *c, const struct kv_reply *range, const struct conf_node *from)
{
    struct conf_node at;
    int64_t first, last;
    size_t server;

    if (kv_reply_count(range) < 3 || !read_server(kv_reply_at(range, 2), from, &at))
        return false;
    first = kv_reply_integer(kv_reply_at(range, 0));
    last = kv_reply_integer(kv_reply_at(range, 1));
    if (first < 0 || last < first || last >= KV_SLOTS)
        return false;
    server = kv_map_server(c, KV_NAMED_CLUSTER, &at);
    for (int64_t slot = first; slot <= last; slot++)
        c->owner[slot] = (uint16_t)server;
    return server != KV_NOBODY;
}

/* A range that cannot be read leaves its slots nobody's: the next map may be better. */
static bool take_map(struct kv_cluster *c, const struct kv_reply *map, const struct conf_node *from)
{
    size_t ranges = 0;

    if (kv_reply_count(map) == 0 || kv_reply_count(map) > KV_SLOTS)
        return false;
    for (size_t i = 0; i < c->count; i++)
        c->servers[i].listed = false;
    for (size_t slot = 0; slot < KV_SLOTS; slot++)
        c->owner[slot] = KV_NOBODY;
    for (size_t i = 0; i < kv_reply_count(map); i++)
        ranges += read_range(c, kv_reply_at(map, i), from);
    for (size_t i = 0; i < c->count; i++) {
        if (!c->servers[i].listed)
            kv_close(&c->servers[i].link);
    }
    return ranges > 0;
}

static bool ask(struct kv_cluster *c, size_t server, struct error *err)
{
    const struct slice argv[] = {slice_of("CLUSTER"), slice_of("SLOTS")};
    struct conf_node from = c->servers[server].at;
    struct kv *link = kv_map_link(c, server, err);
    struct kv_reply *reply = link ? kv_command(link, argv, 2, err) : NULL;
    bool ok = reply && take_map(c, reply, &from);

    if (reply && !ok)
        error_set(err, ERROR_KV_AWAY, "%s:%d: by its map no server has any slot", from.host, from.port);
    kv_reply_free(&reply);
    return ok;
}

/* Those that are connected first. */
static bool ask_known(struct kv_cluster *c, struct error *err)
{
    size_t count = c->count;

    for (int connected = 1; connected >= 0; connected--) {
        for (size_t i = 0; i < count; i++) {
            if ((c->servers[i].link != NULL) == connected && (connected || c->servers[i].listed) && ask(c, i, err))
                return true;
        }
    }
    return false;
}

static bool ask_named(struct kv_cluster *c, struct error *err)
{
    const char *list = c->conf->redis_nodes;
    struct conf_node node;

    while (conf_node_next(&list, &node)) {
        size_t server = kv_map_server(c, KV_NAMED_NODES, &node);

        if (server != KV_NOBODY && ask(c, server, err))
            return true;
    }
    return false;
}

bool kv_map_read(struct kv_cluster *c, struct error *err)
{
    bool ok = ask_known(c, err) || ask_named(c, err);

    c->read_at = clock_mono_ms();
    c->stale = !ok;
    return ok;
}

void kv_map_refresh(struct kv_cluster *c)
{
    struct error ignored; /* who needs a server that cannot be found says so */

    if (c->stale && clock_mono_ms() >= c->read_at + KV_MAP_MS)
        (void)!kv_map_read(c, &ignored);
}
