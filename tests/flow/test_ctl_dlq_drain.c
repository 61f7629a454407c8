/* orderctl dlq drain and stats: what lies in order.dead against what is in the table, by id, whatever kills the drain.
 */
#include "testing_dlq.h"

#include <pthread.h>
#include <stdatomic.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "orderd/exitcode.h"

#define MANY 120

static void drained(int64_t new, int64_t known, int64_t again)
{
    CTL("dlq", "drain", "--json");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(dlq_member("taken"), new + known + again);
    ck_assert_int_eq(dlq_member("new"), new);
    ck_assert_int_eq(dlq_member("known"), known);
    ck_assert_int_eq(dlq_member("died_again"), again);
    ck_assert_int_eq(dlq_member("left"), 0);
    ck_assert_uint_eq(dlq_depth(), 0);
}

START_TEST(takes_all)
{
    dlq_publish_orders("a", MANY);
    CTL("dlq", "drain", "--dry-run");
    CTL_SAYS(EXIT_OK, "orderctl: nothing was changed\n");
    ck_assert_str_eq(testing_ctl.out, "120 would be taken\n");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter"), 0);
    ck_assert_uint_eq(dlq_depth(), MANY);

    drained(MANY, 0, 0);
    dlq_has_orders("a", MANY);
    ck_assert_int_eq(
        testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE reason='stock_short' AND attempts=3 AND "
                           "queue='order.create' AND died_at='2026-11-29 10:00:00.123' AND "
                           "activity_id=IF(MOD(SUBSTR(message_id,2),2),1002,1001) AND "
                           "JSON_VALUE(headers,'$.\"orderd-reason\"')='stock_short'"),
        MANY);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(DISTINCT letter_id) FROM dead_letter_action WHERE "
                                        "action='drained' AND who LIKE '%%@%%'"),
                     MANY);
    drained(0, 0, 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action"), MANY);
}
END_TEST

/* known: how many letters were committed and not acknowledged; -1: at least one. */
static const struct {
    const char *fault;
    int64_t known;
} kills[] = {{"drain.before_commit=kill@1", 0},
             {"drain.after_commit=kill@1", -1},
             {"drain.before_commit=kill@2", 0},
             {"drain.before_ack=kill@1", -1},
             {"drain.before_ack=kill@7", -1}};

START_TEST(killed)
{
    int64_t stored;

    dlq_publish_orders("k", MANY);
    DLQ_KILLED(kills[_i].fault, "dlq", "drain");
    stored = testing_ctl_number("SELECT COUNT(*) FROM dead_letter");
    testing_wait(dlq_depth() > 0, 10000, "the letters come back");
    CTL("dlq", "drain", "--json");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(dlq_member("new"), MANY - stored);
    if (kills[_i].known < 0)
        ck_assert_int_gt(dlq_member("known"), 0);
    else
        ck_assert_int_eq(dlq_member("known"), kills[_i].known);
    ck_assert_int_eq(dlq_member("died_again"), 0);
    dlq_has_orders("k", MANY);
    ck_assert_uint_eq(dlq_depth(), 0);
}
END_TEST

/* A letter that was dealt with and comes back as a new one waits for somebody again, with its new reason. */
START_TEST(dies_again)
{
    struct dlq_letter l = {"x", "stock_short", "order.create", "2026-11-29T10:00:00.000Z", slice_of("{}")};

    dlq_publish(&l);
    drained(1, 0, 0);
    testing_ctl_run_sql("UPDATE dead_letter SET state='replayed'");
    dlq_publish(&l); /* a copy: the same death */
    drained(0, 1, 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE state='replayed' AND times=1"), 1);
    l.failed_at = "2026-11-29T10:00:00.001Z";
    l.reason = "constraint";
    dlq_publish(&l);
    drained(0, 0, 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE state='open' AND times=2 AND "
                                        "reason='constraint' AND died_at='2026-11-29 10:00:00.001'"),
                     1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action WHERE who LIKE '%%@%%' AND "
                                        "(action='drained' AND note='stock_short' OR action='met_again' AND "
                                        "note='stock_short' OR action='died_again' AND note='constraint')"),
                     3);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(DISTINCT action) FROM dead_letter_action"), 3);
    l.body = slice_of("{ }"); /* other bytes under the same id are another letter */
    dlq_publish(&l);
    drained(1, 0, 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter"), 2);
}
END_TEST

