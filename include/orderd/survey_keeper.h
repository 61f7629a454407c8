/* The survey's keeper: puts the survey (survey.h) on the board of its process, every survey.interval.
 *
 * One process surveys, the others read what it keeps in the database: so that twenty replicas cost the servers no more
 * than one, and all show the same. Whoever gets the lock of the database is the surveyor until its connection ends.
 * Where MySQL is away nobody can be elected, and each process reads for itself what Redis and RabbitMQ say.
 *
 * It never touches a lane: one thread, connections of its own, each opened again with back-off. What takes long is done
 * less often: the shards of an activity are asked again after ten times as long as they took to answer, the recent
 * orders of all activities are counted again after twenty times. Orders that were due more than ten minutes ago are
 * counted once, slice by slice, with rests of fifty times as long as a slice took, and remembered (survey_past.h); then
 * again from the beginning, with rests of two hundred times: so the survey costs MySQL no more than a fourteenth of one
 * core, and that only in a sale where the recent orders are many; the past, however long, takes a fiftieth.
 *
 * Paid and closed orders are told of when the past of their activity was counted: in well under a second where there
 * are few, in minutes where there are millions. Until then, and what is made of them, drift too, is unknown. An order
 * of the past that somebody changed by hand is seen when the past is counted again. Before MySQL is said to be off,
 * that is done at once: what is told was counted later than it was first suspected.
 *
 * No statement takes longer than half of mysql.read_timeout: where recent orders cannot be counted in that time (some
 * ten million), activities are told of without them. */
#ifndef ORDERD_SURVEY_KEEPER_H
#define ORDERD_SURVEY_KEEPER_H

#include "orderd/keeper.h"

extern const struct keeper_kind survey_keeper;

#endif
