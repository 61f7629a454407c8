/* The statements of the relay on a large table: which index serves them, how many rows they touch, whom they wait for,
 * and that no time in them comes from this host. */
#include "testing_relay.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "testing_fact.h"

/* ---- what the server did ---- */

static int64_t handler_reads(void)
{
    int64_t n = testing_number("SELECT SUM(VARIABLE_VALUE) FROM %s.session_status WHERE VARIABLE_NAME LIKE "
                               "'HANDLER_READ%%'",
                               testing_status_schema());

    ck_assert_int_gt(n, 0);
    return n;
}

/* Rows that this session has read since the last call, by index or not. */
static int64_t rows_read(void)
{
    static int64_t before;
    int64_t now = handler_reads(), rows = now - before, after = handler_reads(), own = after - now;

    before = after;
    return rows - own; /* the counters are a table as well */
}

struct texts {
    char **list;
    size_t count;
};

static bool keep_text(void *arg, const struct slice *c, unsigned count)
{
    struct texts *texts = arg;

    texts->list = realloc(texts->list, (texts->count + 1) * sizeof *texts->list);
    ck_assert(texts->list != NULL && count == 1);
    texts->list[texts->count++] = strndup(c[0].ptr, c[0].len);
    return true;
}

static void forget(struct texts *texts)
{
    while (texts->count > 0)
        free(texts->list[--texts->count]);
    free(texts->list);
}

static void log_begin(void)
{
    testing_admin("TRUNCATE mysql.general_log; SET GLOBAL log_output='TABLE'; SET GLOBAL general_log=ON");
}

/* Every statement on the table that came meanwhile, but those that the test marked as its own. */
static struct texts log_end(void)
{
    struct texts texts = {0};
    struct error err = {0};

    testing_admin("SET GLOBAL general_log=OFF; SET GLOBAL log_output='FILE'; CREATE TABLE seen AS SELECT argument FROM "
                  "mysql.general_log WHERE command_type='Query' AND argument LIKE '%%local_message%%' AND argument NOT "
                  "LIKE '%%general_log%%' AND argument NOT LIKE '%%/*test*/%%'");
    ck_assert_ok(db_query(testing_lane_db, slice_of("SELECT argument FROM seen"), keep_text, &texts, &err), &err);
    return texts;
}

/* ---- the large table ---- */

#define DIGITS                                                                                                         \
    "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION "     \
    "SELECT 7 UNION SELECT 8 UNION SELECT 9)"

/* Rows that were sent a day ago, one a millisecond. */
static void fill(int from, int to)
{
    testing_sql("INSERT INTO local_message(message_key,topic,payload,state,attempts,due_at,sent_at) SELECT "
                "CONCAT('order.paid:S',n),'order.paid','x','sent',1,NOW(6)-INTERVAL 1 DAY+INTERVAL n*1000 MICROSECOND,"
                "NOW(6)-INTERVAL 1 DAY FROM (SELECT a.d+10*b.d+100*c.d+1000*d.d+10000*e.d+100000*f.d AS n FROM " DIGITS
                " a," DIGITS " b," DIGITS " c," DIGITS " d," DIGITS " e," DIGITS " f) AS numbers WHERE n>=%d AND n<%d",
                from, to);
}

struct cost {
    int64_t claim, settle, oldest, clean;
};

/* Each once, with 100 due rows; the numbers are rows read. */
static struct cost measure(int round)
{
    struct local_messages list;
    struct cost cost;
    struct error err = {0};
    size_t n;
    int64_t age;
    bool more;
    char prefix[20];

    snprintf(prefix, sizeof prefix, "M%d_", round);
    testing_rows("order.cancel", prefix, 1, 150);
    local_messages_init(&list);
    (void)rows_read();
    ck_assert_ok(local_message_oldest(testing_lane_db, &age, &err), &err);
    cost.oldest = rows_read();
    ck_assert_ok(local_message_claim(testing_lane_db, "me", 30000, 100, &list, &more, &err), &err);
    cost.claim = rows_read();
    ck_assert_uint_eq(list.count, 100);
    ck_assert(more);
    ck_assert_ok(local_message_settle(testing_lane_db, &list, LOCAL_MESSAGE_SENT, 0, NULL, &n, &err), &err);
    cost.settle = rows_read();
    ck_assert_uint_eq(n, 100);
    ck_assert_ok(local_message_clean(testing_lane_db, 3600000, 500, &n, &err), &err);
    cost.clean = rows_read();
    ck_assert_uint_eq(n, 500);
    local_messages_free(&list);
    testing_sql("DELETE /*test*/ FROM local_message WHERE topic='order.cancel'");
    return cost;
}

