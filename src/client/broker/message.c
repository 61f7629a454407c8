#include "broker_private.h"

#include <string.h>

#include "headers.h"
#include "orderd/check.h"
#include "properties.h"

/* The largest body that a 3.x broker lets through by default; 4.x: 16 MiB. A peer that announces more is none. */
#define BODY_MAX (128u << 20)

/* One piece of memory: the copies of what arrived follow the struct. */
struct broker_message {
    struct slice properties; /* encoded, with the flags */
    struct slice header_table;
    struct headers headers; /* read at the first look at them */
    bool has_headers;
    char bytes[];
};

struct slice message_encoded_properties(const struct broker_message *m)
{
    return m->properties;
}

void message_discard(struct assembly *a)
{
    if (a->kind == ASSEMBLY_DELIVERY && a->has_header)
        broker_delivery_release(&a->delivery);
    a->kind = ASSEMBLY_NONE;
}

/* ---- what announces a message ---- */

static struct slice keep_short(char *to, amqp_bytes_t from)
{
    if (from.len)
        memcpy(to, from.bytes, from.len);
    return (struct slice){to, from.len};
}

static void begin(struct assembly *a, enum assembly_kind kind)
{
    a->kind = kind;
    a->has_header = false;
    a->size = a->filled = 0;
    memset(&a->delivery, 0, sizeof a->delivery);
}

bool message_deliver(struct broker *b, const amqp_basic_deliver_t *m)
{
    struct assembly *a = &b->assembly;

    if (a->kind != ASSEMBLY_NONE)
        return broker_fail_protocol(b, "a message inside a message");
    if (inbox_full(&b->inbox))
        return broker_fail_protocol(b, "more deliveries than the prefetch allows");
    begin(a, ASSEMBLY_DELIVERY);
    a->delivery.tag = m->delivery_tag;
    a->delivery.redelivered = m->redelivered;
    if (m->exchange.len > sizeof a->exchange || m->routing_key.len > sizeof a->routing_key)
        return broker_fail_protocol(b, "a short string that is long");
    a->delivery.exchange = keep_short(a->exchange, m->exchange);
    a->delivery.routing_key = keep_short(a->routing_key, m->routing_key);
    return true;
}

bool message_returned(struct broker *b)
{
    if (b->assembly.kind != ASSEMBLY_NONE)
        return broker_fail_protocol(b, "a message inside a message");
    begin(&b->assembly, ASSEMBLY_RETURN);
    return true;
}

/* ---- its header ---- */

static struct slice append(char **at, struct slice s)
{
    struct slice copy = {*at, s.len};

    if (s.len)
        memcpy(*at, s.ptr, s.len);
    *at += s.len;
    return copy;
}

static bool begin_delivery(struct broker *b, struct slice encoded)
{
    struct broker_delivery *d = &b->assembly.delivery;
    struct broker_message *m =
        check_malloc(sizeof *m + d->exchange.len + d->routing_key.len + encoded.len + (size_t)b->assembly.size);
    char *at = m->bytes;
    struct properties p;

    *m = (struct broker_message){.has_headers = false}; /* before any copy: `bytes` begins inside the padding */
    m->properties = append(&at, encoded);
    d->message = m;
    d->exchange = append(&at, d->exchange);
    d->routing_key = append(&at, d->routing_key);
    d->body = (struct slice){at, (size_t)b->assembly.size};
    if (!properties_read(m->properties, &p))
        return broker_fail_protocol(b, "message properties that cannot be read");
    m->header_table = p.headers;
    d->message_id = p.message_id;
    d->correlation_id = p.correlation_id;
    d->content_type = p.content_type;
    d->timestamp_s = p.timestamp <= INT64_MAX ? (int64_t)p.timestamp : 0;
    return true;
}

static bool note_return(struct broker *b, struct slice encoded)
{
    struct properties p;

    if (!properties_read(encoded, &p))
        return broker_fail_protocol(b, "message properties that cannot be read");
    if (b->window)
        window_return(b->window, p.message_id);
    return true;
}

static void finish_when_full(struct broker *b, unsigned *arrived)
{
    struct assembly *a = &b->assembly;

    if (a->filled < a->size)
        return;
    ++*arrived;
    if (a->kind == ASSEMBLY_DELIVERY)
        inbox_put(&b->inbox, &a->delivery);
    a->kind = ASSEMBLY_NONE;
}

bool message_header(struct broker *b, const amqp_frame_t *frame, unsigned *arrived)
{
    struct assembly *a = &b->assembly;
    struct slice encoded = slice_of_bytes(frame->payload.properties.raw);

    if (a->kind == ASSEMBLY_NONE || a->has_header)
        return broker_fail_protocol(b, "a content header that belongs to nothing");
    if (frame->payload.properties.body_size > BODY_MAX)
        return broker_fail_protocol(b, "a message of more than 128 MiB");
    a->has_header = true;
    a->size = frame->payload.properties.body_size;
    if (!(a->kind == ASSEMBLY_DELIVERY ? begin_delivery(b, encoded) : note_return(b, encoded)))
        return false;
    finish_when_full(b, arrived);
    return true;
}

bool message_body(struct broker *b, struct slice piece, unsigned *arrived)
{
    struct assembly *a = &b->assembly;

    if (a->kind == ASSEMBLY_NONE || !a->has_header || piece.len > a->size - a->filled)
        return broker_fail_protocol(b, "a body that belongs to nothing");
    if (a->kind == ASSEMBLY_DELIVERY)
        memcpy((char *)a->delivery.body.ptr + a->filled, piece.ptr, piece.len);
    a->filled += piece.len;
    finish_when_full(b, arrived);
    return true;
}

/* ---- for its owner ---- */

void broker_delivery_release(struct broker_delivery *d)
{
    if (d->message) {
        headers_release(&d->message->headers);
        free(d->message);
    }
    memset(d, 0, sizeof *d);
}

static const struct headers *headers_of(const struct broker_delivery *d)
{
    static const struct headers none;
    struct broker_message *m = d->message;

    if (!m)
        return &none;
    if (!m->has_headers) {
        m->headers = headers_read(m->header_table);
        m->has_headers = true;
    }
    return &m->headers;
}

bool broker_delivery_header(const struct broker_delivery *d, size_t index, struct broker_header *out)
{
    const struct headers *h = headers_of(d);

    if (index >= h->count)
        return false;
    *out = h->list[index];
    return true;
}

bool broker_delivery_find(const struct broker_delivery *d, const char *name, struct broker_header *out)
{
    const struct headers *h = headers_of(d);

    for (size_t i = 0; i < h->count; i++) {
        if (slice_is(h->list[i].name, name)) {
            *out = h->list[i];
            return true;
        }
    }
    return false;
}
