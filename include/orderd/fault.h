/* Fault points. In builds without ORDERD_FAULTS, FAULT(x) is nothing at all and the environment is not looked at.
 *
 * ORDERD_FAULT="name=action@n[,name=action@n...]": at the n-th passing (1 = first) of that point, by any thread,
 *   kill   the process dies as by SIGKILL        exit   _exit(1)
 *   fail   FAULT_FAILS() answers true there      stall  the thread sleeps 30 s
 *   stop   the process is paused as by SIGSTOP, until somebody sends it SIGCONT
 * "@n" may be "@n+" for the n-th and every later passing. A variable that cannot be understood ends the process with
 * EXIT_USAGE at the first point it passes. */
#ifndef ORDERD_FAULT_H
#define ORDERD_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum fault {
#define X(fault, name) FAULT_##fault,
#include "orderd/tbl/fault.h"
#undef X
    FAULT_COUNT
};

/* The buyer whose orders pass create.poison. */
#define FAULT_POISON_USER INT64_C(6661666166616)

/* A point as a value, for code that serves several kinds of work: FAULT_AT(kind->taken). */
#define FAULT_POINT(point) FAULT_##point

#ifdef ORDERD_FAULTS
bool fault_passes(enum fault fault);
/* Forgets all passings and reads the environment anew: for a test's child that was forked after some. One thread. */
void fault_reset(void);
#define FAULT(point)       ((void)fault_passes(FAULT_##point))
#define FAULT_AT(point)    ((void)fault_passes(point))
#define FAULT_FAILS(point) fault_passes(FAULT_##point)
#else
#define FAULT(point)       ((void)0)
#define FAULT_AT(point)    ((void)(point))
#define FAULT_FAILS(point) (false)
#endif

#endif
