/* --limit of the commands that list. */
#ifndef ORDERD_CTL_LIMIT_H
#define ORDERD_CTL_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limit {
    int64_t most; /* 0: all */
    int64_t listed;
    bool more; /* there are rows past the limit */
};

/* Counts one row. false: it is past the limit, and only tells that there are more. */
bool limit_take(struct limit *limit);

/* How many rows to ask for, at most page: one more than may be listed, which tells whether there are more. */
size_t limit_page(const struct limit *limit, size_t page);

#endif
