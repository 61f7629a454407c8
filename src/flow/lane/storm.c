/* Whether it is the messages or the database that is ill. One message that is refused is at fault itself; many
 * different ones with nothing created in between tell of the database, and no sale is to be dead-lettered for that. */
#include "engine.h"

#include <stdio.h>
#include <string.h>

#include "orderd/clock.h"

/* What was fine so recently speaks for the database. */
#define FINE_MS 10000

/* The bad ones of a batch are what is left when its good ones, often mere copies after a crash, are through: so many
 * more must fail as were fine just before. */
static unsigned most(const struct lane_storm *storm)
{
    int64_t fine = storm->fine_at + 2 * FINE_MS > clock_mono_ms() ? storm->fine + storm->fine_before : 0;

    return fine < LANE_STORM_MOST - LANE_STORM_AFTER ? LANE_STORM_AFTER + (unsigned)fine : LANE_STORM_MOST;
}

void lane_storm_fine(struct lane *lane, bool proof)
{
    struct lane_storm *storm = &lane->storm;
    int64_t now = clock_mono_ms();

    if (now >= storm->fine_at + FINE_MS) {
        storm->fine_before = now < storm->fine_at + 2 * FINE_MS ? storm->fine : 0;
        storm->fine = 0;
        storm->fine_at = now;
    }
    storm->fine++;
    if (proof) {
        storm->refused_count = 0;
        storm->on = false;
    }
}

/* Each message counts once, and only when it is new: one that comes from a retry queue had its part in an earlier
 * count, and its failing again says that it is at fault. */
bool lane_storm_refused(struct lane *lane, const struct lane_item *item, const char *key)
{
    struct lane_storm *storm = &lane->storm;

    if (storm->on || item->attempt > 0)
        return storm->on;
    for (unsigned i = 0; i < storm->refused_count; i++) {
        if (strcmp(storm->refused[i], key) == 0)
            return false;
    }
    snprintf(storm->refused[storm->refused_count++], LANE_STORM_KEY + 1, "%s", key);
    storm->on = storm->refused_count >= most(storm);
    if (storm->on)
        storm->refused_count = 0;
    return storm->on;
}
