#include "publish.h"

#include <stdio.h>
#include <stdlib.h>

#include "orderd/backoff.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/topology.h"

/* Unconfirmed at a time: a quorum queue confirms in groups, so it must see many at once. */
#define WINDOW 2048
/* Sent between two looks at what has arrived. */
#define BURST 256
/* Between tries while the broker has an alarm on. */
#define BLOCKED_MS 50

static const struct {
    const char *name, *label;
    bool dead;
} kinds[] = {
#define X(kind, name, label, dead) [PUBLISH_##kind] = {name, label, dead},
#include "orderd/tbl/load_publish.h"
#undef X
};

struct slot {
    enum broker_outcome outcome; /* the client writes here: a slot is used again only when it is settled */
    struct publish_item item;
    int64_t sent_us;
};

struct publisher {
    const struct conf *conf;
    struct publish_calls calls;
    struct broker *broker;
    struct backoff backoff;
    int64_t not_before_ms; /* of the next try to connect or to publish */
    int64_t down_since_ms; /* 0: it works */
    struct error why;
    struct publish_item *queue; /* a ring of items that wait */
    size_t queue_cap, queue_at, queue_len;
    struct slot slots[WINDOW]; /* a ring of what is out */
    uint64_t first, next;
    struct publish_message message;
    struct publish_totals totals;
};

const char *publish_kind_name(enum publish_kind kind)
{
    CHECK(kind < PUBLISH_KINDS);
    return kinds[kind].name;
}

const char *publish_kind_label(enum publish_kind kind)
{
    CHECK(kind < PUBLISH_KINDS);
    return kinds[kind].label;
}

bool publish_kind_dead(enum publish_kind kind)
{
    CHECK(kind < PUBLISH_KINDS);
    return kinds[kind].dead;
}

struct publisher *publisher_create(const struct conf *conf, const struct publish_calls *calls)
{
    struct publisher *p = check_calloc(1, sizeof *p);

    p->conf = conf;
    p->calls = *calls;
    backoff_init(&p->backoff, conf->broker_reconnect_min, conf->broker_reconnect_max, backoff_seed());
    return p;
}

void publisher_destroy(struct publisher **publisher)
{
    struct publisher *p = *publisher;

    *publisher = NULL;
    if (!p)
        return;
    if (p->broker)
        broker_close(&p->broker, true);
    strbuf_release(&p->message.body);
    free(p->queue);
    free(p);
}

static void grow(struct publisher *p)
{
    size_t cap = p->queue_cap ? p->queue_cap * 2 : 1024;
    struct publish_item *queue = check_malloc(cap * sizeof *queue);

    for (size_t i = 0; i < p->queue_len; i++)
        queue[i] = p->queue[(p->queue_at + i) % p->queue_cap];
    free(p->queue);
    p->queue = queue;
    p->queue_cap = cap;
    p->queue_at = 0;
}

void publisher_add(struct publisher *p, struct publish_item item)
{
    if (p->queue_len == p->queue_cap)
        grow(p);
    p->queue[(p->queue_at + p->queue_len++) % p->queue_cap] = item;
}

static void note_down(struct publisher *p, const struct error *why, int64_t wait_ms)
{
    int64_t now = clock_mono_ms();

    p->why = *why;
    p->not_before_ms = now + wait_ms;
    if (p->down_since_ms == 0) {
        p->down_since_ms = now;
        p->totals.outages++;
    }
}

static void settle(struct publisher *p, const struct slot *slot, int64_t now_us)
{
    struct error why = {0};

    switch (slot->outcome) {
    case BROKER_OUTCOME_CONFIRMED:
        p->totals.confirmed[slot->item.kind]++;
        spread_add(&p->totals.latency, now_us - slot->sent_us, 1);
        p->down_since_ms = 0;
        backoff_reset(&p->backoff);
        if (p->calls.confirmed)
            p->calls.confirmed(p->calls.arg, &slot->item);
        return;
    case BROKER_OUTCOME_TOO_LARGE:
        p->totals.too_large++;
        return;
    case BROKER_OUTCOME_RETURNED:
        error_set(&why, ERROR_BROKER_UNROUTABLE,
                  "no queue takes a message of exchange %s: run `orderctl topology apply`",
                  topology_name(TOPOLOGY_EXCHANGE_ORDER));
        note_down(p, &why, backoff_next(&p->backoff));
        break;
    case BROKER_OUTCOME_PENDING:
    case BROKER_OUTCOME_REFUSED:
    case BROKER_OUTCOME_UNKNOWN:
        break;
    }
    p->totals.again++;
    publisher_add(p, slot->item);
}

