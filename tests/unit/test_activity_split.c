/* How stock is shared out over shards when it changes or is rebuilt. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/activity_restock.h"
#include "orderd/activity_transfer.h"

#define SHARDS_MAX 5

static const struct {
    int64_t total;
    int32_t count;
    int64_t lo[SHARDS_MAX], hi[SHARDS_MAX], out[SHARDS_MAX], sum;
} rows[] = {
    {10, 1, {0}, {99}, {10}, 10},
    {0, 3, {0, 0, 0}, {9, 9, 9}, {0, 0, 0}, 0},
    {10, 3, {0, 0, 0}, {99, 99, 99}, {4, 3, 3}, 10},
    {11, 3, {0, 0, 0}, {99, 99, 99}, {4, 4, 3}, 11},
    {10, 3, {7, 0, 0}, {99, 99, 99}, {7, 2, 1}, 10}, /* one has sold more than its share */
    {10, 3, {7, 6, 0}, {99, 99, 99}, {7, 6, 0}, 13}, /* more is sold than there may be */
    {1503, 4, {251, 251, 250, 250}, {1503, 1503, 1503, 1503}, {376, 376, 376, 375}, 1503},
    {600, 4, {240, 0, 0, 0}, {251, 251, 250, 250}, {240, 120, 120, 120}, 600},
    {100, 3, {0, 0, 0}, {10, 20, 99}, {10, 20, 70}, 100}, /* some cannot take their share */
    {100, 3, {0, 0, 0}, {10, 20, 30}, {10, 20, 30}, 60},  /* none can */
    {9, 3, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, 9},
    {999999999, 2, {0, 0}, {999999999, 999999999}, {500000000, 499999999}, 999999999},
};

START_TEST(by_hand)
{
    int64_t out[SHARDS_MAX];

    ck_assert_int_eq(activity_split(rows[_i].total, rows[_i].lo, rows[_i].hi, rows[_i].count, out), rows[_i].sum);
    for (int32_t i = 0; i < rows[_i].count; i++)
        ck_assert_int_eq(out[i], rows[_i].out[i]);
}
END_TEST

/* The first split of an activity is the same one: a restock to what it has changes nothing. */
START_TEST(as_the_preheat)
{
    int64_t lo[64] = {0}, hi[64], out[64];

    for (int32_t shards = 1; shards <= 64; shards++) {
        struct activity a = {.total_stock = 10007, .shards = shards};

        for (int32_t i = 0; i < shards; i++)
            hi[i] = a.total_stock;
        activity_split(a.total_stock, lo, hi, shards, out);
        for (int32_t i = 0; i < shards; i++) {
            struct stock_plan plan;

            activity_plan(&a, i, &plan);
            ck_assert_int_eq(out[i], plan.cap);
        }
    }
}
END_TEST

/* Within the bounds; the sum is the total or as near as they allow; no unit could go to a shard with two fewer. */
START_TEST(any)
{
    int64_t lo[16], hi[16], out[16];

    srand(5);
    for (int n = 0; n < 20000; n++) {
        int32_t count = 1 + rand() % 16;
        int64_t total = rand() % 400, floor = 0, ceiling = 0, sum;
        bool fair = true;

        for (int32_t i = 0; i < count; i++) {
            lo[i] = rand() % 30;
            hi[i] = lo[i] + rand() % 40;
            floor += lo[i];
            ceiling += hi[i];
        }
        sum = activity_split(total, lo, hi, count, out);
        ck_assert_int_eq(sum, total < floor ? floor : total > ceiling ? ceiling : total);
        for (int32_t i = 0; i < count; i++) {
            fair = fair && out[i] >= lo[i] && out[i] <= hi[i];
            sum -= out[i];
            for (int32_t j = 0; j < count; j++)
                fair = fair && (out[i] <= out[j] + 1 || out[i] == lo[i] || out[j] == hi[j]);
        }
        ck_assert(fair); /* once a round: each assertion writes to its runner */
        ck_assert_int_eq(sum, 0);
    }
}
END_TEST

/* ---- transfers ---- */

static const struct {
    int64_t left[4];
    size_t moves;
    int64_t then[4];
} levels[] = {
    {{5, 6, 7, 8}, 0, {5, 6, 7, 8}},   {{0, 0, 0, 0}, 0, {0, 0, 0, 0}},      {{0, 1, 1, 1}, 0, {0, 1, 1, 1}},
    {{0, 2, 1, 1}, 1, {1, 1, 1, 1}},   {{0, 100, 3, 0}, 2, {25, 50, 3, 25}}, {{0, 7, 9, 0}, 2, {4, 4, 5, 3}},
    {{3, 0, 0, 0}, 2, {1, 1, 1, 0}},   {{-4, 6, 0, 0}, 2, {0, 1, 1, 0}},     {{-4, 20, 1, 1}, 1, {6, 10, 1, 1}},
    {{-9, 3, 1, 1}, 1, {-6, 0, 1, 1}}, {{-3, -1, 0, 0}, 0, {-3, -1, 0, 0}},
};

START_TEST(empty_shards_get_half_of_the_fullest)
{
    struct activity_move moves[ACTIVITY_MOVES_MAX];
    int64_t then[4];
    size_t count = activity_transfer_plan(levels[_i].left, 4, moves);

    memcpy(then, levels[_i].left, sizeof then);
    ck_assert_uint_eq(count, levels[_i].moves);
    for (size_t i = 0; i < count; i++) {
        then[moves[i].from] -= moves[i].units;
        then[moves[i].to] += moves[i].units;
    }
    for (int i = 0; i < 4; i++)
        ck_assert_msg(then[i] == levels[_i].then[i], "row %d, shard %d: %d", _i, i, (int)then[i]);
}
END_TEST

static const struct {
    int64_t left[4], then[4];
} lasts[] = {
    {{1, 0, 0, 0}, {0, 1, 0, 0}}, {{0, 1, 0, 1}, {1, 0, 1, 0}},   {{1, 1, 0, 1}, {1, 1, 1, 0}},
    {{0, 0, 0, 0}, {0, 0, 0, 0}}, {{1, 1, 1, 1}, {1, 1, 1, 1}},   {{0, 2, 0, 1}, {0, 2, 0, 1}},
    {{0, 1, 1, 1}, {1, 0, 1, 1}}, {{-1, 1, 0, 1}, {-1, 1, 0, 1}},
};

START_TEST(last_units_go_to_the_next)
{
    struct activity_move moves[ACTIVITY_MOVES_MAX];
    int64_t then[4];
    size_t count = activity_transfer_rotate(lasts[_i].left, 4, moves);

    memcpy(then, lasts[_i].left, sizeof then);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(moves[i].units, 1);
        then[moves[i].from]--;
        then[moves[i].to]++;
    }
    ck_assert_mem_eq(then, lasts[_i].then, sizeof then);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("activity_split");
    TCase *t = tcase_create("split");

    tcase_add_loop_test(t, by_hand, 0, sizeof rows / sizeof *rows);
    tcase_add_test(t, as_the_preheat);
    tcase_add_test(t, any);
    tcase_add_loop_test(t, empty_shards_get_half_of_the_fullest, 0, sizeof levels / sizeof *levels);
    tcase_add_loop_test(t, last_units_go_to_the_next, 0, sizeof lasts / sizeof *lasts);
    suite_add_tcase(s, t);
    return testing_main(s);
}
