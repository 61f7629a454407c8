#include "broker_private.h"

#include "orderd/check.h"

/* A request that the broker may answer by closing the channel: then the channel is opened again under its old number
 * (allowed as soon as close-ok was sent, which frames.c did). *closed_code is the reason, or 0 where the request
 * succeeded. */
static bool ask(struct broker *b, amqp_method_number_t id, void *method, amqp_method_number_t answer,
                uint16_t *closed_code, struct error *detail, struct error *err)
{
    *closed_code = 0;
    error_clear(detail);
    if (!broker_usable(b, err))
        return false;
    if (b->consuming || b->inbox.count || b->window)
        return error_set(err, ERROR_INTERNAL, "topology is asked for on a connection that consumes or publishes");
    b->call.may_close_channel = true;
    if (broker_call(b, BROKER_CHANNEL, id, method, answer, b->call_timeout_ms, detail)) {
        b->call.may_close_channel = false;
        return true;
    }
    b->call.may_close_channel = false;
    if (!broker_usable(b, err))
        return false;
    *closed_code = b->call.closed_code;
    return broker_open_channel(b, err);
}

/* As ask, for requests without a `presence`: a refusal is an error. */
static bool demand(struct broker *b, amqp_method_number_t id, void *method, amqp_method_number_t answer,
                   struct error *err)
{
    struct error detail;
    uint16_t closed;

    if (!ask(b, id, method, answer, &closed, &detail, err))
        return false;
    if (closed)
        *err = detail;
    return !closed;
}

/* The presence that a refusal tells, or the error that it is. */
static bool judge(uint16_t closed, enum broker_presence *presence, const struct error *detail, struct error *err)
{
    switch (closed) {
    case 0:
        *presence = BROKER_PRESENT;
        return true;
    case AMQP_NOT_FOUND:
        *presence = BROKER_MISSING;
        break;
    case AMQP_ACCESS_REFUSED:
        *presence = BROKER_FORBIDDEN;
        return true;
    default:
        *presence = BROKER_DIFFERENT; /* 406, and 405 for a queue that another connection owns */
        break;
    }
    if (detail->code == ERROR_BROKER_AWAY) { /* "not found" since its node is down */
        *err = *detail;
        return false;
    }
    return true;
}

static const char *kind_name(enum broker_exchange_kind kind)
{
    static const char *const names[] = {"direct", "fanout", "topic"};

    return names[kind];
}

/* First only looks where nothing may be made. Looking says nothing about arguments, so a declare with ours follows: it
 * changes nothing about what is there, and the broker compares. */
bool broker_declare_exchange(struct broker *b, const char *name, enum broker_exchange_kind kind, bool create,
                             enum broker_presence *presence, struct error *detail, struct error *err)
{
    amqp_exchange_declare_t m = {.exchange = bytes_of_text(name), .type = bytes_of_text(kind_name(kind)), .durable = 1};
    uint16_t closed = 0;

    m.passive = !create;
    if (!ask(b, AMQP_EXCHANGE_DECLARE_METHOD, &m, AMQP_EXCHANGE_DECLARE_OK_METHOD, &closed, detail, err))
        return false;
    if (!closed && m.passive) {
        m.passive = 0;
        if (!ask(b, AMQP_EXCHANGE_DECLARE_METHOD, &m, AMQP_EXCHANGE_DECLARE_OK_METHOD, &closed, detail, err))
            return false;
    }
    return judge(closed, presence, detail, err);
}

static amqp_table_entry_t entry_of(const struct broker_argument *a)
{
    amqp_table_entry_t e = {.key = bytes_of_text(a->name)};

    if (a->text) {
        e.value.kind = AMQP_FIELD_KIND_UTF8;
        e.value.value.bytes = bytes_of_text(a->text);
    } else {
        e.value.kind = AMQP_FIELD_KIND_I64;
        e.value.value.i64 = a->integer;
    }
    return e;
}

bool broker_declare_queue(struct broker *b, const char *name, const struct broker_argument *arguments, size_t count,
                          bool create, enum broker_presence *presence, struct error *detail, struct error *err)
{
    amqp_table_entry_t entries[32];
    amqp_queue_declare_t m = {.queue = bytes_of_text(name), .durable = 1};
    uint16_t closed = 0;

    CHECK(count <= sizeof entries / sizeof *entries);
    for (size_t i = 0; i < count; i++)
        entries[i] = entry_of(&arguments[i]);
    m.arguments = (amqp_table_t){(int)count, entries};
    m.passive = !create;
    if (!ask(b, AMQP_QUEUE_DECLARE_METHOD, &m, AMQP_QUEUE_DECLARE_OK_METHOD, &closed, detail, err))
        return false;
    if (!closed && m.passive) {
        m.passive = 0;
        if (!ask(b, AMQP_QUEUE_DECLARE_METHOD, &m, AMQP_QUEUE_DECLARE_OK_METHOD, &closed, detail, err))
            return false;
    }
    return judge(closed, presence, detail, err);
}

bool broker_bind_queue(struct broker *b, const char *queue, const char *exchange, const char *routing_key,
                       struct error *err)
{
    amqp_queue_bind_t m = {
        .queue = bytes_of_text(queue), .exchange = bytes_of_text(exchange), .routing_key = bytes_of_text(routing_key)};

    return demand(b, AMQP_QUEUE_BIND_METHOD, &m, AMQP_QUEUE_BIND_OK_METHOD, err);
}

bool broker_queue_depth(struct broker *b, const char *name, uint32_t *messages, uint32_t *consumers, struct error *err)
{
    amqp_queue_declare_t m = {.queue = bytes_of_text(name), .passive = 1};

    if (!demand(b, AMQP_QUEUE_DECLARE_METHOD, &m, AMQP_QUEUE_DECLARE_OK_METHOD, err))
        return false;
    *messages = b->call.messages;
    *consumers = b->call.consumers;
    return true;
}

bool broker_find_queue(struct broker *b, const char *name, enum broker_presence *presence, struct error *err)
{
    amqp_queue_declare_t m = {.queue = bytes_of_text(name), .passive = 1};
    struct error detail;
    uint16_t closed;

    return ask(b, AMQP_QUEUE_DECLARE_METHOD, &m, AMQP_QUEUE_DECLARE_OK_METHOD, &closed, &detail, err) &&
           judge(closed, presence, &detail, err);
}
