/* A sale of the test's own in Redis and MySQL, made order by order, and what orderctl reconcile says of it. */
#ifndef ORDERD_TESTING_BALANCE_H
#define ORDERD_TESTING_BALANCE_H

#include "orderd/activity.h"
#include "orderd/order.h"
#include "testing_ctl.h"
#include "testing_redis.h"

#define SALE_TOTAL  100
#define SALE_SHARDS 2

extern int64_t sale;         /* the activity's number; its keys are nobody else's */
extern char ledger_text[24]; /* the same for a command line */
extern struct kv *ledger_kv; /* connected */
extern struct conf *ledger_conf;

/* Fixture: a schema of its own, a running activity with SALE_TOTAL units in SALE_SHARDS shards, at most 5 a buyer, on
 * sale. ledger_options: NULL, or one more option of activity create. */
void ledger_setup(void);
void ledger_setup_no_rebuy(void);
void ledger_setup_no_reservations(void);
void ledger_teardown(void);

/* ---- an order's ways, each as orderd or a web tier goes it ---- */

/* Takes units in Redis; the order as its message says. */
struct order ledger_take(const char *order_no, int64_t user, int quantity);

/* Until all that was taken so far is older than 2 ms by the clock of Redis. */
void ledger_grow_old(void);

/* Writes the row, and takes or leaves the units in MySQL; as if it had been decided an hour ago. */
void ledger_row(const struct order *order, const char *status);
void ledger_close(const struct order *order);  /* the row, and MySQL's units */
void ledger_pay(const struct order *order);    /* the row */
void ledger_return(const struct order *order); /* Redis */
void ledger_settle(const struct order *order); /* Redis */

/* All of it: held and pending; settled; returned. */
struct order ledger_pending(const char *order_no, int64_t user, int quantity);
struct order ledger_paid(const char *order_no, int64_t user, int quantity);
struct order ledger_closed(const char *order_no, int64_t user, int quantity);

/* One command on a key of a shard (STOCK_KEY_*): "HINCRBY", key, then the rest. */
#define ledger_redis(shard_, key_, command_, ...)                                                                      \
    testing_redis_run(ledger_kv, command_, ledger_key(shard_, key_), __VA_ARGS__, (char *)NULL)
const char *ledger_key(int shard, int key); /* valid until the eighth call from here */

struct stock_audit ledger_audit(int shard);

/* Everything that Redis has of the sale, and the rows of orders, stock and local messages, as one text: equal means
 * untouched. Free it. */
char *ledger_dump(void);

/* ---- what reconcile says ---- */

/* orderctl reconcile --json of this activity, everything listed, with this in-flight window; or all that is older than
 * 1 ms counting as old. */
#define RECONCILE_IN(window_, ...)                                                                                     \
    ledger_reconcile((const char *const[]){"orderctl", "-c", testing_ctl_file, "reconcile", "--activity", ledger_text, \
                                           "--json", "--limit", "0", "--in-flight", window_, __VA_ARGS__, NULL})
#define RECONCILE(...) RECONCILE_IN("1ms", __VA_ARGS__)
void ledger_reconcile(const char *const *argv);

/* Of the last run: one line for each finding, "kind order units\n" (or "kind shard:0 units", "kind - units"), sorted;
 * likewise "result kind order\n" of the repairs; and the verdict. */
extern char ledger_found[32768], ledger_repaired[32768], ledger_verdict[16];

/* Fails where the last run ended otherwise, or found anything else. lines: sorted. */
#define FOUND(code_, verdict_, lines_)                                                                                 \
    do {                                                                                                               \
        ck_assert_str_eq(testing_ctl.err, "");                                                                         \
        ck_assert_str_eq(ledger_found, lines_);                                                                        \
        ck_assert_str_eq(ledger_verdict, verdict_);                                                                    \
        ck_assert_int_eq(testing_ctl.code, code_);                                                                     \
    } while (0)

#define CLEAN()                                                                                                        \
    do {                                                                                                               \
        RECONCILE("--quiet");                                                                                          \
        FOUND(EXIT_OK, "clean", "");                                                                                   \
    } while (0)

#endif
