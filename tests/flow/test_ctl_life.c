/* orderctl activity start, end and extend against real servers: MySQL, every shard and the gates agree afterwards,
 * whatever happened in between. */
#include "testing_sale.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/activity_store.h"
#include "orderd/clock.h"
#include "orderd/exitcode.h"

static struct error err;

static int64_t database_now(void)
{
    int64_t now;

    ck_assert_ok(activity_store_now(testing_ctl_db, &now, &err), &err);
    return now;
}

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

/* Nothing of the sale moved: not the row, not a shard. */
static void untouched(const struct activity *before)
{
    struct activity now = sale_row();

    ck_assert_int_eq(now.state, before->state);
    ck_assert_int_eq(now.starts_at, before->starts_at);
    ck_assert_int_eq(now.ends_at, before->ends_at);
    for (int i = 0; i < SALE_SHARDS; i++) {
        ck_assert_int_eq(sale_audit(i).starts_at, before->starts_at);
        ck_assert_int_eq(sale_audit(i).ends_at, before->ends_at);
    }
}

/* ---- start ---- */

START_TEST(started)
{
    struct activity before;
    int64_t from, to;

    sale_preheat_at("+1h", "+2h");
    sale_agrees(ACTIVITY_SCHEDULED);
    before = sale_row();
    ck_assert_str_eq(sale_try("early", 1, 1, 0).note, "not_started");
    CTL("activity", "start", sale_text, "--dry-run", "--json");
    sale_said(EXIT_OK, "orderctl: it could be started; nothing was changed\n");
    result_is("would_be_started", NULL);
    untouched(&before);

    from = database_now();
    CTL("activity", "start", sale_text, "--json");
    to = database_now();
    sale_said(EXIT_OK, "orderctl: activity %s was started\n", sale_text);
    result_is("started", "agrees");
    sale_agrees(ACTIVITY_RUNNING);
    ck_assert_int_ge(sale_row().starts_at, from);
    ck_assert_int_le(sale_row().starts_at, to);
    ck_assert_int_eq(sale_row().ends_at, before.ends_at);
    for (int i = 0; i < SALE_SHARDS; i++) {
        char order_no[16];

        snprintf(order_no, sizeof order_no, "o%d", i);
        sale_deduct(order_no, i + 1, 1, i);
    }

    before = sale_row();
    CTL("activity", "start", sale_text, "--json");
    sale_said(EXIT_OK, "orderctl: activity %s is running already\n", sale_text);
    result_is("running_before", "agrees");
    untouched(&before);
    CTL("activity", "preheat", sale_text);
    sale_said(EXIT_OK, "orderctl: activity %s is running and was preheated before; nothing was changed\n", sale_text);
}
END_TEST

/* Its time has come and nobody has moved it yet: the start stays what was announced. */
START_TEST(started_late)
{
    int64_t starts_at;

    sale_preheat();
    starts_at = sale_row().starts_at;
    CTL("activity", "start", sale_text, "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    sale_agrees(ACTIVITY_RUNNING);
    ck_assert_int_eq(sale_row().starts_at, starts_at);
}
END_TEST

START_TEST(not_started)
{
    CTL("activity", "start", sale_text);
    sale_said(EXIT_BAD_DATA, "orderctl: activity start: there is no activity %s; see `orderctl activity list`\n",
              sale_text);
    sale_create();
    CTL("activity", "start", sale_text);
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity start: activity %s is in review; run `orderctl activity approve %s` first\n",
              sale_text, sale_text);
    CTL("activity", "approve", sale_text);
    CTL("activity", "start", sale_text, "--dry-run");
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity start: activity %s is not preheated; run `orderctl activity preheat %s` first\n",
              sale_text, sale_text);
    CTL("activity", "preheat", sale_text);
    CTL("activity", "end", sale_text);
    CTL("activity", "start", sale_text);
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity start: the sale of activity %s is over; `orderctl activity extend` moves its end\n",
              sale_text);
    testing_ctl_run_sql("UPDATE activity SET state='settled'");
    CTL("activity", "start", sale_text);
    sale_said(EXIT_BAD_DATA, "orderctl: activity start: activity %s is settled; create another\n", sale_text);
}
END_TEST

