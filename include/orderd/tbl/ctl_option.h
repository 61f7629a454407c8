/* The options of orderctl's commands:
 *
 *   X(command, name, "spelling", TYPE, "VALUE", least, most, default, "what for")
 *
 * command   the id of a row of tbl/ctl_command.h; its options stand in the order of its usage line
 * TYPE      FLAG      no value; default NULL
 *           NUMBER    a decimal number from least to most
 *           DURATION  such as 15m, from least to most ms
 *           TEXT      least to most bytes
 *           WHEN      2027-11-11T10:00:00Z, now, +5m
 *           PAST      2027-11-11T10:00:00Z, now, -5m
 *           CHOICE    one of the words that VALUE lists: "a|b|c"
 *           CHOICES   some of them, with commas between
 * default   text as it would be written; "": it may be left out; NULL: it must be given (but for a FLAG)
 * No guard: included once per use. */
X(migrate_up, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only show what would be applied")

X(topology_apply, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only show what would be made")

X(activity_create, id, "id", NUMBER, "ID", 1, INT64_MAX, NULL, "number of the activity")
X(activity_create, title, "title", TEXT, "TEXT", 1, 800, NULL, "what it is called, at most 200 characters")
X(activity_create, sku, "sku", NUMBER, "ID", 1, INT64_MAX, NULL, "what is sold")
X(activity_create, price, "price", NUMBER, "MINOR", 0, ORDER_AMOUNT_MAX, NULL, "price of one unit, in minor units")
X(activity_create, currency, "currency", TEXT, "CUR", 3, 3, NULL, "three capital letters, as in ISO 4217")
X(activity_create, stock, "stock", NUMBER, "N", 1, ACTIVITY_STOCK_MAX, NULL, "units on sale")
X(activity_create, starts, "starts", WHEN, "WHEN", 0, 0, NULL, "first instant of the sale")
X(activity_create, ends, "ends", WHEN, "WHEN", 0, 0, NULL, "first instant after it")
X(activity_create, limit, "limit", NUMBER, "N", 1, ACTIVITY_LIMIT_MAX, "1", "units that one user may buy")
X(activity_create, shards, "shards", NUMBER, "N", 1, ACTIVITY_SHARDS_MAX, "1", "parts that the stock is split into in Redis")
X(activity_create, pay_timeout, "pay-timeout", DURATION, "TIME", ACTIVITY_PAY_MIN_MS, ACTIVITY_PAY_MAX_MS, "15m",
  "time to pay before the order is closed")
X(activity_create, free_amount, "free-amount", FLAG, "", 0, 0, NULL, "an order's amount may differ from the price (coupons)")
X(activity_create, no_rebuy, "no-rebuy", FLAG, "", 0, 0, NULL, "who did not pay in time may not buy again")
X(activity_create, no_reservations, "no-reservations", FLAG, "", 0, 0, NULL,
  "the web tier takes stock without the deduct script")
X(activity_create, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only check and show what would be written")

X(activity_approve, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only say whether it could be approved")

X(activity_preheat, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only look, and show what would be done")

X(activity_start, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only say whether it could be started")

X(activity_end, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only say whether it could be ended")

X(activity_extend, ends, "ends", WHEN, "WHEN", 0, 0, NULL, "the new end: first instant after the sale")
X(activity_extend, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only say whether it could be extended")

X(activity_restock, stock, "stock", NUMBER, "N", 1, ACTIVITY_STOCK_MAX, NULL, "units from now on, what is sold included")
X(activity_restock, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only look, and show what would be done")

X(activity_rebuild, drain, "drain", DURATION, "TIME", 0, 86400000, "60s",
  "how long to wait for accepted orders to become rows")
X(activity_rebuild, force, "force", FLAG, "", 0, 0, NULL, "go on even where some may still be on their way")
X(activity_rebuild, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only look and count, and show what would be done")

X(order_cancel, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only say what would become of it")

X(activity_settle, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only look whether it could be settled")

X(outbox_list, state, "state", CHOICE, "pending|sent|quarantined", 0, 0, "", "only those in this state")
X(outbox_list, topic, "topic", TEXT, "TOPIC", 1, 64, "", "only those of this topic")
X(outbox_list, key, "key", TEXT, "PREFIX", 1, LOCAL_MESSAGE_KEY_MAX, "", "only those whose key begins so")
X(outbox_list, since, "since", PAST, "WHEN", 0, 0, "", "only those created then or later")
X(outbox_list, until, "until", PAST, "WHEN", 0, 0, "", "only those created before")
X(outbox_list, due, "due", FLAG, "", 0, 0, NULL, "only pending ones that may be sent now, and that nobody is sending")
X(outbox_list, limit, "limit", NUMBER, "N", 0, INT64_MAX, "100", "list at most N; 0: all")

X(outbox_retry, all_quarantined, "all-quarantined", FLAG, "", 0, 0, NULL, "all that are quarantined now")
X(outbox_retry, topic, "topic", TEXT, "TOPIC", 1, 64, "", "with --all-quarantined: only those of this topic")
X(outbox_retry, sent, "sent", FLAG, "", 0, 0, NULL,
  "of those that are named also what was sent: sends it again, so its receivers must know it by its message id")
X(outbox_retry, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only show what would be done")

X(outbox_purge, state, "state", CHOICE, "sent|quarantined", 0, 0, "", "delete those in this state; needed where none is named")
X(outbox_purge, older_than, "older-than", DURATION, "TIME", 0, INT64_C(3650) * 86400000, "",
  "only those that were sent or quarantined that long ago")
X(outbox_purge, topic, "topic", TEXT, "TOPIC", 1, 64, "", "only those of this topic")
X(outbox_purge, key, "key", TEXT, "PREFIX", 1, LOCAL_MESSAGE_KEY_MAX, "", "only those whose key begins so")
X(outbox_purge, since, "since", PAST, "WHEN", 0, 0, "", "only those created then or later")
X(outbox_purge, until, "until", PAST, "WHEN", 0, 0, "", "only those created before")
X(outbox_purge, confirm, "confirm", NUMBER, "N", 0, INT64_MAX, "", "quarantined ones: the number of rows that --dry-run named")
X(outbox_purge, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only count what would be deleted")

X(dlq_drain, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only say how many letters wait in the queue")

X(dlq_stats, by, "by", CHOICES, "state|reason|queue|activity|minute|hour|day", 0, 0, "",
  "count by these, with commas between; without it by state,reason,queue,activity")
X(dlq_stats, state, "state", CHOICE, "open|replayed|resolved|discarded", 0, 0, "", "only those in this state")
X(dlq_stats, reason, "reason", TEXT, "REASON", 1, 40, "", "only those of this reason")
X(dlq_stats, queue, "queue", TEXT, "QUEUE", 1, 255, "", "only those that were in this queue")
X(dlq_stats, activity, "activity", NUMBER, "ID", 1, INT64_MAX, "", "only those of this activity")
X(dlq_stats, order, "order", TEXT, "NO", 1, 40, "", "only those of this order number")
X(dlq_stats, message_id, "message-id", TEXT, "TEXT", 1, 255, "", "only those of this message id")
X(dlq_stats, since, "since", PAST, "WHEN", 0, 0, "", "only those that died then or later")
X(dlq_stats, until, "until", PAST, "WHEN", 0, 0, "", "only those that died before")

X(dlq_list, state, "state", CHOICE, "open|replayed|resolved|discarded", 0, 0, "", "only those in this state")
X(dlq_list, reason, "reason", TEXT, "REASON", 1, 40, "", "only those of this reason")
X(dlq_list, queue, "queue", TEXT, "QUEUE", 1, 255, "", "only those that were in this queue")
X(dlq_list, activity, "activity", NUMBER, "ID", 1, INT64_MAX, "", "only those of this activity")
X(dlq_list, order, "order", TEXT, "NO", 1, 40, "", "only those of this order number")
X(dlq_list, message_id, "message-id", TEXT, "TEXT", 1, 255, "", "only those of this message id")
X(dlq_list, since, "since", PAST, "WHEN", 0, 0, "", "only those that died then or later")
X(dlq_list, until, "until", PAST, "WHEN", 0, 0, "", "only those that died before")
X(dlq_list, limit, "limit", NUMBER, "N", 0, INT64_MAX, "100", "list at most N; 0: all")

X(dlq_show, state, "state", CHOICE, "open|replayed|resolved|discarded", 0, 0, "", "only those in this state")
X(dlq_show, reason, "reason", TEXT, "REASON", 1, 40, "", "only those of this reason")
X(dlq_show, queue, "queue", TEXT, "QUEUE", 1, 255, "", "only those that were in this queue")
X(dlq_show, activity, "activity", NUMBER, "ID", 1, INT64_MAX, "", "only those of this activity")
X(dlq_show, order, "order", TEXT, "NO", 1, 40, "", "only those of this order number")
X(dlq_show, message_id, "message-id", TEXT, "TEXT", 1, 255, "", "only those of this message id")
X(dlq_show, since, "since", PAST, "WHEN", 0, 0, "", "only those that died then or later")
X(dlq_show, until, "until", PAST, "WHEN", 0, 0, "", "only those that died before")
X(dlq_show, all, "all", FLAG, "", 0, 0, NULL, "every letter of the table")

X(dlq_history, who, "who", TEXT, "NAME", 1, 200, "", "only what NAME did: name@host, or a name at any host")
X(dlq_history, action, "action", CHOICE,
  "drained|met_again|died_again|replayed|renewing|renewed|refused|edited|resolved|rejects_order|discarded|restored|imported", 0, 0, "",
  "only what was done so")
X(dlq_history, since, "since", PAST, "WHEN", 0, 0, "", "only what was done then or later")
X(dlq_history, until, "until", PAST, "WHEN", 0, 0, "", "only what was done before")
X(dlq_history, limit, "limit", NUMBER, "N", 0, INT64_MAX, "100", "show the last N lines; 0: all")

X(dlq_replay, state, "state", CHOICE, "open", 0, 0, "", "those that are chosen by options are open ones, with or without this")
X(dlq_replay, reason, "reason", TEXT, "REASON", 1, 40, "", "only those of this reason")
X(dlq_replay, queue, "queue", TEXT, "QUEUE", 1, 255, "", "only those that were in this queue")
X(dlq_replay, activity, "activity", NUMBER, "ID", 1, INT64_MAX, "", "only those of this activity")
X(dlq_replay, order, "order", TEXT, "NO", 1, 40, "", "only those of this order number")
X(dlq_replay, message_id, "message-id", TEXT, "TEXT", 1, 255, "", "only those of this message id")
X(dlq_replay, since, "since", PAST, "WHEN", 0, 0, "", "only those that died then or later")
X(dlq_replay, until, "until", PAST, "WHEN", 0, 0, "", "only those that died before")
X(dlq_replay, all, "all", FLAG, "", 0, 0, NULL, "every open letter")
X(dlq_replay, confirm, "confirm", NUMBER, "N", 0, INT64_MAX, "", "do it, where N letters would be replayed or resolved")
X(dlq_replay, rate, "rate", NUMBER, "N", 1, 100000, "20", "send N a second, in the order in which they are named")
X(dlq_replay, max, "max", NUMBER, "N", 1, 1000, "3", "refuse what was replayed, or bought anew, N times and came back")
X(dlq_replay, edit, "edit", TEXT, "FILE", 1, 900, "", "of one letter: with the body that is in FILE, or - for standard input")
X(dlq_replay, editor, "editor", FLAG, "", 0, 0, NULL, "the same, with the body that you make of it in $VISUAL or $EDITOR")

X(dlq_discard, state, "state", CHOICE, "open", 0, 0, "", "those that are chosen by options are open ones, with or without this")
X(dlq_discard, reason, "reason", TEXT, "REASON", 1, 40, "", "only those of this reason")
X(dlq_discard, queue, "queue", TEXT, "QUEUE", 1, 255, "", "only those that were in this queue")
X(dlq_discard, activity, "activity", NUMBER, "ID", 1, INT64_MAX, "", "only those of this activity")
X(dlq_discard, order, "order", TEXT, "NO", 1, 40, "", "only those of this order number")
X(dlq_discard, message_id, "message-id", TEXT, "TEXT", 1, 255, "", "only those of this message id")
X(dlq_discard, since, "since", PAST, "WHEN", 0, 0, "", "only those that died then or later")
X(dlq_discard, until, "until", PAST, "WHEN", 0, 0, "", "only those that died before")
X(dlq_discard, all, "all", FLAG, "", 0, 0, NULL, "every open letter")
X(dlq_discard, note, "note", TEXT, "TEXT", 1, 400, NULL, "why; kept in the history")
X(dlq_discard, confirm, "confirm", NUMBER, "N", 0, INT64_MAX, "", "do it, where N letters would be discarded")
X(dlq_discard, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only show what would be done")

X(dlq_restore, state, "state", CHOICE, "discarded", 0, 0, "", "those that are chosen by options are discarded ones, with or without this")
X(dlq_restore, reason, "reason", TEXT, "REASON", 1, 40, "", "only those of this reason")
X(dlq_restore, queue, "queue", TEXT, "QUEUE", 1, 255, "", "only those that were in this queue")
X(dlq_restore, activity, "activity", NUMBER, "ID", 1, INT64_MAX, "", "only those of this activity")
X(dlq_restore, order, "order", TEXT, "NO", 1, 40, "", "only those of this order number")
X(dlq_restore, message_id, "message-id", TEXT, "TEXT", 1, 255, "", "only those of this message id")
X(dlq_restore, since, "since", PAST, "WHEN", 0, 0, "", "only those that died then or later")
X(dlq_restore, until, "until", PAST, "WHEN", 0, 0, "", "only those that died before")
X(dlq_restore, all, "all", FLAG, "", 0, 0, NULL, "every discarded letter")
X(dlq_restore, note, "note", TEXT, "TEXT", 1, 400, "", "why; kept in the history")
X(dlq_restore, confirm, "confirm", NUMBER, "N", 0, INT64_MAX, "", "do it, where N letters would be restored")
X(dlq_restore, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only show what would be done")

X(dlq_export, state, "state", CHOICE, "open|replayed|resolved|discarded", 0, 0, "", "only those in this state")
X(dlq_export, reason, "reason", TEXT, "REASON", 1, 40, "", "only those of this reason")
X(dlq_export, queue, "queue", TEXT, "QUEUE", 1, 255, "", "only those that were in this queue")
X(dlq_export, activity, "activity", NUMBER, "ID", 1, INT64_MAX, "", "only those of this activity")
X(dlq_export, order, "order", TEXT, "NO", 1, 40, "", "only those of this order number")
X(dlq_export, message_id, "message-id", TEXT, "TEXT", 1, 255, "", "only those of this message id")
X(dlq_export, since, "since", PAST, "WHEN", 0, 0, "", "only those that died then or later")
X(dlq_export, until, "until", PAST, "WHEN", 0, 0, "", "only those that died before")
X(dlq_export, all, "all", FLAG, "", 0, 0, NULL, "every letter of the table")

X(dlq_import, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only read it, and say what would be added")

X(reconcile, activity, "activity", NUMBER, "ID", 1, INT64_MAX, "", "only this activity; else all from preheat until settlement")
X(reconcile, repair, "repair", FLAG, "", 0, 0, NULL, "mend what can be mended")
X(reconcile, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "with --repair: only show what it would do")
X(reconcile, max, "max", NUMBER, "N", 1, 1000000, "1000", "mend at most N findings of an activity")
X(reconcile, limit, "limit", NUMBER, "N", 0, INT64_MAX, "20", "list at most N findings of each kind; 0: all")
X(reconcile, in_flight, "in-flight", DURATION, "TIME", 1, 86400000, "",
  "what is younger is on its way and no gap (default: walk.in_flight of the configuration)")
X(reconcile, quick, "quick", FLAG, "", 0, 0, NULL, "leave out the closed and rejected orders and what Redis counts as sold")
X(reconcile, pause, "pause", DURATION, "TIME", 0, 60000, "2ms", "wait between pages of 500 orders, so that the sale is not slowed")

X(status, threads, "threads", FLAG, "", 0, 0, NULL, "every thread with what it has in hand and the last failure it met")

X(quiet, wait, "wait", DURATION, "TIME", 0, 86400000, "30s", "how long to wait until nothing is in hand any more")
X(quiet, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only say which process would be told")

X(resume, wait, "wait", DURATION, "TIME", 0, 86400000, "10s", "how long to wait until it says so")
X(resume, dry_run, "dry-run", FLAG, "", 0, 0, NULL, "only say which process would be told")

X(top, activity, "activity", NUMBER, "ID", 1, INT64_MAX, "", "show this activity in full; else the first")
X(top, interval, "interval", DURATION, "TIME", 200, 3600000, "1s", "ask so often")
X(top, once, "once", FLAG, "", 0, 0, NULL, "print one frame and end")
