/* orderctl topology, in a virtual host of its own: from nothing to all, what is different or forbidden, and that what
 * was made takes messages from the exchange to the queue. */
#include "testing_ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/broker.h"
#include "orderd/exitcode.h"

static char vhost[64];

static void rabbitmqctl(const char *arguments)
{
    char command[512];

    snprintf(command, sizeof command, "%s -q %s >/dev/null", testing_env("ORDERD_RABBITMQCTL"), arguments);
    ck_assert_msg(system(command) == 0, "%s", command);
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
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "queue     order.paid                                   different\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "queue     order.dead                                   different\n"));
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
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "queue     order.create                                 different\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: warning: broker.queue_type is classic: "));
}
END_TEST

#define ADVICE_ACCOUNT "use an account that may configure it, or set broker.topology = \"trust\" where another does"

START_TEST(forbidden)
{
    char arguments[256], secret[96];
    FILE *f;

    CTL("topology", "apply");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    snprintf(secret, sizeof secret, "/tmp/%s.secret", vhost);
    ck_assert((f = fopen(secret, "w")) != NULL);
    fputs("reader\n", f);
    fclose(f);
    snprintf(arguments, sizeof arguments, "add_user %s reader", vhost);
    rabbitmqctl(arguments);
    snprintf(arguments, sizeof arguments, "set_permissions -p %s %s '^$' '.*' '.*'", vhost, vhost);
    rabbitmqctl(arguments);
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost, .mq_user = vhost, .mq_password_file = secret});

    CTL("-q", "topology", "check");
    CTL_SAYS(EXIT_NO_PERMISSION, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "queue     order.create                                 forbidden\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "ACCESS_REFUSED"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\n          " ADVICE_ACCOUNT "\n"));
    CTL("topology", "apply");
    CTL_SAYS(EXIT_PARTIAL, "");
    snprintf(arguments, sizeof arguments, "delete_user %s", vhost);
    rabbitmqctl(arguments);
    remove(secret);
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
    suite_add_tcase(s, t);
    return testing_main(s);
}
