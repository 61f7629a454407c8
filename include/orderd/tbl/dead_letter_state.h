/* States of a dead letter in its table: X(STATE, "name"). No guard: included once per use. */
X(OPEN, "open")           /* waits for somebody to act */
X(REPLAYED, "replayed")   /* sent again */
X(RESOLVED, "resolved")   /* its order is decided: nothing to send */
X(DISCARDED, "discarded") /* by a person, who said why; can be restored */
