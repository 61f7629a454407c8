/* A keeper is a thread beside the lanes that looks after what no message asks for, turn after turn: the sweep
 * (sweep.h), the walk (walk.h), the calendar (calendar.h), the fleet (fleet.h), the survey (survey_keeper.h). Several
 * processes have the same keepers; each kind says how they keep out of each other's way.
 *
 * In the quiet mode a kind that takes up work (the sweep, the walk) rests, as lanes do: other processes do it, and
 * where all are quiet, orders must not be closed while their payments wait in a queue. The others go on: sales begin
 * and end by the clock, and a quiet replica is seen as one.
 *
 * A kind's struct begins with a struct keeper and is zeroed at first. Only src/flow defines kinds. */
#ifndef ORDERD_KEEPER_H
#define ORDERD_KEEPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/lane.h"
#include "orderd/lane_health.h"
#include "orderd/metric.h"
#include "orderd/thread.h"

struct keeper;

struct keeper_kind {
    const char *name;                       /* the thread's */
    size_t size;                            /* of its struct */
    void (*open)(struct keeper *keeper);    /* before the thread runs, in the starter's; keeper->conf is set; or NULL */
    int64_t (*turn)(struct keeper *keeper); /* does what is due, and answers in how many ms to come again */
    void (*rest)(struct keeper *keeper);    /* the quiet mode begins: lets its connections go. NULL: it goes on in it */
    void (*close)(struct keeper *keeper);   /* at the end, in the thread: frees what it holds; or NULL */
};

struct keeper {
    struct thread thread;
    const struct keeper_kind *kind;
    struct lane_shared *shared;
    struct lane_health health;
    _Atomic int64_t beat;

    /* Owned by the thread alone. */
    bool resting;            /* in the quiet mode */
    const struct conf *conf; /* the snapshot of this turn */
    struct metric_block *metrics;
};

/* Starts its thread. shared->conf, instance, relay and stop are used. It ends within a second of shared->stop, or when
 * the step in hand is done or has had its server's time-out, and must be joined before the relay is stopped. */
struct keeper *keeper_start(const struct keeper_kind *kind, struct lane_shared *shared);

/* CONSUMING while it does its work or waits for the next time, CONNECTING while a server it needs is away. */
enum lane_state keeper_state(const struct keeper *keeper);
void keeper_condition(struct keeper *keeper, struct lane_condition *out); /* with the reason */

const char *keeper_name(const struct keeper *keeper);

/* When it last went from one step to the next, monotonic ms. */
int64_t keeper_beat(const struct keeper *keeper);

/* Waits for the thread to end (see lane_shared.stop) and frees it. */
void keeper_join(struct keeper **keeper);

/* ---- for the kinds, in the keeper's thread ---- */

/* Whether nothing more is to be begun: the process ends, or is quiet and this kind rests then. */
bool keeper_stopping(const struct keeper *keeper);
void keeper_beats(struct keeper *keeper); /* between steps; turns and rests beat by themselves */
void keeper_set_state(struct keeper *keeper, enum lane_state state, const struct error *why); /* see lane_health_set */

#endif
