/* The relay while its broker restarts, is under alarm, falls silent, or refuses a body. */
#include "testing_relay.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/clock.h"

static bool full_run(void)
{
    return getenv("ORDERD_TEST_FULL") != NULL;
}

static void assert_none_is_to_blame(void)
{
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='quarantined'"), 0);
    /* Sent with its first attempt, or its second where it was in flight: an outage counts for nobody. */
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE attempts>1"), 0);
}

/* 10,000 sends and 4 restarts; with ORDERD_TEST_FULL, 50,000 sends and a restart every two seconds until the end. The
 * rows come in as fast as they can be sent, so that every restart strikes in the middle. */
START_TEST(broker_restarts)
{
    int rows = full_run()      ? 50000
               : TESTING_SMALL ? 5000
                               : 10000,
        written = 0, restarts = 0, step = full_run() ? 5000 : 2500;
    struct testing_harvest h;

    testing_relay_setup("poll_interval = \"50ms\"; batch_max = 100;");
    testing_relay_start(2);
    while (written < rows || (full_run() && testing_rows_in("order.paid", "sent") < rows)) {
        int64_t sent = testing_rows_in("order.paid", "sent");

        if (written < rows) {
            testing_rows("order.paid", "R", written + 1, written + step);
            written += step;
        }
        testing_wait(testing_rows_in("order.paid", "sent") >= sent + 200, 30000, "it sends");
        /* Killed, but for the first: its queue has just been declared, and RabbitMQ 3.10 would lose its leader. */
        testing_stack("restart", "rabbitmq", restarts++ > 0 ? "--kill" : "");
        if (full_run())
            clock_sleep_ms(2000);
    }
    testing_wait_relayed(120000);
    testing_relay_stop();
    h = testing_harvest("order.paid", "R", 1, rows, 2000);
    ck_assert_int_ge(restarts, TESTING_SMALL ? 2 : 4);
    ck_assert_int_eq(h.missing, 0);
    ck_assert_int_eq(h.strays, 0);
    ck_assert_int_le(h.twice, restarts * 2 * 100); /* what was in flight, of both */
    ck_assert_int_eq(testing_rows_in("order.paid", "sent"), rows);
    assert_none_is_to_blame();
}
END_TEST

static void alarm_on(void)
{
    testing_rabbitmqctl("set_vm_memory_high_watermark absolute 1MB");
}

static void alarm_off(void)
{
    testing_rabbitmqctl("set_vm_memory_high_watermark 0.4");
}

/* On before the relay has ever published: at most the one that it tries the broker with is sent twice. */
START_TEST(alarm_at_start)
{
    struct testing_harvest h;

    testing_relay_setup("poll_interval = \"50ms\"; lease = \"2500ms\";");
    testing_relay_conf->broker_call_timeout = 2500;
    testing_rows("order.paid", "R", 1, 500);
    alarm_on();
    testing_relay_start(1);
    testing_wait(
        testing_number("SELECT COUNT(*) FROM local_message WHERE state='pending' AND attempts=0 AND last_error "
                       "LIKE '%%takes no publishes%%'") >= 450,
        15000, "they wait and say why");
    clock_sleep_ms(3000); /* longer than the lease and the confirm's time-out */
    ck_assert_int_eq(testing_rows_in("order.paid", "sent"), 0);
    ck_assert_uint_eq(testing_broker_losses(), 0); /* waits, rather than coming again and again with the same ones */
    alarm_off();
    testing_wait_relayed(15000);
    testing_relay_stop();
    h = testing_harvest("order.paid", "R", 1, 500, 500);
    ck_assert_int_eq(h.missing, 0);
    ck_assert_int_le(h.twice, 1);
    assert_none_is_to_blame();
}
END_TEST

START_TEST(alarm_in_mid_run)
{
    struct testing_harvest h;
    int written = 0;

    testing_relay_setup("poll_interval = \"50ms\"; batch_max = 50;");
    testing_relay_start(2);
    for (int phase = 0; phase < 3; phase++) {
        for (int i = 0; i < 10; i++, written += 100)
            testing_rows("order.paid", "R", written + 1, written + 100);
        if (phase == 0)
            alarm_on();
        if (phase == 1)
            testing_wait(
                testing_number("SELECT COUNT(*)>0 FROM local_message WHERE state='pending' AND last_error LIKE "
                               "'%%takes no publishes%%'"),
                15000, "the relay has met the alarm");
        if (phase == 1)
            alarm_off();
    }
    testing_wait_relayed(20000);
    testing_relay_stop();
    h = testing_harvest("order.paid", "R", 1, written, 500);
    ck_assert_int_eq(h.missing, 0);
    ck_assert_int_le(h.twice, 2 * 50);
    assert_none_is_to_blame();
}
END_TEST

