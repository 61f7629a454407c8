/* orderctl against the private servers: a schema of its own for each test, and a configuration file that points there.
 */
#ifndef ORDERD_TESTING_CTL_H
#define ORDERD_TESTING_CTL_H

#include "orderd/db.h"
#include "testing_program.h"

/* What the configuration says; NULL: what the private servers need. */
struct testing_ctl_conf {
    const char *db_port, *db_user, *db_password_file, *schema;
    const char *mq_port, *mq_user, *mq_password_file, *vhost, *queue_type;
    const char *kv_port;
    const char *mq_more, *db_more, *kv_more; /* further keys of the groups broker, mysql and redis */
    const char *more;                        /* further groups */
};

/* A new, empty schema and the file; and the other way. Fixtures. */
void testing_ctl_setup(void);
void testing_ctl_teardown(void);

/* Connects testing_ctl_db anew, after MySQL was away. */
void testing_ctl_connect(void);

/* Writes the file anew, with some values other than usual; NULL: all as usual. */
void testing_ctl_configure(const struct testing_ctl_conf *other);

extern struct program testing_ctl;     /* the last run */
extern const char *testing_ctl_file;   /* the configuration */
extern const char *testing_ctl_schema; /* the schema's name */
extern struct db *testing_ctl_db;      /* connected to it */

#define CTL(...) PROGRAM_RUN(&testing_ctl, "orderctl", "-c", testing_ctl_file, __VA_ARGS__)

/* Ends as expected: exit code, and all of standard error. */
#define CTL_SAYS(code_, sentence_)                                                                                     \
    do {                                                                                                               \
        ck_assert_str_eq(testing_ctl.err, sentence_);                                                                  \
        ck_assert_int_eq(testing_ctl.code, code_);                                                                     \
    } while (0)

void testing_ctl_run_sql(const char *fmt, ...) ORDERD_PRINTF(1, 2);
int64_t testing_ctl_number(const char *fmt, ...) ORDERD_PRINTF(1, 2);

#endif
