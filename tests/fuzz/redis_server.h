/* A server that is silent until it was asked, then says what the input has for it in pieces, and hangs up. It stands
 * behind every socket that the key-value client opens: put there at link time (--wrap, see CMakeLists.txt). */
#ifndef ORDERD_FUZZ_REDIS_SERVER_H
#define ORDERD_FUZZ_REDIS_SERVER_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "../../src/client/kv/kv_private.h"
#include "fuzz.h"

static struct {
    const char *const *greetings; /* what is still to be said before the input */
    struct slice input, now;      /* what is left of it; what is left of the answer to what was asked last */
    size_t piece;
} server;

/* The input's answers to one request end with a NUL. */
static struct slice next_answer(void)
{
    const char *end;
    struct slice answer = server.input;

    if (*server.greetings)
        return slice_of(*server.greetings++);
    end = answer.len ? memchr(answer.ptr, '\0', answer.len) : NULL;
    if (end) {
        answer.len = (size_t)(end - answer.ptr);
        server.input = (struct slice){end + 1, server.input.len - answer.len - 1};
    } else {
        server.input.len = 0;
    }
    return answer;
}

__typeof__(kv_socket_connect) __wrap_kv_socket_connect;
__typeof__(recv) __wrap_recv;
__typeof__(send) __wrap_send;
__typeof__(poll) __wrap_poll;

int __wrap_kv_socket_connect(const char *host, int port, int64_t timeout_ms, struct error *err)
{
    (void)host, (void)port, (void)timeout_ms, (void)err;
    return open("/dev/null", O_RDWR | O_CLOEXEC);
}

ssize_t __wrap_recv(int fd, void *to, size_t room, int flags)
{
    size_t n = server.now.len < server.piece ? server.now.len : server.piece;

    (void)fd;
    if (flags & MSG_PEEK) {
        errno = EAGAIN;
        return -1;
    }
    n = n < room ? n : room;
    if (n > 0)
        memcpy(to, server.now.ptr, n);
    server.now = (struct slice){server.now.ptr + n, server.now.len - n};
    return (ssize_t)n;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags)
{
    (void)fd, (void)bytes, (void)flags;
    server.now = next_answer();
    return (ssize_t)len;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    (void)timeout;
    for (nfds_t i = 0; i < count; i++)
        fds[i].revents = fds[i].events;
    return (int)count;
}

#endif
