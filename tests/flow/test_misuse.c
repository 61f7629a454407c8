/* The programs wrongly used, where it takes servers to see it: one that is away, an account without rights. Every
 * command of the tables, with no list of them here, so that a new one is covered by being there. What a command answers
 * where all is well is its measure: it may answer the same (it does not need what is broken), or one sentence with the
 * code of that fault, and nothing is changed. */
#include "testing_misuse.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orderd/exitcode.h"
#include "testing_redis.h"
#include "testing_sale.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- servers that are away ---- */

static const char *const no_server[] = {"config check", "config dump", "config defaults"};

START_TEST(one_away)
{
    static const int codes[] = {EXIT_UNAVAILABLE, EXIT_PARTIAL};
    char port[16];

    misuse_measure();
    snprintf(port, sizeof port, "%d", testing_free_port());
    testing_ctl_configure(&(struct testing_ctl_conf){.db_port = port});
    misuse_all(codes, COUNT(codes), false, "MySQL is away");
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_port = port});
    misuse_all(codes, COUNT(codes), true, "Redis is away");
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_port = port});
    misuse_all(codes, COUNT(codes), true, "RabbitMQ is away");
}
END_TEST

START_TEST(all_away)
{
    char port[16];

    misuse_measure();
    snprintf(port, sizeof port, "%d", testing_free_port());
    testing_ctl_configure(&(struct testing_ctl_conf){.db_port = port, .kv_port = port, .mq_port = port});
    for (size_t c = 0; c < CTL_COMMAND_COUNT; c++) {
        misuse_begin(c, false);
        misuse_run();
        if (misuse_is(c, no_server, COUNT(no_server)))
            ck_assert_int_eq(misuse.code, misuse_usual[c].code);
        else if (misuse_is_report(c))
            ck_assert_int_eq(misuse.code, EXIT_UNAVAILABLE);
        else
            testing_says(&misuse, "orderctl", EXIT_UNAVAILABLE, testing_line_text(&misuse_line));
    }
}
END_TEST

/* ---- accounts without rights ---- */

static char secret[128];

static void make_secret(void)
{
    FILE *f;

    snprintf(secret, sizeof secret, "%s/secret", testing_dir());
    unlink(secret); /* of an earlier test: only to be read */
    f = fopen(secret, "w");
    ck_assert(f != NULL);
    fprintf(f, "secret\n");
    fclose(f);
    ck_assert_int_eq(chmod(secret, 0400), 0);
}

static const int no_rights[] = {EXIT_CONFIG, EXIT_NO_PERMISSION, EXIT_PARTIAL};

START_TEST(no_database_rights)
{
    const char *user = testing_name("orderd_mis");

    misuse_measure();
    make_secret();
    testing_ctl_configure(&(struct testing_ctl_conf){.db_user = user, .db_password_file = secret});
    testing_administer("CREATE USER %s@'127.0.0.1' IDENTIFIED BY 'secret'", user);
    misuse_all(no_rights, COUNT(no_rights), false, "an account of MySQL without rights");
    testing_administer("GRANT SELECT ON %s.schema_migration TO %s@'127.0.0.1'", testing_ctl_schema, user);
    misuse_all(no_rights, COUNT(no_rights), false, "an account of MySQL that sees only the migrations");
    testing_administer("GRANT SELECT ON %s.* TO %s@'127.0.0.1'", testing_ctl_schema, user);
    misuse_all(no_rights, COUNT(no_rights), false, "an account of MySQL that may only look");
    testing_administer("DROP USER %s@'127.0.0.1'", user);
}
END_TEST

START_TEST(no_broker_rights)
{
    const char *user = testing_name("orderd_mis");

    misuse_measure();
    make_secret();
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_user = user, .mq_password_file = secret});
    misuse_all(no_rights, COUNT(no_rights), true, "an unknown account of RabbitMQ");
    testing_rabbitmqctl("add_user %s secret", user);
    misuse_all(no_rights, COUNT(no_rights), true, "an account of RabbitMQ without a vhost");
    testing_rabbitmqctl("set_permissions -p / %s '^$' '^$' '^$'", user);
    misuse_all(no_rights, COUNT(no_rights), true, "an account of RabbitMQ without rights");
    testing_rabbitmqctl("delete_user %s", user);
}
END_TEST

