/* client/broker against the real broker. */
#include "testing.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../src/client/broker/broker_private.h"
#include "orderd/clock.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const struct broker_argument quorum[] = {{"x-queue-type", "quorum", 0}};

/* ---- helpers ---- */

static struct conf *conf; /* each test is a process of its own */

static void setup(void)
{
    conf = testing_conf(NULL);
    conf->broker_heartbeat = 5000;
    conf->broker_call_timeout = 5000;
}

static void teardown(void)
{
    conf_destroy(&conf);
}

static struct broker *must_open(void)
{
    struct error err;
    struct broker *b = broker_open(conf, "test_broker", &err);

    ck_assert_ok(b != NULL, &err);
    return b;
}

static struct broker *must_consume(const char *queue, unsigned prefetch)
{
    struct broker *b = must_open();
    struct error err;

    ck_assert_ok(broker_consume(b, queue, prefetch, "consumer", &err), &err);
    return b;
}

static struct broker *must_confirm(unsigned window)
{
    struct broker *b = must_open();
    struct error err;

    ck_assert_ok(broker_confirm_select(b, window, &err), &err);
    return b;
}

static void declare(const char *queue, const struct broker_argument *arguments, size_t count)
{
    struct broker *b = must_open();
    enum broker_presence presence;
    struct error err, detail;

    ck_assert_ok(broker_declare_queue(b, queue, arguments, count, true, &presence, &detail, &err), &err);
    ck_assert_msg(presence == BROKER_PRESENT, "%s", detail.text);
    broker_close(&b, true);
}

static void delete_queue(const char *queue)
{
    struct broker *b = must_open();
    amqp_queue_delete_t m = {.queue = bytes_of_text(queue)};
    struct error err;

    ck_assert_ok(broker_call(b, BROKER_CHANNEL, AMQP_QUEUE_DELETE_METHOD, &m, AMQP_QUEUE_DELETE_OK_METHOD, 5000, &err),
                 &err);
    broker_close(&b, true);
}

static uint32_t depth(const char *queue)
{
    struct broker *b = must_open();
    uint32_t messages = 0, consumers;
    struct error err;

    ck_assert_ok(broker_queue_depth(b, queue, &messages, &consumers, &err), &err);
    broker_close(&b, true);
    return messages;
}

static bool publish(struct broker *b, const char *queue, const char *id, struct slice body,
                    enum broker_outcome *outcome, struct error *err)
{
    struct broker_publication p = {.exchange = "", .routing_key = queue, .body = body, .message_id = slice_of(id)};

    return broker_publish(b, &p, outcome, err);
}

/* n messages with the ids and bodies first, first + 1, ...; all confirmed. */
static void fill(const char *queue, unsigned first, unsigned n)
{
    struct broker *b = must_confirm(2000);
    enum broker_outcome *outcome = check_calloc(n, sizeof *outcome);
    struct error err;
    char id[16];

    for (unsigned i = 0; i < n; i++) {
        snprintf(id, sizeof id, "%u", first + i);
        ck_assert_ok(publish(b, queue, id, slice_of(id), &outcome[i], &err), &err);
    }
    ck_assert_ok(broker_wait_confirms(b, 20000, &err), &err);
    for (unsigned i = 0; i < n; i++)
        ck_assert_int_eq(outcome[i], BROKER_OUTCOME_CONFIRMED);
    free(outcome);
    broker_close(&b, true);
}

/* Exactly n deliveries. */
static void take(struct broker *b, struct broker_delivery *d, size_t n)
{
    int64_t deadline = clock_mono_ms() + TESTING_PATIENCE * 10000;
    struct error err;
    size_t got;

    for (size_t have = 0; have < n; have += got) {
        ck_assert_ok(broker_take(b, d + have, n - have, 200, &got, &err), &err);
        ck_assert_msg(clock_mono_ms() < deadline, "%zu of %zu deliveries came", have, n);
    }
}

static unsigned number_of(const struct broker_delivery *d)
{
    char text[16];

    snprintf(text, sizeof text, "%.*s", (int)d->message_id.len, d->message_id.ptr);
    ck_assert(slice_is(d->body, text));
    return (unsigned)atoi(text);
}

static void rabbitmqctl(const char *arguments)
{
    char command[1024];

    snprintf(command, sizeof command, "%s %s >/dev/null 2>&1", testing_env("ORDERD_RABBITMQCTL"), arguments);
    ck_assert_msg(system(command) == 0, "failed: %s", command);
}

/* ---- opening ---- */

START_TEST(open_and_version)
{
    struct broker *b = must_open();

    ck_assert_int_ge(broker_version(b), 31000);
    ck_assert_int_ge(broker_fd(b), 0);
    broker_close(&b, true);
    ck_assert_ptr_null(b);
}
END_TEST

static const struct {
    const char *user, *password, *vhost;
} refusals[] = {
    {NULL, "wrong", "/"},
    {"nobody", "x", "/"},
    {NULL, NULL, "no such vhost"},
};

