/* Every event the programs log: X(EVENT, LEVEL, per_second, "name", "sentence").
 *
 * per_second: lines of this event written per second (per process) before the rest of that second is only counted; the
 * next line carries suppressed=N. -S: one line in S seconds, for what goes on as long as an outage does. 0: never
 * limited. No guard: included once per use. */

/* process */
X(STARTED, INFO, 0, "started", "process is up")
X(WAITING, WARNING, -5, "waiting", "a server is away at the start; waiting for it")
X(READY, INFO, 0, "ready", "all lanes consume")
X(NOT_READY, WARNING, 1, "not_ready", "not all lanes consume; the lines before say why")
X(QUIET, INFO, 0, "quiet", "takes nothing more; finishes what is in hand, and waits for SIGCONT or `orderctl resume`")
X(RESTS, INFO, 0, "rests", "quiet, and nothing is in hand any more")
X(RESUMED, INFO, 0, "resumed", "no longer quiet: takes work again")
X(PROCESS_STATE, INFO, 0, "process_state", "what the process does; a line for each of its threads follows")
X(THREAD_STATE, INFO, 0, "thread_state", "what a thread does")
X(THREAD_STUCK, ERROR, -10, "thread_stuck", "a thread does not go round any more: the service manager is no longer told that all is well")
X(STOPPING, INFO, 0, "stopping", "no new work is taken; what is in hand is finished")
X(STOPPED, INFO, 0, "stopped", "process ends")
X(STOP_FORCED, WARNING, 0, "stop_forced", "ends at once; unfinished deliveries go back to the broker")
X(RELOADED, INFO, 0, "reloaded", "configuration was reloaded")
X(RELOAD_REFUSED, ERROR, 0, "reload_refused", "configuration has an error; the one in force stays")
X(CONFIG_OPEN, WARNING, 0, "config_open", "everybody on this machine may change a file of the configuration; see `orderctl doctor`")
X(SECRET_OPEN, WARNING, 0, "secret_open", "everybody on this machine may read a password's file; see `orderctl doctor`")
X(SETUP_REFUSED, ERROR, 0, "setup_refused", "schema, topology, TLS or an account is wrong; mend it, then start again")
X(RATE, INFO, 0, "rate", "what was done in the last second")

/* the admin endpoint */
X(ADMIN_UP, INFO, 0, "admin_up", "answers HTTP")
X(ADMIN_DOWN, WARNING, -60, "admin_down", "cannot answer HTTP; orders are taken all the same, and it is tried again")

/* connections */
X(BROKER_UP, INFO, 5, "broker_up", "connected to the broker")
X(BROKER_DOWN, WARNING, -5, "broker_down", "broker connection lost or refused; connecting again")
X(BROKER_HOST_DOWN, WARNING, 5, "broker_host_down", "one of broker.hosts cannot be used, or was lost; for a while it is tried after the others")
X(BROKER_HOST_UP, INFO, 5, "broker_host_up", "one of broker.hosts that could not be used was reached again")
X(BROKER_BLOCKED, WARNING, 5, "broker_blocked", "broker takes no publishes (memory or disk alarm)")
X(BROKER_UNBLOCKED, INFO, 5, "broker_unblocked", "broker takes publishes again")
X(BROKER_CANCELLED, WARNING, 5, "broker_cancelled", "broker cancelled our consumer; subscribing again")
X(BROKER_STUCK, ERROR, 5, "broker_stuck", "a call into the broker's library took too long; its socket was shut down")
X(BROKER_WARNING, WARNING, 5, "broker_warning", "the broker is usable but not as it should be")
X(BROKER_NOTE, INFO, 5, "broker_note", "what the broker does not show has to be looked up once")
X(DELAY_QUEUE, ERROR, 20, "delay_queue", "a pay time-out has no delay queue: only the sweep closes its orders; run `orderctl topology apply`")
X(DB_UP, INFO, 5, "db_up", "connected to the database")
X(DB_DOWN, WARNING, -5, "db_down", "database is away; the work in hand waits, no order is harmed")
X(DB_SWITCHED, WARNING, 5, "db_switched", "another server of mysql.hosts is the primary now")
X(DB_WARNING, WARNING, 5, "db_warning", "the database is usable but not as it should be")

X(KV_UP, INFO, 5, "kv_up", "connected to Redis")
X(KV_DOWN, WARNING, 5, "kv_down", "Redis is away; connecting again")
X(KV_WAIT_SHORT, WARNING, 1, "kv_wait_short", "too few replicas confirmed what was written in Redis; a failover now would lose it, and the walk would mend it")

/* relay */
X(RELAY_FAILED, WARNING, 20, "relay_failed", "local message could not be sent; it is tried again")
X(RELAY_QUARANTINED, ERROR, 20, "relay_quarantined", "local message is set aside until an operator acts")
X(RELAY_LEASE_LOST, WARNING, 5, "relay_lease_lost", "rows were taken over by another process before they were marked")
X(RELAY_WAITING, WARNING, 1, "relay_waiting", "local messages wait for a server")
X(RELAY_UNROUTABLE, ERROR, 5, "relay_unroutable", "no queue takes these messages: run `orderctl topology apply`; they wait")
X(STOCK_RETURNED, DEBUG, 0, "stock_returned", "units are back in their shard")
X(STOCK_CUT, ERROR, 20, "stock_cut", "units given back were over the shard's cap and were dropped")
X(STOCK_MISSING, ERROR, 5, "stock_missing", "the shard is not in Redis or is damaged; its orders wait")
X(STOCK_SETTLED, DEBUG, 0, "stock_settled", "units of a paid order are sold in their shard")
X(STOCK_PAID_GONE, ERROR, 20, "stock_paid_gone", "a paid order's units had been given back in Redis; they may be sold again")

