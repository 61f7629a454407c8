/* A thread that asks for the documents, so that keys and sizes are heard at once whatever the daemon does. */
#ifndef ORDERD_TOP_ASKER_H
#define ORDERD_TOP_ASKER_H

#include "orderd/top.h"

struct asker;

struct asker_news {
    struct sale_view *sale;       /* NULL: why says why */
    struct sale_history *history; /* NULL: no newer one */
    struct error why;
    int64_t answered_at; /* monotonic ms: when there was a document last; 0: not yet */
};

/* Asks at once, and every interval. top must outlive it. */
struct asker *asker_start(const struct top *top);

/* Waits for what is under way, which ends soon. */
void asker_stop(struct asker **asker);

/* Readable where there is news. */
int asker_fd(const struct asker *asker);

/* The latest; the caller's from now on. false: nothing new. */
bool asker_take(struct asker *asker, struct asker_news *news);

#endif
