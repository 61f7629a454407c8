/* What is remembered of orders that were due long ago: that past and recent together are all there is, whatever happens
 * in between, and that what was changed behind its back is found when it is counted again. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/survey_past.h"

static struct survey_past past, again;

static struct survey_slice next(const struct survey_past *p, int64_t horizon)
{
    struct survey_slice slice;

    ck_assert(survey_past_next(p, horizon, &slice));
    return slice;
}

static bool is(struct survey_slice slice, int64_t from, int64_t end)
{
    return slice.from == from && slice.end == end;
}

static bool has(const struct survey_past *p, int64_t activity, int64_t paid, int64_t units, int64_t closed)
{
    struct survey_past_sums sums;

    return survey_past_known(p, activity, &sums) && sums.paid == paid && sums.paid_units == units &&
           sums.closed == closed;
}

/* ---- one after the other ---- */

/* Whoever is furthest behind is counted first, up to where the next one joins it; then the front goes on for all. */
START_TEST(slices_follow_each_other)
{
    struct survey_slice slice;
    struct survey_past_sums sums;

    survey_past_begin(&past, 1000);
    ck_assert(!survey_past_next(&past, 1000, &slice));
    survey_past_join(&past, 1, 400);
    survey_past_join(&past, 2, 100);
    survey_past_join(&past, 3, 5000); /* written later than the front: nothing of it is past */
    ck_assert(has(&past, 3, 0, 0, 0) && !survey_past_known(&past, 1, &sums) && !survey_past_known(&past, 4, &sums));
    slice = next(&past, 2000);
    ck_assert(is(slice, 100, 400) && survey_past_wants(&past, &slice, 2));
    ck_assert(!survey_past_wants(&past, &slice, 1) && !survey_past_wants(&past, &slice, 3));
    survey_slice_cut(&slice, 300);
    ck_assert(is(slice, 100, 300));
    survey_past_add(&past, 2, &(struct survey_past_sums){3, 6, 1});
    survey_past_done(&past, &slice);
    slice = next(&past, 2000);
    ck_assert(is(slice, 300, 400));
    survey_past_done(&past, &slice);
    slice = next(&past, 2000);
    ck_assert(is(slice, 400, 1000) && survey_past_wants(&past, &slice, 1) && survey_past_wants(&past, &slice, 2));
    ck_assert(!survey_past_known(&past, 2, &sums));
    survey_past_done(&past, &slice);
    ck_assert(has(&past, 2, 3, 6, 1) && has(&past, 1, 0, 0, 0) && past.front == 1000);
    slice = next(&past, 2000);
    ck_assert(is(slice, 1000, 2000) && survey_past_wants(&past, &slice, 3));
    survey_past_done(&past, &slice);
    ck_assert(past.front == 2000 && has(&past, 3, 0, 0, 0) && has(&past, 2, 3, 6, 1));
    ck_assert(!survey_past_next(&past, 2000, &slice) && !survey_past_next(&past, 1500, &slice));
    survey_past_jump(&past, 1900);
    ck_assert(past.front == 2000 && has(&past, 2, 3, 6, 1));
    survey_past_jump(&past, 9000);
    slice = next(&past, 9500);
    ck_assert(past.front == 9000 && is(slice, 2000, 9000) && !survey_past_known(&past, 2, &sums));
}
END_TEST

/* However many are due in one millisecond, it goes on. */
START_TEST(slices_are_cut)
{
    static const struct {
        int64_t at, end;
    } cases[] = {{INT64_MAX, 200}, {200, 200}, {199, 199}, {101, 101}, {100, 101}, {7, 101}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct survey_slice slice = {100, 200};

        survey_slice_cut(&slice, cases[i].at);
        ck_assert(is(slice, 100, cases[i].end));
    }
}
END_TEST