START_TEST(no_redis_rights)
{
    const char *user = testing_name("orderd_mis");
    char more[300];

    misuse_measure();
    make_secret();
    snprintf(more, sizeof more, "user = \"%s\"; password_file = \"%s\";", user, secret);
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_more = more});
    misuse_all(no_rights, COUNT(no_rights), true, "an unknown account of Redis");
    testing_redis_run(sale_kv, "ACL", "SETUSER", user, "on", ">secret", NULL);
    misuse_all(no_rights, COUNT(no_rights), true, "an account of Redis without rights");
    testing_redis_run(sale_kv, "ACL", "DELUSER", user, NULL);
}
END_TEST

/* ---- orderd and orderload ---- */

static void others(int code, const char *how)
{
    static const char *const loads[][4] = {{"sale", "--buyers=1", "--wait=1s"},
                                           {"fill", "1"},
                                           {"rate", "--rate=1", "--seconds=1"},
                                           {"pay", "--share=1", "--wait=1s"},
                                           {"verify", "--ids=/dev/null", "--wait=1s"}};
    char activity[64];

    snprintf(activity, sizeof activity, "--activity=%s", sale_text);
    for (size_t i = 0; i < COUNT(loads); i++) {
        const char *args[12] = {"orderload", "-c", testing_ctl_file, loads[i][0], activity};
        size_t n = 5;

        for (size_t k = 1; loads[i][k]; k++)
            args[n++] = loads[i][k];
        program_start(&misuse, args);
        program_wait(&misuse);
        testing_says(&misuse, "orderload", code, how);
    }
}

START_TEST(load)
{
    const char *empty = misuse_empty_schema();
    char port[16];

    snprintf(port, sizeof port, "%d", testing_free_port());
    testing_ctl_configure(&(struct testing_ctl_conf){.db_port = port});
    others(EXIT_UNAVAILABLE, "MySQL is away");
    testing_ctl_configure(&(struct testing_ctl_conf){.db_user = "orderd_nobody"});
    others(EXIT_CONFIG, "an unknown account of MySQL");
    testing_ctl_configure(&(struct testing_ctl_conf){.schema = empty});
    others(EXIT_CONFIG, "a schema of somebody else");
    testing_ctl_run_sql("DROP DATABASE %s", empty);
}
END_TEST

/* The daemon's last word is a line of its log. It waits for a server that is away, and for nothing else. */
static void daemon_refuses(const char *sentence)
{
    PROGRAM_RUN(&misuse, "orderd", "-c", testing_ctl_file);
    ck_assert_msg(misuse.code == EXIT_CONFIG, "%d: %s", misuse.code, misuse.err);
    ck_assert_msg(strstr(misuse.err, "event=setup_refused") && strstr(misuse.err, sentence), "%s", misuse.err);
}

START_TEST(daemon_start)
{
    const char *empty = misuse_empty_schema();

    testing_ctl_configure(&(struct testing_ctl_conf){.db_user = "orderd_nobody"});
    daemon_refuses("orderd_nobody");
    testing_ctl_configure(&(struct testing_ctl_conf){.schema = empty});
    daemon_refuses("orderctl migrate up");
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_user = "orderd_nobody"});
    daemon_refuses("orderd_nobody");
    testing_ctl_configure(&(struct testing_ctl_conf){.queue_type = "classic"});
    daemon_refuses("broker.queue_type");
    testing_ctl_run_sql("DROP DATABASE %s", empty);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("misuse");
    TCase *t = tcase_create("misuse");

    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, misuse_setup, sale_teardown);
    tcase_add_test(t, one_away);
    tcase_add_test(t, all_away);
    tcase_add_test(t, no_database_rights);
    tcase_add_test(t, no_broker_rights);
    tcase_add_test(t, no_redis_rights);
    tcase_add_test(t, load);
    tcase_add_test(t, daemon_start);
    suite_add_tcase(s, t);
    return testing_main(s);
}
