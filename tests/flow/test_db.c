/* client/db against a real server: sessions, results, keys and guards; conflicts that leave nothing behind; connections
 * that are lost in every way. Each test has its own schema. */
#include "testing.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/db.h"

static struct conf *conf;
static struct db *db;
static char schema[64];
static struct error err;

static struct slice text_of(const struct strbuf *sb)
{
    return (struct slice){sb->data, sb->len};
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

/* As the administrator of the private server. */
static struct db *connect_again(void)
{
    struct db *other = db_open(conf, &err);

    ck_assert_ok(other != NULL, &err);
    return other;
}

static void setup(void)
{
    char sql[128];

    db_library_init();
    conf = testing_conf(NULL);
    conf->mysql_read_timeout = 4000;
    conf->mysql_lock_wait_timeout = 1000;
    snprintf(schema, sizeof schema, "%s", testing_name("orderd_db"));
    db = connect_again();
    snprintf(sql, sizeof sql, "CREATE DATABASE %s CHARACTER SET utf8mb4", schema);
    run(sql);
    db_close(&db);
    conf->mysql_database = schema;
    db = connect_again();
    run("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, u INT NULL, b VARBINARY(1024) NULL, "
        "s VARCHAR(10) NULL, UNIQUE KEY uk_u (u), UNIQUE KEY uk_s (s), CONSTRAINT n_range CHECK (n >= 0)) "
        "ENGINE=InnoDB");
}

static void teardown(void)
{
    char sql[128];

    db_close(&db);
    db = connect_again();
    snprintf(sql, sizeof sql, "DROP DATABASE %s", schema);
    run(sql);
    db_close(&db);
    conf_destroy(&conf);
    db_library_end();
}

/* Fails the test unless this statement fails with this code. */
#define FAILS(sql_, code_)                                                                                             \
    do {                                                                                                               \
        ck_assert_msg(!db_run(db, slice_of(sql_), &err), "%s", sql_);                                                  \
        ck_assert_msg(err.code == (code_), "%s: %s: %s", sql_, error_code_name(err.code), err.text);                   \
    } while (0)

/* ---- opening ---- */

/* Read in a session of ours under the worst defaults a server can have. */
static int64_t under_bad_defaults(const char *sql)
{
    int64_t n;
    struct db *before = db;

    db = connect_again();
    n = number(sql);
    db_close(&db);
    db = before;
    return n;
}

START_TEST(bad_defaults_of_the_server_do_not_count)
{
    int64_t limit, completion, unique, rows;

    testing_administer(
        "SET GLOBAL "
        "sql_select_limit=1, GLOBAL completion_type=1, GLOBAL unique_checks=0, GLOBAL sql_mode='', GLOBAL "
        "autocommit=0");
    limit = under_bad_defaults("SELECT @@sql_select_limit>1000000");
    completion = under_bad_defaults("SELECT @@completion_type='NO_CHAIN'");
    unique = under_bad_defaults("SELECT @@unique_checks");
    rows = under_bad_defaults("SELECT @@autocommit=1 AND @@sql_mode LIKE '%STRICT_ALL_TABLES%'");
    testing_administer(
        "SET GLOBAL sql_select_limit=DEFAULT, GLOBAL completion_type=DEFAULT, GLOBAL unique_checks=DEFAULT, GLOBAL "
        "sql_mode=DEFAULT, GLOBAL autocommit=DEFAULT");
    ck_assert_int_eq(limit, 1);
    ck_assert_int_eq(completion, 1);
    ck_assert_int_eq(unique, 1);
    ck_assert_int_eq(rows, 1);
}
END_TEST

/* In 2017, whatever our clock says. */
START_TEST(clock_of_the_server)
{
    struct db *before = db;
    int64_t told, moved;

    testing_administer("SET GLOBAL init_connect='SET timestamp=1500000000'");
    db = connect_again();
    testing_administer("SET GLOBAL init_connect=DEFAULT");
    told = db_clock_ms(db);
    ck_assert_int_ge(told, INT64_C(1500000000000));
    ck_assert_int_lt(told, INT64_C(1500000060000));
    clock_sleep_ms(20);
    moved = db_clock_ms(db) - told;
    ck_assert_int_ge(moved, 20);
    ck_assert_int_lt(moved, 60000);
    db_close(&db);
    ck_assert_int_gt(db_clock_ms(before), INT64_C(1600000000000));
    db = before;
}
END_TEST

static bool take_plan(void *arg, const struct slice *c, unsigned count)
{
    ck_assert_uint_gt(count, 5);
    snprintf(arg, 16, "%.*s", (int)(c[3].len < 15 ? c[3].len : 15), c[3].ptr ? c[3].ptr : "");
    return false; /* the first line is enough */
}

/* A list of a thousand and more is looked up in an index that is not unique, however large the table is. */
START_TEST(long_lists_use_the_index)
{
    struct strbuf sql = STRBUF_INIT;
    char plan[16] = "";
    struct error ignored;

    if (db_vendor(db) != DB_MARIADB)
        return; /* another server makes no table of it */
    run("CREATE TEMPORARY TABLE paid(id INT PRIMARY KEY AUTO_INCREMENT,no VARCHAR(40) NOT NULL,KEY k_no(no))");
    run("INSERT INTO paid(no) SELECT seq FROM seq_1_to_20000");
    run("ANALYZE TABLE paid");
    strbuf_add_str(&sql, "EXPLAIN SELECT * FROM paid WHERE no IN('x'");
    for (int i = 1; i < 1500; i++)
        strbuf_addf(&sql, ",'%d'", i * 7);
    strbuf_add_char(&sql, ')');
    (void)!db_query(db, (struct slice){sql.data, sql.len}, take_plan, plan, &ignored);
    strbuf_release(&sql);
    ck_assert_str_eq(plan, "range");
}
END_TEST

START_TEST(session)
{
    bool mariadb = db_vendor(db) == DB_MARIADB;

    ck_assert_int_ge(db_version(db), mariadb ? 100600 : 80016);
    ck_assert_int_eq(
        number(mariadb ? "SELECT @@tx_isolation='READ-COMMITTED'" : "SELECT @@transaction_isolation='READ-COMMITTED'"),
        1);
    ck_assert_int_eq(number("SELECT FIND_IN_SET('STRICT_ALL_TABLES',@@sql_mode)>0"), 1);
    ck_assert_int_eq(number("SELECT @@time_zone='+00:00'"), 1);
    ck_assert_int_eq(number("SELECT @@character_set_client='utf8mb4' AND @@character_set_results='utf8mb4' AND "
                            "@@character_set_connection='utf8mb4'"),
                     1);
    ck_assert_int_eq(number("SELECT @@innodb_lock_wait_timeout"), 1);
    ck_assert_int_eq(number("SELECT @@autocommit"), 1);
    ck_assert(db_usable(db));
}
END_TEST

static void refuses(enum error_code code, const char *mentions)
{
    struct db *other = db_open(conf, &err);

    ck_assert_ptr_null(other);
    ck_assert_msg(err.code == code, "%s: %s", error_code_name(err.code), err.text);
    ck_assert_msg(strstr(err.text, mentions), "%s", err.text);
}

START_TEST(cannot_open)
{
    int64_t port = conf->mysql_port;
    const char *password = conf->mysql_password_file;

    conf->mysql_port = 1;
    refuses(ERROR_DB_AWAY, "cannot connect to MySQL at 127.0.0.1:1 as orderd");
    conf->mysql_port = port;
    conf->mysql_password_file = "wrong";
    refuses(ERROR_DB_SETUP, "error 1045");
    ck_assert_msg(!strstr(err.text, "wrong"), "the password is in: %s", err.text);
    conf->mysql_password_file = password;
    conf->mysql_database = "orderd_nowhere";
    refuses(ERROR_DB_SETUP, "error 1049");
    conf->mysql_database = "mysql";
    refuses(ERROR_DB_SETUP, "error 1044");
    conf->mysql_database = schema;
}
END_TEST

START_TEST(opens_by_socket)
{
    struct db *other;

    conf->mysql_socket = testing_env("ORDERD_DB_SOCKET");
    conf->mysql_host = "nowhere.invalid";
    other = connect_again();
    db_close(&other);
    conf->mysql_socket = "/nowhere/sock";
    refuses(ERROR_DB_AWAY, "cannot connect to MySQL at /nowhere/sock as orderd");
    conf->mysql_socket = "";
    conf->mysql_host = testing_env("ORDERD_DB_HOST");
}
END_TEST

/* ---- statements and results ---- */

START_TEST(several_statements)
{
    run("INSERT INTO t(id) VALUES(1),(2),(3);UPDATE t SET n=0 WHERE id<3;SELECT id FROM t;UPDATE t SET n=1 WHERE id=9");
    ck_assert_uint_eq(db_matched(db, 0), 3);
    ck_assert_uint_eq(db_matched(db, 1), 2); /* matched, though nothing changed */
    ck_assert_uint_eq(db_matched(db, 2), 3);
    ck_assert_uint_eq(db_matched(db, 3), 0);
    ck_assert_uint_eq(db_matched(db, 4), 0);
    ck_assert_uint_eq(db_matched(db, 1000), 0);
    ck_assert_uint_eq(db_failed_statement(db), 4);

    FAILS("INSERT INTO t(id) VALUES(4);INSERT INTO t(id) VALUES(1);INSERT INTO t(id) VALUES(5)", ERROR_DB_DUPLICATE);
    ck_assert_uint_eq(db_failed_statement(db), 1);
    ck_assert_uint_eq(db_matched(db, 0), 1);
    ck_assert_uint_eq(db_matched(db, 1), 0);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t WHERE id=4"), 1);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t WHERE id=5"), 0); /* what follows a failure does not run */

    FAILS("nonsense;INSERT INTO t(id) VALUES(6)", ERROR_DB_SETUP);
    ck_assert_uint_eq(db_failed_statement(db), 0);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t WHERE id=6"), 0);
}
END_TEST

