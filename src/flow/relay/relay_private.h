/* What the files of flow/relay share; nobody else includes it.
 *
 *   relay.c        the thread: take what was handed over or is due, send, mark
 *   publish.c      effects that are publications: in flight together, or one by one while something is suspicious
 *   publication.c  what a row says as a publication
 *   stock.c        effects that are stock scripts
 *   mark.c         writes down what came of it
 *   watch.c        whether its servers are there
 *   cleaner.c      the thread that deletes sent rows */
#ifndef ORDERD_RELAY_PRIVATE_H
#define ORDERD_RELAY_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "orderd/arena.h"
#include "orderd/backoff.h"
#include "orderd/broker.h"
#include "orderd/create_queue.h"
#include "orderd/db.h"
#include "orderd/kv.h"
#include "orderd/metric.h"
#include "orderd/relay.h"
#include "orderd/thread.h"

/* Until a server that is away may be tried again, a row waits; not shorter than this. */
#define RELAY_AWAY_MS 100

/* One message on its way, and what came of it. */
struct sending {
    struct local_message *message;
    enum effect_kind kind;
    enum broker_outcome outcome;
    bool settled, marked;
    enum local_message_result result;
    int64_t wait_ms;
    const char *why; /* in the arena or constant, or NULL */
};

/* A server that may be away: when it may be tried again. */
struct target {
    struct backoff backoff;
    int64_t next_try; /* monotonic ms */
    bool away;        /* the last try failed, or the connection was lost since */
    char why[ERROR_TEXT_MAX];
};

/* An exchange, as far as this relay knows it. */
struct outlet {
    bool suspect;         /* the channel died of something sent there: one at a time until one gets through */
    int64_t closed_until; /* monotonic ms: it is missing, or may not be written to */
    char why[ERROR_TEXT_MAX];
};

struct relay {
    struct thread thread, cleaner;
    struct lane_shared *shared;
    const struct conf *conf;
    char owner[65]; /* under which others lease for it; its own leases add their number */
    struct lane_health health;
    struct lane_health cleaner_health;
    _Atomic int64_t beat, cleaner_beat, oldest_ms;
    atomic_bool stop;
    int wake_fd, cleaner_fd; /* eventfds */

    pthread_mutex_t lock;
    struct local_messages handed; /* guarded by lock */
    size_t handed_bytes;          /* guarded by lock */

    /* Owned by the relay's thread. */
    struct db *db;
    struct broker *publisher;
    struct kv *kv;
    struct target db_target, broker_target, kv_target;
    struct arena *arena;  /* of the round */
    struct arena *pieces; /* of one round trip to Redis */
    struct metric_block *metrics;
    unsigned claims;   /* numbers the leases */
    int64_t next_ping; /* monotonic ms: when to ask Redis whether it is there */
    int64_t next_poll; /* monotonic ms */
    bool waiting;      /* something of this round waits for a server */
    bool proven;       /* this connection has answered a publication */
    unsigned losses;   /* connections lost in a row, none of which answered a publication */
    size_t careful;    /* publications yet to be sent one by one, since something among them ends the connection */
    struct outlet outlets[2]; /* order, order.event */
};

/* ---- relay.c ---- */

void relay_settle(struct sending *s, enum local_message_result result, int64_t wait_ms, const char *why);
const char *relay_text(struct relay *relay, const char *text);
/* Its target is away until next_try: it waits, the attempt does not count. */
void relay_wait_for(struct relay *relay, struct sending *s, const struct target *target, const char *why);
/* A failure of the message's own: again after its back-off, or quarantined after too many. */
void relay_failed(struct relay *relay, struct sending *s, const char *why);
/* Too little of the lease is left to begin with it: it is given back (settled), to be taken anew. */
bool relay_late(struct relay *relay, struct sending *s);
void relay_beats(struct relay *relay);
bool relay_open_db(struct relay *relay);

bool target_may_try(const struct target *target);
void target_failed(struct target *target, const struct error *why);
void target_reached(struct target *target);

/* ---- publication.c ---- */

#define PUBLICATION_HEADERS_MAX 300 /* as many as a dead letter keeps, and ours */

struct publication {
    struct broker_publication args;
    void *root; /* what args points into */
    struct broker_header headers[PUBLICATION_HEADERS_MAX];
    char topic[LOCAL_MESSAGE_KEY_MAX + 1];
    char queue[CREATE_QUEUE_NAME_MAX]; /* of an order, where there are several */
};

/* What the row says. false, with a sentence, where it cannot be published as it is. Either way publication_release;
 * p is zeroed memory, or was released. */
bool publication_prepare(struct publication *p, const struct conf *conf, const struct sending *s, struct error *err);
void publication_release(struct publication *p);

/* ---- the rest ---- */

/* Settles all sendings whose kind is a publication. */
void relay_publish(struct relay *relay, struct sending *all, size_t count);
/* Keeps an idle connection alive. */
void relay_pump(struct relay *relay);
bool relay_open_publisher(struct relay *relay, struct error *err);
bool relay_open_kv(struct relay *relay, struct error *err);
void relay_lose_kv(struct relay *relay, const struct error *err);
/* Looks after the connections whether or not there is work for them, and says in the relay's health what is away. */
void relay_watch(struct relay *relay);
/* Settles all sendings whose kind is a stock script. */
void relay_stock(struct relay *relay, struct sending *all, size_t count);
/* Writes the results of all; answers how many were sent. */
size_t relay_mark(struct relay *relay, struct sending *all, size_t count);
void relay_clean(void *relay);

#endif
