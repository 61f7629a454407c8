/* The payment and the cancel lane: messages of order.paid and order.cancel change orders (DESIGN section 8,
 * docs/payments.md). Two kinds of lane on the engine (lane_engine.h), a batch of either one order_change_run.
 *
 * Crash windows, and what makes each harmless:
 *   after take, before COMMIT     nothing is durable; the broker delivers again
 *   COMMIT sent, reply lost       the same batch runs again; the rows tell what was decided
 *   after COMMIT, before ack      delivered again, recognised by payment_ref or by the order's state, acknowledged
 *   retry confirmed, no ack       tried twice; recognised in the same way
 *   dead letter confirmed, no ack dead-lettered twice; the drain recognises it by message id and body
 *   after ack                     done */
#ifndef ORDERD_PAYMENT_LANE_H
#define ORDERD_PAYMENT_LANE_H

#include "orderd/lane.h"

extern const struct lane_kind payment_lane, cancel_lane;

#endif