START_TEST(hundred_statements)
{
    struct strbuf sql = STRBUF_INIT;

    for (int i = 0; i < 100; i++)
        strbuf_addf(&sql, "%sINSERT INTO t(id) VALUES(%d)", i ? ";" : "", i == 90 ? 1 : i);
    ck_assert(!db_run(db, text_of(&sql), &err));
    ck_assert_uint_eq(db_failed_statement(db), 90);
    ck_assert_uint_eq(db_matched(db, 63), 1);
    ck_assert_uint_eq(db_matched(db, 64), 0); /* not remembered */
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 90);
    strbuf_release(&sql);
}
END_TEST

struct rows {
    unsigned count, stop_after;
    bool null_seen;
    int64_t sum;
};

static bool take_row(void *arg, const struct slice *c, unsigned count)
{
    struct rows *rows = arg;
    int64_t n;

    ck_assert_uint_eq(count, 2);
    rows->null_seen = rows->null_seen || (c[1].ptr == NULL && c[1].len == 0);
    ck_assert(db_column_i64(c[0], &n));
    rows->sum += n;
    return ++rows->count != rows->stop_after;
}

START_TEST(queries)
{
    struct rows rows = {0};
    int64_t n;

    run("INSERT INTO t(id,u) VALUES(1,10),(2,NULL),(3,30)");
    ck_assert_ok(db_query(db, slice_of("SELECT id,u FROM t ORDER BY id"), take_row, &rows, &err), &err);
    ck_assert_uint_eq(rows.count, 3);
    ck_assert_int_eq(rows.sum, 6);
    ck_assert(rows.null_seen);
    rows = (struct rows){.stop_after = 2};
    ck_assert(!db_query(db, slice_of("SELECT id,u FROM t ORDER BY id"), take_row, &rows, &err));
    ck_assert_int_eq(err.code, ERROR_INTERNAL);
    ck_assert_uint_eq(rows.count, 2);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 3); /* the rest was read and dropped */
    ck_assert(!db_query(db, slice_of("DO 1"), take_row, &rows, &err));
    ck_assert_int_eq(err.code, ERROR_INTERNAL);
    ck_assert(!db_query(db, slice_of("SELECT id,u FROM nowhere"), take_row, &rows, &err));
    ck_assert_int_eq(err.code, ERROR_DB_SETUP);

    ck_assert(db_query_i64(db, slice_of("SELECT u FROM t WHERE id=2"), -7, &n, &err));
    ck_assert_int_eq(n, -7);
    ck_assert(db_query_i64(db, slice_of("SELECT u FROM t WHERE id=99"), -7, &n, &err));
    ck_assert_int_eq(n, -7);
    ck_assert_int_eq(number("SELECT -9223372036854775808"), INT64_MIN);
}
END_TEST

