/* Who may walk an activity, and when it is due, against the real locks and clock of the database. */
#include "testing_lane.h"

#include <inttypes.h>
#include <string.h>

#include "orderd/activity_walk.h"

#define HOUR 3600000

static struct db *open_db(void)
{
    struct error err = {0};
    struct db *db = db_open(testing_lane_conf, &err);

    ck_assert_ok(db != NULL, &err);
    return db;
}

static size_t due(int64_t interval_ms, int64_t *ids)
{
    struct error err = {0};
    size_t count;

    ck_assert_ok(activity_walk_due(testing_lane_db, interval_ms, ids, 10, &count, &err), &err);
    return count;
}

static bool elect(struct db *db, int64_t id)
{
    struct error err = {0};
    bool elected;

    ck_assert_ok(activity_walk_elect(db, id, HOUR, &elected, &err), &err);
    return elected;
}

static void release(struct db *db, int64_t id)
{
    struct error err = {0};

    ck_assert_ok(activity_walk_release(db, id, &err), &err);
}

static void record(int64_t id, int64_t took_ms)
{
    struct activity_walk w = {.walker = "host:test:1", .took_ms = took_ms, .reservations = 7};
    struct error err = {0};

    ck_assert_ok(activity_walk_record(testing_lane_db, id, &w, &err), &err);
}

/* On sale in every way, or not: only what has units in Redis is walked. */
START_TEST(from_preheat_until_settled)
{
    static const char *const states[] = {"review", "scheduled", "running", "ended", "settled"};
    int64_t ids[10];

    testing_lane_setup(1, NULL);
    ck_assert_uint_eq(due(HOUR, ids), 0); /* not preheated */
    testing_sql("UPDATE activity SET preheated_at=NOW(6)");
    for (int i = 0; i < 5; i++) {
        testing_sql("UPDATE activity SET state='%s'", states[i]);
        ck_assert_uint_eq(due(HOUR, ids), i >= 1 && i <= 3);
    }
}
END_TEST

static void add_activity(int64_t id)
{
    testing_sql("INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,pay_timeout_ms,state,starts_at,"
                "ends_at,preheated_at) VALUES(%" PRId64 ",'test',1,1,'CNY',1,1000,'running',NOW(3),NOW(3)+INTERVAL 1 "
                "HOUR,NOW(6))",
                id);
}

START_TEST(the_longest_due_comes_first)
{
    int64_t ids[10];

    testing_lane_setup(1, NULL);
    testing_sql("UPDATE activity SET preheated_at=NOW(6)");
    for (int64_t id = 1; id <= 4; id++)
        add_activity(id);
    record(1, 0);
    record(2, 10);
    record(3, 10);
    testing_sql("UPDATE activity_walk SET began_at=NOW(6)-INTERVAL 3 HOUR WHERE activity_id=3");
    testing_sql("UPDATE activity_walk SET began_at=NOW(6)-INTERVAL 2 HOUR WHERE activity_id=2");
    ck_assert_uint_eq(due(HOUR, ids), 4); /* 1 was walked just now */
    ck_assert_int_eq(ids[0], 4);          /* two that never were */
    ck_assert_int_eq(ids[1], TESTING_ACTIVITY);
    ck_assert_int_eq(ids[2], 3);
    ck_assert_int_eq(ids[3], 2);
    /* One whose walk takes long rests as long again. */
    testing_sql("UPDATE activity_walk SET took_ms=2*3600*1000 WHERE activity_id=3");
    ck_assert_uint_eq(due(HOUR, ids), 3);
}
END_TEST

START_TEST(one_walker_at_a_time)
{
    struct db *a, *b;

    testing_lane_setup(1, NULL);
    testing_sql("UPDATE activity SET preheated_at=NOW(6)");
    add_activity(2);
    a = open_db(), b = open_db();
    ck_assert(elect(a, TESTING_ACTIVITY));
    ck_assert(!elect(b, TESTING_ACTIVITY));
    ck_assert(elect(b, 2)); /* another activity is nobody's yet */
    ck_assert(!elect(a, 2));
    release(a, TESTING_ACTIVITY);
    ck_assert(elect(b, TESTING_ACTIVITY)); /* it was not walked, so it still is due */
    /* The connection's end is the lock's. */
    db_close(&b);
    testing_wait(elect(a, TESTING_ACTIVITY), 5000, "the lock goes with its connection");
    /* Walked in between: whoever looked before is too late. */
    record(TESTING_ACTIVITY, 5);
    release(a, TESTING_ACTIVITY);
    b = open_db();
    ck_assert(!elect(b, TESTING_ACTIVITY));
    ck_assert(!elect(a, TESTING_ACTIVITY)); /* and the lock was not kept */
    testing_sql("UPDATE activity_walk SET began_at=NOW(6)-INTERVAL 2 HOUR");
    ck_assert(elect(a, TESTING_ACTIVITY));
    db_close(&a);
    db_close(&b);
}
END_TEST

