/* The fleet: every orderd of a database, each with a row of its own in the table `replica` (sql/0011). A replica writes
 * its row about once a second and deletes it when it has stopped; whoever reads takes one that was not written for
 * lost_ms as lost. A database that is away makes the rows old for nobody: who cannot write cannot read either. */
#ifndef ORDERD_REPLICA_H
#define ORDERD_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/db.h"
#include "orderd/error.h"
#include "orderd/metric.h"
#include "orderd/strbuf.h"

enum replica_state {
#define X(state, name, lives) REPLICA_##state,
#include "orderd/tbl/replica_state.h"
#undef X
    REPLICA_STATE_COUNT
};

const char *replica_state_name(enum replica_state state);
bool replica_state_of_name(struct slice name, enum replica_state *out);
bool replica_state_lives(enum replica_state state);

enum replica_count {
#define X(count, name, metric) REPLICA_##count,
#include "orderd/tbl/replica_count.h"
#undef X
    REPLICA_COUNT_COUNT
};

const char *replica_count_name(enum replica_count count);

/* ---- what one did in its last seconds ---- */

struct replica_report {
    int64_t window_ms; /* over which it counted; 0: nothing is known yet */
    uint64_t counts[REPLICA_COUNT_COUNT];
    uint64_t latency[METRIC_BUCKETS]; /* orders by the time from their reservation to their commit */
};

/* What was counted between two readings that lie so many ms apart. Pure. */
void replica_report_between(const struct metric_sum *before, const struct metric_sum *now, int64_t window_ms,
                            struct replica_report *out);

/* As a JSON object, and back; what is not one, or not whole, reads as a report of nothing. Pure. */
void replica_report_json(const struct replica_report *report, struct strbuf *out);
void replica_report_parse(struct slice json, struct replica_report *out);

/* Several of them together: rates per second, and the spread of all their orders. Each counts over a window of its own.
 * Pure. */
struct replica_totals {
    double rates[REPLICA_COUNT_COUNT];
    uint64_t latency[METRIC_BUCKETS];
};
void replica_totals_add(struct replica_totals *totals, const struct replica_report *report);

/* ---- the rows ---- */

#define REPLICA_HOST_MAX    64
#define REPLICA_NAME_MAX    40
#define REPLICA_VERSION_MAX 40
#define REPLICA_ADMIN_MAX   280

struct replica {
    char host[REPLICA_HOST_MAX + 1], instance[REPLICA_NAME_MAX + 1], version[REPLICA_VERSION_MAX + 1];
    char admin[REPLICA_ADMIN_MAX + 1]; /* "127.0.0.1:9471"; "": none */
    int64_t pid;
    enum replica_state state;
    char why[ERROR_TEXT_MAX]; /* why it is not ready, or "" */
    int64_t started_at;       /* ms since 1970, by its own clock */
    int64_t seen_at;          /* ms since 1970, by the clock of the database; set by reading */
};

/* Writes the row, seen now. */
ORDERD_MUST_CHECK bool replica_put(struct db *db, const struct replica *replica, const struct replica_report *report,
                                   struct error *err);

/* Deletes it. */
ORDERD_MUST_CHECK bool replica_leave(struct db *db, const struct replica *replica, struct error *err);

/* Every row, by host, instance and start; state is LOST where it was not seen for lost_ms. */
typedef void (*replica_fn)(void *arg, const struct replica *replica, const struct replica_report *report);
ORDERD_MUST_CHECK bool replica_read_all(struct db *db, int64_t lost_ms, replica_fn on_replica, void *arg,
                                        struct error *err);

/* Deletes lost rows: those of before keep_ms, and at once those whose host and instance name have a living successor.
 */
ORDERD_MUST_CHECK bool replica_clean(struct db *db, int64_t lost_ms, int64_t keep_ms, struct error *err);

#endif
