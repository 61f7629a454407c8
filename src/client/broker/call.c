#include "broker_private.h"

#include "orderd/clock.h"

static bool await(struct broker *b, int timeout_ms)
{
    int64_t deadline = clock_mono_ms() + timeout_ms, left;
    unsigned arrived = 0;

    while (broker_drain(b, &arrived) && !b->call.answered && !b->call.closed_code) {
        left = deadline - clock_mono_ms();
        if (left <= 0)
            return broker_fail(b, ERROR_BROKER_AWAY, "does not answer within %d ms", timeout_ms);
        broker_wait_readable(b, left);
    }
    return b->call.answered;
}

bool broker_call(struct broker *b, amqp_channel_t channel, amqp_method_number_t id, void *method,
                 amqp_method_number_t answer, int timeout_ms, struct error *err)
{
    bool ok;

    b->call.want = answer;
    b->call.answered = false;
    b->call.closed_code = 0;
    ok = broker_send(b, channel, id, method, err) && await(b, timeout_ms);
    b->call.want = 0;
    if (!ok && broker_usable(b, err))
        *err = b->call.closed;
    return ok;
}

bool broker_open_channel(struct broker *b, struct error *err)
{
    amqp_channel_open_t m = {.out_of_band = amqp_empty_bytes};

    return broker_call(b, BROKER_CHANNEL, AMQP_CHANNEL_OPEN_METHOD, &m, AMQP_CHANNEL_OPEN_OK_METHOD, b->call_timeout_ms,
                       err);
}
