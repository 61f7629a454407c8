/* orderctl activity start, end and extend cut short, with a server away, several at once; and what gates hear of them.
 */
#include "testing_sale.h"

#include <stdio.h>
#include <string.h>

#include "orderd/activity_move.h"
#include "orderd/clock.h"
#include "orderd/exitcode.h"

static struct error err;

static void result_is(const char *result, const char *redis)
{
    json_t *json = sale_parsed();

    ck_assert_str_eq(json_string_value(json_object_get(json, "result")), result);
    if (redis)
        ck_assert_str_eq(json_string_value(json_object_get(json, "redis")), redis);
    else
        ck_assert(json_is_null(json_object_get(json, "redis")));
    json_decref(json);
}

/* ---- crashes ---- */

static const char *const points[] = {"activity.after_database=kill@1", "activity.after_shard=kill@1",
                                     "activity.after_shard=kill@2", "activity.after_shard=kill@3",
                                     "activity.after_shard=kill@4"};

#define POINTS ((int)(sizeof points / sizeof *points))

/* Killed at each point: MySQL has moved, Redis in part or not at all; repeating the command does the rest. */
START_TEST(killed)
{
    char later[32];

    sale_preheat_at("+1h", "+2h");
    clock_format_iso(later, sizeof later, sale_row().ends_at + 7200000);

    SALE_KILLED(points[_i], "start", sale_text);
    ck_assert_int_eq(sale_row().state, ACTIVITY_RUNNING);
    ck_assert_str_eq(sale_announced("state"), "scheduled");
    ck_assert_str_eq(sale_try("o3", 3, 1, 3).note, _i < POINTS - 1 ? "not_started" : "");
    CTL("activity", "start", sale_text);
    sale_said(EXIT_OK, "orderctl: activity %s is running already\n", sale_text);
    sale_agrees(ACTIVITY_RUNNING);

    SALE_KILLED(points[_i], "extend", sale_text, "--ends", later);
    ck_assert_str_ne(sale_announced("ends_at"), "");
    CTL("activity", "extend", sale_text, "--ends", later);
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    sale_agrees(ACTIVITY_RUNNING);

    SALE_KILLED(points[_i], "end", sale_text);
    ck_assert_int_eq(sale_row().state, ACTIVITY_ENDED);
    ck_assert_str_eq(sale_announced("state"), "running");
    CTL("activity", "end", sale_text);
    sale_said(EXIT_OK, "orderctl: activity %s has ended already\n", sale_text);
    sale_agrees(ACTIVITY_ENDED);

    SALE_KILLED(points[_i], "extend", sale_text, "--ends", "+3h");
    ck_assert_int_eq(sale_row().state, ACTIVITY_RUNNING);
    CTL("activity", "extend", sale_text, "--ends", "+4h");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    sale_agrees(ACTIVITY_RUNNING);
}
END_TEST

START_TEST(preheat_killed_before_it_was_announced)
{
    sale_approve();
    SALE_KILLED("preheat.after_mark=kill@1", "preheat", sale_text);
    ck_assert_str_eq(sale_announced("state"), "");
    CTL("activity", "preheat", sale_text);
    sale_agrees(ACTIVITY_SCHEDULED);
}
END_TEST

START_TEST(redis_is_away)
{
    sale_preheat_at("+1h", "+2h");
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_port = "1"});
    CTL("activity", "start", sale_text, "--json");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    result_is("started", "not_reached");
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: warning: MySQL has it, but Redis could not be told: "));
    ck_assert_int_eq(sale_row().state, ACTIVITY_RUNNING);
    ck_assert_str_eq(sale_announced("state"), "scheduled");
    testing_ctl_configure(NULL);
    CTL("activity", "start", sale_text, "--json");
    result_is("running_before", "agrees");
    sale_agrees(ACTIVITY_RUNNING);
    CTL("activity", "end", sale_text);
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_port = "1"});
    CTL("activity", "extend", sale_text, "--ends", "+3h"); /* it cannot know whether there is anything to sell */
    ck_assert_int_eq(testing_ctl.code, EXIT_UNAVAILABLE);
    ck_assert_int_eq(sale_row().state, ACTIVITY_ENDED);
}
END_TEST

