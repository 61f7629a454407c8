/* What the files of flow/calendar share; nobody else includes it.
 *
 *   calendar.c   the thread: connect, turn after turn; moves by time
 *   told.c       compares Redis with the rows, and mends */
#ifndef ORDERD_CALENDAR_PRIVATE_H
#define ORDERD_CALENDAR_PRIVATE_H

#include "orderd/activity.h"
#include "orderd/backoff.h"
#include "orderd/calendar.h"
#include "orderd/db.h"
#include "orderd/kv.h"

struct calendar {
    struct keeper base;
    struct db *db;
    struct kv *kv;
    struct backoff backoff;
    int64_t now;          /* the database clock of this turn */
    int64_t next_check;   /* monotonic ms: when all shards are looked at again */
    struct activity *all; /* what is scheduled, running or ended, as this turn read it */
    size_t count, room;
};

/* Compares what is announced with the rows of this turn, and all shards now and then; mends what differs. */
ORDERD_MUST_CHECK bool calendar_tell(struct calendar *calendar, struct error *err);

#endif