/* lanes */
/* activities */
X(ACTIVITY_MOVED, INFO, 0, "activity_moved", "a sale began or ended by time")
X(ACTIVITY_TOLD, INFO, 20, "activity_told", "shards and gates were told what the database says of an activity")
X(ACTIVITY_SHARDS, ERROR, -30, "activity_shards", "shards of an activity sell nothing until it is rebuilt; see orderctl activity show")
X(CALENDAR_FAILED, WARNING, -5, "calendar_failed", "sales may begin, end and be announced late; tried again")

/* create lane */
X(ORDER_CREATED, DEBUG, 0, "order_created", "order is durable")
X(ORDER_DUPLICATE, DEBUG, 0, "order_duplicate", "the same order was already durable")
X(ORDER_FAILED, WARNING, 200, "order_failed", "message cannot become an order now; `next` says what comes")
X(STOCK_SHORT, ERROR, 20, "stock_short", "the database has less stock than was sold; what is missing is forfeited")
X(MESSAGE_REFUSED, WARNING, 200, "message_refused", "message cannot be understood; it goes to the dead letters")
X(BATCH_RETRIED, INFO, 5, "batch_retried", "transaction met a conflict and was run again")
X(BATCH_SPLIT, INFO, 5, "batch_split", "batch was halved to find the order at fault")
X(LANE_PAUSED, ERROR, -5, "lane_paused", "lane stopped consuming until this is mended; no order is harmed")
X(LANE_HOLDING, WARNING, -5, "lane_holding", "lane holds its batch and waits for a server")
X(LANE_PARKED, WARNING, -5, "lane_parked", "retries or dead letters cannot be published now; they wait unacknowledged and the sale goes on")
X(LANE_RETURNED, WARNING, 1, "lane_returned", "lane gave its deliveries back to the broker and waits")
X(LANE_CAREFUL, ERROR, 1, "lane_careful", "messages came back several times, as after crashes; they are now taken one at a time")
X(LANE_CONFIDENT, INFO, 1, "lane_confident", "the suspicious messages are through; the full window is used again")
X(LANE_OVER, INFO, 0, "lane_over", "the queue that was one too many is deleted; its lane rests")
X(LANE_RESUMED, INFO, 1, "lane_resumed", "lane goes on")

/* changes of orders */
X(ORDER_UNPAID, DEBUG, 0, "order_unpaid", "order was not paid in time and is closed")
X(TIMER_UNKNOWN, WARNING, 5, "timer_unknown", "timer names an order that does not exist")
X(TIMER_FAILED, WARNING, 20, "timer_failed", "an order of a timer cannot be closed now; `next` says what comes")
X(ORDERS_SWEPT, ERROR, 0, "orders_swept", "overdue orders were closed whose timers did not come; see why timers are lost or late")
X(SWEEP_FAILED, WARNING, -5, "sweep_failed", "the sweep could not look for overdue orders, or close one; it goes on at its next turn")
X(CHANGE_RETRIED, INFO, 5, "change_retried", "changes of orders met a conflict and are run again")
X(STOCK_CAPPED, ERROR, 20, "stock_capped", "units of closed orders were over the total in the database and were dropped; reconcile this activity")
X(ORDER_CHANGED, DEBUG, 0, "order_changed", "order was paid or cancelled")
X(REFUND_DUE, WARNING, 200, "refund_due", "payment that no order can use; it must be refunded")
X(CHANGE_VOID, DEBUG, 0, "change_void", "payment or cancellation changes nothing (any more)")
X(CHANGE_FAILED, WARNING, 200, "change_failed", "payment or cancellation cannot be done now; `next` says what comes")
/* the fleet and the survey */
X(FLEET_FAILED, WARNING, -5, "fleet_failed", "this replica could not tell the others that it is there; tried again")
X(SURVEY_FAILED, WARNING, -5, "survey_failed", "a part of the survey could not be read and is shown as unknown; tried again")
X(SURVEYOR, INFO, 0, "surveyor", "this process surveys the sale for all")
/* walk */
X(WALK_DONE, INFO, 20, "walk_done", "an activity was walked, and something was found")
X(WALK_QUIET, DEBUG, 0, "walk_quiet", "an activity was walked, all is in order")
X(WALK_FAILED, WARNING, -5, "walk_failed", "a walk was cut short; the activity stays due")
X(WALK_BLIND, WARNING, -5, "walk_blind", "how much waits in the create queue is unknown, so lost messages are not looked for")
X(WALK_RECOVERED, WARNING, 20, "walk_recovered", "an order's message was lost; it is sent again")
X(WALK_NOT_MENDED, WARNING, 20, "walk_not_mended", "a repair did not succeed; the next walk tries again")
X(WALK_GAVE_UP, ERROR, 20, "walk_gave_up", "the order was sent again as often as allowed and is still not there; it is rejected, its stock goes back")
X(WALK_LEVELLED, INFO, 5, "walk_levelled", "units went from full shards to empty ones")
X(WALK_NEEDS_PERSON, ERROR, 20, "walk_needs_person", "something is wrong that no program can put right; see `orderctl reconcile`")
