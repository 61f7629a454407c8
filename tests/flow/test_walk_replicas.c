/* Several walkers, and walkers that die: one walks an activity at a time, another one takes over, and what a death cut
 * short is done once. */
#include "testing_relay.h"
#include "testing_walk.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "orderd/clock.h"
#include "orderd/metric.h"

#define EVERYTHING (TESTING_WALK | TESTING_RELAY | TESTING_LANES)

static struct testing_letters dead;

static pid_t last_walker(void)
{
    struct activity_walk w = testing_walked();
    const char *pid = strrchr(w.walker, ':');

    return pid ? atoi(pid + 1) : 0;
}

/* ---- election ---- */

/* Two processes look every tenth of a second; together they walk as often as one may. When the one that walked last is
 * killed, the other goes on. */
START_TEST(the_other_takes_over)
{
    pid_t pids[2], last;
    int64_t walks, began;

    testing_sale_open(10, 1, 1);
    testing_walk_conf->walk_interval = 200;
    for (int i = 0; i < 2; i++)
        pids[i] = testing_parts_fork(TESTING_WALK, NULL);
    testing_wait(testing_walked().walks > 0, 10000, "one walks");
    walks = testing_walked().walks;
    began = testing_now_ms();
    testing_wait(testing_walked().walks >= walks + 5, 10000, "one walks on");
    ck_assert_int_ge(testing_now_ms() - began, 4 * 200);
    last = last_walker();
    ck_assert(last == pids[0] || last == pids[1]);
    testing_parts_kill(last);
    testing_wait(last_walker() == (last == pids[0] ? pids[1] : pids[0]), 5000, "the other takes over");
    testing_parts_kill(last == pids[0] ? pids[1] : pids[0]);
    testing_sale_close();
}
END_TEST

#ifdef ORDERD_FAULTS

static void await_stop(pid_t pid)
{
    int status = 0;

    testing_wait(waitpid(pid, &status, WNOHANG | WUNTRACED) == pid, 10000, "the walker is paused");
    ck_assert(WIFSTOPPED(status));
}

/* While the elected one lives, however slow, nobody else walks; the others are not held up by it. */
START_TEST(a_slow_walker_keeps_its_activity)
{
    pid_t slow;

    testing_sale_open(10, 1, 1);
    testing_sql("UPDATE activity SET preheated_at=NOW(6) WHERE id=%d", TESTING_ACTIVITY);
    testing_walk_conf->walk_interval = 100;
    slow = testing_parts_fork(TESTING_WALK, "walk.elected=stop@1"); /* the first by number: not the sale */
    await_stop(slow);
    testing_parts_start(TESTING_WALK, 1);
    testing_wait(testing_walked().walks >= 3, 10000, "other activities are walked");
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM activity_walk WHERE activity_id=%d", TESTING_ACTIVITY), 0);
    ck_assert_int_eq(kill(slow, SIGKILL), 0);
    testing_wait(testing_number("SELECT COUNT(*) FROM activity_walk WHERE activity_id=%d", TESTING_ACTIVITY) == 1,
                 10000, "the lock died with its holder");
    testing_parts_stop();
    ck_assert_int_eq(waitpid(slow, NULL, 0), slow);
    testing_sale_close();
}
END_TEST

/* One that hangs, or whose machine vanished, is told by its silence; and if it comes back it does no harm. */
START_TEST(a_silent_walker_loses_its_activity)
{
    int64_t walks;
    pid_t silent;

    testing_sale_open(10, 1, 1);
    testing_sql("UPDATE activity SET preheated_at=NOW(6) WHERE id=%d", TESTING_ACTIVITY);
    testing_walk_conf->walk_interval = 100;
    testing_walk_conf->mysql_read_timeout = 1000;
    testing_walk_conf->redis_command_timeout = 500;
    silent = testing_parts_fork(TESTING_WALK, "walk.elected=stop@1");
    await_stop(silent);
    testing_parts_start(TESTING_WALK, 1);
    testing_wait(testing_number("SELECT COUNT(*) FROM activity_walk WHERE activity_id=%d", TESTING_ACTIVITY) == 1,
                 10000, "another one walks its activity");
    testing_parts_stop();
    walks = testing_walked().walks;
    ck_assert_int_eq(kill(silent, SIGCONT), 0);
    testing_wait(testing_walked().walks > walks + 1, 10000, "it walks again");
    testing_parts_kill(silent);
    testing_sale_close();
}
END_TEST

