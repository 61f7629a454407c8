/* What was decided about a payment, as the column payment.outcome has it: X(OUTCOME, "name"). No guard. */
X(APPLIED, "applied")                 /* it pays its order */
X(REFUND_DUE, "refund_due")           /* no order can use it */
X(AMOUNT_MISMATCH, "amount_mismatch") /* it is not what its order costs */
