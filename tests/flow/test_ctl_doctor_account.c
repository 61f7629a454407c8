/* orderctl doctor with other accounts: what each may not do or see is told with the advice for just that, once. */
#include "testing_doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing_redis.h"

#include "../../src/program/ctl/doctor.h"

/* With a right to one table only, or with INSERT instead of SELECT, nobody knows which migrations are applied: they
 * are. */
static void history_unseen(const char *user, const char *const *tables, size_t count)
{
    struct doctor_heard h;

    testing_administer("REVOKE SELECT ON %s.schema_migration FROM %s@'127.0.0.1'", testing_ctl_schema, user);
    for (int round = 0; round < 2; round++) {
        doctor_run(EXIT_FAILED);
        h = doctor_hear("mysql.schema", NULL);
        ck_assert_str_eq(h.verdict, "problem");
        ck_assert(strncmp(h.finding, "which migrations are applied is not known to this account: ", 59) == 0);
        ck_assert_ptr_nonnull(strstr(h.finding, "SELECT command denied"));
        ck_assert_str_eq(h.advice, "give the account its rights: docs/accounts/mysql-2-rights.sql");
        ck_assert_str_eq(doctor_hear("mysql.privilege", "orders").verdict, round == 0 ? "" : "problem");
        ck_assert_ptr_null(strstr(testing_ctl.out, "migrate up"));
        CTL("migrate", "status");
        ck_assert_int_eq(testing_ctl.code, EXIT_CONFIG);
        for (size_t i = 0; round == 0 && i < count; i++) {
            if (strcmp(tables[i], "local_message") != 0 && strcmp(tables[i], "payment") != 0)
                testing_administer("REVOKE ALL ON %s.%s FROM %s@'127.0.0.1'", testing_ctl_schema, tables[i], user);
        }
    }
}

/* An account that may do everything but one thing, and one that may not even look. */
START_TEST(privileges)
{
    static const char *const tables[] = {
#define X(table, insert, update, delete) #table,
#include "orderd/tbl/doctor_privilege.h"
#undef X
    };
    const char *user = testing_name("orderd_doc");
    char path[128];

    doctor_write_secret(user, path);
    testing_administer("CREATE USER %s@'127.0.0.1' IDENTIFIED BY 'secret'", user);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        testing_administer("GRANT SELECT,INSERT,UPDATE,DELETE ON %s.%s TO %s@'127.0.0.1'", testing_ctl_schema,
                           tables[i], user);
    testing_ctl_configure(&(struct testing_ctl_conf){.db_user = user, .db_password_file = path});
    doctor_all_good();
    testing_administer("REVOKE DELETE ON %s.local_message FROM %s@'127.0.0.1'", testing_ctl_schema, user);
    doctor_only("mysql.privilege", "local_message", "problem", "the account lacks DELETE");
    testing_administer("GRANT DELETE ON %s.local_message TO %s@'127.0.0.1'", testing_ctl_schema, user);
    testing_administer("REVOKE INSERT,UPDATE ON %s.orders FROM %s@'127.0.0.1'", testing_ctl_schema, user);
    doctor_only("mysql.privilege", "orders", "problem", "the account lacks INSERT, UPDATE");
    testing_administer("GRANT INSERT,UPDATE ON %s.orders TO %s@'127.0.0.1'", testing_ctl_schema, user);
    testing_administer("REVOKE ALL ON %s.payment FROM %s@'127.0.0.1'", testing_ctl_schema, user);
    doctor_only("mysql.privilege", "payment", "problem", "the account lacks SELECT");
    ck_assert_str_eq(doctor_hear("mysql.privilege", "payment").advice,
                     "GRANT it to the account of the group mysql: docs/accounts/mysql-2-rights.sql");
    ck_assert_int_eq((int)testing_ctl_number("SELECT COUNT(*) FROM orders"), 0); /* nothing is ever run */
    history_unseen(user, tables, sizeof tables / sizeof *tables);
    testing_administer("DROP USER %s@'127.0.0.1'", user);
    unlink(path);
}
END_TEST

/* ---- the broker ---- */

#define APPLY                                                                                                          \
    "; `orderctl topology apply` makes what is missing; what is different must be drained, deleted and made again\n"