/* ---- end ---- */

START_TEST(ended)
{
    struct activity before;
    int64_t expire_at, from, to;

    sale_preheat();
    CTL("activity", "start", sale_text);
    sale_deduct("o1", 1, 1, 0);
    before = sale_row();
    expire_at = sale_audit(0).expire_at;
    CTL("activity", "end", sale_text, "--dry-run", "--json");
    sale_said(EXIT_OK, "orderctl: it could be ended; nothing was changed\n");
    result_is("would_be_ended", NULL);
    untouched(&before);

    from = database_now();
    CTL("activity", "end", sale_text, "--json");
    to = database_now();
    sale_said(EXIT_OK, "orderctl: activity %s was ended\n", sale_text);
    result_is("ended", "agrees");
    sale_agrees(ACTIVITY_ENDED);
    ck_assert_int_ge(sale_row().ends_at, from);
    ck_assert_int_le(sale_row().ends_at, to);
    ck_assert_int_eq(sale_row().starts_at, before.starts_at);
    for (int i = 0; i < SALE_SHARDS; i++)
        ck_assert_str_eq(sale_try("late", 9, 1, i).note, "ended");
    ck_assert_int_eq(sale_audit(0).held, 1);
    ck_assert_int_eq(sale_audit(0).expire_at, expire_at); /* nobody's key vanishes earlier for it */

    before = sale_row();
    CTL("activity", "end", sale_text, "--json");
    sale_said(EXIT_OK, "orderctl: activity %s has ended already\n", sale_text);
    result_is("ended_before", "agrees");
    untouched(&before);
    testing_ctl_run_sql("UPDATE activity SET state='settled'");
    CTL("activity", "end", sale_text, "--json");
    sale_said(EXIT_OK, "orderctl: activity %s is settled already\n", sale_text);
    result_is("ended_before", NULL);
}
END_TEST

