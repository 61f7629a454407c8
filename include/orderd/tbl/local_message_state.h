/* States of a local message: X(STATE, "name"). No guard: included once per use. */
X(PENDING, "pending")
X(SENT, "sent")
X(QUARANTINED, "quarantined")
