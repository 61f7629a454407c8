/* client/broker against a peer of our own that misbehaves: nothing hangs, nothing crashes, every failure has a
 * sentence. */
#include "testing.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../src/client/broker/broker_private.h"
#include "orderd/clock.h"
#include "testing_fact.h"

/* ---- the peer ---- */

struct peer {
    int listener, port;
    void (*play)(int fd);
    pthread_t id;
};

static _Atomic bool peer_leaves;

static void *serve(void *data)
{
    struct peer *p = data;
    int fd = accept(p->listener, NULL, NULL);

    if (fd >= 0) {
        p->play(fd);
        close(fd);
    }
    return NULL;
}

static void peer_start(struct peer *p, void (*play)(int fd))
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;

    p->play = play;
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(p->listener, 0);
    ck_assert_int_eq(bind(p->listener, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(p->listener, 4), 0);
    ck_assert_int_eq(getsockname(p->listener, (struct sockaddr *)&a, &len), 0);
    p->port = ntohs(a.sin_port);
    ck_assert_int_eq(pthread_create(&p->id, NULL, serve, p), 0);
}

static void peer_stop(struct peer *p)
{
    peer_leaves = true;
    shutdown(p->listener, SHUT_RDWR);
    pthread_join(p->id, NULL);
    close(p->listener);
}

static void put(int fd, const void *bytes, size_t len)
{
    for (const char *at = bytes; len;) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

        if (n <= 0)
            return; /* our side has gone, as some scenes want it */
        at += n;
        len -= (size_t)n;
    }
}

