/* What a lane is doing: X(STATE, "name", ready). `ready` states can do their job. No guard. */
X(CONNECTING, "connecting", false) /* a server is away and no delivery is held */
X(CONSUMING, "consuming", true)
X(HOLDING, "holding", false)       /* a server is away; the batch is kept unacknowledged */
X(PAUSED, "paused", false)         /* schema, privileges, topology or a storm of unknown errors: an operator must act */
X(DRAINING, "draining", false)     /* takes nothing more, and finishes what is in hand */
X(QUIET, "quiet", false)           /* was told to take nothing, and has nothing in hand */
X(OVER, "over", true)              /* emptied a queue that was one too many, and that is deleted now */
X(STOPPED, "stopped", false)
