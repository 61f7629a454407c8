/* Relays against the private servers: a schema of the test's own; the exchanges and queues of the fixed names, which
 * are made anew. Rows are numbered: number n under a prefix has the message id "<prefix><n>". */
#ifndef ORDERD_TESTING_RELAY_H
#define ORDERD_TESTING_RELAY_H

#include <sys/types.h>

#include "orderd/local_message.h"
#include "orderd/relay.h"
#include "testing_lane.h"

/* What is about amounts rather than about code is made smaller where everything is slow and runs again anyway. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TESTING_SMALL 1
#else
#define TESTING_SMALL 0
#endif

/* Schema, topology with empty queues (all that a relay publishes to), and a configuration that differs from the
 * defaults by `relay`, libconfig text for that group ("lease = \"2s\";"). */
void testing_relay_setup(const char *relay);

/* Queues and exchanges as they should be, and empty. Also the unchecked teardown of each test case, so that nothing odd
 * is left to other suites. */
void testing_relay_clean(void);

extern struct conf *testing_relay_conf; /* may be changed before relays are started */

/* Starts count more relays in this process (threads); stop ends them all, checking that they end within 15 s. */
void testing_relay_start(unsigned count);
struct relay *testing_relay(unsigned index);
void testing_relay_stop(void);

/* A process with one relay, which lives until it is killed, but no longer than the test. fault: ORDERD_FAULT or NULL.
 * Only while this process has no relays. */
pid_t testing_relay_fork(const char *fault);
/* Waits until it has stopped or died by this signal. */
void testing_relay_await(pid_t pid, int signal);
void testing_relay_kill(pid_t pid);

/* Due rows from..to of a topic, payload {"n":<n>}, written as another producer would. */
void testing_rows(const char *topic, const char *prefix, int from, int to);

/* Rows of a topic that are in a state. */
int64_t testing_rows_in(const char *topic, const char *state);
/* Waits until no row is pending. */
void testing_wait_relayed(int timeout_ms);

/* What came out of a queue, by number. */
struct testing_harvest {
    int missing, twice, strays; /* of first..last: not come; come once more (each repetition); ids that are not ours */
};

/* Takes everything out of the queue until nothing comes any more: for quiet_ms once all numbers from..to have come,
 * before that for 20 s. */
struct testing_harvest testing_harvest(const char *queue, const char *prefix, int from, int to, int quiet_ms);
/* The same where so many of them are lost: once all others have come. */
struct testing_harvest testing_harvest_rest(const char *queue, const char *prefix, int from, int to, int lost,
                                            int quiet_ms);

/* The next message of a queue, which must come within 20 s. Release it. */
void testing_next(const char *queue, struct broker_delivery *out);

/* Broker administration, by AMQP. arguments: of the queue; it is bound to exchange `order` under its name. None minds a
 * queue that is missing. Emptying drops what nobody holds. Where a queue may just have been made, or its server have
 * started, it is emptied and left alone for half a second (ready; false: none is there) before it is dropped; delete
 * does both. */
bool testing_queues_ready(const char *const *queues, size_t count);
void testing_queue_drop(const char *queue);
void testing_queue_delete(const char *queue);
void testing_queue_empty(const char *queue);
void testing_queue_make(const char *queue, const struct broker_argument *arguments, size_t count);
void testing_exchange_delete(const char *exchange);
void testing_topology_apply(void); /* makes what is missing */

pid_t testing_stack_pid(const char *server);

/* How often relays of this process lost a broker connection. */
uint64_t testing_broker_losses(void);

#endif
