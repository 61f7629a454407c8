/* The policy, pure: what becomes of an order with this reason after so many tries (DESIGN section 6). */
#include "fate.h"

enum fate fate_of(enum reason reason, int64_t attempt, size_t retries)
{
    enum fate fate = lane_fate(reason, attempt, retries);

    /* Without an activity there is no stock to give back and no row to remember it by; the right message, or the
     * activity, may still come. */
    if (fate == FATE_DEAD && reason_what(reason) == REASON_WHAT_RETRY && reason != REASON_ACTIVITY_UNKNOWN)
        return FATE_DECIDE;
    return fate;
}
