#include "testing_relay.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/client/broker/library.h"
#include "orderd/clock.h"
#include "orderd/fault.h"
#include "orderd/log.h"
#include "orderd/metric.h"
#include "orderd/thread.h"
#include "orderd/topology.h"

struct conf *testing_relay_conf;

/* The delay queues first: what they let go meanwhile is in order.unpaid, and what stayed in them would come out minutes
 * later, in the middle of another test. */
static const char *const queues[] = {"order.unpaid.900000", "order.unpaid.1000", "order.unpaid",
                                     "order.create",        "order.paid",        "order.cancel"};

static struct lane_shared shared;
static struct relay *relays[32];
static unsigned relay_count;
static struct thread guard;
static atomic_bool guard_stop;

/* ---- the broker, by hand ---- */

static amqp_connection_state_t connect_plain(void)
{
    amqp_connection_state_t c = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(c);

    ck_assert_int_eq(amqp_socket_open(socket, testing_relay_conf->broker_host, (int)testing_relay_conf->broker_port),
                     AMQP_STATUS_OK);
    ck_assert_int_eq(amqp_login(c, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, testing_relay_conf->broker_user,
                                testing_relay_conf->broker_password_file)
                         .reply_type,
                     AMQP_RESPONSE_NORMAL);
    amqp_channel_open(c, 1);
    ck_assert_int_eq(amqp_get_rpc_reply(c).reply_type, AMQP_RESPONSE_NORMAL);
    ck_assert_int_eq(amqp_set_rpc_timeout(c, &(struct timeval){.tv_sec = 60}), AMQP_STATUS_OK);
    return c;
}

