/* The create lane: order messages become order rows (DESIGN section 6). One thread with its own three connections
 * (consume, publish, database); lanes share nothing but counters and configuration.
 *
 * Crash windows, and what makes each harmless:
 *   after take, before COMMIT     nothing is durable; the broker delivers again
 *   COMMIT sent, reply lost       the same batch runs again; the unique keys tell what is already there
 *   after COMMIT, before ack      delivered again, recognised as the same order, acknowledged
 *   decision committed, no ack    delivered again, the tombstone says that it is decided; the relay finds the messages
 *   retry confirmed, no ack       retried twice; the keys recognise the copy
 *   dead letter confirmed, no ack dead-lettered twice; the drain recognises it by message id and body
 *   after ack                     done */
#ifndef ORDERD_CREATE_LANE_H
#define ORDERD_CREATE_LANE_H

#include <stdint.h>
#include "orderd/lane.h"

struct create_lane;

/* Starts the thread. index from 0; names the thread "create.<index>". */
struct create_lane *create_lane_start(struct lane_shared *shared, unsigned index);

enum lane_state create_lane_state(const struct create_lane *lane);

/* When the lane last went round its loop or waited for something by plan, in monotonic ms. A lane whose servers answer
 * or are away stays under about mysql.read_timeout + broker.call_timeout. */
int64_t create_lane_beat(const struct create_lane *lane);

/* Waits for the thread to end (see lane_shared.stop) and frees it. */
void create_lane_join(struct create_lane **lane);

#endif
