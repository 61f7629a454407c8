#include "relay_private.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "orderd/order.h"
#include "orderd/topology.h"

#define EVENT_PREFIX "event."

/* Without the prefix that tells events from messages of the same name, if it is there. */
static struct slice bare(const struct sending *s, struct slice name)
{
    const size_t len = sizeof EVENT_PREFIX - 1;

    if (s->kind == EFFECT_PUBLISH_EVENT && name.len > len && memcmp(name.ptr, EVENT_PREFIX, len) == 0)
        return (struct slice){name.ptr + len, name.len - len};
    return name;
}

/* An order's message carries the order number as its id, an event its whole key: an order has several events. */
static struct slice default_id(const struct sending *s)
{
    struct slice key = s->message->key;
    const char *colon = memchr(key.ptr, ':', key.len);

    if (s->kind == EFFECT_PUBLISH_EVENT || !colon || colon + 1 == key.ptr + key.len)
        return bare(s, key);
    return (struct slice){colon + 1, key.len - (size_t)(colon + 1 - key.ptr)};
}

/* The broker routes by these two (sender-selected distribution) and closes the channel where they are no lists. */
static bool routes(const char *name)
{
    return strcasecmp(name, "CC") == 0 || strcasecmp(name, "BCC") == 0;
}

static bool take_header(struct publication *p, const char *name, const json_t *value, struct error *err)
{
    struct slice text = {json_string_value(value), json_string_length(value)};
    struct broker_header *h = &p->headers[p->args.header_count];

    if (!json_is_string(value) && !json_is_integer(value))
        return error_set(err, ERROR_INPUT_INVALID, "header %.100s is neither a text nor a whole number", name);
    if (routes(name))
        return error_set(err, ERROR_INPUT_INVALID, "header %s is the broker's own", name);
    if (json_is_string(value) && strcmp(name, "message-id") == 0) {
        p->args.message_id = text.len > 0 ? text : p->args.message_id;
    } else if (json_is_string(value) && strcmp(name, "content-type") == 0) {
        p->args.content_type = text;
    } else if (p->args.header_count == PUBLICATION_HEADERS_MAX) {
        return error_set(err, ERROR_INPUT_INVALID, "more than %d headers", PUBLICATION_HEADERS_MAX);
    } else {
        *h = (struct broker_header){.name = slice_of(name), .value = json_is_string(value) ? text : slice_of("")};
        h->is_integer = json_is_integer(value);
        h->integer = json_integer_value(value);
        p->args.header_count++;
    }
    return true;
}

static bool take_headers(struct publication *p, struct slice headers, struct error *err)
{
    json_error_t problem;
    const char *name;
    json_t *value;

    if (headers.len == 0)
        return true;
    p->root = json_loadb(headers.ptr, headers.len, JSON_ALLOW_NUL, &problem); /* any bytes may be a header's value */
    if (!json_is_object((json_t *)p->root))
        return error_set(err, ERROR_INPUT_INVALID, "the headers column is not a JSON object%s%s", p->root ? "" : ": ",
                         p->root ? "" : problem.text);
    json_object_foreach((json_t *)p->root, name, value)
    {
        if (!take_header(p, name, value, err))
            return false;
    }
    return true;
}

/* The create queue may have another name here, or several; whoever wrote the row need not know. What is no order ends
 * as a dead letter from any of them. */
static const char *key_of(struct publication *p, const struct conf *conf, struct slice payload)
{
    struct order order;
    char detail[128];

    if (strcmp(p->topic, topology_name(TOPOLOGY_QUEUE_CREATE)) != 0)
        return p->topic;
    if (conf->create_queues == 1 || order_decode(payload, &order, detail, sizeof detail) != REASON_NONE)
        return conf->create_queue;
    create_queue_of(conf, order.activity_id, p->queue);
    return p->queue;
}

bool publication_prepare(struct publication *p, const struct conf *conf, const struct sending *s, struct error *err)
{
    const struct local_message *m = s->message;
    struct slice topic = bare(s, m->topic);

    snprintf(p->topic, sizeof p->topic, "%.*s", (int)topic.len, topic.ptr);
    p->args = (struct broker_publication){
        .exchange = topology_name(s->kind == EFFECT_PUBLISH_EVENT ? TOPOLOGY_EXCHANGE_EVENT : TOPOLOGY_EXCHANGE_ORDER),
        .routing_key = key_of(p, conf, m->payload),
        .body = m->payload,
        .message_id = default_id(s),
        .headers = p->headers,
    };
    return take_headers(p, m->headers, err);
}

void publication_release(struct publication *p)
{
    json_decref(p->root);
    p->root = NULL;
}