/* Silent, as behind a cable that was pulled: confirms are lost, new connections go nowhere. */
START_TEST(silence)
{
    struct testing_harvest h;
    pid_t broker;

    testing_relay_setup("poll_interval = \"50ms\"; lease = \"5s\"; batch_max = 50;");
    testing_relay_conf->broker_call_timeout = 500;
    testing_relay_conf->broker_connect_timeout = 500;
    broker = testing_stack_pid("rabbitmq");
    testing_rows("order.paid", "R", 1, 1000);
    testing_relay_start(2);
    testing_wait(testing_rows_in("order.paid", "sent") >= 100, 10000, "it sends");
    ck_assert_int_eq(kill(broker, SIGSTOP), 0);
    testing_rows("order.paid", "R", 1001, 2000);
    testing_wait(testing_broker_losses() >= 1, 10000, "a relay gives its connection up");
    clock_sleep_ms(1500);
    ck_assert_int_eq(kill(broker, SIGCONT), 0);
    testing_wait_relayed(20000);
    testing_relay_stop();
    h = testing_harvest("order.paid", "R", 1, 2000, 500);
    ck_assert_int_eq(h.missing, 0);
    ck_assert_int_le(h.twice, 50 * (int)testing_broker_losses()); /* a batch each time, however often it had to be */
    ck_assert_int_eq(testing_rows_in("order.paid", "sent"), 2000);
}
END_TEST

START_TEST(connections_are_closed_by_force)
{
    struct testing_harvest h;

    testing_relay_setup("poll_interval = \"50ms\"; batch_max = 50;");
    testing_relay_start(2);
    for (int i = 0; i < 4; i++) {
        testing_rows("order.paid", "R", 1 + 1000 * i, 1000 + 1000 * i);
        testing_rabbitmqctl("close_all_connections test");
    }
    testing_wait_relayed(20000);
    testing_relay_stop();
    h = testing_harvest("order.paid", "R", 1, 4000, 500);
    ck_assert_int_eq(h.missing, 0);
    ck_assert_int_le(h.twice, 4 * 2 * 50);
    ck_assert_uint_ge(testing_broker_losses(), 2);
    assert_none_is_to_blame();
}
END_TEST

/* The broker closes the channel on such a body: the others in flight come again, this one does not. */
START_TEST(body_over_the_limit)
{
    testing_relay_setup("poll_interval = \"50ms\";");
    testing_limit_bodies(100000);
    testing_rows("order.paid", "R", 1, 100);
    for (int n = 101; n <= 103; n++)
        testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('order.paid:R%d','order.paid',"
                    "REPEAT('x',%d))",
                    n, 150000 + n);
    testing_rows("order.paid", "R", 104, 200);
    testing_relay_start(1);
    testing_wait_relayed(15000);
    testing_limit_bodies(TESTING_BODY_LIMIT);
    ck_assert_uint_le(testing_broker_losses(), 4);
    testing_relay_stop();
    ck_assert_int_eq(testing_rows_in("order.paid", "sent"), 197);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='quarantined' AND LENGTH(payload)>"
                                    "150000 AND last_error LIKE '%%over the broker%%' AND attempts=1"),
                     3);
    ck_assert_int_eq(testing_harvest_rest("order.paid", "R", 1, 200, 3, 500).missing, 3);
}
END_TEST

static void heal(void)
{
    (void)kill(testing_stack_pid("rabbitmq"), SIGCONT);
    alarm_off();
    testing_limit_bodies(TESTING_BODY_LIMIT);
    testing_relay_clean();
}

static TCase *add_case(Suite *s, const char *name, double timeout)
{
    TCase *c = tcase_create(name);

    tcase_set_timeout(c, timeout);
    tcase_add_unchecked_fixture(c, NULL, heal);
    suite_add_tcase(s, c);
    return c;
}

int main(void)
{
    Suite *s = suite_create("relay broker");
    TCase *c = add_case(s, "restarts", full_run() ? 900 : 120);

    tcase_add_test(c, broker_restarts);
    c = add_case(s, "alarms", 60);
    tcase_add_test(c, alarm_at_start);
    tcase_add_test(c, alarm_in_mid_run);
    c = add_case(s, "connections", 60);
    tcase_add_test(c, silence);
    tcase_add_test(c, connections_are_closed_by_force);
    tcase_add_test(c, body_over_the_limit);
    return testing_main(s);
}
