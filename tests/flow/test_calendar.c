/* The calendar against real servers: sales begin and end by themselves, and Redis and the gates come to know what a
 * command or a crash left untold. */
#include "testing_sale.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "orderd/activity_apply.h"
#include "orderd/activity_move.h"
#include "orderd/activity_store.h"
#include "orderd/calendar.h"
#include "orderd/exitcode.h"
#include "orderd/log.h"

#define CALENDARS 3

static struct conf *conf;
static struct lane_shared shared;
static struct keeper *calendars[CALENDARS];
static struct error err;

static void setup(void)
{
    sale_setup();
    conf = testing_conf("activity: { calendar_interval = \"50ms\"; }; log: { level = \"warning\"; };");
    conf->mysql_database = testing_ctl_schema;
    log_configure(conf);
    shared.instance = "test";
    atomic_init(&shared.conf, conf);
}

static void start(int count)
{
    shared.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_ge(shared.stop_fd, 0);
    atomic_store(&shared.stop, false);
    for (int i = 0; i < count; i++)
        calendars[i] = keeper_start(&calendar_keeper, &shared);
}

static void stop(void)
{
    uint64_t one = 1;

    if (!calendars[0])
        return;
    atomic_store(&shared.stop, true);
    ck_assert_int_eq(write(shared.stop_fd, &one, sizeof one), sizeof one);
    for (int i = 0; i < CALENDARS; i++) {
        if (calendars[i])
            keeper_join(&calendars[i]);
    }
    close(shared.stop_fd);
}

static void teardown(void)
{
    stop();
    conf_destroy(&conf);
    sale_teardown();
}

static bool told(enum activity_state state)
{
    return sale_row().state == state && strcmp(sale_announced("state"), activity_state_name(state)) == 0;
}

static void wait_told(enum activity_state state)
{
    testing_wait(told(state), 5000, activity_state_name(state));
    sale_agrees(state);
}

/* So many whole turns of the first calendar. */
static void wait_turns(int count)
{
    for (int i = 0; i <= count; i++) {
        int64_t beat = keeper_beat(calendars[0]);

        testing_wait(keeper_beat(calendars[0]) != beat, 5000, "a turn");
    }
}

/* An approved sale that begins and ends so many ms from now. */
static void approve_for(int starts_in, int ends_in)
{
    sale_approve();
    testing_ctl_run_sql("UPDATE activity SET starts_at=UTC_TIMESTAMP(3)+INTERVAL %d MICROSECOND,"
                        "ends_at=UTC_TIMESTAMP(3)+INTERVAL %d MICROSECOND",
                        starts_in * 1000, ends_in * 1000);
}

static int64_t database_now(void)
{
    int64_t now;

    ck_assert_ok(activity_store_now(testing_ctl_db, &now, &err), &err);
    return now;
}

/* ---- by time ---- */

START_TEST(begins_and_ends_by_time)
{
    struct activity before;

    start(1);
    approve_for(3000, 6000);
    CTL("activity", "preheat", sale_text);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
    before = sale_row();
    ck_assert_int_eq(before.state, ACTIVITY_SCHEDULED);
    wait_told(ACTIVITY_RUNNING);
    ck_assert_int_ge(database_now(), before.starts_at);
    sale_deduct("o", 1, 1, 0);
    wait_told(ACTIVITY_ENDED);
    ck_assert_int_ge(database_now(), before.ends_at);
    ck_assert_int_lt(database_now(), before.ends_at + TESTING_PATIENCE * 1500);
    ck_assert_int_eq(sale_row().starts_at, before.starts_at); /* only the state moved */
    ck_assert_int_eq(sale_row().ends_at, before.ends_at);
    ck_assert_int_eq(sale_row().epoch, before.epoch);
}
END_TEST

START_TEST(without_preheat_it_only_ends)
{
    approve_for(-1000, 700);
    start(1);
    testing_wait(sale_row().state != ACTIVITY_SCHEDULED, 5000, "the end");
    ck_assert_int_eq(sale_row().state, ACTIVITY_ENDED);
    ck_assert_int_ge(database_now(), sale_row().ends_at);
    ck_assert_int_eq(sale_audit(0).code, STOCK_AUDIT_NO_SHARD);
    ck_assert_str_eq(sale_announced("state"), "");
}
END_TEST

