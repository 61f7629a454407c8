#include "kv_private.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orderd/clock.h"

/* 0, or the error number that says why not. */
static int await_connected(int fd, int64_t timeout_ms)
{
    int64_t deadline = clock_mono_ms() + timeout_ms;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int error = 0, ready;
    socklen_t size = sizeof error;

    do {
        int64_t left = deadline - clock_mono_ms();
        ready = poll(&p, 1, left > 0 ? (int)left : 0);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0)
        return ETIMEDOUT;
    if (ready < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return errno;
    return error;
}

static int connect_one(const struct addrinfo *address, int64_t timeout_ms, int *why)
{
    const int on = 1;
    int fd = socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol);

    if (fd < 0) {
        *why = errno;
        return -1;
    }
    *why = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (*why == EINPROGRESS)
        *why = await_connected(fd, timeout_ms);
    if (*why != 0) {
        close(fd);
        return -1;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return fd;
}

int kv_socket_connect(const char *host, int port, int64_t timeout_ms, struct error *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    char service[16];
    int fd = -1, why = 0, failed;

    snprintf(service, sizeof service, "%d", port);
    failed = getaddrinfo(host, service, &hints, &found);
    if (failed) {
        error_set(err, ERROR_KV_AWAY, "cannot resolve \"%s\": %s", host, gai_strerror(failed));
        return -1;
    }
    for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
        fd = connect_one(a, timeout_ms, &why);
    freeaddrinfo(found);
    if (fd < 0)
        error_set(err, ERROR_KV_AWAY, "cannot connect to Redis %s:%d: %s", host, port, strerror(why));
    return fd;
}
