/* The survey's keeper: puts the survey (survey.h) on the board of its process, every survey.interval.
 *
 * One process surveys, the others read what it keeps in the database: so that twenty replicas cost the servers no more
 * than one, and all show the same. Whoever gets the lock of the database is the surveyor until its connection ends.
 * Where MySQL is away nobody can be elected, and each process reads for itself what Redis and RabbitMQ say.
 *
 * It never touches a lane: one thread, connections of its own, each opened again with back-off. What takes long is done
 * less often: the shards of an activity are asked again after ten times as long as they took to answer, its orders are
 * counted again after twenty times, so that a survey of a million orders costs MySQL a twentieth of one core. No
 * statement takes longer than half of mysql.read_timeout: an activity whose orders cannot be counted in that time
 * (about eight million) is told of without them. */
#ifndef ORDERD_SURVEY_KEEPER_H
#define ORDERD_SURVEY_KEEPER_H

#include "orderd/keeper.h"

extern const struct keeper_kind survey_keeper;

#endif
