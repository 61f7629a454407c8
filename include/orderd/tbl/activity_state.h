/* States of an activity and where each may go: X(STATE, "name", legal successors as a bit set). No guard. */
X(REVIEW, "review", 1u << ACTIVITY_SCHEDULED)
X(SCHEDULED, "scheduled", 1u << ACTIVITY_RUNNING | 1u << ACTIVITY_ENDED)
X(RUNNING, "running", 1u << ACTIVITY_ENDED)
X(ENDED, "ended", 1u << ACTIVITY_RUNNING | 1u << ACTIVITY_SETTLED) /* running again by `extend` */
X(SETTLED, "settled", 0u)
