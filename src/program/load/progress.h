/* How far a run is, on standard error: a bar that is drawn over itself on a terminal, else a line every five seconds.
 */
#ifndef ORDERD_LOAD_PROGRESS_H
#define ORDERD_LOAD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/error.h"

struct progress {
    const char *what;
    int64_t next_ms;
    bool terminal, color, drawn;
};

void progress_begin(struct progress *progress, const char *what);

/* Shows done of total and the text behind it where that is due; cheap when it is not. */
void progress_show(struct progress *progress, int64_t done, int64_t total, const char *fmt, ...) ORDERD_PRINTF(4, 5);

/* Removes the bar. */
void progress_end(struct progress *progress);

#endif
