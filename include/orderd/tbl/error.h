/* Error codes: X(CODE, CLASS, "name"). Clients translate foreign numbers into these at their edge; nothing above
 * src/client sees an amqp, MySQL or Redis number (it is quoted in the sentence). No guard: included once per use. */

/* database */
X(DB_AWAY, OUTAGE, "db_away")               /* cannot connect, gone, server shutting down, too many connections */
X(DB_LOST, OUTAGE, "db_lost")               /* the reply was lost: the statement may or may not have taken effect */
X(DB_READ_ONLY, OUTAGE, "db_read_only")     /* connected to a server that is not (or no longer) the primary */
X(DB_RESOURCE, OUTAGE, "db_resource")       /* disk full, table full, statement over its time limit */
X(DB_CONFLICT, TRANSIENT, "db_conflict")    /* deadlock, lock wait time-out, certification conflict */
X(DB_DUPLICATE, PERMANENT, "db_duplicate")  /* a unique key answered */
X(DB_CHECK, PERMANENT, "db_check")          /* a CHECK constraint or a guard statement answered */
X(DB_DATA, PERMANENT, "db_data")            /* this row cannot be stored: too long, out of range, NULL, over the packet limit */
X(DB_SETUP, SETUP, "db_setup")              /* table, column, privilege, account or syntax: nobody's order's fault */
X(DB_UNKNOWN, UNKNOWN, "db_unknown")        /* a number that no row above explains */

/* broker */
X(BROKER_AWAY, OUTAGE, "broker_away")           /* cannot connect, connection or channel closed, heartbeat missed */
X(BROKER_BLOCKED, OUTAGE, "broker_blocked")     /* memory or disk alarm: the broker takes no publishes */
X(BROKER_UNCONFIRMED, OUTAGE, "broker_unconfirmed") /* nack, or no confirm in time: stored or not is unknown */
X(BROKER_UNROUTABLE, SETUP, "broker_unroutable") /* returned: no queue is bound for exchange and key */
X(BROKER_SETUP, SETUP, "broker_setup")          /* login refused, no rights, missing or differently declared queue */
X(BROKER_TOO_LARGE, PERMANENT, "broker_too_large") /* body over the broker's limit */

/* key-value store */
X(KV_AWAY, OUTAGE, "kv_away")       /* cannot connect, gone, LOADING, BUSY, too many clients */
X(KV_LOST, OUTAGE, "kv_lost")       /* the reply was lost: the script may or may not have run (all are idempotent) */
X(KV_READ_ONLY, OUTAGE, "kv_read_only") /* READONLY, MOVED, MASTERDOWN, CLUSTERDOWN: look for another node */
X(KV_SETUP, SETUP, "kv_setup")      /* NOAUTH, NOPERM, OOM, MISCONF: an operator must act */
X(KV_DATA, PERMANENT, "kv_data")    /* WRONGTYPE, a script's own error, a reply of an unexpected shape */

/* the rest */
X(ADMIN_AWAY, OUTAGE, "admin_away") /* no orderd answers at the admin endpoint */
X(CONF_INVALID, PERMANENT, "conf_invalid")
X(INPUT_INVALID, PERMANENT, "input_invalid")
X(IO, OUTAGE, "io")                   /* a file cannot be written or read */
X(REFUSED, PERMANENT, "refused")    /* a rule of ours forbids it: the sentence says which and what to do */
X(INTERNAL, BUG, "internal")
