#include "share.h"

bool share_falls(double *owed, double percent)
{
    *owed += percent / 100;
    if (*owed < 1 - 1e-9)
        return false;
    *owed -= 1;
    return true;
}

/* The one that is owed most: so none is ever more than one behind. */
size_t share_choose(double *owed, const double *percents, size_t count)
{
    size_t most = 0;

    for (size_t i = 0; i < count; i++) {
        owed[i] += percents[i] / 100;
        if (owed[i] > owed[most])
            most = i;
    }
    owed[most] -= 1;
    return most;
}
