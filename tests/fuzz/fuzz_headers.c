/* A message's encoded properties with its header table, as a content header frame brings them, and everything that is
 * done with headers: reading, what a dead letter says of them, and what goes out with a republish. */
#include <jansson.h>

#include "../../src/client/broker/broker_private.h"
#include "../../src/client/broker/headers.h"
#include "../../src/client/broker/outgoing.h"
#include "../../src/client/broker/properties.h"
#include "fuzz.h"
#include "orderd/dead_letter.h"

#define LIBRARY_FRAME_MAX 131072
#define HEADERS_KEPT_MAX  300 /* as many as the relay takes of a row */

/* The library decodes a frame before we see it: what it refuses never comes. */
static bool library_takes(struct slice encoded, amqp_pool_t *pool, amqp_basic_properties_t **out)
{
    void *decoded = NULL;
    int status;

    init_amqp_pool(pool, 4096);
    status = amqp_decode_properties(AMQP_BASIC_CLASS, pool, bytes_of(encoded), &decoded);
    *out = decoded;
    return status >= 0;
}

static bool same(struct slice ours, amqp_bytes_t theirs, bool present)
{
    return present ? slice_equal(ours, slice_of_bytes(theirs)) : ours.len == 0;
}

/* Two readers of the same bytes must not understand them differently. */
static void check_properties(const struct properties *ours, const amqp_basic_properties_t *p)
{
    CHECK(same(ours->content_type, p->content_type, p->_flags & AMQP_BASIC_CONTENT_TYPE_FLAG));
    CHECK(same(ours->correlation_id, p->correlation_id, p->_flags & AMQP_BASIC_CORRELATION_ID_FLAG));
    CHECK(same(ours->message_id, p->message_id, p->_flags & AMQP_BASIC_MESSAGE_ID_FLAG));
    CHECK(ours->timestamp == (p->_flags & AMQP_BASIC_TIMESTAMP_FLAG ? p->timestamp : 0));
}

static bool is_flat(const amqp_table_t *table)
{
    for (int i = 0; i < table->num_entries; i++) {
        if (table->entries[i].value.kind == AMQP_FIELD_KIND_TABLE ||
            table->entries[i].value.kind == AMQP_FIELD_KIND_ARRAY)
            return false;
    }
    return true;
}

static void check_headers(const struct broker_delivery *d, const amqp_table_t *table)
{
    struct broker_header h;
    size_t n = 0;

    for (int i = 0; i < table->num_entries && n < HEADERS_MAX; i++) {
        CHECK(broker_delivery_header(d, n++, &h));
        CHECK(slice_equal(h.name, slice_of_bytes(table->entries[i].key)));
    }
    CHECK(!broker_delivery_header(d, n, &h));
}

/* The library lets a field run over the end of its table, into what is behind it, and takes further words of
 * flags for the first one; we do neither, and no broker passes such bytes on. The two are compared where there is none.
 */
static void check_both(struct slice encoded, const struct properties *ours, const struct broker_delivery *d,
                       amqp_basic_properties_t *p)
{
    static char again[2 * LIBRARY_FRAME_MAX];
    amqp_table_t none = {0, NULL}, *table = p->_flags & AMQP_BASIC_HEADERS_FLAG ? &p->headers : &none;
    size_t len = 0;

    if ((encoded.ptr[1] & 1) || !is_flat(table) ||
        amqp_encode_table((amqp_bytes_t){sizeof again, again}, table, &len) != AMQP_STATUS_OK ||
        (table != &none && len != ours->headers.len + 4))
        return;
    check_properties(ours, p);
    check_headers(d, table);
}

static void check_letter(const struct broker_delivery *d)
{
    struct dead_letter letter = {.delivery = d,
                                 .reason = REASON_BODY_NOT_JSON,
                                 .detail = "at byte 0",
                                 .stage = "decode",
                                 .origin = "order.create",
                                 .worker = "w"};
    struct strbuf json = STRBUF_INIT;
    json_t *root;

    CHECK(dead_letter_attempt(d) >= 0);
    (void)dead_letter_deliveries(d);
    CHECK(dead_letter_trace_id(d).len == 0 || dead_letter_trace_id(d).len == 32);
    CHECK(reason_name(dead_letter_reason(d)) != NULL);
    dead_letter_headers(&letter, &json);
    root = json_loadb(json.data, json.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    CHECK(json_is_object(root));
    CHECK(json_object_size(root) <= HEADERS_KEPT_MAX);
    json_decref(root);
    strbuf_release(&json);
}

/* What is made for the next queue is what the library can send, with nothing of the broker's own. */
static void check_republish(const struct broker_delivery *d)
{
    static char encoded[2 * LIBRARY_FRAME_MAX];
    struct broker_header own = {.name = slice_of("orderd-attempt"), .is_integer = true, .integer = 1};
    struct broker_publication p = {
        .exchange = "order", .routing_key = "order.dead", .headers = &own, .header_count = 1, .copy_from = d};
    struct outgoing out;
    struct error err;

    if (outgoing_prepare(&out, &p, LIBRARY_FRAME_MAX, &err)) {
        CHECK(amqp_encode_properties(AMQP_BASIC_CLASS, &out.properties, (amqp_bytes_t){sizeof encoded, encoded}) > 0);
        for (int i = 0; i < out.properties.headers.num_entries; i++)
            CHECK(!headers_broker_owned(slice_of_bytes(out.properties.headers.entries[i].key)));
    }
    outgoing_release(&out);
}

static void arrive(struct broker *b, struct slice encoded, struct slice body, struct broker_delivery *d)
{
    amqp_basic_deliver_t method = {.delivery_tag = 1, .routing_key = amqp_cstring_bytes("order.create")};
    amqp_frame_t frame = {.frame_type = AMQP_FRAME_HEADER};
    unsigned arrived = 0;

    frame.payload.properties.raw = bytes_of(encoded);
    frame.payload.properties.body_size = body.len;
    CHECK(message_deliver(b, &method) && message_header(b, &frame, &arrived));
    if (body.len)
        CHECK(arrived == 0 && message_body(b, body, &arrived));
    CHECK(arrived == 1);
    inbox_get(&b->inbox, d);
}

/* Also such a header that the library would not let through: ours must refuse it, or bear it. */
static void check_raw(struct slice bytes)
{
    struct properties ours;
    struct headers headers;

    (void)properties_read(bytes, &ours);
    headers = headers_read(bytes);
    CHECK(headers.count <= HEADERS_MAX);
    headers_release(&headers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice encoded = fuzz_slice(data, size);
    struct broker b = {.failed = false};
    amqp_basic_properties_t *p;
    struct broker_delivery d;
    struct properties ours;
    amqp_pool_t pool;

    check_raw(encoded);
    if (library_takes(encoded, &pool, &p) && properties_read(encoded, &ours)) {
        inbox_reserve(&b.inbox, 1);
        arrive(&b, encoded, slice_of("{}"), &d);
        check_both(encoded, &ours, &d, p);
        check_letter(&d);
        check_republish(&d);
        broker_delivery_release(&d);
        inbox_release(&b.inbox);
    }
    empty_amqp_pool(&pool);
    return 0;
}
