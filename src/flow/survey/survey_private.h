/* What the files of flow/survey share; nobody else includes it.
 *
 *   survey_keeper.c   the thread: elected or not, turn after turn
 *   look.c            what the surveyor reads of fleet, letters and messages; the connections
 *   sales.c           the activities: shards, orders, drift
 *   queues.c          the broker
 *   fleet.c           this replica's own row, a keeper of its own */
#ifndef ORDERD_SURVEY_PRIVATE_H
#define ORDERD_SURVEY_PRIVATE_H

#include "orderd/activity.h"
#include "orderd/backoff.h"
#include "orderd/broker.h"
#include "orderd/db.h"
#include "orderd/kv.h"
#include "orderd/survey.h"
#include "orderd/survey_keeper.h"

/* What is remembered of an activity from turn to turn. */
struct sale {
    struct activity activity;
    bool listed; /* it is unsettled still */
    struct survey_activity entry;
    struct survey_trail taken, left;
    int64_t stock_next, count_next; /* monotonic ms: when it is read again */
    int64_t caps_differ_since;      /* monotonic ms; 0: they do not */
    int64_t beyond;                 /* of the last drift; SURVEY_UNKNOWN */
    int64_t walk_late_ms;           /* see survey_walk_late_ms */
};

/* One server as this thread sees it. */
struct line {
    struct backoff backoff;
    int64_t next_try; /* monotonic ms */
};

struct surveyor {
    struct keeper base;
    struct db *db;
    struct kv *kv;
    struct broker *broker;
    struct line lines[SURVEY_DEPENDENCY_COUNT];
    bool elected;
    int64_t next, list_next, letters_next, clean_next; /* monotonic ms */
    int64_t unsettled_until; /* monotonic ms: until then old messages may be in the hands of lanes */
    int64_t outage_at;       /* monotonic ms: when a server was last seen to be away; 0: never */
    int64_t now;             /* the clock of the database, as of the last list */
    int64_t ahead_ms;        /* of this machine's clock is that of the database, as far as is known */
    struct sale **sales;
    size_t sale_count;
    struct replica fleet[SURVEY_REPLICAS_MAX]; /* being read */
    struct survey survey;
};

/* Tells of a server: up, or away for the reason err. */
void surveyor_note(struct surveyor *s, enum survey_dependency which, const struct error *err);

/* Whether to try to connect now. */
bool surveyor_may_try(const struct surveyor *s, enum survey_dependency which);

/* MySQL failed: the connection is given up, and with it the part of the surveyor; what it told is unknown from now on.
 */
void surveyor_lose_db(struct surveyor *s, const struct error *err);

/* How long a message may take until the walk has sent it again: what is older is not on its way. */
int64_t surveyor_window_ms(const struct conf *conf);

/* Wall ms by the clock of the database, which is the same whoever surveys, as long as it has been read once. */
int64_t surveyor_wall_ms(const struct surveyor *s);

/* From now on, for a window, lanes may have old messages in hand that no queue shows. */
void surveyor_doubt(struct surveyor *s);

/* Reads all of it into s->survey, as far as the servers are there; s->db may be NULL. */
void surveyor_look(struct surveyor *s);

/* The unsettled activities, from MySQL. */
ORDERD_MUST_CHECK bool sales_list(struct surveyor *s, struct error *err);

/* Their shards and, where s->db is there, their orders; then their entries in s->survey. */
void sales_look(struct surveyor *s);
void sales_forget(struct surveyor *s); /* nothing of MySQL is known any more */
void sales_free(struct surveyor *s);

void queues_look(struct surveyor *s);
void queues_pump(struct surveyor *s); /* keeps the connection alive between turns */

#endif
