/* A sale with its stock in Redis and in MySQL, and orders in it as the create lane would have left them; the queues of
 * the fixed names, empty. Own schema, own activity. */
#ifndef ORDERD_TESTING_MONEY_H
#define ORDERD_TESTING_MONEY_H

#include "orderd/metric.h"
#include "testing_lane.h"
#include "testing_stock.h"

#define TESTING_MONEY_PRICE 250

extern struct testing_shard testing_money; /* its one shard */

/* cap units, at most `limit` for a buyer. One per test process. */
void testing_money_setup(int64_t cap, int64_t limit, bool rebuy);

/* The unchecked teardown of each test case: queues anew, so that nothing odd is left to other suites. */
void testing_money_clean(void);

/* Deducts a unit in Redis and writes the pending order of 1 unit; it is due in due_ms (negative: since then). */
void testing_money_order(const char *order_no, int64_t user, int64_t due_ms);

/* Publishes to a work queue and waits for the confirm. */
void testing_money_publish(const char *queue, const char *message_id, const char *fmt, ...) ORDERD_PRINTF(3, 4);
void testing_money_pay(const char *order_no, const char *payment_ref, int64_t amount);
void testing_money_cancel(const char *order_no);

/* Waits until no local message is pending; then MySQL and Redis must say the same: what is not in live orders is left,
 * what is pending is held, what is paid is sold. */
void testing_money_balances(void);

/* Messages ready in a queue: after the lanes have ended, all that was not acknowledged. */
uint32_t testing_money_waiting(const char *queue);

int64_t testing_metric(enum metric metric); /* of this process so far */

#endif