START_TEST(a_shard_is_lost)
{
    sale_preheat_at("+1h", "+2h");
    sale_forget(1);
    CTL("activity", "start", sale_text, "--json");
    sale_said(EXIT_PARTIAL,
              "orderctl: warning: shard 1 and perhaps others could not be told; see `orderctl activity show %s`\n"
              "orderctl: activity %s was started\n",
              sale_text, sale_text);
    result_is("started", "incomplete");
    sale_deduct("o", 1, 1, 3); /* the others sell */
    ck_assert_str_eq(sale_announced("state"), "running");
}
END_TEST

/* ---- several at once ---- */

START_TEST(one_at_a_time)
{
    int64_t since;
    bool locked;

    sale_preheat_at("+1h", "+2h");
    ck_assert_ok(activity_lock(testing_ctl_db, sale_id, 5, &locked, &err), &err); /* preheat's connection ends */
    ck_assert(locked);
    since = testing_now_ms();
    CTL("activity", "start", sale_text);
    sale_said(
        EXIT_TEMPORARY,
        "orderctl: activity start: another command changes activity %s just now; wait for it and run this again\n",
        sale_text);
    ck_assert_int_ge(testing_now_ms() - since, 4000);
    CTL("activity", "start", sale_text, "--dry-run", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    sale_agrees(ACTIVITY_SCHEDULED);
    activity_unlock(testing_ctl_db, sale_id);
    CTL("activity", "start", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
}
END_TEST

START_TEST(all_at_once)
{
    static struct program runs[6];
    unsigned done = 0;

    sale_preheat_at("+1h", "+2h");
    for (int i = 0; i < 6; i++)
        program_start(&runs[i], (const char *const[]){"orderctl", "-c", testing_ctl_file, "activity", "start",
                                                      sale_text, "--json", NULL});
    for (int i = 0; i < 6; i++) {
        program_wait(&runs[i]);
        ck_assert_msg(runs[i].code == EXIT_OK, "%s", runs[i].err);
        done += strstr(runs[i].out, "\"result\":\"started\"") != NULL;
    }
    ck_assert_uint_eq(done, 1);
    sale_agrees(ACTIVITY_RUNNING);
}
END_TEST

/* ---- gates ---- */

static void heard(struct testing_listener *listener, const char *state)
{
    const char *text = testing_listener_next(listener, 20000);
    json_t *json;

    ck_assert_msg(text != NULL, "nothing about %s", state);
    json = json_loads(text, 0, NULL);
    ck_assert_msg(json != NULL, "%s", text);
    ck_assert_str_eq(json_string_value(json_object_get(json, "state")), state);
    ck_assert_int_eq(sale_member(json, "activity"), sale_id);
    json_decref(json);
}

START_TEST(gates_hear_each_change_once)
{
    struct testing_listener *listener;
    char key[STOCK_STATE_KEY_MAX];

    stock_state_key(key, sale_id);
    listener = testing_listener_open(key);
    sale_preheat_at("+1h", "+2h");
    heard(listener, "scheduled");
    CTL("activity", "start", sale_text);
    heard(listener, "running");
    CTL("activity", "start", sale_text);
    CTL("activity", "end", sale_text);
    heard(listener, "ended");
    CTL("activity", "extend", sale_text, "--ends", "+3h");
    heard(listener, "running");
    ck_assert_ptr_null(testing_listener_next(listener, 100));
    testing_listener_close(&listener);
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_loop_test(t, killed, 0, POINTS);
    tcase_add_test(t, preheat_killed_before_it_was_announced);
    tcase_add_test(t, redis_is_away);
    tcase_add_test(t, a_shard_is_lost);
    tcase_add_test(t, one_at_a_time);
    tcase_add_test(t, all_at_once);
    tcase_add_test(t, gates_hear_each_change_once);
}

int main(void)
{
    Suite *s = suite_create("ctl_life_crash");
    TCase *t = tcase_create("crash");

    tcase_add_checked_fixture(t, sale_setup, sale_teardown);
    tcase_set_timeout(t, 60);
    add_tests(t);
    suite_add_tcase(s, t);
    return testing_main(s);
}
