#include "orderd/near.h"

#include <stdint.h>
#include <string.h>

#define WORD_LIMIT 64

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Levenshtein's distance, one row of the matrix at a time. */
static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_LIMIT + 1], width = strlen(b);

    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t changed = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = least(row[j] + 1, row[j - 1] + 1, changed);
        }
    }
    return row[width];
}

void near_begin(struct near *n, const char *word)
{
    *n = (struct near){word, NULL, SIZE_MAX};
}

void near_try(struct near *n, const char *candidate)
{
    size_t d;

    if (strlen(n->word) > WORD_LIMIT || strlen(candidate) > WORD_LIMIT)
        return;
    d = distance(n->word, candidate);
    if (d >= n->distance || d > (strlen(candidate) + 2) / 3)
        return;
    n->distance = d;
    n->best = candidate;
}
