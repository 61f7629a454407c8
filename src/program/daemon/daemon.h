/* What the files of program/daemon share; nobody else includes it. */
#ifndef ORDERD_DAEMON_PRIVATE_H
#define ORDERD_DAEMON_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "orderd/admin.h"
#include "orderd/daemon.h"
#include "orderd/keeper.h"
#include "orderd/lane.h"
#include "orderd/metric.h"

#define DAEMON_CONFS_MAX   1024
#define DAEMON_KEEPERS_MAX 8

struct daemon {
    struct lane_shared shared;
    struct lane **lanes; /* of all kinds, in the order of their table; empty before the start and after the stop */
    unsigned lane_count;
    struct keeper
        *keepers[DAEMON_KEEPERS_MAX]; /* in the order of their table; NULL before the start and after the stop */
    struct conf
        *confs[DAEMON_CONFS_MAX]; /* every snapshot of this run: lanes may still read an old one; freed at the end */
    unsigned conf_count;
    const char *instance;
    bool preflight_passed, ready, was_ready;
    struct metric_sum last; /* the previous second's reading */
    int64_t last_at, watchdog_at;

    /* What the admin thread reads. view_lock guards phase, why and rates, and, against it, the pointers to lanes,
     * keepers and relay: the main thread, which alone writes them, reads them without. */
    struct admin *admin; /* NULL while it does not listen */
    int64_t admin_next;  /* monotonic ms: when to try again */
    int64_t started_at;  /* wall ms */
    _Atomic int64_t beat;
    pthread_mutex_t view_lock;
    enum admin_phase phase;
    char why[ERROR_TEXT_MAX];
    struct admin_rates rates; /* guarded by view_lock */
    struct admin_view self;   /* the main thread's own, to see how this replica does */
};

/* ---- preflight.c: before the lanes ---- */
/* Schema and topology. Waits while a server is away; answers OK, CONFIG, or TEMPORARY when told to stop meanwhile. */
enum exitcode preflight(struct daemon *d, const struct conf *conf);

/* ---- lanes.c: the consuming lanes of all kinds ---- */
void lanes_start(struct daemon *d, const struct conf *conf);
unsigned lanes_ready(const struct daemon *d); /* how many can do their job now */
/* Whether each has gone round its loop within limit_ms, or has ended. */
bool lanes_alive(const struct daemon *d, int64_t now, int64_t limit_ms);
void lanes_ask_stop(struct daemon *d);
bool lanes_stopped(const struct daemon *d);
void lanes_join(struct daemon *d);

/* ---- keepers.c: the threads beside the lanes ---- */
void keepers_start(struct daemon *d);
bool keepers_alive(const struct daemon *d, int64_t now, int64_t limit_ms); /* as lanes_alive */
bool keepers_stopped(const struct daemon *d);                              /* they end by lanes_ask_stop */
void keepers_join(struct daemon *d);

/* ---- view.c: what the admin endpoint shows ---- */
void view_lock(struct daemon *d);
void view_unlock(struct daemon *d);
/* why: one sentence, or "" */
void view_set_phase(struct daemon *d, enum admin_phase phase, const char *why);
void view_set_rates(struct daemon *d, const struct admin_rates *rates);
void view_beat(struct daemon *d); /* the main thread goes round */
/* Puts how this replica does on the board, for the fleet. stopped: nothing is in hand any more. */
void view_tell_fleet(struct daemon *d, bool stopped);
/* Listens where it is configured and does not yet; looks whether it is time to try again. */
void view_serve(struct daemon *d);

/* ---- report.c: once a second ---- */
/* A thread that has not gone round for so long is stuck. */
int64_t report_beat_limit_ms(const struct conf *conf);
void report_second(struct daemon *d, bool draining);

/* ---- signals.c ---- */
void signals_block(void);
/* The next signal, waiting at most ms; 0 when none came. */
int signals_wait(int64_t ms);

#endif
