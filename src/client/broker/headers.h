/* A message's header table, read straight from its encoded bytes: nested tables and arrays are stepped over by their
 * length and never entered, so nesting costs nothing. Pure; any thread. */
#ifndef BROKER_HEADERS_H
#define BROKER_HEADERS_H

#include "orderd/broker.h"

/* Headers after this many are not shown (a republish copies them all the same). */
#define HEADERS_MAX 256

struct headers {
    struct broker_header *list; /* owned; names and texts point into the table, printed numbers behind the list */
    size_t count;
};

/* table: the encoded entries, without the length before them. What comes after a field that cannot be understood is
 * left out. */
struct headers headers_read(struct slice table);
void headers_release(struct headers *headers);

/* Whether a header belongs to the broker (x-death, x-delivery-count, ...) and must not be published again: brokers
 * before 4.0 take a copied x-death for a cycle and drop the message at its next expiry. Any case. */
bool headers_broker_owned(struct slice name);

#endif
