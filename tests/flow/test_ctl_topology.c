/* orderctl topology, in a virtual host of its own: from nothing to all, what is different or forbidden, and that what
 * was made takes messages from the exchange to the queue. */
#include "testing_ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/broker.h"
#include "orderd/clock.h"
#include "orderd/exitcode.h"

static char vhost[64];

static void rabbitmqctl(const char *arguments)
{
    char command[512];

    snprintf(command, sizeof command, "%s -q %s >/dev/null", testing_env("ORDERD_RABBITMQCTL"), arguments);
    ck_assert_msg(system(command) == 0, "%s", command);
}

static void rabbitmqctl_delete(const char *queue)
{
    char arguments[256];

    snprintf(arguments, sizeof arguments, "delete_queue -p %s %s", vhost, queue);
    rabbitmqctl(arguments);
}

static void setup(void)
{
    char arguments[256];

    testing_ctl_setup();
    snprintf(vhost, sizeof vhost, "%s", testing_ctl_schema);
    snprintf(arguments, sizeof arguments, "add_vhost %s", vhost);
    rabbitmqctl(arguments);
    snprintf(arguments, sizeof arguments, "set_permissions -p %s %s '.*' '.*' '.*'", vhost,
             testing_env("ORDERD_MQ_USER"));
    rabbitmqctl(arguments);
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost});
    CTL("migrate", "up");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
}

static void teardown(void)
{
    char arguments[256];

    snprintf(arguments, sizeof arguments, "delete_vhost %s", vhost);
    rabbitmqctl(arguments);
    testing_ctl_teardown();
}

static struct broker *open_broker(struct conf **conf)
{
    struct error err;
    struct broker *broker;

    *conf = testing_conf(NULL);
    (*conf)->broker_vhost = vhost;
    broker = broker_open(*conf, "test_ctl", &err);
    ck_assert_ok(broker != NULL, &err);
    return broker;
}

static const struct {
    const char *kind, *name, *from; /* the exchange that a queue is bound to */
} items[] = {
    {"exchange", "order", NULL},
    {"exchange", "order.event", NULL},
    {"queue", "order.dead", "order"},
    {"queue", "order.create", "order"},
    {"queue", "order.paid", "order"},
    {"queue", "order.cancel", "order"},
    {"queue", "order.unpaid", "order"},
    {"exchange", "order.retry.1000", NULL},
    {"queue", "order.retry.1000", "order.retry.1000"},
    {"exchange", "order.retry.5000", NULL},
    {"queue", "order.retry.5000", "order.retry.5000"},
    {"exchange", "order.retry.30000", NULL},
    {"queue", "order.retry.30000", "order.retry.30000"},
};

#define ITEMS (sizeof items / sizeof *items)

/* The lines of all items in this state, bindings too where they are reported. */
static void listed(const char *state, bool bindings)
{
    struct strbuf expected = STRBUF_INIT;

    for (size_t i = 0; i < ITEMS; i++) {
        strbuf_addf(&expected, "%-10s%-45s%s\n", items[i].kind, items[i].name, state);
        if (bindings && items[i].from) {
            char name[64];

            snprintf(name, sizeof name, "%s -> %s", items[i].from, items[i].name);
            strbuf_addf(&expected, "binding   %-45sbound\n", name);
        }
    }
    ck_assert_str_eq(testing_ctl.out, expected.data);
    strbuf_release(&expected);
}

/* A message to the exchange comes out of every queue: also broker_declare_queue's and bind_queue's own words are true.
 */
static void messages_arrive(void)
{
    struct conf *conf;
    struct broker *broker = open_broker(&conf);
    struct error err;
    enum broker_outcome outcome[ITEMS];

    ck_assert_ok(broker_confirm_select(broker, 16, &err), &err);
    for (size_t i = 0; i < ITEMS; i++) {
        struct broker_publication p = {.exchange = items[i].from,
                                       .routing_key = items[i].name,
                                       .body = slice_of("{}"),
                                       .message_id = slice_of(items[i].name)};

        outcome[i] = BROKER_OUTCOME_CONFIRMED;
        if (!items[i].from)
            continue;
        ck_assert_ok(broker_publish(broker, &p, &outcome[i], &err), &err);
    }
    ck_assert_ok(broker_wait_confirms(broker, 5000, &err), &err);
    for (size_t i = 0; i < ITEMS; i++)
        ck_assert_msg(outcome[i] == BROKER_OUTCOME_CONFIRMED, "%s: %d", items[i].name, outcome[i]);
    broker_close(&broker, true);
    conf_destroy(&conf);
}

