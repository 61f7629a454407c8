/* Looks at a run from outside while it settles: rows of the activity, messages that wait, dead letters. Own
 * connections, opened again by themselves. */
#ifndef ORDERD_LOAD_WATCH_H
#define ORDERD_LOAD_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/broker.h"
#include "orderd/conf.h"
#include "orderd/db.h"
#include "progress.h"

struct watch {
    const struct conf *conf;
    int64_t activity;
    struct db *db;
    struct broker *broker;
    unsigned create_queues; /* that there are */
};

struct watch_state {
    int64_t rows;    /* of the activity, in any state */
    int64_t waiting; /* ready in the create queues; what a lane holds unacknowledged does not show */
    int64_t drained; /* deaths that `orderctl dlq drain` has moved into the table */
    int64_t dead;    /* with those in order.dead */
};

void watch_open(struct watch *watch, const struct conf *conf, int64_t activity);
void watch_close(struct watch *watch);

/* After a failure the next call connects anew. */
ORDERD_MUST_CHECK bool watch_read(struct watch *watch, struct watch_state *state, struct error *err);

struct watch_goal {
    struct watch_state before; /* when the run began */
    int64_t rows, dead;        /* to come on top of that */
    int64_t wait_ms, settle_ms;
};

/* Until the goal is reached and nothing waits (true), or wait_ms are over, or nothing has changed for settle_ms (false:
 * the verification will tell what is missing). *last is the last state that was read. */
bool watch_until(struct watch *watch, const struct watch_goal *goal, struct progress *progress,
                 struct watch_state *last);

#endif
