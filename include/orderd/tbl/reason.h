/* Every outcome has one reason, the same words in log line, table, header, metric label and CLI (DESIGN invariant 7):
 *   X(REASON, "name", WHAT, "sentence")
 * WHAT  SETTLED   nothing is wrong with the message
 *       RETRY     the message's own failure that time may mend: tried again, then decided terminally
 *       DEAD      trying again cannot help: dead letter at once, no stock moves
 *       TERMINAL  decided at once: tombstone and stock given back; a dead letter except for a buyer's second order
 * No guard: included once per use. */

X(CREATED, "created", SETTLED, "the order is durable")
X(DUPLICATE, "duplicate", SETTLED, "the same order was already durable")

X(BODY_TOO_LARGE, "body_too_large", DEAD, "the body is over 16 KiB")
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
X(ERROR_UNKNOWN, "error_unknown", RETRY, "the database answered with an error that orderd does not know")

X(DELIVERY_LIMIT, "delivery_limit", DEAD, "the broker gave up: the delivery came back too often")
