#include "broker_private.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orderd/clock.h"

/* 0, or the error number of the connection attempt. */
static int finish_connecting(int fd, int timeout_ms)
{
    int64_t deadline = clock_mono_ms() + timeout_ms, left;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int number = 0;
    socklen_t len = sizeof number;

    while ((left = deadline - clock_mono_ms()) > 0) {
        int n = poll(&p, 1, (int)left);

        if (n > 0)
            return getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &len) ? errno : number;
        if (n < 0 && errno != EINTR)
            return errno;
    }
    return ETIMEDOUT;
}

static int try_connect(int fd, const struct addrinfo *to, int timeout_ms)
{
    int one = 1;

    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) ||
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one))
        return errno;
    if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
        return 0;
    return errno == EINPROGRESS || errno == EINTR ? finish_connecting(fd, timeout_ms) : errno;
}

int broker_dial(const void *addrinfo, int timeout_ms, const char *where, struct error *err)
{
    const struct addrinfo *to = addrinfo;
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, to->ai_protocol), number;
    char address[NI_MAXHOST] = "?";

    number = fd < 0 ? errno : try_connect(fd, to, timeout_ms);
    if (number == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    (void)getnameinfo(to->ai_addr, to->ai_addrlen, address, sizeof address, NULL, 0, NI_NUMERICHOST);
    error_set(err, ERROR_BROKER_AWAY, "cannot connect to broker %s (address %s): %s", where, address, strerror(number));
    return -1;
}