START_TEST(from_nothing)
{
    CTL("-q", "topology", "check");
    CTL_SAYS(EXIT_FAILED, "");
    listed("missing", false);
    CTL("topology", "check", "--json");
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: 13 missing; run `orderctl topology apply`\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out,
                                 "{\"kind\":\"queue\",\"name\":\"order.dead\",\"state\":\"missing\","
                                 "\"detail\":null,\"advice\":\"`orderctl topology apply` makes it\"}\n"));
    CTL("-q", "topology", "apply", "--dry-run");
    CTL_SAYS(EXIT_OK, "");
    listed("missing", false);
    CTL("-q", "topology", "check");
    listed("missing", false); /* it was dry */

    CTL("topology", "apply");
    CTL_SAYS(EXIT_OK, "");
    listed("created", true);
    CTL("topology", "apply");
    CTL_SAYS(EXIT_OK, "");
    listed("present", true);
    CTL("-q", "topology", "check");
    CTL_SAYS(EXIT_OK, "");
    listed("present", false);
    messages_arrive();
}
END_TEST

static void declare_foreign(const char *queue, const struct broker_argument *arguments, size_t count)
{
    struct conf *conf;
    struct broker *broker = open_broker(&conf);
    enum broker_presence presence;
    struct error detail, err;

    ck_assert_ok(broker_declare_queue(broker, queue, arguments, count, true, &presence, &detail, &err), &err);
    ck_assert_int_eq(presence, BROKER_PRESENT);
    broker_close(&broker, true);
    conf_destroy(&conf);
}

#define ADVICE_QUEUE                                                                                                   \
    "arguments of a queue cannot be changed: drain and delete it and apply again, or make broker.queue_type and "      \
    "broker.delivery_limit fit it"

START_TEST(different)
{
    const struct broker_argument classic[] = {{"x-queue-type", "classic", 0}};
    const struct broker_argument limit[] = {{"x-queue-type", "quorum", 0}, {"x-delivery-limit", NULL, 3}};

    declare_foreign("order.paid", classic, 1);
    declare_foreign("order.dead", limit, 2);
    CTL("topology", "apply");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "queue     order.create                                 created\n"));
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "queue     order.paid                                   different\n"));
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "queue     order.dead                                   different\n"));
    ck_assert_ptr_null(strstr(testing_ctl.out, "order -> order.paid"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "PRECONDITION_FAILED - inequivalent arg 'x-"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "for queue 'order.paid' in vhost"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\n          " ADVICE_QUEUE "\n"));
    CTL("-q", "topology", "check", "--json");
    CTL_SAYS(EXIT_FAILED, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"advice\":\"" ADVICE_QUEUE "\"}\n"));
    CTL("topology", "apply", "--dry-run");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    /* The other type of queue is another topology. */
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost, .queue_type = "classic"});
    CTL("topology", "check");
    ck_assert_int_eq(testing_ctl.code, EXIT_FAILED);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "queue     order.paid                                   present\n"));
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "queue     order.create                                 different\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: warning: broker.queue_type is classic: "));
}
END_TEST

#define ADVICE_ACCOUNT "use an account that may configure it, or set broker.topology = \"trust\" where another does"

/* An account that may write and read, and configure nothing: as the daemon's of docs/accounts. */
static void become_reader(char secret[128])
{
    char arguments[256];
    FILE *f;

    snprintf(secret, 128, "%s/reader.secret", testing_dir());
    ck_assert((f = fopen(secret, "w")) != NULL);
    fputs("reader\n", f);
    fclose(f);
    snprintf(arguments, sizeof arguments, "add_user %s reader", vhost);
    rabbitmqctl(arguments);
    snprintf(arguments, sizeof arguments, "set_permissions -p %s %s '^$' '.*' '.*'", vhost, vhost);
    rabbitmqctl(arguments);
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost, .mq_user = vhost, .mq_password_file = secret});
}

static void end_reader(void)
{
    char arguments[256];

    snprintf(arguments, sizeof arguments, "delete_user %s", vhost);
    rabbitmqctl(arguments);
}

START_TEST(forbidden)
{
    const char *said;
    char secret[128];

    CTL("topology", "apply");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    become_reader(secret);

    CTL("-q", "topology", "check");
    CTL_SAYS(EXIT_NO_PERMISSION, "");
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "queue     order.create                                 forbidden\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "ACCESS_REFUSED"));
    said = strstr(testing_ctl.out, "\n          " ADVICE_ACCOUNT "\n");
    ck_assert_ptr_nonnull(said);
    ck_assert_ptr_null(strstr(said + sizeof ADVICE_ACCOUNT, ADVICE_ACCOUNT)); /* once */
    CTL("topology", "apply");
    CTL_SAYS(EXIT_NO_PERMISSION, "");
    testing_ctl_configure(&(struct testing_ctl_conf){
        .vhost = vhost, .mq_user = vhost, .mq_password_file = secret, .mq_more = "topology = \"trust\";"});
    CTL("topology", "apply");
    CTL_SAYS(EXIT_NO_PERMISSION, "");
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "use an account that may configure it: orderctl's, in docs/accounts\n"));
    ck_assert_ptr_null(strstr(testing_ctl.out, "trust"));
    end_reader();
}
END_TEST

