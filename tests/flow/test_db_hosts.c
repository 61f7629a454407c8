/* client/db with a primary and a replica, two real servers (tests/pair): which of them is used, when it is left, and
 * what is said where there is none. At each test's beginning a takes writes, b replicates and takes none. */
#include "testing.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orderd/clock.h"
#include "orderd/db.h"
#include "testing_fact.h"
#include "testing_program.h"

static char dir[64], a[32], b[32], password[64];
static struct conf *conf;
static struct error err;
static char takes_no_writes[80], takes_no_writes_any_more[80];

static void pair(const char *fmt, ...) ORDERD_PRINTF(1, 2);
static void pair(const char *fmt, ...)
{
    char what[256], command[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    snprintf(command, sizeof command, "%s/tests/pair %.*s %s %s", testing_env("ORDERD_SOURCE"), (int)strcspn(what, " "),
             what, dir, what + strcspn(what, " "));
    ck_assert_msg(system(command) == 0, "%s", command);
}

static void read_line(const char *name, char *out, size_t size)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "r");
    ck_assert(f && fgets(out, (int)size, f));
    out[strcspn(out, "\n")] = '\0';
    fclose(f);
}

static void start_pair(void)
{
    char port[8];

    snprintf(dir, sizeof dir, "/tmp/orderd_pair_XXXXXX");
    ck_assert(mkdtemp(dir) != NULL);
    pair("start");
    read_line("a/port", port, sizeof port);
    snprintf(a, sizeof a, "127.0.0.1:%s", port);
    read_line("b/port", port, sizeof port);
    snprintf(b, sizeof b, "127.0.0.1:%s", port);
    read_line("password", password, sizeof password);
    pair("sql a 'CREATE DATABASE orderd; CREATE TABLE orderd.t (id INT PRIMARY KEY) ENGINE=InnoDB'");
    pair("caught_up b a");
}

static void stop_pair(void)
{
    char command[128];

    pair("stop");
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ck_assert(system(command) == 0);
}

/* The list of the configuration; NULL ends it. */
static void hosts(const char *first, const char *second)
{
    static char text[300];

    snprintf(text, sizeof text, "%s%s%s", first, second ? ", " : "", second ? second : "");
    conf->mysql_hosts = text;
}

/* Not at a test's end, which one that fails does not come to. */
static void as_at_the_beginning(void)
{
    pair("thaw a");
    pair("thaw b");
    pair("demote b");
    pair("allow a");
}

static void setup(void)
{
    as_at_the_beginning();
    db_library_init();
    conf = testing_conf(NULL);
    conf->mysql_connect_timeout = 1000;
    conf->mysql_read_timeout = 2000;
    conf->mysql_lock_wait_timeout = 1000;
    conf->mysql_password_file = password;
    conf->mysql_database = "orderd";
    conf->mysql_host = "nowhere.invalid"; /* is not used */
    snprintf(takes_no_writes, sizeof takes_no_writes, "takes no writes: %s is on", testing_demoted());
    snprintf(takes_no_writes_any_more, sizeof takes_no_writes_any_more,
             "takes no writes any more: %s is on; nothing was sent", testing_demoted());
    hosts(a, b);
}

static void teardown(void)
{
    conf_destroy(&conf);
    db_library_end();
}

static struct db *opened_at(const char *peer)
{
    struct db *db = db_open(conf, &err);

    ck_assert_ok(db != NULL, &err);
    ck_assert_str_eq(db_peer(db), peer);
    return db;
}

static void refuses(enum error_code code, const char *one, const char *other)
{
    struct db *db = db_open(conf, &err);

    ck_assert_ptr_null(db);
    ck_assert_msg(err.code == code, "%s: %s", error_code_name(err.code), err.text);
    ck_assert_msg(strstr(err.text, one) && strstr(err.text, other), "%s", err.text);
}

static bool reads(struct db *db)
{
    int64_t n;

    return db_query_i64(db, slice_of("SELECT COUNT(*) FROM t"), -1, &n, &err);
}

START_TEST(takes_the_one_that_can_be_written)
{
    struct db *db = opened_at(a);

    ck_assert_ok(db_run(db, slice_of("REPLACE INTO t VALUES (1)"), &err), &err);
    db_close(&db);
    hosts(b, a);
    db = opened_at(a);
    db_close(&db);
    hosts("127.0.0.1:1", a);
    error_clear(&err);
    db = opened_at(a);
    ck_assert_int_eq(err.code, ERROR_NONE); /* what the others said is forgotten */
    db_close(&db);
    hosts(b, NULL);
    refuses(ERROR_DB_READ_ONLY, b, takes_no_writes);
}
END_TEST

