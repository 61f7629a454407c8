/* Counts by name: how many of each, in the order in which they were first met. */
#ifndef ORDERD_CTL_TALLY_H
#define ORDERD_CTL_TALLY_H

#include "orderd/strbuf.h"

struct tally; /* NULL is an empty one */

/* Answers how many of it there are now. name: any bytes. */
int64_t tally_add(struct tally **tally, struct slice name);
void tally_free(struct tally **tally);

typedef void (*tally_fn)(void *arg, struct slice name, int64_t count);
void tally_each(const struct tally *tally, tally_fn on_each, void *arg);

#endif