/* All of it missing: each by its name, and once what to do. Then the daemon's account of docs/accounts, which may look
 * at none of it: one line. */
START_TEST(unseen)
{
    const char *vhost = testing_ctl_schema;
    char path[128];

    testing_rabbitmqctl("add_vhost %s", vhost);
    testing_rabbitmqctl("set_permissions -p %s %s '.*' '.*' '.*'", vhost, testing_env("ORDERD_MQ_USER"));
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost});
    CTL("doctor");
    ck_assert_int_eq(testing_ctl.code, EXIT_FAILED);
    ck_assert_uint_gt(doctor_times(testing_ctl.out, " is missing"), 5);
    ck_assert_uint_eq(doctor_times(testing_ctl.out, APPLY), 1);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "order: this exchange is missing" APPLY));
    CTL("-q", "topology", "apply");

    doctor_write_secret(vhost, path);
    testing_rabbitmqctl("add_user %s secret", vhost);
    testing_rabbitmqctl("set_permissions -p %s %s '^$' '.*' '.*'", vhost, vhost);
    testing_ctl_configure(&(struct testing_ctl_conf){
        .vhost = vhost, .mq_user = vhost, .mq_password_file = path, .mq_more = "topology = \"trust\";"});
    doctor_all_good();
    ck_assert_uint_eq(doctor_times(testing_ctl.out, "\"check\":\"broker.topology\""), 1);
    ck_assert_ptr_nonnull(strstr(doctor_hear("broker.topology", NULL).finding,
                                 " exchanges and queues may not be looked at by this account"));
    ck_assert_str_eq(doctor_hear("broker.topology", NULL).advice, "run doctor with orderctl's account (docs/accounts)");
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost, .mq_user = vhost, .mq_password_file = path});
    doctor_only("broker.topology", NULL, "problem", " may not be looked at by this account");
    ck_assert_ptr_nonnull(strstr(doctor_hear("broker.topology", NULL).advice, "broker.topology = \"trust\""));
    testing_rabbitmqctl("delete_user %s", vhost);
    testing_rabbitmqctl("delete_vhost %s", vhost);
    unlink(path);
}
END_TEST

/* ---- files ---- */

/* One file that two groups name is told of once; so is a configuration that is included twice. */
START_TEST(files_once)
{
    const char *user = testing_name("orderd_twice");
    char secret[128], included[160], subject[200], kv[200], more[400];
    FILE *f;

    doctor_write_secret(user, secret);
    testing_administer("CREATE USER %s@'127.0.0.1' IDENTIFIED BY 'secret'", user);
    testing_administer("GRANT ALL ON %s.* TO %s@'127.0.0.1'", testing_ctl_schema, user);
    snprintf(included, sizeof included, "%s/%s.included", testing_dir(), testing_ctl_schema);
    ck_assert((f = fopen(included, "w")) != NULL);
    fputs("# nothing\n", f);
    fclose(f);
    ck_assert_int_eq(chmod(included, 0600), 0);
    snprintf(kv, sizeof kv, "user = \"default\"; password_file = \"%s\";", secret); /* which needs none */
    snprintf(more, sizeof more, "\n@include \"%s\"\n@include \"%s\"\n", strrchr(included, '/') + 1,
             strrchr(included, '/') + 1);
    testing_ctl_configure(
        &(struct testing_ctl_conf){.db_user = user, .db_password_file = secret, .kv_more = kv, .more = more});
    doctor_all_good();
    snprintf(subject, sizeof subject, "\"subject\":\"%s\"", secret);
    ck_assert_uint_eq(doctor_times(testing_ctl.out, subject), 1);
    snprintf(subject, sizeof subject, "\"subject\":\"%s\"", included);
    ck_assert_uint_eq(doctor_times(testing_ctl.out, subject), 1);
    testing_administer("DROP USER %s@'127.0.0.1'", user);
    unlink(secret);
}
END_TEST

/* ---- what was answered ---- */

