/* One run of `orderctl reconcile` over one activity, and how it is shown. */
#ifndef ORDERD_CTL_RECONCILE_H
#define ORDERD_CTL_RECONCILE_H

#include "orderd/create_queue.h"
#include "orderd/reconcile_run.h"
#include "table.h"

#define RECONCILE_QUEUES_MAX (CREATE_QUEUES_MAX + CONF_DELAYS_MAX + 8)

struct reconcile_queue {
    char name[CREATE_QUEUE_NAME_MAX];
    bool known; /* it is there and could be asked */
    int64_t messages;
};

struct reconcile_queues {
    bool read; /* the broker was there */
    struct reconcile_queue list[RECONCILE_QUEUES_MAX];
    size_t count;
    /* Messages of orders that may not be rows yet. */
    struct create_queues create;
    int64_t elsewhere; /* in retry queues */
};

struct reconcile_list {
    struct balance_finding *list;
    size_t count, room;
};

struct reconcile {
    struct ctl *ctl;
    struct db *db;
    struct kv *kv;
    struct reconcile_queues queues;
    struct balance_options options;
    enum reconcile_mode mode;
    size_t limit, max; /* SIZE_MAX: all */

    /* of the activity at hand */
    struct reconcile_run run;
    struct balance_report before, after; /* after: only with RECONCILE_REPAIR */
    size_t shown_of[FINDING_KIND_COUNT];
    struct reconcile_list shown;      /* the first `limit` of each kind */
    struct reconcile_list mending;    /* the first `max` that repair can mend */
    int64_t mendable;                 /* how many there are */
    struct balance_outcome *outcomes; /* of mending */
    int64_t repaired, not_repaired;
    enum balance_verdict verdict;
};

/* Depths of all queues that orders pass. Without a broker all of it says so. */
void reconcile_read_queues(struct ctl *ctl, struct reconcile_queues *out);

/* In three parts: what was found, what was done, the verdict. */
void reconcile_print_found(const struct reconcile *r);
void reconcile_print_done(const struct reconcile *r);
void reconcile_print_verdict(const struct reconcile *r);

/* JSON: a line for each finding shown, one for each repair, one for the activity. */
void reconcile_record(const struct reconcile *r);

/* "mended", "mended_before", "not_mended", "left"; dry run: "would_be_mended" */
const char *reconcile_result(const struct reconcile *r, enum balance_mended mended);

#endif
