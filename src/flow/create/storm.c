/* Whether it is the messages or the database that is ill. One message that is refused is at fault itself; many
 * different ones with nothing created in between tell of the database, and no sale is to be dead-lettered for that. */
#include "lane.h"

#include <string.h>

#include "orderd/clock.h"

/* What was fine so recently speaks for the database. */
#define FINE_MS 10000

/* The bad ones of a batch are what is left when its good ones, often mere copies after a crash, are through: so many
 * more must fail as were fine just before. */
static unsigned most(const struct create_lane *lane)
{
    int64_t fine = lane->fine.at + 2 * FINE_MS > clock_mono_ms() ? lane->fine.count + lane->fine.before : 0;

    return fine < STORM_MOST - STORM_AFTER ? STORM_AFTER + (unsigned)fine : STORM_MOST;
}

void storm_note_fine(struct create_lane *lane, bool created)
{
    int64_t now = clock_mono_ms();

    if (now >= lane->fine.at + FINE_MS) {
        lane->fine.before = now < lane->fine.at + 2 * FINE_MS ? lane->fine.count : 0;
        lane->fine.count = 0;
        lane->fine.at = now;
    }
    lane->fine.count++;
    if (created) {
        lane->refused_count = 0;
        lane->storm = false;
    }
}

/* Each order counts once, and only when it is new: one that comes from a retry queue had its part in an earlier count,
 * and its failing again says that it is at fault. */
bool storm_note_refused(struct create_lane *lane, const struct item *item)
{
    if (lane->storm || item->attempt > 0)
        return lane->storm;
    for (unsigned i = 0; i < lane->refused_count; i++) {
        if (strcmp(lane->refused[i], item->order.order_no) == 0)
            return false;
    }
    memcpy(lane->refused[lane->refused_count++], item->order.order_no, sizeof item->order.order_no);
    lane->storm = lane->refused_count >= most(lane);
    if (lane->storm)
        lane->refused_count = 0;
    return lane->storm;
}