static void collect(struct publisher *p)
{
    int64_t now_us = clock_mono_us();

    for (; p->first < p->next && p->slots[p->first % WINDOW].outcome != BROKER_OUTCOME_PENDING; p->first++)
        settle(p, &p->slots[p->first % WINDOW], now_us);
}

/* Closing settles everything that is out as unknown. */
static void lose(struct publisher *p, const struct error *why)
{
    broker_close(&p->broker, false);
    note_down(p, why, backoff_next(&p->backoff));
    collect(p);
    CHECK(p->first == p->next);
}

static bool connected(struct publisher *p)
{
    struct error err = {0};

    if (p->broker)
        return true;
    if (clock_mono_ms() < p->not_before_ms)
        return false;
    p->broker = broker_open(p->conf, "orderload publish", &err);
    if (p->broker && broker_confirm_select(p->broker, WINDOW, &err))
        return true;
    if (p->broker)
        broker_close(&p->broker, false);
    note_down(p, &err, backoff_next(&p->backoff));
    return false;
}

/* The message is made anew for each try; its outcome goes to the next slot. */
static bool send_one(struct publisher *p, struct publish_item item, struct error *err)
{
    struct slot *slot = &p->slots[p->next % WINDOW];
    struct broker_header trace = {.name = slice_of("traceparent")};
    struct broker_publication publication = {
        .exchange = topology_name(TOPOLOGY_EXCHANGE_ORDER),
        .headers = &trace,
        .header_count = 1,
    };

    strbuf_reset(&p->message.body);
    p->message.routing_key = p->conf->create_queue;
    p->calls.build(p->calls.arg, &item, &p->message);
    trace.value = slice_of(p->message.traceparent);
    publication.body = (struct slice){p->message.body.data, p->message.body.len};
    publication.routing_key = p->message.routing_key;
    publication.message_id = slice_of(p->message.message_id);
    slot->item = item;
    slot->sent_us = clock_mono_us();
    p->next++;
    if (p->calls.sent)
        p->calls.sent(p->calls.arg, &item);
    return broker_publish(p->broker, &publication, &slot->outcome, err);
}

static bool send_some(struct publisher *p, struct error *err)
{
    for (int n = 0; n < BURST && p->queue_len > 0 && p->next - p->first < WINDOW; n++) {
        struct publish_item item = p->queue[p->queue_at];

        p->queue_at = (p->queue_at + 1) % p->queue_cap;
        p->queue_len--;
        if (!send_one(p, item, err))
            return false;
    }
    return true;
}

/* A broker that takes messages and confirms none (a quorum queue without its majority) is as good as away. */
static bool confirms_in_time(struct publisher *p, struct error *err)
{
    int64_t limit_ms = p->conf->broker_call_timeout;

    if (p->first == p->next || clock_mono_us() - p->slots[p->first % WINDOW].sent_us < limit_ms * 1000)
        return true;
    error_set(err, ERROR_BROKER_UNCONFIRMED, "the broker confirms none of %d messages within %d ms",
              (int)(p->next - p->first), (int)limit_ms);
    if (!broker_blocked(p->broker))
        return false;
    note_down(p, err, BLOCKED_MS); /* they come when the alarm is over */
    return true;
}

/* Waits only where nothing can be sent. */
static int patience(const struct publisher *p, int wait_ms)
{
    bool can_send = p->queue_len > 0 && p->next - p->first < WINDOW && clock_mono_ms() >= p->not_before_ms;

    return can_send ? 0 : wait_ms;
}

void publisher_turn(struct publisher *p, int wait_ms)
{
    struct error err = {0};
    bool ok = true;

    if (!connected(p)) {
        clock_sleep_ms(wait_ms);
        return;
    }
    if (clock_mono_ms() >= p->not_before_ms)
        ok = send_some(p, &err);
    if (!ok && err.code == ERROR_BROKER_BLOCKED) { /* not sent, and the connection is well */
        note_down(p, &err, BLOCKED_MS);
        ok = true;
    }
    collect(p);
    ok = ok && broker_pump(p->broker, patience(p, wait_ms), &err) && confirms_in_time(p, &err);
    if (!ok)
        lose(p, &err);
    collect(p);
    if (p->broker && publisher_open(p) == 0)
        p->down_since_ms = 0;
}

size_t publisher_open(const struct publisher *p)
{
    return p->queue_len + (size_t)(p->next - p->first);
}

size_t publisher_queued(const struct publisher *p)
{
    return p->queue_len;
}

int64_t publisher_down_ms(const struct publisher *p, const struct error **why)
{
    if (why)
        *why = &p->why;
    return p->down_since_ms ? clock_mono_ms() - p->down_since_ms : 0;
}

const struct publish_totals *publisher_totals(const struct publisher *p)
{
    return &p->totals;
}
