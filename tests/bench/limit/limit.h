/* What the limit programs share: connections to the private servers of tests/with-stack, a clock, one way to fail and
 * one to print. They do as little as can be done, without any of orderd's code, so that they say what the stores allow.
 *
 * Each ends with 1 and a sentence at the first thing that goes wrong: a figure is printed for whole work only. */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include <amqp.h>
#include <mysql.h>
#include <stdbool.h>
#include <stddef.h>

struct redisContext;

_Noreturn void limit_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

const char *limit_env(const char *name);                    /* fails when it is not set */
long limit_number(const char *text, long least, long most); /* fails when it is not one of these */

double limit_seconds(void); /* monotonic */

/* One JSON object on a line: what ran and how fast. */
void limit_print(const char *what, long count, double seconds);

MYSQL *limit_mysql(const char *database);
/* Runs the statements of one text, separated by semicolons, all in one round trip. */
void limit_sql(MYSQL *mysql, const char *text, size_t len);

amqp_connection_state_t limit_broker(void); /* with channel 1 open */
void limit_broker_ok(amqp_connection_state_t broker, const char *what);
void limit_consume(amqp_connection_state_t broker, const char *queue, long prefetch);
/* The next delivery; waits for it if so wanted, else false when nothing is there. Destroyed by the caller. */
bool limit_take(amqp_connection_state_t broker, bool wait, amqp_envelope_t *out);
void limit_ack(amqp_connection_state_t broker, uint64_t tag); /* and all before it */

struct redisContext *limit_redis(void);

/* The programs, by name. */
void limit_pipe(char **arguments);
void limit_insert(char **arguments);
void limit_queue(char **arguments);
void limit_script(char **arguments);

#endif
