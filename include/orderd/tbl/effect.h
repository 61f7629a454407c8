/* What a local message's topic means: X("topic", KIND, "prose")
 *   PUBLISH_ORDER  to exchange `order`, routing key = topic (for order.create: create.queue); message id = what follows
 *                  the key's first ':'
 *   PUBLISH_EVENT  to exchange `order.event`; topic and key begin with "event." (an event may have the name of a message
 *                  that others send), the rest of them is routing key and message id
 *   STOCK_RETURN   the script `return` in Redis for each order of the payload (stock_effect.h)
 *   STOCK_SETTLE   the script `settle` in Redis, in the same way
 * A '*' at the end of a topic stands for a decimal number of 1 to 10 digits. A topic that is not here is quarantined at
 * once. No guard: included once per use. */
X("order.create", PUBLISH_ORDER, "an order message, from a web tier's own transaction or from recovery")
X("order.paid", PUBLISH_ORDER, "a payment, from a payment service's own transaction")
X("order.cancel", PUBLISH_ORDER, "a cancellation")
X("order.dead", PUBLISH_ORDER, "a dead letter decided in a transaction")
X("order.unpaid", PUBLISH_ORDER, "a timer that is due when its row is")
X("order.unpaid.*", PUBLISH_ORDER, "a timer, through the delay queue of that many ms")
X("event.order.created", PUBLISH_EVENT, "orders are durable")
X("event.order.rejected", PUBLISH_EVENT, "orders were decided to never become live")
X("order.rejected", PUBLISH_EVENT, "the same, as rows were called before an upgrade")
X("event.order.closed", PUBLISH_EVENT, "orders ended unpaid or cancelled")
X("event.order.paid", PUBLISH_EVENT, "orders are paid")
X("event.order.refund_due", PUBLISH_EVENT, "money came that no order can use")
X("stock.return", STOCK_RETURN, "units go back to their shard in Redis")
X("stock.settle", STOCK_SETTLE, "units of paid orders go from reserved to sold in Redis")
