/* The log of reconciliations, table reconcile_run: who compared what and when, with which verdict. */
#ifndef ORDERD_RECONCILE_RUN_H
#define ORDERD_RECONCILE_RUN_H

#include <stdint.h>
#include "orderd/balance.h"
#include "orderd/db.h"

enum reconcile_mode { RECONCILE_LOOK, RECONCILE_DRY_RUN, RECONCILE_REPAIR };

/* As in the table: "look", "dry_run", "repair". */
const char *reconcile_mode_name(enum reconcile_mode mode);

struct reconcile_run {
    int64_t id; /* set by begin */
    int64_t activity_id;
    enum reconcile_mode mode;
    const char *who;
    int64_t in_flight_ms;
};

struct reconcile_result {
    enum balance_verdict verdict;       /* of what is left in the end */
    const struct balance_report *found; /* by the first scan */
    int64_t repaired, not_repaired;
    struct slice listed; /* JSON array of findings */
};

/* Writes the row; begins no transaction. */
ORDERD_MUST_CHECK bool reconcile_run_begin(struct db *db, struct reconcile_run *run, struct error *err);

/* Its outcome. A list that is larger than 1 MiB is left out. */
ORDERD_MUST_CHECK bool reconcile_run_end(struct db *db, const struct reconcile_run *run,
                                         const struct reconcile_result *result, struct error *err);

#endif
