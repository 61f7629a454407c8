/* Publications travel together, up to the broker's window, and are confirmed together. They go one by one where
 * something may be wrong with one of them, so that it cannot take the others with it:
 *
 *   the first on a new connection    it shows whether the broker takes anything now (an alarm lets a few in and then
 *                                    confirms none: those would all be sent twice)
 *   after the channel was closed     the exchange is missing or forbidden (then it rests for a while), or the row is
 * bad after connections broke twice    a row may be what breaks them
 */
#include "relay_private.h"

#include <stdio.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/log.h"

#define UNROUTABLE_WAIT_MS 5000
#define OUTLET_REST_MS     5000
/* An alarm that came while we waited for confirms: how long those that are on their way still have. */
#define ALARM_GRACE_MS 1000
#define SLICE_MS       200

/* What is published and not judged. */
struct flight {
    struct sending **list;
    struct slice *ids; /* their message ids */
    size_t count;
};

/* What came of those in flight that the broker has not answered. */
struct doubt {
    bool own; /* their own fault */
    int64_t wait_ms;
    const char *why;
};

/* ---- the connection ---- */

bool relay_open_publisher(struct relay *relay, struct error *err)
{
    char name[128];

    if (relay->publisher)
        return true;
    if (!target_may_try(&relay->broker_target))
        return error_set(err, ERROR_BROKER_AWAY, "the broker is away");
    snprintf(name, sizeof name, "orderd%s%.40s relay", relay->shared->instance[0] ? "@" : "", relay->shared->instance);
    relay->proven = false;
    relay->publisher = broker_open(relay->conf, name, err);
    if (relay->publisher && !broker_confirm_select(relay->publisher, (unsigned)relay->conf->relay_window, err))
        broker_close(&relay->publisher, false);
    if (relay->publisher) {
        target_reached(&relay->broker_target);
        log_event(LOG_EVENT_BROKER_UP, LOG_STR("connection", "relay"), LOG_STR("host", broker_peer(relay->publisher)));
    } else {
        target_failed(&relay->broker_target, err);
        log_event(LOG_EVENT_BROKER_DOWN, LOG_STR("connection", "relay"), LOG_ERR(err));
    }
    return relay->publisher != NULL;
}

/* Closing settles the outcome of everything that is still pending. at_once: it was not the broker's fault. */
static void lose_publisher(struct relay *relay, const struct error *err, bool at_once)
{
    log_event(LOG_EVENT_BROKER_DOWN, LOG_STR("connection", "relay"), LOG_ERR(err));
    metric_add(relay->metrics, METRIC_BROKER_OUTAGES, 1);
    broker_close(&relay->publisher, false);
    if (!at_once)
        target_failed(&relay->broker_target, err);
}

void relay_pump(struct relay *relay)
{
    struct error err = {0};

    if (relay->publisher && !broker_pump(relay->publisher, 0, &err))
        lose_publisher(relay, &err, true);
}

static struct outlet *outlet_of(struct relay *relay, const struct sending *s)
{
    return &relay->outlets[s->kind == EFFECT_PUBLISH_EVENT];
}

/* ---- what came of it ---- */

/* Confirms of everything in flight; no longer than its leases last, since it could not be marked after that. */
static bool await(struct relay *relay, const struct flight *flight, struct error *err)
{
    int64_t deadline = clock_mono_ms() + relay->conf->broker_call_timeout;

    for (size_t i = 0; i < flight->count; i++) {
        int64_t lease_end = flight->list[i]->message->leased_at + relay->conf->relay_lease;

        deadline = lease_end < deadline ? lease_end : deadline;
    }
    while (broker_unconfirmed(relay->publisher) > 0) {
        int64_t left = deadline - clock_mono_ms();

        relay_beats(relay);
        if (left <= 0)
            break;
        if (!broker_pump(relay->publisher, (int)(left < SLICE_MS ? left : SLICE_MS), err))
            return false;
        if (broker_blocked(relay->publisher) && clock_mono_ms() + ALARM_GRACE_MS < deadline)
            deadline = clock_mono_ms() + ALARM_GRACE_MS;
    }
    return broker_wait_confirms(relay->publisher, 0, err);
}

static bool answered(const struct sending *s)
{
    return s->outcome != BROKER_OUTCOME_PENDING && s->outcome != BROKER_OUTCOME_UNKNOWN;
}