START_TEST(columns)
{
    static const struct {
        const char *text;
        bool good;
        int64_t n;
    } table[] = {
        {"0", true, 0},
        {"-12", true, -12},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"12x", false, 0},
        {"1.5", false, 0},
        {"", false, 0},
        {"000000000000000000000000000001", false, 0},
    };
    int64_t n;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ck_assert_msg(db_column_i64(slice_of(table[i].text), &n) == table[i].good, "%s", table[i].text);
        if (table[i].good)
            ck_assert_int_eq(n, table[i].n);
    }
    ck_assert(!db_column_i64((struct slice){NULL, 0}, &n));
    ck_assert(db_column_i64((struct slice){"123", 2}, &n));
    ck_assert_int_eq(n, 12);
}
END_TEST

/* Every byte comes back as it went, and nothing escapes from its quotes. */
START_TEST(hostile_bytes)
{
    static const char injection[] = "x'; DROP TABLE t; -- \\";
    char bytes[256];
    struct strbuf sql = STRBUF_INIT;

    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    strbuf_add_str(&sql, "INSERT INTO t(id,b,s) VALUES(1,");
    db_add_quoted(db, &sql, (struct slice){bytes, 256});
    strbuf_add_str(&sql, ",");
    db_add_quoted(db, &sql, slice_of("\u51ac'\"\\\n%_"));
    strbuf_add_str(&sql, "),(2,");
    db_add_quoted(db, &sql, slice_of(injection));
    strbuf_add_str(&sql, ",");
    db_add_quoted(db, &sql, (struct slice){NULL, 0});
    strbuf_add_str(&sql, "),(3,");
    db_add_quoted(db, &sql, slice_of("\xbf'; DROP TABLE t; -- ")); /* half a character before the quote */
    strbuf_add_str(&sql, ",NULL),(4,");
    db_add_quoted(db, &sql, slice_of("{\"a\":[\"; -- /* `%_#\"]}"));
    strbuf_add_str(&sql, ",NULL)");
    ck_assert_ok(db_run(db, text_of(&sql), &err), &err);
    strbuf_release(&sql);

    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 4);
    ck_assert_int_eq(number("SELECT HEX(b)='7B2261223A5B223B202D2D202F2A2060255F23225D7D' FROM t WHERE id=4"), 1);
    ck_assert_int_eq(number("SELECT LENGTH(b) FROM t WHERE id=1"), 256);
    for (int i = 0; i < 256; i++) {
        char query[96];

        snprintf(query, sizeof query, "SELECT ORD(SUBSTR(b,%d,1)) FROM t WHERE id=1", i + 1);
        ck_assert_int_eq(number(query), i);
    }
    ck_assert_int_eq(number("SELECT CHAR_LENGTH(s)=7 AND HEX(s)='E586AC27225C0A255F' FROM t WHERE id=1"), 1);
    ck_assert_int_eq(number("SELECT HEX(b)=HEX(CONCAT('x',CHAR(39),'; DROP TABLE t; -- ',CHAR(92))) FROM t WHERE id=2"),
                     1);
    ck_assert_int_eq(number("SELECT s='' FROM t WHERE id=2"), 1);
    ck_assert_int_eq(number("SELECT LENGTH(b)=21 FROM t WHERE id=3"), 1);
}
END_TEST