/* The server's lock names are shared by all schemas and limited in length. */
START_TEST(schemas_do_not_share_their_locks)
{
    char other[65];
    struct db *a, *b;

    testing_lane_setup(1, NULL);
    testing_sql("UPDATE activity SET preheated_at=NOW(6)");
    memset(other, 'x', 64);
    other[64] = '\0';
    memcpy(other, testing_schema(), strlen(testing_schema()));
    for (int i = 0; i < 2; i++) {
        other[63] = (char)('a' + i);
        testing_admin("CREATE DATABASE %s; CREATE TABLE %s.activity LIKE activity; CREATE TABLE %s.activity_walk LIKE "
                      "activity_walk; INSERT INTO %s.activity SELECT * FROM activity",
                      other, other, other, other);
    }
    a = open_db(), b = open_db();
    for (int i = 0; i < 2; i++) {
        char use[80];
        struct error err = {0};

        other[63] = (char)('a' + i);
        snprintf(use, sizeof use, "USE %s", other);
        ck_assert_ok(db_run(i ? b : a, slice_of(use), &err), &err);
        ck_assert(elect(i ? b : a, TESTING_ACTIVITY));
    }
    ck_assert(elect(testing_lane_db, TESTING_ACTIVITY));
    db_close(&a);
    db_close(&b);
    for (int i = 0; i < 2; i++) {
        other[63] = (char)('a' + i);
        testing_admin("DROP DATABASE %s", other);
    }
}
END_TEST

START_TEST(the_last_walk_is_remembered)
{
    struct activity_walk w, first = {.walker = "host:1:77",
                                     .took_ms = 1500,
                                     .reservations = 100000,
                                     .recovered = 1,
                                     .deferred = 2,
                                     .mended = 3,
                                     .need_person = 4};
    struct error err = {0};
    int64_t now;

    testing_lane_setup(1, NULL);
    ck_assert_ok(activity_walk_read(testing_lane_db, TESTING_ACTIVITY, &w, &err), &err);
    ck_assert_int_eq(w.walks, 0);
    ck_assert_ok(activity_walk_record(testing_lane_db, TESTING_ACTIVITY, &first, &err), &err);
    record(TESTING_ACTIVITY, 20);
    ck_assert_ok(activity_walk_record(testing_lane_db, TESTING_ACTIVITY, &first, &err), &err);
    now = testing_number("SELECT CAST(UNIX_TIMESTAMP(NOW(3))*1000 AS SIGNED)");
    ck_assert_ok(activity_walk_read(testing_lane_db, TESTING_ACTIVITY, &w, &err), &err);
    ck_assert_int_eq(w.walks, 3);
    ck_assert_str_eq(w.walker, "host:1:77");
    ck_assert_int_le(now - 1500 - 2000, w.began_at);
    ck_assert_int_le(w.began_at, now - 1500 + 1);
    ck_assert_int_eq(w.took_ms, 1500);
    ck_assert_int_eq(w.reservations, 100000);
    ck_assert_int_eq(w.recovered, 1);
    ck_assert_int_eq(w.deferred, 2);
    ck_assert_int_eq(w.mended, 3);
    ck_assert_int_eq(w.need_person, 4);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("activity_walk");
    TCase *c = tcase_create("walk");

    tcase_set_timeout(c, 30);
    tcase_add_test(c, from_preheat_until_settled);
    tcase_add_test(c, the_longest_due_comes_first);
    tcase_add_test(c, one_walker_at_a_time);
    tcase_add_test(c, schemas_do_not_share_their_locks);
    tcase_add_test(c, the_last_walk_is_remembered);
    suite_add_tcase(s, c);
    return testing_main(s);
}
