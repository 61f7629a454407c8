#include "orderd/dead_letter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/topology.h"

/* A header of an earlier try is kept up to this length; anything longer was not written by us. */
#define KEPT_MAX 255
/* Foreign headers travel on up to this many bytes and this many headers: one frame (128 KiB) must hold them and ours.
 */
#define FOREIGN_BYTES   ((size_t)100 * 1024)
#define FOREIGN_HEADERS 256
#define OWN_HEADERS     9
#define LEFT_OUT        (OWN_HEADERS - 1)

/* Our headers of one letter and the text they point into. */
struct own {
    struct broker_header list[OWN_HEADERS]; /* the last only where headers were left out */
    char now[32];
};

static struct slice kept_or(const struct broker_delivery *delivery, const char *name, struct slice otherwise)
{
    struct broker_header h;

    return broker_delivery_find(delivery, name, &h) && h.value.len <= KEPT_MAX ? h.value : otherwise;
}

static struct broker_header text_header(const char *name, struct slice value)
{
    return (struct broker_header){.name = slice_of(name), .value = value};
}

static struct broker_header number_header(const char *name, int64_t value)
{
    return (struct broker_header){.name = slice_of(name), .is_integer = true, .integer = value};
}

static void compose(const struct dead_letter *letter, int64_t attempt, struct own *own)
{
    const struct broker_delivery *d = letter->delivery;
    const char *detail = letter->detail && letter->detail[0] ? letter->detail : reason_sentence(letter->reason);
    struct slice now;

    clock_format_iso(own->now, sizeof own->now, clock_wall_ms());
    now = slice_of(own->now);
    own->list[0] = text_header("orderd-reason", slice_of(reason_name(letter->reason)));
    own->list[1] = text_header("orderd-detail", slice_of(detail));
    own->list[2] = text_header("orderd-stage", slice_of(letter->stage));
    own->list[3] = text_header("orderd-origin", kept_or(d, "orderd-origin", slice_of(letter->origin)));
    own->list[4] = text_header("orderd-worker", slice_of(letter->worker));
    own->list[5] = text_header("orderd-failed-at", now);
    own->list[6] = text_header("orderd-first-failed-at", kept_or(d, "orderd-first-failed-at", now));
    own->list[7] = number_header("orderd-attempt", attempt);
    own->list[LEFT_OUT] = number_header("orderd-headers-left-out", 0);
}

/* ---- the foreign headers, where they cannot be copied as they are ---- */

struct foreign {
    struct broker_header list[FOREIGN_HEADERS];
    size_t count, bytes;
    int64_t left_out;
};

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

/* A name that the local message's JSON object can have beside ours: no property's, no second time, no NUL, and no bytes
 * that are not UTF-8 (two such names would become the same one). */
static bool can_be_named(const struct foreign *f, struct slice name)
{
    for (size_t i = 0; i < f->count; i++) {
        if (slice_equal(f->list[i].name, name))
            return false;
    }
    return slice_is_utf8(name) && !slice_is(name, "message-id") && !slice_is(name, "content-type") &&
           !(name.len > 0 && memchr(name.ptr, '\0', name.len));
}

static void collect(const struct broker_delivery *d, const struct own *own, struct foreign *f)
{
    struct broker_header h;

    f->count = f->bytes = 0;
    f->left_out = 0;
    for (size_t i = 0; broker_delivery_header(d, i, &h); i++) {
        size_t bytes = h.name.len + h.value.len + 16;

        if (is_own(own, h.name) || broker_owned(h.name))
            continue;
        if (f->count == FOREIGN_HEADERS || f->bytes + bytes > FOREIGN_BYTES || !can_be_named(f, h.name)) {
            f->left_out++;
            continue;
        }
        f->bytes += bytes;
        f->list[f->count++] = h;
    }
}

/* ---- publishing ---- */

/* The headers are nearly as large as a frame and leave no room for ours: without those that do not fit. */
static bool publish_less(struct broker *publisher, struct broker_publication *p, const struct dead_letter *letter,
                         struct own *own, enum broker_outcome *outcome, struct error *err)
{
    struct foreign *f = check_malloc(sizeof *f);
    struct broker_header *all;
    bool ok;