/* Every server with its own reason. */
START_TEST(says_why_there_is_none)
{
    hosts("127.0.0.1:1", b);
    refuses(ERROR_DB_READ_ONLY, "cannot connect to MySQL at 127.0.0.1:1", takes_no_writes);
    hosts("127.0.0.1:1", "127.0.0.1:2");
    refuses(ERROR_DB_AWAY, "MySQL at 127.0.0.1:1", "MySQL at 127.0.0.1:2");
    conf->mysql_password_file = "wrong";
    refuses(ERROR_DB_AWAY, "MySQL at 127.0.0.1:1", "MySQL at 127.0.0.1:2");
    hosts("127.0.0.1:1", a);
    refuses(ERROR_DB_AWAY, "MySQL at 127.0.0.1:1", "error 1045"); /* it may come back */
    hosts(a, b);
    refuses(ERROR_DB_SETUP, a, b);
}
END_TEST

static void until_left(struct db *db, enum error_code code, const char *says)
{
    int64_t end = clock_mono_ms() + 20000;

    while (reads(db)) {
        ck_assert_msg(clock_mono_ms() < end, "it is read for ever");
        clock_sleep_ms(10);
    }
    ck_assert_msg(err.code == code, "%s: %s", error_code_name(err.code), err.text);
    ck_assert_msg(strstr(err.text, says), "%s", err.text);
    ck_assert(!db_usable(db));
}

/* Also by who only reads, and would never hear of it. */
START_TEST(leaves_a_server_that_was_demoted)
{
    struct db *reader = opened_at(a), *writer = opened_at(a);

    pair("demote a");
    ck_assert(!db_run(writer, slice_of("REPLACE INTO t VALUES (2)"), &err));
    ck_assert_msg(err.code == ERROR_DB_READ_ONLY, "%s", err.text);
    ck_assert(!db_usable(writer));
    until_left(reader, ERROR_DB_READ_ONLY, takes_no_writes_any_more);
    db_close(&reader);
    db_close(&writer);
    refuses(ERROR_DB_READ_ONLY, a, b);
    pair("allow b");
    reader = opened_at(b);
    db_close(&reader);
}
END_TEST

/* What has begun there is told by the server, at the latest at its COMMIT. */
START_TEST(does_not_ask_inside_a_transaction)
{
    struct db *db = opened_at(a);
    int64_t end;

    ck_assert_ok(db_run(db, slice_of("BEGIN"), &err), &err);
    pair("demote a");
    for (end = clock_mono_ms() + 1500; clock_mono_ms() < end; clock_sleep_ms(50))
        ck_assert_ok(reads(db), &err);
    ck_assert(!db_run(db, slice_of("INSERT INTO t VALUES (3);COMMIT"), &err));
    ck_assert_msg(err.code == ERROR_DB_READ_ONLY, "%s", err.text);
    db_close(&db);
}
END_TEST

/* One thread has found the new primary. The old one hung, and takes writes again. */
START_TEST(the_whole_process_goes_over)
{
    struct db *idle = opened_at(a), *busy = opened_at(a), *in_hand, *db;

    conf->mysql_read_timeout = 30000; /* nor does the server end what lies so long */
    in_hand = opened_at(a);
    conf->mysql_read_timeout = 2000;
    ck_assert_ok(db_run(in_hand, slice_of("BEGIN"), &err), &err);
    pair("freeze a");
    ck_assert(!reads(busy));
    ck_assert_msg(err.code == ERROR_DB_LOST || err.code == ERROR_DB_AWAY, "%s", err.text);
    refuses(ERROR_DB_READ_ONLY, "cannot connect to MySQL at", takes_no_writes);
    pair("allow b");
    db = opened_at(b);
    pair("thaw a");
    ck_assert_ok(reads(db), &err);
    ck_assert(!reads(idle));
    ck_assert_msg(err.code == ERROR_DB_AWAY, "%s: %s", error_code_name(err.code), err.text);
    ck_assert_msg(strstr(err.text, "is not the primary any more, that is") && strstr(err.text, b), "%s", err.text);
    ck_assert_ok(db_run(in_hand, slice_of("ROLLBACK"), &err), &err);
    ck_assert(!db_run(in_hand, slice_of("INSERT INTO t VALUES (4)"), &err));
    ck_assert_int_eq(err.code, ERROR_DB_AWAY);
    db_close(&busy);
    busy = opened_at(b); /* a takes writes too, and comes first in the list */
    db_close(&busy);
    db_close(&idle);
    db_close(&in_hand);
    db_close(&db);
}
END_TEST

