/* Inside of balance_repair: the findings at hand, and how things stand now. */
#ifndef ORDERD_REPAIR_PRIVATE_H
#define ORDERD_REPAIR_PRIVATE_H

#include "balance_private.h"

struct repair {
    struct db *db;
    struct kv *kv;
    const struct activity *activity;
    const struct balance_finding *findings;
    struct balance_outcome *outcomes;
    size_t count;
    struct scan *scan; /* its page: the orders, read again */
    size_t *picked;    /* of findings: those that one step is about */
    size_t picked_count;
    struct error *err;
};

void repair_says(struct repair *r, size_t finding, enum balance_mended mended, const char *fmt, ...)
    ORDERD_PRINTF(4, 5);

/* The order of picked[i] as it stands now. */
struct subject *repair_subject(const struct repair *r, size_t i);

/* Each does what was picked; false: a server is away. */
ORDERD_MUST_CHECK bool repair_returns(struct repair *r);
ORDERD_MUST_CHECK bool repair_settlements(struct repair *r);
ORDERD_MUST_CHECK bool repair_adoptions(struct repair *r);
ORDERD_MUST_CHECK bool repair_messages(struct repair *r);
ORDERD_MUST_CHECK bool repair_lives(struct repair *r);
ORDERD_MUST_CHECK bool repair_reclaims(struct repair *r);
ORDERD_MUST_CHECK bool repair_stock_row(struct repair *r);

#endif