static void finish_plain(amqp_connection_state_t c)
{
    ck_assert_int_eq(amqp_get_rpc_reply(c).reply_type, AMQP_RESPONSE_NORMAL);
    amqp_connection_close(c, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(c);
}

/* false: there is no such queue. Answered by the queue's leader, that is not before it has one. */
static bool purge(const char *queue)
{
    amqp_connection_state_t c = connect_plain();
    amqp_rpc_reply_t reply;

    amqp_queue_purge(c, 1, bytes_of_text(queue));
    reply = amqp_get_rpc_reply(c);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        ck_assert(reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION && reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD &&
                  ((amqp_channel_close_t *)reply.reply.decoded)->reply_code == AMQP_NOT_FOUND);
    amqp_connection_close(c, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(c);
    return reply.reply_type == AMQP_RESPONSE_NORMAL;
}

/* What dead-letters "at least once" for a queue is started when the queue gets a leader, and fails twice where the
 * queue is deleted before it has reported there: too often for a RabbitMQ 3.10, which is then without it for all queues
 * until it is restarted (docs/servers.md). Nothing shows when it has reported. (rabbitmqctl takes so long to start that
 * it comes late enough.) */
#define REPORT_MS 500

bool testing_queues_ready(const char *const *names, size_t count)
{
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any |= purge(names[i]);
    if (any)
        clock_sleep_ms(REPORT_MS);
    return any;
}

void testing_queue_drop(const char *queue)
{
    amqp_connection_state_t c = connect_plain();

    amqp_queue_delete(c, 1, bytes_of_text(queue), 0, 0);
    finish_plain(c);
}

void testing_queue_delete(const char *queue)
{
    if (testing_queues_ready(&queue, 1))
        testing_queue_drop(queue);
}

void testing_queue_empty(const char *queue)
{
    (void)purge(queue);
}

void testing_exchange_delete(const char *exchange)
{
    amqp_connection_state_t c = connect_plain();

    amqp_exchange_delete(c, 1, bytes_of_text(exchange), 0);
    finish_plain(c);
}

static struct broker *open_broker(const char *name)
{
    struct conf conf = *testing_relay_conf;
    struct error err = {0};
    struct broker *b;

    conf.broker_heartbeat = 60000; /* of the tests themselves, which may be silent for long */
    b = broker_open(&conf, name, &err);
    ck_assert_ok(b != NULL, &err);
    return b;
}

void testing_queue_make(const char *queue, const struct broker_argument *arguments, size_t count)
{
    struct broker *b = open_broker("test queue");
    struct error err = {0}, detail = {0};
    enum broker_presence presence;

    ck_assert_ok(broker_declare_queue(b, queue, arguments, count, true, &presence, &detail, &err), &err);
    ck_assert_msg(presence == BROKER_PRESENT, "%s", detail.text);
    ck_assert_ok(broker_bind_queue(b, queue, "order", queue, &err), &err);
    broker_close(&b, true);
}

static void check_finding(void *arg, const struct topology_finding *f)
{
    (void)arg;
    ck_assert_msg(f->presence == BROKER_PRESENT, "%s %s: %s", f->kind, f->name, f->detail);
}

static void walk_topology(bool apply, topology_fn on_finding)
{
    struct broker *b = open_broker("test topology");
    struct error err = {0};

    ck_assert_ok(topology_walk(b, testing_relay_conf, apply, on_finding, NULL, &err), &err);
    broker_close(&b, true);
}

void testing_topology_apply(void)
{
    walk_topology(true, check_finding);
}

static void delete_if_different(void *arg, const struct topology_finding *f)
{
    (void)arg;
    if (f->presence == BROKER_DIFFERENT && strcmp(f->kind, "queue") == 0)
        testing_queue_delete(f->name);
}

void testing_relay_clean(void)
{
    conf_destroy(&testing_relay_conf);
    testing_relay_conf = testing_conf(NULL);
    walk_topology(false, delete_if_different);
    testing_topology_apply();
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++)
        testing_queue_empty(queues[i]);
    conf_destroy(&testing_relay_conf);
}

/* ---- relays ---- */

static const char *log_level(void)
{
    return getenv("ORDERD_TEST_LOG") ? getenv("ORDERD_TEST_LOG") : "error";
}

void testing_relay_setup(const char *relay)
{
    char extra[600];

    testing_relay_clean();
    testing_lane_setup(1000, NULL);
    snprintf(extra, sizeof extra, "relay: { %s };\nlog: { level = \"%s\"; };\n", relay ? relay : "", log_level());
    testing_relay_conf = testing_conf(extra);
    log_configure(testing_relay_conf);
}

static void guard_run(void *data)
{
    (void)data;
    while (!atomic_load(&guard_stop)) {
        (void)broker_guard_check();
        clock_sleep_ms(100);
    }
}

void testing_relay_start(unsigned count)
{
    if (relay_count == 0) {
        atomic_store(&shared.conf, testing_relay_conf);
        shared.instance = "test";
        atomic_store(&guard_stop, false);
        guard = (struct thread){.name = "guard", .run = guard_run};
        thread_start(&guard);
    }
    ck_assert_uint_le(relay_count + count, sizeof relays / sizeof *relays);
    while (count-- > 0)
        relays[relay_count++] = relay_start(&shared);
}

struct relay *testing_relay(unsigned index)
{
    return relays[index];
}

void testing_relay_stop(void)
{
    for (unsigned i = 0; i < relay_count; i++)
        relay_ask_stop(relays[i]);
    for (unsigned i = 0; i < relay_count; i++) {
        testing_wait(relay_state(relays[i]) == LANE_STOPPED, 15000, "the relay ends");
        relay_stop(&relays[i]);
    }
    relay_count = 0;
    atomic_store(&guard_stop, true);
    thread_join(&guard);
}

pid_t testing_relay_fork(const char *fault)
{
    pid_t pid;

    ck_assert_uint_eq(relay_count, 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifdef ORDERD_FAULTS
    if (fault)
        setenv("ORDERD_FAULT", fault, 1);
    fault_reset();
#else
    ck_assert(fault == NULL);
#endif
    testing_relay_start(1);
    for (;;)
        pause();
}

void testing_relay_await(pid_t pid, int signal)
{
    int status = 0;

    testing_wait(waitpid(pid, &status, WNOHANG | WUNTRACED) == pid, 20000, "the relay's process meets its fault");
    if (signal == SIGSTOP)
        ck_assert(WIFSTOPPED(status));
    else
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

void testing_relay_kill(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* ---- rows ---- */

void testing_rows(const char *topic, const char *prefix, int from, int to)
{
    testing_sql("INSERT INTO local_message(message_key,topic,payload) "
                "SELECT CONCAT('%s:%s',n),'%s',CONCAT('{\"n\":',n,'}') FROM ("
                "SELECT %d+a.d+10*b.d+100*c.d+1000*d.d+10000*e.d AS n FROM "
                "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 "
                "UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) a,"
                "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 "
                "UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) b,"
                "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 "
                "UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) c,"
                "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 "
                "UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) d,"
                "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5) e) AS numbers "
                "WHERE n BETWEEN %d AND %d ORDER BY n",
                topic, prefix, topic, from, from, to);
    ck_assert_int_le(to - from, 59999);
}

int64_t testing_rows_in(const char *topic, const char *state)
{
    return testing_number("SELECT COUNT(*) FROM local_message WHERE topic='%s' AND state='%s'", topic, state);
}

void testing_wait_relayed(int timeout_ms)
{
    testing_wait(testing_number("SELECT COUNT(*) FROM local_message WHERE state='pending'") == 0, timeout_ms,
                 "nothing is pending");
}

/* ---- what arrived ---- */

static int number_of(const char *prefix, struct slice id)
{
    char text[64];
    size_t len = strlen(prefix);

    if (id.len <= len || id.len >= sizeof text || memcmp(id.ptr, prefix, len) != 0)
        return -1;
    snprintf(text, sizeof text, "%.*s", (int)(id.len - len), id.ptr + len);
    return atoi(text);
}

/* A queue on a busy machine, or one that recovers, may be silent for a while in the middle. */
#define PATIENCE_MS 20000

struct testing_harvest testing_harvest(const char *queue, const char *prefix, int from, int to, int quiet_ms)
{
    return testing_harvest_rest(queue, prefix, from, to, 0, quiet_ms);
}

struct testing_harvest testing_harvest_rest(const char *queue, const char *prefix, int from, int to, int lost,
                                            int quiet_ms)
{
    struct testing_harvest h = {.missing = to - from + 1};
    int *seen = check_calloc((size_t)(to - from + 1), sizeof *seen);
    struct broker *b = open_broker("test harvest");
    struct broker_delivery d[500];
    struct error err = {0};
    size_t got = 1;

    ck_assert_ok(broker_consume(b, queue, 1000, "test", &err), &err);
    while (got > 0) {
        ck_assert_ok(broker_take(b, d, 500, h.missing > lost ? PATIENCE_MS : quiet_ms, &got, &err), &err);
        for (size_t i = 0; i < got; i++) {
            int n = number_of(prefix, d[i].message_id);

            if (n < from || n > to)
                h.strays++;
            else if (seen[n - from]++ > 0)
                h.twice++;
            else
                h.missing--;
            if (i == got - 1)
                ck_assert_ok(broker_ack(b, d[i].tag, true, &err), &err);
            broker_delivery_release(&d[i]);
        }
    }
    free(seen);
    broker_close(&b, true);
    return h;
}

void testing_next(const char *queue, struct broker_delivery *out)
{
    struct broker *b = open_broker("test next");
    struct error err = {0};
    size_t got = 0;

    ck_assert_ok(broker_consume(b, queue, 1, "test", &err), &err);
    ck_assert_ok(broker_take(b, out, 1, PATIENCE_MS, &got, &err), &err);
    ck_assert_msg(got == 1, "no message came to %s", queue);
    ck_assert_ok(broker_ack(b, out->tag, false, &err), &err);
    broker_close(&b, true);
}

/* ---- the servers ---- */

pid_t testing_stack_pid(const char *server)
{
    char path[300];
    FILE *f;
    int pid = 0;

    snprintf(path, sizeof path, "%s/%s/pid", testing_env("ORDERD_STACK_DIR"), server);
    f = fopen(path, "r");
    ck_assert(f != NULL);
    ck_assert_int_eq(fscanf(f, "%d", &pid), 1);
    fclose(f);
    return pid;
}

uint64_t testing_broker_losses(void)
{
    struct metric_sum sum;

    metric_read(&sum);
    return sum.counters[METRIC_BROKER_OUTAGES];
}
