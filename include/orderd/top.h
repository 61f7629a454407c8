/* The live view of a sale on a terminal. It asks for its documents through a function, so it knows no network. */
#ifndef ORDERD_TOP_H
#define ORDERD_TOP_H

#include <stdbool.h>
#include <stdint.h>
#include "orderd/error.h"
#include "orderd/sale_view.h"
#include "orderd/strbuf.h"

/* Gets a page of the admin endpoint: appends its body to out, *status is HTTP's. false: nobody answers (ADMIN_AWAY).
 * Called by a thread of its own; returns soon after stop_fd (-1: never) can be read. */
typedef bool (*top_ask_fn)(void *arg, const char *path, int stop_fd, int *status, struct strbuf *out,
                           struct error *err);

struct top {
    int64_t interval_ms;
    int64_t activity; /* which is shown in full; 0: the first */
    bool color;
    bool utf8; /* what the terminal can show */
    top_ask_fn ask;
    void *arg;
};

/* One document: its text is appended to `text` where that is not NULL. NULL: nobody answers, it does not know such a
 * page (it is older), or its answer cannot be read; all ADMIN_AWAY with a sentence. */
ORDERD_MUST_CHECK struct sale_view *top_fetch(const struct top *top, int stop_fd, struct strbuf *text,
                                              struct error *err);

/* What in a document asks for a person, worst first: a sentence, and the command that helps, or "". now: wall ms by the
 * daemon's clock. The texts are as they came, and live until on_alarm returns. Pure. */
typedef void (*top_alarm_fn)(void *arg, bool bad, const char *sentence, const char *command);
void top_tell_alarms(const struct sale_view *sale, int64_t now, top_alarm_fn on_alarm, void *arg);

/* One frame, as high as it needs, without escape sequences (but for colours), onto out. */
ORDERD_MUST_CHECK bool top_once(const struct top *top, int width, struct strbuf *out, struct error *err);

/* Until somebody ends it. Standard output is a terminal. A document that cannot be had at the beginning is an error;
 * later it is waited for. Where a signal other than Ctrl-C ends it, the process ends by that signal. Main thread. */
ORDERD_MUST_CHECK bool top_live(const struct top *top, struct error *err);

#endif
