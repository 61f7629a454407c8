/* A lane is one thread with connections of its own: what every kind of lane shares and tells about itself. */
#ifndef ORDERD_LANE_H
#define ORDERD_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include "orderd/conf.h"

enum lane_state {
#define X(state, name, ready) LANE_##state,
#include "orderd/tbl/lane_state.h"
#undef X
    LANE_STATE_COUNT
};

const char *lane_state_name(enum lane_state state);
bool lane_state_ready(enum lane_state state);

struct relay;

/* What the lanes of a process share. Written by the main thread only. */
struct lane_shared {
    _Atomic(const struct conf *) conf; /* the snapshot in force; old ones stay valid until all lanes have ended */
    const char *instance;              /* "" or the replica's name */
    struct relay *relay;               /* takes over what they leave in the local message table; may be NULL */
    atomic_bool stop;                  /* take nothing new, finish, end */
    int stop_fd;                       /* an eventfd that becomes readable when stop is set */
};

#endif
