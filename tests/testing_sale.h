/* One sale of a test's own for the tests of orderctl activity: a schema and a configuration (testing_ctl.h), and an
 * activity whose keys in Redis are nobody else's. */
#ifndef ORDERD_TESTING_SALE_H
#define ORDERD_TESTING_SALE_H

#include <jansson.h>

#include "orderd/activity.h"
#include "orderd/kv.h"
#include "orderd/order_store.h"
#include "orderd/stock.h"
#include "testing_ctl.h"
#include "testing_redis.h"

#define SALE_TOTAL  1002 /* units; the first two shards have 251, the others 250 */
#define SALE_SHARDS 4
#define SALE_PRICE  9900
#define SALE_TITLE  "O'Neil \\ \"50%\" \u51ac\u5b63"

extern int64_t sale_id;
extern char sale_text[24]; /* the same */
extern struct kv *sale_kv; /* a connection of the test's own */

/* Fixtures: an empty schema with all tables; and the other way, keys of Redis included. */
void sale_setup(void);
void sale_teardown(void);

/* The same with a work queue and retry queues that are this test program's, since those of others may not be empty.
 * sale_queues_make and sale_queues_delete are the unchecked fixtures to it. */
#define SALE_QUEUE "test.sale"
void sale_queues_make(void);
void sale_queues_delete(void);
void sale_setup_queued(void);
void sale_queue_empty(void);
void sale_configure(const char *mq_port); /* the configuration anew, with another port of the broker */

/* orderctl activity create, with what follows; and usual values for that. */
#define SALE_CREATE(...)                                                                                               \
    CTL("activity", "create", "--id", sale_text, "--sku", "77", "--price", "9900", "--currency", "CNY", "--stock",     \
        "1002", "--shards", "4", "--limit", "3", __VA_ARGS__)
#define SALE_USUAL "--title", SALE_TITLE, "--starts", "now", "--ends", "+2h"

/* Up to that state, with usual values. */
void sale_create(void);
void sale_approve(void);
void sale_preheat(void);

/* The last run of orderctl ended with this code, and said exactly this on standard error. */
void sale_said(int code, const char *fmt, ...) ORDERD_PRINTF(2, 3);

/* Its output, which is one JSON value. */
json_t *sale_parsed(void);
int64_t sale_member(const json_t *object, const char *name); /* a number that must be there */

struct activity sale_row(void);
struct stock_plan sale_plan(int shard);
struct stock_audit sale_audit(int shard);

/* orderctl activity create with these times (as USUAL otherwise), approve and preheat. */
void sale_preheat_at(const char *starts, const char *ends);

/* Fails unless the row is in this state, each shard has its window, epoch and a TTL that lasts, none is paused, and the
 * gates' hash says what the row says. */
void sale_agrees(enum activity_state state);
/* A member of that hash, valid until the fourth call from here; "" where there is none. */
const char *sale_announced(const char *field);

/* Runs "orderctl activity" with these words while that fault kills it; fails where it does not. */
void sale_killed(const char *fault, const char *const *words);
#define SALE_KILLED(fault, ...) sale_killed((fault), (const char *const[]){__VA_ARGS__, NULL})

/* Takes units in Redis, or tries to; writes the row of an order, as the create lane does (without the stock).
 */
struct stock_deducted sale_try(const char *order_no, int64_t user, int64_t quantity, int shard);
struct stock_deducted sale_deduct(const char *order_no, int64_t user, int64_t quantity, int shard);
void sale_insert(const char *order_no, int64_t user, int32_t quantity, int32_t shard);

/* An order from the deduct to that status, in both: paid ones are settled, closed ones have given back. */
void sale_sell(const char *order_no, int64_t user, int32_t quantity, int32_t shard, enum order_status status);

/* 25 orders of every status in all shards: user n has order o<n>, of up to 3 units. */
void sale_sell_all_sorts(void);

/* Fails unless the shards' ledgers have exactly the pending orders, and as sold exactly the paid ones; all shards
 * balance and together have as many units left as MySQL. */
void sale_ledger_agrees(void);

/* Everything that Redis has of the sale goes. */
void sale_flush(void);
void sale_forget(int shard); /* deletes its keys */

/* One command of Redis with two arguments. */
void sale_command(const char *verb, const char *key, const char *value);

#endif