START_TEST(late_orders_are_settled)
{
    survey_past_begin(&past, 1000);
    survey_past_join(&past, 1, 2000);
    survey_past_join(&past, 2, 2000);
    ck_assert(survey_past_add_late(&past, 71, 1) && survey_past_add_late(&past, 72, 2) &&
              survey_past_add_late(&past, 73, 1));
    survey_past_settle(&past, 71, ORDER_PAID, 3);
    survey_past_settle(&past, 71, ORDER_PAID, 3); /* once */
    survey_past_settle(&past, 99, ORDER_PAID, 3);
    survey_past_settle(&past, 72, ORDER_CLOSED, 2);
    ck_assert(has(&past, 1, 1, 3, 0) && has(&past, 2, 0, 0, 1) && past.late_count == 1);
    survey_past_keep(&past, (const int64_t[]){2}, 1);
    ck_assert(past.late_count == 0 && !survey_past_find(&past, 1) && has(&past, 2, 0, 0, 1));
    for (int i = 0; i < SURVEY_LATE_MAX; i++)
        ck_assert(survey_past_add_late(&past, i, 2));
    ck_assert(!survey_past_add_late(&past, SURVEY_LATE_MAX, 2));
}
END_TEST

/* Only of activities that were counted again, and as it is now. */
START_TEST(counted_again)
{
    survey_past_begin(&past, 1000);
    survey_past_begin(&again, 1000);
    survey_past_join(&past, 1, 2000);
    survey_past_join(&past, 2, 2000); /* came later */
    survey_past_join(&again, 1, 2000);
    survey_past_join(&again, 3, 2000); /* is settled since */
    survey_past_add(&past, 1, &(struct survey_past_sums){5, 10, 1});
    survey_past_add(&past, 2, &(struct survey_past_sums){7, 7, 7});
    survey_past_add(&again, 1, &(struct survey_past_sums){4, 8, 2});
    ck_assert(survey_past_add_late(&past, 11, 1) && survey_past_add_late(&past, 21, 2));
    ck_assert(survey_past_add_late(&again, 12, 1) && survey_past_add_late(&again, 31, 3));
    ck_assert(survey_past_adopt(&past, &again));
    ck_assert(has(&past, 1, 4, 8, 2) && has(&past, 2, 7, 7, 7) && !survey_past_find(&past, 3));
    ck_assert(past.late_count == 2 && past.late[0].order == 21 && past.late[1].order == 12);
    for (int i = 0; i < SURVEY_LATE_MAX - 2; i++)
        ck_assert(survey_past_add_late(&past, 100 + i, 2) && survey_past_add_late(&again, 100 + i, 1));
    survey_past_add(&again, 1, &(struct survey_past_sums){1, 1, 1});
    ck_assert(!survey_past_adopt(&past, &again)); /* too many together */
    ck_assert(has(&past, 1, 4, 8, 2) && past.late_count == SURVEY_LATE_MAX);
}
END_TEST

/* ---- a world of orders ---- */

#define WORLD      5000
#define ACTIVITIES 3

struct row {
    int64_t activity, due, units;
    enum order_status status;
};

static struct row world[WORLD];
static size_t rows;
static int64_t now;

static int64_t dice(int64_t sides)
{
    return random() % sides;
}

/* Time goes on; an order comes, or one that is pending is paid or closed, most of them in time. */
static void live(void)
{
    int64_t newest = (int64_t)rows - 1, age = dice(20) ? dice(200) : dice(3000);
    struct row *some = age <= newest ? &world[newest - age] : NULL;

    now += dice(3);
    if (some && some->status == ORDER_PENDING && dice(4))
        some->status = dice(2) ? ORDER_PAID : ORDER_CLOSED;
    else if (rows < WORLD && dice(2))
        world[rows++] = (struct row){1 + dice(ACTIVITIES), now + 1 + dice(50), 1 + dice(3), ORDER_PENDING};
}

static void tally(const struct row *row, struct survey_past_sums *sums)
{
    sums->paid += row->status == ORDER_PAID;
    sums->paid_units += row->status == ORDER_PAID ? row->units : 0;
    sums->closed += row->status == ORDER_CLOSED;
}

