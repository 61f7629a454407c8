/* Named fault points: X(NAME, "name"). They exist only in builds with ORDERD_FAULTS; each stands before or after a
 * durable step, so that a test can end or fail the process exactly there. No guard: included once per use. */
X(CREATE_TAKEN, "create.taken")                 /* deliveries in hand, nothing written */
X(CREATE_POISON, "create.poison")               /* an order of user FAULT_POISON_USER was decoded */
X(CREATE_BEFORE_PERSIST, "create.before_persist")
X(CREATE_AFTER_ROWS, "create.after_rows")       /* rows of a large batch sent in binary, their transaction open: rolled back */
X(CREATE_BEFORE_COMMIT, "create.before_commit") /* statements sent without the COMMIT, outcome: rolled back */
X(CREATE_AFTER_COMMIT, "create.after_commit")   /* durable, not acknowledged */
X(CREATE_BEFORE_ACK, "create.before_ack")       /* also after dead letters were confirmed */
X(CREATE_AFTER_ACK, "create.after_ack")
X(DECIDE_BEFORE_COMMIT, "decide.before_commit") /* terminal decision sent, outcome: rolled back */
X(DECIDE_AFTER_COMMIT, "decide.after_commit")   /* tombstone and local messages durable, not acknowledged */
X(RETRY_BEFORE_PUBLISH, "retry.before_publish")
X(RETRY_AFTER_CONFIRM, "retry.after_confirm")   /* in a retry queue for good, the original not acknowledged */
X(RELAY_AFTER_CLAIM, "relay.after_claim")       /* leased, nothing sent */
X(RELAY_AFTER_SEND, "relay.after_send")         /* published or performed, not marked */
X(RELAY_AFTER_MARK, "relay.after_mark")
X(DEAD_BEFORE_PUBLISH, "dead.before_publish")
X(DEAD_AFTER_CONFIRM, "dead.after_confirm")     /* in order.dead for good, the original not acknowledged */
X(MIGRATE_AFTER_STATEMENT, "migrate.after_statement") /* a migration's statement has run, its row is not written */
X(RECONCILE_AFTER_REPAIR, "reconcile.after_repair")   /* findings are mended, the run is not written down as ended */
X(PREHEAT_AFTER_SHARD, "preheat.after_shard")         /* one shard is on sale, the activity is not marked */
X(CHANGE_BEFORE_COMMIT, "change.before_commit") /* changes of orders decided, nothing of them sent, rows locked */
X(CHANGE_AFTER_COMMIT, "change.after_commit")   /* changes of orders durable, their messages not handed on */
X(PREHEAT_AFTER_MARK, "preheat.after_mark")           /* all is on sale and marked, no gate was told */
X(ACTIVITY_AFTER_DATABASE, "activity.after_database") /* start, end, extend: MySQL has it, no shard does */
X(SETTLE_BEFORE_DATABASE, "settle.before_database")   /* all is proven, nothing is changed */
X(SETTLE_AFTER_DATABASE, "settle.after_database")     /* settled, all keys are there */
X(SETTLE_AFTER_SHARD, "settle.after_shard")           /* one shard is removed */
X(REBUILD_AFTER_PAUSE, "rebuild.after_pause")         /* one surviving shard is paused */
X(REBUILD_AFTER_EPOCH, "rebuild.after_epoch")         /* the next epoch is committed, no shard has it */
X(REBUILD_AFTER_SHARD, "rebuild.after_shard")         /* one shard is new, and nothing is in it */
X(REBUILD_AFTER_ADOPT, "rebuild.after_adopt")         /* a page of orders is in their shards */
X(REBUILD_BEFORE_RESUME, "rebuild.before_resume")     /* all is in Redis and verified, and paused */
X(REBUILD_AFTER_RESUME, "rebuild.after_resume")       /* one shard sells */
X(RESTOCK_AFTER_DATABASE, "restock.after_database")   /* a rise: MySQL has it, no shard does */
X(RESTOCK_AFTER_SHARD, "restock.after_shard")         /* one cap is changed */
X(RESTOCK_BEFORE_DATABASE, "restock.before_database") /* a cut: it came off all caps, MySQL still has it */
X(ACTIVITY_AFTER_SHARD, "activity.after_shard")       /* one shard has it, the others and the gates do not */
X(PAYMENT_TAKEN, "payment.taken")
X(PAYMENT_BEFORE_ACK, "payment.before_ack")     /* decided, durable, not acknowledged */
X(PAYMENT_AFTER_ACK, "payment.after_ack")
X(CANCEL_TAKEN, "cancel.taken")
X(CANCEL_BEFORE_ACK, "cancel.before_ack")
X(CANCEL_AFTER_ACK, "cancel.after_ack")
X(RELEASE_TAKEN, "release.taken")
X(RELEASE_BEFORE_ACK, "release.before_ack")     /* closed, durable, not acknowledged */
X(RELEASE_AFTER_ACK, "release.after_ack")
/* walk */
X(WALK_ELECTED, "walk.elected")               /* the activity's lock is held, nothing read */
X(WALK_BEFORE_RECOVER, "walk.before_recover") /* lost messages found, none sent again */
X(WALK_AFTER_RECOVER, "walk.after_recover")   /* in the local message table, not counted */
X(WALK_BEFORE_MEND, "walk.before_mend")       /* returns, settlements, adoptions found, none done */
X(WALK_AFTER_MEND, "walk.after_mend")
X(WALK_AFTER_GIVING_UP, "walk.after_giving_up") /* the decision is durable, not handed over or counted */
X(WALK_BEFORE_RECORD, "walk.before_record")   /* all is done, the walk is not written down */
/* transfers between shards */
X(TRANSFER_AFTER_PLAN, "transfer.after_plan")     /* written down, nothing has moved */
X(TRANSFER_AFTER_LEND, "transfer.after_lend")     /* the units have left one shard and are in none */
X(TRANSFER_AFTER_BORROW, "transfer.after_borrow") /* they have come to the other, the row does not say so */

/* dead letters */
X(DRAIN_BEFORE_COMMIT, "drain.before_commit") /* letters are in the transaction, none is committed */
X(DRAIN_AFTER_COMMIT, "drain.after_commit")   /* their rows are there, nobody knows */
X(DRAIN_BEFORE_ACK, "drain.before_ack")       /* one letter is about to be acknowledged */
X(DISCARD_BEFORE_DECISION, "discard.before_decision") /* the letter's order is to be rejected, nothing is sent */
X(DISCARD_AFTER_DECISION, "discard.after_decision") /* the letter's order is rejected and the letter discarded, nobody was told */
X(DISCARD_AFTER_LETTER, "discard.after_letter")     /* one letter is discarded, the next ones are not */
X(RENEW_AFTER_NUMBER, "renew.after_number")     /* the new order's number is written down, nothing is taken */
X(RENEW_AFTER_DEDUCT, "renew.after_deduct")     /* units are taken for it, its message is not written */
X(EDIT_AFTER_COMMIT, "edit.after_commit")       /* another body is in force, the letter is open */
X(REPLAY_BEFORE_COMMIT, "replay.before_commit") /* one letter's change is composed, nothing of it is sent */
X(REPLAY_AFTER_COMMIT, "replay.after_commit")   /* one letter and its message are committed, the next ones are not */
