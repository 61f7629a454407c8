/* The fixed names of the broker topology (DESIGN section 3): X(NAME, "name"). No guard. */
X(EXCHANGE_ORDER, "order")
X(EXCHANGE_EVENT, "order.event")
X(QUEUE_CREATE, "order.create")
X(QUEUE_PAID, "order.paid")
X(QUEUE_CANCEL, "order.cancel")
X(QUEUE_UNPAID, "order.unpaid")
X(QUEUE_DEAD, "order.dead")
