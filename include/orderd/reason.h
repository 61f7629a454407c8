/* The reasons of tbl/reason.h: every outcome of a message has exactly one. */
#ifndef ORDERD_REASON_H
#define ORDERD_REASON_H

enum reason {
    REASON_NONE,
#define X(reason, name, what, sentence) REASON_##reason,
#include "orderd/tbl/reason.h"
#undef X
    REASON_COUNT
};

enum reason_what { REASON_WHAT_NONE, REASON_WHAT_SETTLED, REASON_WHAT_RETRY, REASON_WHAT_DEAD, REASON_WHAT_TERMINAL };

const char *reason_name(enum reason reason);
const char *reason_sentence(enum reason reason);
enum reason_what reason_what(enum reason reason);

/* The reason of that name, or REASON_NONE. */
enum reason reason_of_name(const char *name);

#endif
