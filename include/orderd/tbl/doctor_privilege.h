/* What the daemon, and orderctl beside it, may do with each table: X(table, insert, update, delete); SELECT on all.
 * A table that `orderctl migrate up` alone writes has none. No guard: included once per use. */
X(schema_migration, false, false, false)
X(activity, false, true, false)
X(activity_stock, false, true, false)
X(orders, true, true, false)
X(local_message, true, true, true)
X(payment, true, false, false)
X(reconcile_run, true, true, false)
X(activity_walk, true, true, false)
X(dead_letter, true, true, false)
X(dead_letter_action, true, false, false)
X(replica, true, true, true)
X(survey, true, true, false)
