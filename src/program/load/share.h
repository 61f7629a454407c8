/* Shares of a stream, exact over the whole of it and evenly spread, without chance. Pure; one owner. */
#ifndef ORDERD_LOAD_SHARE_H
#define ORDERD_LOAD_SHARE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the next of a stream falls into the share of it; *owed begins at 0. */
bool share_falls(double *owed, double percent);

/* Which of several shares the next falls into; together they are 100 percent. owed: one for each, from 0. */
size_t share_choose(double *owed, const double *percents, size_t count);

#endif
