/* What is said about one activity. */
#ifndef ORDERD_TOP_SALE_WORDS_H
#define ORDERD_TOP_SALE_WORDS_H

#include <stdbool.h>

#include "frame.h"
#include "orderd/sale_view.h"
#include "words.h"

#define SALE_TITLE_MAX 1024

/* "1001 Phone" */
const char *sale_title(char out[SALE_TITLE_MAX], const struct sale_activity *activity);

/* "in 2h05m", "59m12s left", "5m02s ago"; "" where no instant matters. */
const char *sale_clock_short(char out[WORD_MAX], const struct sale_activity *activity, int64_t now);

/* "starts in 2h05m", "ends in 59m12s", "ended 5m02s ago"; "should have ended 1m00s ago". */
const char *sale_clock(char out[2 * WORD_MAX], const struct sale_activity *activity, int64_t now);

/* "running, ends in 59m12s", "ended 5m02s ago" */
#define SALE_PHASE_MAX 128
const char *sale_phase(char out[SALE_PHASE_MAX], const struct sale_activity *activity, int64_t now);

/* It should have begun, or ended, some time ago. */
bool sale_is_late(const struct sale_activity *activity, int64_t now);

bool sale_is_running(const struct sale_activity *activity);

/* Under 10 % left of a running sale. */
bool sale_is_low(const struct sale_activity *activity);

enum frame_tint sale_drift_tint(const struct sale_activity *activity);

#endif
