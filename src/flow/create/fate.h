#ifndef ORDERD_CREATE_FATE_H
#define ORDERD_CREATE_FATE_H

#include "orderd/lane_engine.h"

/* As lane_fate, but an order that used up its tries is decided terminally. */
enum fate fate_of(enum reason reason, int64_t attempt, size_t retries);

#endif
