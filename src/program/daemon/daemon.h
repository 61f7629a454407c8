/* What the files of program/daemon share; nobody else includes it. */
#ifndef ORDERD_DAEMON_PRIVATE_H
#define ORDERD_DAEMON_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "orderd/create_lane.h"
#include "orderd/daemon.h"
#include "orderd/metric.h"

#define DAEMON_LANES_MAX 64
#define DAEMON_CONFS_MAX 1024

struct daemon {
    struct lane_shared shared;
    struct lane *lanes[DAEMON_LANES_MAX];
    unsigned lane_count;
    struct conf
        *confs[DAEMON_CONFS_MAX]; /* every snapshot of this run: lanes may still read an old one; freed at the end */
    unsigned conf_count;
    const char *instance;
    bool preflight_passed, ready, was_ready;
    struct metric_sum last; /* the previous second's reading */
    int64_t last_at, watchdog_at;
};

/* ---- preflight.c: before the lanes ---- */
/* Schema and topology. Waits while a server is away; answers OK, CONFIG, or TEMPORARY when told to stop meanwhile. */
enum exitcode preflight(struct daemon *d, const struct conf *conf);

/* ---- report.c: once a second ---- */
void report_second(struct daemon *d, bool draining);

/* ---- signals.c ---- */
void signals_block(void);
/* The next signal, waiting at most ms; 0 when none came. */
int signals_wait(int64_t ms);

#endif
