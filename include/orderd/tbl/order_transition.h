/* What becomes of an order that something is asked of: X(CONDITION, STANDS, VERDICT, DOES). The whole policy of payments,
 * cancels and timers; docs/payments.md tells the same, and a test compares them. Each pair has one row; ANY stands for
 * every state, UNKNOWN is an order that has no row.
 *
 * DOES  NOTHING
 *       APPLY     the order is paid: payment row, stock.settle, event order.paid
 *       REFUND    the order stays as it is: payment row refund_due, event order.refund_due
 *       MISMATCH  the order stays as it is: payment row amount_mismatch, event order.refund_due
 *       CLOSE     the order is closed: stock back in MySQL and, by stock.return, in Redis, event order.closed
 *       REARM     the one local message timer:<order_no> is due when the order is
 * No guard. */
X(PAY, UNKNOWN, ORDER_UNKNOWN, NOTHING)
X(PAY, PENDING, PAID, APPLY) /* also where the time-out is over: whoever comes first has won */
X(PAY, PAID, REFUND_SECOND, REFUND)
X(PAY, CLOSED, REFUND_CLOSED, REFUND)
X(PAY, REJECTED, REFUND_REJECTED, REFUND)

X(PAY_OTHER_AMOUNT, UNKNOWN, ORDER_UNKNOWN, NOTHING)
X(PAY_OTHER_AMOUNT, PENDING, PAYMENT_AMOUNT, MISMATCH)
X(PAY_OTHER_AMOUNT, PAID, PAYMENT_AMOUNT, MISMATCH)
X(PAY_OTHER_AMOUNT, CLOSED, PAYMENT_AMOUNT, MISMATCH)
X(PAY_OTHER_AMOUNT, REJECTED, PAYMENT_AMOUNT, MISMATCH)

X(PAY_KNOWN_APPLIED, ANY, PAID_BEFORE, NOTHING)
X(PAY_KNOWN_REFUND, ANY, REFUND_BEFORE, NOTHING)
X(PAY_KNOWN_AMOUNT, ANY, PAYMENT_AMOUNT, NOTHING) /* its dead letter may have been lost in a crash: once more */
X(PAY_CONFLICT, ANY, PAYMENT_CONFLICT, NOTHING)

X(CANCEL, UNKNOWN, ORDER_UNKNOWN, NOTHING)
X(CANCEL, PENDING, CANCELLED, CLOSE)
X(CANCEL, PAID, CANCEL_PAID, NOTHING)
X(CANCEL, CLOSED, CLOSED_BEFORE, NOTHING)
X(CANCEL, REJECTED, REJECTED_BEFORE, NOTHING)

X(EXPIRE_DUE, UNKNOWN, TIMER_UNKNOWN, NOTHING)
X(EXPIRE_DUE, PENDING, UNPAID, CLOSE)
X(EXPIRE_DUE, PAID, TIMER_PAID, NOTHING)
X(EXPIRE_DUE, CLOSED, CLOSED_BEFORE, NOTHING)
X(EXPIRE_DUE, REJECTED, REJECTED_BEFORE, NOTHING)

X(EXPIRE_EARLY, UNKNOWN, TIMER_UNKNOWN, NOTHING)
X(EXPIRE_EARLY, PENDING, NOT_DUE, REARM)
X(EXPIRE_EARLY, PAID, TIMER_PAID, NOTHING)
X(EXPIRE_EARLY, CLOSED, CLOSED_BEFORE, NOTHING)
X(EXPIRE_EARLY, REJECTED, REJECTED_BEFORE, NOTHING)
