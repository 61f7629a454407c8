/* A create lane in this process against the private servers: own schema, own queue, own activity for each test. */
#ifndef ORDERD_TESTING_LANE_H
#define ORDERD_TESTING_LANE_H

#include "orderd/broker.h"
#include "orderd/create_lane.h"
#include "orderd/db.h"
#include "orderd/order.h"
#include "testing.h"

#define TESTING_ACTIVITY 1001
#define TESTING_SKU      77
#define TESTING_PRICE    9900
/* Of the local messages: not what every new order leaves, its timer and its event. For testing_number. */
#define TESTING_DECIDED     "topic NOT LIKE 'order.unpaid.%%' AND topic<>'event.order.created'"
#define TESTING_PAY_TIMEOUT 900000 /* ms */
#define TESTING_PAY_SHORT   1000

/* Makes a schema with all tables and one running activity (TESTING_ACTIVITY, the given stock), a work queue, and a
 * configuration that names them; drains order.dead. `create` is libconfig text for the group create ("lanes = 1;"). One
 * per test process. */
void testing_lane_setup(int64_t stock, const char *create);

/* The retry delays that it configures and declares; set before it. */
extern const char *testing_lane_delays;

/* Makes what is missing of the topology: for a test that deleted some of it. */
void testing_lane_topology(void);

extern struct conf *testing_lane_conf;

/* A connection to the broker for the test itself, which may be silent for a minute while it does something else; NULL:
 * err. */
struct broker *testing_broker(const char *name, struct error *err);
extern struct db *testing_lane_db; /* a connection of the test's own */

/* Starts count create lanes (and the relay); testing_lane_stop ends all lanes and checks that they end within 10 s. */
void testing_lane_start(unsigned count);
/* Lanes of another kind beside them. */
void testing_lane_add(const struct lane_kind *kind, unsigned count);
void testing_lane_add_sweep(void); /* one more; ended with them */
void testing_lane_stop(void);
struct lane *testing_lane(unsigned index); /* in the order of their start */

/* Order n of this test: user n, quantity 1, the activity's price. */
struct order testing_lane_order(int n);
void testing_publish(const struct order *order);
void testing_publish_body(const char *message_id, struct slice body);
/* The same with one more header. */
void testing_publish_with(const char *message_id, struct slice body, const struct broker_header *header);

/* Runs SQL as the server's administrator / in the test's schema as orderd. */
void testing_admin(const char *fmt, ...) ORDERD_PRINTF(1, 2);
void testing_sql(const char *fmt, ...) ORDERD_PRINTF(1, 2);
int64_t testing_number(const char *fmt, ...) ORDERD_PRINTF(1, 2);

/* Ends every connection that orderd has to the test's schema. */
void testing_kill_sessions(void);

const char *testing_schema(void);

/* Waits until the orders table holds exactly this many rows. */
void testing_wait_orders(int64_t count, int timeout_ms);

/* Fails unless the orders are exactly those of testing_lane_order(1..count), each once, and the stock row agrees. */
void testing_assert_orders(int count, int64_t stock);

/* Takes everything out of order.dead, waiting until `count` have come; fails where there are more. Answers how many
 * carry this reason. */
int testing_dead_letters(int count, const char *reason);

/* Messages ready in the test's work queue. */
uint32_t testing_waiting(void);

#endif