/* ---- what a row may not be ---- */

START_TEST(duplicate_key)
{
    run("INSERT INTO t(id,u,s) VALUES(1,10,'a')");
    FAILS("INSERT INTO t(id) VALUES(1)", ERROR_DB_DUPLICATE);
    ck_assert_str_eq(db_duplicate_key(db), "PRIMARY");
    FAILS("INSERT INTO t(id,u) VALUES(2,10)", ERROR_DB_DUPLICATE);
    ck_assert_str_eq(db_duplicate_key(db), "uk_u");
    /* A value may say what it likes. */
    run("ALTER TABLE t MODIFY s VARCHAR(100)");
    run("INSERT INTO t(id,s) VALUES(3,'x'' for key ''uk_u'' y')");
    FAILS("INSERT INTO t(id,s) VALUES(4,'x'' for key ''uk_u'' y')", ERROR_DB_DUPLICATE);
    ck_assert_str_eq(db_duplicate_key(db), "uk_s");
    db_rollback(db);
    ck_assert_str_eq(db_duplicate_key(db), "uk_s"); /* the caller classifies after it */
    FAILS("INSERT INTO t(id,n) VALUES(5,-1)", ERROR_DB_CHECK);
    ck_assert_str_eq(db_duplicate_key(db), ""); /* not the last one's */
    ck_assert(db_usable(db));
}
END_TEST