static size_t count_answers(const struct flight *flight)
{
    size_t n = 0;

    for (size_t i = 0; i < flight->count; i++)
        n += answered(flight->list[i]);
    return n;
}

/* The broker closed the channel: over exchanges that are missing or forbidden, or over a body that is too large (whose
 * outcome says so). Whoever was alone is known; else they are sent one by one. */
static struct doubt channel_closed(struct relay *relay, const struct flight *flight, const struct error *err)
{
    bool setup = err->code != ERROR_BROKER_TOO_LARGE;

    lose_publisher(relay, err, true);
    if (setup && flight->count == 1) {
        struct outlet *outlet = outlet_of(relay, flight->list[0]);

        outlet->closed_until = clock_mono_ms() + OUTLET_REST_MS;
        snprintf(outlet->why, sizeof outlet->why, "%s", err->text);
        /* Longer than its exchange rests, so that another row is the next to try it. */
        return (struct doubt){.wait_ms = 2 * OUTLET_REST_MS, .why = relay_text(relay, err->text)};
    }
    for (size_t i = 0; setup && i < flight->count; i++)
        outlet_of(relay, flight->list[i])->suspect = true;
    if (setup && flight->count > 1)
        relay->careful = flight->count;
    return (struct doubt){.why = "the channel was closed over another message"};
}

/* In an alarm, or lost. Alone on a connection that can be had again at once, a row is taken to be at fault; the rule
 * must not strike rows that just happened to be on their way when the broker went. */
static struct doubt connection_lost(struct relay *relay, const struct flight *flight, size_t answers,
                                    const struct error *err)
{
    bool unconfirmed = err->code == ERROR_BROKER_UNCONFIRMED, watched = unconfirmed || relay->careful > 0;
    struct error again = {0};

    if (unconfirmed && broker_blocked(relay->publisher)) {
        relay->waiting = true;
        return (struct doubt){.wait_ms = 1000, .why = "the broker takes no publishes (memory or disk alarm)"};
    }
    lose_publisher(relay, err, false);
    if (unconfirmed && answers > 0)
        return (struct doubt){.own = true, .why = "the broker confirmed others but not this one in time"};
    relay->losses++;
    if (flight->count == 1 && (watched || relay->losses > 1)) {
        relay->broker_target.next_try = 0;
        if (relay_open_publisher(relay, &again))
            return (struct doubt){.own = true, .why = relay_text(relay, err->text)};
    } else if (flight->count > 1 && (unconfirmed || relay->losses > 1)) {
        relay->careful = flight->count;
    }
    relay->waiting = true;
    return (struct doubt){.wait_ms = RELAY_AWAY_MS, .why = relay_text(relay, err->text)};
}

/* Timers without their delay queue, for one: until it is there, the sweep closes their orders. */
static void unroutable(struct sending *s)
{
    log_event(LOG_EVENT_RELAY_UNROUTABLE, LOG_SLICE("topic", s->message->topic),
              LOG_SLICE("message_key", s->message->key));
    relay_settle(s, LOCAL_MESSAGE_WAIT, UNROUTABLE_WAIT_MS,
                 "no queue is bound for this topic: run `orderctl topology apply`");
}

static void judge(struct relay *relay, struct sending *s, const struct doubt *doubt)
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
            unroutable(s);
        break;
    case BROKER_OUTCOME_REFUSED:
        relay_failed(relay, s, "the broker refused it (nack): its queue is full or has lost its majority");
        break;
    case BROKER_OUTCOME_TOO_LARGE:
        relay_settle(s, LOCAL_MESSAGE_QUARANTINE, 0, "the body is over the broker's limit");
        break;
    case BROKER_OUTCOME_PENDING:
    case BROKER_OUTCOME_UNKNOWN:
        if (doubt->own)
            relay_failed(relay, s, doubt->why);
        else
            relay_settle(s, LOCAL_MESSAGE_WAIT, doubt->wait_ms, doubt->why);
        break;
    }
}

