/* docs/local-message.md is true: its SQL and its script are run as they stand there, and what they write is sent. */
#include "testing_relay.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/order.h"
#include "testing_program.h"

static char *read_file(const char *name)
{
    char path[500];
    char *text = check_calloc(1, 100000);
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", testing_env("ORDERD_SOURCE"), name);
    f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    ck_assert_uint_lt(fread(text, 1, 99999, f), 99999);
    fclose(f);
    return text;
}

/* The n-th (from 0) fenced block of SQL, run in the test's schema by a producer whose clock shows another zone. */
static void run_example(int n)
{
    char *text = read_file("docs/local-message.md"), *begin = text, *end, *last;
    struct error err = {0};
    struct db *shop = db_open(testing_relay_conf, &err);

    ck_assert_ok(shop != NULL, &err);
    for (int i = 0; i <= n; i++) {
        begin = strstr(begin, "```sql\n");
        ck_assert_msg(begin != NULL, "the document has no example %d", n);
        begin += 7;
    }
    end = strstr(begin, "\n```");
    ck_assert(end != NULL);
    last = end[-1] == ';' ? end - 1 : end;
    ck_assert_ok(db_run(shop, slice_of("SET time_zone='+08:00'"), &err), &err);
    ck_assert_ok(db_run(shop, (struct slice){begin, (size_t)(last - begin)}, &err), &err);
    db_close(&shop);
    free(text);
}

static void next_order(const char *order_no)
{
    struct broker_delivery d;
    struct order order;
    char detail[200];

    testing_next("order.create", &d);
    ck_assert(slice_is(d.message_id, order_no));
    ck_assert_msg(order_decode(d.body, &order, detail, sizeof detail) == REASON_NONE, "%s", detail);
    ck_assert_str_eq(order.order_no, order_no);
    broker_delivery_release(&d);
}

START_TEST(inserting)
{
    testing_relay_setup("poll_interval = \"50ms\";");
    testing_relay_start(1);
    run_example(0);
    next_order("D1812345678901");
    testing_wait_relayed(5000);
    testing_relay_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM shop_order"), 1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='sent' AND attempts=1 AND "
                                    "ABS(TIMESTAMPDIFF(SECOND,created_at,UTC_TIMESTAMP(6)))<30 AND "
                                    "first_due_at=created_at"),
                     1);
}
END_TEST

/* _i: whether the producer comes to mark its row. */
START_TEST(publishing_as_well)
{
    testing_relay_setup("poll_interval = \"50ms\";");
    testing_relay_start(1);
    run_example(1);
    if (_i) {
        run_example(2);
        ck_assert_int_eq(testing_rows_in("order.create", "sent"), 1);
    }
    run_example(3);
    testing_wait_relayed(10000);
    testing_relay_stop();
    if (!_i) {
        next_order("D1812345678902");
        ck_assert_int_eq(testing_number("SELECT sent_at>=created_at+INTERVAL 5 SECOND FROM local_message"), 1);
    }
    ck_assert_int_eq(testing_number("SELECT attempts FROM local_message"), !_i);
    ck_assert_int_eq(testing_harvest_rest("order.create", "D", 1, 1, 1, 1000).strays, 0); /* nothing */
}
END_TEST

static int run_script(const char *arguments, char *said, size_t size)
{
    char command[1000];
    FILE *f;
    size_t n;

    snprintf(command, sizeof command, "MYSQL='%s %s' %s/docs/local-message.sh %s 2>&1", testing_env("ORDERD_MARIADB"),
             testing_schema(), testing_env("ORDERD_SOURCE"), arguments);
    f = popen(command, "r");
    ck_assert(f != NULL);
    n = fread(said, 1, size - 1, f);
    said[n] = '\0';
    return WEXITSTATUS(pclose(f));
}

