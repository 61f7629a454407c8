/* Reading the wire format of AMQP 0-9-1 (section 4.2): big-endian numbers, short and long strings. Each call answers
 * false, and moves nothing, where too little is left; so no length that a peer wrote can lead outside the bytes. */
#ifndef BROKER_WIRE_H
#define BROKER_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/strbuf.h"

#define WIRE_SHORT_MAX 255 /* bytes in a short string: names, keys, message ids */

struct wire {
    const unsigned char *at, *end;
};

static inline struct wire wire_of(struct slice s)
{
    return (struct wire){(const unsigned char *)s.ptr, (const unsigned char *)s.ptr + s.len};
}

static inline bool wire_number(struct wire *w, unsigned size, uint64_t *out)
{
    uint64_t n = 0;

    if ((size_t)(w->end - w->at) < size)
        return false;
    for (unsigned i = 0; i < size; i++)
        n = n << 8 | *w->at++;
    *out = n;
    return true;
}

static inline bool wire_bytes(struct wire *w, uint64_t size, struct slice *out)
{
    if ((uint64_t)(w->end - w->at) < size)
        return false;
    *out = (struct slice){(const char *)w->at, (size_t)size};
    w->at += size;
    return true;
}

/* size_bytes: 1 for a short string, 4 for a long string, table or array. */
static inline bool wire_string(struct wire *w, unsigned size_bytes, struct slice *out)
{
    struct wire start = *w;
    uint64_t size;

    if (wire_number(w, size_bytes, &size) && wire_bytes(w, size, out))
        return true;
    *w = start;
    return false;
}

#endif
