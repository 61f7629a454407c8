/* The end of an activity: nothing of it is held, pending or undecided any more, its numbers are proven, and its keys
 * go.
 *
 *  1  look      it has ended, the last payment was due, no order is pending, no local message of it waits
 *  2  prove     a whole scan (balance.h) finds nothing at all
 *  3  close     settled, and its stock row takes no more orders: one transaction, under the locks of both rows, that
 *               goes through only where no order took units since step 1
 *  4  remove    gates are told, and the keys are removed in small steps
 *
 * Crash windows: before 3 nothing happened; after it, the same again removes what is left. An order message that comes
 * after 3 is rejected (activity_settled), and its units have no shard to return to. */
#ifndef ORDERD_ACTIVITY_SETTLE_H
#define ORDERD_ACTIVITY_SETTLE_H

#include "orderd/activity.h"
#include "orderd/balance.h"
#include "orderd/kv.h"

struct activity_settled {
    bool changed;                      /* it was not settled before (dry run: it would be) */
    struct balance_report balance;     /* of step 2; zero where it was settled before */
    bool removed;                      /* step 4 was done, as far as it goes */
    struct stock_removal_done removal; /* and what came of it */
};

struct activity_settle {
    struct db *db; /* holds activity_lock, unless it is a dry run */
    struct kv *kv;
    struct activity *activity; /* as read; afterwards as it is */
    int64_t in_flight_ms;      /* see balance_window */
    bool dry_run;
    void (*progress)(void *arg, int64_t orders);
    void *arg;
};

/* REFUSED with the first thing that stands in its way. Blocks as long as the scan. */
ORDERD_MUST_CHECK bool activity_settle(const struct activity_settle *how, struct activity_settled *out,
                                       struct error *err);

#endif
