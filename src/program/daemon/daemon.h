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
#include "orderd/thread.h"

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
    bool rested;            /* quiet, and it was said that nothing is in hand any more */
    struct metric_sum last; /* the previous second's reading */
    int64_t last_at, watchdog_at;
    int64_t pid_ticks;       /* process.h */
    struct admin_view *seen; /* what view_look answers */
    struct thread guard;
    atomic_bool guard_stop;
    _Atomic int64_t guard_beat;

    /* What the admin thread reads. view_lock guards phase, why, refused, configured_at and rates, and, against it, the
     * pointers to lanes, keepers, relay and admin, and guarded: the main thread, which alone writes them, reads them
     * without. */
    struct admin *admin; /* NULL while it does not listen */
    int64_t admin_next;  /* monotonic ms: when to try again */
    int64_t started_at;  /* wall ms */
    _Atomic int64_t beat;
    pthread_mutex_t view_lock;
    enum admin_phase phase;
    char why[ERROR_TEXT_MAX];
    char refused[ERROR_TEXT_MAX]; /* why the last reload was refused; "": it was not */
    int64_t configured_at;        /* wall ms: when the configuration in force was read */
    bool guarded;                 /* the guard runs */
    struct admin_rates rates;     /* guarded by view_lock */
};

/* ---- preflight.c: before the lanes ---- */
/* Schema and topology. Waits while a server is away; answers OK, CONFIG, or TEMPORARY when told to stop meanwhile. */
enum exitcode preflight(struct daemon *d, const struct conf *conf);

/* ---- lanes.c: the consuming lanes of all kinds ---- */
void lanes_start(struct daemon *d, const struct conf *conf);
unsigned lanes_ready(const struct daemon *d); /* how many can do their job now */
void lanes_ask_stop(struct daemon *d);
bool lanes_stopped(const struct daemon *d);
void lanes_join(struct daemon *d);

/* ---- keepers.c: the threads beside the lanes ---- */
void keepers_start(struct daemon *d);
bool keepers_stopped(const struct daemon *d); /* they end by lanes_ask_stop */
void keepers_join(struct daemon *d);

/* ---- view.c: what the admin endpoint shows ---- */
void view_lock(struct daemon *d);
void view_unlock(struct daemon *d);
/* why: one sentence, or "" */
void view_set_phase(struct daemon *d, enum admin_phase phase, const char *why);
void view_set_rates(struct daemon *d, const struct admin_rates *rates);
void view_beat(struct daemon *d); /* the main thread goes round */
/* All of it at this instant, for the main thread; valid until its next call. */
const struct admin_view *view_look(struct daemon *d);
/* Puts how this replica does on the board, for the fleet. stopped: nothing is in hand any more. */
void view_tell_fleet(struct daemon *d, const struct admin_view *view, bool stopped);
/* Listens where it is configured and does not yet; looks whether it is time to try again. */
void view_serve(struct daemon *d);

/* ---- guard.c: ends broker calls that take too long ---- */
void guard_start(struct daemon *d);
void guard_stop(struct daemon *d);

/* ---- control.c: what the process is told while it runs ---- */
/* HUP reloads, USR1 makes it quiet, CONT ends that, USR2 dumps. Others, and 0, are nothing. */
void control_signal(struct daemon *d, int signal_);
void control_running(struct daemon *d); /* the start is over: the phase is RUNNING, or QUIET where it was told so */
void control_dump(struct daemon *d);    /* what each thread does, into the log */

/* ---- report.c: once a second ---- */
/* A thread that has not gone round for so long is stuck. */
int64_t report_beat_limit_ms(const struct conf *conf);
void report_second(struct daemon *d, bool draining);
void report_status(struct daemon *d); /* the service manager's line alone */

/* ---- signals.c ---- */
void signals_block(void);
/* The next signal, waiting at most ms; 0 when none came. */
int signals_wait(int64_t ms);

#endif