START_TEST(bad_rows)
{
    FAILS("INSERT INTO t(id,n) VALUES(1,-1)", ERROR_DB_CHECK);
    FAILS("INSERT INTO t(id,n) VALUES(1,NULL)", ERROR_DB_DATA);
    FAILS("INSERT INTO t(id,n) VALUES(1,99999999999)", ERROR_DB_DATA);
    FAILS("INSERT INTO t(id,n) VALUES(1,'x')", ERROR_DB_DATA);
    FAILS("INSERT INTO t(id,s) VALUES(1,'eleven char')", ERROR_DB_DATA);
    FAILS("INSERT INTO t(id,s) VALUES(1,_utf8mb4 x'ff')", ERROR_DB_DATA);
    FAILS("INSERT INTO nowhere VALUES(1)", ERROR_DB_SETUP);
    FAILS("INSERT INTO t(nowhere) VALUES(1)", ERROR_DB_SETUP);
    FAILS("SELECT FROM", ERROR_DB_SETUP);
    FAILS("SELECT * FROM mysql.user", ERROR_DB_SETUP);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 0);
    ck_assert(db_usable(db));
}
END_TEST

/* ---- guards ---- */

#define TX(update) "BEGIN;INSERT INTO t(id) VALUES(7);" update ";" DB_GUARD_ONE_ROW ";COMMIT"

/* Refused (1568) inside of one. */
#define BETWEEN_TRANSACTIONS "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"

START_TEST(guard)
{
    run("INSERT INTO t(id,n) VALUES(1,5),(2,5)");
    run(TX("UPDATE t SET n=n-1 WHERE id=1 AND n>=1"));
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t WHERE id=7"), 1);
    run("DELETE FROM t WHERE id=7");
    run(TX("UPDATE t SET n=4 WHERE id=1")); /* matched, though nothing changed */
    run("DELETE FROM t WHERE id=7");

    FAILS(TX("UPDATE t SET n=n-9 WHERE id=1 AND n>=9"), ERROR_DB_CHECK);
    ck_assert_uint_eq(db_failed_statement(db), 3);
    ck_assert_uint_eq(db_matched(db, 2), 0);
    db_rollback(db);
    FAILS(TX("UPDATE t SET n=1 WHERE id IN(1,2)"), ERROR_DB_CHECK);
    db_rollback(db);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t WHERE id=7"), 0);
    ck_assert_int_eq(number("SELECT SUM(n) FROM t"), 9);
    run(BETWEEN_TRANSACTIONS);
    ck_assert(db_usable(db));
}
END_TEST