struct slow {
    struct conf conf;
    struct error err;
    struct db *db;
};

static void *open_slowly(void *arg)
{
    struct slow *slow = arg;

    slow->db = db_open(&slow->conf, &slow->err);
    return NULL;
}

/* A thread waits for the old one's answer, while another finds the new one: the old one's yes comes too late. */
START_TEST(a_late_answer_leads_nobody_back)
{
    struct slow slow = {.conf = *conf};
    struct db *db = opened_at(a);
    pthread_t thread;

    db_close(&db);
    slow.conf.mysql_connect_timeout = 20000;
    pair("freeze a");
    ck_assert_int_eq(pthread_create(&thread, NULL, open_slowly, &slow), 0);
    pair("allow b");
    db = opened_at(b); /* two time-outs later: the thread has long begun */
    pair("thaw a");
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_ptr_null(slow.db);
    ck_assert_msg(slow.err.code == ERROR_DB_AWAY && strstr(slow.err.text, "meanwhile the primary is"), "%s: %s",
                  error_code_name(slow.err.code), slow.err.text);
    ck_assert_ptr_nonnull(strstr(slow.err.text, b));
    ck_assert_ok(reads(db), &err);
    db_close(&db);
}
END_TEST

/* Who begins cannot know which is the truth. */
START_TEST(takes_none_of_two_that_can_be_written)
{
    char other_name[32];
    struct db *db;

    pair("allow b");
    refuses(ERROR_DB_READ_ONLY, "two servers of mysql.hosts take writes", b);
    ck_assert_ptr_nonnull(strstr(err.text, a));
    pair("demote b");
    db = opened_at(a);
    db_close(&db);
    snprintf(other_name, sizeof other_name, "localhost%s", strchr(a, ':'));
    hosts(a, other_name); /* one server with two names */
    db = opened_at(a);
    db_close(&db);
}
END_TEST

/* One that hangs is looked at for a second, not for as long as a login may take, and not twice. */
START_TEST(a_replica_that_hangs)
{
    int64_t begun = clock_mono_ms(), took;
    struct db *db;

    conf->mysql_connect_timeout = 60000;
    pair("freeze b");
    db = db_open(conf, &err);
    took = clock_mono_ms() - begun;
    pair("thaw b");
    ck_assert_int_lt(took, 60000);
    ck_assert_ok(db != NULL, &err);
    ck_assert_str_eq(db_peer(db), a);
    db_close(&db);
}
END_TEST

/* Who has not even greeted is not asked once more, why there is no TLS: that would cost a second time-out. The kernel
 * takes connections for it, as for a process that is stopped. */
START_TEST(one_that_hangs_is_asked_once)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), asked = 0;
    socklen_t size = sizeof at;
    char name[32];

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(listen(fd, 32), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    snprintf(name, sizeof name, "127.0.0.1:%d", ntohs(at.sin_port));
    hosts(name, NULL);
    refuses(ERROR_DB_AWAY, "cannot connect to MySQL at", name);
    for (int one; (one = accept(fd, NULL, NULL)) >= 0; asked++)
        close(one);
    close(fd);
    ck_assert_int_eq(asked, 1);
}
END_TEST

/* MySQL's other ways to take no writes: of one schema, and of anybody but administrators. */
START_TEST(mysql_shuts_out)
{
    struct db *db;

    if (!testing_mysql())
        return;
    db = opened_at(a);
    pair("sql a 'ALTER SCHEMA orderd READ ONLY=1'");
    ck_assert(!db_run(db, slice_of("INSERT INTO t VALUES (5)"), &err));
    pair("sql a 'ALTER SCHEMA orderd READ ONLY=0'");
    ck_assert_msg(err.code == ERROR_DB_READ_ONLY, "%s: %s", error_code_name(err.code), err.text);
    ck_assert(!db_usable(db));
    db_close(&db);
    db = opened_at(a);
    pair("sql a 'SET GLOBAL offline_mode=1'");
    ck_assert(!reads(db));
    ck_assert_msg(err.code == ERROR_DB_LOST || err.code == ERROR_DB_AWAY, "%s", err.text);
    hosts(a, NULL);
    refuses(ERROR_DB_AWAY, a, "offline mode");
    pair("sql a 'SET GLOBAL offline_mode=0'");
    db_close(&db);
}
END_TEST

