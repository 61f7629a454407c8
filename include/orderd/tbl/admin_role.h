/* The kinds of threads that are watched: X(ROLE, "name", decides). One that decides makes /readyz red when it cannot do
 * its job; the others are shown there, and are of the alerts. No guard. */
X(LANE, "lane", true)     /* takes messages */
X(KEEPER, "keeper", false)
X(RELAY, "relay", true)   /* carries out what lanes have decided: units back on sale, timers, events */
X(HELPER, "helper", false) /* has no part in any order, but must go round like the others */