/* Columns: id, select_type, table, MySQL's partitions, type, possible_keys, key, ... and Extra as the last. */
static bool plan_row(void *arg, const struct slice *c, unsigned count)
{
    const char *sql = arg;
    const struct slice *at = c + (testing_mysql() ? 4 : 3), *extra = c + count - 1;
    char table[40], type[40], key[40];

    ck_assert_uint_ge(count, 10);
    snprintf(table, sizeof table, "%.*s", (int)c[2].len, c[2].ptr ? c[2].ptr : "");
    snprintf(type, sizeof type, "%.*s", (int)at[0].len, at[0].ptr ? at[0].ptr : "");
    snprintf(key, sizeof key, "%.*s", (int)at[2].len, at[2].ptr ? at[2].ptr : "");
    if (strcmp(table, "local_message") != 0) /* the derived table of what an index gave */
        return true;
    ck_assert_msg(strcmp(type, "range") == 0 || strcmp(type, "ref") == 0, "type %s: %s", type, sql);
    if (strstr(sql, "FORCE INDEX(k_due)"))
        ck_assert_msg(strcmp(key, "k_due") == 0 && !memmem(extra->ptr, extra->len, "filesort", 8),
                      "key %s, extra %.*s: %s", key, (int)extra->len, extra->ptr, sql);
    else
        ck_assert_msg(strcmp(key, "PRIMARY") == 0 || strcmp(key, "uk_message_key") == 0, "key %s: %s", key, sql);
    return true;
}

/* The statements as they were really sent, several in one text. */
static int explain_all(const struct texts *texts)
{
    int explained = 0;

    for (size_t i = 0; i < texts->count; i++) {
        char sql[20000];
        struct error err = {0};

        if (strncmp(texts->list[i], "INSERT", 6) == 0)
            continue;
        /* Which rows it locks must not be the server's to decide. */
        ck_assert_msg(strstr(texts->list[i], " FORCE INDEX("), "%s", texts->list[i]);
        snprintf(sql, sizeof sql, "EXPLAIN FORMAT=TRADITIONAL %s", texts->list[i]);
        if (strstr(sql, ";COMMIT"))
            *strstr(sql, ";COMMIT") = '\0';
        ck_assert_ok(db_query(testing_lane_db, slice_of(sql), plan_row, texts->list[i], &err), &err);
        explained++;
    }
    return explained;
}

/* A million sent rows, with and without the server knowing that there are so many. */
START_TEST(a_million_sent_rows)
{
    struct cost small, large;
    struct texts texts;

    testing_relay_setup(NULL);
    fill(0, 1000);
    small = measure(1);
    fill(1000, 100000);
    for (int hundred = 100000; hundred < (TESTING_SMALL ? 100000 : 1000000); hundred += 100000)
        fill(hundred, hundred + 100000);
    large = measure(2);
    log_begin();
    (void)measure(3);
    texts = log_end();
    testing_rows("order.cancel", "P", 1, 50); /* so few that another index than the right one looks better */
    ck_assert_int_eq(explain_all(&texts), 7); /* oldest; lock, lease, load; settle; pick and delete */
    testing_sql("ANALYZE TABLE local_message");
    ck_assert_int_eq(explain_all(&texts), 7);
    forget(&texts);
    printf("rows read of 1,000 and of 1,000,000: claim %" PRId64 " %" PRId64 ", settle %" PRId64 " %" PRId64
           ", oldest %" PRId64 " %" PRId64 ", clean %" PRId64 " %" PRId64 "\n",
           small.claim, large.claim, small.settle, large.settle, small.oldest, large.oldest, small.clean, large.clean);
    ck_assert_int_le(large.claim, small.claim + 10);
    ck_assert_int_le(large.settle, small.settle + 10);
    ck_assert_int_le(large.oldest, small.oldest + 10);
    ck_assert_int_le(large.clean, small.clean + 10);
    ck_assert_int_le(large.claim, 100 * 8);
    ck_assert_int_le(large.clean, 500 * 4);
    testing_admin("DROP TABLE local_message");
}
END_TEST

/* ---- whom they wait for ---- */

static struct db *another(void)
{
    struct error err = {0};
    struct db *db = db_open(testing_relay_conf, &err);

    ck_assert_ok(db != NULL, &err);
    return db;
}

static void run_on(struct db *db, const char *sql)
{
    struct error err = {0};

    ck_assert_ok(db_run(db, slice_of(sql), &err), &err);
}

