/* orderctl migrate: a new schema, the same again, two at once, one that was cut short, and databases of other builds.
 * And what every command says when it cannot have its server. */
#include "testing_ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/exitcode.h"
#include "orderd/schema.h"

static size_t migrations(void)
{
    size_t count;

    (void)schema_migrations(&count);
    return count;
}

/* One line for each migration, in this state. */
static void listed(const char *state)
{
    size_t count;
    const struct schema_migration *m = schema_migrations(&count);
    struct strbuf expected = STRBUF_INIT;

    for (size_t i = 0; i < count; i++)
        strbuf_addf(&expected, "{\"version\":%u,\"name\":\"%s\",\"state\":\"%s\"}\n", m[i].version, m[i].name, state);
    ck_assert_str_eq(testing_ctl.out, expected.data);
    strbuf_release(&expected);
}

static void complete(void)
{
    struct error err;

    ck_assert_ok(schema_check(testing_ctl_db, &err), &err);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM schema_migration"), (int64_t)migrations());
}

static int64_t tables(void)
{
    return testing_ctl_number("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE()");
}

START_TEST(from_nothing)
{
    char text[256];

    CTL("migrate", "status", "--json");
    snprintf(text, sizeof text, "orderctl: %zu of %zu migrations are not applied; run `orderctl migrate up`\n",
             migrations(), migrations());
    CTL_SAYS(EXIT_FAILED, text);
    listed("pending");
    CTL("migrate", "up", "--dry-run", "--json");
    CTL_SAYS(EXIT_OK, "");
    listed("pending");
    ck_assert_int_eq(tables(), 0);

    CTL("migrate", "up", "--json");
    CTL_SAYS(EXIT_OK, "");
    listed("applied");
    complete();
    CTL("migrate", "up");
    CTL_SAYS(EXIT_OK, "orderctl: the schema is up to date, nothing was to be done\n");
    ck_assert_str_eq(testing_ctl.out, "");
    CTL("migrate", "up", "-q");
    CTL_SAYS(EXIT_OK, "");
    CTL("migrate", "status", "--json");
    snprintf(text, sizeof text, "orderctl: the schema is up to date: %zu migrations are applied\n", migrations());
    CTL_SAYS(EXIT_OK, text);
    listed("applied");
    CTL("migrate", "status", "--quiet");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "0004_orders                   applied\n"));
}
END_TEST

/* Both end well, and each migration is reported by exactly one of them. */
START_TEST(two_at_once)
{
    static struct program a, b;
    const char *const argv[] = {"orderctl", "-c", testing_ctl_file, "migrate", "up", "--json", NULL};
    size_t lines = 0;

    program_start(&a, argv);
    program_start(&b, argv);
    program_wait(&a);
    program_wait(&b);
    ck_assert_msg(a.code == EXIT_OK && b.code == EXIT_OK, "%d %s%d %s", a.code, a.err, b.code, b.err);
    for (const char *p = a.out; (p = strstr(p, "applied")); p++)
        lines++;
    for (const char *p = b.out; (p = strstr(p, "applied")); p++)
        lines++;
    ck_assert_uint_eq(lines, migrations());
    complete();
}
END_TEST

START_TEST(lock_is_held)
{
    ck_assert_int_eq(testing_ctl_number("SELECT GET_LOCK(CONCAT('orderd.migrate.',LEFT(DATABASE(),40)),1)"), 1);
    CTL("migrate", "up");
    CTL_SAYS(EXIT_TEMPORARY, "orderctl: migrate up: another migration is running; wait for it and run this again\n");
    ck_assert_int_eq(tables(), 0);
}
END_TEST

/* Killed between a statement and its row in schema_migration, at each migration in turn. */
START_TEST(killed_in_between)
{
    char fault[64];
    unsigned step = (unsigned)_i + 1;

    if (step > migrations())
        return;
    snprintf(fault, sizeof fault, "migrate.after_statement=kill@%u", step);
    program_faults(fault);
    CTL("migrate", "up");
    program_faults(NULL);
    ck_assert_int_eq(testing_ctl.code, 128 + 9);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM schema_migration"), step - 1);
    CTL("migrate", "up");
    CTL_SAYS(EXIT_OK, "");
    complete();
}
END_TEST

