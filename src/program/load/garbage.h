/* Bodies that no orderd may make an order of. Each number gives one body, always the same, so that what was not
 * confirmed is published again as it was. Pure. */
#ifndef ORDERD_LOAD_GARBAGE_H
#define ORDERD_LOAD_GARBAGE_H

#include <stddef.h>
#include <stdint.h>
#include "orderd/order.h"
#include "orderd/strbuf.h"

/* How many kinds of malformed bodies there are; number n gives kind n % GARBAGE_KINDS. */
enum garbage_kind {
#define X(kind, name) GARBAGE_##kind,
#include "orderd/tbl/load_garbage.h"
#undef X
    GARBAGE_KINDS
};

const char *garbage_name(enum garbage_kind kind);

/* Appends a malformed body made from `order`, which would be valid by itself. */
void garbage_malformed(uint64_t number, const struct order *order, struct strbuf *out);

/* Appends the same order padded to over ORDER_BODY_MAX. */
void garbage_oversized(uint64_t number, const struct order *order, struct strbuf *out);

#endif
