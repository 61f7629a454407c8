#include "broker_private.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/clock.h"

#define CLOSE_TIMEOUT_MS 2000

static struct broker *create(const struct conf *conf, const char *name)
{
    struct broker *b = check_calloc(1, sizeof *b);

    snprintf(b->name, sizeof b->name, "%s", name);
    snprintf(b->where, sizeof b->where, "%s:%d", conf->broker_host, (int)conf->broker_port);
    b->heartbeat_ms = (int)conf->broker_heartbeat;
    b->call_timeout_ms = (int)conf->broker_call_timeout;
    b->guard.fd = -1;
    b->guard.name = b->name;
    b->library = amqp_new_connection();
    CHECK(b->library != NULL);
    return b;
}

bool broker_watch_socket(struct broker *b, int fd, struct error *err)
{
    if (!guard_add(&b->guard, fd))
        return error_set(err, ERROR_BROKER_AWAY, "no file descriptor left for broker %s: %s", b->where,
                         strerror(errno));
    return true;
}

/* The library owns the socket from here on. */
static bool connect_plain(struct broker *b, const struct addrinfo *to, const struct conf *conf, struct error *err)
{
    int fd = broker_dial(to, (int)conf->broker_connect_timeout, b->where, err);
    amqp_socket_t *socket;

    if (fd < 0)
        return false;
    socket = amqp_tcp_socket_new(b->library);
    CHECK(socket != NULL);
    amqp_tcp_socket_set_sockfd(socket, fd);
    return broker_watch_socket(b, fd, err);
}

static struct broker *open_at(const struct addrinfo *to, const struct conf *conf, const char *name, struct error *err)
{
    struct broker *b = create(conf, name);
    bool secure = conf->broker_tls != CONF_TLS_OFF;

    if (!(secure ? broker_connect_secure(b, to, conf, err) : connect_plain(b, to, conf, err)) ||
        !broker_login(b, conf, err) || !broker_open_channel(b, err))
        broker_close(&b, false);
    return b;
}

/* The library would resolve by itself, but gives up at the first address that is silent (pitfalls A4). */
struct broker *broker_open(const struct conf *conf, const char *name, struct error *err)
{
    struct addrinfo want = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP}, *all, *to;
    struct broker *b = NULL;
    char port[16];
    int number;

    snprintf(port, sizeof port, "%d", (int)conf->broker_port);
    number = getaddrinfo(conf->broker_host, port, &want, &all);
    if (number != 0) {
        error_set(err, ERROR_BROKER_AWAY, "cannot resolve broker host \"%s\": %s", conf->broker_host,
                  gai_strerror(number));
        return NULL;
    }
    for (to = all; to && !b; to = to->ai_next) {
        b = open_at(to, conf, name, err);
        if (!b && err->code != ERROR_BROKER_AWAY)
            break;
    }
    freeaddrinfo(all);
    return b;
}

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
    if (b->library)
        amqp_destroy_connection(b->library); /* closes the socket and tells the broker nothing */
    free(b);
}

int broker_fd(const struct broker *b)
{
    return b->guard.fd;
}

const char *broker_encrypted_by(const struct broker *b, int64_t *until_s)
{
    *until_s = b->tls.until_s;
    return b->tls.shaken ? b->tls.what : NULL;
}

int broker_version(const struct broker *b)
{
    return b->version;
}
