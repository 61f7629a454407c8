#include "endpoint.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orderd/admin.h"
#include "orderd/clock.h"

#define PATIENCE_MS 5000
#define ANSWER_MAX  (4 * 1024 * 1024)

/* How long an exchange may take. */
struct patience {
    int64_t deadline; /* monotonic ms */
    int stop_fd;
};

/* Ready for these events in time; errno is set where not. */
static bool wait_for(int fd, short events, const struct patience *patience)
{
    struct pollfd p[] = {{.fd = fd, .events = events}, {.fd = patience->stop_fd, .events = POLLIN}};
    int64_t left = patience->deadline - clock_mono_ms();
    int got;

    do
        got = poll(p, 2, left > 0 ? (int)left : 0);
    while (got < 0 && errno == EINTR && (left = patience->deadline - clock_mono_ms()) > 0);
    if (got == 0)
        errno = ETIMEDOUT;
    else if (got > 0 && p[1].revents)
        errno = ECANCELED;
    return got > 0 && !p[1].revents;
}

static bool connected(int fd, const struct addrinfo *at, const struct patience *patience)
{
    int problem = 0;
    socklen_t len = sizeof problem;

    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0)
        return true;
    if (errno != EINPROGRESS || !wait_for(fd, POLLOUT, patience))
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &len) == 0 && problem != 0)
        errno = problem;
    return problem == 0;
}

static bool send_all(int fd, const char *bytes, size_t len, const struct patience *patience)
{
    while (len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);

        if (sent < 0 && (errno != EAGAIN || !wait_for(fd, POLLOUT, patience)))
            return false;
        if (sent > 0) {
            bytes += sent;
            len -= (size_t)sent;
        }
    }
    return true;
}

/* Until the server ends the connection. */
static bool read_all(int fd, struct strbuf *out, const struct patience *patience)
{
    char bytes[16384];
    ssize_t got;

    while ((got = recv(fd, bytes, sizeof bytes, 0)) != 0) {
        if (got < 0 && (errno != EAGAIN || !wait_for(fd, POLLIN, patience)))
            return false;
        if (got > 0)
            strbuf_add(out, bytes, (size_t)got);
        if (out->len > ANSWER_MAX) {
            errno = EMSGSIZE;
            return false;
        }
    }
    return true;
}

static bool exchange(const struct addrinfo *at, const char *path, int stop_fd, struct strbuf *answer)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), problem;
    const struct patience patience = {clock_mono_ms() + PATIENCE_MS, stop_fd};
    char request[512];
    bool ok;
    int len = snprintf(request, sizeof request,
                       "GET %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: orderctl/" ORDERD_VERSION
                       "\r\nConnection: close\r\n\r\n",
                       path);

    if (fd < 0)
        return false;
    ok = connected(fd, at, &patience) && send_all(fd, request, (size_t)len, &patience) &&
         read_all(fd, answer, &patience);
    problem = errno;
    close(fd);
    errno = problem;
    return ok;
}

/* The head goes, the body stays. */
static bool take_body(struct strbuf *answer, int *status, struct strbuf *out)
{
    const char *body = answer->data ? strstr(answer->data, "\r\n\r\n") : NULL;

    if (!body || sscanf(answer->data, "HTTP/1.%*1d %3d", status) != 1 || *status < 100)
        return false;
    body += 4;
    strbuf_add(out, body, answer->len - (size_t)(body - answer->data));
    return true;
}

bool endpoint_ask(const struct endpoint *e, const char *path, int stop_fd, int *status, struct strbuf *out,
                  struct error *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct strbuf answer = STRBUF_INIT;
    struct addrinfo *at = NULL;
    char service[12];
    bool ok;
    int problem;

    snprintf(service, sizeof service, "%d", e->port);
    problem = getaddrinfo(e->host, service, &hints, &at);
    if (problem != 0)
        return error_set(err, ERROR_ADMIN_AWAY, "admin.host %s: %s", e->host, gai_strerror(problem));
    ok = exchange(at, path, stop_fd, &answer);
    if (!ok)
        error_set(err, ERROR_ADMIN_AWAY, "no orderd answers at %s port %d: %s", e->host, e->port, strerror(errno));
    else if (!(ok = take_body(&answer, status, out)))
        error_set(err, ERROR_ADMIN_AWAY, "what answers at %s port %d does not speak HTTP", e->host, e->port);
    freeaddrinfo(at);
    strbuf_release(&answer);
    return ok;
}

bool endpoint_find(struct ctl *ctl, const char *instance, struct endpoint *out, struct error *err)
{
    if (!ctl_load_conf(ctl, err) || !admin_port(ctl->conf, instance, &out->port, err))
        return false;
    out->host = ctl->conf->admin_host;
    return true;
}

void endpoint_advise(struct ctl *ctl)
{
    ctl_advise(ctl, "see that orderd runs with admin.enabled, and name its INSTANCE if it has one (the 1 of orderd@1)");
}

bool endpoint_get(struct ctl *ctl, const char *instance, const char *path, int *status, struct strbuf *out,
                  struct error *err)
{
    struct endpoint e;

    if (!endpoint_find(ctl, instance, &e, err))
        return false;
    if (endpoint_ask(&e, path, -1, status, out, err))
        return true;
    endpoint_advise(ctl);
    return false;
}

static json_t *parsed(const struct strbuf *body, int status, struct error *err)
{
    json_t *s = status == 200 && body->data ? json_loadb(body->data, body->len, 0, NULL) : NULL;

    if (s && json_is_object(s) && json_is_array(json_object_get(s, "workers")))
        return s;
    json_decref(s);
    error_set(err, ERROR_ADMIN_AWAY, "what answers at the admin endpoint is no orderd of this version");
    return NULL;
}

json_t *endpoint_status(struct ctl *ctl, const char *instance, struct strbuf *body, struct error *err)
{
    int status = 0;

    if (!endpoint_get(ctl, instance, "/status", &status, body, err))
        return NULL;
    return parsed(body, status, err);
}