/* Waits for what is in flight and judges it. Afterwards nothing is, and a connection that has failed is closed. */
static void land(struct relay *relay, struct flight *flight)
{
    struct doubt doubt = {0};
    struct error err = {0};
    bool alive = await(relay, flight, &err);
    size_t answers = count_answers(flight);

    relay->careful -= relay->careful < flight->count ? relay->careful : flight->count;
    if (answers > 0) {
        relay->proven = true;
        relay->losses = 0;
    }
    if (!alive)
        doubt = err.code == ERROR_BROKER_SETUP || err.code == ERROR_BROKER_TOO_LARGE
                    ? channel_closed(relay, flight, &err)
                    : connection_lost(relay, flight, answers, &err);
    for (size_t i = 0; i < flight->count; i++) {
        if (answered(flight->list[i]) && alive)
            outlet_of(relay, flight->list[i])->suspect = false;
        judge(relay, flight->list[i], &doubt);
    }
    flight->count = 0;
}

/* ---- sending ---- */

static bool goes_alone(struct relay *relay, const struct sending *s)
{
    return relay->careful > 0 || !relay->proven || outlet_of(relay, s)->suspect;
}

/* A return names nothing but the message id: two with the same id must not be in flight together, or the wrong one
 * would be taken for stored. */
static bool has_twin(const struct flight *flight, struct slice id)
{
    for (size_t i = 0; i < flight->count; i++) {
        if (slice_equal(flight->ids[i], id))
            return true;
    }
    return false;
}

static void take_off(struct relay *relay, struct flight *flight, struct sending *s, struct slice id)
{
    flight->ids[flight->count] = (struct slice){arena_strndup(relay->arena, id.ptr, id.len), id.len};
    flight->list[flight->count++] = s;
}

static void launch(struct relay *relay, struct flight *flight, struct sending *s, const struct publication *p)
{
    struct error err = {0};

    if (broker_publish(relay->publisher, &p->args, &s->outcome, &err)) {
        take_off(relay, flight, s, p->args.message_id);
        return;
    }
    if (s->outcome == BROKER_OUTCOME_TOO_LARGE) { /* the outcome is this row's; the error may be the connection's */
        relay_settle(s, LOCAL_MESSAGE_QUARANTINE, 0, relay_text(relay, err.text));
        return;
    }
    relay->waiting = relay->waiting || err.code == ERROR_BROKER_BLOCKED;
    if (s->outcome == BROKER_OUTCOME_REFUSED) /* surely not sent */
        relay_settle(s, LOCAL_MESSAGE_WAIT, err.code == ERROR_BROKER_BLOCKED ? 1000 : 0, relay_text(relay, err.text));
    else
        take_off(relay, flight, s, p->args.message_id);
    if (err.code != ERROR_BROKER_BLOCKED)
        land(relay, flight);
}

static void dispatch(struct relay *relay, struct flight *flight, struct sending *s, const struct publication *p)
{
    struct error err = {0};

    if (flight->count > 0 && (goes_alone(relay, s) || has_twin(flight, p->args.message_id)))
        land(relay, flight);
    if (!relay_open_publisher(relay, &err)) {
        relay_wait_for(relay, s, &relay->broker_target, relay_text(relay, err.text));
        return;
    }
    launch(relay, flight, s, p);
    if (flight->count > 0 && goes_alone(relay, s))
        land(relay, flight);
}

static void publish_one(struct relay *relay, struct flight *flight, struct sending *s, struct publication *p)
{
    struct outlet *outlet = outlet_of(relay, s);
    struct error err = {0};

    if (outlet->closed_until > clock_mono_ms())
        relay_settle(s, LOCAL_MESSAGE_WAIT, OUTLET_REST_MS, relay_text(relay, outlet->why));
    else if (publication_prepare(p, relay->conf, s, &err))
        dispatch(relay, flight, s, p);
    else
        relay_settle(s, LOCAL_MESSAGE_QUARANTINE, 0, relay_text(relay, err.text));
    publication_release(p);
}

static bool is_publication(const struct sending *s)
{
    return s->kind == EFFECT_PUBLISH_ORDER || s->kind == EFFECT_PUBLISH_EVENT;
}

void relay_publish(struct relay *relay, struct sending *all, size_t count)
{
    struct publication *p = arena_zalloc(relay->arena, sizeof *p);
    struct flight flight = {.list = arena_alloc(relay->arena, count * sizeof *flight.list),
                            .ids = arena_alloc(relay->arena, count * sizeof *flight.ids)};

    for (size_t i = 0; i < count; i++) {
        relay_beats(relay);
        if (is_publication(&all[i]) && !all[i].settled && !relay_late(relay, &all[i]))
            publish_one(relay, &flight, &all[i], p);
    }
    if (flight.count > 0)
        land(relay, &flight);
}
