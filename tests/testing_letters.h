/* Messages on their way, as seen from outside the lane: dead letters, retries, events. */
#ifndef ORDERD_TESTING_LETTERS_H
#define ORDERD_TESTING_LETTERS_H

#include "orderd/broker.h"
#include "testing.h"

#define TESTING_LETTERS_MAX 1000

/* Deliveries in the order of their arrival, and when that was (wall clock, ms). Acknowledged already. */
struct testing_letters {
    size_t count;
    struct broker_delivery list[TESTING_LETTERS_MAX];
    int64_t at[TESTING_LETTERS_MAX];
};

/* A queue of the test's own that receives a copy of what passes an exchange. It vanishes some seconds after its use. */
struct testing_spy {
    char queue[100];
    struct broker *broker;
};

void testing_spy_open(struct testing_spy *spy, const char *exchange, const char *routing_key);
void testing_spy_bind(struct testing_spy *spy, const char *exchange, const char *routing_key); /* another one */
/* Adds what arrives until the list holds `count`, and nothing has come for quiet_ms since; fails after 15 s. */
void testing_spy_take(struct testing_spy *spy, struct testing_letters *to, size_t count, int quiet_ms);
void testing_spy_close(struct testing_spy *spy);

/* The same for everything in order.dead. */
void testing_letters_dead(struct testing_letters *to, size_t count, int quiet_ms);
void testing_letters_free(struct testing_letters *letters);

/* What events tell, each message id once, as the table told(message_id, event, order_no) of the test's schema, made
 * anew. Fails where a message of one id says something else than another of that id. */
void testing_letters_told(const struct testing_letters *letters);

/* A header as text ("(absent)"), valid until the eighth call from here. */
const char *testing_header(const struct broker_delivery *d, const char *name);
/* A time header of ours in ms since 1970; fails where it is none. */
int64_t testing_header_time(const struct broker_delivery *d, const char *name);
/* Fails where a header belongs to the broker. */
void testing_assert_stripped(const struct broker_delivery *d);

/* From here on faults are as this text says (see fault.h); "" for none. No lane runs. */
void testing_faults(const char *faults);
/* Runs a lane and a relay in a process of their own until that fault, a kill, ends it; fails where it does not. */
void testing_crash_at(const char *fault);
/* The same in two steps, for a test that does something meanwhile, within 30 s. */
pid_t testing_crash_begin(const char *fault);
void testing_crash_end(pid_t victim, const char *fault);

#endif