START_TEST(guarded)
{
    bool done = false;

    run("INSERT INTO t(id,n) VALUES(1,5)");
    ck_assert_ok(db_run_guarded(db, slice_of(TX("UPDATE t SET n=n-1 WHERE id=1 AND n=5")), &done, &err), &err);
    ck_assert(done);
    run("DELETE FROM t WHERE id=7");
    ck_assert_ok(db_run_guarded(db, slice_of(TX("UPDATE t SET n=n-1 WHERE id=1 AND n=5")), &done, &err), &err);
    ck_assert(!done && err.code == ERROR_NONE);
    run(BETWEEN_TRANSACTIONS);
    run("INSERT INTO t(id) VALUES(7)");
    ck_assert(!db_run_guarded(db, slice_of(TX("UPDATE t SET n=n-1 WHERE id=1")), &done, &err));
    ck_assert(!done && err.code == ERROR_DB_DUPLICATE);
    run(BETWEEN_TRANSACTIONS);
    ck_assert_int_eq(number("SELECT n FROM t WHERE id=1"), 4);
}
END_TEST

/* ---- conflicts ---- */

START_TEST(lock_wait)
{
    struct db *other = connect_again();

    run("INSERT INTO t(id) VALUES(1)");
    ck_assert_ok(db_run(other, slice_of("BEGIN;UPDATE t SET n=8 WHERE id=1"), &err), &err);
    FAILS("BEGIN;INSERT INTO t(id) VALUES(2);UPDATE t SET n=9 WHERE id=1;COMMIT", ERROR_DB_CONFLICT);
    /* By the session's time-out: the read time-out would be DB_LOST. */
    ck_assert_msg(strstr(err.text, "error 1205"), "%s", err.text);
    ck_assert_uint_eq(db_failed_statement(db), 2);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t WHERE id=2"), 1); /* the transaction is still open ... */
    db_rollback(db);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t WHERE id=2"), 0); /* ... until it is not */
    ck_assert_ok(db_run(other, slice_of("COMMIT"), &err), &err);
    db_close(&other);
    ck_assert_int_eq(number("SELECT n FROM t WHERE id=1"), 8);
    ck_assert(db_usable(db));
}
END_TEST

struct rival {
    struct db *db;
    bool ok;
    struct error err;
};

static void *rival_update(void *arg)
{
    struct rival *r = arg;

    r->ok = db_run(r->db, slice_of("UPDATE t SET n=n+10 WHERE id=2"), &r->err);
    return NULL;
}

START_TEST(deadlock)
{
    struct rival rival = {.db = connect_again()};
    pthread_t thread;
    struct error mine = {0};
    bool ok;

    run("SET innodb_lock_wait_timeout=4");
    ck_assert_ok(db_run(rival.db, slice_of("SET innodb_lock_wait_timeout=4"), &err), &err);
    run("INSERT INTO t(id) VALUES(1),(2)");
    run("BEGIN;UPDATE t SET n=n+1 WHERE id=2");
    ck_assert_ok(db_run(rival.db, slice_of("BEGIN;UPDATE t SET n=n+10 WHERE id=1"), &err), &err);
    ck_assert_int_eq(pthread_create(&thread, NULL, rival_update, &rival), 0);
    ok = db_run(db, slice_of("UPDATE t SET n=n+1 WHERE id=1"), &mine);
    if (!ok)
        db_rollback(db);
    else
        run("COMMIT");
    pthread_join(thread, NULL);
    ck_assert_msg(ok != rival.ok, "one of the two must give way");
    ck_assert_int_eq(ok ? rival.err.code : mine.code, ERROR_DB_CONFLICT);
    ck_assert_msg(strstr(ok ? rival.err.text : mine.text, "error 1213"), "%s", ok ? rival.err.text : mine.text);
    if (rival.ok)
        ck_assert_ok(db_run(rival.db, slice_of("COMMIT"), &err), &err);
    else
        db_rollback(rival.db);
    ck_assert(db_usable(db) && db_usable(rival.db));
    db_close(&rival.db);
    ck_assert_int_eq(number("SELECT SUM(n) FROM t"), ok ? 2 : 20); /* one transaction whole, of the other nothing */
}
END_TEST

