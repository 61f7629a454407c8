/* What a lane remembers of activities, against a real table. */
#include "testing_lane.h"

#include "orderd/activity.h"

#define REMEMBERED 2048 /* as in activity_cache.c */

/* Activities 2001 .. 2000 + count. */
static void insert_activities(int count)
{
    testing_sql(
        "INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,per_user_limit,pay_timeout_ms,state,"
        "starts_at,ends_at,epoch) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<49) SELECT "
        "2001+a.i*50+b.i,'test',77,9900,'CNY',1,1,900000,'running',NOW(3),NOW(3)+INTERVAL 1 HOUR,1 FROM n a,n b WHERE "
        "a.i*50+b.i<%d",
        count);
}

static void load(struct activity_cache *cache, int64_t from, size_t count)
{
    static int64_t ids[REMEMBERED * 2];
    struct error err = {0};

    for (size_t i = 0; i < count; i++)
        ids[i] = from + (int64_t)i;
    ck_assert_ok(activity_cache_load(cache, testing_lane_db, ids, count, &err), &err);
}

/* A batch looks its activities up first and loads those it misses: what it found must still be there after that,
 * however many it missed, or its orders would be refused as of an unknown activity. */
START_TEST(a_full_cache_keeps_what_is_in_use)
{
    struct activity_cache *cache = activity_cache_create();

    testing_lane_setup(1, NULL);
    insert_activities(REMEMBERED);
    load(cache, 2001, REMEMBERED);
    ck_assert(activity_cache_find(cache, 2001, 60000) != NULL);
    ck_assert(activity_cache_find(cache, 2777, 60000) != NULL);
    load(cache, TESTING_ACTIVITY, 1);
    ck_assert(activity_cache_find(cache, TESTING_ACTIVITY, INT64_MAX) != NULL);
    ck_assert(activity_cache_find(cache, 2001, INT64_MAX) != NULL);
    ck_assert(activity_cache_find(cache, 2777, INT64_MAX) != NULL);
    activity_cache_destroy(&cache);
}
END_TEST

/* Numbers without an activity, in any amount, cost nobody else's place. */
START_TEST(unknown_numbers_displace_nothing_in_use)
{
    struct activity_cache *cache = activity_cache_create();

    testing_lane_setup(1, NULL);
    load(cache, TESTING_ACTIVITY, 1);
    ck_assert(activity_cache_find(cache, TESTING_ACTIVITY, 60000) != NULL);
    load(cache, 500000, REMEMBERED);
    ck_assert(activity_cache_find(cache, TESTING_ACTIVITY, INT64_MAX) != NULL);
    ck_assert(activity_cache_find(cache, 500000, INT64_MAX) == NULL);
    activity_cache_destroy(&cache);
}
END_TEST

/* What no batch asks for any more makes room. */
START_TEST(what_is_out_of_use_is_forgotten)
{
    struct activity_cache *cache = activity_cache_create();

    testing_lane_setup(1, NULL);
    insert_activities(REMEMBERED);
    load(cache, 2001, REMEMBERED);
    load(cache, TESTING_ACTIVITY, 1); /* begins the use anew */
    load(cache, 500000, 1);
    ck_assert(activity_cache_find(cache, 2777, INT64_MAX) == NULL);
    activity_cache_destroy(&cache);
}
END_TEST

/* Approval must be seen by the next batch, not when the memory has aged. */
START_TEST(a_review_is_not_trusted_later)
{
    struct activity_cache *cache = activity_cache_create();

    testing_lane_setup(1, NULL);
    testing_sql("UPDATE activity SET state='review'");
    load(cache, TESTING_ACTIVITY, 1);
    ck_assert(activity_cache_find(cache, TESTING_ACTIVITY, 60000) == NULL);
    ck_assert_int_eq(activity_cache_find(cache, TESTING_ACTIVITY, INT64_MAX)->state, ACTIVITY_REVIEW);
    testing_sql("UPDATE activity SET state='scheduled'");
    load(cache, TESTING_ACTIVITY, 1);
    ck_assert_int_eq(activity_cache_find(cache, TESTING_ACTIVITY, 60000)->state, ACTIVITY_SCHEDULED);
    activity_cache_destroy(&cache);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("activity_cache");
    TCase *c = tcase_create("cache");

    tcase_set_timeout(c, 30);
    tcase_add_test(c, a_full_cache_keeps_what_is_in_use);
    tcase_add_test(c, unknown_numbers_displace_nothing_in_use);
    tcase_add_test(c, what_is_out_of_use_is_forgotten);
    tcase_add_test(c, a_review_is_not_trusted_later);
    suite_add_tcase(s, c);
    return testing_main(s);
}
