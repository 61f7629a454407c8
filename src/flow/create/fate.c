/* The policy, pure: what becomes of a message with this reason after so many tries (DESIGN section 6). */
#include "fate.h"

enum fate fate_of(enum reason reason, int64_t attempt, size_t retries)
{
    switch (reason_what(reason)) {
    case REASON_WHAT_SETTLED:
        return FATE_DONE;
    case REASON_WHAT_DEAD:
        return FATE_DEAD;
    case REASON_WHAT_TERMINAL:
        return FATE_DECIDE;
    case REASON_WHAT_RETRY:
        if (attempt < (int64_t)retries)
            return FATE_RETRY;
        /* Without an activity there is no stock to give back and no row to remember it by; the right message, or the
         * activity, may still come. */
        return reason == REASON_ACTIVITY_UNKNOWN ? FATE_DEAD : FATE_DECIDE;
    case REASON_WHAT_NONE:
        break;
    }
    return FATE_OPEN;
}
