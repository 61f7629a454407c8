/* Rows in binary (db_insert_rows) against a real server: every value comes back as it went; what is refused is said as
 * for text, and leaves nothing after a rollback; a transaction that is left open is ended by the server. */
#include "testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/db.h"

#define COLUMNS 3
static const char insert[] = "INSERT INTO t(id,n,s) VALUES(?,?,?)";

static struct conf *conf;
static struct db *db;
static char schema[64];
static struct error err;

static struct db *connect_again(void)
{
    struct db *other = db_open(conf, &err);

    ck_assert_ok(other != NULL, &err);
    return other;
}

static void run(const char *sql)
{
    ck_assert_ok(db_run(db, slice_of(sql), &err), &err);
}

static int64_t number(const char *sql)
{
    int64_t n;

    ck_assert_ok(db_query_i64(db, slice_of(sql), -1, &n, &err), &err);
    return n;
}

static void in_schema(const char *verb, const char *more)
{
    char sql[160];

    snprintf(sql, sizeof sql, "%s DATABASE %s%s", verb, schema, more);
    db = connect_again();
    run(sql);
    db_close(&db);
}

static void teardown(void)
{
    db_close(&db);
    in_schema("DROP", "");
    conf_destroy(&conf);
    db_library_end();
}

static void setup(void)
{
    db_library_init();
    conf = testing_conf(NULL);
    conf->mysql_read_timeout = 3000;
    conf->mysql_lock_wait_timeout = 1000;
    snprintf(schema, sizeof schema, "%s", testing_name("orderd_rows"));
    in_schema("CREATE", " CHARACTER SET utf8mb4");
    conf->mysql_database = schema;
    db = connect_again();
    if (!db_takes_rows(db, COLUMNS, 1)) {
        teardown();
        exit(0); /* not MariaDB on both sides: nothing of this is used there, and the test counts as passed */
    }
    run("CREATE TABLE t (id BIGINT PRIMARY KEY, n INT NULL, s VARBINARY(300) NULL, UNIQUE KEY uk_n (n), CONSTRAINT "
        "n_range CHECK (n >= 0)) ENGINE=InnoDB");
}

/* What one call sends; at most this many rows. */
#define ROWS_MAX 3000
static int64_t id[ROWS_MAX], n[ROWS_MAX];
static const char *s[ROWS_MAX];
static unsigned long length[ROWS_MAX];
static char null_n[ROWS_MAX], null_s[ROWS_MAX];

static void set(size_t i, int64_t id_, int64_t n_, struct slice s_)
{
    id[i] = id_;
    n[i] = n_;
    s[i] = s_.ptr;
    length[i] = s_.len;
    null_n[i] = 0;
    null_s[i] = s_.ptr == NULL;
}

/* Rows first, first + 1, ... with an n like their id. */
static void fill(int64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        set(i, first + (int64_t)i, first + (int64_t)i, slice_of("text"));
}

static bool send(const char *sql, size_t count)
{
    const struct db_column columns[COLUMNS] = {
        {.values = id}, {.values = n, .nulls = null_n}, {.values = s, .lengths = length, .nulls = null_s}};

    return db_insert_rows(db, sql, columns, COLUMNS, count, &err);
}

static void fails(size_t count, enum error_code code, const char *words)
{
    ck_assert(!send(insert, count));
    ck_assert_msg(err.code == code && strstr(err.text, words), "%s: %s", error_code_name(err.code), err.text);
}

START_TEST(values_come_back)
{
    char bytes[256];
    int64_t sum = 0;

    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    set(0, INT64_MIN, 0, (struct slice){bytes, sizeof bytes});
    set(1, INT64_MAX, INT32_MAX, slice_of(""));
    set(2, -1, 7, (struct slice){NULL, 0});
    null_n[2] = 1;
    ck_assert_ok(send(insert, 3), &err);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t WHERE id=-9223372036854775808 AND n=0 AND LENGTH(s)=256"), 1);
    for (int i = 0; i < 256; i++) {
        char sql[96];

        snprintf(sql, sizeof sql, "SELECT ORD(SUBSTRING(s,%d,1)) FROM t WHERE n=0", i + 1);
        sum += number(sql) == i;
    }
    ck_assert_int_eq(sum, 256);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t WHERE id=9223372036854775807 AND n=2147483647 AND s=''"), 1);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t WHERE id=-1 AND n IS NULL AND s IS NULL"), 1);
}
END_TEST