/* Bytes that are no text, no id, no reason, a reason of somebody else, a time that is none. */
START_TEST(hostile)
{
    static const char bytes[] = "\0\xff\xfe'\"\\\x1b[2J%_";
    struct dlq_letter l = {.id = "", .body = {bytes, sizeof bytes}};

    dlq_publish(&l);
    l = (struct dlq_letter){"h1", "'; DROP TABLE orders", "q\xff", "2026-02-30T00:00:00.000Z", slice_of("")};
    dlq_publish(&l);
    l = (struct dlq_letter){"h2", "order_unknown", "order.paid", "now",
                            slice_of("{\"order_no\":\"a b\",\"activity_id\":-1}")};
    dlq_publish(&l);
    drained(3, 0, 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE message_id='' AND reason='unknown' AND "
                                        "queue='' AND HEX(body)='00FFFE27225C1B5B324A255F00'"),
                     1);
    ck_assert_int_eq(
        testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE message_id='h1' AND reason='unknown' AND "
                           "body='' AND death_told=0"),
        1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE message_id='h2' AND "
                                        "reason='order_unknown' AND death_told=0 AND order_no IS NULL AND "
                                        "activity_id IS NULL AND died_at>UTC_TIMESTAMP()-INTERVAL 1 MINUTE"),
                     1);
}
END_TEST

/* One that the database refuses stays where it is, and the others are taken. */
START_TEST(one_is_left)
{
    dlq_publish_orders("l", 60);
    testing_ctl_run_sql("ALTER TABLE dead_letter ADD CONSTRAINT no_seven CHECK (message_id<>'l7')");
    CTL("dlq", "drain", "--json");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.err, "1 letters are left in the queue, since the database refuses them: "));
    ck_assert_int_eq(dlq_member("taken"), 59);
    ck_assert_int_eq(dlq_member("left"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(DISTINCT message_id) FROM dead_letter WHERE message_id<>'l7'"),
                     59);
    testing_wait(dlq_depth() == 1, 10000, "the one that was left is in the queue");
    testing_ctl_run_sql("ALTER TABLE dead_letter DROP CONSTRAINT no_seven");
    drained(1, 0, 0);
    dlq_has_orders("l", 60);
}
END_TEST

START_TEST(one_at_a_time)
{
    dlq_publish_orders("o", 1);
    ck_assert_int_eq(testing_ctl_number("SELECT GET_LOCK(CONCAT('orderd.drain.',LEFT(DATABASE(),40)),0)"), 1);
    CTL("dlq", "drain");
    CTL_SAYS(EXIT_TEMPORARY, "orderctl: dlq drain: another drain is at work\n");
    ck_assert_uint_eq(dlq_depth(), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT RELEASE_LOCK(CONCAT('orderd.drain.',LEFT(DATABASE(),40)))"), 1);
    drained(1, 0, 0);
}
END_TEST

/* What was taken stays taken where nobody can be told of it. */
START_TEST(output_is_lost)
{
    static const struct {
        const char *to;
        int code;
    } sinks[] = {{"> /dev/full", EXIT_IO}, {"| :", EXIT_OK}};

    for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
        char command[600];
        int code;

        dlq_publish_orders(i ? "p" : "f", 30);
        snprintf(command, sizeof command,
                 "bash -c 'set -o pipefail; %s/src/orderctl -c %s dlq drain --json 2>/dev/null %s'",
                 getenv("ORDERD_BUILD"), testing_ctl_file, sinks[i].to);
        code = system(command);
        ck_assert_msg(WIFEXITED(code) && WEXITSTATUS(code) == sinks[i].code, "%s: %d", sinks[i].to, code);
        ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter"), 30 * ((int)i + 1));
        ck_assert_uint_eq(dlq_depth(), 0);
    }
}
END_TEST

