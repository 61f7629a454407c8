/* Several relays over one table: each row once while all are healthy; at least once, and nothing overwritten, when some
 * are paused or die between two steps. */
#include "testing_relay.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "orderd/clock.h"

START_TEST(twenty_send_each_once)
{
    struct testing_harvest h;

    testing_relay_setup("poll_interval = \"50ms\"; batch_max = 100;");
    testing_rows("order.paid", "R", 1, 10000);
    testing_relay_start(20);
    testing_wait_relayed(60000);
    testing_relay_stop();
    h = testing_harvest("order.paid", "R", 1, 10000, 500);
    ck_assert_int_eq(h.missing, 0);
    ck_assert_int_eq(h.twice, 0);
    ck_assert_int_eq(h.strays, 0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='sent' AND attempts=1"), 10000);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE lease_owner IS NOT NULL"), 0);
}
END_TEST

/* Twenty processes that start together, over rows that come in while they run. */
START_TEST(twenty_processes)
{
    pid_t pids[20];
    struct testing_harvest h;

    testing_relay_setup("poll_interval = \"50ms\"; batch_max = 50;");
    testing_rows("order.paid", "R", 1, 2000);
    for (int i = 0; i < 20; i++)
        pids[i] = testing_relay_fork(NULL);
    for (int i = 0; i < 8; i++)
        testing_rows("order.paid", "R", 2001 + 500 * i, 2500 + 500 * i);
    testing_wait_relayed(60000);
    for (int i = 0; i < 20; i++)
        testing_relay_kill(pids[i]);
    h = testing_harvest("order.paid", "R", 1, 6000, 500);
    ck_assert_int_eq(h.missing, 0);
    ck_assert_int_eq(h.twice, 0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='sent' AND attempts=1"), 6000);
}
END_TEST

#ifdef ORDERD_FAULTS

/* What the table says of every row, but for rows that are still in flight. */
static int64_t checksum(void)
{
    return testing_number(
        "SELECT CAST(SUM(CRC32(CONCAT_WS('|',id,state,attempts,due_at,lease_owner,lease_until,sent_at,"
        "last_error))) AS SIGNED) FROM local_message");
}

/* _i: paused before or after it has sent. The others do its rows; when it wakes up it may not touch one of them, not
 * even one that is pending again and in the hands of somebody else. */
START_TEST(paused_holder_cannot_overwrite)
{
    pid_t paused;
    struct testing_harvest h;
    int64_t before;

    testing_relay_setup("poll_interval = \"50ms\"; lease = \"2s\"; batch_max = 100;");
    testing_rows("order.paid", "R", 1, 300);
    paused = testing_relay_fork(_i == 0 ? "relay.after_claim=stop@2" : "relay.after_send=stop@2");
    testing_relay_await(paused, SIGSTOP);
    ck_assert_int_eq(
        testing_number("SELECT COUNT(*) FROM local_message WHERE state='pending' AND lease_owner IS NOT NULL"), 100);
    testing_relay_start(2);
    testing_wait_relayed(10000);
    testing_relay_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='sent' AND attempts=2"), 100);
    testing_sql("UPDATE local_message SET state='pending',lease_owner='another',lease_until=NOW(6)+INTERVAL 1 HOUR,"
                "due_at=NOW(6)+INTERVAL 1 HOUR WHERE attempts=2 AND id%%2=0");
    before = checksum();
    ck_assert_int_eq(kill(paused, SIGCONT), 0);
    testing_rows("order.cancel", "X", 1, 1); /* when it has sent this, it is through with those */
    testing_wait(testing_rows_in("order.cancel", "sent") == 1, 10000, "it goes on");
    testing_relay_kill(paused);
    testing_sql("DELETE FROM local_message WHERE topic='order.cancel'");
    ck_assert_int_eq(checksum(), before);
    h = testing_harvest("order.paid", "R", 1, 300, 500);
    ck_assert_int_eq(h.missing, 0);
    ck_assert_int_eq(h.twice, _i == 0 ? 0 : 100); /* asleep with its rows unsent, it does not send them late */
}
END_TEST

static const struct {
    const char *fault;
    int again; /* rows that the one after it sends once more */
} deaths[] = {
    {"relay.after_claim=kill@3", 0},
    {"relay.after_send=kill@3", 100},
    {"relay.after_mark=kill@3", 0},
};

START_TEST(killed_between_two_steps)
{
    struct testing_harvest h;

    testing_relay_setup("poll_interval = \"50ms\"; lease = \"2s\"; batch_max = 100;");
    testing_rows("order.paid", "R", 1, 1000);
    testing_relay_await(testing_relay_fork(deaths[_i].fault), SIGKILL);
    ck_assert_int_eq(testing_rows_in("order.paid", "sent"), _i == 2 ? 300 : 200);
    testing_relay_start(1);
    testing_wait_relayed(15000);
    testing_relay_stop();
    h = testing_harvest("order.paid", "R", 1, 1000, 500);
    ck_assert_int_eq(h.missing, 0);
    ck_assert_int_eq(h.twice, deaths[_i].again);
    ck_assert_int_eq(testing_rows_in("order.paid", "sent"), 1000);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE attempts=2"), _i == 2 ? 0 : 100);
}
END_TEST

#endif

/* Killed anywhere, in the middle of what it does. */
START_TEST(killed_at_random)
{
    enum { ROWS = 6000, BATCH = 50, KILLS = 12 };
    struct testing_harvest h;

    testing_relay_setup("poll_interval = \"50ms\"; lease = \"2s\"; batch_max = 50;");
    testing_rows("order.paid", "R", 1, ROWS);
    for (int i = 0; i < KILLS; i++) {
        pid_t one = testing_relay_fork(NULL);
        int64_t sent = testing_rows_in("order.paid", "sent");

        testing_wait(testing_rows_in("order.paid", "sent") > sent, 10000, "it works");
        clock_sleep_ms(i * 5 % 37);
        testing_relay_kill(one);
    }
    testing_relay_start(2);
    testing_wait_relayed(30000);
    testing_relay_stop();
    h = testing_harvest("order.paid", "R", 1, ROWS, 500);
    ck_assert_int_eq(h.missing, 0);
    ck_assert_int_le(h.twice, KILLS * BATCH);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='sent' AND attempts<=3"), ROWS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("relay replicas");
    TCase *c = tcase_create("replicas");

    tcase_set_timeout(c, 90);
    tcase_add_unchecked_fixture(c, NULL, testing_relay_clean);
    tcase_add_test(c, twenty_send_each_once);
    tcase_add_test(c, twenty_processes);
#ifdef ORDERD_FAULTS
    tcase_add_loop_test(c, paused_holder_cannot_overwrite, 0, 2);
    tcase_add_loop_test(c, killed_between_two_steps, 0, sizeof deaths / sizeof *deaths);
#endif
    tcase_add_test(c, killed_at_random);
    suite_add_tcase(s, c);
    return testing_main(s);
}
