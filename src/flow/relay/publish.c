#include "relay_private.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "orderd/log.h"
#include "orderd/topology.h"

/* As many as a delivery shows and ours; what comes after is left behind. */
#define HEADERS_MAX 300

static bool is_publication(const struct sending *s)
{
    return s->kind == EFFECT_PUBLISH_ORDER || s->kind == EFFECT_PUBLISH_EVENT;
}

/* An order's message carries the order number as its id, an event its whole key. */
static struct slice default_id(const struct sending *s)
{
    struct slice key = s->message->key;
    const char *colon = memchr(key.ptr, ':', key.len);

    if (s->kind == EFFECT_PUBLISH_EVENT || !colon)
        return key;
    return (struct slice){colon + 1, key.len - (size_t)(colon + 1 - key.ptr)};
}

struct prepared {
    json_t *root; /* what the headers point into */
    struct broker_header headers[HEADERS_MAX];
    struct broker_publication publication;
    char topic[LOCAL_MESSAGE_KEY_MAX + 1];
};

static void take_header(struct prepared *p, const char *name, const json_t *value)
{
    struct slice text = {json_string_value(value), json_string_length(value)};
    struct broker_header *h = &p->headers[p->publication.header_count];

    if (json_is_string(value) && strcmp(name, "message-id") == 0) {
        p->publication.message_id = text;
    } else if (json_is_string(value) && strcmp(name, "content-type") == 0) {
        p->publication.content_type = text;
    } else if ((json_is_string(value) || json_is_integer(value)) && p->publication.header_count < HEADERS_MAX) {
        *h = (struct broker_header){.name = slice_of(name), .value = json_is_string(value) ? text : slice_of("")};
        h->is_integer = json_is_integer(value);
        h->integer = json_integer_value(value);
        p->publication.header_count++;
    }
}

static bool take_headers(struct prepared *p, struct slice headers)
{
    json_error_t error;
    const char *name;
    json_t *value;

    if (headers.len == 0)
        return true;
    p->root = json_loadb(headers.ptr, headers.len, JSON_ALLOW_NUL, &error); /* any bytes may be a header's value */
    if (!json_is_object(p->root))
        return false;
    json_object_foreach(p->root, name, value) take_header(p, name, value);
    return true;
}

static bool prepare(struct prepared *p, const struct sending *s)
{
    const struct local_message *m = s->message;

    memset(p, 0, sizeof *p);
    snprintf(p->topic, sizeof p->topic, "%.*s", (int)m->topic.len, m->topic.ptr);
    p->publication = (struct broker_publication){
        .exchange = topology_name(s->kind == EFFECT_PUBLISH_EVENT ? TOPOLOGY_EXCHANGE_EVENT : TOPOLOGY_EXCHANGE_ORDER),
        .routing_key = p->topic,
        .body = m->payload,
        .message_id = default_id(s),
        .headers = p->headers,
    };
    return take_headers(p, m->headers);
}

static bool open_publisher(struct relay *relay, struct error *err)
{
    char name[128];

    if (relay->publisher)
        return true;
    if (!target_may_try(&relay->broker_target))
        return error_set(err, ERROR_BROKER_AWAY, "the broker is away");
    snprintf(name, sizeof name, "orderd%s%.40s relay", relay->shared->instance[0] ? "@" : "", relay->shared->instance);
    relay->publisher = broker_open(relay->conf, name, err);
    if (relay->publisher && !broker_confirm_select(relay->publisher, (unsigned)relay->conf->relay_window, err))
        broker_close(&relay->publisher, false);
    if (relay->publisher)
        backoff_reset(&relay->broker_target.backoff);
    else
        target_failed(&relay->broker_target);
    return relay->publisher != NULL;
}

/* Closing settles the outcome of everything that is still pending. */
static void lose_publisher(struct relay *relay, const struct error *err)
{
    log_event(LOG_EVENT_BROKER_DOWN, LOG_STR("connection", "relay"), LOG_ERR(err));
    if (relay->publisher)
        broker_close(&relay->publisher, false);
    target_failed(&relay->broker_target);
}

