/* States of an order: X(STATUS, "name", live). Live ones hold their buyer's mark and count against the stock.
 * pending -> paid | closed; paid, closed and rejected are final. No guard. */
X(PENDING, "pending", true)
X(PAID, "paid", true)
X(CLOSED, "closed", false)
X(REJECTED, "rejected", false)