/* What survey_count_past does. */
static void count_slice(struct survey_past *p, int64_t horizon)
{
    struct survey_slice slice;

    if (!survey_past_next(p, horizon, &slice))
        return;
    survey_slice_cut(&slice, slice.from + dice(40));
    for (size_t i = 0; i < rows; i++) {
        struct survey_past_sums one = {0};

        if (world[i].due < slice.from || world[i].due >= slice.end || !survey_past_wants(p, &slice, world[i].activity))
            continue;
        tally(&world[i], &one);
        survey_past_add(p, world[i].activity, &one);
        if (world[i].status == ORDER_PENDING)
            ck_assert(survey_past_add_late(p, (int64_t)i, world[i].activity));
    }
    survey_past_done(p, &slice);
}

/* What survey_count does, of late orders. */
static void settle(struct survey_past *p)
{
    for (size_t i = 0; i < rows; i++) {
        if (world[i].status != ORDER_PENDING)
            survey_past_settle(p, (int64_t)i, world[i].status, world[i].units);
    }
}

/* Past and recent are all there is; how many activities were known. */
static int check_all(void)
{
    int known = 0;

    settle(&past);
    for (int64_t a = 1; a <= ACTIVITIES; a++) {
        struct survey_past_sums sum, all = {0};

        if (!survey_past_known(&past, a, &sum))
            continue;
        known++;
        for (size_t i = 0; i < rows; i++) {
            if (world[i].activity != a)
                continue;
            tally(&world[i], &all);
            if (world[i].due >= past.front)
                tally(&world[i], &sum);
        }
        ck_assert_msg(memcmp(&sum, &all, sizeof sum) == 0,
                      "activity %d: paid %d of %d, units %d of %d, closed %d of %d", (int)a, (int)sum.paid,
                      (int)all.paid, (int)sum.paid_units, (int)all.paid_units, (int)sum.closed, (int)all.closed);
    }
    return known;
}

static void count_again(void)
{
    struct survey_slice slice;

    if (again.front == 0) {
        survey_past_begin(&again, past.front);
        for (size_t i = 0; i < past.count; i++)
            survey_past_join(&again, past.sales[i].activity, 1);
    }
    count_slice(&again, past.front);
    if (survey_past_next(&past, past.front, &slice) || survey_past_next(&again, past.front, &slice))
        return;
    ck_assert(survey_past_adopt(&past, &again));
    again.front = 0;
}

START_TEST(nothing_twice_and_nothing_left_out)
{
    int known = 0, adopted = 0;

    srandom((unsigned)_i + 1);
    now = 1;
    while (rows < WORLD / 8)
        live();
    survey_past_begin(&past, now - 10);
    for (int i = 0; i < 6000; i++) {
        live();
        if (dice(4) == 0)
            count_slice(&past, dice(3) ? past.front : now - 10);
        if (dice(3) == 0) {
            bool was = again.front != 0;

            count_again();
            adopted += was && again.front == 0;
        }
        if (dice(1000) == 0)
            survey_past_keep(&past, (const int64_t[]){1 + dice(2), 3}, 2);
        if (dice(100) == 0 && past.count < ACTIVITIES) {
            for (int64_t a = 1; a <= ACTIVITIES; a++)
                survey_past_join(&past, a, 1);
        }
        if (dice(1000) == 0)
            survey_past_jump(&past, now - 10);
        if (dice(10) == 0)
            known += check_all();
    }
    ck_assert_int_gt(known, 100);
    ck_assert_int_gt(adopted, 3);
    ck_assert_int_gt(past.front, 1000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("survey_past");
    TCase *c = tcase_create("pure");

    tcase_set_timeout(c, 30);
    tcase_add_test(c, slices_follow_each_other);
    tcase_add_test(c, slices_are_cut);
    tcase_add_test(c, late_orders_are_settled);
    tcase_add_test(c, counted_again);
    tcase_add_loop_test(c, nothing_twice_and_nothing_left_out, 0, 4);
    suite_add_tcase(s, c);
    return testing_main(s);
}
