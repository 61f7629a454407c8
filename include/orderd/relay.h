/* The relay: performs what the local message table asks for (DESIGN section 7). One thread per process with connections
 * of its own to the database, to the broker (publishing) and to Redis.
 *
 * It sends what the lanes hand over at once, and polls for what nobody sent. A row is leased to the process while it is
 * being sent, and every mark repeats the lease in its condition, so a relay that was paused cannot overwrite what
 * another one did. Where a crash strikes between the steps:
 *
 *   claim not committed            nothing happened
 *   claimed, not sent              due again when the lease ends
 *   sent, not confirmed or marked  sent again when the lease ends; receivers know the message id
 *   marked                         done
 *
 * An attempt counts only where the row itself is at fault. While the broker or Redis is away or takes nothing, while a
 * queue or an exchange is missing, rows wait. */
#ifndef ORDERD_RELAY_H
#define ORDERD_RELAY_H

#include <stdint.h>
#include "orderd/lane.h"
#include "orderd/lane_health.h"
#include "orderd/local_message.h"

struct relay;

/* Starts the thread "relay". shared->conf and instance are used; its stop is relay_stop's alone, so that lanes can be
 * drained first. */
struct relay *relay_start(struct lane_shared *shared);

/* Under whom and for how long (ms) messages must be born leased to be handed over; the text is constant for the life of
 * the relay. Where relay is NULL: "" and 0, so that they are due at once, for whoever polls. */
const char *relay_owner(const struct relay *relay);
int64_t relay_lease_ms(const struct relay *relay, const struct conf *conf);

/* Hands committed messages over, to be sent at once; empties the list. Any thread; never blocks on a server. Where too
 * many wait already, or relay is NULL, they are dropped here, and sent when their lease has ended. */
void relay_offer(struct relay *relay, struct local_messages *list);

enum lane_state relay_state(const struct relay *relay);
void relay_condition(struct relay *relay, struct lane_condition *out); /* with the reason */
int64_t relay_beat(const struct relay *relay);

/* The same of its other thread, "cleaner", which deletes what was sent long ago. */
void relay_cleaner_condition(struct relay *relay, struct lane_condition *out);
int64_t relay_cleaner_beat(const struct relay *relay);

/* For how long, in ms, the oldest pending row has been due (local_message_oldest), as of the last poll. */
int64_t relay_oldest_ms(const struct relay *relay);

/* Tells it to send what was handed over, as far as its servers are there, and to end; relay_state becomes STOPPED. */
void relay_ask_stop(struct relay *relay);

/* relay_ask_stop, waits for the end (a server's time-outs at most), and frees it. */
void relay_stop(struct relay **relay);

#endif
