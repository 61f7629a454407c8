/* What the files of flow/survey share; nobody else includes it.
 *
 *   survey_keeper.c   the thread: elected or not, turn after turn
 *   look.c            what the surveyor reads of fleet, letters and messages; the connections
 *   sales.c           the activities: which, and their shards
 *   rows.c            their orders, drift
 *   past.c            when the orders that are long past are counted
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
#include "orderd/survey_past.h"

/* What is remembered of an activity from turn to turn. */
struct sale {
    struct activity activity;
    bool listed; /* it is unsettled still */
    struct survey_activity entry;
    struct survey_trail taken, left;
    int64_t stock_next;        /* monotonic ms: when they are read again */
    int64_t caps_differ_since; /* monotonic ms; 0: they do not */
    int64_t beyond;            /* of the last drift; SURVEY_UNKNOWN */
    int64_t walk_late_ms;      /* see survey_walk_late_ms */
    int64_t doubt;             /* the number of the recount that tells whether MySQL is off; 0: it is not */
};

/* What was read of a sale in one turn. */
struct sight {
    bool looked;
    int64_t now;               /* monotonic ms, when it began */
    bool seen, counted, again; /* which of the next three are there */
    struct survey_stock before;
    struct survey_rows rows;
    bool sound; /* rows may be compared with the rest: see past_trusts */
    struct survey_stock after;
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
    int64_t count_next, step_next, again_next; /* monotonic ms: orders are counted; a slice; the past again */
    struct survey_past past, again;            /* again: being counted once more, where it is `recounting` */
    int64_t recounts_begun, recounts_done;     /* done: the number of the last one that came to its end */
    bool recounting, hurried, hurry;           /* it is hurried; the next one is to begin at once, and will be */
    bool new_here;                             /* was elected since orders were counted last */
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

/* What takes little is done in every turn; else the rest until the next time, in ms. */
int64_t surveyor_rest(const struct surveyor *s, int64_t took_ms, int64_t factor);

/* Their shards and, where s->db is there, their orders; then their entries in s->survey. */
void sales_look(struct surveyor *s);
void sales_free(struct surveyor *s);

/* false: Redis is away. */
bool sales_read_stock(struct surveyor *s, struct sale *sale, struct survey_stock *out);

/* Orders of the first `count` sales, and the shards again; s->db is lost where it fails. */
void rows_count(struct surveyor *s, struct sight *sights, size_t count);
void rows_note_taken(const struct surveyor *s, struct sale *sale, const struct sight *sight);
void rows_conclude(struct surveyor *s, struct sale *sale, const struct sight *sight);
void rows_forget(struct surveyor *s); /* nothing of MySQL is known any more */

/* Before they are counted: these sales, and no others, have a past. */
ORDERD_MUST_CHECK bool past_prepare(struct surveyor *s, size_t count, struct error *err);

/* The next slice, where it is time for it and the recent part was counted before. When to come again, monotonic ms;
 * INT64_MAX: no sooner than anyway. */
int64_t past_turn(struct surveyor *s);

/* Whether what MySQL seems to be off by is told: an old order that was changed by hand would make it so as well. It is
 * told as soon as the past was counted again from the beginning, which begins now. */
bool past_trusts(struct surveyor *s, struct sale *sale, const struct survey_rows *rows);

size_t surveyor_create_queues(const struct surveyor *s); /* the first of survey.queues */

void queues_look(struct surveyor *s);
void queues_pump(struct surveyor *s); /* keeps the connection alive between turns */

#endif