/* Rows and tables that went missing in whatever way. */
START_TEST(half_applied)
{
    CTL("migrate", "up");
    testing_ctl_run_sql("DELETE FROM schema_migration WHERE version=3");
    CTL("migrate", "up");
    ck_assert_str_eq(testing_ctl.out, "0003_activity_stock           applied\n");
    complete();
    testing_ctl_run_sql("DELETE FROM schema_migration WHERE version=4; DROP TABLE orders");
    CTL("migrate", "status", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_FAILED);
    CTL("migrate", "up");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders"), 0);
    complete();
    testing_ctl_run_sql("DROP TABLE schema_migration");
    CTL("migrate", "up");
    CTL_SAYS(EXIT_OK, "");
    complete();
}
END_TEST

#define CHANGED                                                                                                        \
    "migration 0002_activity was applied from a file with other content: the database was made by another build; "     \
    "restore the file or ask who changed it\n"

/* Longer than mysql.read_timeout: here, since somebody else works with the table. */
START_TEST(takes_long)
{
    struct program up;

    testing_ctl_configure(&(struct testing_ctl_conf){.db_more = "read_timeout = \"2s\"; lock_wait_timeout = \"1s\";"});
    CTL("migrate", "up");
    CTL_SAYS(EXIT_OK, "");
    testing_ctl_run_sql("DELETE FROM schema_migration WHERE version>=13;"
                        "ALTER TABLE orders DROP KEY k_due, ADD KEY k_due (status, expires_at)");
    testing_ctl_run_sql("BEGIN");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders"), 0);
    program_start(&up, (const char *const[]){"orderctl", "-c", testing_ctl_file, "migrate", "up", NULL});
    testing_wait(testing_ctl_number("SELECT COUNT(*) FROM information_schema.processlist WHERE db=DATABASE() AND "
                                    "state='Waiting for table metadata lock' AND time>=3") == 1,
                 15000, "it waits for longer than mysql.read_timeout");
    testing_ctl_run_sql("COMMIT");
    program_wait(&up);
    ck_assert_msg(up.code == EXIT_OK, "%s", up.err);
    complete();
}
END_TEST

START_TEST(changed_file)
{
    CTL("migrate", "up");
    testing_ctl_run_sql("UPDATE schema_migration SET checksum=REPEAT('0',64) WHERE version=2;"
                        "DELETE FROM schema_migration WHERE version=4");
    CTL("migrate", "up");
    CTL_SAYS(EXIT_CONFIG, "orderctl: migrate up: " CHANGED);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM schema_migration WHERE version=4"), 0); /* not applied */
    CTL("migrate", "up", "--dry-run");
    CTL_SAYS(EXIT_CONFIG, "orderctl: migrate up: " CHANGED);
    CTL("migrate", "status", "--json");
    CTL_SAYS(EXIT_CONFIG, "orderctl: migrate status: " CHANGED);
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "{\"version\":2,\"name\":\"0002_activity\",\"state\":\"changed\"}\n"));
    CTL("activity", "list");
    CTL_SAYS(EXIT_CONFIG, "orderctl: activity list: " CHANGED);
}
END_TEST

#define NEWER "the database has migration 9000_later, which this version does not know: install the newer orderd\n"

START_TEST(newer_database)
{
    CTL("migrate", "up");
    testing_ctl_run_sql("INSERT INTO schema_migration(version,name,checksum) VALUES(9000,'9000_later',REPEAT('0',64))");
    CTL("migrate", "up");
    CTL_SAYS(EXIT_CONFIG, "orderctl: migrate up: " NEWER);
    CTL("migrate", "status");
    CTL_SAYS(EXIT_CONFIG, "orderctl: migrate status: " NEWER);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "9000_later                    foreign\n"));
    CTL("activity", "show", "1");
    CTL_SAYS(EXIT_CONFIG, "orderctl: activity show: " NEWER);
}
END_TEST

/* ---- servers that cannot be had ---- */

START_TEST(not_migrated)
{
    static const char *const commands[] = {"list", "show", "approve", "preheat"};

    for (size_t i = 0; i < 4; i++) {
        char expected[256];

        CTL("activity", commands[i], i ? "1" : "--json");
        snprintf(expected, sizeof expected,
                 "orderctl: activity %s: %zu of %zu migrations are not applied: run `orderctl migrate up`\n",
                 commands[i], migrations(), migrations());
        CTL_SAYS(EXIT_CONFIG, expected);
        ck_assert_str_eq(testing_ctl.out, "");
    }
}
END_TEST

