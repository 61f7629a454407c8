/* Every outcome has one reason, the same words in log line, table, header, metric label and CLI (DESIGN invariant 7):
 *   X(REASON, "name", WHAT, "sentence")
 * WHAT  SETTLED   nothing is wrong with the message
 *       RETRY     the message's own failure that time may mend: tried again, then decided terminally
 *       DEAD      trying again cannot help: dead letter at once, no stock moves
 *       TERMINAL  decided at once: tombstone and stock given back; a dead letter except for a buyer's second order
 * No guard: included once per use. */

X(CREATED, "created", SETTLED, "the order is durable")
X(DUPLICATE, "duplicate", SETTLED, "the same order was already durable")

X(BODY_TOO_LARGE, "body_too_large", DEAD, "the body is larger than a message of its kind may be")
X(BODY_NOT_JSON, "body_not_json", DEAD, "the body is not one JSON object in UTF-8")
X(MEMBER_DUPLICATE, "member_duplicate", DEAD, "a member appears twice")
X(MEMBER_MISSING, "member_missing", DEAD, "a member is missing")
X(MEMBER_TYPE, "member_type", DEAD, "a member has the wrong type")
X(MEMBER_RANGE, "member_range", DEAD, "a member is out of range")
X(VERSION_UNKNOWN, "version_unknown", DEAD, "the message version is not one that this orderd knows")
X(ORDER_NO_INVALID, "order_no_invalid", DEAD, "order_no is not 1 to 28 of [0-9A-Za-z_], with an optional -r<n>")
X(ORDER_CONFLICT, "order_conflict", DEAD, "the order number exists with other content")
X(AMOUNT_MISMATCH, "amount_mismatch", DEAD, "the amount is not unit price x quantity")
X(SKU_MISMATCH, "sku_mismatch", DEAD, "the SKU is not the activity's")

X(BUYER_HAS_ORDER, "buyer_has_order", TERMINAL, "the buyer has a live order on this mark")
X(ACTIVITY_SETTLED, "activity_settled", TERMINAL, "the activity is settled and takes no more orders")

X(ACTIVITY_UNKNOWN, "activity_unknown", RETRY, "no such activity")
X(STOCK_SHORT, "stock_short", RETRY, "the database has less stock than the order takes")
X(CONSTRAINT, "constraint", RETRY, "the database refused the row")
X(ROW_DELETED, "row_deleted", RETRY, "the order has local messages and no row, so its row was deleted by hand")
X(ERROR_UNKNOWN, "error_unknown", RETRY, "the database answered with an error that orderd does not know")

/* decided by the walk, from the reservation */
X(UNRECOVERABLE, "unrecoverable", TERMINAL, "no message of the order was left, and sent again it did not become a row")

/* decided by a person, from the reservation (orderctl dlq discard) */
X(DISCARDED, "discarded", TERMINAL, "its dead letter was discarded before it became an order")

/* decided when a rejected order is bought anew (orderctl dlq replay), about its new number */
X(SOLD_OUT, "sold_out", TERMINAL, "sold out since: too little stock is left for a new order")
X(SALE_OVER, "sale_over", TERMINAL, "the sale is over, so nothing can be bought anew")
X(NUMBER_GONE, "number_gone", TERMINAL, "Redis is done with the order number, and there was no row of it")

X(DELIVERY_LIMIT, "delivery_limit", DEAD, "the broker gave up: the delivery came back too often")

/* changes of an order: payments, cancels, timers (tbl/order_transition.h) */
X(PAID, "paid", SETTLED, "the payment is applied and the order paid, for good")
X(PAID_BEFORE, "paid_before", SETTLED, "the same payment was applied before")
X(REFUND_SECOND, "refund_second", SETTLED, "another payment had paid the order: this one is to be refunded")
X(REFUND_CLOSED, "refund_closed", SETTLED, "the order was closed before its payment came: it is to be refunded")
X(REFUND_REJECTED, "refund_rejected", SETTLED, "the order had been rejected: its payment is to be refunded")
X(REFUND_BEFORE, "refund_before", SETTLED, "that this payment is to be refunded was decided before")
X(PAYMENT_REF_INVALID, "payment_ref_invalid", DEAD, "payment_ref is not 1 to 64 of printable ASCII without space, quote and backslash")
X(PAYMENT_AMOUNT, "payment_amount", DEAD, "the payment is not of the order's amount: it is to be refunded")
X(PAYMENT_CONFLICT, "payment_conflict", DEAD, "the payment reference is known with another order or amount")
X(CANCELLED, "cancelled", SETTLED, "the order is closed on request, its units go back on sale")
X(CANCEL_PAID, "cancel_paid", SETTLED, "the order is paid, which no cancellation undoes")
X(UNPAID, "unpaid", SETTLED, "the order was not paid in time and is closed, its units go back on sale")
X(NOT_DUE, "not_due", SETTLED, "the order's time-out is not over; its timer comes again when it is")
X(TIMER_PAID, "timer_paid", SETTLED, "the order was paid before its timer came")
X(TIMER_UNKNOWN, "timer_unknown", SETTLED, "a timer names an order that does not exist")
X(CLOSED_BEFORE, "closed_before", SETTLED, "the order was closed before")
X(REJECTED_BEFORE, "rejected_before", SETTLED, "the order was rejected before")
X(ORDER_UNKNOWN, "order_unknown", RETRY, "no such order")
