/* What the survey counts of orders, against what a plain count says: in slices of any size, while the front goes on,
 * and when orders of the past are paid, closed, or changed by hand. */
#include "testing_ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/exitcode.h"
#include "orderd/survey_count.h"

#define ACTIVITIES 3
/* The activities were written then; ms since 1970. */
#define CREATED INT64_C(1764400000000)
#define FRONT   (CREATED + 1000)
#define FEW     7
#define FAR     (CREATED + 1000000)

static struct survey_past past, again;
static struct survey_rows rows[ACTIVITIES];
static struct error err;
static int made;

static void setup(void)
{
    testing_ctl_setup();
    CTL("migrate", "up");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    for (int a = 1; a <= ACTIVITIES; a++)
        testing_ctl_run_sql("INSERT INTO activity_stock SET activity_id=%d,total=9000,available=%d", a, 100 * a);
    made = 0;
}

/* Orders of one or two units, one due each step_us from at on; at 0: never, as those that were rejected. */
static void make(int activity, const char *status, int64_t at, int step_us, int count)
{
    struct strbuf sql = STRBUF_INIT;

    strbuf_add_str(&sql, "INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,"
                         "status,reserved_at,expires_at) VALUES");
    for (int i = 0; i < count; i++, made++) {
        char due[32];

        clock_format_sql(due, sizeof due, at);
        strbuf_addf(&sql, "%s('o%d',%d,%d,0,77,%d,9900,0,1,'%s',NOW(3),", i ? "," : "", made, activity, made,
                    1 + made % 2, status);
        if (at)
            strbuf_addf(&sql, "'%s'+INTERVAL %d MICROSECOND)", due, i * step_us);
        else
            strbuf_add_str(&sql, "NULL)");
    }
    ck_assert_ok(db_run(testing_ctl_db, (struct slice){sql.data, sql.len}, &err), &err);
    strbuf_release(&sql);
}

static void join(struct survey_past *p, int64_t activity)
{
    struct activity a = {.id = activity, .created_at = CREATED};

    ck_assert_ok(survey_count_join(testing_ctl_db, p, &a, &err), &err);
}

static bool step(struct survey_past *p, int64_t horizon, int orders)
{
    bool done;

    ck_assert_ok(survey_count_past(testing_ctl_db, p, horizon, orders, &done, &err), &err);
    return done;
}

static void count(void)
{
    for (int a = 1; a <= ACTIVITIES; a++)
        rows[a - 1].activity = a;
    ck_assert_ok(survey_count(testing_ctl_db, &past, rows, ACTIVITIES, &err), &err);
}

static int64_t plain(const char *what, int activity, const char *status)
{
    return testing_ctl_number("SELECT COALESCE(%s,0) FROM orders WHERE activity_id=%d AND status='%s'", what, activity,
                              status);
}

/* Counts, and compares with a plain count what is known; how many activities that is. */
static int agree(void)
{
    int known = 0;

    count();
    for (int a = 1; a <= ACTIVITIES; a++) {
        const struct survey_rows *r = &rows[a - 1];

        ck_assert_int_eq(r->pending, plain("COUNT(*)", a, "pending"));
        ck_assert_int_eq(r->pending_units, plain("SUM(quantity)", a, "pending"));
        ck_assert(r->has_stock && r->total == 9000 && r->available == 100 * a);
        if (r->paid == SURVEY_UNKNOWN) {
            ck_assert(r->paid_units == SURVEY_UNKNOWN && r->closed == SURVEY_UNKNOWN);
            ck_assert_int_eq(survey_rows_off(r), SURVEY_UNKNOWN);
            continue;
        }
        known++;
        ck_assert_int_eq(r->paid, plain("COUNT(*)", a, "paid"));
        ck_assert_int_eq(r->paid_units, plain("SUM(quantity)", a, "paid"));
        ck_assert_int_eq(r->closed, plain("COUNT(*)", a, "closed"));
    }
    return known;
}

/* A few of each, among those of an activity that nobody surveys. */
static void make_all_sorts(int64_t at)
{
    for (int a = 1; a <= ACTIVITIES + 1; a++) {
        make(a, "paid", at + a, 1700, 20 * a);
        make(a, "closed", at, 900, 11 * a);
        make(a, "rejected", 0, 0, a);
    }
    make(1, "pending", at + 5, 2000, 4);
    make(2, "pending", at + 50, 0, 3);
}

START_TEST(slice_by_slice)
{
    int steps = 0;

    make_all_sorts(CREATED + 10);
    make_all_sorts(FRONT - 30); /* on both sides of the front */
    make_all_sorts(FAR);
    make(3, "paid", CREATED + 500, 0, 40); /* all in one millisecond */
    survey_past_begin(&past, FRONT);
    for (int a = 1; a <= ACTIVITIES; a++)
        join(&past, a);
    ck_assert_int_eq(agree(), 0);
    while (step(&past, FRONT, FEW)) {
        steps++;
        ck_assert_int_eq(agree(), past.sales[0].until == FRONT ? ACTIVITIES : 0);
    }
    ck_assert_int_gt(steps, 2 * 200 / FEW); /* of each state, those of the fourth included */
    ck_assert_int_eq(agree(), ACTIVITIES);
    for (int64_t horizon = FRONT; horizon < FRONT + 200; horizon += 3) { /* the front goes over the second heap */
        while (step(&past, horizon, FEW))
            ck_assert_int_eq(agree(), ACTIVITIES);
        ck_assert_int_eq(past.front, horizon);
    }
    ck_assert_uint_gt(past.late_count, 7);
}
END_TEST