START_TEST(from_a_shell)
{
    char said[2000];

    testing_relay_setup("poll_interval = \"50ms\";");
    testing_sql("CREATE TABLE shop_order (order_no VARCHAR(28) PRIMARY KEY, total BIGINT NOT NULL)");
    testing_relay_start(1);
    ck_assert_int_eq(run_script("S_1 1001 42 77 1 9900 0 1 1764400000123", said, sizeof said), 0);
    ck_assert_str_eq(said, "order S_1 is written and will be sent\n");
    next_order("S_1");
    ck_assert_int_eq(run_script("S_1 1001 42 77 1 9900 0 1 1764400000123", said, sizeof said), 0);
    ck_assert_str_eq(said, "order S_1 is already there\n");
    ck_assert_int_eq(run_script("S_2 1001 42 77 1 99x0 0 1 1764400000123", said, sizeof said), 65);
    ck_assert_int_eq(run_script("\"S'2\" 1001 42 77 1 9900 0 1 1764400000123", said, sizeof said), 65);
    ck_assert_int_eq(run_script("S_2", said, sizeof said), 64);
    testing_admin("RENAME TABLE local_message TO elsewhere");
    ck_assert_int_eq(run_script("S_3 1001 43 77 1 9900 0 1 1764400000123", said, sizeof said), 75);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM shop_order"), 1); /* neither without the other */
    testing_admin("RENAME TABLE elsewhere TO local_message");
    testing_wait_relayed(5000);
    testing_relay_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message"), 1);
    ck_assert_int_eq(testing_harvest_rest("order.create", "S_", 1, 9, 9, 1000).strays, 0);
}
END_TEST

/* ---- what the daemon says of rows that wait ---- */

static void write_conf(const char *path)
{
    FILE *f = fopen(path, "w");

    ck_assert(f != NULL);
    fprintf(f,
            "broker: { host = \"%s\"; port = %s; user = \"%s\"; password_file = \"%s\"; };\n"
            "mysql: { host = \"%s\"; port = %s; user = \"%s\"; password_file = \"%s\"; database = \"%s\"; };\n"
            "redis: { host = \"%s\"; port = %s; };\ncreate: { lanes = 1; };\nrelay: { poll_interval = \"100ms\"; };\n",
            testing_env("ORDERD_MQ_HOST"), testing_env("ORDERD_MQ_PORT"), testing_env("ORDERD_MQ_USER"),
            testing_env("ORDERD_MQ_PASSWORD_FILE"), testing_env("ORDERD_DB_HOST"), testing_env("ORDERD_DB_PORT"),
            testing_env("ORDERD_DB_USER"), testing_env("ORDERD_DB_PASSWORD_FILE"), testing_schema(),
            testing_env("ORDERD_KV_HOST"), testing_env("ORDERD_KV_PORT"));
    fclose(f);
}

/* The largest relay_oldest_ms of a rate line; -1 where there is none. */
static int64_t oldest_said(const char *said)
{
    static const char field[] = " relay_oldest_ms=";
    int64_t most = -1;

    for (const char *at = said; (at = strstr(at, "event=rate ")); at++) {
        const char *value = strstr(at, field);
        int64_t age = value ? strtoll(value + strlen(field), NULL, 10) : -1;

        most = age > most ? age : most;
    }
    return most;
}

START_TEST(daemon_says_how_old)
{
    char path[100];
    struct program daemon;
    int64_t age; /* of the row that waits, when the daemon has ended */

    testing_relay_setup(NULL);
    snprintf(path, sizeof path, "/tmp/orderd_test_relay_%d.conf", (int)getpid());
    write_conf(path);
    program_start(&daemon, (const char *const[]){"orderd", "-c", path, NULL});
    testing_rows("order.cancel", "C", 1, 1);
    testing_wait(testing_rows_in("order.cancel", "sent") == 1, 20000, "the daemon works");
    testing_queue_delete("order.cancel");
    testing_rows("order.cancel", "C", 2, 2);
    testing_wait(
        testing_number("SELECT created_at<UTC_TIMESTAMP(6)-INTERVAL 7500000 MICROSECOND FROM local_message WHERE "
                       "message_key='order.cancel:C2'") == 1,
        10000, "the row waits");
    ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
    program_wait(&daemon);
    age = testing_number("SELECT TIMESTAMPDIFF(MICROSECOND,created_at,UTC_TIMESTAMP(6)) DIV 1000 FROM local_message "
                         "WHERE message_key='order.cancel:C2'");
    unlink(path);
    ck_assert_msg(daemon.code == 0, "%s", daemon.err);
    ck_assert_int_ge(oldest_said(daemon.err), 5500);
    ck_assert_int_le(oldest_said(daemon.err), age);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("relay producer");
    TCase *c = tcase_create("producer");

    tcase_set_timeout(c, 60);
    tcase_add_unchecked_fixture(c, NULL, testing_relay_clean);
    tcase_add_test(c, inserting);
    tcase_add_loop_test(c, publishing_as_well, 0, 2);
    tcase_add_test(c, from_a_shell);
    tcase_add_test(c, daemon_says_how_old);
    suite_add_tcase(s, c);
    return testing_main(s);
}
