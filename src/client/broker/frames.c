#include "broker_private.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/time.h>

#include "orderd/clock.h"
#include "orderd/log.h"

/* The broker may send `prefetch` messages of any size. Above this much we stop reading until some are taken, so that a
 * flood of huge bodies cannot eat the host's memory. */
#define INBOX_BYTES_MAX (16 << 20)

/* The library's frame memory is recycled whenever so many frames were read. */
#define FRAMES_PER_RECYCLE 64

static bool holds_too_much(const struct broker *b)
{
    bool answer_is_behind = b->call.want && !b->call.answered;

    return b->inbox.bytes >= INBOX_BYTES_MAX && !answer_is_behind;
}

/* ---- methods ---- */

static void on_channel_close(struct broker *b, const amqp_channel_close_t *m)
{
    struct slice text = slice_of_bytes(m->reply_text);
    enum error_code code = broker_close_meaning(false, m->reply_code, text);
    amqp_channel_close_ok_t ok = {0};
    int status;

    if (code == ERROR_BROKER_TOO_LARGE && b->window)
        window_too_large(b->window, broker_refused_size(text));
    if (b->call.want && b->call.may_close_channel) {
        b->call.closed_code = m->reply_code;
        error_set(&b->call.closed, code, "broker %s: %.*s", b->where, (int)text.len, text.ptr);
    } else {
        broker_fail(b, code, "closed the channel with %u: %.*s", m->reply_code, (int)text.len, text.ptr);
        b->broken = false; /* the connection is in order, and can be closed in order */
    }
    status = amqp_send_method(b->library, BROKER_CHANNEL, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
    if (status != AMQP_STATUS_OK)
        broker_fail_status(b, "closing the channel", status);
}

static void on_connection_close(struct broker *b, const amqp_connection_close_t *m)
{
    struct slice text = slice_of_bytes(m->reply_text);
    amqp_connection_close_ok_t ok = {0};

    broker_fail(b, broker_close_meaning(true, m->reply_code, text), "closed the connection with %u: %.*s%s",
                m->reply_code, (int)text.len, text.ptr,
                m->reply_code == AMQP_INTERNAL_ERROR
                    ? "; that is a fault within RabbitMQ: see its log, and docs/servers.md"
                    : "");
    (void)amqp_send_method(b->library, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok); /* it is over either way */
}

static void on_blocked(struct broker *b, const amqp_connection_blocked_t *m)
{
    struct slice reason = slice_of_bytes(m->reason);

    b->blocked = true;
    snprintf(b->blocked_reason, sizeof b->blocked_reason, "%.*s", (int)reason.len, reason.ptr);
    log_event(LOG_EVENT_BROKER_BLOCKED, LOG_STR("connection", b->name), LOG_SLICE("reason", reason));
}

static void on_unblocked(struct broker *b)
{
    b->blocked = false;
    log_event(LOG_EVENT_BROKER_UNBLOCKED, LOG_STR("connection", b->name));
}

static void on_cancel(struct broker *b, const amqp_basic_cancel_t *m)
{
    if (!b->consuming || !slice_is(slice_of_bytes(m->consumer_tag), b->consumer_tag))
        return;
    b->consuming = false;
    b->cancelled = true;
}

static void on_confirm(struct broker *b, uint64_t sequence, bool multiple, bool positive)
{
    if (b->window)
        window_settle(b->window, sequence, multiple, positive);
}

static bool is_answer(struct broker *b, const amqp_method_t *m)
{
    if (m->id != b->call.want)
        return false;
    if (m->id == AMQP_QUEUE_DECLARE_OK_METHOD) {
        const amqp_queue_declare_ok_t *ok = m->decoded;

        b->call.messages = ok->message_count;
        b->call.consumers = ok->consumer_count;
    }
    b->call.answered = true;
    return true;
}

static void on_method(struct broker *b, const amqp_method_t *m, unsigned *arrived)
{
    const amqp_basic_ack_t *ack = m->decoded;
    const amqp_basic_nack_t *nack = m->decoded;

    if (m->id == AMQP_BASIC_DELIVER_METHOD) {
        message_deliver(b, m->decoded);
        return;
    }
    if (m->id == AMQP_BASIC_RETURN_METHOD) {
        message_returned(b);
        return;
    }
    ++*arrived;
    if (is_answer(b, m))
        return;
    switch (m->id) {
    case AMQP_BASIC_ACK_METHOD:
        on_confirm(b, ack->delivery_tag, ack->multiple, true);
        break;
    case AMQP_BASIC_NACK_METHOD:
        on_confirm(b, nack->delivery_tag, nack->multiple, false);
        break;
    case AMQP_BASIC_CANCEL_METHOD:
        on_cancel(b, m->decoded);
        break;
    case AMQP_CONNECTION_BLOCKED_METHOD:
        on_blocked(b, m->decoded);
        break;
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
        on_unblocked(b);
        break;
    case AMQP_CHANNEL_CLOSE_METHOD:
        on_channel_close(b, m->decoded);
        break;
    case AMQP_CONNECTION_CLOSE_METHOD:
        on_connection_close(b, m->decoded);
        break;
    default: /* an answer that nobody waits for any more */
        break;
    }
}

/* ---- frames ---- */

static void on_frame(struct broker *b, const amqp_frame_t *frame, unsigned *arrived)
{
    if (frame->channel > BROKER_CHANNEL) {
        broker_fail_protocol(b, "a frame on a channel that was never opened");
        return;
    }
    switch (frame->frame_type) {
    case AMQP_FRAME_METHOD:
        on_method(b, &frame->payload.method, arrived);
        break;
    case AMQP_FRAME_HEADER:
        message_header(b, frame, arrived);
        break;
    case AMQP_FRAME_BODY:
        message_body(b, slice_of_bytes(frame->payload.body_fragment), arrived);
        break;
    default: /* heartbeats show up here where the library read ahead, against its manual (rabbitmq-c #341) */
        break;
    }
}

static void read_frames(struct broker *b, unsigned *arrived)
{
    struct timeval at_once = {0, 0};
    amqp_frame_t frame;

    for (unsigned n = 1; !b->failed && !holds_too_much(b); n++) {
        int status = amqp_simple_wait_frame_noblock(b->library, &frame, &at_once);

        if (status == AMQP_STATUS_TIMEOUT) {
            b->drained_ms = clock_mono_ms();
            break;
        }
        if (status != AMQP_STATUS_OK) {
            broker_fail_status(b, "reading", status);
            break;
        }
        on_frame(b, &frame, arrived);
        if (n % FRAMES_PER_RECYCLE == 0 && !b->broken)
            amqp_maybe_release_buffers(b->library);
    }
}

/* While we do not read, the library sends no heartbeats. */
static void keep_alive(struct broker *b)
{
    amqp_frame_t frame = {.frame_type = AMQP_FRAME_HEARTBEAT, .channel = 0};
    int64_t now = clock_mono_ms();
    int status;

    if (now - b->kept_ms < b->heartbeat_ms / 2)
        return;
    b->kept_ms = now;
    status = amqp_send_frame(b->library, &frame);
    if (status != AMQP_STATUS_OK)
        broker_fail_status(b, "sending a heartbeat", status);
}

bool broker_leave(struct broker *b)
{
    if (!guard_leave(&b->guard))
        return !b->failed;
    b->failed = false; /* the library's words only say that the socket is closed; this is why */
    return broker_fail(b, ERROR_BROKER_AWAY, "the socket was shut down by the watchdog");
}

bool broker_drain(struct broker *b, unsigned *arrived)
{
    if (b->failed)
        return false;
    guard_enter(&b->guard, b->call_timeout_ms);
    read_frames(b, arrived);
    if (!b->broken) {
        amqp_maybe_release_buffers(b->library);
        if (holds_too_much(b))
            keep_alive(b);
    }
    return broker_leave(b);
}

/* ---- waiting ---- */

short broker_poll_events(const struct broker *b)
{
    return holds_too_much(b) ? 0 : POLLIN;
}

void broker_wait_readable(const struct broker *b, int64_t ms)
{
    struct pollfd p = {.fd = b->guard.fd, .events = broker_poll_events(b)};

    if (ms > b->heartbeat_ms / 2)
        ms = b->heartbeat_ms / 2;
    if (ms > 0)
        (void)poll(&p, 1, (int)ms); /* whatever it says, the next drain finds out */
}

bool broker_pump(struct broker *b, int wait_ms, struct error *err)
{
    int64_t deadline = clock_mono_ms() + wait_ms, left;
    unsigned arrived = 0;

    while (broker_drain(b, &arrived) && arrived == 0 && (left = deadline - clock_mono_ms()) > 0)
        broker_wait_readable(b, left);
    return broker_usable(b, err);
}

/* ---- sending ---- */

static bool drain_is_due(const struct broker *b)
{
    return clock_mono_ms() - b->drained_ms > b->heartbeat_ms / 4;
}

bool broker_ready_to_send(struct broker *b, struct error *err)
{
    int64_t deadline = clock_mono_ms() + b->call_timeout_ms;
    unsigned arrived = 0;
    int wait_ms = 0;

    for (;;) {
        struct pollfd p = {.fd = b->guard.fd, .events = holds_too_much(b) ? POLLOUT : POLLIN | POLLOUT};
        int n;

        if (!broker_usable(b, err))
            return false;
        n = poll(&p, 1, wait_ms);
        if ((n > 0 && p.revents & ~POLLOUT) || drain_is_due(b)) {
            if (!broker_drain(b, &arrived))
                return broker_usable(b, err);
        }
        if (n > 0 && p.revents & POLLOUT)
            return true;
        if (clock_mono_ms() >= deadline) {
            broker_fail(b, ERROR_BROKER_AWAY, "takes no data for %d ms", b->call_timeout_ms);
            return broker_usable(b, err);
        }
        wait_ms = 100; /* and not longer: alarms and closes are noticed by the drain, heartbeats are sent by it */
    }
}

bool broker_send(struct broker *b, amqp_channel_t channel, amqp_method_number_t id, void *method, struct error *err)
{
    int status;

    if (!broker_ready_to_send(b, err))
        return false;
    guard_enter(&b->guard, b->call_timeout_ms);
    status = amqp_send_method(b->library, channel, id, method);
    if (status != AMQP_STATUS_OK)
        broker_fail_status(b, "sending", status);
    (void)broker_leave(b);
    return broker_usable(b, err);
}
