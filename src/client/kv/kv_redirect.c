#include "kv_cluster.h"

#include <string.h>

#include "orderd/units.h"

/* Takes the word before the next space off text. */
static struct slice word(struct slice *text)
{
    const char *space = memchr(text->ptr, ' ', text->len);
    size_t len = space ? (size_t)(space - text->ptr) : text->len;
    struct slice taken = {text->ptr, len};

    text->ptr += len + (space != NULL);
    text->len -= len + (space != NULL);
    return taken;
}

static bool number(struct slice text, int64_t max, int64_t *out)
{
    char digits[8];

    if (text.len == 0 || text.len >= sizeof digits)
        return false;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = '\0';
    return units_parse_i64(digits, 0, max, out);
}

bool kv_redirect_parse(struct slice text, const struct conf_node *from, unsigned *slot, struct conf_node *at)
{
    struct slice address;
    const char *colon;
    int64_t n, port;
    size_t host;

    word(&text); /* MOVED or ASK */
    if (!number(word(&text), KV_SLOTS - 1, &n))
        return false;
    address = word(&text);
    colon = memrchr(address.ptr, ':', address.len);
    if (!colon)
        return false;
    host = (size_t)(colon - address.ptr);
    if (!number((struct slice){colon + 1, address.len - host - 1}, 65535, &port) || port == 0 ||
        host >= sizeof at->host || memchr(address.ptr, '\0', host))
        return false;
    *at = *from;
    if (host > 0) {
        memcpy(at->host, address.ptr, host);
        at->host[host] = '\0';
    }
    at->port = (int)port;
    *slot = (unsigned)n;
    return true;
}

enum kv_turn kv_redirect(struct kv_cluster *c, size_t server, const redisReply *reply, size_t *ask)
{
    bool moved = kv_error_is(reply, "MOVED"), asks = kv_error_is(reply, "ASK");
    struct conf_node from = c->servers[server].at, at;
    unsigned slot;

    if (kv_error_is(reply, "TRYAGAIN"))
        return KV_TURN_AGAIN;
    if ((!moved && !asks) || !kv_redirect_parse((struct slice){reply->str, reply->len}, &from, &slot, &at))
        return KV_TURN_ANSWER;
    *ask = kv_map_server(c, KV_NAMED_CLUSTER, &at);
    if (*ask == KV_NOBODY)
        return KV_TURN_ANSWER;
    if (asks)
        return KV_TURN_ASK;
    c->owner[slot] = (uint16_t)*ask;
    c->stale = true; /* where one slot moved, others may have */
    return KV_TURN_MOVED;
}
