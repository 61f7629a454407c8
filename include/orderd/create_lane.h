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

#include "orderd/lane.h"

extern const struct lane_kind create_lane;

#endif
