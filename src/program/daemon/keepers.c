/* The keepers of this process: every kind is a row. */
#include "daemon.h"

#include "orderd/calendar.h"
#include "orderd/fleet.h"
#include "orderd/survey_keeper.h"
#include "orderd/sweep.h"
#include "orderd/walk.h"

static const struct keeper_kind *const kinds[] = {
    &calendar_keeper, &sweep_keeper, &walk_keeper, &fleet_keeper, &survey_keeper,
};

#define KINDS (sizeof kinds / sizeof *kinds)

_Static_assert(KINDS <= DAEMON_KEEPERS_MAX, "struct daemon has no room for all keepers");

void keepers_start(struct daemon *d)
{
    view_lock(d);
    for (size_t i = 0; i < KINDS; i++)
        d->keepers[i] = keeper_start(kinds[i], &d->shared);
    view_unlock(d);
}

bool keepers_stopped(const struct daemon *d)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (d->keepers[i] && keeper_state(d->keepers[i]) != LANE_STOPPED)
            return false;
    }
    return true;
}

void keepers_join(struct daemon *d)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct keeper *keeper = d->keepers[i];

        view_lock(d);
        d->keepers[i] = NULL;
        view_unlock(d);
        keeper_join(&keeper);
    }
}
