#include "broker_private.h"

#include "orderd/check.h"
#include "orderd/clock.h"
#include "outgoing.h"

bool broker_confirm_select(struct broker *b, unsigned window, struct error *err)
{
    amqp_confirm_select_t m = {0};

    CHECK(!b->window && window >= 1 && window <= 65535);
    if (!broker_usable(b, err) || !broker_call(b, BROKER_CHANNEL, AMQP_CONFIRM_SELECT_METHOD, &m,
                                               AMQP_CONFIRM_SELECT_OK_METHOD, b->call_timeout_ms, err))
        return false;
    b->window = window_create(window);
    return true;
}

/* Room in the window and in the socket, and no alarm that we know of. */
static bool await_room(struct broker *b, struct error *err)
{
    int64_t deadline = clock_mono_ms() + b->call_timeout_ms, left;

    for (;;) {
        if (!broker_ready_to_send(b, err))
            return false;
        if (b->blocked)
            return error_set(err, ERROR_BROKER_BLOCKED, "broker %s takes no publishes: %s", b->where,
                             b->blocked_reason);
        if (!window_full(b->window))
            return true;
        left = deadline - clock_mono_ms();
        if (left <= 0)
            return error_set(err, ERROR_BROKER_UNCONFIRMED, "broker %s confirms none of %zu publications within %d ms",
                             b->where, window_pending(b->window), b->call_timeout_ms);
        broker_wait_readable(b, left);
    }
}

static bool hand_over(struct broker *b, const struct broker_publication *p, const struct outgoing *out,
                      enum broker_outcome *outcome, struct error *err)
{
    int status;

    window_add(b->window, slice_of_bytes(out->properties.message_id), p->body.len, outcome);
    guard_enter(&b->guard, b->call_timeout_ms);
    status = amqp_basic_publish(b->library, BROKER_CHANNEL, bytes_of_text(p->exchange), bytes_of_text(p->routing_key),
                                1, 0, &out->properties, bytes_of(p->body));
    if (status != AMQP_STATUS_OK)
        broker_fail_status(b, "publishing", status);
    (void)broker_leave(b);
    return broker_usable(b, err);
}

bool broker_publish(struct broker *b, const struct broker_publication *p, enum broker_outcome *outcome,
                    struct error *err)
{
    struct outgoing out;
    bool ok;

    CHECK(b->window != NULL);
    ok = outgoing_prepare(&out, p, amqp_get_frame_max(b->library), err);
    *outcome = ok ? BROKER_OUTCOME_REFUSED : BROKER_OUTCOME_TOO_LARGE; /* until it is handed over: surely not sent */
    ok = ok && await_room(b, err) && hand_over(b, p, &out, outcome, err);
    outgoing_release(&out);
    return ok;
}

bool broker_wait_confirms(struct broker *b, int timeout_ms, struct error *err)
{
    int64_t deadline = clock_mono_ms() + timeout_ms, left;
    size_t pending;

    while (b->window && (pending = window_pending(b->window)) > 0) {
        left = deadline - clock_mono_ms();
        if (left <= 0) {
            window_abandon(b->window);
            return error_set(err, ERROR_BROKER_UNCONFIRMED, "broker %s does not confirm %zu publications within %d ms",
                             b->where, pending, timeout_ms);
        }
        if (!broker_pump(b, (int)left, err))
            return false;
    }
    return broker_usable(b, err);
}

bool broker_blocked(const struct broker *b)
{
    return b->blocked;
}

size_t broker_unconfirmed(const struct broker *b)
{
    return b->window ? window_pending(b->window) : 0;
}
