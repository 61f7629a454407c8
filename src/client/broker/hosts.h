/* Which host of broker.hosts is tried, and which before which. What is known of a host is known to the whole process,
 * so that a dead one costs its time-out once and not for each connection. Any thread. */
#ifndef BROKER_HOSTS_H
#define BROKER_HOSTS_H

#include <stddef.h>
#include <stdint.h>
#include "orderd/conf.h"
#include "orderd/error.h"

#define HOSTS_MAX 16 /* as the row of broker.hosts says */

/* How long a host that failed is tried after the others. Then one connection tries it in its turn again. */
#define HOSTS_AVOID_MS 15000

struct hosts {
    struct conf_node list[HOSTS_MAX];
    unsigned count;
};

/* What is known of one host: when it failed; 0: it did not, or has been reached since. */
struct hosts_mark {
    int64_t failed_ms;
};

/* Pure: order[] becomes the order to try `count` hosts in. First those that are well, from the start-th of them on and
 * around, so that connections spread over all that are there; then those that failed, whose failure is the longest ago
 * first. */
void hosts_arrange(const struct hosts_mark *marks, unsigned count, uint64_t start, int64_t now_ms, unsigned *order);

/* The hosts of a configuration, in the order in which this connection tries them; broker.host alone where there is no
 * list. Each call begins with another host. */
void hosts_take(const struct conf *conf, struct hosts *out);

/* What came of it, then or when a connection was lost; told in the log where it is new. Of a list only. */
void hosts_failed(const struct conf_node *host, const struct error *why);
void hosts_reached(const struct conf_node *host);

#endif