/* What was pending in its slice is told of as what it is now, and once. */
START_TEST(late_ones_change)
{
    make_all_sorts(CREATED + 10);
    survey_past_begin(&past, FRONT);
    for (int a = 1; a <= ACTIVITIES; a++)
        join(&past, a);
    while (step(&past, FRONT, 1000))
        ;
    ck_assert_uint_eq(past.late_count, 7);
    testing_ctl_run_sql("UPDATE orders SET status='paid' WHERE status='pending' AND activity_id=1 LIMIT 2");
    testing_ctl_run_sql("UPDATE orders SET status='closed' WHERE status='pending' AND activity_id=2 LIMIT 1");
    ck_assert_int_eq(agree(), ACTIVITIES);
    ck_assert_uint_eq(past.late_count, 4);
    ck_assert_int_eq(agree(), ACTIVITIES);
    testing_ctl_run_sql("UPDATE orders SET status='closed' WHERE status='pending'");
    ck_assert_int_eq(agree(), ACTIVITIES);
    ck_assert_uint_eq(past.late_count, 0);
    ck_assert(!step(&past, FRONT, 1000));
}
END_TEST

/* More than can be remembered: it waits, and goes on when they are fewer. */
START_TEST(too_many_are_late)
{
    make(1, "pending", CREATED + 10, 0, SURVEY_LATE_MAX + 1);
    make(2, "paid", CREATED + 10, 0, 5);
    survey_past_begin(&past, FRONT);
    join(&past, 1);
    join(&past, 2);
    ck_assert(!step(&past, FRONT, 1000) && past.late_count == 0 && past.sales[0].until == CREATED);
    ck_assert_int_eq(agree(), 0);
    testing_ctl_run_sql("UPDATE orders SET status='closed' WHERE status='pending' LIMIT 1");
    ck_assert(step(&past, FRONT, 1000) && past.late_count == SURVEY_LATE_MAX);
    ck_assert_int_eq(agree(), 2);
    testing_ctl_run_sql("UPDATE orders SET status='paid' WHERE status='pending' LIMIT 400");
    ck_assert_int_eq(agree(), 2);
    ck_assert_uint_eq(past.late_count, SURVEY_LATE_MAX - 400);
}
END_TEST

START_TEST(changed_by_hand)
{
    make_all_sorts(CREATED + 10);
    survey_past_begin(&past, FRONT);
    for (int a = 1; a <= ACTIVITIES; a++)
        join(&past, a);
    while (step(&past, FRONT, FEW))
        ;
    testing_ctl_run_sql("UPDATE orders SET status='closed' WHERE status='paid' AND activity_id=2 LIMIT 3");
    count();
    ck_assert_int_eq(rows[1].paid, plain("COUNT(*)", 2, "paid") + 3); /* as it was */
    survey_past_begin(&again, FRONT);
    for (int a = 1; a <= ACTIVITIES; a++)
        join(&again, a);
    while (step(&again, FRONT, FEW))
        ;
    ck_assert(survey_past_adopt(&past, &again));
    ck_assert_int_eq(agree(), ACTIVITIES);
}
END_TEST

/* One that has no orders yet has no past; one that joins later catches up with the others. */
START_TEST(who_joins)
{
    make(1, "paid", CREATED + 10, 100, 30);
    survey_past_begin(&past, FRONT);
    join(&past, 1);
    join(&past, 2);
    ck_assert_int_eq(agree(), 1);
    ck_assert(rows[0].paid == SURVEY_UNKNOWN && rows[1].paid == 0 && rows[1].closed == 0);
    while (step(&past, FRONT + 50, 100))
        ;
    ck_assert_int_eq(agree(), 2);
    make(3, "rejected", 0, 0, 1);
    make(3, "paid", CREATED + 30, 0, 2);
    join(&past, 3);
    ck_assert_int_eq(agree(), 2);
    while (step(&past, FRONT + 50, 100))
        ;
    ck_assert_int_eq(agree(), 3);
    ck_assert_ok(survey_count(testing_ctl_db, &past, rows, 0, &err), &err);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("survey_count");
    TCase *c = tcase_create("rows");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, testing_ctl_teardown);
    tcase_add_test(c, slice_by_slice);
    tcase_add_test(c, late_ones_change);
    tcase_add_test(c, too_many_are_late);
    tcase_add_test(c, changed_by_hand);
    tcase_add_test(c, who_joins);
    suite_add_tcase(s, c);
    return testing_main(s);
}
