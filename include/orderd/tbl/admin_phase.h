/* What the process as a whole is doing: X(PHASE, "name"). No guard. */
X(STARTING, "starting") /* waits for its servers, or looks at them, before the lanes start */
X(RUNNING, "running")
X(QUIET, "quiet")       /* was told to take nothing: finishes what is in hand, and waits to be told otherwise */
X(DRAINING, "draining") /* was told to stop: finishes what is in hand */