START_TEST(ended_before_it_began)
{
    struct activity a;

    sale_preheat_at("+1h", "+2h");
    CTL("activity", "end", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    sale_agrees(ACTIVITY_ENDED);
    a = sale_row();
    ck_assert_int_le(a.ends_at, database_now());
    ck_assert_int_eq(a.starts_at, a.ends_at - 1);
    ck_assert_str_eq(sale_try("o", 1, 1, 2).note, "ended");
}
END_TEST

/* What is not in Redis need not be told; half a preheat is closed all the same. */
START_TEST(ended_without_preheat)
{
    sale_approve();
    SALE_KILLED("preheat.after_shard=kill@2", "preheat", sale_text);
    sale_deduct("o", 1, 1, 1);
    CTL("activity", "end", sale_text, "--json");
    sale_said(EXIT_OK, "orderctl: activity %s was ended\n", sale_text);
    result_is("ended", "agrees");
    ck_assert_str_eq(sale_try("late", 9, 1, 0).note, "ended");
    ck_assert_str_eq(sale_try("late", 9, 1, 1).note, "ended");
    ck_assert_int_eq(sale_audit(2).code, STOCK_AUDIT_NO_SHARD);
    CTL("activity", "extend", sale_text, "--ends", "+1h");
    sale_said(EXIT_BAD_DATA,
              "orderctl: activity extend: activity %s ended without ever being preheated; create another\n", sale_text);
}
END_TEST

/* ---- extend ---- */

START_TEST(extended)
{
    struct activity before;
    char later[32];

    sale_preheat();
    CTL("activity", "start", sale_text);
    before = sale_row();
    clock_format_iso(later, sizeof later, before.ends_at + 3600000);
    CTL("activity", "extend", sale_text, "--ends", later, "--dry-run", "--json");
    sale_said(EXIT_OK, "orderctl: it could be extended; nothing was changed\n");
    result_is("would_be_extended", NULL);
    untouched(&before);
    CTL("activity", "extend", sale_text, "--ends", later, "--json");
    sale_said(EXIT_OK, "orderctl: activity %s was extended\n", sale_text);
    result_is("extended", "agrees");
    sale_agrees(ACTIVITY_RUNNING);
    ck_assert_int_eq(sale_row().ends_at, before.ends_at + 3600000);
    ck_assert_int_eq(sale_audit(3).expire_at, before.ends_at + 3600000 + 900000 + 7200000);
    before = sale_row();
    CTL("activity", "extend", sale_text, "--ends", later, "--json");
    sale_said(EXIT_OK, "orderctl: activity %s ends then already\n", sale_text);
    result_is("extended_before", "agrees");
    untouched(&before);
    CTL("activity", "extend", sale_text, "--ends", "+4h");
    ck_assert_int_ge(sale_row().ends_at, before.ends_at + 3500000);
    sale_agrees(ACTIVITY_RUNNING);
}
END_TEST

START_TEST(extended_after_its_end)
{
    sale_preheat();
    CTL("activity", "start", sale_text);
    CTL("activity", "end", sale_text);
    ck_assert_str_eq(sale_try("o", 1, 1, 0).note, "ended");
    CTL("activity", "extend", sale_text, "--ends", "+1h", "--dry-run", "-q", "--json");
    sale_said(EXIT_OK, "%s", "");
    sale_agrees(ACTIVITY_ENDED);
    CTL("activity", "extend", sale_text, "--ends", "+1h");
    sale_said(EXIT_OK, "orderctl: activity %s was extended\n", sale_text);
    sale_agrees(ACTIVITY_RUNNING);
    sale_deduct("o", 1, 1, 0);

    /* A sale cannot go on whose stock is gone. */
    CTL("activity", "end", sale_text);
    sale_forget(2);
    CTL("activity", "extend", sale_text, "--ends", "+1h");
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity extend: shard 2 of activity %s is not in Redis; `orderctl activity rebuild %s` makes it "
        "anew from the database\n",
        sale_text, sale_text);
    ck_assert_int_eq(sale_row().state, ACTIVITY_ENDED);
    ck_assert_str_eq(sale_try("late", 9, 1, 0).note, "ended");
}
END_TEST

START_TEST(not_extended)
{
    char earlier[32], ends[32];

    sale_create();
    CTL("activity", "extend", sale_text, "--ends", "+3h");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    CTL("activity", "approve", sale_text);
    clock_format_iso(ends, sizeof ends, sale_row().ends_at);
    clock_format_iso(earlier, sizeof earlier, sale_row().ends_at - 1000);
    CTL("activity", "extend", sale_text, "--ends", earlier);
    sale_said(
        EXIT_BAD_DATA,
        "orderctl: activity extend: the sale of activity %s ends at %s, later than %s; `orderctl activity end` ends "
        "it now\n",
        sale_text, ends, earlier);
    CTL("activity", "extend", sale_text, "--ends", "2020-01-01T00:00:00Z");
    sale_said(EXIT_BAD_DATA, "orderctl: activity extend: 2020-01-01T00:00:00.000Z is over already\n");
    CTL("activity", "extend", sale_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_USAGE);
    testing_ctl_run_sql("UPDATE activity SET state='settled'");
    CTL("activity", "extend", sale_text, "--ends", "+3h");
    sale_said(EXIT_BAD_DATA, "orderctl: activity extend: activity %s is settled; create another\n", sale_text);
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_test(t, started);
    tcase_add_test(t, started_late);
    tcase_add_test(t, not_started);
    tcase_add_test(t, ended);
    tcase_add_test(t, ended_before_it_began);
    tcase_add_test(t, ended_without_preheat);
    tcase_add_test(t, extended);
    tcase_add_test(t, extended_after_its_end);
    tcase_add_test(t, not_extended);
}

int main(void)
{
    Suite *s = suite_create("ctl_life");
    TCase *t = tcase_create("life");

    tcase_add_checked_fixture(t, sale_setup, sale_teardown);
    tcase_set_timeout(t, 60);
    add_tests(t);
    suite_add_tcase(s, t);
    return testing_main(s);
}
