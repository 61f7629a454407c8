/* Every kind of difference between the ledger in Redis, MySQL and the queues:
 *   X(KIND, "name", ABOUT, MENDER, "sentence", "what repair does, or who does what")
 * ABOUT   ORDER | SHARD | ACTIVITY
 * MENDER  NOBODY  in flight: the ordinary way of an order, seen half-way; no gap
 *         WALK    the daemon's walk mends it by itself, and so does `orderctl reconcile --repair`
 *         REPAIR  only `orderctl reconcile --repair`
 *         PERSON  somebody must look: no program can know which side is right
 * Two live orders on one mark of a buyer have no row here: the unique key uk_live forbids them, whatever Redis says.
 * No guard: included once per use. */

/* an order in the ledger without a row */
X(IN_FLIGHT, "in_flight", ORDER, NOBODY, "reserved, no order row yet, younger than the in-flight window",
  "nothing: its message is on its way")
X(MESSAGE_WAITING, "message_waiting", ORDER, NOBODY, "reserved, no order row yet, its local message waits to be sent",
  "nothing: the relay sends it")
X(RECOVERING, "recovering", ORDER, NOBODY, "reserved, no order row yet, its message was sent again a while ago",
  "nothing until its back-off has passed")
X(BACKLOG, "backlog", ORDER, NOBODY, "reserved, no order row yet, older than the window, but the lanes are not there yet",
  "nothing: its message waits in a queue")
X(LOST_MESSAGE, "lost_message", ORDER, WALK, "reserved, old, and neither an order row nor a message of it is anywhere",
  "sends order.create again, rebuilt from the reservation, by the local message recover:<order_no>")
X(UNRECOVERABLE, "unrecoverable", ORDER, WALK, "reserved, sent again as often as allowed, and still no order row",
  "the walk decides it terminally: rejected, units given back, dead letter")
X(MESSAGE_QUARANTINED, "message_quarantined", ORDER, PERSON, "reserved, no order row, its local message is quarantined",
  "see `orderctl outbox show`, then `orderctl outbox retry` it")

/* an order in the ledger with a row */
X(EFFECT_WAITING, "effect_waiting", ORDER, NOBODY,
  "decided in MySQL within the in-flight window, Redis does not know yet", "nothing: the relay tells Redis")
X(RETURN_DUE, "return_due", ORDER, WALK, "reserved, but the order is closed or rejected: its units did not come back",
  "runs the return that the row recorded again")
X(SETTLE_DUE, "settle_due", ORDER, WALK, "reserved, but the order is paid: its units are not counted as sold",
  "runs the settlement again")
X(OTHER_CONTENT, "other_content", ORDER, PERSON,
  "the reservation and the row of this number are two different purchases",
  "find out which one the buyer made; `orderctl order show` has the row")
X(LEDGER_DAMAGED, "ledger_damaged", ORDER, PERSON, "what Redis stores under this order is not in our format",
  "somebody else writes these keys: stop that, then `orderctl activity rebuild`")

/* a live row that Redis knows otherwise */
X(UNKNOWN_RESERVATION, "unknown_reservation", ORDER, WALK, "a live order that Redis has neither reserved nor sold",
  "adopts it: takes its units from the forfeited ones first, then from those left")
X(MARK_MISSING, "mark_missing", ORDER, WALK, "the order stands, but its buyer's mark is gone from Redis",
  "sets the mark again")
X(MARK_TAKEN, "mark_taken", ORDER, NOBODY, "the order stands, but its buyer's mark is another order's",
  "nothing: MySQL refuses the other order, whose mark then goes, and the walk sets this one's")
X(RETURNED_BUT_LIVE, "returned_but_live", ORDER, PERSON, "the order is live, but Redis has given its units back",
  "its units may be sold twice in Redis; MySQL still refuses that: `orderctl activity rebuild`")
X(SOLD_NOT_PAID, "sold_not_paid", ORDER, PERSON, "Redis counts the order as sold, but it is not paid in MySQL",
  "somebody settled it by hand, or MySQL lost a payment: see the payment; `orderctl activity rebuild` makes Redis follow")
X(WRONG_SHARD, "wrong_shard", ORDER, PERSON, "a live order of a shard that the activity does not have",
  "foreign hands wrote this row: find out what the buyer really bought")
X(RETURN_FORGOTTEN, "return_forgotten", ORDER, WALK,
  "closed or rejected, and Redis has no trace that it ever gave its units back",
  "runs the return that the row recorded again")

/* a shard */
X(SHARD_MISSING, "shard_missing", SHARD, PERSON, "the shard's keys are not in Redis", "`orderctl activity rebuild`")
X(SHARD_DAMAGED, "shard_damaged", SHARD, PERSON, "keys or numbers of the shard are missing or are none",
  "`orderctl activity rebuild`")
X(SHARD_EPOCH, "shard_epoch", SHARD, PERSON, "the shard is of another epoch than the activity",
  "a rebuild was cut short or lost: `orderctl activity rebuild`")
X(SHARD_UNBALANCED, "shard_unbalanced", SHARD, PERSON,
  "the shard's cap is not left + held + sold + forfeited", "`orderctl activity rebuild`")
X(HELD_COUNTER_WRONG, "held_counter_wrong", SHARD, PERSON,
  "the shard's counter of held units is not the sum of its reservations", "`orderctl activity rebuild`")
X(KEYS_WITHOUT_TTL, "keys_without_ttl", SHARD, WALK, "keys of the shard never expire, or at another time than the rest",
  "sets their TTL")
X(TTL_TOO_SHORT, "ttl_too_short", SHARD, WALK, "the shard's keys would vanish while orders may still need them",
  "moves their end of life")
X(FORFEITED_RECLAIMABLE, "forfeited_reclaimable", SHARD, WALK,
  "units are counted as forfeited, but MySQL has them after all",
  "puts them back on sale, once they were seen twice in the same way")

/* an activity */
X(CAP_TOTAL, "cap_total", ACTIVITY, PERSON, "the caps of all shards and what is in transfer are not the total stock",
  "a restock was cut short: `orderctl activity restock`, or `orderctl activity rebuild`")
X(TRANSFER_UNKNOWN, "transfer_unknown", ACTIVITY, PERSON,
  "units are between shards, or more came to shards than left others, and no transfer is under way",
  "a failover forgot half of a transfer: two walks of the daemon repeat it; what they cannot is for `orderctl activity rebuild`")
X(DB_UNBALANCED, "db_unbalanced", ACTIVITY, REPAIR,
  "MySQL: total stock is not available + units of live orders: changed by hand",
  "adds to available, or takes from it, what it is off at one instant; nobody waits for that")
X(STOCK_TOTAL_DIFFERS, "stock_total_differs", ACTIVITY, PERSON,
  "MySQL: the activity and its stock row name different totals", "`orderctl activity restock` to the total that is meant")
X(STOCK_ROW_MISSING, "stock_row_missing", ACTIVITY, PERSON, "MySQL: the activity has no row in activity_stock",
  "it takes no orders: restore the row")
X(OVERSOLD, "oversold", ACTIVITY, PERSON, "MySQL: live orders have more units than there are",
  "restock the difference, or cancel orders")
X(UNEXPLAINED, "unexplained", ACTIVITY, PERSON,
  "the sums of Redis and MySQL differ by more units than orders explain",
  "a counter of a shard is wrong: `orderctl activity rebuild`")
