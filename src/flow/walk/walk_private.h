/* What the files of flow/walk share; nobody else includes it.
 *
 *   walk.c      the thread: look which activities are due, walk those that nobody else walks, wait
 *   visit.c     one activity: scan, mend, write down
 *   keep.c      the keys in Redis, until the sale is settled
 *   mend.c      what is done about the findings of one page
 *   restock.c   a restock that was cut short
 *   level.c     units between shards, where some are empty and others not; in each walk, and in between
 *   give_up.c   the terminal decision about an order that cannot be recovered
 *   memory.c    what is remembered of an activity from one walk to the next
 *   frontier.c  how far the create lanes have come */
#ifndef ORDERD_WALK_PRIVATE_H
#define ORDERD_WALK_PRIVATE_H

#include <uthash.h>

#include "orderd/activity_walk.h"
#include "orderd/backoff.h"
#include "orderd/activity_store.h"
#include "orderd/balance.h"
#include "orderd/db.h"
#include "orderd/kv.h"
#include "orderd/keeper.h"
#include "orderd/walk.h"

struct walk {
    struct keeper base;
    char name[ACTIVITY_WALKER_MAX + 1]; /* host, instance and pid */
    struct db *db; /* holds the lock of the activity in hand, and does its work: one is never without the other */
    struct kv *kv;
    struct backoff backoff;
    int64_t next_try;      /* monotonic ms: while a server is away */
    struct walk_view view; /* of this round */
    bool looked;           /* `view` was taken in this round */
    bool levels;           /* it is the one that looks at shards between the walks: db holds the lock of that */
    int64_t level_after;   /* monotonic ms: when it looks again */
    struct memory *memory; /* of all activities */
};

/* ---- frontier.c ---- */
/* Takes walk->view, once a round. Without the broker it is unknown, and that is logged. false: database or Redis. */
bool walk_look(struct walk *walk, struct error *err);

/* ---- visit.c ---- */
/* Walks the activity, whose lock is held. */
bool walk_visit(struct walk *walk, int64_t activity_id, struct error *err);

/* One walk of one activity. */
struct visit {
    struct walk *walk;
    struct memory *memory;
    bool deep;                /* the live orders too, not only the ledger */
    bool history;             /* and the closed and rejected ones */
    struct activity activity; /* as it was when the walk began */
    struct balance_report report;
    struct activity_walk done;       /* what it came to, so far */
    struct balance_finding *mending; /* room for a page */
    struct balance_outcome *outcomes;
    struct error *err; /* why it ended early, where it did */
};

/* ---- keep.c ---- */
/* Moves the end of life of an activity's keys where it comes near. */
bool walk_keep(struct visit *visit, struct error *err);

/* ---- mend.c ---- */
/* Does what is to be done about the findings of a page. false, with visit->err: a server went away. */
bool walk_mend(struct visit *visit, const struct balance_finding *findings, size_t count);

/* ---- restock.c ---- */
/* Completes a restock that was cut short, where two deep walks in a row saw it. */
bool walk_restock(struct visit *visit, struct error *err);

/* ---- level.c ---- */
/* Ends transfers between shards that were cut short, and begins new ones where a shard is empty. */
bool walk_level(struct visit *visit, struct error *err);
/* The latter, for all activities on sale, between their walks: a look at their shards, and where one is empty and
 * another has some, the transfers. Nothing where another process does that. false: a server went away. */
bool walk_level_all(struct walk *walk, struct error *err);

/* ---- give_up.c ---- */
/* false, with visit->err: the database went away; perhaps it is decided. */
bool walk_give_up(struct visit *visit, const struct balance_finding *finding);

/* ---- memory.c ---- */

struct memory {
    int64_t id;            /* of the activity */
    int64_t not_before;    /* monotonic ms: after a failure, so that others can try */
    int64_t deep_after;    /* monotonic ms: when the live orders are due again */
    int64_t deep_ms;       /* how long the last walk with them took, the history not counted */
    int64_t history_after; /* monotonic ms: when the closed and rejected orders are due again */
    struct balance_history history;
    bool transfer_off;      /* in the last walk units were between two shards, without a transfer under way */
    int64_t repeat_after;   /* monotonic ms: when all transfers are repeated again */
    bool caps_off;          /* in the last deep walk the caps were not MySQL's total */
    struct turn {           /* of the last single units, from shard to shard */
        int64_t units;      /* that there were; as long as none is sold it goes on slower */
        int64_t steps;      /* since then */
        int64_t not_before; /* monotonic ms */
    } turn;
    struct seen_list {
        struct seen *list;
        size_t count;
    } before, now; /* what could be reclaimed in the last deep walk, and in this one */
    UT_hash_handle hh;
};

struct memory *memory_of(struct memory **all, int64_t activity_id);
void memory_free_all(struct memory **all);

void memory_begin(struct memory *memory);
/* Notes units that could be reclaimed. Answers how many of them may be, since the walk before saw the same: the lesser
 * number of both; 0 where this is the first time, or the shard has changed. */
int64_t memory_note(struct memory *memory, const struct balance_finding *finding);
void memory_end(struct memory *memory); /* of a whole deep walk */

#endif