    collect(letter->delivery, own, f);
    own->list[LEFT_OUT].integer = f->left_out;
    all = check_malloc((OWN_HEADERS + f->count) * sizeof *all);
    memcpy(all, own->list, sizeof own->list);
    memcpy(all + OWN_HEADERS, f->list, f->count * sizeof *all);
    p->headers = all;
    p->header_count = OWN_HEADERS + f->count;
    p->copy_from = NULL;
    error_clear(err);
    ok = broker_publish(publisher, p, outcome, err);
    free(all);
    free(f);
    return ok;
}

static bool publish(struct broker *publisher, const struct dead_letter *letter, struct own *own, const char *exchange,
                    const char *routing_key, enum broker_outcome *outcome, struct error *err)
{
    const struct broker_delivery *d = letter->delivery;
    struct broker_publication p = {
        .exchange = exchange,
        .routing_key = routing_key,
        .body = d->body,
        .message_id = d->message_id,
        .content_type = d->content_type,
        .headers = own->list,
        .header_count = LEFT_OUT,
        .copy_from = d,
    };

    if (broker_publish(publisher, &p, outcome, err))
        return true;
    return err->code == ERROR_BROKER_TOO_LARGE && *outcome == BROKER_OUTCOME_TOO_LARGE &&
           publish_less(publisher, &p, letter, own, outcome, err);
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
    return publish(publisher, letter, &own, exchange, letter->home, outcome, err);
}

/* ---- for the local message ---- */

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

static void add_property(struct strbuf *out, const char *name, struct slice value)
{
    struct broker_header h = text_header(name, value);

    if (value.len)
        add_header(out, &h);
}

/* Ours first: no limit of a reader may cut them off. */
void dead_letter_headers(const struct dead_letter *letter, struct strbuf *out)
{
    struct foreign *f = check_malloc(sizeof *f);
    struct own own;

    compose(letter, letter->attempt, &own);
    collect(letter->delivery, &own, f);
    own.list[LEFT_OUT].integer = f->left_out;
    strbuf_add_char(out, '{');
    for (size_t i = 0; i < OWN_HEADERS; i++) {
        if (i != LEFT_OUT || f->left_out > 0)
            add_header(out, &own.list[i]);
    }
    add_property(out, "message-id", letter->delivery->message_id);
    add_property(out, "content-type", letter->delivery->content_type);
    for (size_t i = 0; i < f->count; i++)
        add_header(out, &f->list[i]);
    strbuf_add_char(out, '}');
    free(f);
}

/* ---- reading ---- */

int64_t dead_letter_attempt(const struct broker_delivery *delivery)
{
    struct broker_header h;

    return broker_delivery_find(delivery, "orderd-attempt", &h) && h.is_integer && h.integer > 0 ? h.integer : 0;
}

/* What a broker does by itself leaves its own headers, which none of our publishes carries on: where they stand, it
 * came last. Before 4.0 only the first death is told outside of a nested table; one in a delay queue ("expired") is
 * that of an earlier try, after which a work queue gave up. */
static bool broker_gave_up(const struct broker_delivery *delivery, enum reason *reason)
{
    struct broker_header h;
    bool last = broker_delivery_find(delivery, "x-last-death-reason", &h);

    if (!last && !broker_delivery_find(delivery, "x-first-death-reason", &h))
        return false;
    *reason = slice_is(h.value, "delivery_limit") || (!last && slice_is(h.value, "expired")) ? REASON_DELIVERY_LIMIT
                                                                                             : REASON_NONE;
    return true;
}

enum reason dead_letter_reason(const struct broker_delivery *delivery)
{
    char name[40];
    struct broker_header h;
    enum reason reason;

    if (broker_gave_up(delivery, &reason))
        return reason;
    if (!broker_delivery_find(delivery, "orderd-reason", &h) || h.value.len >= sizeof name)
        return REASON_NONE;
    snprintf(name, sizeof name, "%.*s", (int)h.value.len, h.value.ptr);
    return reason_of_name(name);
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
