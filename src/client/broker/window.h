/* What was published on a channel with confirms and is not confirmed yet: a ring indexed by the sequence number that
 * the broker counts with (1 at confirm.select). Acks and nacks come single or multiple and in any order; a returned
 * message is told by its id, before its ack. Confirms for what is not outstanding change nothing and are counted: a
 * confirm that names nothing proves nothing. Pure; one thread. */
#ifndef BROKER_WINDOW_H
#define BROKER_WINDOW_H

#include "orderd/broker.h"

struct window;

struct window *window_create(unsigned size); /* size > 0: how far the newest may be ahead of the oldest outstanding */
void window_destroy(struct window **window); /* outcomes still pending are left alone: abandon first */

bool window_full(const struct window *window);
size_t window_pending(const struct window *window);
uint64_t window_strays(const struct window *window);

/* The next sequence number is this publication's. Sets *outcome to PENDING and keeps the pointer until it is final. */
void window_add(struct window *window, struct slice message_id, size_t body_size, enum broker_outcome *outcome);

/* ack (positive) or nack of one sequence number, or of all outstanding up to it. A returned message ends RETURNED. */
void window_settle(struct window *window, uint64_t sequence, bool multiple, bool positive);

/* basic.return: marks the oldest outstanding publication with this id that is not marked yet. */
void window_return(struct window *window, struct slice message_id);

/* The channel is gone: what was returned is RETURNED, the rest UNKNOWN. */
void window_abandon(struct window *window);

/* The broker closed the channel over a body of `size` bytes (0: it did not say): what is at least as large (or, if
 * nothing is, the largest) ends TOO_LARGE; the rest is for window_abandon. */
void window_too_large(struct window *window, uint64_t size);

#endif
