/* A message's properties (AMQP 0-9-1, class basic), read from their encoded bytes without copying. Pure; any thread. */
#ifndef BROKER_PROPERTIES_H
#define BROKER_PROPERTIES_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/strbuf.h"

struct properties {
    struct slice content_type, correlation_id, message_id; /* empty where absent */
    struct slice headers;                                  /* the encoded entries */
    uint64_t timestamp;
};

/* false where the bytes are not a property list. */
bool properties_read(struct slice encoded, struct properties *out);

#endif