/* ---- lost connections ---- */

static void unusable(void)
{
    int64_t n;

    ck_assert(!db_usable(db));
    FAILS("SELECT 1", ERROR_DB_AWAY);
    ck_assert(!db_query_i64(db, slice_of("SELECT 1"), 0, &n, &err));
    ck_assert_int_eq(err.code, ERROR_DB_AWAY);
    db_rollback(db); /* nothing to roll back, and no harm */
}

START_TEST(killed)
{
    char sql[64];

    run("BEGIN;INSERT INTO t(id) VALUES(1)");
    snprintf(sql, sizeof sql, "KILL %" PRId64, number("SELECT CONNECTION_ID()"));
    testing_administer("%s", sql);
    FAILS("INSERT INTO t(id) VALUES(2)", ERROR_DB_LOST);
    unusable();
    db_close(&db);
    db = connect_again();
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 0);
}
END_TEST

struct sleeper {
    struct db *db;
    bool ok;
    struct error err;
};

/* Of two rows: on MySQL only what comes after a SLEEP notices that it was cut short. */
#define SLOW_INSERT                                                                                                    \
    "BEGIN;INSERT INTO t(id,n) SELECT id,SLEEP(3) FROM (SELECT 1 AS id UNION ALL SELECT 2) AS two;COMMIT"

static void *insert_slowly(void *arg)
{
    struct sleeper *s = arg;

    s->ok = db_run(s->db, slice_of(SLOW_INSERT), &s->err);
    return NULL;
}

/* KILL QUERY meets a statement that runs: whether it had an effect is unknown to us, so the connection is given up. */
static void killed_while_running(const char *kill)
{
    struct sleeper sleeper = {.db = connect_again()};
    pthread_t thread;
    int64_t id;
    char sql[128];

    ck_assert_ok(db_query_i64(sleeper.db, slice_of("SELECT CONNECTION_ID()"), 0, &id, &err), &err);
    ck_assert_int_eq(pthread_create(&thread, NULL, insert_slowly, &sleeper), 0);
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM information_schema.processlist WHERE id=%" PRId64 " AND info LIKE '%%SLEEP%%'", id);
    testing_wait(number(sql) == 1, 3000, "the statement runs");
    snprintf(sql, sizeof sql, "%s %" PRId64, kill, id);
    testing_administer("%s", sql);
    pthread_join(thread, NULL);
    ck_assert(!sleeper.ok);
    ck_assert_msg(sleeper.err.code == ERROR_DB_LOST, "%s: %s", kill, sleeper.err.text);
    ck_assert(!db_usable(sleeper.db));
    db_close(&sleeper.db);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 0);
}

START_TEST(killed_in_the_middle)
{
    killed_while_running("KILL");
    killed_while_running("KILL QUERY");
}
END_TEST

START_TEST(read_timeout)
{
    int64_t before = testing_now_ms();

    /* The statement goes on after we gave it up: DB_LOST is "unknown", not "failed". */
    FAILS("INSERT INTO t(id,n) SELECT 1,SLEEP(6)", ERROR_DB_LOST);
    ck_assert_int_ge(testing_now_ms() - before, 3500);
    unusable();
    db_close(&db);
    db = connect_again();
    testing_wait(number("SELECT COUNT(*) FROM t") == 1, 10000, "the lost statement takes effect");
}
END_TEST

static void set_global_i64(const char *variable, int64_t value)
{
    char sql[128];

    snprintf(sql, sizeof sql, "SET GLOBAL %s=%" PRId64, variable, value);
    testing_administer("%s", sql);
}

