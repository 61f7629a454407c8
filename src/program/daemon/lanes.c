/* The consuming lanes of this process: every kind is a row, and from there on a lane is a lane. */
#include "daemon.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "orderd/check.h"
#include "orderd/create_lane.h"
#include "orderd/payment_lane.h"
#include "orderd/release_lane.h"

static const struct lane_kind *const kinds[] = {
    &create_lane,
    &payment_lane,
    &cancel_lane,
    &release_lane,
};

#define KINDS (sizeof kinds / sizeof *kinds)

/* One more for each create queue that is not used any more and may hold something. */
static unsigned wanted(const struct daemon *d, const struct lane_kind *kind, const struct conf *conf)
{
    unsigned lanes = lane_wanted(kind, conf), used = (unsigned)conf->create_queues;

    if (kind == &create_lane && d->shared.create_queues > used)
        lanes += d->shared.create_queues - used;
    return lanes;
}

void lanes_start(struct daemon *d, const struct conf *conf)
{
    unsigned most = 0;

    for (size_t k = 0; k < KINDS; k++)
        most += wanted(d, kinds[k], conf);
    view_lock(d);
    d->lanes = check_calloc(most, sizeof *d->lanes);
    for (size_t k = 0; k < KINDS; k++) {
        for (unsigned i = 0; i < wanted(d, kinds[k], conf); i++)
            d->lanes[d->lane_count++] = lane_start(kinds[k], &d->shared, i);
    }
    view_unlock(d);
}

unsigned lanes_ready(const struct daemon *d)
{
    unsigned ready = 0;

    for (unsigned i = 0; i < d->lane_count; i++)
        ready += lane_state_ready(lane_state_of(d->lanes[i]));
    return ready;
}

void lanes_ask_stop(struct daemon *d)
{
    uint64_t one = 1;

    atomic_store_explicit(&d->shared.stop, true, memory_order_release);
    CHECK(write(d->shared.stop_fd, &one, sizeof one) == (ssize_t)sizeof one);
}

bool lanes_stopped(const struct daemon *d)
{
    for (unsigned i = 0; i < d->lane_count; i++) {
        if (lane_state_of(d->lanes[i]) != LANE_STOPPED)
            return false;
    }
    return true;
}

void lanes_join(struct daemon *d)
{
    unsigned count = d->lane_count;

    view_lock(d);
    d->lane_count = 0;
    view_unlock(d);
    while (count > 0)
        lane_join(&d->lanes[--count]);
    free(d->lanes);
    d->lanes = NULL;
}
