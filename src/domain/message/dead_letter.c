#include "orderd/dead_letter.h"

#include <stdio.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/topology.h"

static struct slice kept_or(const struct broker_delivery *delivery, const char *name, struct slice otherwise)
{
    struct broker_header header;

    return broker_delivery_find(delivery, name, &header) ? header.value : otherwise;
}

static struct broker_header text_header(const char *name, struct slice value)
{
    return (struct broker_header){.name = slice_of(name), .value = value};
}

bool dead_letter_publish(struct broker *publisher, const struct dead_letter *letter, enum broker_outcome *outcome,
                         struct error *err)
{
    const struct broker_delivery *d = letter->delivery;
    const char *detail = letter->detail && letter->detail[0] ? letter->detail : reason_sentence(letter->reason);
    char now[32];
    struct broker_header attempt = {.name = slice_of("orderd-attempt"), .value = slice_of("0"), .is_integer = true};
    struct broker_header kept;

    clock_format_iso(now, sizeof now, clock_wall_ms());
    if (broker_delivery_find(d, "orderd-attempt", &kept) && kept.is_integer)
        attempt = kept;
    struct broker_header headers[] = {
        text_header("orderd-reason", slice_of(reason_name(letter->reason))),
        text_header("orderd-detail", slice_of(detail)),
        text_header("orderd-stage", slice_of(letter->stage)),
        text_header("orderd-origin", kept_or(d, "orderd-origin", slice_of(letter->origin))),
        text_header("orderd-worker", slice_of(letter->worker)),
        text_header("orderd-failed-at", slice_of(now)),
        text_header("orderd-first-failed-at", kept_or(d, "orderd-first-failed-at", slice_of(now))),
        attempt,
    };
    struct broker_publication p = {
        .exchange = topology_name(TOPOLOGY_EXCHANGE_ORDER),
        .routing_key = topology_name(TOPOLOGY_QUEUE_DEAD),
        .body = d->body,
        .message_id = d->message_id,
        .content_type = d->content_type,
        .headers = headers,
        .header_count = sizeof headers / sizeof *headers,
        .copy_from = d,
    };
    return broker_publish(publisher, &p, outcome, err);
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
