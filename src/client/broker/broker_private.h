/* What the files of this folder share. One thread owns a struct broker; only its guard is seen by another.
 *
 * The library is used for its wire format and its socket, and nothing in it ever waits for us: frames are read with a
 * zero time-out until it has none (pitfalls A5), every wait is our own poll(2) with a deadline, and requests that have
 * an answer go through call.c instead of the library's own calls, which wait without end for what is already queued
 * (pitfalls A2, A4). Messages are put together frame by frame (message.c), so that half a message never blocks either.
 * What is left that can block is sending into a full socket; room is awaited first, and the watchdog ends the rest. */
#ifndef BROKER_PRIVATE_H
#define BROKER_PRIVATE_H

#include "guard.h"
#include "inbox.h"
#include "library.h"
#include "orderd/broker.h"
#include "orderd/tls.h"
#include "window.h"
#include "wire.h"

#define BROKER_CHANNEL 1
#define FRAME_MAX      131072

enum assembly_kind { ASSEMBLY_NONE, ASSEMBLY_DELIVERY, ASSEMBLY_RETURN };

/* A delivery or a returned message that is arriving. The library's memory is recycled between any two frames. */
struct assembly {
    enum assembly_kind kind;
    bool has_header;
    struct broker_delivery delivery; /* message: allocated when the header arrives */
    char exchange[WIRE_SHORT_MAX], routing_key[WIRE_SHORT_MAX];
    uint64_t size, filled; /* of the body */
};

/* The request that is being answered. */
struct call {
    amqp_method_number_t want; /* 0: none */
    bool answered;
    bool may_close_channel; /* the broker's channel.close is an answer too, not the end of the connection */
    uint16_t closed_code;   /* that answer; 0: none */
    struct error closed;
    uint32_t messages, consumers; /* from queue.declare-ok */
};

struct broker {
    amqp_connection_state_t library;
    struct guard guard;
    char name[64];
    struct conf_node host;
    bool listed, several;   /* in broker.hosts; with others */
    char where[300];        /* host:port, for sentences */
    char secure_name[320];  /* the same, for TLS */
    struct tls_session tls; /* without a peer: a plain connection */
    const void *at;         /* the struct addrinfo, while it is opened */
    int version;
    char cluster[256];
    int heartbeat_ms, call_timeout_ms;

    bool failed; /* every call now answers `fate` */
    bool broken; /* and the library may only be destroyed: always, except after a channel exception */
    struct error fate;

    int64_t drained_ms; /* when the library was last read to its end */
    int64_t kept_ms;    /* when a heartbeat was last sent by ourselves (only while the inbox holds too much) */
    struct assembly assembly;
    struct call call;

    struct inbox inbox;
    char consumer_tag[WIRE_SHORT_MAX + 1];
    bool consuming, cancelled;

    struct window *window; /* NULL: no confirms */
    bool blocked;
    char blocked_reason[128];
};

/* ---- connect.c ---- */

/* Connects a socket to one address, non-blocking afterwards, close-on-exec; -1 with a sentence. */
int broker_dial(const void *addrinfo, int timeout_ms, const char *where, struct error *err);

/* ---- secure.c ---- */

/* Connects to one address by TLS; the same bounds and failures as broker_dial, and a sentence of tls.h. */
bool broker_connect_secure(struct broker *b, const void *addrinfo, const struct conf *conf, struct error *err);

/* Whether TLS is why a login was cut off; then that is in *err. May connect once more to learn it. */
bool broker_secure_ended(struct broker *b, int timeout_ms, struct error *err);

/* ---- open.c ---- */

/* Lets the watchdog end calls on this socket, which the library owns. */
bool broker_watch_socket(struct broker *b, int fd, struct error *err);

/* ---- login.c ---- */

bool broker_login(struct broker *b, const struct conf *conf, struct error *err);

/* ---- failure.c ---- */

/* Ends the connection for its owner: remembers the sentence for every later call, settles what was published, and lets
 * nobody call the library any more. Answers false. Only the first counts. */
bool broker_fail(struct broker *b, enum error_code code, const char *fmt, ...) ORDERD_PRINTF(3, 4);

/* The same for a status of the library. */
bool broker_fail_status(struct broker *b, const char *doing, int status);

/* The same for a peer that breaks the protocol. */
bool broker_fail_protocol(struct broker *b, const char *how);

/* Answers whether the connection is usable; else puts its fate into *err. */
bool broker_usable(const struct broker *b, struct error *err);

/* What a close by the broker means. */
enum error_code broker_close_meaning(bool of_connection, uint16_t code, struct slice text);

/* The size in "message size N is larger than ..."; 0 where the text is something else. */
uint64_t broker_refused_size(struct slice text);

/* ---- frames.c ---- */

/* Reads what has arrived; *arrived counts what is of interest to the owner. False where the connection has failed. */
bool broker_drain(struct broker *b, unsigned *arrived);

/* Waits until something can be read, at most ms and at most half a heartbeat. */
void broker_wait_readable(const struct broker *b, int64_t ms);

/* Before anything is sent: reads what has arrived (a library before 0.14 may hang otherwise, pitfalls fact 1) and waits
 * for room in the socket, reading on, so that two full sockets cannot block each other. */
bool broker_ready_to_send(struct broker *b, struct error *err);

/* guard_leave, and what it means: answers whether the connection is still usable. */
bool broker_leave(struct broker *b);

/* Sends one method and answers the library's status through broker_fail. */
bool broker_send(struct broker *b, amqp_channel_t channel, amqp_method_number_t id, void *method, struct error *err);

/* ---- message.c ---- */

bool message_deliver(struct broker *b, const amqp_basic_deliver_t *m);
bool message_returned(struct broker *b);
bool message_header(struct broker *b, const amqp_frame_t *frame, unsigned *arrived);
bool message_body(struct broker *b, struct slice piece, unsigned *arrived);
void message_discard(struct assembly *a);
struct slice message_encoded_properties(const struct broker_message *message);

/* ---- call.c ---- */

/* Sends a request and waits for its answer, at most timeout_ms. */
bool broker_call(struct broker *b, amqp_channel_t channel, amqp_method_number_t id, void *method,
                 amqp_method_number_t answer, int timeout_ms, struct error *err);
bool broker_open_channel(struct broker *b, struct error *err);

#endif