START_TEST(any_number_of_rows_again_and_again)
{
    static const size_t counts[] = {1, 3000, 2, 999, 1};
    int64_t first = 1;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        fill(first, counts[i]);
        ck_assert_ok(send(insert, counts[i]), &err);
        first += (int64_t)counts[i];
        ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), first - 1); /* and text goes between */
    }
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t WHERE id=n AND s='text'"), first - 1);
    ck_assert_int_eq(number("SELECT SUM(id)"
                            " FROM t"),
                     first * (first - 1) / 2);
}
END_TEST

START_TEST(another_statement_and_another_table)
{
    static const char into_u[] = "INSERT INTO u(id,n,s) VALUES(?,?,?)";

    run("CREATE TABLE u LIKE t");
    fill(1, 10);
    ck_assert_ok(send(insert, 10), &err);
    ck_assert_ok(send(into_u, 5), &err);
    run("ALTER TABLE u ADD COLUMN more INT NOT NULL DEFAULT 5");
    fill(11, 10);
    ck_assert_ok(send(into_u, 10), &err);
    ck_assert_ok(send(insert, 10), &err);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 20);
    ck_assert_int_eq(number("SELECT SUM(more) FROM u"), 75);
    run("DROP TABLE u");
    ck_assert(!send(into_u, 1));
    ck_assert_int_eq(err.code, ERROR_DB_SETUP);
    ck_assert(db_usable(db));
    fill(21, 1);
    ck_assert_ok(send(insert, 1), &err);
}
END_TEST

START_TEST(one_that_is_refused)
{
    run("INSERT INTO t(id,n) VALUES(500,100000),(100001,600)");
    run("BEGIN");
    fill(1, 1000);
    fails(1000, ERROR_DB_DUPLICATE, "1062");
    ck_assert_str_eq(db_duplicate_key(db), "PRIMARY");
    db_rollback(db);
    ck_assert_str_eq(db_duplicate_key(db), "PRIMARY");
    fill(501, 300);
    run("BEGIN");
    fails(300, ERROR_DB_DUPLICATE, "1062");
    ck_assert_str_eq(db_duplicate_key(db), "uk_n");
    db_rollback(db);
    fill(1, 3);
    n[1] = -5;
    run("BEGIN");
    fails(3, ERROR_DB_CHECK, "n_range");
    db_rollback(db);
    n[1] = INT64_MAX;
    run("BEGIN");
    fails(3, ERROR_DB_DATA, "1264");
    db_rollback(db);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 2);
    fill(1, 3);
    ck_assert_ok(send(insert, 3), &err);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 5);
}
END_TEST

START_TEST(killed_in_between)
{
    char sql[64];

    run("BEGIN");
    fill(1, 100);
    ck_assert_ok(send(insert, 100), &err);
    snprintf(sql, sizeof sql, "KILL %" PRId64, number("SELECT CONNECTION_ID()"));
    testing_administer("%s", sql);
    fails(1, ERROR_DB_LOST, "error");
    ck_assert(!db_usable(db));
    fails(1, ERROR_DB_AWAY, "lost");
    db_close(&db);
    db = connect_again();
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 0);
}
END_TEST

/* As a process that was stopped, or whose line was cut, between two round trips: its rows are free again, soon. */
START_TEST(left_open)
{
    struct db *stopped = db;
    bool free_again = false;

    run("BEGIN");
    fill(1, 100);
    ck_assert_ok(send(insert, 100), &err);
    db = connect_again();
    for (int64_t end = testing_now_ms() + 20000; !free_again && testing_now_ms() < end;)
        free_again = send(insert, 100);
    ck_assert_ok(free_again, &err);
    ck_assert(!db_run(stopped, slice_of("COMMIT"), &err));
    ck_assert_msg(err.code == ERROR_DB_LOST, "%s: %s", error_code_name(err.code), err.text);
    db_close(&stopped);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 100);
}
END_TEST

