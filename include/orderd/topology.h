/* The broker topology as one table: what exists, with which arguments, bound how. `orderctl topology apply|check` and
 * the daemon's start use the same rows. */
#ifndef ORDERD_TOPOLOGY_H
#define ORDERD_TOPOLOGY_H

#include <stdbool.h>
#include "orderd/broker.h"
#include "orderd/conf.h"
#include "orderd/error.h"

enum topology_name {
#define X(name, text) TOPOLOGY_##name,
#include "orderd/tbl/topology.h"
#undef X
    TOPOLOGY_NAME_COUNT
};

const char *topology_name(enum topology_name name);

/* "order.retry.<ms>": the name of both the fanout exchange and the delay queue of a retry delay. */
#define TOPOLOGY_RETRY_NAME_MAX 40
void topology_retry_name(int64_t delay_ms, char out[TOPOLOGY_RETRY_NAME_MAX]);

/* "order.unpaid.<ms>": the delay queue of a pay time-out; bound to the exchange `order` under its own name, it hands
 * what it kept to order.unpaid. */
void topology_unpaid_name(int64_t pay_timeout_ms, char out[TOPOLOGY_RETRY_NAME_MAX]);

/* What was found of one exchange, queue or binding. */
struct topology_finding {
    const char *kind; /* "exchange", "queue"; of apply also "binding", named "order -> order.create" */
    const char *name;
    enum broker_presence presence;
    bool created;       /* it was missing and is there now */
    const char *detail; /* the broker's own words where it differs, or may not be looked at or made; else "" */
};

typedef void (*topology_fn)(void *arg, const struct topology_finding *finding);

/* Goes over the whole topology on a connection of its own. apply: makes what is missing (never changes or deletes what
 * is there) and binds the queues. Each item is reported once; without apply no bindings, since AMQP cannot look at one.
 * false: the broker is away, or may not be asked at all. */
ORDERD_MUST_CHECK bool topology_walk(struct broker *broker, const struct conf *conf, bool apply, topology_fn on_finding,
                                     void *arg, struct error *err);

/* The same for the delay queues of these pay time-outs, which topology_walk does not know: they come with the
 * activities (activity_store_timeouts). Their exchange `order` must be there. */
ORDERD_MUST_CHECK bool topology_walk_unpaid(struct broker *broker, const struct conf *conf,
                                            const int64_t *pay_timeout_ms, size_t count, bool apply,
                                            topology_fn on_finding, void *arg, struct error *err);

/* What a broker of this version (see broker_version) and these queue types cannot promise: one call per finding.
 * certain is false for what AMQP does not show and somebody has to look up. Pure. */
typedef void (*topology_warning_fn)(void *arg, const char *sentence, bool certain);
void topology_warn(int version, const struct conf *conf, topology_warning_fn on_warning, void *arg);

#endif
