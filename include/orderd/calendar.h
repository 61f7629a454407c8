/* The calendar: sales begin and end by time, and Redis and the gates are told what the database says of each activity.
 * One thread per process with connections of its own to the database and to Redis; several processes do no harm, since
 * each step compares first: a move is a conditional UPDATE by the database clock, a shard that agrees is left alone,
 * and a change is announced once (stock_announce). What a command or a crash left undone in Redis, or what Redis lost,
 * is done here within activity.calendar_interval of both servers being there:
 *
 *   moved in MySQL, Redis not told     the announced state differs: all shards are set, then it is announced
 *   shards told, gates not             the same; no shard changes
 *   the hash or a TTL lost             announced again
 *   one shard thrown back              found by the check of all shards every 30 s
 *   shards lost, or paused for long    an alarm: only `orderctl activity rebuild` brings them back */
#ifndef ORDERD_CALENDAR_H
#define ORDERD_CALENDAR_H

#include "orderd/keeper.h"

extern const struct keeper_kind calendar_keeper;

#endif
