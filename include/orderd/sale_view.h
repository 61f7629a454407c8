/* What an orderd tells of the sale (GET /sale), as those read it who show it: taken apart with suspicion. It may come
 * from another version, and what is missing, null, of another type, negative where nothing can be, or too large is
 * unknown; never a made-up number. Words are kept as they are told (survey_parse, which replicas read each other with,
 * takes only those it knows): a newer state is shown and not dropped. docs/status.md says what all of it means. Pure;
 * any thread, one owner each. */
#ifndef ORDERD_SALE_VIEW_H
#define ORDERD_SALE_VIEW_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/error.h"

/* A number that nobody knows now; of a double it is NAN. */
#define SALE_UNKNOWN INT64_MIN

/* Texts are UTF-8 as they came, with whatever bytes are in them, and never NULL; they live as long as the view. */

struct sale_replica {
    const char *instance, *host, *version, *state, *why, *admin;
    int64_t pid, started_at, seen_at; /* wall ms */
};

struct sale_rates { /* per second */
    double received, created, duplicate, retried, dead_lettered, rejected, paid, closed, units_returned;
};

struct sale_queue {
    const char *name;
    int64_t ready, consumers;
};

struct sale_reason {
    const char *reason, *command; /* command: "" where it is none that may be shown to be typed */
    int64_t open;
};

struct sale_activity {
    int64_t id, starts_at, ends_at, total, left;
    const char *title, *state;
    double rate, sold_out_s;
    int64_t held_unpaid, due_soon, overdue, paid, closed;
    int64_t counted_at; /* wall ms: when those were */
    int64_t shards, shards_missing, shards_damaged, shards_paused;
    struct {
        int64_t left, held, sold, gone, redis_off, mysql_available, mysql_live, mysql_off, in_flight;
        int64_t drift; /* this and the two _off may be negative */
    } books;
    int64_t reconciled_at;
    const char *verdict; /* "" unknown */
};

struct sale_dependency {
    const char *name, *why;
    bool known, up;
};

struct sale_view {
    int64_t at; /* wall ms of the daemon: when its numbers were read */
    int64_t interval_ms;
    const char *instance;
    int64_t replicas_at; /* wall ms: when these were read */
    struct sale_replica *replicas;
    size_t replica_count;
    struct sale_rates rates;
    int64_t p50_us, p99_us; /* from reservation to commit */
    struct sale_queue *queues;
    size_t queue_count;
    int64_t backlog;
    double drain_s;
    int64_t relay_pending, relay_quarantined, relay_oldest_ms;
    int64_t dead_queue, dead_open;
    struct sale_reason *reasons;
    size_t reason_count;
    struct sale_activity *activities; /* running first, then scheduled, then ended: each by its next instant */
    size_t activity_count;
    int64_t activities_left_out; /* there are so many more */
    struct sale_dependency *dependencies;
    size_t dependency_count;
    struct json_t *document;
};

/* NULL: it is no such document (ADMIN_AWAY). */
ORDERD_MUST_CHECK struct sale_view *sale_view_parse(const char *text, size_t len, struct error *err);
void sale_view_destroy(struct sale_view **view);

/* NULL: there is none of this id. */
const struct sale_activity *sale_view_activity(const struct sale_view *view, int64_t id);

/* ---- GET /sale/history: the last minutes ---- */

struct sale_history;
ORDERD_MUST_CHECK struct sale_history *sale_history_parse(const char *text, size_t len, struct error *err);
void sale_history_destroy(struct sale_history **history);

/* The units left of an activity at each point, oldest first, NAN where it is not known: the last `most` of them, and
 * how many. *span_ms: from the first of these to the last. */
size_t sale_history_left(const struct sale_history *history, int64_t activity, double *out, size_t most,
                         int64_t *span_ms);

#endif