/* Between its look and its move an operator has moved the end: the database says no. */
START_TEST(a_stale_look_moves_nothing)
{
    struct activity seen;
    bool moved;

    approve_for(-2000, -1000);
    testing_ctl_run_sql("UPDATE activity SET preheated_at=UTC_TIMESTAMP(6)");
    seen = sale_row();
    ck_assert_int_eq(activity_due_state(&seen, database_now()), ACTIVITY_ENDED);
    testing_ctl_run_sql("UPDATE activity SET ends_at=UTC_TIMESTAMP(3)+INTERVAL 1 HOUR");
    ck_assert_ok(activity_move_due(testing_ctl_db, &seen, ACTIVITY_ENDED, &moved, &err), &err);
    ck_assert(!moved);
    ck_assert_int_eq(sale_row().state, ACTIVITY_SCHEDULED);
    testing_ctl_run_sql("UPDATE activity SET starts_at=UTC_TIMESTAMP(3)+INTERVAL 10 MINUTE");
    ck_assert_ok(activity_move_due(testing_ctl_db, &seen, ACTIVITY_RUNNING, &moved, &err), &err);
    ck_assert(!moved);
    testing_ctl_run_sql("UPDATE activity SET starts_at=UTC_TIMESTAMP(3)-INTERVAL 1 SECOND,preheated_at=NULL");
    ck_assert_ok(activity_move_due(testing_ctl_db, &seen, ACTIVITY_RUNNING, &moved, &err), &err);
    ck_assert(!moved);
    testing_ctl_run_sql("UPDATE activity SET preheated_at=UTC_TIMESTAMP(6)");
    ck_assert_ok(activity_move_due(testing_ctl_db, &seen, ACTIVITY_RUNNING, &moved, &err), &err);
    ck_assert(moved);
}
END_TEST

START_TEST(a_settled_sale_is_left_alone)
{
    approve_for(-2000, -1000);
    testing_ctl_run_sql("UPDATE activity SET state='settled',preheated_at=UTC_TIMESTAMP(6)");
    start(1);
    wait_turns(5);
    ck_assert_int_eq(sale_row().state, ACTIVITY_SETTLED);
    ck_assert_uint_eq(log_count(LOG_EVENT_ACTIVITY_SHARDS), 0); /* they are meant to be gone */
    ck_assert_uint_eq(log_count(LOG_EVENT_CALENDAR_FAILED), 0);
}
END_TEST

/* ---- what a crash left ---- */

static const char *const points[] = {"activity.after_database=kill@1", "activity.after_shard=kill@2",
                                     "activity.after_shard=kill@4"};

/* Nobody repeats the command. */
START_TEST(finishes_what_a_command_began)
{
    start(1);
    sale_preheat_at("+1h", "+2h");
    wait_told(ACTIVITY_SCHEDULED);
    SALE_KILLED(points[_i], "start", sale_text);
    wait_told(ACTIVITY_RUNNING);
    sale_deduct("o", 1, 1, 3);
    SALE_KILLED(points[_i], "end", sale_text);
    wait_told(ACTIVITY_ENDED);
    ck_assert_str_eq(sale_try("late", 2, 1, 3).note, "ended");
    SALE_KILLED(points[_i], "extend", sale_text, "--ends", "+3h");
    wait_told(ACTIVITY_RUNNING);
    sale_deduct("later", 2, 1, 3);
}
END_TEST

START_TEST(announces_what_preheat_did_not)
{
    start(1);
    sale_approve();
    SALE_KILLED("preheat.after_mark=kill@1", "preheat", sale_text);
    wait_told(ACTIVITY_RUNNING); /* its time had come */
}
END_TEST

/* Half a preheat is nobody's to announce or to complete. */
START_TEST(leaves_half_a_preheat_alone)
{
    start(1);
    sale_approve();
    SALE_KILLED("preheat.after_shard=kill@2", "preheat", sale_text);
    wait_turns(5);
    ck_assert_int_eq(sale_row().state, ACTIVITY_SCHEDULED);
    ck_assert_int_eq(sale_audit(2).code, STOCK_AUDIT_NO_SHARD);
    ck_assert_str_eq(sale_announced("state"), "");
    CTL("activity", "preheat", sale_text);
    wait_told(ACTIVITY_RUNNING);
}
END_TEST

