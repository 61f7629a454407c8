#include "broker_private.h"

#include <poll.h>
#include <stdlib.h>

#include "hosts.h"
#include "orderd/clock.h"

#define CLOSE_TIMEOUT_MS 2000

static int left_until(int64_t deadline)
{
    int64_t left = deadline - clock_mono_ms();

    return left > 0 ? (int)left : 0;
}

static bool writable(const struct broker *b, int wait_ms)
{
    struct pollfd p = {.fd = b->guard.fd, .events = POLLOUT};

    return poll(&p, 1, wait_ms) > 0 && p.revents == POLLOUT;
}

/* The channel first: once it is closed, the broker has worked through every ack. After a channel exception that is
 * already so, and only the connection is left. Nothing is sent where it could block. */
static void say_goodbye(struct broker *b)
{
    int64_t deadline = clock_mono_ms() + CLOSE_TIMEOUT_MS;
    amqp_channel_close_t channel = {.reply_code = AMQP_REPLY_SUCCESS, .reply_text = bytes_of_text("closing")};
    amqp_connection_close_t connection = {.reply_code = AMQP_REPLY_SUCCESS, .reply_text = bytes_of_text("closing")};
    bool channel_open = !b->failed;
    struct error ignored;

    b->failed = false;
    if (channel_open && (!writable(b, left_until(deadline)) ||
                         !broker_call(b, BROKER_CHANNEL, AMQP_CHANNEL_CLOSE_METHOD, &channel,
                                      AMQP_CHANNEL_CLOSE_OK_METHOD, left_until(deadline), &ignored)))
        return;
    if (writable(b, left_until(deadline)))
        (void)broker_call(b, 0, AMQP_CONNECTION_CLOSE_METHOD, &connection, AMQP_CONNECTION_CLOSE_OK_METHOD,
                          left_until(deadline), &ignored);
}

void broker_close(struct broker **broker, bool graceful)
{
    struct broker *b = *broker;

    *broker = NULL;
    if (!b)
        return;
    if (graceful && !b->broken)
        say_goodbye(b);
    if (b->window)
        window_abandon(b->window);
    window_destroy(&b->window);
    message_discard(&b->assembly);
    inbox_release(&b->inbox);
    guard_remove(&b->guard);
    if (b->broken && b->several && b->fate.code == ERROR_BROKER_AWAY)
        hosts_failed(&b->host, &b->fate); /* who lost it with us looks elsewhere first */
    if (b->library)
        amqp_destroy_connection(b->library); /* closes the socket and tells the broker nothing */
    free(b);
}

int broker_fd(const struct broker *b)
{
    return b->guard.fd;
}

const char *broker_peer(const struct broker *b)
{
    return b->where;
}

const char *broker_encrypted_by(const struct broker *b, int64_t *until_s)
{
    *until_s = b->tls.until_s;
    return b->tls.shaken ? b->tls.what : NULL;
}

const char *broker_cluster(const struct broker *b)
{
    return b->cluster;
}

int broker_version(const struct broker *b)
{
    return b->version;
}
