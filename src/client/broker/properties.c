#include "properties.h"

#include <stddef.h>
#include <string.h>

#include "wire.h"

/* The property list: each is present where its bit is set, in this order. member < 0: stepped over. */
enum shape { SHAPE_SHORT, SHAPE_TABLE, SHAPE_OCTET, SHAPE_TIME };

#define SKIP       (-1)
#define AT(member) ((int)offsetof(struct properties, member))

static const struct {
    unsigned bit;
    enum shape shape;
    int member;
} layout[] = {
    {15, SHAPE_SHORT, AT(content_type)},
    {14, SHAPE_SHORT, SKIP}, /* content_encoding */
    {13, SHAPE_TABLE, AT(headers)},
    {12, SHAPE_OCTET, SKIP}, /* delivery_mode */
    {11, SHAPE_OCTET, SKIP}, /* priority */
    {10, SHAPE_SHORT, AT(correlation_id)},
    {9, SHAPE_SHORT, SKIP}, /* reply_to */
    {8, SHAPE_SHORT, SKIP}, /* expiration */
    {7, SHAPE_SHORT, AT(message_id)},
    {6, SHAPE_TIME, AT(timestamp)}, /* what follows is of no interest */
};

static bool value(struct wire *w, enum shape shape, void *member)
{
    struct slice text;
    uint64_t n;

    switch (shape) {
    case SHAPE_OCTET:
        return wire_number(w, 1, &n);
    case SHAPE_TIME:
        return wire_number(w, 8, member);
    default:
        if (!wire_string(w, shape == SHAPE_TABLE ? 4 : 1, &text))
            return false;
        if (member)
            memcpy(member, &text, sizeof text);
        return true;
    }
}

bool properties_read(struct slice encoded, struct properties *out)
{
    struct wire w = wire_of(encoded);
    uint64_t flags, more;

    memset(out, 0, sizeof *out);
    if (!wire_number(&w, 2, &flags))
        return false;
    for (more = flags; more & 1;) { /* continued flag words carry nothing that is defined */
        if (!wire_number(&w, 2, &more))
            return false;
    }
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++) {
        void *member = layout[i].member == SKIP ? NULL : (char *)out + layout[i].member;

        if ((flags >> layout[i].bit & 1) && !value(&w, layout[i].shape, member))
            return false;
    }
    return true;
}