START_TEST(login_refused)
{
    struct error err;
    char where[64];

    if (refusals[_i].user)
        conf->broker_user = refusals[_i].user;
    if (refusals[_i].password)
        conf->broker_password_file = refusals[_i].password;
    conf->broker_vhost = refusals[_i].vhost;
    snprintf(where, sizeof where, "%s:%d", conf->broker_host, (int)conf->broker_port);
    ck_assert_ptr_null(broker_open(conf, "test", &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_SETUP);
    ck_assert_msg(strstr(err.text, where) && strstr(err.text, conf->broker_user) &&
                      (strstr(err.text, "ACCESS_REFUSED") || strstr(err.text, "NOT_ALLOWED")) &&
                      !strstr(err.text, "wrong"),
                  "%s", err.text);
}
END_TEST

/* localhost is usually ::1 first, where nobody listens. */
START_TEST(second_address_is_tried)
{
    struct broker *b;
    struct error err;

    conf->broker_host = "localhost";
    b = broker_open(conf, "test", &err);
    ck_assert_ok(b != NULL, &err);
    broker_close(&b, true);
}
END_TEST

static unsigned open_files(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF;
    return n;
}

#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_FREED_MEMORY true
#elif defined(__has_feature)
#define KEEPS_FREED_MEMORY __has_feature(address_sanitizer)
#else
#define KEEPS_FREED_MEMORY false
#endif

/* 0 under the address sanitizer, which keeps what is freed for a while (and finds leaks by itself). */
static long resident_kib(void)
{
    long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    ck_assert(f && fscanf(f, "%ld %ld", &size, &resident) == 2);
    fclose(f);
    return KEEPS_FREED_MEMORY ? 0 : resident * (sysconf(_SC_PAGESIZE) / 1024);
}

START_TEST(reconnects_leave_nothing)
{
    long before = 0;
    unsigned files = 0;

    for (int i = 0; i < 220; i++) {
        struct broker *b = must_open();

        broker_close(&b, i % 2);
        if (i == 20) {
            before = resident_kib();
            files = open_files();
        }
    }
    ck_assert_uint_eq(open_files(), files);
    ck_assert_int_lt(resident_kib() - before, 1024);
}
END_TEST

/* ---- consuming ---- */

START_TEST(consume_ack_and_redelivery)
{
    const char *queue = testing_name("queue");
    struct broker_delivery d[100], again[40];
    struct broker *b;
    struct error err;
    bool seen[100] = {false};

    declare(queue, quorum, 1);
    fill(queue, 0, 100);
    b = must_consume(queue, 100);
    take(b, d, 100);
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_uint_eq(number_of(&d[i]), i);
        ck_assert(!d[i].redelivered);
        ck_assert(slice_is(d[i].content_type, "application/json"));
        ck_assert(slice_is(d[i].routing_key, queue));
        ck_assert_uint_eq(d[i].exchange.len, 0);
    }
    ck_assert_ok(broker_ack(b, d[49].tag, true, &err), &err);  /* 0 to 49 */
    ck_assert_ok(broker_ack(b, d[70].tag, false, &err), &err); /* one in the middle */
    for (unsigned i = 80; i < 89; i++)
        ck_assert_ok(broker_ack(b, d[i].tag, false, &err), &err);
    broker_close(&b, true);
    ck_assert(slice_is(d[99].message_id, "99")); /* a delivery outlives its connection */
    for (unsigned i = 0; i < 100; i++)
        broker_delivery_release(&d[i]);

    b = must_consume(queue, 100);
    take(b, again, 40);
    for (unsigned i = 0; i < 40; i++) {
        unsigned n = number_of(&again[i]);

        ck_assert(again[i].redelivered && !seen[n] && n >= 50 && n != 70 && (n < 80 || n > 88));
        seen[n] = true;
        broker_delivery_release(&again[i]);
    }
    ck_assert_ok(broker_nack(b, again[0].tag ? again[0].tag : 40, true, false, &err), &err);
    broker_close(&b, true);
    testing_wait(depth(queue) == 0, 5000, "the rest was dropped by nack without requeue");
    delete_queue(queue);
}
END_TEST

START_TEST(nack_with_requeue)
{
    const char *queue = testing_name("queue");
    struct broker_delivery d;
    struct broker *b;
    struct error err;

    declare(queue, quorum, 1);
    fill(queue, 7, 1);
    b = must_consume(queue, 1);
    for (int i = 0; i < 5; i++) {
        take(b, &d, 1);
        ck_assert_uint_eq(number_of(&d), 7);
        ck_assert_int_eq(d.redelivered, i > 0);
        ck_assert_ok(broker_nack(b, d.tag, false, true, &err), &err);
        broker_delivery_release(&d);
    }
    take(b, &d, 1);
    ck_assert_ok(broker_ack(b, d.tag, false, &err), &err);
    broker_delivery_release(&d);
    broker_close(&b, true);
    ck_assert_uint_eq(depth(queue), 0);
    delete_queue(queue);
}
END_TEST

START_TEST(prefetch_bounds_the_inbox)
{
    const char *queue = testing_name("queue");
    struct broker *b;
    struct error err;

    declare(queue, quorum, 1);
    fill(queue, 0, 200);
    b = must_consume(queue, 50);
    testing_wait(broker_pump(b, 50, &err) && broker_inbox(b) == 50, 5000, "fifty deliveries");
    ck_assert_ok(broker_pump(b, 200, &err), &err);
    ck_assert_uint_eq(broker_inbox(b), 50);
    broker_close(&b, true);
    testing_wait(depth(queue) == 200, 5000, "all are back");
    delete_queue(queue);
}
END_TEST

START_TEST(cancel_keeps_what_is_in_hand)
{
    const char *queue = testing_name("queue");
    struct broker_delivery d[20];
    struct broker *b;
    struct error err;
    size_t n;

    declare(queue, quorum, 1);
    fill(queue, 0, 20);
    b = must_consume(queue, 20);
    testing_wait(broker_pump(b, 50, &err) && broker_inbox(b) == 20, 5000, "twenty deliveries");
    ck_assert_ok(broker_cancel(b, &err), &err);
    ck_assert(!broker_cancelled(b)); /* that was us */
    fill(queue, 20, 5);
    ck_assert_ok(broker_take(b, d, 20, 300, &n, &err), &err);
    ck_assert_uint_eq(n, 20);
    ck_assert_ok(broker_ack(b, d[19].tag, true, &err), &err);
    for (size_t i = 0; i < n; i++)
        broker_delivery_release(&d[i]);
    ck_assert_ok(broker_take(b, d, 20, 300, &n, &err), &err);
    ck_assert_uint_eq(n, 0);
    ck_assert_ok(broker_consume(b, queue, 20, "second", &err), &err); /* the same channel again */
    take(b, d, 5);
    ck_assert_ok(broker_ack(b, d[4].tag, true, &err), &err);
    for (size_t i = 0; i < 5; i++)
        broker_delivery_release(&d[i]);
    broker_close(&b, true);
    ck_assert_uint_eq(depth(queue), 0);
    delete_queue(queue);
}
END_TEST

