/* The host's clock is ten minutes wrong, either way: due times, leases, back-off and cleaning go by the database's. */
#include "testing_relay.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "orderd/clock.h"

static time_t wrong_by_s;

/* Stands in for the library's in this program: all of orderd reads the time through it (src/base/clock.c). */
int clock_gettime(clockid_t id, struct timespec *t)
{
    int answer = (int)syscall(SYS_clock_gettime, id, t);

    if (answer == 0 && id == CLOCK_REALTIME)
        t->tv_sec += wrong_by_s;
    return answer;
}

START_TEST(host_clock_is_wrong)
{
    int64_t begun;

    wrong_by_s = _i ? 600 : -600;
    testing_relay_setup("poll_interval = \"50ms\"; keep_sent = \"1h\"; clean_interval = \"100ms\"; lease = \"2s\"; "
                        "retry_min = \"1s\"; retry_max = \"1s\";");
    ck_assert_int_gt(
        testing_number("SELECT CAST(ABS(%lld-UNIX_TIMESTAMP(NOW(3))*1000) AS SIGNED)", (long long)clock_wall_ms()),
        590000);
    testing_rows("order.paid", "R", 1, 100);
    testing_sql("INSERT INTO local_message(message_key,topic,payload,due_at) VALUES"
                "('order.paid:L1','order.paid','x',NOW(6)+INTERVAL 9 MINUTE)");
    testing_sql("INSERT INTO local_message(message_key,topic,payload,due_at,lease_owner,lease_until) VALUES"
                "('order.paid:L2','order.paid','x',NOW(6)+INTERVAL 9 MINUTE,'another',NOW(6)+INTERVAL 9 MINUTE)");
    testing_sql("INSERT INTO local_message(message_key,topic,payload,state,due_at,sent_at) VALUES"
                "('order.paid:L3','order.paid','x','sent',NOW(6)-INTERVAL 65 MINUTE,NOW(6)-INTERVAL 65 MINUTE),"
                "('order.paid:L4','order.paid','x','sent',NOW(6)-INTERVAL 55 MINUTE,NOW(6)-INTERVAL 55 MINUTE)");
    begun = testing_now_ms();
    testing_relay_start(1);
    testing_wait(
        testing_number("SELECT COUNT(*) FROM local_message WHERE state='sent' AND sent_at BETWEEN created_at AND "
                       "NOW(6)") == 100,
        5000, "what is due is sent at once");
    testing_within(begun, 3000);
    testing_wait(testing_number("SELECT COUNT(*) FROM local_message WHERE message_key='order.paid:L3'") == 0, 5000,
                 "what is too old is deleted");
    clock_sleep_ms(500);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='sent'"), 101);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='pending' AND attempts=0"), 2);
    ck_assert_int_eq(relay_oldest_ms(testing_relay(0)), 0);
    testing_sql("UPDATE local_message SET due_at=NOW(6)"); /* what was leased is due */
    testing_wait_relayed(5000);
    testing_relay_stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("relay clock");
    TCase *c = tcase_create("clock");

    tcase_set_timeout(c, 30);
    tcase_add_unchecked_fixture(c, NULL, testing_relay_clean);
    tcase_add_loop_test(c, host_clock_is_wrong, 0, 2);
    suite_add_tcase(s, c);
    return testing_main(s);
}
