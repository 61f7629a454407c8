/* What is told on the exchange `order.event`: X(EVENT, "routing.key", "prose"). Its local message has the topic
 * "event.<routing key>", a row of tbl/effect.h. No guard: included once per use. */
X(CREATED, "order.created", "orders are durable and wait for their payment")
X(REJECTED, "order.rejected", "orders were decided to never become live")
X(CLOSED, "order.closed", "orders ended unpaid or cancelled; their units go back on sale")
X(PAID, "order.paid", "orders are paid, for good")
X(REFUND_DUE, "order.refund_due", "money came that no order can use; whoever took it must give it back")