/* Also where it had only locked them, as payments and cancellations do before they write. */
START_TEST(left_locked)
{
    struct db *stopped = db;
    bool free_again = false;

    fill(1, 100);
    ck_assert_ok(send(insert, 100), &err);
    run("BEGIN");
    ck_assert_int_eq(number("SELECT COUNT(*) FROM (SELECT id FROM t WHERE id BETWEEN 5 AND 9 FOR UPDATE) AS locked"),
                     5);
    db = connect_again();
    for (int64_t end = testing_now_ms() + 15000; !free_again && testing_now_ms() < end;)
        free_again = db_run(db, slice_of("UPDATE t SET s='x' WHERE id=7"), &err);
    ck_assert_ok(free_again, &err);
    ck_assert(!db_run(stopped, slice_of("COMMIT"), &err));
    ck_assert_msg(err.code == ERROR_DB_LOST, "%s: %s", error_code_name(err.code), err.text);
    db_close(&stopped);
}
END_TEST

/* A statement over the server's limit would cost the connection: such a server gets text, in pieces as ever. */
START_TEST(more_than_a_packet)
{
    int64_t before = number("SELECT @@global.max_allowed_packet");
    struct db *other;

    ck_assert(db_takes_rows(db, COLUMNS, 10000));
    ck_assert(!db_takes_rows(db, COLUMNS, 70000));
    testing_administer("SET GLOBAL max_allowed_packet=1048576");
    other = db_open(conf, &err);
    testing_administer("SET GLOBAL max_allowed_packet=%" PRId64, before);
    ck_assert_ok(other != NULL, &err);
    ck_assert(db_takes_rows(other, COLUMNS, 5000));
    ck_assert(!db_takes_rows(other, COLUMNS, 10000));
    db_close(&other);
}
END_TEST

/* A server that prepares nothing: said once, and then this connection does without. */
START_TEST(nothing_is_prepared)
{
    int64_t before = number("SELECT @@global.max_prepared_stmt_count");
    bool sent;

    testing_administer("SET GLOBAL max_prepared_stmt_count=0");
    run("BEGIN");
    fill(1, 100);
    sent = send(insert, 100);
    testing_administer("SET GLOBAL max_prepared_stmt_count=%" PRId64, before);
    ck_assert(!sent);
    ck_assert_msg(err.code == ERROR_DB_UNKNOWN && strstr(err.text, "1461"), "%s", err.text);
    ck_assert(db_usable(db) && !db_takes_rows(db, COLUMNS, 100));
    db_rollback(db);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 0);
    db_close(&db);
    db = connect_again();
    ck_assert(db_takes_rows(db, COLUMNS, 100));
    ck_assert_ok(send(insert, 100), &err);
}
END_TEST

START_TEST(fewer_than_were_sent)
{
    run("INSERT INTO t(id,n) VALUES(50,100000)");
    run("BEGIN");
    fill(1, 100);
    ck_assert(!send("INSERT IGNORE INTO t(id,n,s) VALUES(?,?,?)", 100));
    ck_assert_msg(err.code == ERROR_INTERNAL && strstr(err.text, "99 rows of 100"), "%s", err.text);
    ck_assert(db_usable(db) && !db_takes_rows(db, COLUMNS, 100));
    db_rollback(db);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("db_rows");
    TCase *t = tcase_create("db_rows");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 40);
    tcase_add_test(t, values_come_back);
    tcase_add_test(t, any_number_of_rows_again_and_again);
    tcase_add_test(t, another_statement_and_another_table);
    tcase_add_test(t, one_that_is_refused);
    tcase_add_test(t, killed_in_between);
    tcase_add_test(t, left_open);
    tcase_add_test(t, left_locked);
    tcase_add_test(t, more_than_a_packet);
    tcase_add_test(t, nothing_is_prepared);
    tcase_add_test(t, fewer_than_were_sent);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
