/* A sale that goes wrong, and the walk that puts it right: create lanes, a relay and walks in this process, or in one
 * of its own, against the private servers. Schema and activity are the test's own, the exchanges and queues those of
 * the fixed names, made anew: what the walk sends again goes to `order.create`. */
#ifndef ORDERD_TESTING_WALK_H
#define ORDERD_TESTING_WALK_H

#include <sys/types.h>

#include "orderd/activity_walk.h"
#include "orderd/metric.h"
#include "orderd/stock.h"
#include "orderd/walk.h"
#include "testing_lane.h"
#include "testing_letters.h"
#include "testing_redis.h"

/* W and all retry delays of these tests: so old must an order be before it can count as lost. */
#define TESTING_WALK_IN_FLIGHT 150
#define TESTING_WALK_OLD       270

struct testing_sale {
    int64_t id, total, starts_at, ends_at;
    int shards, epoch;
    struct kv *kv;
};

extern struct testing_sale testing_sale;
extern struct conf *testing_walk_conf; /* may be changed before anything is started */

/* Schema, topology with an empty queue, an activity of so many units that is on sale. An activity is walked once, until
 * testing_walk_again. One per test process. */
void testing_sale_open(int64_t total, int shards, int limit);
void testing_sale_preheat(int64_t activity, int shards, int64_t total, int64_t ends_at, int64_t expire_at);
void testing_sale_close(void);

/* Queues as they should be, and empty: unchecked teardown of each test case. */
void testing_walk_clean(void);

/* What runs in this process from here on, and its end, which checks that everything ends in time. */
enum testing_parts { TESTING_WALK = 1, TESTING_RELAY = 2, TESTING_LANES = 4 };
void testing_parts_start(unsigned parts, unsigned walks);
void testing_parts_stop(void);
void testing_parts_reload(const struct conf *conf); /* as SIGHUP does; it must outlive them */
/* The same in a process of its own, until it is killed. fault: ORDERD_FAULT or NULL. */
pid_t testing_parts_fork(unsigned parts, const char *fault);
void testing_parts_killed(pid_t pid); /* waits until its fault has killed it; fails where that takes long */
void testing_parts_kill(pid_t pid);

/* ---- buyers ---- */

/* Takes units for order n of user n as a web tier does before it publishes; answers the message it should send. */
struct order testing_buy(int n, int quantity);
struct order testing_buy_at(int n, int quantity, int64_t amount);
void testing_send(const struct order *order); /* the message, to order.create */
/* Waits until everything that was bought so far is old enough to be lost. */
void testing_wait_old(void);
const char *testing_no(int n); /* the number of order n; valid until the eighth call from here */

/* ---- walks ---- */

void testing_walk_again(void);             /* the activity is due now */
struct activity_walk testing_walked(void); /* the record */
void testing_wait_walks(int64_t walks);    /* until so many are done; no more may follow by themselves */
void testing_next_walk(void);              /* again, and waits for its end */

/* The only order without a row is sent again as often as it may be, without a decision (it is dead-lettered at once):
 * the next walk gives it up. All parts are stopped at the end. */
void testing_recover_in_vain(void);

/* ---- what must hold ---- */

struct stock_audit testing_sale_audit(int shard);
struct stock_audit testing_sale_sum(void);                 /* of all shards: units and numbers of entries */
void testing_sale_hash(int n, int key, const char *value); /* of order n; NULL: it is not there. "*": any */
void testing_sale_mark(int n, const char *order_no);       /* NULL: nobody has it */
/* The equations of DESIGN's invariant 5, with nothing on its way: every order in the ledger is live, and nothing live
 * is unknown. */
void testing_sale_conserved(void);
void testing_wait_effects(void); /* all local messages are done with */
/* The orders in the table with this status are exactly numbers from..to. */
void testing_orders_are(const char *status, int from, int to);
int64_t testing_ready(const char *queue); /* messages in a queue */
uint64_t testing_counted(enum metric metric);

#endif
