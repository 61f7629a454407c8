#ifndef ORDERD_CREATE_FATE_H
#define ORDERD_CREATE_FATE_H

#include <stddef.h>
#include <stdint.h>

#include "orderd/reason.h"

enum fate {
    FATE_OPEN,   /* no reason yet */
    FATE_DONE,   /* durable: acknowledge */
    FATE_RETRY,  /* into a retry queue, by confirmed publish, then acknowledge */
    FATE_DEAD,   /* into order.dead, by confirmed publish, then acknowledge; no stock moves */
    FATE_DECIDE, /* the terminal decision, one transaction; then acknowledge */
};

/* attempt: tries in retry queues so far; retries: how many there are at most. */
enum fate fate_of(enum reason reason, int64_t attempt, size_t retries);

#endif