START_TEST(outlasts_redis)
{
    sale_preheat();
    start(1);
    wait_told(ACTIVITY_RUNNING);
    testing_stack("kill", "redis", "");
    CTL("activity", "end", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    testing_wait(log_count(LOG_EVENT_CALENDAR_FAILED) > 0, 5000, "it notices");
    testing_stack("up", "redis", "");
    kv_close(&sale_kv);
    sale_kv = testing_redis_shared();
    wait_told(ACTIVITY_ENDED);
}
END_TEST

START_TEST(outlasts_mysql)
{
    sale_preheat_at("+1h", "+2h");
    start(1);
    testing_stack("restart", "mariadb", "--kill");
    db_close(&testing_ctl_db);
    testing_ctl_db = db_open(conf, &err);
    ck_assert_ok(testing_ctl_db != NULL, &err);
    SALE_KILLED("activity.after_database=kill@1", "start", sale_text);
    wait_told(ACTIVITY_RUNNING);
}
END_TEST

/* ---- what Redis lost ---- */

START_TEST(announces_again_what_redis_forgot)
{
    char key[STOCK_STATE_KEY_MAX];

    start(1);
    sale_preheat();
    wait_told(ACTIVITY_RUNNING);
    stock_state_key(key, sale_id);
    testing_redis_run(sale_kv, "DEL", key, NULL);
    wait_told(ACTIVITY_RUNNING);
    testing_redis_run(sale_kv, "HSET", key, "epoch", "7", NULL);
    testing_wait(strcmp(sale_announced("epoch"), "1") == 0, 5000, "the epoch");
}
END_TEST

/* A shard that was thrown back, though what is announced is right: found when the calendar comes up or Redis does. */
START_TEST(looks_at_every_shard_at_first)
{
    struct stock_keys keys;

    start(1);
    sale_preheat();
    wait_told(ACTIVITY_RUNNING);
    stop();
    stock_keys_of(&keys, sale_id, 2);
    testing_redis_run(sale_kv, "HSET", keys.text[STOCK_KEY_META], "ends_at", "1700000000000", "starts_at",
                      "1600000000000", NULL);
    ck_assert_str_eq(sale_try("o", 1, 1, 2).note, "ended");
    start(1);
    testing_wait(sale_audit(2).ends_at == sale_row().ends_at, 5000, "the shard");
    sale_agrees(ACTIVITY_RUNNING);
    sale_deduct("o", 1, 1, 2);
}
END_TEST

static const int lost[] = {0, 2};

/* It says so; the others go on, and their end is seen to. */
START_TEST(a_lost_shard_is_an_alarm)
{
    uint64_t before;

    start(1);
    sale_preheat();
    wait_told(ACTIVITY_RUNNING);
    stop();
    before = log_count(LOG_EVENT_ACTIVITY_SHARDS);
    sale_forget(lost[_i]);
    start(1);
    testing_wait(log_count(LOG_EVENT_ACTIVITY_SHARDS) > before, 5000, "the alarm");
    SALE_KILLED("activity.after_database=kill@1", "end", sale_text);
    testing_wait(sale_audit(3).ends_at == sale_row().ends_at, 5000, "the end in the others");
    ck_assert_int_eq(sale_audit(lost[_i]).code, STOCK_AUDIT_NO_SHARD);
    ck_assert_str_eq(sale_try("late", 1, 1, 3).note, "ended");
}
END_TEST

/* ---- several ---- */

static void heard(struct testing_listener *listener, const char *state)
{
    const char *text = testing_listener_next(listener, 20000);
    char want[64];

    snprintf(want, sizeof want, "\"state\":\"%s\"", state);
    ck_assert_msg(text && strstr(text, want), "%s instead of %s", text ? text : "nothing", state);
}

START_TEST(many_calendars_announce_once)
{
    struct testing_listener *listener;
    char key[STOCK_STATE_KEY_MAX];

    stock_state_key(key, sale_id);
    listener = testing_listener_open(key);
    start(CALENDARS);
    approve_for(2000, 4000);
    CTL("activity", "preheat", sale_text);
    heard(listener, "scheduled");
    heard(listener, "running");
    heard(listener, "ended");
    CTL("activity", "extend", sale_text, "--ends", "+1h");
    heard(listener, "running");
    ck_assert_ptr_null(testing_listener_next(listener, 500));
    sale_agrees(ACTIVITY_RUNNING);
    testing_listener_close(&listener);
}
END_TEST

/* A command that changes both has the lock: the calendar keeps its hands off. */
START_TEST(waits_for_a_command)
{
    bool locked;

    sale_preheat_at("+1h", "+2h");
    ck_assert_ok(activity_lock(testing_ctl_db, sale_id, 5, &locked, &err), &err); /* preheat's connection ends */
    ck_assert(locked);
    testing_ctl_run_sql("UPDATE activity SET state='running',starts_at=UTC_TIMESTAMP(3)");
    start(1);
    wait_turns(5);
    ck_assert_str_eq(sale_announced("state"), "scheduled");
    activity_unlock(testing_ctl_db, sale_id);
    wait_told(ACTIVITY_RUNNING);
}
END_TEST

/* Nothing stays down for the next test. */
static void mend_stack(void)
{
    testing_stack("up", "redis", "");
    testing_stack("up", "mariadb", "");
}

static void add_tests(TCase *t)
{
    tcase_add_test(t, begins_and_ends_by_time);
    tcase_add_test(t, without_preheat_it_only_ends);
    tcase_add_test(t, a_stale_look_moves_nothing);
    tcase_add_test(t, a_settled_sale_is_left_alone);
    tcase_add_loop_test(t, finishes_what_a_command_began, 0, sizeof points / sizeof *points);
    tcase_add_test(t, announces_what_preheat_did_not);
    tcase_add_test(t, leaves_half_a_preheat_alone);
    tcase_add_test(t, outlasts_redis);
    tcase_add_test(t, outlasts_mysql);
    tcase_add_test(t, announces_again_what_redis_forgot);
    tcase_add_test(t, looks_at_every_shard_at_first);
    tcase_add_loop_test(t, a_lost_shard_is_an_alarm, 0, sizeof lost / sizeof *lost);
    tcase_add_test(t, many_calendars_announce_once);
    tcase_add_test(t, waits_for_a_command);
}

int main(void)
{
    Suite *s = suite_create("calendar");
    TCase *t = tcase_create("calendar");

    tcase_add_unchecked_fixture(t, NULL, mend_stack);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    add_tests(t);
    suite_add_tcase(s, t);
    return testing_main(s);
}
