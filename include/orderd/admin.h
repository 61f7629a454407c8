/* The admin endpoint: HTTP on loopback for those who look after the process. GET and HEAD only; nothing can be changed
 * by it, and nobody is asked who they are.
 *
 * One thread of its own, "admin". It answers one request per connection, from what admin_collect_fn told it and from
 * the counters; so it answers too while every server is away, and costs the lanes nothing. Bounds: 32 connections; 16
 * KiB of request; 5 s from connecting to the end of the answer, and 1 s where others wait for a connection.
 *
 * It lies in src/program since what it shows is put together there; it knows nothing of the daemon, which hands it a
 * struct admin_view, so that the answers are pure functions of it. */
#ifndef ORDERD_ADMIN_H
#define ORDERD_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/conf.h"
#include "orderd/error.h"
#include "orderd/lane_health.h"
#include "orderd/metric.h"
#include "orderd/strbuf.h"

struct survey_board;

enum admin_phase {
#define X(phase, name) ADMIN_##phase,
#include "orderd/tbl/admin_phase.h"
#undef X
    ADMIN_PHASE_COUNT
};

enum admin_role {
#define X(role, name, decides) ADMIN_##role,
#include "orderd/tbl/admin_role.h"
#undef X
    ADMIN_ROLE_COUNT
};

const char *admin_phase_name(enum admin_phase phase);
const char *admin_role_name(enum admin_role role);
bool admin_role_decides(enum admin_role role);

/* All lanes of the largest configuration, keepers and the relay. */
#define ADMIN_WORKERS_MAX 128

/* One thread that is watched. */
struct admin_worker {
    char name[16];
    enum admin_role role;
    struct lane_condition condition;
    int64_t beat_age_ms; /* since it last went round */
};

/* What was done in a second. */
struct admin_rates {
    int64_t received, created, paid, closed, dead_lettered;
    int64_t p50_us, p99_us, release_lag_p99_ms; /* of that second; 0 where nothing was done */
};

/* The whole process at one instant. */
struct admin_view {
    const char *instance; /* "" or the replica's name */
    int64_t started_at;   /* wall ms */
    enum admin_phase phase;
    char why[ERROR_TEXT_MAX];     /* what it waits for while STARTING, or "" */
    bool quiet;                   /* was told to take nothing; also while STARTING, and then will not */
    int64_t pid, pid_ticks;       /* the process (process.h) */
    int64_t configured_at;        /* wall ms: when the configuration in force was read */
    char refused[ERROR_TEXT_MAX]; /* why the last reload was refused; "": it was not */
    int64_t main_age_ms;          /* since the main thread last went round */
    int64_t beat_limit_ms;        /* a thread that has not gone round for so long is stuck */
    int64_t ready_grace_ms;
    int64_t relay_oldest_ms; /* for how long the oldest pending local message has been due */
    struct metric_sum sum;
    struct admin_rates rates;   /* of the last second */
    struct survey_board *board; /* how the whole sale stands (survey_board.h) */
    size_t worker_count;
    struct admin_worker workers[ADMIN_WORKERS_MAX];
};

/* Fills *view, which is zeroed. Called by the admin thread; takes no longer than a few locks. */
typedef void (*admin_collect_fn)(void *arg, struct admin_view *view);

struct admin;

/* The port of this replica (see admin.port); false: it is none. */
ORDERD_MUST_CHECK bool admin_port(const struct conf *conf, const char *instance, int *port, struct error *err);

/* Listens and starts the thread. NULL: the address cannot be had (IO), or is none. collect is called until admin_stop
 * has returned. */
ORDERD_MUST_CHECK struct admin *admin_start(const struct conf *conf, const char *instance, admin_collect_fn collect,
                                            void *arg, struct error *err);

/* When its thread last went round, monotonic ms. */
int64_t admin_beat(const struct admin *admin);

/* Ends within about a quarter of a second; answers that are not sent by then are cut. NULL: nothing. */
void admin_stop(struct admin **admin);

/* ---- the answers: pure, but for what /proc says; each appends to out and answers the HTTP status ---- */

struct admin_request {
    bool verbose; /* ?verbose */
};

#define X(id, path, type, brief)                                                                                       \
    unsigned admin_##id(const struct admin_view *view, const struct admin_request *request, struct strbuf *out);
#include "orderd/tbl/admin_route.h"
#undef X

/* The thread that has not gone round for too long ("main" included), or NULL. The watchdog's condition. */
const char *admin_stuck(const struct admin_view *view);

/* Whether the process runs and every worker that decides is ready. */
bool admin_view_ready(const struct admin_view *view);

/* Messages that all of them have taken and not finished. */
int64_t admin_in_hand(const struct admin_view *view);

/* Whether it has not gone round for longer than any call may take. */
bool admin_worker_stuck(const struct admin_view *view, const struct admin_worker *worker);

/* Whether it can do its job, a short reconnect aside: not stuck, and ready, or not ready for no longer than
 * view->ready_grace_ms. */
bool admin_worker_ready(const struct admin_view *view, const struct admin_worker *worker);

#endif
