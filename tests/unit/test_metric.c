/* metric: concurrent sums, quantiles within their error. */
#include "testing.h"

#include <string.h>

#include "orderd/metric.h"
#include "orderd/thread.h"

#define THREADS 8
#define TIMES   100000

static void count_many(void *data)
{
    struct metric_block *block = metric_register();

    (void)data;
    for (int i = 0; i < TIMES; i++) {
        metric_add(block, METRIC_ORDERS_CREATED, 3);
        metric_add(block, METRIC_BATCHES, 1);
        metric_observe(block, METRIC_SPAN_CREATE, i % 1000);
    }
}

static uint64_t observations(const struct metric_sum *sum)
{
    uint64_t n = 0;

    for (size_t i = 0; i < METRIC_BUCKETS; i++)
        n += sum->spans[METRIC_SPAN_CREATE][i];
    return n;
}

START_TEST(sums)
{
    struct thread threads[THREADS] = {0};
    struct metric_sum sum, later;

    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.name = "counter", .run = count_many};
        thread_start(&threads[i]);
    }
    metric_read(&sum);
    metric_read(&later);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        ck_assert_uint_ge(later.counters[i], sum.counters[i]);
    for (int i = 0; i < THREADS; i++)
        thread_join(&threads[i]);
    metric_read(&sum);
    ck_assert_uint_eq(sum.counters[METRIC_ORDERS_CREATED], 3 * THREADS * TIMES);
    ck_assert_uint_eq(sum.counters[METRIC_BATCHES], THREADS * TIMES);
    ck_assert_uint_eq(sum.counters[METRIC_DB_OUTAGES], 0);
    ck_assert_uint_eq(observations(&sum), THREADS * TIMES);
}
END_TEST

START_TEST(blocks_share_no_cache_line)
{
    for (int i = 0; i < 8; i++)
        ck_assert_uint_eq((uintptr_t)metric_register() % 64, 0);
}
END_TEST

static const int64_t spans[] = {2,      3,       4,       5,        7,         10,         99,         128,        1000,
                                123456, 1000000, 1 << 20, 60000000, 900000000, 3600000000, 5000000001, 60000000000};

/* One value: every quantile is that value, not less, and at most 19 % more. */
START_TEST(one_value)
{
    struct metric_block *block = metric_register();
    struct metric_sum before = {0}, now;
    int64_t top;

    metric_observe(block, METRIC_SPAN_CREATE, spans[_i]);
    metric_read(&now);
    top = metric_quantile(&before, &now, METRIC_SPAN_CREATE, 0.5);
    ck_assert_int_ge(top, spans[_i]);
    ck_assert_int_le(top, spans[_i] * 119 / 100 + 1);
    ck_assert_int_eq(metric_quantile(&before, &now, METRIC_SPAN_CREATE, 1), top);
}
END_TEST

/* Each whole number up to a million: the bucket never shrinks, never leaves the error. */
START_TEST(every_value)
{
    struct metric_block *block = metric_register();
    struct metric_sum before, now;
    int64_t last = 0;

    metric_read(&before);
    for (int64_t us = 2; us < 1000000; us += 1 + us / 50) {
        int64_t top;

        metric_observe(block, METRIC_SPAN_CREATE, us);
        metric_read(&now);
        top = metric_quantile(&before, &now, METRIC_SPAN_CREATE, 1);
        ck_assert_int_ge(top, us);
        ck_assert_int_le(top, us * 119 / 100 + 1);
        ck_assert_int_ge(top, last);
        last = top;
    }
}
END_TEST

START_TEST(between_readings)
{
    struct metric_block *block = metric_register();
    struct metric_sum first, second, third;

    for (int i = 0; i < 1000; i++)
        metric_observe(block, METRIC_SPAN_CREATE, 10000000);
    metric_read(&first);
    for (int i = 1; i <= 1000; i++)
        metric_observe(block, METRIC_SPAN_CREATE, i * 100);
    metric_read(&second);
    metric_read(&third);
    ck_assert_int_ge(metric_quantile(&first, &second, METRIC_SPAN_CREATE, 0.5), 50000);
    ck_assert_int_le(metric_quantile(&first, &second, METRIC_SPAN_CREATE, 0.5), 50000 * 119 / 100);
    ck_assert_int_ge(metric_quantile(&first, &second, METRIC_SPAN_CREATE, 0.99), 99000);
    ck_assert_int_le(metric_quantile(&first, &second, METRIC_SPAN_CREATE, 0.99), 99000 * 119 / 100);
    ck_assert_int_eq(metric_quantile(&second, &third, METRIC_SPAN_CREATE, 0.99), 0);
}
END_TEST

/* Each span by itself. */
START_TEST(spans_apart)
{
    struct metric_block *block = metric_register();
    struct metric_sum before, now;

    metric_read(&before);
    metric_observe(block, METRIC_SPAN_CREATE, 1000);
    for (int i = 0; i < 9; i++)
        metric_observe(block, METRIC_SPAN_RELEASE, 1000000);
    metric_read(&now);
    ck_assert_int_lt(metric_quantile(&before, &now, METRIC_SPAN_CREATE, 1), 1200);
    ck_assert_int_ge(metric_quantile(&before, &now, METRIC_SPAN_RELEASE, 0.01), 1000000);
}
END_TEST

START_TEST(edges)
{
    struct metric_block *block = metric_register();
    struct metric_sum before = {0}, now;

    metric_observe(block, METRIC_SPAN_CREATE, -5);
    metric_observe(block, METRIC_SPAN_CREATE, 0);
    metric_observe(block, METRIC_SPAN_CREATE, 1);
    metric_observe(block, METRIC_SPAN_CREATE, INT64_MAX);
    metric_read(&now);
    ck_assert_uint_eq(now.spans[METRIC_SPAN_CREATE][0], 3);
    ck_assert_uint_eq(now.spans[METRIC_SPAN_CREATE][METRIC_BUCKETS - 1], 1);
    ck_assert_int_eq(metric_quantile(&before, &now, METRIC_SPAN_CREATE, 0.75), 1);
    ck_assert_int_gt(metric_quantile(&before, &now, METRIC_SPAN_CREATE, 1), INT64_C(18) * 3600 * 1000000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("metric");
    TCase *c = tcase_create("metric");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, sums);
    tcase_add_test(c, blocks_share_no_cache_line);
    tcase_add_loop_test(c, one_value, 0, sizeof spans / sizeof *spans);
    tcase_add_test(c, every_value);
    tcase_add_test(c, between_readings);
    tcase_add_test(c, spans_apart);
    tcase_add_test(c, edges);
    suite_add_tcase(s, c);
    return testing_main(s);
}