START_TEST(servers_away)
{
    dlq_publish_orders("s", 2);
    drained(2, 0, 0);
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_port = "1"});
    CTL("dlq", "drain");
    ck_assert_int_eq(testing_ctl.code, EXIT_UNAVAILABLE);
    CTL("dlq", "stats", "--json");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: warning: the queue cannot be looked at: "));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"in_queue\":null"));
    ck_assert_int_eq(dlq_member("open"), 2);
    testing_ctl_configure(&(struct testing_ctl_conf){.db_port = "1"});
    CTL("dlq", "drain");
    ck_assert_int_eq(testing_ctl.code, EXIT_UNAVAILABLE);
}
END_TEST

START_TEST(counts)
{
    json_error_t where;
    json_t *json, *groups;

    CTL("dlq", "stats");
    CTL_SAYS(EXIT_OK, "orderctl: no dead letter was taken so far\n");
    ck_assert_str_eq(testing_ctl.out, "0 in the queue order.dead, 0 open.\n");
    dlq_publish_orders("c", 5);
    drained(5, 0, 0);
    dlq_publish(&(struct dlq_letter){"p", "order_unknown", "order.paid", NULL, slice_of("{}")});
    drained(1, 0, 0);
    dlq_publish_orders("d", 3);
    testing_ctl_run_sql("UPDATE dead_letter SET state='discarded' WHERE message_id='c1'");
    CTL("dlq", "stats", "--json");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(dlq_member("in_queue"), 3);
    ck_assert_int_eq(dlq_member("open"), 5);
    ck_assert_int_eq(dlq_member("discarded"), 1);
    ck_assert_int_eq(dlq_member("replayed"), 0);
    ck_assert_int_gt(dlq_member("oldest_open_ms"), 0);
    json = json_loads(testing_ctl.out, 0, &where);
    groups = json_object_get(json, "groups");
    ck_assert_uint_eq(json_array_size(groups), 4);
    for (size_t i = 0; i < 4; i++) {
        json_t *g = json_array_get(groups, i);
        static const char *const states[] = {"open", "open", "open", "discarded"};
        static const char *const reasons[] = {"stock_short", "stock_short", "order_unknown", "stock_short"};
        static const int64_t letters[] = {2, 2, 1, 1}, activities[] = {1001, 1002, 0, 1002};

        ck_assert_str_eq(json_string_value(json_object_get(g, "state")), states[i]);
        ck_assert_str_eq(json_string_value(json_object_get(g, "reason")), reasons[i]);
        ck_assert_int_eq(json_integer_value(json_object_get(g, "letters")), letters[i]);
        ck_assert_int_eq(json_integer_value(json_object_get(g, "activity")), activities[i]);
    }
    json_decref(json);
    CTL("dlq", "stats", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "3 in the queue order.dead, 5 open.\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "order.paid"));
}
END_TEST

static atomic_bool coming;

static void *letters_come(void *unused)
{
    char id[24];

    (void)unused;
    for (int n = 1; atomic_load(&coming); n++) {
        snprintf(id, sizeof id, "come%d", n);
        dlq_publish(&(struct dlq_letter){id, "stock_short", "order.create", NULL, slice_of("{}")});
    }
    return NULL;
}

/* Of a sale that goes wrong all the time a drain sees no end; what is there already is wanted now. */
START_TEST(letters_that_never_stop)
{
    pthread_t thread;

    dlq_publish_orders("first", 20);
    atomic_store(&coming, true);
    ck_assert_int_eq(pthread_create(&thread, NULL, letters_come, NULL), 0);
    CTL("dlq", "drain", "-q");
    atomic_store(&coming, false);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE message_id LIKE 'first%%'"), 20);
    ck_assert_int_gt(testing_ctl_number("SELECT COUNT(*) FROM dead_letter"), 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ctl_dlq_drain");
    TCase *t = tcase_create("dlq");

    tcase_add_checked_fixture(t, dlq_setup, dlq_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, takes_all);
    tcase_add_loop_test(t, killed, 0, (int)(sizeof kills / sizeof *kills));
    tcase_add_test(t, dies_again);
    tcase_add_test(t, hostile);
    tcase_add_test(t, one_is_left);
    tcase_add_test(t, one_at_a_time);
    tcase_add_test(t, output_is_lost);
    tcase_add_test(t, servers_away);
    tcase_add_test(t, counts);
    tcase_add_test(t, letters_that_never_stop);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