static size_t claim_on(struct db *db, const char *owner, struct local_messages *list)
{
    struct error err = {0};
    bool more;

    local_messages_init(list);
    ck_assert_ok(local_message_claim(db, owner, 30000, 100, list, &more, &err), &err);
    return list->count;
}

static size_t settle_on(struct db *db, const struct local_messages *list, enum local_message_result result)
{
    struct error err = {0};
    size_t written = 0;

    ck_assert_ok(local_message_settle(db, list, result, 5000, "why", &written, &err), &err);
    return written;
}

START_TEST(claims_divide_the_rows)
{
    struct local_messages mine, theirs, none;
    struct db *db;

    testing_relay_setup(NULL);
    db = another();
    testing_rows("order.paid", "R", 1, 150);
    run_on(db, "BEGIN;SELECT id FROM local_message WHERE message_key='order.paid:R7' FOR UPDATE");
    ck_assert_uint_eq(claim_on(testing_lane_db, "me", &mine), 100); /* nobody's lock is waited for */
    run_on(db, "ROLLBACK");
    ck_assert_uint_eq(claim_on(db, "they", &theirs), 50);
    ck_assert_uint_eq(claim_on(db, "they", &none), 0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE lease_owner='they' AND "
                                    "message_key='order.paid:R7'"),
                     1);
    ck_assert_int_eq(
        testing_number("SELECT COUNT(*) FROM local_message WHERE attempts=1 AND lease_until>NOW(6)+INTERVAL "
                       "29 SECOND AND due_at=lease_until AND first_due_at=created_at"),
        150);
    local_messages_free(&mine);
    local_messages_free(&theirs);
    db_close(&db);
}
END_TEST

/* A mark changes only what its own lease still holds. */
START_TEST(marks_are_fenced)
{
    struct local_messages list, second;

    testing_relay_setup(NULL);
    testing_rows("order.paid", "R", 1, 10);
    ck_assert_uint_eq(claim_on(testing_lane_db, "me.1", &list), 10);
    testing_sql("UPDATE local_message SET lease_owner='they' WHERE id%%2=0");
    testing_sql("UPDATE local_message SET state='sent' WHERE message_key='order.paid:R1'");
    testing_sql("DELETE FROM local_message WHERE message_key='order.paid:R3'");
    ck_assert_uint_eq(settle_on(testing_lane_db, &list, LOCAL_MESSAGE_QUARANTINE), 3);
    ck_assert_int_eq(testing_rows_in("order.paid", "quarantined"), 3);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE lease_owner='they' AND state='pending'"),
                     5);
    local_messages_free(&list);
    /* Nor what a later lease of the same process holds. */
    testing_sql("DELETE FROM local_message");
    testing_rows("order.paid", "R", 1, 1);
    ck_assert_uint_eq(claim_on(testing_lane_db, "me.2", &list), 1);
    testing_sql("UPDATE local_message SET due_at=NOW(6)");
    ck_assert_uint_eq(claim_on(testing_lane_db, "me.3", &second), 1);
    ck_assert_uint_eq(settle_on(testing_lane_db, &list, LOCAL_MESSAGE_AGAIN), 0);
    ck_assert_uint_eq(settle_on(testing_lane_db, &second, LOCAL_MESSAGE_AGAIN), 1);
    local_messages_free(&list);
    local_messages_free(&second);
}
END_TEST

static const struct {
    enum local_message_result result;
    const char *row; /* what it must look like */
} results[] = {
    {LOCAL_MESSAGE_SENT, "state='sent' AND attempts=1 AND sent_at<=NOW(6) AND due_at<=NOW(6)"},
    {LOCAL_MESSAGE_AGAIN,
     "state='pending' AND attempts=1 AND sent_at IS NULL AND due_at>=created_at+INTERVAL 5 SECOND"},
    {LOCAL_MESSAGE_WAIT, "state='pending' AND attempts=0 AND sent_at IS NULL AND due_at>=created_at+INTERVAL 5 SECOND"},
    {LOCAL_MESSAGE_QUARANTINE, "state='quarantined' AND attempts=1 AND sent_at IS NULL AND LENGTH(payload)>0"},
};

START_TEST(results_are_written)
{
    struct local_messages list;

    testing_relay_setup(NULL);
    testing_rows("order.paid", "R", 1, 1);
    ck_assert_uint_eq(claim_on(testing_lane_db, "me", &list), 1);
    ck_assert_uint_eq(settle_on(testing_lane_db, &list, results[_i].result), 1);
    ck_assert_int_eq(
        testing_number("SELECT COUNT(*) FROM local_message WHERE lease_owner IS NULL AND lease_until IS NULL "
                       "AND last_error='why' AND %s",
                       results[_i].row),
        1);
    /* Also where an operator has set the attempts to 0 in the meantime. */
    testing_sql("UPDATE local_message SET state='pending',attempts=0,lease_owner='me'");
    ck_assert_uint_eq(settle_on(testing_lane_db, &list, results[_i].result), 1);
    local_messages_free(&list);
}
END_TEST

