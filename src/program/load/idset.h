/* A set of order numbers: each text gets a dense index, 0, 1, 2 ... in the order of first sight, so that what is known
 * of it can lie in plain arrays. About 36 bytes for one of our own numbers and no allocation of its own: a million fit
 * into 36 MB. One owner. */
#ifndef ORDERD_LOAD_IDSET_H
#define ORDERD_LOAD_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/strbuf.h"

#define IDSET_NONE UINT32_MAX

struct idset {
    char *text; /* all of them, each ended by NUL */
    size_t text_len, text_cap;
    uint32_t *offsets; /* by index */
    size_t count, cap;
    uint32_t *slots; /* open addressing; index + 1, 0: free */
    size_t slot_count;
};

/* A zeroed struct is an empty set. */
void idset_release(struct idset *set);

/* The index of id; it is added where it is new, and *fresh (where not NULL) tells so. Foreign bytes may be
 * given; they end at the first NUL. */
uint32_t idset_add(struct idset *set, struct slice id, bool *fresh);

/* IDSET_NONE where it is not there. */
uint32_t idset_find(const struct idset *set, struct slice id);

/* Valid until the next idset_add. */
const char *idset_text(const struct idset *set, uint32_t index);

#endif
