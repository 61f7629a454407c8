/* What orderload pay does with an order: X(PLAN, "name", payments, FIRST, WITH, AFTER, END).
 *
 * payments  how many payment references it sends
 * FIRST     kind of tbl/load_publish.h that is sent when the order is found pending; ORDER: nothing
 * WITH      sent at once behind it, through another queue perhaps; ORDER: nothing
 * AFTER     sent when the order is pending no more; ORDER: nothing
 * END       how the order must end where all was sent in time: PAID, CLOSED, or EITHER (they race)
 * No guard: included once per use. */
X(UNPAID, "unpaid", 0, ORDER, ORDER, ORDER, CLOSED)
X(PAY, "pay", 1, PAYMENT, ORDER, ORDER, PAID)
X(AGAIN, "again", 1, PAYMENT, PAYMENT_AGAIN, ORDER, PAID)
X(SECOND, "second", 2, PAYMENT, PAYMENT_SECOND, ORDER, PAID)
X(WRONG, "wrong", 1, PAYMENT_WRONG, ORDER, ORDER, CLOSED)
X(LATE, "late", 1, ORDER, ORDER, PAYMENT_LATE, CLOSED)
X(CANCEL, "cancel", 0, CANCEL, ORDER, ORDER, CLOSED)
X(RACE, "race", 1, CANCEL, PAYMENT, ORDER, EITHER)
X(PAY_CANCEL, "pay_cancel", 1, PAYMENT, ORDER, CANCEL, PAID)
