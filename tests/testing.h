/* What the tests share. */
#ifndef ORDERD_TESTING_H
#define ORDERD_TESTING_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include "orderd/check.h"
#include "orderd/conf.h"
#include "orderd/db.h"
#include "orderd/error.h"

/* Runs one suite, each test in its own process, and ends the program with Check's verdict. CK_FORK=no for a debugger.
 */
int testing_main(Suite *suite);

/* Fails the test with the error's sentence where ok is false. */
#define ck_assert_ok(ok, err) ck_assert_msg((ok), "%s: %s", error_code_name((err)->code), (err)->text)

/* A limit only tells what hangs from what takes its time, and a busy machine takes several times as long as an idle
 * one: limits are written for an idle one. */
enum { TESTING_PATIENCE = 4 };

/* Polls cond every 10 ms until it holds; fails the test with what after timeout_ms, and as long again as patience
 * wants. */
#define testing_wait(cond, timeout_ms, what)                                                                           \
    do {                                                                                                               \
        int64_t deadline_ = testing_now_ms() + (int64_t)TESTING_PATIENCE * (timeout_ms);                               \
        while (!(cond)) {                                                                                              \
            ck_assert_msg(testing_now_ms() < deadline_, "waited %d ms in vain: %s", TESTING_PATIENCE * (timeout_ms),   \
                          what);                                                                                       \
            testing_pause();                                                                                           \
        }                                                                                                              \
    } while (0)

/* What began at began (testing_now_ms) has taken less than ms on an idle machine. */
#define testing_within(began, ms) ck_assert_int_lt(testing_now_ms() - (began), (int64_t)TESTING_PATIENCE * (ms))

int64_t testing_now_ms(void);
void testing_pause(void);

/* A variable of the private servers' env file; fails the test where it is not set. */
const char *testing_env(const char *name);

/* Runs rabbitmqctl against this stack's broker, or scripts/stack VERB DIR SERVER [OPTION] on this stack; fails the test
 * where that fails. */
void testing_rabbitmqctl(const char *fmt, ...) ORDERD_PRINTF(1, 2);
void testing_stack(const char *verb, const char *server, const char *option);

/* The longest body that this stack's broker takes from now on, in bytes. The usual one is TESTING_BODY_LIMIT. */
#define TESTING_BODY_LIMIT 134217728
void testing_limit_bodies(long bytes);

/* Runs SQL as this stack's administrator of MariaDB, without a database; fails the test where that fails. */
void testing_administer(const char *fmt, ...) ORDERD_PRINTF(1, 2);

/* A port of loopback that nobody listened at just now, below the range that the kernel takes outgoing ports from:
 * nobody's connection gets it meanwhile. */
int testing_free_port(void);

/* A configuration that points at the private servers of the environment, loaded through conf_load from a temporary
 * file: `extra` is libconfig text for further groups, or NULL (e.g. "create: { lanes = 1; };"). */
struct conf *testing_conf(const char *extra);

/* Runs a test's own SQL. A statement alone that loses a deadlock against the daemon's parts is run again; err tells of
 * anything else, and is left alone on success. */
void testing_run_sql(struct db *db, const char *sql, struct error *err);

/* A folder for files of this test program. What is left in it goes when all tests have ended, also those that failed.
 */
const char *testing_dir(void);

/* A name that no other test of this run uses: "<prefix>_<pid>_<n>"; static storage, up to 8 alive at a time. */
const char *testing_name(const char *prefix);

#endif
