/* How a shard in Redis can differ from its activity's row: X(FAULT, "name", "what it is"), the worst first. Looked for
 * in this order. No guard: included once per use. */
X(MISSING, "missing", "is not in Redis")
X(DAMAGED, "damaged", "is damaged, or holds keys that are not ours")
X(OTHER_EPOCH, "other_epoch", "has another epoch")
X(OTHER_WINDOW, "other_window", "is for sale at other times")
X(PAUSED, "paused", "is paused: a rebuild was cut short")
