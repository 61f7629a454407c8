/* What became of an order that left the ledger: X(GONE, "name"), the words in the hash `gone`. No guard: included once
 * per use. */
X(RETURNED, "returned")   /* its units went back into stock */
X(FORFEITED, "forfeited") /* units of it did not come back: the database never had them */
X(REFUSED, "refused")     /* it never held any and never may */
X(SOLD, "sold")           /* paid */
