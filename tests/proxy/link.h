/* Connections through the fault proxy, and what is done to them. A route is one server and the port that stands for it;
 * a link is one client's connection to it. Bytes go on in whole frames, so that what is lost or cut is known. One
 * thread; nothing here blocks but the connect to a server on loopback. */
#ifndef ORDERD_PROXY_LINK_H
#define ORDERD_PROXY_LINK_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

struct route {
    const char *name, *host, *port; /* the server */
    enum protocol protocol;
    int listener;

    bool refuses;               /* new connections are reset */
    bool stalled[WAY_COUNT];    /* nothing goes on */
    int64_t rate;               /* bytes a second each way of each link; 0: as fast as it goes */
    int drop, split[WAY_COUNT]; /* so many answers are still to be lost, frames still to be cut in the middle */

    int64_t links, cut, dropped, splits, answers; /* so far */
};

struct pipe { /* one way of a link */
    int from, to;
    struct strbuf in, out;       /* not a whole frame yet; may go on */
    int64_t credit, credited_at; /* bytes that may go on under `rate`; milliseconds of the monotonic clock */
    bool ended, closed;          /* no more will come; and that was passed on, or what comes is thrown away */
};

struct link {
    struct route *route;
    struct wire wire;
    struct pipe pipe[WAY_COUNT];
    bool last; /* it ends as soon as what is in `out` is gone */
    struct link *next;
};

/* Takes the client that waits at the route's port, and connects it. NULL: refused, or the server is not there. */
struct link *link_open(struct route *route);

/* Resets both sides and frees. */
void link_cut(struct link **link);

/* What to wait for: the client's side into fds[0], the server's into fds[1]. */
void link_want(const struct link *l, struct pollfd fds[WAY_COUNT]);

/* Moves what can be moved. false: it has ended, and must be freed by link_cut. */
bool link_move(struct link *l, const struct pollfd fds[WAY_COUNT]);

/* One side is told that no more comes from the other, which goes on sending: the client for WAY_DOWN. */
void link_half_close(struct link *l, enum way way);

#endif
