/* What the files of flow/lane share; nobody else includes it (kinds include orderd/lane_engine.h).
 *
 *   lane.c     the thread: connect, turn after turn
 *   finish.c   taking nothing more: the stop, and the quiet mode
 *   batch.c    deliveries in hand: take, decode, release
 *   careful.c  what to do about messages that kill the process
 *   storm.c    whether it is the messages or the database that is ill
 *   fate.c     the policy: what a reason and a number of tries lead to
 *   queue.c    which of several queues
 *   settle.c   acknowledgements, retries and dead letters
 *   park.c     what cannot be published now waits aside
 *   hold.c     waiting for a server with the batch in hand
 *   state.c    the names of what a lane is doing */
#ifndef ORDERD_LANE_PRIVATE_H
#define ORDERD_LANE_PRIVATE_H

#include "orderd/lane_engine.h"

/* ---- lane.c ---- */
bool lane_stopping(const struct lane *lane);
/* why: as in lane_health_set */
void lane_set_state(struct lane *lane, enum lane_state state, const struct error *why);
void lane_beat(struct lane *lane); /* and tells how many messages are in hand */
/* A wait by plan, with the publisher kept alive; ends early on the stop, and when the quiet mode begins or ends. */
void lane_sleep_alive(struct lane *lane, int64_t ms);
/* What the broker had handed out on it goes to somebody else. */
void lane_lose_consumer(struct lane *lane, const struct error *err);
/* Sleeps until something arrives on either connection, the stop is called, or wait_ms are over. Pump both dry first. */
void lane_sleep(struct lane *lane, int wait_ms);
void lane_close_consumer(struct lane *lane, bool graceful);
void lane_close_publisher(struct lane *lane);

/* The batch in hand, from work() to its acknowledgement, waiting where a server is away. The consumer may be gone
 * afterwards, and the batch with it. */
void lane_work(struct lane *lane);

/* ---- finish.c ---- */
/* Ends the subscription; what was handed out stays in hand. false: the consumer is lost. */
bool lane_stop_taking(struct lane *lane, struct error *err);
/* A turn of the quiet mode: finishes what is in hand, then rests without any connection. */
void lane_turn_quiet(struct lane *lane);
/* The stop: the same, unless a server is away; then everything is closed. */
void lane_drain(struct lane *lane);

void lane_rest(struct lane *lane, enum lane_state state); /* a second without any connection */

/* ---- queue.c ---- */
void queue_choose(struct lane *lane); /* by the configuration of this turn */
/* Whether a queue that is not used any more is still there; others are taken to be. Asks on the consumer's connection,
 * which must not consume. false: it is gone, and lane->over set; or the broker is away. */
bool queue_there(struct lane *lane, struct error *err);
/* Where the item comes back to from a retry queue; valid until the next call. */
const char *queue_home(struct lane *lane, const struct lane_item *item);

/* ---- careful.c ---- */
bool lane_suspicious(const struct lane *lane); /* whether the batch holds a message that may kill the process */
void lane_note_suspicion(struct lane *lane, bool suspect);
/* Subscribes, anew where it is subscribed; careful: with a window of one. */
bool lane_subscribe(struct lane *lane, bool careful, struct error *err);
/* Takes no more, finishes what is in hand in small groups, and subscribes with a window of one. false: the consumer is
 * lost. */
bool lane_work_carefully(struct lane *lane, struct error *err);
/* The batch through all its steps, carefully where it must be. false: the consumer is lost. */
bool lane_work_taken(struct lane *lane, struct error *err);

/* ---- batch.c ---- */
void batch_init(struct lane *lane);
void batch_release(struct lane *lane); /* frees the deliveries, resets the arena */
void batch_destroy(struct lane *lane);
/* Adds what has arrived, up to batch_max, without looking into it. Never waits. */
bool batch_take(struct lane *lane, struct error *err);
/* Decodes what was added. */
void batch_decode(struct lane *lane);

/* ---- settle.c ---- */
/* Acknowledges what is durable, retries or dead-letters what needs it. false: a server is away; repeat after
 * lane_hold(). */
bool lane_settle(struct lane *lane, struct error *err);
enum broker_outcome settle_outcome(const struct lane_item *item); /* UNKNOWN before it was published */
void settle_count(struct lane *lane, const struct lane_item *item);
/* One item by itself: published and confirmed. */
bool settle_publish(struct lane *lane, struct lane_item *item, struct error *err);

/* ---- park.c ---- */
bool park_has_room(const struct lane *lane, size_t more);
void park(struct lane *lane, struct lane_item *item); /* takes its delivery over */
/* Tries those that are parked again, when it is time. false: the consumer is lost. */
bool park_retry(struct lane *lane, struct error *err);
bool park_too_long(const struct lane *lane); /* longer than the broker may be kept waiting */
void park_release(struct lane *lane);        /* the consumer is gone, and with it the right to acknowledge them */
void park_destroy(struct lane *lane);

/* ---- hold.c ---- */
/* Waits once, with the consumer kept alive, for what `why` says is missing, and opens it again. false: the batch is no
 * longer ours (consumer lost, stopping, or held for so long that it was given back); it has been released. */
bool lane_hold(struct lane *lane, const struct error *why);
void lane_hold_over(struct lane *lane);
/* Hands everything unacknowledged back to the broker. */
void lane_give_back(struct lane *lane);

#endif
