/* One connection to RabbitMQ with one channel and one purpose: consume, or publish with confirms (an alarm blocks a
 * publishing connection's acks too, so nothing does both). One thread owns it; only broker_guard_* may look at it from
 * another one. The library reads and writes only inside these calls: whoever owns a connection must call broker_pump or
 * broker_take at least every half heartbeat, or the broker takes it for dead.
 *
 * Errors: any BROKER_AWAY, any failure of broker_open/consume, and a channel that the broker closed (BROKER_SETUP,
 * BROKER_TOO_LARGE from broker_pump and the like) leave a connection of no use: every later call fails with the same
 * sentence. Close it and open a new one with back-off. Everything unacknowledged then comes back with `redelivered`
 * set. The connection lives on after BROKER_BLOCKED, BROKER_UNCONFIRMED, a publication that is refused before it is
 * sent, and whatever a topology call answers besides BROKER_AWAY.
 *
 * Bounded time: connecting by broker.connect_timeout per address, and logging in by as much again (looking up the name
 * by the resolver's own limits, which nothing here can shorten); of several hosts no further one is begun once twice
 * that is over; every other call by broker.call_timeout. Our own waits keep to it by
 * themselves; a send that the library cannot finish is ended by the watchdog, which shuts the socket down, so that the
 * call fails with BROKER_AWAY. A process that owns a connection must run broker_guard_check. */
#ifndef ORDERD_BROKER_H
#define ORDERD_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "orderd/conf.h"
#include "orderd/error.h"
#include "orderd/strbuf.h"

struct broker;

/* name: shows in the broker's connection list (e.g. "orderd@1 create.0"); copied. Logs in with the capabilities
 * consumer_cancel_notify, connection.blocked, basic.nack, publisher_confirms, authentication_failure_close. Tries
 * every address of the name. BROKER_SETUP with the broker's own words where the login is refused (user, password,
 * vhost), and the sentence of the fault where TLS (broker.tls) comes to nothing. Certificates are read at each call.
 *
 * With broker.hosts it tries one after the other, each call beginning with another one and those last that failed, or
 * lost a connection of this process, in the last seconds. Where none can be used the sentence has each one's reason;
 * it is BROKER_SETUP only where that of each is. */
ORDERD_MUST_CHECK struct broker *broker_open(const struct conf *conf, const char *name, struct error *err);

/* The same to one host alone, whatever broker.hosts and broker.host say. */
ORDERD_MUST_CHECK struct broker *broker_open_at(const struct conf *conf, const struct conf_node *host, const char *name,
                                                struct error *err);

/* graceful: closes channel and connection with the broker (bounded by a second or two); else just drops the socket. */
void broker_close(struct broker **broker, bool graceful);

/* For poll(2): readable means a call of broker_pump/broker_take has work. Valid until broker_close, also on a
 * connection that has failed. Never rely on poll alone: call broker_pump first, it empties what the library has already
 * read. */
int broker_fd(const struct broker *broker);

/* What to poll it for: nothing while more than 16 MiB wait in the inbox, since a pump would not read either and a poll
 * for input would come back at once, again and again. */
short broker_poll_events(const struct broker *broker);

/* "host:port" of the one it is connected to, as the configuration calls it. */
const char *broker_peer(const struct broker *broker);

/* What the connection is encrypted by, "TLSv1.3, TLS_AES_256_GCM_SHA384", and *until_s: when the certificate of the
 * server ends, seconds since 1970; NULL where it is plain text. */
const char *broker_encrypted_by(const struct broker *broker, int64_t *until_s);

/* What the server calls its cluster: the same on all nodes of one that was given a name, else each one's own; "" where
 * it did not say. */
const char *broker_cluster(const struct broker *broker);

/* The server's version as major * 10000 + minor * 100 + patch, e.g. 31008; 0 where it did not say. */
int broker_version(const struct broker *broker);

/* Reads what has arrived (deliveries go to the inbox, confirms to the window, blocked/unblocked/cancel/close are
 * noticed), sends due heartbeats, waits at most wait_ms for something to arrive when nothing has. While the inbox holds
 * more than 16 MiB of bodies it only sends heartbeats: the rest waits in the broker. Alarms are logged here
 * (broker_blocked, broker_unblocked) with the broker's reason. */
