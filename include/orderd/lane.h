/* A lane is one thread with connections of its own that works on one queue: what lanes of every kind share, and how
 * they are started, watched and joined. How to write a kind: lane_engine.h. */
#ifndef ORDERD_LANE_H
#define ORDERD_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
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
struct survey_board;

/* What the lanes of a process share. Written by the main thread only. */
struct lane_shared {
    _Atomic(const struct conf *) conf; /* the snapshot in force; old ones stay valid until all lanes have ended */
    const char *instance;              /* "" or the replica's name */
    struct relay *relay;               /* takes over what they leave in the local message table; may be NULL */
    _Atomic unsigned create_queues; /* create queues that there are (create_queue_count); below create.queues: as many
                                       as that. The lanes that empty those beyond count down */
    struct survey_board *board;     /* how the whole sale stands; may be NULL */
    atomic_bool stop;               /* take nothing new, finish, end */
    int stop_fd;                    /* an eventfd that becomes readable when stop is set */
    atomic_bool quiet;              /* take nothing new, finish, wait until it is false again */
};

struct lane;
struct lane_kind;

/* How many lanes of this kind the configuration wants in one process. */
unsigned lane_wanted(const struct lane_kind *kind, const struct conf *conf);

/* Starts the thread. index from 0, below 1000; names the thread "<kind>.<index>". */
struct lane *lane_start(const struct lane_kind *kind, struct lane_shared *shared, unsigned index);

enum lane_state lane_state_of(const struct lane *lane);

/* Its state with the reason; its name ("create.0"), valid as long as the lane. */
struct lane_condition;
void lane_condition_of(struct lane *lane, struct lane_condition *out);
const char *lane_name_of(const struct lane *lane);

/* When the lane last went round its loop or waited for something by plan, in monotonic ms. A lane whose servers answer
 * or are away stays under about mysql.read_timeout + broker.call_timeout. */
int64_t lane_beat_of(const struct lane *lane);

/* Waits for the thread to end (see lane_shared.stop) and frees it. */
void lane_join(struct lane **lane);

#endif
