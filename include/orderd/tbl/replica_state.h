/* What a replica is doing, as the fleet sees it: X(STATE, "name", lives). No guard: included once per use. */
X(READY, "ready", true)
X(NOT_READY, "not_ready", true) /* starting, or a lane cannot do its job */
X(QUIET, "quiet", true)         /* takes nothing new, by command */
X(DRAINING, "draining", true)   /* was told to stop */
X(LOST, "lost", false)          /* says nothing any more, and did not stop cleanly */