/* ---- pay time-outs ---- */

static void give_activity(int id, const char *state, int64_t pay_timeout_ms)
{
    testing_ctl_run_sql(
        "INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,per_user_limit,pay_timeout_ms,state,"
        "starts_at,ends_at,epoch) VALUES(%d,'test',1,1,'CNY',100,1,%" PRId64 ",'%s',NOW(3),NOW(3)+INTERVAL 1 HOUR,1);"
        "INSERT INTO activity_stock(activity_id,total,available) VALUES(%d,100,100)",
        id, pay_timeout_ms, state, id);
}

/* What goes into a delay queue comes out of order.unpaid when its time is over, not before. */
static void delays(const char *delay_queue, int64_t ms)
{
    struct conf *conf;
    struct broker *broker = open_broker(&conf);
    struct broker_publication p = {
        .exchange = "order", .routing_key = delay_queue, .body = slice_of("{}"), .message_id = slice_of("T1")};
    enum broker_outcome outcome;
    struct broker_delivery d;
    struct error err;
    int64_t begin = clock_mono_ms();
    size_t count;

    ck_assert_ok(broker_confirm_select(broker, 16, &err), &err);
    ck_assert_ok(broker_publish(broker, &p, &outcome, &err), &err);
    ck_assert_ok(broker_wait_confirms(broker, 5000, &err), &err);
    ck_assert_int_eq(outcome, BROKER_OUTCOME_CONFIRMED);
    broker_close(&broker, true);
    broker = broker_open(conf, "test_ctl", &err);
    ck_assert_ok(broker != NULL, &err);
    ck_assert_ok(broker_consume(broker, "order.unpaid", 10, "test", &err), &err);
    ck_assert_ok(broker_take(broker, &d, 1, (int)ms + 5000, &count, &err), &err);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_ge(clock_mono_ms() - begin, ms - 50);
    ck_assert(slice_is(d.message_id, "T1") && slice_is(d.routing_key, "order.unpaid"));
    broker_delivery_release(&d);
    broker_close(&broker, true);
    conf_destroy(&conf);
}

/* Those of activities that take orders or have some; each once. */
START_TEST(of_activities_in_use)
{
    give_activity(1, "review", 5000);
    give_activity(2, "running", 1000);
    give_activity(3, "settled", 3000);
    give_activity(4, "ended", 1000);
    give_activity(5, "scheduled", 900000);
    CTL("topology", "check");
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: 15 missing; run `orderctl topology apply`\n"));
    CTL("topology", "apply");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "queue     order.unpaid.1000                            created\n"
                                                  "binding   order -> order.unpaid.1000                   bound\n"
                                                  "queue     order.unpaid.900000                          created\n"
                                                  "binding   order -> order.unpaid.900000                 bound\n"));
    ck_assert_ptr_null(strstr(testing_ctl.out, "order.unpaid.3000"));
    ck_assert_ptr_null(strstr(testing_ctl.out, "order.unpaid.5000"));
    CTL("topology", "check", "-q");
    CTL_SAYS(EXIT_OK, "");
    delays("order.unpaid.1000", 1000);
}
END_TEST

/* Without a database, all but those. */
START_TEST(database_away)
{
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost, .db_port = "1"});
    CTL("topology", "apply");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: note: the delay queues of pay time-outs are left out, "
                                                  "since the activities cannot be read: "));
    ck_assert_ptr_null(strstr(testing_ctl.err, "see that MySQL"));
    listed("created", true);
}
END_TEST

