#include "db_probe.h"

#ifdef ORDERD_OPENSSL

#include <netdb.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orderd/clock.h"

#define GREETING_MAX 1024

/* Capabilities of the protocol (MySQL internals, "Protocol::CapabilityFlags"). */
#define CAN_PROTOCOL_41 0x00000200u
#define CAN_TLS         0x00000800u
#define CAN_SECURE      0x00008000u
#define CAN_PLUGINS     0x00080000u

static bool await(int fd, short events, int64_t deadline)
{
    struct pollfd p = {.fd = fd, .events = events};
    int64_t left = deadline - clock_mono_ms();

    return left > 0 && poll(&p, 1, (int)left) == 1;
}

static int dial_one(const struct addrinfo *to, int64_t deadline)
{
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, to->ai_protocol), number = 0;
    socklen_t size = sizeof number;

    if (fd < 0)
        return -1;
    (void)connect(fd, to->ai_addr, to->ai_addrlen);
    if (await(fd, POLLOUT, deadline) && getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size) == 0 && number == 0)
        return fd;
    close(fd);
    return -1;
}

static int dial(const char *host, int port, int64_t deadline)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *all, *to;
    char service[16];
    int fd = -1;

    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(host, service, &hints, &all) != 0)
        return -1;
    for (to = all; to && fd < 0; to = to->ai_next)
        fd = dial_one(to, deadline);
    freeaddrinfo(all);
    return fd;
}

/* The server's first packet, without its header; 0: none that is whole. */
static size_t read_greeting(int fd, unsigned char out[GREETING_MAX], int64_t deadline)
{
    size_t have = 0, want = 4;

    while (have < want && await(fd, POLLIN, deadline)) {
        ssize_t n = recv(fd, out + have, want - have, MSG_DONTWAIT);

        if (n <= 0)
            return 0;
        have += (size_t)n;
        if (have == 4 && want == 4)
            want = 4 + (size_t)(out[0] | out[1] << 8 | out[2] << 16);
        if (want > GREETING_MAX)
            return 0;
    }
    if (have < want)
        return 0;
    memmove(out, out + 4, want - 4);
    return want - 4;
}

/* Protocol version 10, the server's version, connection id, 8 bytes of salt, a filler, capabilities. */
static bool offers_tls(const unsigned char *greeting, size_t len, bool *offers)
{
    const unsigned char *end = len ? memchr(greeting, '\0', len) : NULL;
    size_t at = end ? (size_t)(end - greeting) + 1 + 4 + 8 + 1 : 0;

    if (!end || greeting[0] != 10 || at + 2 > len)
        return false; /* an error packet (too many connections), or no MySQL */
    *offers = ((unsigned)greeting[at] | (unsigned)greeting[at + 1] << 8) & CAN_TLS;
    return true;
}

static bool ask_for_tls(int fd)
{
    unsigned can = CAN_PROTOCOL_41 | CAN_TLS | CAN_SECURE | CAN_PLUGINS;
    unsigned char packet[36] = {32, 0, 0, 1, can & 0xff, can >> 8 & 0xff, (can >> 16) & 0xff, 0, 0, 0, 0, 1, 45};

    return send(fd, packet, sizeof packet, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof packet;
}

static void look(int fd, struct tls_session *s, int64_t timeout_ms)
{
    unsigned char greeting[GREETING_MAX];
    size_t len = read_greeting(fd, greeting, clock_mono_ms() + timeout_ms);
    bool offers;

    if (!offers_tls(greeting, len, &offers))
        return;
    if (!offers)
        tls_note(s, TLS_FAULT_NOT_OFFERED, "");
    else if (ask_for_tls(fd))
        tls_probe(s, fd, timeout_ms);
}

void db_probe(struct tls_session *s, int port, int64_t timeout_ms)
{
    int fd = dial(s->peer.host, port, clock_mono_ms() + timeout_ms);

    if (fd < 0)
        return;
    look(fd, s, timeout_ms);
    close(fd);
}

bool db_probe_files(struct tls_session *s, struct error *err)
{
    SSL_CTX *ctx = tls_context(s, err);

    SSL_CTX_free(ctx);
    return ctx != NULL;
}

#else

void db_probe(struct tls_session *s, int port, int64_t timeout_ms)
{
    (void)s, (void)port, (void)timeout_ms;
}

bool db_probe_files(struct tls_session *s, struct error *err)
{
    (void)s, (void)err;
    return true;
}

#endif