/* Standard error begins and ends like this. */
static void says(int code, const char *begin, const char *mentions, const char *server, const char *group)
{
    char end[256];
    size_t len = strlen(testing_ctl.err);

    if (code == EXIT_UNAVAILABLE)
        snprintf(end, sizeof end, "; see that %s is up and that the group %s of %s is right\n", server, group,
                 testing_ctl_file);
    else
        snprintf(end, sizeof end, "; the group %s of %s says which server and account\n", group, testing_ctl_file);
    ck_assert_int_eq(testing_ctl.code, code);
    ck_assert_msg(strncmp(testing_ctl.err, begin, strlen(begin)) == 0, "%s", testing_ctl.err);
    ck_assert_msg(strstr(testing_ctl.err, mentions) != NULL, "%s", testing_ctl.err);
    ck_assert_msg(len > strlen(end) && strcmp(testing_ctl.err + len - strlen(end), end) == 0, "%s", testing_ctl.err);
    ck_assert_ptr_eq(strchr(testing_ctl.err, '\n'), testing_ctl.err + len - 1); /* one line */
    ck_assert_str_eq(testing_ctl.out, "");
}

START_TEST(no_server)
{
    testing_ctl_configure(&(struct testing_ctl_conf){.db_port = "1", .mq_port = "1", .kv_port = "1"});
    CTL("migrate", "status");
    says(EXIT_UNAVAILABLE,
         "orderctl: migrate status: cannot connect to MySQL at 127.0.0.1:1 as orderd: ", "error 200", /* 2 or 3 */
         "MySQL", "mysql");
    CTL("activity", "list");
    says(EXIT_UNAVAILABLE,
         "orderctl: activity list: cannot connect to MySQL at 127.0.0.1:1 as orderd: ", "error 200", /* 2 or 3 */
         "MySQL", "mysql");
    CTL("topology", "check");
    says(EXIT_UNAVAILABLE, "orderctl: topology check: cannot connect to broker 127.0.0.1:1", "Connection refused",
         "RabbitMQ", "broker");
}
END_TEST

START_TEST(wrong_account)
{
    char wrong[128];
    FILE *f;

    snprintf(wrong, sizeof wrong, "%s/wrong.secret", testing_dir());
    ck_assert((f = fopen(wrong, "w")) != NULL);
    fputs("not the password\n", f);
    fclose(f);
    testing_ctl_configure(&(struct testing_ctl_conf){.db_password_file = wrong, .mq_password_file = wrong});
    CTL("migrate", "up");
    says(EXIT_CONFIG, "orderctl: migrate up: cannot connect to MySQL at ", "error 1045", "MySQL", "mysql");
    CTL("topology", "apply");
    says(EXIT_CONFIG, "orderctl: topology apply: ", "ACCESS_REFUSED", "RabbitMQ", "broker");
    testing_ctl_configure(&(struct testing_ctl_conf){.schema = "orderd_nowhere", .vhost = "nowhere"});
    CTL("migrate", "status");
    says(EXIT_CONFIG, "orderctl: migrate status: cannot connect to MySQL at ", "error 1049", "MySQL", "mysql");
    CTL("topology", "check");
    says(EXIT_CONFIG, "orderctl: topology check: ", "vhost nowhere not found", "RabbitMQ", "broker");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ctl_migrate");
    TCase *t = tcase_create("migrate");

    tcase_add_checked_fixture(t, testing_ctl_setup, testing_ctl_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, from_nothing);
    tcase_add_test(t, two_at_once);
    tcase_add_test(t, lock_is_held);
    tcase_add_loop_test(t, killed_in_between, 0, 4);
    tcase_add_test(t, half_applied);
    tcase_add_test(t, takes_long);
    tcase_add_test(t, changed_file);
    tcase_add_test(t, newer_database);
    tcase_add_test(t, not_migrated);
    tcase_add_test(t, no_server);
    tcase_add_test(t, wrong_account);
    suite_add_tcase(s, t);
    return testing_main(s);
}
