#include "orderd/activity_restock.h"

#include "orderd/check.h"

static int64_t at_level(int64_t level, int64_t lo, int64_t hi)
{
    return level < lo ? lo : level > hi ? hi : level;
}

static int64_t sum_at(int64_t level, const int64_t *lo, const int64_t *hi, int32_t count)
{
    int64_t sum = 0;

    for (int32_t i = 0; i < count; i++)
        sum += at_level(level, lo[i], hi[i]);
    return sum;
}

/* Like water in vessels of different height: the highest level that takes no more than there is. */
static int64_t level_of(int64_t total, const int64_t *lo, const int64_t *hi, int32_t count)
{
    int64_t below = 0, above = total + 1; /* sum_at(below) <= total, unless the floors alone are more */

    while (above - below > 1) {
        int64_t middle = below + (above - below) / 2;

        if (sum_at(middle, lo, hi, count) <= total)
            below = middle;
        else
            above = middle;
    }
    return below;
}

int64_t activity_split(int64_t total, const int64_t *lo, const int64_t *hi, int32_t count, int64_t *out)
{
    int64_t level = level_of(total, lo, hi, count), left, sum = 0;

    CHECK(total >= 0 && count >= 1);
    left = total - sum_at(level, lo, hi, count);
    for (int32_t i = 0; i < count; i++) {
        out[i] = at_level(level, lo[i], hi[i]);
        if (left > 0 && at_level(level + 1, lo[i], hi[i]) > out[i]) {
            out[i]++;
            left--;
        }
        sum += out[i];
    }
    return sum;
}