/* ---- what a death cut short ---- */

/* Every kind of work at once: 30 orders without a message (1..30), 10 closed ones whose return Redis never saw
 * (31..40), 1 that was sent again three times in vain (41). */
static void make_work(void)
{
    testing_sale_open(200, 2, 1);
    for (int n = 31; n <= 40; n++) {
        struct order o = testing_buy(n, 1);

        testing_send(&o);
    }
    (void)testing_buy_at(41, 1, 1);
    testing_wait_old();
    testing_parts_start(TESTING_LANES | TESTING_RELAY, 1);
    testing_wait_orders(10, 5000); /* over a backlog nothing is sent again */
    testing_wait_effects();
    testing_parts_stop();
    testing_recover_in_vain();
    testing_walk_conf->walk_interval = 100;
    testing_sql("UPDATE orders SET status='closed',reason='unpaid',units_returned=1,closed_at=NOW(6)-INTERVAL 1 HOUR;"
                "UPDATE activity_stock SET available=available+10 WHERE activity_id=%" PRId64,
                testing_sale.id);
    for (int n = 1; n <= 30; n++)
        (void)testing_buy(n, 1);
    testing_wait_old();
}

static void assert_work_done(void)
{
    testing_orders_are("pending", 1, 30);
    testing_orders_are("closed", 31, 40);
    testing_orders_are("rejected", 41, 41);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE reason='unrecoverable'"), 1);
    for (int n = 31; n <= 41; n++) {
        testing_sale_hash(n, STOCK_KEY_GONE, "returned");
        testing_sale_mark(n, NULL);
    }
    ck_assert_int_eq(testing_sale_sum().left, 170);
    testing_sale_conserved();
    testing_letters_dead(&dead, 1, 300);
    for (size_t i = 0; i < dead.count; i++) { /* after a crash it may be sent twice, under the same id */
        ck_assert_str_eq(testing_header(&dead.list[i], "orderd-reason"), "unrecoverable");
        ck_assert(slice_is(dead.list[i].message_id, testing_no(41)));
    }
    testing_letters_free(&dead);
}

static const char *const deaths[] = {
    "walk.before_recover=kill@1", "walk.after_recover=kill@1",   "walk.before_mend=kill@1",
    "walk.after_mend=kill@1",     "walk.after_giving_up=kill@1", "walk.before_record=kill@1",
};

START_TEST(killed_between_two_steps)
{
    make_work();
    testing_parts_killed(testing_parts_fork(EVERYTHING, deaths[_i]));
    testing_parts_start(EVERYTHING, 1);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE status IN('pending','rejected')") == 31, 15000,
                 "all that was lost is found");
    testing_wait_effects();
    testing_walk_again();
    testing_wait(testing_walked().mended == 0 && testing_walked().recovered == 0 && testing_sale_sum().held == 30,
                 10000, "nothing is left to do");
    testing_parts_stop();
    assert_work_done();
    testing_sale_close();
}
END_TEST

/* Paused with its findings in hand for so long that the database gave its lock up; another one has done all of it when
 * it goes on. */
