/* Dead letters in the queue and in the table, for the tests of `orderctl dlq`. */
#ifndef ORDERD_TESTING_DLQ_H
#define ORDERD_TESTING_DLQ_H

#include "orderd/broker.h"
#include "testing_ctl.h"

/* A schema with its tables, and an empty order.dead; and the other way. Fixtures. */
void dlq_setup(void);
void dlq_teardown(void);

/* The same without the schema. */
void dlq_open(void);
void dlq_close(void);

struct dlq_letter {
    const char *id, *reason, *origin, *failed_at; /* NULL: without that header */
    struct slice body;
};

/* Into order.dead, confirmed. */
void dlq_publish(const struct dlq_letter *letter);

/* count letters of ids "<prefix><n>", n from 1: orders of activity 1001 and 1002 by turns, reason stock_short. */
void dlq_publish_orders(const char *prefix, int count);

/* Fails unless the table has exactly the letters that dlq_publish_orders made of this prefix, each having died once. */
void dlq_has_orders(const char *prefix, int count);

int64_t dlq_id(const char *message_id); /* of its row */
uint32_t dlq_depth(void);
int64_t dlq_member(const char *name); /* of the one JSON object that was printed */

/* Runs orderctl with this fault, which must kill it. */
#define DLQ_KILLED(fault, ...)                                                                                         \
    dlq_killed((fault), (const char *const[]){"orderctl", "-c", testing_ctl_file, __VA_ARGS__, NULL})
void dlq_killed(const char *fault, const char *const *argv);

#endif