/* rabbitmq-c #870: without the capability the consumer would stay silent for ever. What it holds can still be acked, on
 * the new queue's consumer too (a stale ack must not kill the session). */
START_TEST(queue_deleted_while_idle)
{
    const char *queue = testing_name("queue");
    struct broker_delivery d[2];
    struct broker *b;
    struct error err;
    int64_t start;

    declare(queue, quorum, 1);
    fill(queue, 1, 1);
    b = must_consume(queue, 10);
    take(b, &d[0], 1);
    delete_queue(queue);
    start = clock_mono_ms();
    ck_assert_ok(broker_pump(b, 5000, &err), &err);
    ck_assert(broker_cancelled(b));
    testing_within(start, 1000);
    declare(queue, quorum, 1);
    ck_assert_ok(broker_consume(b, queue, 10, "again", &err), &err);
    ck_assert(!broker_cancelled(b));
    ck_assert_ok(broker_ack(b, d[0].tag, false, &err), &err);
    fill(queue, 2, 1);
    take(b, &d[1], 1);
    ck_assert_uint_eq(number_of(&d[1]), 2);
    ck_assert_ok(broker_ack(b, d[1].tag, false, &err), &err);
    broker_delivery_release(&d[0]);
    broker_delivery_release(&d[1]);
    broker_close(&b, true);
    delete_queue(queue);
}
END_TEST

START_TEST(consume_missing_queue)
{
    struct broker *b = must_open();
    struct error err;

    ck_assert(!broker_consume(b, "no such queue", 10, "tag", &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_SETUP);
    ck_assert_msg(strstr(err.text, "NOT_FOUND - no queue 'no such queue'") != NULL, "%s", err.text);
    broker_close(&b, true);
}
END_TEST

START_TEST(ack_of_an_unknown_tag)
{
    const char *queue = testing_name("queue");
    struct broker *b;
    struct error err;

    declare(queue, quorum, 1);
    b = must_consume(queue, 10);
    ck_assert_ok(broker_ack(b, 999, false, &err), &err);
    testing_wait(!broker_pump(b, 50, &err), 5000, "the channel's end");
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY); /* a new connection mends it */
    ck_assert_msg(strstr(err.text, "unknown delivery tag 999") != NULL, "%s", err.text);
    broker_close(&b, true);
    delete_queue(queue);
}
END_TEST

/* A batch that takes nearly a heartbeat, then goes on. */
START_TEST(pause_shorter_than_a_heartbeat)
{
    const char *queue = testing_name("queue");
    struct broker_delivery d[2];
    struct broker *b;
    struct error err;

    declare(queue, quorum, 1);
    conf->broker_heartbeat = 2000;
    b = must_consume(queue, 10);
    for (unsigned i = 0; i < 2; i++) {
        fill(queue, i, 1);
        clock_sleep_ms(1700);
        take(b, &d[i], 1);
        ck_assert_uint_eq(number_of(&d[i]), i);
        ck_assert_ok(broker_ack(b, d[i].tag, false, &err), &err);
        broker_delivery_release(&d[i]);
    }
    broker_close(&b, true);
    delete_queue(queue);
}
END_TEST

/* More than what the broker allows of silence, with nothing but pumping (rabbitmq-c #418). */
START_TEST(idle_publisher_stays_alive)
{
    const char *queue = testing_name("queue");
    struct broker *b;
    struct error err;
    enum broker_outcome outcome;
    int64_t end;

    declare(queue, quorum, 1);
    conf->broker_heartbeat = 2000; /* which allows 4 s */
    b = must_confirm(10);
    for (end = clock_mono_ms() + 6000; clock_mono_ms() < end;)
        ck_assert_ok(broker_pump(b, 2000, &err), &err);
    ck_assert_ok(publish(b, queue, "1", slice_of("1"), &outcome, &err), &err);
    ck_assert_ok(broker_wait_confirms(b, 5000, &err), &err);
    ck_assert_int_eq(outcome, BROKER_OUTCOME_CONFIRMED);
    broker_close(&b, true);
    delete_queue(queue);
}
END_TEST

/* A prefetch full of huge bodies: reading stops before the memory does, the connection lives on, nothing is lost. */
START_TEST(huge_bodies_are_taken_in_turn)
{
    enum { SIZE = 1 << 20, N = 40 };
    const char *queue = testing_name("queue");
    char *body = check_malloc(SIZE);
    struct broker *b = must_confirm(8);
    enum broker_outcome outcome[N];
    struct broker_delivery d;
    struct error err;
    int64_t end;

    for (unsigned i = 0; i < SIZE; i++)
        body[i] = (char)(i * 2654435761U >> 13);
    declare(queue, NULL, 0);
    for (unsigned i = 0; i < N; i++)
        ck_assert_ok(publish(b, queue, "big", (struct slice){body, SIZE}, &outcome[i], &err), &err);
    ck_assert_ok(broker_wait_confirms(b, 30000, &err), &err);
    broker_close(&b, true);
    conf->broker_heartbeat = 1000;
    b = must_consume(queue, 100);
    for (end = clock_mono_ms() + 4000; clock_mono_ms() < end;)
        ck_assert_ok(broker_pump(b, 500, &err), &err);
    ck_assert_uint_ge(broker_inbox(b), 16);
    ck_assert_uint_le(broker_inbox(b), 17);
    for (unsigned i = 0; i < N; i++) {
        take(b, &d, 1);
        ck_assert(slice_equal(d.body, (struct slice){body, SIZE}));
        broker_delivery_release(&d);
    }
    ck_assert_ok(broker_ack(b, N, true, &err), &err);
    broker_close(&b, true);
    ck_assert_uint_eq(depth(queue), 0);
    delete_queue(queue);
    free(body);
}
END_TEST

