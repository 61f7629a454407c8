/* What the files of flow/relay share; nobody else includes it.
 *
 *   relay.c     the thread: take what was handed over or is due, send, mark
 *   publish.c   effects that are publications
 *   stock.c     effects that are stock scripts
 *   cleaner.c   the thread that deletes sent rows */
#ifndef ORDERD_RELAY_PRIVATE_H
#define ORDERD_RELAY_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "orderd/arena.h"
#include "orderd/backoff.h"
#include "orderd/broker.h"
#include "orderd/db.h"
#include "orderd/kv.h"
#include "orderd/metric.h"
#include "orderd/relay.h"
#include "orderd/thread.h"

/* One message on its way, and what came of it. */
struct sending {
    struct local_message *message;
    enum effect_kind kind;
    enum broker_outcome outcome;
    bool settled;
    enum local_message_result result;
    int64_t wait_ms;
    const char *why; /* in the arena, or NULL */
};

/* A server that may be away: when it may be tried again. */
struct target {
    struct backoff backoff;
    int64_t next_try; /* monotonic ms */
};

struct relay {
    struct thread thread, cleaner;
    struct lane_shared *shared;
    const struct conf *conf;
    char owner[LOCAL_MESSAGE_OWNER_MAX + 1];
    _Atomic(enum lane_state) state;
    _Atomic int64_t beat, oldest_ms;
    atomic_bool stop;
    int wake_fd, cleaner_fd; /* eventfds */

    pthread_mutex_t lock;
    struct local_messages handed; /* guarded by lock */

    /* Owned by the relay's thread. */
    struct db *db;
    struct broker *publisher;
    struct kv *kv;
    struct target db_target, broker_target, kv_target;
    struct arena *arena;
    struct metric_block *metrics;
    int64_t next_poll;
    size_t careful; /* publications yet to be sent one by one, since something among them broke the channel */
};

void relay_settle(struct sending *s, enum local_message_result result, int64_t wait_ms, const char *why);
const char *relay_text(struct relay *relay, const char *text);
/* A failure of the message's own: again after its back-off, or quarantined after too many. */
void relay_failed(struct relay *relay, struct sending *s, const char *why);

bool target_may_try(const struct target *target);
void target_failed(struct target *target);

/* publish.c: settles all sendings whose kind is a publication. */
void relay_publish(struct relay *relay, struct sending *all, size_t count);
/* stock.c: settles all sendings whose kind is a stock script. */
void relay_stock(struct relay *relay, struct sending *all, size_t count);
/* cleaner.c */
void relay_clean(void *relay);

#endif
