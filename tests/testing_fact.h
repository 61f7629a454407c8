/* What versions of the libraries and servers do differently, as far as a test can see it. One row each, in
 * testing_fact.c; a test that has to expect another thing asks here and nowhere else. */
#ifndef ORDERD_TESTING_FACT_H
#define ORDERD_TESTING_FACT_H

#include <stdbool.h>

#define TESTING_FACTS(X)                                                                                               \
    /* librabbitmq ends a connection on a frame of a type that it does not know, instead of stepping over it */        \
    X(UNKNOWN_FRAME_REFUSED, LIBRABBITMQ, 1800)

enum testing_fact {
#define X(name, of, since) TESTING_##name,
    TESTING_FACTS(X)
#undef X
};

/* Whether that is so with what this test runs with. */
bool testing_fact(enum testing_fact fact);

/* A table of 0 to 99999, for any server: FROM TESTING_NUMBERS " WHERE seq<7". */
#define TESTING_DIGITS                                                                                                 \
    "(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 "   \
    "UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) AS "
#define TESTING_NUMBERS                                                                                                \
    "(SELECT a.n+10*b.n+100*c.n+1000*d.n+10000*e.n AS seq FROM " TESTING_DIGITS "a JOIN " TESTING_DIGITS               \
    "b JOIN " TESTING_DIGITS "c JOIN " TESTING_DIGITS "d JOIN " TESTING_DIGITS "e) AS numbers"

/* Whether the private SQL server is MySQL rather than MariaDB, and the schema that it shows its counters in: tables
 * session_status and global_status. */
bool testing_mysql(void);
const char *testing_status_schema(void);

/* What `tests/pair demote` sets, and what is said first of who takes no writes: "read_only". */
const char *testing_demoted(void);

#endif
