#include "orderd/lane.h"

#include "orderd/check.h"

static const struct {
    const char *name;
    bool ready;
} states[] = {
#define X(state, name, ready) [LANE_##state] = {name, ready},
#include "orderd/tbl/lane_state.h"
#undef X
};

const char *lane_state_name(enum lane_state state)
{
    CHECK(state < LANE_STATE_COUNT);
    return states[state].name;
}

bool lane_state_ready(enum lane_state state)
{
    CHECK(state < LANE_STATE_COUNT);
    return states[state].ready;
}
