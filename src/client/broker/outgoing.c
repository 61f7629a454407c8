#include "outgoing.h"

#include <string.h>

#include "broker_private.h"
#include "headers.h"
#include "orderd/check.h"

/* What a republish keeps. Not kept: user_id (the broker closes the channel where it is not our own user), expiration (a
 * per-message TTL blocks a delay queue's head), cluster_id (deprecated), delivery_mode and message_id (ours). */
#define KEPT_FLAGS                                                                                                     \
    (AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_CONTENT_ENCODING_FLAG | AMQP_BASIC_PRIORITY_FLAG |                      \
     AMQP_BASIC_CORRELATION_ID_FLAG | AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_TYPE_FLAG |    \
     AMQP_BASIC_APP_ID_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG)

/* Short strings and fixed fields take at most this much in the frame, together. */
#define FIXED_ROOM 4096

static bool fits(const struct broker_publication *p, int frame_max, struct error *err)
{
    size_t size = FIXED_ROOM;

    if (p->message_id.len > WIRE_SHORT_MAX || p->content_type.len > WIRE_SHORT_MAX ||
        strlen(p->exchange) > WIRE_SHORT_MAX || strlen(p->routing_key) > WIRE_SHORT_MAX)
        return error_set(err, ERROR_BROKER_TOO_LARGE,
                         "message id, content type, exchange or routing key of more than 255 bytes");
    if (p->copy_from)
        size += message_encoded_properties(p->copy_from->message).len;
    for (size_t i = 0; i < p->header_count; i++) {
        size += p->headers[i].name.len + p->headers[i].value.len + 16;
        if (p->headers[i].name.len > WIRE_SHORT_MAX)
            return error_set(err, ERROR_BROKER_TOO_LARGE, "a header's name of more than 255 bytes");
    }
    if (size > (size_t)frame_max)
        return error_set(err, ERROR_BROKER_TOO_LARGE, "the headers take %zu bytes and do not fit into one frame of %d",
                         size, frame_max);
    return true;
}

static bool overridden(const struct broker_publication *p, struct slice name)
{
    for (size_t i = 0; i < p->header_count; i++) {
        if (slice_equal(p->headers[i].name, name))
            return true;
    }
    return false;
}

static amqp_table_entry_t entry_of(const struct broker_header *h)
{
    amqp_table_entry_t e = {.key = bytes_of(h->name)};

    if (h->is_integer) {
        e.value.kind = AMQP_FIELD_KIND_I64;
        e.value.value.i64 = h->integer;
    } else {
        e.value.kind = AMQP_FIELD_KIND_UTF8;
        e.value.value.bytes = bytes_of(h->value);
    }
    return e;
}

static void build_headers(struct outgoing *out, const struct broker_publication *p, amqp_table_t old)
{
    size_t most = (size_t)old.num_entries + p->header_count;
    amqp_table_t *table = &out->properties.headers;

    *table = (amqp_table_t){0, NULL};
    if (most == 0)
        return;
    table->entries = amqp_pool_alloc(&out->pool, most * sizeof *table->entries);
    CHECK(table->entries != NULL);
    for (int i = 0; i < old.num_entries; i++) {
        struct slice name = slice_of_bytes(old.entries[i].key);

        if (!headers_broker_owned(name) && !overridden(p, name))
            table->entries[table->num_entries++] = old.entries[i];
    }
    for (size_t i = 0; i < p->header_count; i++)
        table->entries[table->num_entries++] = entry_of(&p->headers[i]);
    out->properties._flags |= AMQP_BASIC_HEADERS_FLAG;
}

/* What the delivery had; none where there is no delivery. */
static amqp_basic_properties_t copied(struct outgoing *out, const struct broker_delivery *from)
{
    amqp_basic_properties_t none = {0};
    void *decoded = NULL;

    if (!from)
        return none;
    /* The library decoded these very bytes when they arrived. */
    CHECK(amqp_decode_properties(AMQP_BASIC_CLASS, &out->pool, bytes_of(message_encoded_properties(from->message)),
                                 &decoded) >= 0);
    return *(amqp_basic_properties_t *)decoded;
}

bool outgoing_prepare(struct outgoing *out, const struct broker_publication *p, int frame_max, struct error *err)
{
    amqp_basic_properties_t *now = &out->properties;
    amqp_table_t old = {0, NULL};

    init_amqp_pool(&out->pool, 4096);
    if (!fits(p, frame_max, err))
        return false;
    *now = copied(out, p->copy_from);
    if (now->_flags & AMQP_BASIC_HEADERS_FLAG)
        old = now->headers;
    now->_flags &= KEPT_FLAGS;
    build_headers(out, p, old);
    if (p->content_type.len || !(now->_flags & AMQP_BASIC_CONTENT_TYPE_FLAG))
        now->content_type = p->content_type.len ? bytes_of(p->content_type) : bytes_of_text("application/json");
    if (p->message_id.len)
        now->message_id = bytes_of(p->message_id);
    else if (!(now->_flags & AMQP_BASIC_MESSAGE_ID_FLAG))
        now->message_id = amqp_empty_bytes;
    now->delivery_mode = AMQP_DELIVERY_PERSISTENT;
    now->_flags |= AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
    return true;
}

void outgoing_release(struct outgoing *out)
{
    empty_amqp_pool(&out->pool);
}