#define APPROVE_FAILS(code_, ...)                                                                                      \
    do {                                                                                                               \
        CTL("activity", "approve", "7", __VA_ARGS__);                                                                  \
        ck_assert_int_eq(testing_ctl.code, code_);                                                                     \
        ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity WHERE state='review' AND epoch=1"), 1);     \
    } while (0)

/* An activity whose timers have no queue is not approved, and says why; its dry run says what it needs. */
START_TEST(approve_makes_the_queue)
{
    const struct broker_argument classic[] = {{"x-queue-type", "classic", 0}};

    give_activity(7, "review", 2000);
    APPROVE_FAILS(EXIT_CONFIG, "-q"); /* no exchange yet */
    ck_assert_str_eq(testing_ctl.err, "orderctl: activity approve: binding order -> order.unpaid.2000 cannot be made: "
                                      "run `orderctl topology apply` first\n");
    CTL("topology", "apply");
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost, .mq_port = "1"});
    APPROVE_FAILS(EXIT_UNAVAILABLE, "-q");
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: activity approve: the activity's delay queue must be "
                                                  "there before it is approved: "));
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "see that RabbitMQ is up"));
    APPROVE_FAILS(EXIT_UNAVAILABLE, "--dry-run");
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost});
    rabbitmqctl_delete("order.unpaid.2000");
    declare_foreign("order.unpaid.2000", classic, 1);
    APPROVE_FAILS(EXIT_CONFIG, "-q");
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "queue order.unpaid.2000 is declared otherwise: "));
    rabbitmqctl_delete("order.unpaid.2000");
    APPROVE_FAILS(EXIT_OK, "--dry-run");
    ck_assert_str_eq(testing_ctl.err, "orderctl: queue order.unpaid.2000 would be created\n"
                                      "orderctl: it could be approved; nothing was changed\n");
    CTL("activity", "approve", "7");
    CTL_SAYS(EXIT_OK, "orderctl: queue order.unpaid.2000 was created\n"
                      "orderctl: approved; `orderctl activity preheat 7` puts its stock into Redis\n");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity WHERE state='scheduled'"), 1);
    rabbitmqctl_delete("order.unpaid.2000");
    CTL("activity", "approve", "7"); /* heals */
    CTL_SAYS(EXIT_OK, "orderctl: queue order.unpaid.2000 was created\n"
                      "orderctl: activity 7 is approved already; nothing was changed\n");
    delays("order.unpaid.2000", 2000);
}
END_TEST

#define UNSEEN "orderctl: warning: queue order.unpaid.2000 "
#define LEFT_TO_DO                                                                                                     \
    "by this account, and without it unpaid orders are closed late: run `orderctl topology apply` with orderctl's "    \
    "account (docs/accounts)\n"

/* An account to which the topology is none of its business approves, and says what is left to do. From RabbitMQ 4.2.6
 * on it may not even see whether the queue is there. */
static void approved_with(const char *note)
{
    CTL("activity", "approve", "7");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    ck_assert(strncmp(testing_ctl.err, UNSEEN, strlen(UNSEEN)) == 0);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, LEFT_TO_DO));
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, note));
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity WHERE state='scheduled'"), 1);
}

START_TEST(approve_unseen)
{
    char secret[128];
    const struct testing_ctl_conf trusting = {
        .vhost = vhost, .mq_user = vhost, .mq_password_file = secret, .mq_more = "topology = \"trust\";"};

    CTL("topology", "apply");
    give_activity(7, "review", 2000);
    become_reader(secret);
    APPROVE_FAILS(EXIT_CONFIG, "-q");
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "queue order.unpaid.2000 may not be made or looked at: "));
    testing_ctl_configure(&trusting);
    APPROVE_FAILS(testing_ctl.code, "--dry-run");
    if (testing_ctl.code == EXIT_OK) /* PARTIAL from 4.2.6 on */
        ck_assert_str_eq(testing_ctl.err, "orderctl: queue order.unpaid.2000 would be created, if this account may\n"
                                          "orderctl: it could be approved; nothing was changed\n");
    else
        ck_assert_ptr_nonnull(strstr(testing_ctl.err, UNSEEN "may not be looked at"));
    approved_with("orderctl: approved; ");
    approved_with("orderctl: activity 7 is approved already; nothing was changed\n");
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost}); /* the account that may */
    CTL("topology", "apply", "-q");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "queue     order.unpaid.2000                            created\n"));
    testing_ctl_configure(&trusting);
    CTL("activity", "approve", "7");      /* with a right to read or write it, it may be seen, though not compared */
    if (testing_ctl.code == EXIT_PARTIAL) /* but not by 4.2.6 and 4.3.0 */
        ck_assert_ptr_nonnull(strstr(testing_ctl.err, UNSEEN "may not be looked at"));
    else
        CTL_SAYS(EXIT_OK, "orderctl: activity 7 is approved already; nothing was changed\n");
    end_reader();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ctl_topology");
    TCase *t = tcase_create("topology");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, from_nothing);
    tcase_add_test(t, different);
    tcase_add_test(t, forbidden);
    tcase_add_test(t, of_activities_in_use);
    tcase_add_test(t, database_away);
    tcase_add_test(t, approve_makes_the_queue);
    tcase_add_test(t, approve_unseen);
    suite_add_tcase(s, t);
    return testing_main(s);
}
