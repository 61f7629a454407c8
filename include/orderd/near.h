/* The word that somebody probably meant. Pure; no memory is taken. */
#ifndef ORDERD_NEAR_H
#define ORDERD_NEAR_H

#include <stddef.h>

struct near {
    const char *word; /* what was written */
    const char *best; /* the nearest candidate so far; NULL: none is near */
    size_t distance;
};

/* word must outlive n. */
void near_begin(struct near *n, const char *word);

/* Near is a candidate of which at most a third of the letters (but one at least) are changed, missing or too many; of
 * two equally near ones the first is kept. Words and candidates of more than 64 bytes are near to nothing. */
void near_try(struct near *n, const char *candidate);

#endif
