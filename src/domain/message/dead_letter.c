#include "orderd/dead_letter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "orderd/clock.h"
#include "orderd/topology.h"

#define OWN_HEADERS 8

/* Our headers of one letter and the text they point into. */
struct own {
    struct broker_header list[OWN_HEADERS];
    char now[32], attempt[24];
};

static struct slice kept_or(const struct broker_delivery *delivery, const char *name, struct slice otherwise)
{
    struct broker_header header;

    return broker_delivery_find(delivery, name, &header) ? header.value : otherwise;
}

static struct broker_header text_header(const char *name, struct slice value)
{
    return (struct broker_header){.name = slice_of(name), .value = value};
}

static void compose(const struct dead_letter *letter, int64_t attempt, struct own *own)
{
    const struct broker_delivery *d = letter->delivery;
    const char *detail = letter->detail && letter->detail[0] ? letter->detail : reason_sentence(letter->reason);
    struct slice now;

    clock_format_iso(own->now, sizeof own->now, clock_wall_ms());
    snprintf(own->attempt, sizeof own->attempt, "%" PRId64, attempt);
    now = slice_of(own->now);
    own->list[0] = text_header("orderd-reason", slice_of(reason_name(letter->reason)));
    own->list[1] = text_header("orderd-detail", slice_of(detail));
    own->list[2] = text_header("orderd-stage", slice_of(letter->stage));
    own->list[3] = text_header("orderd-origin", kept_or(d, "orderd-origin", slice_of(letter->origin)));
    own->list[4] = text_header("orderd-worker", slice_of(letter->worker));
    own->list[5] = text_header("orderd-failed-at", now);
    own->list[6] = text_header("orderd-first-failed-at", kept_or(d, "orderd-first-failed-at", now));
    own->list[7] = text_header("orderd-attempt", slice_of(own->attempt));
    own->list[7].is_integer = true;
    own->list[7].integer = attempt;
}

static bool publish(struct broker *publisher, const struct dead_letter *letter, const struct own *own,
                    const char *exchange, const char *routing_key, enum broker_outcome *outcome, struct error *err)
{
    const struct broker_delivery *d = letter->delivery;
    struct broker_publication p = {
        .exchange = exchange,
        .routing_key = routing_key,
        .body = d->body,
        .message_id = d->message_id,
        .content_type = d->content_type,
        .headers = own->list,
        .header_count = OWN_HEADERS,
        .copy_from = d,
    };

    return broker_publish(publisher, &p, outcome, err);
}

bool dead_letter_publish(struct broker *publisher, const struct dead_letter *letter, enum broker_outcome *outcome,
                         struct error *err)
{
    struct own own;

    compose(letter, letter->attempt, &own);
    return publish(publisher, letter, &own, topology_name(TOPOLOGY_EXCHANGE_ORDER), topology_name(TOPOLOGY_QUEUE_DEAD),
                   outcome, err);
}

bool retry_publish(struct broker *publisher, const struct dead_letter *letter, int64_t delay_ms,
                   enum broker_outcome *outcome, struct error *err)
{
    char exchange[TOPOLOGY_RETRY_NAME_MAX];
    struct own own;

    topology_retry_name(delay_ms, exchange);
    compose(letter, letter->attempt + 1, &own);
    /* The routing key names the queue it goes back to: the delay exchange is a fanout and the queue keeps the key. */
    return publish(publisher, letter, &own, exchange, letter->origin, outcome, err);
}

static bool is_own(const struct own *own, struct slice name)
{
    for (size_t i = 0; i < OWN_HEADERS; i++) {
        if (slice_equal(own->list[i].name, name))
            return true;
    }
    return false;
}

static bool broker_owned(struct slice name)
{
    return name.len >= 2 && strncasecmp(name.ptr, "x-", 2) == 0;
}

static void add_header(struct strbuf *out, const struct broker_header *h)
{
    strbuf_add_char(out, out->data[out->len - 1] == '{' ? ' ' : ',');
    strbuf_add_json(out, h->name);
    strbuf_add_char(out, ':');
    if (h->is_integer)
        strbuf_add_i64(out, h->integer);
    else
        strbuf_add_json(out, h->value);
}

void dead_letter_headers(const struct dead_letter *letter, struct strbuf *out)
{
    struct own own;
    struct broker_header h;

    compose(letter, letter->attempt, &own);
    strbuf_add_char(out, '{');
    for (size_t i = 0; broker_delivery_header(letter->delivery, i, &h); i++) {
        if (!is_own(&own, h.name) && !broker_owned(h.name))
            add_header(out, &h);
    }
    for (size_t i = 0; i < OWN_HEADERS; i++)
        add_header(out, &own.list[i]);
    h = text_header("message-id", letter->delivery->message_id);
    if (h.value.len)
        add_header(out, &h);
    h = text_header("content-type", letter->delivery->content_type);
    if (h.value.len)
        add_header(out, &h);
    strbuf_add_char(out, '}');
}

int64_t dead_letter_attempt(const struct broker_delivery *delivery)
{
    struct broker_header h;

    return broker_delivery_find(delivery, "orderd-attempt", &h) && h.is_integer && h.integer > 0 ? h.integer : 0;
}

enum reason dead_letter_reason(const struct broker_delivery *delivery)
{
    char name[40];
    struct broker_header h;

    if (broker_delivery_find(delivery, "orderd-reason", &h) && h.value.len < sizeof name) {
        snprintf(name, sizeof name, "%.*s", (int)h.value.len, h.value.ptr);
        return reason_of_name(name);
    }
    if (broker_delivery_find(delivery, "x-first-death-reason", &h) && slice_is(h.value, "delivery_limit"))
        return REASON_DELIVERY_LIMIT;
    return REASON_NONE;
}

int64_t dead_letter_deliveries(const struct broker_delivery *delivery)
{
    struct broker_header h;

    /* 4.3 counts failures and returns apart; a crash shows in both. */
    if (broker_delivery_find(delivery, "x-delivery-count", &h) && h.is_integer)
        return h.integer;
    if (broker_delivery_find(delivery, "x-acquired-count", &h) && h.is_integer)
        return h.integer;
    return 0;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

struct slice dead_letter_trace_id(const struct broker_delivery *delivery)
{
    struct broker_header header;

    /* version "-" trace-id "-" parent-id "-" flags: 2, 32, 16 and 2 lower-case hex digits (W3C Trace Context). */
    if (!broker_delivery_find(delivery, "traceparent", &header) || header.value.len < 55 ||
        header.value.ptr[2] != '-' || header.value.ptr[35] != '-')
        return (struct slice){"", 0};
    for (size_t i = 3; i < 35; i++) {
        if (!is_hex(header.value.ptr[i]))
            return (struct slice){"", 0};
    }
    return (struct slice){header.value.ptr + 3, 32};
}