/* Everything once, in order, at full speed; memory does not grow with what went through. */
START_TEST(drain_in_batches)
{
    enum { N = 60000, BATCH = 500 };
    const char *queue = testing_name("queue");
    static bool seen[N];
    struct broker_delivery d[BATCH];
    struct broker *b;
    struct error err;
    long before = 0;
    size_t n, done = 0;

    declare(queue, quorum, 1);
    fill(queue, 0, N);
    b = must_consume(queue, 1000);
    while (done < N) {
        ck_assert_ok(broker_take(b, d, BATCH, 1000, &n, &err), &err);
        for (size_t i = 0; i < n; i++) {
            unsigned number = number_of(&d[i]);

            ck_assert(number < N && !seen[number] && !d[i].redelivered);
            seen[number] = true;
        }
        if (n)
            ck_assert_ok(broker_ack(b, d[n - 1].tag, true, &err), &err);
        for (size_t i = 0; i < n; i++)
            broker_delivery_release(&d[i]);
        if (done < N / 4 && done + n >= N / 4)
            before = resident_kib();
        done += n;
    }
    ck_assert_uint_eq(done, N);
    ck_assert_int_lt(resident_kib() - before, 2048);
    broker_close(&b, true);
    ck_assert_uint_eq(depth(queue), 0);
    delete_queue(queue);
}
END_TEST

/* ---- publishing ---- */

START_TEST(confirm_window_of_thousands)
{
    const char *queue = testing_name("queue");

    declare(queue, quorum, 1);
    fill(queue, 0, 20000);
    testing_wait(depth(queue) == 20000, 5000, "all are in the queue");
    delete_queue(queue);
}
END_TEST

/* Half of them have no queue: each return hits its own publication, whatever the broker's order of acks. */
START_TEST(returned_by_id)
{
    enum { N = 2000 };
    const char *queue = testing_name("queue");
    struct broker *b;
    static enum broker_outcome outcome[N];
    struct error err;
    char id[16];

    declare(queue, quorum, 1);
    b = must_confirm(1500);
    for (unsigned i = 0; i < N; i++) {
        snprintf(id, sizeof id, "id-%u", i);
        ck_assert_ok(publish(b, i % 2 ? queue : "no such queue", id, slice_of(id), &outcome[i], &err), &err);
    }
    ck_assert_ok(broker_wait_confirms(b, 10000, &err), &err);
    for (unsigned i = 0; i < N; i++)
        ck_assert_int_eq(outcome[i], i % 2 ? BROKER_OUTCOME_CONFIRMED : BROKER_OUTCOME_RETURNED);
    broker_close(&b, true);
    testing_wait(depth(queue) == N / 2, 5000, "the other half is in the queue");
    delete_queue(queue);
}
END_TEST

START_TEST(full_queue_refuses)
{
    static const struct broker_argument arguments[] = {
        {"x-queue-type", "classic", 0}, {"x-max-length", NULL, 5}, {"x-overflow", "reject-publish", 0}};
    enum { N = 50 };
    const char *queue = testing_name("queue");
    enum broker_outcome outcome[N];
    struct broker *b;
    struct error err;
    unsigned confirmed = 0;

    declare(queue, arguments, COUNT(arguments));
    b = must_confirm(N);
    for (unsigned i = 0; i < N; i++)
        ck_assert_ok(publish(b, queue, "id", slice_of("body"), &outcome[i], &err), &err);
    ck_assert_ok(broker_wait_confirms(b, 10000, &err), &err);
    for (unsigned i = 0; i < N; i++) {
        ck_assert(outcome[i] == BROKER_OUTCOME_CONFIRMED || outcome[i] == BROKER_OUTCOME_REFUSED);
        confirmed += outcome[i] == BROKER_OUTCOME_CONFIRMED;
    }
    ck_assert_uint_ge(confirmed, 5);
    ck_assert_uint_lt(confirmed, N);
    broker_close(&b, true);
    ck_assert_uint_eq(depth(queue), confirmed);
    delete_queue(queue);
}
END_TEST