ORDERD_MUST_CHECK bool broker_pump(struct broker *broker, int wait_ms, struct error *err);

/* ---- consuming ---- */

struct broker_header { /* one header of a message, as text: numbers and booleans are printed, tables are left out */
    struct slice name, value;
    bool is_integer;
    int64_t integer;
};

struct broker_message; /* the library's copy of one message */

struct broker_delivery {
    uint64_t tag;
    bool redelivered;
    struct slice body; /* these point into `message` */
    struct slice message_id, correlation_id, content_type;
    struct slice exchange, routing_key;
    int64_t timestamp_s;            /* 0 where absent */
    struct broker_message *message; /* owned; independent of the connection; one thread at a time. NULL: made by hand,
                                       without headers */
};

/* Subscribes, with prefetch as per-consumer limit. consumer_tag is copied. A queue that is missing or differently
 * declared: BROKER_SETUP. */
ORDERD_MUST_CHECK bool broker_consume(struct broker *broker, const char *queue, unsigned prefetch,
                                      const char *consumer_tag, struct error *err);

/* Tells the broker to send no more; what is in the inbox and unacknowledged stays valid. */
ORDERD_MUST_CHECK bool broker_cancel(struct broker *broker, struct error *err);

/* Whether the broker cancelled the consumer (queue deleted, moved, ack time-out): subscribe again. */
bool broker_cancelled(const struct broker *broker);

/* Fills out[] with up to max deliveries that have arrived, waiting at most wait_ms only when none has. *count may be 0.
 * The caller owns each delivery (broker_delivery_release). */
ORDERD_MUST_CHECK bool broker_take(struct broker *broker, struct broker_delivery *out, size_t max, int wait_ms,
                                   size_t *count, struct error *err);

/* Deliveries waiting in the inbox. */
size_t broker_inbox(const struct broker *broker);

/* multiple: all outstanding tags up to and including this one. tag > 0. Success means handed to the kernel. */
ORDERD_MUST_CHECK bool broker_ack(struct broker *broker, uint64_t tag, bool multiple, struct error *err);
ORDERD_MUST_CHECK bool broker_nack(struct broker *broker, uint64_t tag, bool multiple, bool requeue, struct error *err);

/* Frees the delivery's message and clears it. Any thread, also after the connection is closed. */
void broker_delivery_release(struct broker_delivery *delivery);

/* Headers of a delivery, in order; index from 0; false past the last, or past the 256th. Untrusted bytes of any length.
 * `out` points into the delivery. */
bool broker_delivery_header(const struct broker_delivery *delivery, size_t index, struct broker_header *out);

/* One header by exact name; false where absent. */
bool broker_delivery_find(const struct broker_delivery *delivery, const char *name, struct broker_header *out);

/* ---- publishing ---- */

enum broker_outcome {
    BROKER_OUTCOME_PENDING,
    BROKER_OUTCOME_CONFIRMED, /* stored by the broker, in a queue */
    BROKER_OUTCOME_RETURNED,  /* mandatory and no queue: not stored (its ack, which follows, does not count) */
    BROKER_OUTCOME_REFUSED,   /* nack: not stored, publish again later */
    BROKER_OUTCOME_UNKNOWN,   /* connection or channel lost first: stored or not */
    BROKER_OUTCOME_TOO_LARGE, /* the broker closes the channel on such a body; it never will be stored */
};

struct broker_publication {
    const char *exchange, *routing_key;
    struct slice body;
    struct slice
        message_id; /* must be unique among what is unconfirmed: a return is matched by it; empty: that of copy_from */
    struct slice content_type;           /* empty: that of copy_from, else application/json */
    const struct broker_header *headers; /* own headers; override those of copy_from of the same name */
    size_t header_count;
    const struct broker_delivery
        *copy_from; /* may be NULL. Its headers travel on, except broker-owned ones (x-..., any case), and so do its
                     * properties, except delivery mode, expiration (never a per-message TTL) and user id
                     * (the broker closes the channel where it is not ours) */
};

