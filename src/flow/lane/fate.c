#include "orderd/lane_engine.h"

enum fate lane_fate(enum reason reason, int64_t attempt, size_t retries)
{
    switch (reason_what(reason)) {
    case REASON_WHAT_SETTLED:
        return FATE_DONE;
    case REASON_WHAT_DEAD:
        return FATE_DEAD;
    case REASON_WHAT_TERMINAL:
        return FATE_DECIDE;
    case REASON_WHAT_RETRY:
        return attempt < (int64_t)retries ? FATE_RETRY : FATE_DEAD;
    case REASON_WHAT_NONE:
        break;
    }
    return FATE_OPEN;
}