START_TEST(missing_exchange)
{
    const char *queue = testing_name("queue");
    struct broker_publication p = {
        .exchange = "no such exchange", .routing_key = "k", .body = slice_of("x"), .message_id = slice_of("lost")};
    struct broker *b;
    enum broker_outcome outcome[2];
    struct error err;

    declare(queue, quorum, 1);
    b = must_confirm(10);
    ck_assert_ok(publish(b, queue, "1", slice_of("1"), &outcome[0], &err), &err);
    ck_assert_ok(broker_wait_confirms(b, 5000, &err), &err);
    ck_assert_ok(broker_publish(b, &p, &outcome[1], &err), &err);
    ck_assert(!broker_wait_confirms(b, 5000, &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_SETUP);
    ck_assert_msg(strstr(err.text, "NOT_FOUND - no exchange 'no such exchange'") != NULL, "%s", err.text);
    ck_assert_int_eq(outcome[0], BROKER_OUTCOME_CONFIRMED);
    ck_assert_int_eq(outcome[1], BROKER_OUTCOME_UNKNOWN);
    ck_assert(!publish(b, queue, "2", slice_of("2"), &outcome[0], &err));
    broker_close(&b, true);
    delete_queue(queue);
}
END_TEST

static void restore_size_limit(void)
{
    testing_limit_bodies(TESTING_BODY_LIMIT);
}

START_TEST(body_over_the_limit)
{
    static char body[200000];
    const char *queue = testing_name("queue");
    enum broker_outcome outcome[3];
    struct broker *b;
    struct error err;

    declare(queue, quorum, 1);
    testing_limit_bodies(100000);
    b = must_confirm(10);
    ck_assert_ok(publish(b, queue, "1", (struct slice){body, 90000}, &outcome[0], &err), &err);
    ck_assert_ok(publish(b, queue, "2", (struct slice){body, sizeof body}, &outcome[1], &err), &err);
    if (publish(b, queue, "3", slice_of("small"), &outcome[2], &err))
        ck_assert(!broker_wait_confirms(b, 5000, &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_TOO_LARGE);
    ck_assert(outcome[0] == BROKER_OUTCOME_CONFIRMED || outcome[0] == BROKER_OUTCOME_UNKNOWN);
    ck_assert_int_eq(outcome[1], BROKER_OUTCOME_TOO_LARGE);
    ck_assert(outcome[2] == BROKER_OUTCOME_UNKNOWN || outcome[2] == BROKER_OUTCOME_REFUSED);
    broker_close(&b, true);
    delete_queue(queue);
}
END_TEST

static void unblock_broker(void)
{
    rabbitmqctl("set_vm_memory_high_watermark 0.4");
}

START_TEST(memory_alarm)
{
    const char *queue = testing_name("queue");
    struct broker *b;
    enum broker_outcome outcome[3] = {BROKER_OUTCOME_REFUSED};
    struct error err;
    int64_t start;

    declare(queue, quorum, 1);
    conf->broker_heartbeat = 60000; /* the tool may take long, in which nobody pumps */
    b = must_confirm(10);
    rabbitmqctl("set_vm_memory_high_watermark 0");
    /* told at the first publish after the alarm, not before (rabbitmq-c #836) */
    ck_assert_ok(publish(b, queue, "1", slice_of("1"), &outcome[0], &err), &err);
    testing_wait(broker_pump(b, 50, &err) && broker_blocked(b), 5000, "connection.blocked");
    ck_assert(!publish(b, queue, "2", slice_of("2"), &outcome[1], &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_BLOCKED);
    ck_assert_int_eq(outcome[1], BROKER_OUTCOME_REFUSED);
    ck_assert(!broker_wait_confirms(b, 300, &err));
    ck_assert_int_eq(outcome[0], BROKER_OUTCOME_UNKNOWN); /* it is in the socket, and arrives later */
    unblock_broker();
    testing_wait(broker_pump(b, 50, &err) && !broker_blocked(b), 5000, "connection.unblocked");
    ck_assert_ok(publish(b, queue, "3", slice_of("3"), &outcome[2], &err), &err);
    ck_assert_ok(broker_wait_confirms(b, 5000, &err), &err);
    ck_assert_int_eq(outcome[2], BROKER_OUTCOME_CONFIRMED);
    ck_assert_int_eq(outcome[0], BROKER_OUTCOME_UNKNOWN); /* its late ack changed nothing */
    start = clock_mono_ms();
    broker_close(&b, true);
    testing_within(start, 2500);
    testing_wait(depth(queue) == 2, 5000, "the first and the third are in the queue");
    delete_queue(queue);
}
END_TEST

/* A stop while the alarm is on: the broker reads nothing, and closing is bounded all the same. */
START_TEST(close_while_blocked)
{
    const char *queue = testing_name("queue");
    struct broker *b;
    enum broker_outcome outcome;
    struct error err;
    int64_t start;

    declare(queue, quorum, 1);
    conf->broker_heartbeat = 60000; /* the tool may take long, in which nobody pumps */
    b = must_confirm(10);
    rabbitmqctl("set_vm_memory_high_watermark 0");
    ck_assert_ok(publish(b, queue, "1", slice_of("1"), &outcome, &err), &err);
    testing_wait(broker_pump(b, 50, &err) && broker_blocked(b), 5000, "connection.blocked");
    start = clock_mono_ms();
    broker_close(&b, true);
    testing_within(start, 2500);
    ck_assert_int_eq(outcome, BROKER_OUTCOME_UNKNOWN);
}
END_TEST

START_TEST(connection_closed_by_operator)
{
    const char *queue = testing_name("queue");
    struct broker *b;
    struct error err;

    declare(queue, quorum, 1);
    conf->broker_heartbeat = 60000;
    b = must_consume(queue, 10);
    rabbitmqctl("close_all_connections 'drill by test'");
    testing_wait(!broker_pump(b, 100, &err), 5000, "the end of the connection");
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY);
    ck_assert_msg(strstr(err.text, "320: CONNECTION_FORCED - drill by test") != NULL, "%s", err.text);
    broker_close(&b, true);
    delete_queue(queue);
}
END_TEST

/* ---- a broker that stands still ---- */

static _Atomic bool guard_stops;

static void *guard_thread(void *data)
{
    (void)data;
    while (!guard_stops) {
        (void)broker_guard_check();
        clock_sleep_ms(50);
    }
    return NULL;
}

static void wake_broker(void)
{
    kill((pid_t)atoi(testing_env("ORDERD_MQ_PID")), SIGCONT);
}

/* The signal is sent at once, but on a busy machine its threads still run for a while. */
static void stop_broker(void)
{
    int pid = atoi(testing_env("ORDERD_MQ_PID"));
    char name[40], text[512] = "";
    const char *state = NULL;

    ck_assert_int_eq(kill((pid_t)pid, SIGSTOP), 0);
    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    for (int64_t end = clock_mono_ms() + 5000; clock_mono_ms() < end; clock_sleep_ms(5)) {
        FILE *file = fopen(name, "r");

        ck_assert_ptr_nonnull(file);
        state = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
        fclose(file);
        if (state && state[1] == ' ' && state[2] == 'T')
            return;
    }
    ck_abort_msg("the broker does not stop: %s", text);
}

/* Publishes until the call fails. Small bodies: our own wait ends it. Large: the library waits, the watchdog ends it.
 */
START_TEST(broker_stands_still)
{
    static const size_t sizes[] = {10000, 16 << 20};
    const char *queue = testing_name("queue");
    char *body = check_calloc(1, sizes[_i]);
    static enum broker_outcome outcome[65536];
    struct broker *b;
    struct error err;
    pthread_t guard;
    int64_t last;
    unsigned n = 0;

    ck_assert_int_eq(pthread_create(&guard, NULL, guard_thread, NULL), 0);
    declare(queue, NULL, 0);
    conf->broker_call_timeout = 1000;
    b = must_confirm(65535);
    stop_broker();
    do {
        last = clock_mono_ms();
    } while (n < 65000 && publish(b, queue, "id", (struct slice){body, sizes[_i]}, &outcome[n++], &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_AWAY);
    testing_within(last, 3000);
    for (unsigned i = 0; i + 1 < n; i++)
        ck_assert_int_eq(outcome[i], BROKER_OUTCOME_UNKNOWN);
    last = clock_mono_ms();
    broker_close(&b, true);
    testing_within(last, 500);
    conf->broker_connect_timeout = 500;
    ck_assert_ptr_null(broker_open(conf, "test", &err)); /* the kernel accepts, nobody answers */
    ck_assert_msg(strstr(err.text, "does not answer the login") != NULL, "%s", err.text);
    wake_broker();
    conf->broker_connect_timeout = 5000;
    conf->broker_call_timeout = 5000;
    b = must_confirm(10);
    ck_assert_ok(publish(b, queue, "new", slice_of("new"), &outcome[0], &err), &err);
    ck_assert_ok(broker_wait_confirms(b, 10000, &err), &err);
    ck_assert_int_eq(outcome[0], BROKER_OUTCOME_CONFIRMED);
    broker_close(&b, true);
    delete_queue(queue);
    guard_stops = true;
    pthread_join(guard, NULL);
    free(body);
}
END_TEST

START_TEST(close_of_a_dead_peer_is_bounded)
{
    const char *queue = testing_name("queue");
    struct broker *b;
    int64_t start;

    declare(queue, quorum, 1);
    b = must_consume(queue, 10);
    ck_assert_int_eq(kill((pid_t)atoi(testing_env("ORDERD_MQ_PID")), SIGSTOP), 0);
    start = clock_mono_ms();
    broker_close(&b, true);
    testing_within(start, 2600);
    wake_broker();
    delete_queue(queue);
}
END_TEST

/* ---- headers ---- */

/* A message with headers of many kinds, as another client would send it, straight through the library. */
static void publish_foreign(const char *queue)
{
    struct broker *b = must_open();
    amqp_table_entry_t inner = {.key = bytes_of_text("inner"), .value = {.kind = AMQP_FIELD_KIND_I32, .value.i32 = 41}};
    amqp_table_entry_t entries[] = {
        {.key = bytes_of_text("traceparent"),
         .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = bytes_of_text("00-4bf9-00f0-01")}},
        {.key = bytes_of_text("orderd-attempt"), .value = {.kind = AMQP_FIELD_KIND_I64, .value.i64 = 1}},
        {.key = bytes_of_text("x-custom"), .value = {.kind = AMQP_FIELD_KIND_I64, .value.i64 = 5}},
        {.key = bytes_of_text("X-Custom"), .value = {.kind = AMQP_FIELD_KIND_I64, .value.i64 = 5}},
        {.key = bytes_of_text("nested"), .value = {.kind = AMQP_FIELD_KIND_TABLE, .value.table = {1, &inner}}},
        {.key = bytes_of_text("flag"), .value = {.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1}},
    };
    amqp_basic_properties_t p = {._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                                           AMQP_BASIC_CORRELATION_ID_FLAG | AMQP_BASIC_TIMESTAMP_FLAG |
                                           AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_USER_ID_FLAG |
                                           AMQP_BASIC_APP_ID_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG,
                                 .headers = {COUNT(entries), entries},
                                 .delivery_mode = 1,
                                 .timestamp = 1764400000};

    p.message_id = bytes_of_text("foreign");
    p.correlation_id = bytes_of_text("correlated");
    p.content_type = bytes_of_text("text/plain");
    p.user_id = bytes_of_text(conf->broker_user);
    p.app_id = bytes_of_text("web");
    ck_assert_int_eq(amqp_basic_publish(b->library, BROKER_CHANNEL, amqp_empty_bytes, bytes_of_text(queue), 0, 0, &p,
                                        bytes_of_text("foreign")),
                     AMQP_STATUS_OK);
    broker_close(&b, true);
}

static const amqp_basic_properties_t *decode(const struct broker_delivery *d, amqp_pool_t *pool)
{
    void *decoded = NULL;

    init_amqp_pool(pool, 4096);
    ck_assert_int_ge(
        amqp_decode_properties(AMQP_BASIC_CLASS, pool, bytes_of(message_encoded_properties(d->message)), &decoded), 0);
    return decoded;
}

static void republish(const struct broker_delivery *d, const char *queue)
{
    struct broker_header own[] = {
        {.name = slice_of("orderd-attempt"), .is_integer = true, .integer = 2},
        {.name = slice_of("orderd-reason"), .value = slice_of("activity_unknown")},
    };
    struct broker_publication p = {.exchange = "",
                                   .routing_key = queue,
                                   .body = d->body,
                                   .message_id = d->message_id,
                                   .headers = own,
                                   .header_count = COUNT(own),
                                   .copy_from = d};
    struct broker *b = must_confirm(10);
    enum broker_outcome outcome;
    struct error err;

    ck_assert_ok(broker_publish(b, &p, &outcome, &err), &err);
    ck_assert_ok(broker_wait_confirms(b, 5000, &err), &err);
    ck_assert_int_eq(outcome, BROKER_OUTCOME_CONFIRMED);
    broker_close(&b, true);
}

/* Through a delay queue (so that the broker adds its x-death), then published again by us. */
START_TEST(republish_keeps_and_strips)
{
    const char *work = testing_name("work"), *delay = testing_name("delay"), *retry = testing_name("retry");
    const struct broker_argument arguments[] = {
        {"x-message-ttl", NULL, 20}, {"x-dead-letter-exchange", "", 0}, {"x-dead-letter-routing-key", work, 0}};
    struct broker_delivery d, again;
    struct broker_header h;
    amqp_pool_t pool;
    const amqp_basic_properties_t *p;
    struct broker *b, *c;
    bool nested = false;

    declare(work, quorum, 1);
    declare(retry, quorum, 1);
    declare(delay, arguments, COUNT(arguments));
    publish_foreign(delay);
    b = must_consume(work, 10);
    take(b, &d, 1);
    ck_assert(slice_is(d.message_id, "foreign") && slice_is(d.correlation_id, "correlated"));
    ck_assert(slice_is(d.content_type, "text/plain"));
    ck_assert_int_eq(d.timestamp_s, 1764400000);
    ck_assert(broker_delivery_find(&d, "x-custom", &h) && h.integer == 5);
    ck_assert(broker_delivery_find(&d, "flag", &h) && slice_is(h.value, "true"));
    ck_assert(broker_delivery_find(&d, "x-first-death-queue", &h) && slice_is(h.value, delay));
    ck_assert(!broker_delivery_find(&d, "nested", &h) && !broker_delivery_find(&d, "x-death", &h));

    republish(&d, retry);
    c = must_consume(retry, 10);
    take(c, &again, 1);
    ck_assert(slice_is(again.body, "foreign") && slice_is(again.message_id, "foreign"));
    ck_assert(slice_is(again.correlation_id, "correlated") && slice_is(again.content_type, "text/plain"));
    ck_assert_int_eq(again.timestamp_s, 1764400000);
    ck_assert(broker_delivery_find(&again, "traceparent", &h) && slice_is(h.value, "00-4bf9-00f0-01"));
    ck_assert(broker_delivery_find(&again, "orderd-attempt", &h) && h.is_integer && h.integer == 2);
    ck_assert(broker_delivery_find(&again, "orderd-reason", &h) && slice_is(h.value, "activity_unknown"));
    p = decode(&again, &pool);
    ck_assert_int_eq(p->delivery_mode, 2);
    ck_assert(p->_flags & AMQP_BASIC_APP_ID_FLAG && !(p->_flags & AMQP_BASIC_USER_ID_FLAG));
    ck_assert_int_eq(p->headers.num_entries, 5); /* traceparent, nested, flag and two of ours */
    for (int i = 0; i < p->headers.num_entries; i++) {
        const amqp_table_entry_t *e = &p->headers.entries[i];

        ck_assert(strncasecmp(e->key.bytes, "x-", 2) != 0);
        nested |= e->value.kind == AMQP_FIELD_KIND_TABLE && e->value.value.table.num_entries == 1 &&
                  e->value.value.table.entries[0].value.value.i32 == 41;
    }
    ck_assert(nested);
    empty_amqp_pool(&pool);
    broker_delivery_release(&d);
    broker_delivery_release(&again);
    broker_close(&b, true);
    broker_close(&c, true);
    delete_queue(work);
    delete_queue(delay);
    delete_queue(retry);
}
END_TEST

/* Three rounds through two delay queues in a row: with a copied x-death the broker takes the second round for a cycle
 * and drops the message (celery #9867). */
START_TEST(rounds_through_a_chain_of_delays)
{
    const char *work = testing_name("work"), *first = testing_name("first"), *second = testing_name("second");
    const struct broker_argument to_second[] = {
        {"x-message-ttl", NULL, 20}, {"x-dead-letter-exchange", "", 0}, {"x-dead-letter-routing-key", second, 0}};
    const struct broker_argument to_work[] = {
        {"x-message-ttl", NULL, 20}, {"x-dead-letter-exchange", "", 0}, {"x-dead-letter-routing-key", work, 0}};
    struct broker_delivery d;
    struct broker *b;
    struct error err;

    declare(work, quorum, 1);
    declare(first, to_second, COUNT(to_second));
    declare(second, to_work, COUNT(to_work));
    fill(first, 5, 1);
    b = must_consume(work, 10);
    for (int round = 0; round < 3; round++) {
        take(b, &d, 1);
        ck_assert_uint_eq(number_of(&d), 5);
        republish(&d, first);
        ck_assert_ok(broker_ack(b, d.tag, false, &err), &err);
        broker_delivery_release(&d);
    }
    broker_close(&b, true);
    delete_queue(work);
    delete_queue(first);
    delete_queue(second);
}
END_TEST

/* ---- topology ---- */

static enum broker_presence look(struct broker *b, const char *queue, const struct broker_argument *arguments,
                                 size_t count, bool create, struct error *detail)
{
    enum broker_presence presence;
    struct error err;

    ck_assert_ok(broker_declare_queue(b, queue, arguments, count, create, &presence, detail, &err), &err);
    return presence;
}

START_TEST(queue_presence)
{
    static const struct broker_argument other[] = {{"x-queue-type", "quorum", 0}, {"x-message-ttl", NULL, 1000}};
    const char *queue = testing_name("queue");
    struct broker *b = must_open();
    struct error detail, err;
    uint32_t messages, consumers;

    ck_assert_int_eq(look(b, queue, quorum, 1, false, &detail), BROKER_MISSING);
    ck_assert_int_eq(look(b, queue, quorum, 1, false, &detail), BROKER_MISSING); /* looking made nothing */
    ck_assert(!broker_queue_depth(b, queue, &messages, &consumers, &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_SETUP);
    ck_assert_int_eq(look(b, queue, quorum, 1, true, &detail), BROKER_PRESENT);
    ck_assert_int_eq(look(b, queue, quorum, 1, false, &detail), BROKER_PRESENT);
    for (int create = 0; create < 2; create++) {
        ck_assert_int_eq(look(b, queue, other, 2, create, &detail), BROKER_DIFFERENT);
        ck_assert_int_eq(detail.code, ERROR_BROKER_SETUP);
        ck_assert_msg(strstr(detail.text, "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl'") != NULL, "%s",
                      detail.text);
    }
    ck_assert_int_eq(look(b, "amq.forbidden", quorum, 1, true, &detail), BROKER_FORBIDDEN);
    ck_assert_msg(strstr(detail.text, "ACCESS_REFUSED") != NULL, "%s", detail.text);
    ck_assert_ok(broker_queue_depth(b, queue, &messages, &consumers, &err), &err);
    ck_assert_uint_eq(messages + consumers, 0);
    broker_close(&b, true);
    delete_queue(queue);
}
END_TEST

START_TEST(exchange_presence_and_binding)
{
    const char *queue = testing_name("queue"), *exchange = testing_name("exchange");
    struct broker_publication p = {.exchange = exchange, .routing_key = "key", .message_id = slice_of("1")};
    struct broker *b = must_open();
    enum broker_presence presence;
    enum broker_outcome outcome;
    struct error detail, err;

    ck_assert_ok(broker_declare_exchange(b, exchange, BROKER_EXCHANGE_TOPIC, false, &presence, &detail, &err), &err);
    ck_assert_int_eq(presence, BROKER_MISSING);
    ck_assert(!broker_bind_queue(b, queue, exchange, "key", &err));
    ck_assert_int_eq(err.code, ERROR_BROKER_SETUP);
    ck_assert_ok(broker_declare_exchange(b, exchange, BROKER_EXCHANGE_DIRECT, true, &presence, &detail, &err), &err);
    ck_assert_int_eq(presence, BROKER_PRESENT);
    ck_assert_ok(broker_declare_exchange(b, exchange, BROKER_EXCHANGE_TOPIC, false, &presence, &detail, &err), &err);
    ck_assert_int_eq(presence, BROKER_DIFFERENT);
    ck_assert_int_eq(look(b, queue, quorum, 1, true, &detail), BROKER_PRESENT);
    ck_assert_ok(broker_bind_queue(b, queue, exchange, "key", &err), &err);
    broker_close(&b, true);
    b = must_confirm(10);
    ck_assert_ok(broker_publish(b, &p, &outcome, &err), &err);
    ck_assert_ok(broker_wait_confirms(b, 5000, &err), &err);
    ck_assert_int_eq(outcome, BROKER_OUTCOME_CONFIRMED);
    broker_close(&b, true);
    testing_wait(depth(queue) == 1, 5000, "it came through the binding");
    delete_queue(queue);
}
END_TEST

START_TEST(topology_on_a_busy_connection)
{
    const char *queue = testing_name("queue");
    struct broker *b;
    enum broker_presence presence;
    struct error detail, err;

    declare(queue, quorum, 1);
    b = must_consume(queue, 10);
    ck_assert(!broker_declare_queue(b, queue, quorum, 1, false, &presence, &detail, &err));
    ck_assert_int_eq(err.code, ERROR_INTERNAL);
    ck_assert_ok(broker_pump(b, 0, &err), &err); /* and it lives on */
    broker_close(&b, true);
    delete_queue(queue);
}
END_TEST

/* ---- the suite ---- */

static TCase *add(Suite *suite, const char *name, void (*restore)(void))
{
    TCase *tc = tcase_create(name);

    suite_add_tcase(suite, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    if (restore) /* in the parent, so that a failed test leaves no alarm behind */
        tcase_add_unchecked_fixture(tc, NULL, restore);
    return tc;
}

int main(void)
{
    Suite *suite = suite_create("broker");
    TCase *tc = add(suite, "open", NULL);

    tcase_add_test(tc, open_and_version);
    tcase_add_loop_test(tc, login_refused, 0, (int)COUNT(refusals));
    tcase_add_test(tc, second_address_is_tried);
    tcase_add_test(tc, reconnects_leave_nothing);
    tc = add(suite, "consume", NULL);
    tcase_add_test(tc, consume_ack_and_redelivery);
    tcase_add_test(tc, nack_with_requeue);
    tcase_add_test(tc, prefetch_bounds_the_inbox);
    tcase_add_test(tc, cancel_keeps_what_is_in_hand);
    tcase_add_test(tc, queue_deleted_while_idle);
    tcase_add_test(tc, consume_missing_queue);
    tcase_add_test(tc, ack_of_an_unknown_tag);
    tcase_add_test(tc, pause_shorter_than_a_heartbeat);
    tcase_add_test(tc, idle_publisher_stays_alive);
    tcase_add_test(tc, huge_bodies_are_taken_in_turn);
    tcase_add_test(tc, drain_in_batches);
    tc = add(suite, "publish", NULL);
    tcase_add_test(tc, confirm_window_of_thousands);
    tcase_add_test(tc, returned_by_id);
    tcase_add_test(tc, full_queue_refuses);
    tcase_add_test(tc, missing_exchange);
    tcase_add_test(tc, republish_keeps_and_strips);
    tcase_add_test(tc, rounds_through_a_chain_of_delays);
    tc = add(suite, "limit", restore_size_limit);
    tcase_add_test(tc, body_over_the_limit);
    tc = add(suite, "alarm", unblock_broker);
    tcase_add_test(tc, memory_alarm);
    tcase_add_test(tc, close_while_blocked);
    tc = add(suite, "operator", NULL);
    tcase_add_test(tc, connection_closed_by_operator);
    tc = add(suite, "still", wake_broker);
    tcase_add_loop_test(tc, broker_stands_still, 0, 2);
    tcase_add_test(tc, close_of_a_dead_peer_is_bounded);
    tc = add(suite, "topology", NULL);
    tcase_add_test(tc, queue_presence);
    tcase_add_test(tc, exchange_presence_and_binding);
    tcase_add_test(tc, topology_on_a_busy_connection);
    return testing_main(suite);
}
