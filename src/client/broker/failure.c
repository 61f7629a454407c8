#include "broker_private.h"

#include <stdio.h>
#include <sys/socket.h>

bool broker_fail(struct broker *b, enum error_code code, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    if (b->failed)
        return false;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    error_set(&b->fate, code, "broker %s: %s", b->where, text);
    b->failed = b->broken = true;
    message_discard(&b->assembly);
    if (b->window)
        window_abandon(b->window);
    return false;
}

/* The library may have closed its descriptor already; the peer learns of it only when ours is shut down too. */
bool broker_fail_status(struct broker *b, const char *doing, int status)
{
    (void)shutdown(b->guard.fd, SHUT_RDWR);
    return broker_fail(b, ERROR_BROKER_AWAY, "connection lost while %s: %s", doing, amqp_error_string2(status));
}

bool broker_fail_protocol(struct broker *b, const char *how)
{
    return broker_fail(b, ERROR_BROKER_AWAY, "breaks the protocol: %s", how);
}

bool broker_usable(const struct broker *b, struct error *err)
{
    if (b->failed)
        *err = b->fate;
    return !b->failed;
}

static bool mentions(struct slice text, const char *words)
{
    return memmem(text.ptr, text.len, words, strlen(words)) != NULL;
}

uint64_t broker_refused_size(struct slice text)
{
    static const char words[] = "message size ";
    const char *at = memmem(text.ptr, text.len, words, sizeof words - 1), *end = text.ptr + text.len;
    uint64_t size = 0;

    if (!at || !mentions(text, "larger than"))
        return 0;
    for (at += sizeof words - 1; at < end && *at >= '0' && *at <= '9' && size < UINT64_MAX / 16; at++)
        size = size * 10 + (uint64_t)(*at - '0');
    return size;
}

/* 406 says many things: an ack time-out and an unknown delivery tag end with a new connection, a queue that is declared
 * differently does not. */
static enum error_code precondition(struct slice text)
{
    if (broker_refused_size(text))
        return ERROR_BROKER_TOO_LARGE;
    if (mentions(text, "timed out") || mentions(text, "unknown delivery tag"))
        return ERROR_BROKER_AWAY;
    return ERROR_BROKER_SETUP;
}

enum error_code broker_close_meaning(bool of_connection, uint16_t code, struct slice text)
{
    switch (code) {
    case AMQP_CONTENT_TOO_LARGE:
        return ERROR_BROKER_TOO_LARGE;
    case AMQP_NOT_FOUND: /* a queue whose node is down is "not found" as well, but nobody has to mend the set-up */
        return mentions(text, "inaccessible") || mentions(text, "stopped by supervisor") ? ERROR_BROKER_AWAY
                                                                                         : ERROR_BROKER_SETUP;
    case AMQP_PRECONDITION_FAILED:
        return of_connection ? ERROR_BROKER_AWAY : precondition(text);
    case AMQP_ACCESS_REFUSED:
    case AMQP_RESOURCE_LOCKED:
        return ERROR_BROKER_SETUP;
    case AMQP_NOT_ALLOWED: /* no such vhost; but a connection limit is reached for as long as old ones linger */
        return mentions(text, "limit") ? ERROR_BROKER_AWAY : ERROR_BROKER_SETUP;
    default:
        return ERROR_BROKER_AWAY;
    }
}
