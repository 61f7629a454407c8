/* What orderload publishes: X(KIND, "name", "label", dead). dead: orderd must put it into order.dead.
 * No guard: included once per use. */
X(ORDER, "orders", "orders published", false)
X(DUPLICATE, "duplicates", "duplicates of orders", false)
X(MALFORMED, "malformed", "malformed bodies", true)
X(OVERSIZED, "oversized", "oversized bodies", true)
X(FOREIGN, "foreign", "orders of no activity", true)
/* what a payment service sends */
X(PAYMENT, "payments", "payments", false)
X(PAYMENT_AGAIN, "payments_again", "the same payments again", false)
X(PAYMENT_SECOND, "payments_second", "second payments of an order", false)
X(PAYMENT_WRONG, "payments_wrong", "payments of a wrong amount", true)
X(PAYMENT_LATE, "payments_late", "payments after the order was closed", false)
X(CANCEL, "cancels", "cancellations", false)
