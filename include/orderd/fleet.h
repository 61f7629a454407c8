/* The fleet's keeper: writes this replica's row (replica.h) about once a second, with what was done in the last
 * seconds, and deletes it when all that was in hand is finished. One thread and one connection to the database, whose
 * loss does no more than let the row grow old: who reads it then takes the replica as lost until it is written again.
 * After a crash the row stays, lost, until survey.keep_lost is over or the same replica is back. */
#ifndef ORDERD_FLEET_H
#define ORDERD_FLEET_H

#include "orderd/keeper.h"

extern const struct keeper_kind fleet_keeper;

#endif