/* A transaction that ends ten minutes after its row was due. */
START_TEST(committed_late)
{
    struct db *db;

    testing_relay_setup("poll_interval = \"50ms\";");
    db = another();
    run_on(db, "BEGIN;INSERT INTO local_message(message_key,topic,payload,due_at) VALUES('order.paid:R1','order.paid',"
               "'x',UTC_TIMESTAMP(6)-INTERVAL 10 MINUTE)");
    testing_relay_start(1);
    testing_rows("order.paid", "R", 2, 500); /* due later, sent earlier */
    testing_wait(testing_rows_in("order.paid", "sent") == 499, 5000, "the open transaction holds up nobody");
    run_on(db, "COMMIT");
    testing_wait(testing_rows_in("order.paid", "sent") == 500, 5000, "it is sent");
    testing_relay_stop();
    ck_assert_int_eq(testing_harvest("order.paid", "R", 1, 500, 300).missing, 0);
    db_close(&db);
}
END_TEST

/* Somebody holds locks on rows of a batch: the marks of the others must not be lost with theirs. */
START_TEST(some_rows_are_locked)
{
    struct local_messages list;
    struct db *db;
    int64_t begun;

    testing_relay_setup(NULL);
    db = another();
    testing_rows("order.paid", "R", 1, 20);
    ck_assert_uint_eq(claim_on(testing_lane_db, "me", &list), 20);
    run_on(db, "BEGIN;SELECT id FROM local_message WHERE message_key IN('order.paid:R5','order.paid:R9') FOR UPDATE");
    begun = testing_now_ms();
    ck_assert_uint_eq(settle_on(testing_lane_db, &list, LOCAL_MESSAGE_SENT), 18);
    ck_assert_int_lt(testing_now_ms() - begun, 6000); /* once mysql.lock_wait_timeout, 3 s */
    run_on(db, "ROLLBACK");
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='pending' AND lease_owner='me' AND "
                                    "message_key IN('order.paid:R5','order.paid:R9')"),
                     2);
    ck_assert_int_eq(testing_rows_in("order.paid", "sent"), 18);
    ck_assert_uint_eq(settle_on(testing_lane_db, &list, LOCAL_MESSAGE_SENT), 2);
    local_messages_free(&list);
    db_close(&db);
}
END_TEST

/* ---- no clock but the database's ---- */

/* What can be told of a statement: a moment written out, or seconds or more since 1970. */
static bool names_a_moment(const char *sql)
{
    static regex_t moment;
    static bool compiled;

    if (!compiled)
        ck_assert_int_eq(
            regcomp(&moment, "[0-9]{4}-[0-9]{2}-[0-9]{2}|FROM_UNIXTIME|[^0-9a-fA-F][12][0-9]{9}", REG_EXTENDED), 0);
    compiled = true;
    return regexec(&moment, sql, 0, NULL, 0) == 0;
}

START_TEST(statements_name_no_moment)
{
    struct texts texts;
    struct local_messages list;
    struct strbuf sql = STRBUF_INIT;
    struct error err = {0};

    ck_assert(names_a_moment("due_at<='2026-01-02 10:00:00'"));
    ck_assert(names_a_moment("due_at=FROM_UNIXTIME(1)"));
    ck_assert(names_a_moment("now>1764400000123"));
    testing_relay_setup("poll_interval = \"50ms\"; keep_sent = \"0s\"; clean_interval = \"100ms\"; attempts_max = 2; "
                        "retry_min = \"50ms\"; retry_max = \"100ms\";");
    testing_queue_delete("order.cancel");
    log_begin();
    testing_rows("order.paid", "R", 1, 10);
    testing_rows("order.cancel", "R", 1, 10);
    testing_rows("order.none", "R", 1, 10);
    testing_relay_start(1);
    local_messages_init(&list);
    local_messages_add(&list, slice_of("order.paid:H1"), "order.paid", slice_of("x"), slice_of(""),
                       relay_owner(testing_relay(0)));
    local_message_add_insert(testing_lane_db, &sql, &list, 30000);
    ck_assert_ok(db_run(testing_lane_db, (struct slice){sql.data, sql.len}, &err), &err);
    relay_offer(testing_relay(0), &list);
    testing_wait(testing_number("SELECT COUNT(*) /*test*/ FROM local_message WHERE topic='order.paid'") == 0, 10000,
                 "sent and deleted");
    testing_relay_stop();
    texts = log_end();
    ck_assert_uint_ge(texts.count, 8);
    for (size_t i = 0; i < texts.count; i++)
        ck_assert_msg(!names_a_moment(texts.list[i]), "%s", texts.list[i]);
    forget(&texts);
    strbuf_release(&sql);
}
END_TEST

