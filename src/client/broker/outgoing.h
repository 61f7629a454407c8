/* The properties and headers that a publication goes out with. One thread. */
#ifndef BROKER_OUTGOING_H
#define BROKER_OUTGOING_H

#include "library.h"
#include "orderd/broker.h"

struct outgoing {
    amqp_basic_properties_t properties; /* point into the publication, what it copies from, and the pool */
    amqp_pool_t pool;
};

/* False (BROKER_TOO_LARGE) where a name is over 255 bytes or properties and headers do not fit into one frame: the
 * library would notice in the middle of the message. Release in either case. */
ORDERD_MUST_CHECK bool outgoing_prepare(struct outgoing *out, const struct broker_publication *p, int frame_max,
                                        struct error *err);
void outgoing_release(struct outgoing *out);

#endif
