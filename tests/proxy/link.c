#include "link.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/clock.h"

#define READ_AT_ONCE 65536
#define OUT_MAX      (1 << 20) /* more than this waits in the sender's own socket */

static int connect_server(const struct route *r)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    int fd;

    if (getaddrinfo(r->host, r->port, &hints, &found) != 0)
        return -1;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static void reset(int fd)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (fd < 0)
        return;
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}

static void no_delay(int fd)
{
    const int yes = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

struct link *link_open(struct route *route)
{
    int client = accept4(route->listener, NULL, NULL, SOCK_CLOEXEC), server;
    struct link *l;

    server = client >= 0 && !route->refuses ? connect_server(route) : -1;
    if (server < 0) {
        reset(client);
        return NULL;
    }
    no_delay(client);
    no_delay(server);
    l = check_calloc(1, sizeof *l);
    l->route = route;
    l->wire.protocol = route->protocol;
    l->pipe[WAY_UP].from = l->pipe[WAY_DOWN].to = client;
    l->pipe[WAY_UP].to = l->pipe[WAY_DOWN].from = server;
    route->links++;
    return l;
}

void link_cut(struct link **link)
{
    struct link *l = *link;

    *link = NULL;
    reset(l->pipe[WAY_UP].from);
    reset(l->pipe[WAY_UP].to);
    for (int way = 0; way < WAY_COUNT; way++) {
        strbuf_release(&l->pipe[way].in);
        strbuf_release(&l->pipe[way].out);
    }
    wire_release(&l->wire);
    free(l);
}

void link_want(const struct link *l, struct pollfd fds[WAY_COUNT])
{
    for (int way = 0; way < WAY_COUNT; way++)
        fds[way] = (struct pollfd){.fd = l->pipe[way].from};
    for (int way = 0; way < WAY_COUNT; way++) {
        const struct pipe *p = &l->pipe[way];

        if (l->route->stalled[way])
            continue;
        if (!p->ended && !l->last && p->out.len < OUT_MAX)
            fds[way].events |= POLLIN;
        if (p->out.len > 0 && (l->route->rate == 0 || p->credit > 0))
            fds[!way].events |= POLLOUT;
    }
    for (int way = 0; way < WAY_COUNT; way++) { /* a side that hangs up would wake us all the time */
        if (fds[way].events == 0)
            fds[way].fd = -1;
    }
}

static void take(struct strbuf *sb, size_t len)
{
    memmove(sb->data, sb->data + len, sb->len - len);
    strbuf_cut(sb, sb->len - len);
}

/* Cut in the middle: what follows it never comes. */
static void split(struct link *l, enum way way, struct slice frame)
{
    struct pipe *p = &l->pipe[way];

    strbuf_add(&p->out, frame.ptr, 1 + (size_t)random() % (frame.len - 1));
    l->route->split[way]--;
    l->route->splits++;
    l->last = true;
}

/* One frame. false: its answer is lost, and the connection with it. */
static bool pass(struct link *l, enum way way, struct slice frame)
{
    struct route *r = l->route;
    bool answer = wire_pass(&l->wire, way, frame);

    r->answers += answer;
    if (answer && r->drop > 0) {
        r->drop--;
        r->dropped++;
        return false;
    }
    if (r->split[way] > 0 && frame.len > 1)
        split(l, way, frame);
    else
        strbuf_add_slice(&l->pipe[way].out, frame);
    return true;
}

static bool pass_frames(struct link *l, enum way way)
{
    struct pipe *p = &l->pipe[way];
    size_t done = 0, len;

    while (!l->last && (len = wire_frame(&l->wire, way, (struct slice){p->in.data + done, p->in.len - done})) > 0) {
        if (!pass(l, way, (struct slice){p->in.data + done, len}))
            return false;
        done += len;
    }
    take(&p->in, done);
    return true;
}

static bool read_some(struct link *l, enum way way)
{
    struct pipe *p = &l->pipe[way];
    char bytes[READ_AT_ONCE];
    ssize_t got = recv(p->from, bytes, sizeof bytes, MSG_DONTWAIT);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    if (got == 0) {
        p->ended = true;
        return true;
    }
    if (p->closed)
        return true;
    strbuf_add(&p->in, bytes, (size_t)got);
    return pass_frames(l, way);
}

static void give_credit(const struct route *r, struct pipe *p)
{
    int64_t now = clock_mono_ms(), most = r->rate / 10 + 1;

    if (p->credited_at == 0)
        p->credited_at = now;
    p->credit += r->rate * (now - p->credited_at) / 1000;
    if (p->credit > most)
        p->credit = most;
    if (r->rate * (now - p->credited_at) >= 1000)
        p->credited_at = now;
}

static bool write_some(struct link *l, enum way way)
{
    struct pipe *p = &l->pipe[way];
    size_t len = p->out.len;
    ssize_t put;

    if (l->route->rate > 0 && (int64_t)len > p->credit)
        len = p->credit > 0 ? (size_t)p->credit : 0;
    if (len == 0)
        return true;
    put = send(p->to, p->out.data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0)
        return errno == EAGAIN || errno == EINTR;
    p->credit -= put;
    take(&p->out, (size_t)put);
    return true;
}

/* What has ended on one side ends on the other, behind what was sent before. */
static void pass_end(struct pipe *p)
{
    if (!p->ended || p->closed || p->out.len > 0)
        return;
    (void)shutdown(p->to, SHUT_WR);
    p->closed = true;
}

/* Without a reset, which would take away what was just written. */
static void finish(struct link *l)
{
    (void)shutdown(l->pipe[WAY_UP].to, SHUT_WR);
    close(l->pipe[WAY_UP].from);
    close(l->pipe[WAY_UP].to);
    for (int way = 0; way < WAY_COUNT; way++)
        l->pipe[way].from = l->pipe[way].to = -1;
}

bool link_move(struct link *l, const struct pollfd fds[WAY_COUNT])
{
    bool ok = true;

    for (int way = 0; way < WAY_COUNT && ok; way++) {
        struct pipe *p = &l->pipe[way];

        if (l->route->rate > 0)
            give_credit(l->route, p);
        if (fds[way].fd >= 0 && (fds[way].events & POLLIN) && fds[way].revents)
            ok = read_some(l, (enum way)way);
        if (ok && !l->route->stalled[way] && p->out.len > 0)
            ok = write_some(l, (enum way)way);
        pass_end(p);
    }
    if (ok && l->last && l->pipe[WAY_UP].out.len == 0 && l->pipe[WAY_DOWN].out.len == 0) {
        finish(l);
        return false;
    }
    return ok && !(l->pipe[WAY_UP].ended && l->pipe[WAY_DOWN].ended && l->pipe[WAY_UP].out.len == 0 &&
                   l->pipe[WAY_DOWN].out.len == 0);
}

void link_half_close(struct link *l, enum way way)
{
    struct pipe *p = &l->pipe[way];

    strbuf_reset(&p->in);
    strbuf_reset(&p->out);
    (void)shutdown(p->to, SHUT_WR);
    p->closed = true;
}