/* ---- cleaning ---- */

static void make_sent(const char *prefix, int from, int to, const char *age)
{
    testing_rows("order.paid", prefix, from, to);
    testing_sql("UPDATE local_message SET state='sent',sent_at=NOW(6)-INTERVAL %s,due_at=NOW(6)-INTERVAL %s WHERE "
                "state='pending'",
                age, age);
}

static int64_t rows(void)
{
    return testing_number("SELECT COUNT(*) FROM local_message");
}

/* As another process's cleaner does, until this connection is closed. */
static void hold_cleaning(struct db *db)
{
    run_on(db, "SELECT GET_LOCK(CONCAT('orderd.clean.',LEFT(DATABASE(),40)),0)");
}

/* Old ones go, young ones and whatever is not sent stay; in batches; the sending goes on meanwhile. */
START_TEST(cleaning)
{
    struct error err = {0};
    struct db *db, *reader;
    int64_t begun;
    size_t n;

    testing_relay_setup("poll_interval = \"50ms\"; keep_sent = \"1h\"; clean_interval = \"100ms\";");
    db = another();
    reader = another();
    make_sent("O", 1, 15000, "2 HOUR");
    make_sent("Y", 1, 100, "50 MINUTE");
    testing_sql("INSERT INTO local_message(message_key,topic,payload,state,due_at) VALUES('q','order.paid','x',"
                "'quarantined',NOW(6)-INTERVAL 1 YEAR)");
    ck_assert_ok(local_message_clean(testing_lane_db, 3600000, 300, &n, &err), &err);
    ck_assert_uint_eq(n, 300);
    ck_assert_int_eq(rows(), 15101 - 300);
    hold_cleaning(db);
    run_on(reader, "BEGIN;SELECT id FROM local_message WHERE message_key='order.paid:O15000' FOR UPDATE");
    testing_relay_start(3);
    testing_rows("order.cancel", "C", 0, 0);
    testing_wait(testing_rows_in("order.cancel", "sent") == 1, 5000, "they are connected");
    db_close(&db);
    testing_wait(rows() < 15102 - 300, 5000, "the cleaning has begun");
    begun = testing_now_ms();
    testing_rows("order.cancel", "C", 1, 100);
    testing_wait(testing_rows_in("order.cancel", "sent") == 101, 5000, "sent");
    testing_within(begun, 2000);
    ck_assert_int_gt(rows(), 202); /* the cleaning is not over: it cannot be before this */
    db_close(&reader);
    testing_wait(rows() == 202, 20000, "all old rows are deleted");
    clock_sleep_ms(300);
    ck_assert_int_eq(rows(), 202);
    testing_relay_stop();
}
END_TEST

/* While somebody else is the cleaner, nobody cleans; then one of them does. */
START_TEST(one_cleaner)
{
    struct db *db;

    testing_relay_setup("poll_interval = \"1s\"; keep_sent = \"1h\"; clean_interval = \"100ms\";");
    db = another();
    make_sent("O", 1, 5000, "2 HOUR");
    hold_cleaning(db);
    testing_relay_start(3);
    clock_sleep_ms(700);
    ck_assert_int_eq(rows(), 5000);
    db_close(&db); /* dies */
    testing_wait(rows() == 0, 10000, "the next one cleans");
    testing_relay_stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("relay table");
    TCase *c = tcase_create("table");

    tcase_set_timeout(c, 90);
    tcase_add_unchecked_fixture(c, NULL, testing_relay_clean);
    tcase_add_test(c, a_million_sent_rows);
    tcase_add_test(c, claims_divide_the_rows);
    tcase_add_test(c, marks_are_fenced);
    tcase_add_loop_test(c, results_are_written, 0, sizeof results / sizeof *results);
    tcase_add_test(c, committed_late);
    tcase_add_test(c, some_rows_are_locked);
    tcase_add_test(c, statements_name_no_moment);
    tcase_add_test(c, cleaning);
    tcase_add_test(c, one_cleaner);
    suite_add_tcase(s, c);
    return testing_main(s);
}