/* ---- orderctl doctor ---- */

static struct program doctor;

static void run_doctor(void)
{
    char path[] = "/tmp/orderd_hosts_XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");

    ck_assert(f != NULL);
    fprintf(f,
            "mysql: { hosts = \"%s, %s, 127.0.0.1:1\"; password_file = \"%s/password\"; };\n"
            "broker: { port = 1; };\nredis: { port = 1; };\n",
            a, b, dir);
    fclose(f);
    PROGRAM_RUN(&doctor, "orderctl", "-c", path, "-q", "doctor", "--json");
    unlink(path);
}

static bool told(const char *check, const char *subject, const char *verdict, const char *finding)
{
    char *save = NULL, *out = check_strdup(doctor.out);
    bool found = false;

    for (char *line = strtok_r(out, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        found |= strstr(line, check) && strstr(line, subject) && strstr(line, verdict) && strstr(line, finding);
    free(out);
    return found;
}

static void tells(const char *check, const char *subject, const char *verdict, const char *finding)
{
    ck_assert_msg(told(check, subject, verdict, finding), "not told: %s %s %s %s:\n%s", check, subject, verdict,
                  finding, doctor.out);
}

/* The tests before may have cut the replica off, and it connects again once a second. */
static void until_b_replicates(void)
{
    int64_t end = clock_mono_ms() + 20000;

    do
        run_doctor();
    while (!told("mysql.hosts", b, "\"ok\"", "it takes no writes, and replicates") && clock_mono_ms() < end);
}

START_TEST(doctor_looks_at_each)
{
    until_b_replicates();
    tells("mysql.writable", "", "\"ok\"", a);
    tells("mysql.hosts", a, "\"ok\"", "it takes writes");
    tells("mysql.hosts", b, "\"ok\"", "it takes no writes, and replicates");
    tells("mysql.hosts", "127.0.0.1:1", "\"warning\"", "cannot connect");
    tells("mysql.semi_sync", a, "\"warning\"", "what none has yet is lost with this server");
    pair("deafen b");
    pair("sql b 'SET GLOBAL sync_binlog=0'");
    pair("semi_sync a 1");
    run_doctor();
    pair("semi_sync a 0");
    pair("sql b 'SET GLOBAL sync_binlog=1'");
    pair("listen b");
    tells("mysql.hosts", b, "\"warning\"", "and does not replicate");
    tells("mysql.hosts", b, "\"problem\"", "sync_binlog is not 1");
    tells("mysql.semi_sync", a, "\"ok\"", "a commit waits until a replica has it");
    pair("demote a");
    run_doctor();
    tells("mysql.writable", "", "\"problem\"", "no server of mysql.hosts takes writes");
    pair("allow a");
    pair("allow b");
    run_doctor();
    tells("mysql.writable", "", "\"problem\"", "two servers of mysql.hosts take writes");
}
END_TEST

/* At MySQL that takes a right of its own; MariaDB tells everybody. */
START_TEST(doctor_may_not_see_replication)
{
    const char *tables = "ON performance_schema.replication_connection_status";

    if (!testing_mysql())
        return;
    pair("allow b");
    pair("sql b \"SET sql_log_bin=0; REVOKE SELECT %s FROM orderd@'127.0.0.1'\"", tables);
    pair("demote b");
    run_doctor();
    pair("allow b");
    pair("sql b \"SET sql_log_bin=0; GRANT SELECT %s TO orderd@'127.0.0.1'\"", tables);
    tells("mysql.hosts", b, "\"ok\"", "it takes no writes; whether it replicates this account may not see");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("db_hosts");
    TCase *t = tcase_create("db_hosts");

    tcase_add_unchecked_fixture(t, start_pair, stop_pair);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, takes_the_one_that_can_be_written);
    tcase_add_test(t, says_why_there_is_none);
    tcase_add_test(t, leaves_a_server_that_was_demoted);
    tcase_add_test(t, does_not_ask_inside_a_transaction);
    tcase_add_test(t, the_whole_process_goes_over);
    tcase_add_test(t, a_late_answer_leads_nobody_back);
    tcase_add_test(t, takes_none_of_two_that_can_be_written);
    tcase_add_test(t, a_replica_that_hangs);
    tcase_add_test(t, one_that_hangs_is_asked_once);
    tcase_add_test(t, mysql_shuts_out);
    tcase_add_test(t, doctor_looks_at_each);
    tcase_add_test(t, doctor_may_not_see_replication);
    suite_add_tcase(s, t);
    return testing_main(s);
}