START_TEST(a_walker_without_its_lock)
{
    int64_t holder;
    pid_t paused;

    make_work();
    paused = testing_parts_fork(TESTING_WALK, _i == 0 ? "walk.before_recover=stop@1" : "walk.before_mend=stop@1");
    await_stop(paused);
    holder = testing_number("SELECT IS_USED_LOCK('orderd.walk.%s.%" PRId64 "')", testing_schema(), testing_sale.id);
    testing_admin("KILL CONNECTION %" PRId64, holder);
    testing_parts_start(EVERYTHING, 1);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders WHERE status IN('pending','rejected')") == 31, 15000,
                 "another one walks");
    testing_wait_effects();
    ck_assert_int_eq(kill(paused, SIGCONT), 0);
    testing_wait(last_walker() == paused, 10000, "it walks again, after an error");
    testing_parts_stop();
    testing_parts_kill(paused);
    assert_work_done();
    testing_sale_close();
}
END_TEST

#endif

/* ---- servers that go away, and the end ---- */

/* A server restarts under a walker that walks all the time; what is lost afterwards is found as before. */
START_TEST(servers_restart)
{
    static const char *const servers[] = {"redis", "mariadb", "rabbitmq"};

    testing_sale_open(20, 1, 1);
    testing_walk_conf->walk_interval = 100;
    testing_parts_start(EVERYTHING, 1);
    testing_wait(testing_walked().walks > 0, 10000, "it walks");
    testing_stack("restart", servers[_i], "");
    kv_close(&testing_sale.kv);
    testing_sale.kv = testing_redis_shared();
    for (int n = 1; n <= 5; n++)
        (void)testing_buy(n, 1);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders") == 5, 30000, "they become orders");
    testing_wait_effects();
    testing_parts_stop();
    testing_orders_are("pending", 1, 5);
    testing_sale_conserved();
    testing_sale_close();
}
END_TEST

/* In the middle of a walk that would take minutes; testing_parts_stop says how long it may take to end. */
START_TEST(stops_at_once)
{
    testing_sale_open(400, 1, 1);
    testing_walk_conf->walk_page = 1;
    testing_walk_conf->walk_pause = 200;
    for (int n = 1; n <= 200; n++)
        (void)testing_buy(n, 1);
    testing_wait_old();
    testing_parts_start(EVERYTHING, 1);
    testing_wait(testing_number("SELECT COUNT(*) FROM orders") >= 2, 20000, "it is at it");
    testing_parts_stop();
    ck_assert_int_eq(testing_walked().walks, 0);
    testing_sale_close();
}
END_TEST

/* Switched off and on again while it runs. */
START_TEST(switched_off)
{
    struct conf on;

    testing_sale_open(10, 1, 1);
    testing_walk_conf->walk_enabled = false;
    testing_walk_conf->walk_interval = 100;
    (void)testing_buy(1, 1);
    testing_wait_old();
    testing_sql("UPDATE activity SET preheated_at=NULL WHERE id=%d", TESTING_ACTIVITY);
    testing_parts_start(EVERYTHING, 1);
    testing_send(&(struct order){0}); /* refused by the lanes: they are at work, and a tenth of a second is over */
    testing_letters_dead(&dead, 1, 300);
    ck_assert_int_eq(testing_walked().walks, 0);
    on = *testing_walk_conf;
    on.walk_enabled = true;
    testing_parts_reload(&on);
    testing_wait_orders(1, 10000);
    testing_parts_stop();
    testing_letters_free(&dead);
    testing_sale_close();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("walk replicas");
    TCase *c = tcase_create("replicas");

    tcase_set_timeout(c, 60);
    tcase_add_unchecked_fixture(c, NULL, testing_walk_clean);
    tcase_add_test(c, the_other_takes_over);
#ifdef ORDERD_FAULTS
    tcase_add_test(c, a_slow_walker_keeps_its_activity);
    tcase_add_test(c, a_silent_walker_loses_its_activity);
    tcase_add_loop_test(c, killed_between_two_steps, 0, sizeof deaths / sizeof *deaths);
    tcase_add_loop_test(c, a_walker_without_its_lock, 0, 2);
#endif
    tcase_add_loop_test(c, servers_restart, 0, 3);
    tcase_add_test(c, stops_at_once);
    tcase_add_test(c, switched_off);
    suite_add_tcase(s, c);
    return testing_main(s);
}
