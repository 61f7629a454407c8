/* What a local message's topic means: X("topic", KIND, "prose")
 *   PUBLISH_ORDER  to exchange `order`, routing key = topic; message id = what follows the key's first ':'
 *   PUBLISH_EVENT  to exchange `order.event`, routing key = topic; message id = the whole key
 *   STOCK_RETURN   the script `return` in Redis; the payload is JSON (stock_effect.h)
 * A topic that is not here is quarantined at once. No guard: included once per use. */
X("order.create", PUBLISH_ORDER, "an order message, from a web tier's own transaction or from recovery")
X("order.paid", PUBLISH_ORDER, "a payment, from a payment service's own transaction")
X("order.cancel", PUBLISH_ORDER, "a cancellation")
X("order.dead", PUBLISH_ORDER, "a dead letter decided in a transaction")
X("order.rejected", PUBLISH_EVENT, "an order was decided to never become live")
X("stock.return", STOCK_RETURN, "units go back to their shard in Redis")