/* Turns confirms on; `window` is the most publications unconfirmed at a time (1..65535). */
ORDERD_MUST_CHECK bool broker_confirm_select(struct broker *broker, unsigned window, struct error *err);

/* Publishes persistent and mandatory. *outcome is set to PENDING now and to the final outcome by a later
 * broker_pump, broker_publish, broker_wait_confirms or broker_close; it must stay valid until then. Waits for room in
 * the window, at most broker.call_timeout.
 *
 * Where the call fails, *outcome is final at once: REFUSED means surely not sent (BROKER_BLOCKED: an alarm is on;
 * BROKER_UNCONFIRMED: the window stayed full; or the connection had failed before), UNKNOWN means perhaps sent,
 * TOO_LARGE (BROKER_TOO_LARGE) that it never can be: properties and headers of more than one frame (128 KiB), a message
 * id, key or header name of more than 255 bytes. */
ORDERD_MUST_CHECK bool broker_publish(struct broker *broker, const struct broker_publication *p,
                                      enum broker_outcome *outcome, struct error *err);

/* Waits until nothing is pending, at most timeout_ms. On time-out, close or channel death: what is pending becomes
 * UNKNOWN (a body over the broker's limit: TOO_LARGE) and the call fails: BROKER_UNCONFIRMED after a time-out, after
 * which late confirms change nothing, else the connection's own error. */
ORDERD_MUST_CHECK bool broker_wait_confirms(struct broker *broker, int timeout_ms, struct error *err);

bool broker_blocked(const struct broker *broker);
size_t broker_unconfirmed(const struct broker *broker);

/* ---- topology ---- */

enum broker_exchange_kind { BROKER_EXCHANGE_DIRECT, BROKER_EXCHANGE_FANOUT, BROKER_EXCHANGE_TOPIC };

struct broker_argument { /* of a queue */
    const char *name;
    const char *text; /* NULL: integer */
    int64_t integer;
};

enum broker_presence { BROKER_MISSING, BROKER_PRESENT, BROKER_DIFFERENT, BROKER_FORBIDDEN };

/* Declare (create: make it where missing; else only look). *presence tells; `detail` receives the broker's own words
 * for DIFFERENT and FORBIDDEN. These open the channel again by themselves after the broker has closed it. Use a
 * connection that does nothing else (INTERNAL where it consumes or confirms). false only on BROKER_AWAY and the like.
 *
 * Comparing takes the right to configure: without it, what is there is FORBIDDEN. So is looking from 4.2.6 on for an
 * account without any right on the queue, and in 4.2.6 and 4.3.0 for one without the right to configure it. */
ORDERD_MUST_CHECK bool broker_declare_exchange(struct broker *broker, const char *name, enum broker_exchange_kind kind,
                                               bool create, enum broker_presence *presence, struct error *detail,
                                               struct error *err);
ORDERD_MUST_CHECK bool broker_declare_queue(struct broker *broker, const char *name,
                                            const struct broker_argument *arguments, size_t count, bool create,
                                            enum broker_presence *presence, struct error *detail, struct error *err);
ORDERD_MUST_CHECK bool broker_bind_queue(struct broker *broker, const char *queue, const char *exchange,
                                         const char *routing_key, struct error *err);

/* Messages ready in a queue and consumers on it, by a passive declare. A missing queue: BROKER_SETUP. */
ORDERD_MUST_CHECK bool broker_queue_depth(struct broker *broker, const char *name, uint32_t *messages,
                                          uint32_t *consumers, struct error *err);

/* Whether a queue of this name is there: a passive declare. FORBIDDEN: this account may not look (see above). As the
 * declares, on a connection that does nothing else. */
ORDERD_MUST_CHECK bool broker_find_queue(struct broker *broker, const char *name, enum broker_presence *presence,
                                         struct error *err);

/* ---- the watchdog ---- */

/* Shuts down the socket of every connection of this process whose owner has been inside the library for longer than
 * broker.call_timeout (pitfalls: a publish to a silent peer never returns by itself). Call it every few hundred ms from
 * a thread that owns no connection. Returns how many were shut down. */
unsigned broker_guard_check(void);

/* Shuts down every connection's socket: the second TERM. */
void broker_guard_shutdown_all(void);

#endif