static void publish_one(struct relay *relay, struct sending *s, struct error *err)
{
    struct prepared p;

    if (!prepare(&p, s)) {
        relay_settle(s, LOCAL_MESSAGE_QUARANTINE, 0, "the headers column is not a JSON object");
    } else if (!broker_publish(relay->publisher, &p.publication, &s->outcome, err)) {
        const char *why = relay_text(relay, err->text);

        if (err->code == ERROR_BROKER_TOO_LARGE)
            relay_settle(s, LOCAL_MESSAGE_QUARANTINE, 0, why);
        else if (error_class_of(err) == ERROR_CLASS_PERMANENT)
            relay_settle(s, LOCAL_MESSAGE_QUARANTINE, 0, why);
        else
            relay_settle(s, LOCAL_MESSAGE_WAIT, 1000, why);
        if (err->code == ERROR_BROKER_AWAY)
            lose_publisher(relay, err);
    }
    json_decref(p.root);
}

static void judge(struct relay *relay, struct sending *s, bool alone)
{
    switch (s->outcome) {
    case BROKER_OUTCOME_CONFIRMED:
        relay_settle(s, LOCAL_MESSAGE_SENT, 0, NULL);
        break;
    case BROKER_OUTCOME_RETURNED:
        /* An event that nobody listens to is sent; anything else must wait for its queue. */
        if (s->kind == EFFECT_PUBLISH_EVENT)
            relay_settle(s, LOCAL_MESSAGE_SENT, 0, NULL);
        else
            relay_settle(s, LOCAL_MESSAGE_WAIT, 5000,
                         "no queue is bound for this topic: run `orderctl topology apply`");
        break;
    case BROKER_OUTCOME_REFUSED:
        relay_failed(relay, s, "the broker refused it (nack): its queue is full or has lost its majority");
        break;
    case BROKER_OUTCOME_TOO_LARGE:
        relay_settle(s, LOCAL_MESSAGE_QUARANTINE, 0, "the body is over the broker's limit");
        break;
    case BROKER_OUTCOME_PENDING:
    case BROKER_OUTCOME_UNKNOWN:
        if (alone)
            relay_failed(relay, s, "the broker closed the connection on it, or did not confirm it in time");
        else
            relay_settle(s, LOCAL_MESSAGE_WAIT, 0, "the broker was lost before it confirmed");
        break;
    }
}

/* Confirms of everything published since the last call. */
static bool await(struct relay *relay, struct error *err)
{
    if (!relay->publisher)
        return false;
    if (broker_wait_confirms(relay->publisher, (int)relay->conf->broker_call_timeout, err))
        return true;
    lose_publisher(relay, err);
    return false;
}

/* One at a time: which of them breaks the channel? */
static void publish_careful(struct relay *relay, struct sending *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error err = {0};
        bool alive;

        if (!is_publication(&all[i]) || all[i].settled)
            continue;
        relay->careful = relay->careful > 0 ? relay->careful - 1 : 0;
        if (!open_publisher(relay, &err)) {
            relay_settle(&all[i], LOCAL_MESSAGE_WAIT, 1000, relay_text(relay, err.text));
            continue;
        }
        publish_one(relay, &all[i], &err);
        if (all[i].settled)
            continue;
        alive = await(relay, &err);
        judge(relay, &all[i], !alive);
        if (!alive)
            relay->broker_target.next_try = 0; /* it was the message, not the broker: the next one may go at once */
    }
}

static void publish_pipelined(struct relay *relay, struct sending *all, size_t count)
{
    struct error err = {0};
    size_t published = 0;
    bool alive;

    for (size_t i = 0; i < count; i++) {
        if (!is_publication(&all[i]) || all[i].settled)
            continue;
        if (!open_publisher(relay, &err)) {
            relay_settle(&all[i], LOCAL_MESSAGE_WAIT, 1000, relay_text(relay, err.text));
            continue;
        }
        publish_one(relay, &all[i], &err);
        published++;
    }
    alive = published == 0 || await(relay, &err);
    for (size_t i = 0; i < count; i++) {
        if (is_publication(&all[i]) && !all[i].settled)
            judge(relay, &all[i], !alive && published == 1);
    }
    if (!alive && published > 1)
        relay->careful = published;
}

void relay_publish(struct relay *relay, struct sending *all, size_t count)
{
    if (relay->careful > 0)
        publish_careful(relay, all, count);
    else
        publish_pipelined(relay, all, count);
}