/* len bytes of one statement. */
static bool run_of_length(size_t len)
{
    static const char head[] = "INSERT INTO t(id,s) VALUES(1,SUBSTR('", tail[] = "',1,1))";
    struct strbuf sql = STRBUF_INIT;
    bool ok;

    strbuf_add_str(&sql, head);
    strbuf_reserve(&sql, len);
    memset(sql.data + sql.len, 'x', len - sql.len);
    sql.len = len - (sizeof tail - 1);
    strbuf_add_str(&sql, tail);
    ck_assert_uint_eq(sql.len, len);
    ok = db_run(db, text_of(&sql), &err);
    strbuf_release(&sql);
    return ok;
}

#define MIB (1024 * 1024)

/* The limit is kept by us: the server would hang up while we still write. */
START_TEST(over_packet_limit)
{
    int64_t limit = number("SELECT @@global.max_allowed_packet");

    set_global_i64("max_allowed_packet", MIB);
    db_close(&db);
    db = db_open(conf, &err);
    set_global_i64("max_allowed_packet", limit);
    ck_assert_ok(db != NULL, &err);
    ck_assert(!run_of_length(3 * MIB));
    ck_assert_msg(err.code == ERROR_DB_DATA, "%s: %s", error_code_name(err.code), err.text);
    ck_assert(!run_of_length(MIB - 3));
    ck_assert_int_eq(err.code, ERROR_DB_DATA);
    ck_assert(db_usable(db));
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 0);
    ck_assert_ok(run_of_length(MIB - 4), &err);
    ck_assert_int_eq(number("SELECT COUNT(*) FROM t"), 1);
}
END_TEST

START_TEST(read_only_server)
{
    bool refused;

    testing_administer("SET GLOBAL read_only=1");
    refused = !db_run(db, slice_of("INSERT INTO t(id) VALUES(1)"), &err);
    testing_administer("SET GLOBAL read_only=0");
    ck_assert(refused);
    ck_assert_msg(err.code == ERROR_DB_READ_ONLY, "%s: %s", error_code_name(err.code), err.text);
    unusable();
}
END_TEST

static void hear(void *arg, const char *sentence)
{
    struct strbuf *all = arg;

    strbuf_addf(all, "%.*s;", (int)strcspn(sentence, " "), sentence);
}

START_TEST(durability)
{
    struct strbuf heard = STRBUF_INIT;
    bool ok;

    ck_assert_ok(db_check_durability(db, hear, &heard, &err), &err);
    ck_assert_uint_eq(heard.len, 0); /* the private server is durable */
    testing_administer("SET GLOBAL innodb_flush_log_at_trx_commit=2, sync_binlog=0");
    ok = db_check_durability(db, hear, &heard, &err);
    testing_administer("SET GLOBAL innodb_flush_log_at_trx_commit=1, sync_binlog=1");
    ck_assert_ok(ok, &err);
    ck_assert_str_eq(heard.data, "innodb_flush_log_at_trx_commit;sync_binlog;");
    strbuf_release(&heard);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("db");
    TCase *t = tcase_create("db");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, session);
    tcase_add_test(t, long_lists_use_the_index);
    tcase_add_test(t, bad_defaults_of_the_server_do_not_count);
    tcase_add_test(t, clock_of_the_server);
    tcase_add_test(t, cannot_open);
    tcase_add_test(t, opens_by_socket);
    tcase_add_test(t, several_statements);
    tcase_add_test(t, hundred_statements);
    tcase_add_test(t, queries);
    tcase_add_test(t, columns);
    tcase_add_test(t, hostile_bytes);
    tcase_add_test(t, duplicate_key);
    tcase_add_test(t, bad_rows);
    tcase_add_test(t, guard);
    tcase_add_test(t, guarded);
    tcase_add_test(t, lock_wait);
    tcase_add_test(t, deadlock);
    tcase_add_test(t, killed);
    tcase_add_test(t, killed_in_the_middle);
    tcase_add_test(t, read_timeout);
    tcase_add_test(t, over_packet_limit);
    tcase_add_test(t, read_only_server);
    tcase_add_test(t, durability);
    suite_add_tcase(s, t);
    return testing_main(s);
}