/* A refused login is no outage: nothing gets better by waiting. */
START_TEST(refused)
{
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = "no_such_vhost"});
    doctor_only("broker.server", NULL, "problem", "no_such_vhost");
    ck_assert_ptr_nonnull(strstr(doctor_hear("broker.server", NULL).advice, "see that broker.vhost is right"));
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_user = "orderd_nobody"});
    doctor_only("broker.server", NULL, "problem", "orderd_nobody");
    ck_assert_ptr_nonnull(
        strstr(doctor_hear("broker.server", NULL).advice, "let broker.user and broker.password_file be"));
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_more = "user = \"orderd_nobody\";"});
    doctor_only("redis.server", NULL, "problem", "WRONGPASS");
    ck_assert_ptr_nonnull(
        strstr(doctor_hear("redis.server", NULL).advice, "let redis.user and redis.password_file be"));
    testing_ctl_configure(&(struct testing_ctl_conf){.db_user = "orderd_nobody"});
    doctor_only("mysql.server", NULL, "problem", "orderd_nobody");
    ck_assert_ptr_nonnull(
        strstr(doctor_hear("mysql.server", NULL).advice, "let mysql.user and mysql.password_file be"));
}
END_TEST

static const struct {
    enum doctor_check server;
    enum error_code code;
    const char *sentence, *advice; /* advice: NULL, that of the row */
} answers[] = {
    {DOCTOR_MYSQL_SERVER, ERROR_DB_AWAY,
     "cannot connect to MySQL at db:3306 as orderd: Can't connect (error 2003, SQLSTATE HY000)", NULL},
    {DOCTOR_MYSQL_SERVER, ERROR_DB_SETUP,
     "SELECT command denied to user 'a'@'b' for table 'activity' (error 1142, SQLSTATE 42000)",
     "give the account its rights: docs/accounts/mysql-2-rights.sql"},
    {DOCTOR_MYSQL_SERVER, ERROR_DB_SETUP,
     "Access denied for user 'a'@'b' to database 'orderd' (error 1044, SQLSTATE 42000)",
     "give the account its rights: docs/accounts/mysql-2-rights.sql, once the migrations are applied (by "
     "orderd_admin)"},
    {DOCTOR_MYSQL_SERVER, ERROR_DB_SETUP, "its certificate is not signed by mysql.tls_ca_file (x); name another", ""},
    {DOCTOR_MYSQL_SERVER, ERROR_DB_AWAY, "it does not go on with the TLS handshake within 5000 ms; see whether", ""},
    {DOCTOR_MYSQL_SERVER, ERROR_DB_RESOURCE, "the disk is full", ""},
    {DOCTOR_REDIS_SERVER, ERROR_KV_AWAY, "127.0.0.1:6379: Connection refused", NULL},
    {DOCTOR_REDIS_SERVER, ERROR_KV_AWAY, "127.0.0.1:6379: LOADING Redis is loading the dataset",
     "wait until it has read its data"},
    {DOCTOR_REDIS_SERVER, ERROR_KV_SETUP,
     "127.0.0.1:6379: NOPERM this user has no permissions to run the 'time' command; give the account its rights: "
     "docs/accounts/redis.acl",
     ""}, /* it says so itself */
    {DOCTOR_REDIS_SERVER, ERROR_KV_SETUP, "its certificate has expired (2026-01-01); renew it on the server", ""},
    {DOCTOR_BROKER_SERVER, ERROR_BROKER_AWAY, "broker mq:5672 does not answer the login within 5000 ms", NULL},
    {DOCTOR_BROKER_SERVER, ERROR_BROKER_SETUP, "its certificate is for other, not for mq", ""},
};

/* "See that it is up" is for where nothing answered. */
START_TEST(answered)
{
    struct error err;
    const char *advice;

    error_set(&err, answers[_i].code, "%s", answers[_i].sentence);
    advice = doctor_advice(answers[_i].server, &err);
    if (answers[_i].advice) {
        ck_assert_ptr_nonnull(advice);
        ck_assert_str_eq(advice, answers[_i].advice);
    } else {
        ck_assert_ptr_null(advice);
    }
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

int main(void)
{
    Suite *s = suite_create("ctl_doctor_account");
    TCase *t = tcase_create("account");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, testing_doctor_setup, testing_ctl_teardown);
    tcase_add_test(t, privileges);
    tcase_add_test(t, unseen);
    tcase_add_test(t, files_once);
    tcase_add_test(t, refused);
    suite_add_tcase(s, t);
    t = tcase_create("answers");
    tcase_add_loop_test(t, answered, 0, COUNT(answers));
    suite_add_tcase(s, t);
    return testing_main(s);
}