static bool get(int fd, void *bytes, size_t len)
{
    for (char *at = bytes; len;) {
        ssize_t n = recv(fd, at, len, 0);

        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

static void wait_for_end(int fd)
{
    char sink[4096];

    while (recv(fd, sink, sizeof sink, 0) > 0)
        ;
}

static void put_frame(int fd, int type, int channel, const void *payload, size_t len)
{
    unsigned char head[7] = {(unsigned char)type,        (unsigned char)(channel >> 8), (unsigned char)channel,
                             (unsigned char)(len >> 24), (unsigned char)(len >> 16),    (unsigned char)(len >> 8),
                             (unsigned char)len};

    put(fd, head, sizeof head);
    put(fd, payload, len);
    put(fd, "\xCE", 1);
}

static void put_method(int fd, int channel, amqp_method_number_t id, void *method)
{
    static __thread unsigned char payload[4096];
    int len;

    for (int i = 0; i < 4; i++)
        payload[i] = (unsigned char)(id >> (24 - 8 * i));
    len = amqp_encode_method(id, method, (amqp_bytes_t){sizeof payload - 4, payload + 4});
    put_frame(fd, AMQP_FRAME_METHOD, channel, payload, (size_t)len + 4);
}

/* The next method's number, content frames left out; 0 at the end. */
static amqp_method_number_t get_method(int fd)
{
    static __thread unsigned char payload[1 << 20];
    unsigned char head[7];
    size_t len;

    while (get(fd, head, sizeof head)) {
        len = (size_t)head[3] << 24 | (size_t)head[4] << 16 | (size_t)head[5] << 8 | head[6];
        if (!get(fd, payload, len + 1))
            return 0;
        if (head[0] == AMQP_FRAME_METHOD)
            return (amqp_method_number_t)payload[0] << 24 | (amqp_method_number_t)payload[1] << 16 |
                   (amqp_method_number_t)payload[2] << 8 | payload[3];
    }
    return 0;
}

static bool get_until(int fd, amqp_method_number_t want)
{
    amqp_method_number_t id;

    do {
        id = get_method(fd);
    } while (id && id != want);
    return id == want;
}

static void welcome(int fd)
{
    amqp_connection_start_t start = {.version_minor = 9};
    amqp_connection_tune_t tune = {.channel_max = 2047, .frame_max = 131072, .heartbeat = 60};
    amqp_connection_open_ok_t open_ok = {0};
    amqp_channel_open_ok_t channel_ok = {0};
    char header[8];

    start.mechanisms = bytes_of_text("PLAIN");
    start.locales = bytes_of_text("en_US");
    if (!get(fd, header, sizeof header))
        return;
    put_method(fd, 0, AMQP_CONNECTION_START_METHOD, &start);
    get_until(fd, AMQP_CONNECTION_START_OK_METHOD);
    put_method(fd, 0, AMQP_CONNECTION_TUNE_METHOD, &tune);
    get_until(fd, AMQP_CONNECTION_OPEN_METHOD);
    put_method(fd, 0, AMQP_CONNECTION_OPEN_OK_METHOD, &open_ok);
    get_until(fd, AMQP_CHANNEL_OPEN_METHOD);
    put_method(fd, 1, AMQP_CHANNEL_OPEN_OK_METHOD, &channel_ok);
}

static void welcome_consumer(int fd)
{
    amqp_basic_qos_ok_t qos_ok = {0};
    amqp_basic_consume_ok_t consume_ok = {.consumer_tag = {3, (void *)(uintptr_t) "tag"}};

    welcome(fd);
    get_until(fd, AMQP_BASIC_QOS_METHOD);
    put_method(fd, 1, AMQP_BASIC_QOS_OK_METHOD, &qos_ok);
    get_until(fd, AMQP_BASIC_CONSUME_METHOD);
    put_method(fd, 1, AMQP_BASIC_CONSUME_OK_METHOD, &consume_ok);
}

static void welcome_publisher(int fd)
{
    amqp_confirm_select_ok_t ok = {0};

    welcome(fd);
    get_until(fd, AMQP_CONFIRM_SELECT_METHOD);
    put_method(fd, 1, AMQP_CONFIRM_SELECT_OK_METHOD, &ok);
}

/* ---- our side ---- */

static struct conf *conf_for(const struct peer *p)
{
    struct error err;
    struct conf *conf = conf_load(NULL, &err);

    ck_assert_msg(conf != NULL, "%s", err.text);
    conf->broker_port = p->port;
    conf->broker_connect_timeout = 5000; /* of the login, too */
    conf->broker_call_timeout = 1000;
    return conf;
}

static struct broker *must_open(const struct conf *conf)
{
    struct error err;
    struct broker *b = broker_open(conf, "test", &err);

    ck_assert_ok(b != NULL, &err);
    return b;
}

static struct broker *must_consume(const struct conf *conf)
{
    struct broker *b = must_open(conf);
    struct error err;

    ck_assert_ok(broker_consume(b, "queue", 10, "tag", &err), &err);
    return b;
}

static struct broker *must_confirm(const struct conf *conf)
{
    struct broker *b = must_open(conf);
    struct error err;

    ck_assert_ok(broker_confirm_select(b, 100, &err), &err);
    return b;
}

static bool publish(struct broker *b, const char *id, struct slice body, enum broker_outcome *outcome,
                    struct error *err)
{
    struct broker_publication p = {.exchange = "e", .routing_key = "k", .body = body, .message_id = slice_of(id)};

    return broker_publish(b, &p, outcome, err);
}

/* ---- before and during the login ---- */

static void say_nothing(int fd)
{
    wait_for_end(fd);
}

static void say_http(int fd)
{
    static const char text[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

    put(fd, text, sizeof text - 1);
    wait_for_end(fd);
}

static void say_other_version(int fd)
{
    put(fd, "AMQP\0\1\0\0", 8);
    wait_for_end(fd);
}

static void say_noise(int fd)
{
    char noise[4096];

    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)(i * 7919 >> 3);
    put(fd, noise, sizeof noise);
    wait_for_end(fd);
}

static void hang_up(int fd)
{
    (void)fd;
}

static void hang_up_in_frame(int fd)
{
    put(fd, "\1\0\0\0\0\1\0half", 11);
    shutdown(fd, SHUT_WR);
    wait_for_end(fd);
}

static void refuse(int fd)
{
    amqp_connection_start_t start = {.version_minor = 9};
    amqp_connection_close_t close_ = {.reply_code = 403};
    char header[8];

    start.mechanisms = bytes_of_text("PLAIN");
    start.locales = bytes_of_text("en_US");
    close_.reply_text = bytes_of_text("ACCESS_REFUSED - go away");
    get(fd, header, sizeof header);
    put_method(fd, 0, AMQP_CONNECTION_START_METHOD, &start);
    get_until(fd, AMQP_CONNECTION_START_OK_METHOD);
    put_method(fd, 0, AMQP_CONNECTION_CLOSE_METHOD, &close_);
    wait_for_end(fd);
}

static void tiny_frame_max(int fd)
{
    amqp_connection_start_t start = {.version_minor = 9};
    amqp_connection_tune_t tune = {.channel_max = 1, .frame_max = 10, .heartbeat = 60};
    char header[8];

    start.mechanisms = bytes_of_text("PLAIN");
    start.locales = bytes_of_text("en_US");
    get(fd, header, sizeof header);
    put_method(fd, 0, AMQP_CONNECTION_START_METHOD, &start);
    get_until(fd, AMQP_CONNECTION_START_OK_METHOD);
    put_method(fd, 0, AMQP_CONNECTION_TUNE_METHOD, &tune);
    wait_for_end(fd);
}

static const struct {
    void (*play)(int fd);
    enum error_code code;
    const char *words;
} logins[] = {
    {say_nothing, ERROR_BROKER_AWAY, "does not answer the login within 500 ms"},
    {say_http, ERROR_BROKER_AWAY, "does not speak AMQP 0-9-1"},
    {say_other_version, ERROR_BROKER_AWAY, "does not speak AMQP 0-9-1"},
    {say_noise, ERROR_BROKER_AWAY, "127.0.0.1:"},
    {hang_up, ERROR_BROKER_AWAY, "ended the connection during login"},
    {hang_up_in_frame, ERROR_BROKER_AWAY, "ended the connection during login"},
    {refuse, ERROR_BROKER_SETUP, "user \"guest\" to vhost \"/\" with 403: ACCESS_REFUSED - go away"},
    {tiny_frame_max, ERROR_BROKER_AWAY, "127.0.0.1:"},
};

START_TEST(login_fails)
{
    struct peer p;
    struct conf *conf;
    struct error err;
    int64_t start = clock_mono_ms();

    peer_start(&p, logins[_i].play);
    conf = conf_for(&p);
    conf->broker_connect_timeout = 500;
    ck_assert_ptr_null(broker_open(conf, "test", &err));
    testing_within(start, 1500);
    ck_assert_msg(err.code == logins[_i].code && strstr(err.text, logins[_i].words), "%s: %s",
                  error_code_name(err.code), err.text);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

/* Its mechanisms are PLAIN alone. */
START_TEST(no_login_by_certificate)
{
    struct peer p;
    struct conf *conf;
    struct error err;

    peer_start(&p, refuse);
    conf = conf_for(&p);
    conf->broker_auth = CONF_AUTH_EXTERNAL;
    ck_assert_ptr_null(broker_open(conf, "test", &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_SETUP);
    ck_assert_msg(strstr(err.text, "does not offer login by certificate (EXTERNAL)") != NULL, "%s", err.text);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

START_TEST(port_is_closed)
{
    struct peer p;
    struct conf *conf;
    struct error err;

    peer_start(&p, hang_up);
    conf = conf_for(&p);
    peer_stop(&p);
    ck_assert_ptr_null(broker_open(conf, "test", &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY);
    ck_assert_msg(strstr(err.text, "Connection refused") != NULL, "%s", err.text);
    conf_destroy(&conf);
}
END_TEST

START_TEST(name_without_address)
{
    struct peer p = {.port = 1};
    struct conf *conf = conf_for(&p);
    struct error err;

    conf->broker_host = "no such name";
    ck_assert_ptr_null(broker_open(conf, "test", &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY);
    ck_assert_msg(strstr(err.text, "cannot resolve broker host") != NULL, "%s", err.text);
    conf_destroy(&conf);
}
END_TEST

/* ---- deliveries ---- */

static void announce(int fd, uint64_t body_size)
{
    amqp_basic_deliver_t deliver = {.delivery_tag = 1};
    unsigned char header[14] = {0, 60};

    deliver.consumer_tag = bytes_of_text("tag");
    deliver.exchange = bytes_of_text("");
    deliver.routing_key = bytes_of_text("queue");
    for (int i = 0; i < 8; i++)
        header[4 + i] = (unsigned char)(body_size >> (56 - 8 * i));
    put_method(fd, 1, AMQP_BASIC_DELIVER_METHOD, &deliver);
    put_frame(fd, AMQP_FRAME_HEADER, 1, header, sizeof header);
}

static void close_in_body(int fd)
{
    welcome_consumer(fd);
    announce(fd, 1000);
    put(fd, "\3\0\1\0\0\3\350half", 11);
}

static void body_without_header(int fd)
{
    welcome_consumer(fd);
    put_frame(fd, AMQP_FRAME_BODY, 1, "abc", 3);
    wait_for_end(fd);
}

static void header_without_deliver(int fd)
{
    static const char header[14] = {0, 60};

    welcome_consumer(fd);
    put_frame(fd, AMQP_FRAME_HEADER, 1, header, sizeof header);
    wait_for_end(fd);
}

static void body_too_long(int fd)
{
    welcome_consumer(fd);
    announce(fd, 2);
    put_frame(fd, AMQP_FRAME_BODY, 1, "abc", 3);
    wait_for_end(fd);
}

static void body_of_exabytes(int fd)
{
    welcome_consumer(fd);
    announce(fd, UINT64_MAX);
    wait_for_end(fd);
}

static void message_in_message(int fd)
{
    welcome_consumer(fd);
    announce(fd, 2);
    announce(fd, 2);
    wait_for_end(fd);
}

static void more_than_prefetch(int fd)
{
    welcome_consumer(fd);
    for (int i = 0; i < 11; i++)
        announce(fd, 0);
    wait_for_end(fd);
}

static void many_channels(int fd)
{
    welcome_consumer(fd);
    for (int channel = 2; channel < 65000; channel++)
        put_frame(fd, AMQP_FRAME_BODY, channel, "abc", 3);
    wait_for_end(fd);
}

static void frame_without_end(int fd)
{
    welcome_consumer(fd);
    put(fd, "\3\0\1\0\0\0\3abc!", 11);
    wait_for_end(fd);
}

static void frame_of_gigabytes(int fd)
{
    welcome_consumer(fd);
    put(fd, "\3\0\1\177\377\377\377abc", 10);
    wait_for_end(fd);
}

static void method_too_short(int fd)
{
    welcome_consumer(fd);
    put_frame(fd, AMQP_FRAME_METHOD, 1, "\0\74\0\74ab", 6);
    wait_for_end(fd);
}

static void method_unknown(int fd)
{
    welcome_consumer(fd);
    put_frame(fd, AMQP_FRAME_METHOD, 1, "\1\2\3\4abcdef", 10);
    wait_for_end(fd);
}

static void close_with(int fd, uint16_t code, const char *text)
{
    amqp_connection_close_t m = {.reply_code = code};

    m.reply_text = bytes_of_text(text);
    welcome_consumer(fd);
    put_method(fd, 0, AMQP_CONNECTION_CLOSE_METHOD, &m);
    get_until(fd, AMQP_CONNECTION_CLOSE_OK_METHOD);
}

static void forced_close(int fd)
{
    close_with(fd, 320, "CONNECTION_FORCED - rolling\nrestart");
}

static void internal_error(int fd)
{
    close_with(fd, 541, "INTERNAL_ERROR");
}

static const struct {
    void (*play)(int fd);
    const char *words;
} breaks[] = {
    {close_in_body, "connection lost while reading"},
    {body_without_header, "a body that belongs to nothing"},
    {header_without_deliver, "a content header that belongs to nothing"},
    {body_too_long, "a body that belongs to nothing"},
    {body_of_exabytes, "a message of more than 128 MiB"},
    {message_in_message, "a message inside a message"},
    {more_than_prefetch, "more deliveries than the prefetch allows"},
    {many_channels, ""},
    {frame_without_end, "invalid AMQP data"},
    {frame_of_gigabytes, "invalid AMQP data"},
    {method_too_short, "AMQP data"},
    {method_unknown, "unknown AMQP"},
    {forced_close, "closed the connection with 320: CONNECTION_FORCED - rolling restart"},
    {internal_error, "with 541: INTERNAL_ERROR; that is a fault within RabbitMQ: see its log, and docs/servers.md"},
};

/* The connection fails with a sentence, says the same ever after, and closing it does not wait for the peer. */
START_TEST(consumer_sees_nonsense)
{
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct broker_delivery d[20];
    struct error err, again;
    size_t n;
    int64_t start = clock_mono_ms();

    peer_start(&p, breaks[_i].play);
    conf = conf_for(&p);
    b = must_consume(conf);
    while (broker_take(b, d, 20, 200, &n, &err)) {
        for (size_t i = 0; i < n; i++)
            broker_delivery_release(&d[i]);
        testing_within(start, 3000);
    }
    ck_assert_msg(err.code == ERROR_BROKER_AWAY && strstr(err.text, breaks[_i].words), "%s: %s",
                  error_code_name(err.code), err.text);
    ck_assert(!broker_ack(b, 1, true, &again));
    ck_assert_str_eq(again.text, err.text);
    broker_close(&b, true);
    testing_within(start, 4500);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

static void stall_in_body(int fd)
{
    welcome_consumer(fd);
    announce(fd, 1000);
    put(fd, "\3\0\1\0\0\3\350half", 11);
    wait_for_end(fd);
}

/* Half a message holds nobody up (pitfalls A4: the library's own consume call would wait in it), and the silence that
 * follows is noticed after two heartbeats. */
START_TEST(half_a_message_does_not_block)
{
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct broker_delivery d[4];
    struct error err;
    size_t n = 99;
    int64_t start;

    peer_start(&p, stall_in_body);
    conf = conf_for(&p);
    conf->broker_heartbeat = 1000;
    b = must_consume(conf);
    start = clock_mono_ms();
    ck_assert_ok(broker_take(b, d, 4, 100, &n, &err), &err);
    ck_assert_uint_eq(n, 0);
    testing_within(start, 600);
    while (broker_take(b, d, 4, 100, &n, &err))
        testing_within(start, 5000);
    ck_assert_msg(strstr(err.text, "heartbeat") != NULL, "%s", err.text);
    ck_assert_int_gt(clock_mono_ms() - start, 1500);
    broker_close(&b, true);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

static void odd_but_allowed(int fd)
{
    welcome_consumer(fd);
    for (int i = 0; i < 1000; i++)
        put_frame(fd, AMQP_FRAME_HEARTBEAT, 0, "", 0);
    announce(fd, 6);
    put_frame(fd, AMQP_FRAME_BODY, 1, "", 0);
    put_frame(fd, AMQP_FRAME_BODY, 1, "abc", 3);
    put_frame(fd, AMQP_FRAME_HEARTBEAT, 0, "", 0);
    put_frame(fd, AMQP_FRAME_BODY, 1, "def", 3);
    wait_for_end(fd);
}

START_TEST(odd_frames_are_stepped_over)
{
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct broker_delivery d;
    struct error err;
    size_t n = 0;

    peer_start(&p, odd_but_allowed);
    conf = conf_for(&p);
    b = must_consume(conf);
    for (int i = 0; i < 20 && n == 0; i++)
        ck_assert_ok(broker_take(b, &d, 1, 100, &n, &err), &err);
    ck_assert_uint_eq(n, 1);
    ck_assert(slice_is(d.body, "abcdef"));
    ck_assert(slice_is(d.routing_key, "queue"));
    broker_delivery_release(&d);
    broker_close(&b, false);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

static void unknown_frame(int fd)
{
    welcome_consumer(fd);
    put_frame(fd, 99, 0, "unknown frame type", 18);
    announce(fd, 3);
    put_frame(fd, AMQP_FRAME_BODY, 1, "abc", 3);
    wait_for_end(fd);
}

/* The library steps over a frame of a type that nobody knows up to 0.17, and refuses it from 0.18 on, as AMQP asks:
 * then the connection is over, and nothing hangs. */
START_TEST(unknown_frame_hides_nothing)
{
    bool refused = testing_fact(TESTING_UNKNOWN_FRAME_REFUSED);
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct broker_delivery d;
    struct error err = {0};
    size_t n = 0;
    bool up = true;

    peer_start(&p, unknown_frame);
    conf = conf_for(&p);
    b = must_consume(conf);
    for (int i = 0; i < 20 && n == 0 && up; i++)
        up = broker_take(b, &d, 1, 100, &n, &err);
    ck_assert_int_eq(up, !refused);
    if (up) {
        ck_assert(slice_is(d.body, "abc"));
        broker_delivery_release(&d);
    } else {
        ck_assert_msg(err.code == ERROR_BROKER_AWAY, "%s", err.text);
    }
    broker_close(&b, false);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

/* 20,000 tables inside each other, as any client may send through a broker. The library decodes them by recursion. */
static void deep_table(int fd)
{
    enum { DEPTH = 20000 };
    static unsigned char header[14 + 4 + 6 * DEPTH];
    amqp_basic_deliver_t deliver = {.delivery_tag = 1};
    unsigned char *at = header + 14;

    header[1] = 60;
    header[12] = 1 << 5; /* headers only */
    for (int depth = 0; depth <= DEPTH; depth++) {
        unsigned rest = 6U * (unsigned)(DEPTH - depth);

        if (depth) {
            *at++ = 0;
            *at++ = 'F';
        }
        for (int shift = 24; shift >= 0; shift -= 8)
            *at++ = (unsigned char)(rest >> shift);
    }
    deliver.consumer_tag = deliver.exchange = deliver.routing_key = bytes_of_text("");
    welcome_consumer(fd);
    put_method(fd, 1, AMQP_BASIC_DELIVER_METHOD, &deliver);
    put_frame(fd, AMQP_FRAME_HEADER, 1, header, sizeof header);
    wait_for_end(fd);
}

START_TEST(deep_header_table)
{
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct broker_delivery d;
    struct broker_header h;
    struct error err;
    size_t n = 0;
    bool ok = true;

    peer_start(&p, deep_table);
    conf = conf_for(&p);
    b = must_consume(conf);
    for (int i = 0; i < 20 && n == 0 && ok; i++)
        ok = broker_take(b, &d, 1, 100, &n, &err);
    if (ok) { /* libraries from 0.14 refuse it; before, it is a message like any other */
        ck_assert_uint_eq(n, 1);
        ck_assert(!broker_delivery_header(&d, 0, &h));
        broker_delivery_release(&d);
    }
    broker_close(&b, false);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

/* ---- publishing ---- */

static void confirm(int fd, uint64_t tag, bool multiple, bool positive)
{
    amqp_basic_ack_t ack = {.delivery_tag = tag, .multiple = multiple};
    amqp_basic_nack_t nack = {.delivery_tag = tag, .multiple = multiple};

    if (positive)
        put_method(fd, 1, AMQP_BASIC_ACK_METHOD, &ack);
    else
        put_method(fd, 1, AMQP_BASIC_NACK_METHOD, &nack);
}

static void give_back(int fd, const char *message_id)
{
    amqp_basic_return_t m = {.reply_code = 312};
    size_t len = strlen(message_id);
    unsigned char header[64] = {0, 60};

    m.reply_text = bytes_of_text("NO_ROUTE");
    m.exchange = bytes_of_text("e");
    m.routing_key = bytes_of_text("k");
    header[11] = 4;   /* body size */
    header[13] = 128; /* message id only */
    header[14] = (unsigned char)len;
    memcpy(header + 15, message_id, len);
    put_method(fd, 1, AMQP_BASIC_RETURN_METHOD, &m);
    put_frame(fd, AMQP_FRAME_HEADER, 1, header, 15 + len);
    put_frame(fd, AMQP_FRAME_BODY, 1, "bo", 2);
    put_frame(fd, AMQP_FRAME_BODY, 1, "dy", 2);
}

static void confirm_oddly(int fd)
{
    welcome_publisher(fd);
    for (int i = 0; i < 10; i++)
        get_until(fd, AMQP_BASIC_PUBLISH_METHOD);
    confirm(fd, 3, false, true);
    confirm(fd, 5, false, false);
    confirm(fd, 4, true, true); /* 1, 2, 4 */
    give_back(fd, "id7");
    give_back(fd, "id10");
    confirm(fd, 4, true, false); /* all acked already */
    confirm(fd, 99, true, true); /* never published */
    confirm(fd, 8, true, true);  /* 6, 7, 8 */
    confirm(fd, 10, false, true);
    confirm(fd, 9, false, false);
    wait_for_end(fd);
}

START_TEST(confirms_in_any_order)
{
    static const enum broker_outcome want[] = {
        BROKER_OUTCOME_CONFIRMED, BROKER_OUTCOME_CONFIRMED, BROKER_OUTCOME_CONFIRMED, BROKER_OUTCOME_CONFIRMED,
        BROKER_OUTCOME_REFUSED,   BROKER_OUTCOME_CONFIRMED, BROKER_OUTCOME_RETURNED,  BROKER_OUTCOME_CONFIRMED,
        BROKER_OUTCOME_REFUSED,   BROKER_OUTCOME_RETURNED,
    };
    enum broker_outcome out[10];
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct error err;
    char id[16];

    peer_start(&p, confirm_oddly);
    conf = conf_for(&p);
    b = must_confirm(conf);
    for (int i = 0; i < 10; i++) {
        snprintf(id, sizeof id, "id%d", i + 1);
        ck_assert_ok(publish(b, id, slice_of("body"), &out[i], &err), &err);
    }
    ck_assert_ok(broker_wait_confirms(b, 2000, &err), &err);
    for (int i = 0; i < 10; i++)
        ck_assert_msg(out[i] == want[i], "publication %d: got %d, want %d", i + 1, out[i], want[i]);
    broker_close(&b, false);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

static void never_confirm(int fd)
{
    welcome_publisher(fd);
    wait_for_end(fd);
}

START_TEST(confirm_that_never_comes)
{
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct error err;
    enum broker_outcome out[2];
    int64_t start;

    peer_start(&p, never_confirm);
    conf = conf_for(&p);
    b = must_confirm(conf);
    ck_assert_ok(publish(b, "1", slice_of("body"), &out[0], &err), &err);
    start = clock_mono_ms();
    ck_assert(!broker_wait_confirms(b, 300, &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_UNCONFIRMED);
    ck_assert_int_eq(out[0], BROKER_OUTCOME_UNKNOWN);
    testing_within(start, 800);
    ck_assert_uint_eq(broker_unconfirmed(b), 0);
    ck_assert_ok(publish(b, "2", slice_of("body"), &out[1], &err), &err);
    ck_assert_int_eq(out[1], BROKER_OUTCOME_PENDING);
    start = clock_mono_ms();
    broker_close(&b, true); /* the peer does not answer that either */
    testing_within(start, 2600);
    ck_assert_int_eq(out[1], BROKER_OUTCOME_UNKNOWN);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

START_TEST(full_window_is_bounded)
{
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct error err;
    enum broker_outcome out[3];
    int64_t start;

    peer_start(&p, never_confirm);
    conf = conf_for(&p);
    b = must_open(conf);
    ck_assert_ok(broker_confirm_select(b, 2, &err), &err);
    ck_assert_ok(publish(b, "1", slice_of("body"), &out[0], &err), &err);
    ck_assert_ok(publish(b, "2", slice_of("body"), &out[1], &err), &err);
    start = clock_mono_ms();
    ck_assert(!publish(b, "3", slice_of("body"), &out[2], &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_UNCONFIRMED);
    ck_assert_int_eq(out[2], BROKER_OUTCOME_REFUSED);
    ck_assert_int_eq(out[0], BROKER_OUTCOME_PENDING);
    testing_within(start, 1800);
    broker_close(&b, false);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

static void block_and_unblock(int fd)
{
    amqp_connection_blocked_t blocked;
    amqp_connection_unblocked_t unblocked = {0};

    blocked.reason = bytes_of_text("low on memory");
    welcome_publisher(fd);
    get_until(fd, AMQP_BASIC_PUBLISH_METHOD);
    put_method(fd, 0, AMQP_CONNECTION_BLOCKED_METHOD, &blocked);
    clock_sleep_ms(300);
    put_method(fd, 0, AMQP_CONNECTION_UNBLOCKED_METHOD, &unblocked);
    confirm(fd, 1, false, true);
    wait_for_end(fd);
}

START_TEST(blocked_and_unblocked)
{
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct error err;
    enum broker_outcome out[3];

    peer_start(&p, block_and_unblock);
    conf = conf_for(&p);
    b = must_confirm(conf);
    ck_assert_ok(publish(b, "1", slice_of("body"), &out[0], &err), &err);
    testing_wait(broker_pump(b, 10, &err) && broker_blocked(b), 2000, "connection.blocked");
    ck_assert(!publish(b, "2", slice_of("body"), &out[1], &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_BLOCKED);
    ck_assert_msg(strstr(err.text, "low on memory") != NULL, "%s", err.text);
    ck_assert_int_eq(out[1], BROKER_OUTCOME_REFUSED);
    ck_assert_int_eq(out[0], BROKER_OUTCOME_PENDING);
    testing_wait(broker_pump(b, 10, &err) && !broker_blocked(b), 2000, "connection.unblocked");
    ck_assert_ok(broker_wait_confirms(b, 1000, &err), &err);
    ck_assert_int_eq(out[0], BROKER_OUTCOME_CONFIRMED);
    ck_assert_ok(publish(b, "3", slice_of("body"), &out[2], &err), &err);
    broker_close(&b, false);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

static void stop_reading(int fd)
{
    welcome_publisher(fd);
    while (!peer_leaves) /* the socket stays full, so nothing would tell us of its end */
        clock_sleep_ms(20);
}

/* The peer takes nothing more, and small messages pile up: our own wait for room ends it, without any watchdog. */
START_TEST(full_socket_is_bounded)
{
    static char block[16384];
    enum broker_outcome out[100];
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct error err;
    int64_t last = clock_mono_ms();
    int n = 0;

    peer_start(&p, stop_reading);
    conf = conf_for(&p);
    b = must_open(conf);
    ck_assert_ok(broker_confirm_select(b, 65535, &err), &err);
    while (publish(b, "id", (struct slice){block, sizeof block}, &out[n % 100], &err)) {
        n++;
        ck_assert_int_lt(n, 65000);
        last = clock_mono_ms();
        out[n % 100] = BROKER_OUTCOME_PENDING;
    }
    ck_assert_msg(strstr(err.text, "takes no data for 1000 ms") != NULL, "%s", err.text);
    testing_within(last, 2000);
    ck_assert_int_eq(out[0], BROKER_OUTCOME_UNKNOWN);
    broker_close(&b, true);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

static _Atomic bool guard_stops;
static _Atomic unsigned guard_shots;

static void *guard_thread(void *data)
{
    (void)data;
    while (!guard_stops) {
        guard_shots += broker_guard_check();
        clock_sleep_ms(50);
    }
    return NULL;
}

/* One body that is larger than both sockets' buffers: the library waits inside the publish, without any limit of its
 * own (rabbitmq-c #519). Only the watchdog ends that. */
START_TEST(watchdog_ends_a_stuck_publish)
{
    enum { SIZE = 32 << 20 };
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct error err;
    enum broker_outcome out;
    char *body = check_calloc(1, SIZE);
    int64_t start;
    pthread_t id;

    ck_assert_int_eq(pthread_create(&id, NULL, guard_thread, NULL), 0);
    peer_start(&p, stop_reading);
    conf = conf_for(&p);
    b = must_confirm(conf);
    start = clock_mono_ms();
    ck_assert(!publish(b, "id", (struct slice){body, SIZE}, &out, &err));
    testing_within(start, 2500);
    ck_assert_int_ge(clock_mono_ms() - start, 1000);
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY);
    ck_assert_msg(strstr(err.text, "watchdog") != NULL, "%s", err.text);
    ck_assert_int_eq(out, BROKER_OUTCOME_UNKNOWN);
    testing_wait(guard_shots == 1, 1000, "the watchdog's own count");
    broker_close(&b, true);
    guard_stops = true;
    pthread_join(id, NULL);
    peer_stop(&p);
    conf_destroy(&conf);
    free(body);
}
END_TEST

/* Pitfalls fact 1: a library before 0.14 never returns from a publish to a peer that was silent for two heartbeats. */
START_TEST(publish_after_silence)
{
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct error err;
    enum broker_outcome out;
    int64_t start;

    peer_start(&p, never_confirm);
    conf = conf_for(&p);
    conf->broker_heartbeat = 1000;
    b = must_confirm(conf);
    clock_sleep_ms(2300);
    start = clock_mono_ms();
    ck_assert(!publish(b, "id", slice_of("body"), &out, &err));
    testing_within(start, 500);
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY);
    ck_assert_msg(strstr(err.text, "heartbeat") != NULL, "%s", err.text);
    ck_assert_int_eq(out, BROKER_OUTCOME_REFUSED); /* surely not sent */
    broker_close(&b, true);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

START_TEST(second_term_wakes_everybody)
{
    struct peer p;
    struct conf *conf;
    struct broker *b;
    struct error err;

    peer_start(&p, never_confirm);
    conf = conf_for(&p);
    b = must_confirm(conf);
    broker_guard_shutdown_all();
    ck_assert(!broker_pump(b, 1000, &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY);
    broker_close(&b, true);
    peer_stop(&p);
    conf_destroy(&conf);
}
END_TEST

/* What cannot be sent whole must not be begun. */
START_TEST(properties_that_do_not_fit)
{
    static char big[140000];
    struct broker_header header = {.name = slice_of("h"), .value = {big, sizeof big}};
    struct broker_publication p = {.exchange = "e", .routing_key = "k", .headers = &header, .header_count = 1};
    struct broker_publication long_id = {.exchange = "e", .routing_key = "k", .message_id = {big, WIRE_SHORT_MAX + 1}};
    struct peer peer;
    struct conf *conf;
    struct broker *b;
    struct error err;
    enum broker_outcome out;

    peer_start(&peer, never_confirm);
    conf = conf_for(&peer);
    b = must_confirm(conf);
    ck_assert(!broker_publish(b, &p, &out, &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_TOO_LARGE);
    ck_assert_int_eq(out, BROKER_OUTCOME_TOO_LARGE);
    ck_assert(!broker_publish(b, &long_id, &out, &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_TOO_LARGE);
    ck_assert_ok(publish(b, "1", slice_of("body"), &out, &err), &err); /* the connection has seen nothing of it */
    broker_close(&b, false);
    peer_stop(&peer);
    conf_destroy(&conf);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("broker_peer");
    TCase *tc = tcase_create("peer");

    suite_add_tcase(suite, tc);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, login_fails, 0, COUNT(logins));
    tcase_add_test(tc, no_login_by_certificate);
    tcase_add_test(tc, port_is_closed);
    tcase_add_test(tc, name_without_address);
    tcase_add_loop_test(tc, consumer_sees_nonsense, 0, COUNT(breaks));
    tcase_add_test(tc, half_a_message_does_not_block);
    tcase_add_test(tc, odd_frames_are_stepped_over);
    tcase_add_test(tc, unknown_frame_hides_nothing);
    tcase_add_test(tc, deep_header_table);
    tcase_add_test(tc, confirms_in_any_order);
    tcase_add_test(tc, confirm_that_never_comes);
    tcase_add_test(tc, full_window_is_bounded);
    tcase_add_test(tc, blocked_and_unblocked);
    tcase_add_test(tc, full_socket_is_bounded);
    tcase_add_test(tc, watchdog_ends_a_stuck_publish);
    tcase_add_test(tc, publish_after_silence);
    tcase_add_test(tc, second_term_wakes_everybody);
    tcase_add_test(tc, properties_that_do_not_fit);
    return testing_main(suite);
}
