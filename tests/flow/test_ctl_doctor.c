/* orderctl doctor: each fault that can be planted in a server, a file or an account is seen, by its check and with its
 * verdict, and what is well is called well. */
#include "testing_doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orderd/exitcode.h"
#include "testing_redis.h"

#include "../../src/program/ctl/doctor.h"

/* ---- the database ---- */

static const struct {
    const char *variable, *bad, *good, *check, *verdict, *finding;
} settings[] = {
    {"sync_binlog", "0", "1", "mysql.durability", "problem", "sync_binlog is not 1"},
    {"innodb_flush_log_at_trx_commit", "2", "1", "mysql.durability", "problem", "innodb_flush_log_at_trx_commit"},
    {"read_only", "1", "0", "mysql.writable", "problem", "read_only is on"},
    {"sql_mode", "''", "DEFAULT", "mysql.sql_mode", "warning", "cut short unnoticed"},
};

START_TEST(setting)
{
    doctor_all_good();
    testing_administer("SET GLOBAL %s=%s", settings[_i].variable, settings[_i].bad);
    CTL("-q", "doctor", "--json");
    testing_administer("SET GLOBAL %s=%s", settings[_i].variable, settings[_i].good);
    ck_assert_str_eq(doctor_hear(settings[_i].check, NULL).verdict, settings[_i].verdict);
    ck_assert_ptr_nonnull(strstr(doctor_hear(settings[_i].check, NULL).finding, settings[_i].finding));
    ck_assert_uint_eq(doctor_hear("", NULL).wrong, 1);
    ck_assert_int_eq(testing_ctl.code, strcmp(settings[_i].verdict, "problem") == 0 ? EXIT_FAILED : EXIT_OK);
    doctor_all_good();
}
END_TEST

START_TEST(schema)
{
    testing_ctl_run_sql("DELETE FROM schema_migration ORDER BY version DESC LIMIT 1");
    doctor_only("mysql.schema", NULL, "problem", "1 of 15 migrations are not applied");
}
END_TEST

/* ---- Redis: a server of its own for each fault ---- */

static const struct {
    const char *extra[12];
    const char *check, *verdict, *finding;
} redis_faults[] = {
    {{"--appendonly", "yes", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"},
     "redis.eviction",
     "problem",
     "maxmemory-policy is allkeys-lru"},
    {{"--appendonly", "yes", "--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"},
     "redis.eviction",
     "problem",
     "maxmemory-policy is volatile-ttl"},
    {{"--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"}, "redis.eviction", "warning", "gets a limit"},
    {{"--appendonly", "yes", "--maxmemory", "800kb"}, "redis.memory", "warning", "% of maxmemory"},
    {{"--appendonly", "no"}, "redis.persistence", "warning", "the append-only file is off"},
    {{"--appendonly", "yes", "--appendfsync", "no"}, "redis.persistence", "warning", "appendfsync is no"},
    {{"--appendonly", "yes", "--cluster-enabled", "yes"}, "redis.cluster", "warning", "this one node"},
    {{"--appendonly", "yes", "--replicaof", "127.0.0.1", "1"},
     "redis.role",
     "problem",
     "it is a replica (of 127.0.0.1)"},
    {{"--appendonly", "yes", "--user", "default", "on", "nopass", "~*", "&*", "+@all", "-eval"},
     "redis.script",
     "problem",
     "eval"},
};

START_TEST(redis)
{
    struct testing_redis server;
    char port[16];

    testing_redis_start(&server, redis_faults[_i].extra);
    snprintf(port, sizeof port, "%d", server.port);
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_port = port});
    doctor_only(redis_faults[_i].check, NULL, redis_faults[_i].verdict, redis_faults[_i].finding);
    testing_redis_stop(&server);
}
END_TEST

/* ---- the broker ---- */

START_TEST(queues)
{
    const char *vhost = testing_ctl_schema;

    testing_rabbitmqctl("add_vhost %s", vhost);
    testing_rabbitmqctl("set_permissions -p %s %s '.*' '.*' '.*'", vhost, testing_env("ORDERD_MQ_USER"));
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost});
    CTL("topology", "apply");
    doctor_all_good();
    testing_rabbitmqctl("delete_queue -p %s order.cancel", vhost);
    doctor_only("broker.topology", "order.cancel", "problem", "this queue is missing");
    CTL("-q", "topology", "apply");

    CTL("activity", "create", "--id", "1", "--title", "t", "--sku", "1", "--price", "1", "--currency", "EUR", "--stock",
        "1", "--starts", "now", "--ends", "+1h", "--pay-timeout", "77s");
    CTL("activity", "approve", "1");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    doctor_all_good();
    ck_assert_ptr_nonnull(strstr(doctor_hear("broker.delay_queue", NULL).finding, "1 pay time-outs"));
    testing_rabbitmqctl("delete_queue -p %s order.unpaid.77000", vhost);
    doctor_only("broker.delay_queue", "order.unpaid.77000", "problem", "this queue is missing");
    CTL("-q", "topology", "apply");

    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost, .more = "create: { hold_max = \"21m\"; };"});
    doctor_only("broker.timeout", NULL, "warning", "create.hold_max = 1260 s");
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost, .more = "broker_: { };"});
    CTL("doctor");
    ck_assert_int_eq(testing_ctl.code, EXIT_CONFIG);
    testing_rabbitmqctl("delete_vhost %s", vhost);
}
END_TEST

/* Other arguments than the configuration wants: all work queues and delay queues. */
START_TEST(different)
{
    testing_ctl_configure(&(struct testing_ctl_conf){.queue_type = "classic"});
    doctor_run(EXIT_FAILED);
    ck_assert_str_eq(doctor_hear("broker.topology", "order.create").verdict, "problem");
    ck_assert_ptr_nonnull(strstr(doctor_hear("broker.topology", "order.create").finding, "this queue is different: "));
    ck_assert_str_eq(doctor_hear("broker.version", NULL).verdict, "warning");
}
END_TEST

/* One node under two names, and one that is down. */
START_TEST(hosts)
{
    const char *port = testing_env("ORDERD_MQ_PORT");
    char more[200], dead[64];

    snprintf(more, sizeof more, "hosts = \"127.0.0.1:%s 127.1:%s\";", port, port);
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_more = more});
    doctor_all_good();
    ck_assert_ptr_nonnull(strstr(doctor_hear("broker.hosts", NULL).finding, "is of the cluster \""));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "broker.hosts names 2: quorum queues of fewer than three nodes"));

    snprintf(dead, sizeof dead, "127.0.0.1:%d", testing_free_port());
    snprintf(more, sizeof more, "hosts = \"127.0.0.1:%s %s 127.1:%s\";", port, dead, port);
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_more = more});
    doctor_only("broker.hosts", dead, "warning", "Connection refused");
    ck_assert_ptr_null(strstr(testing_ctl.out, "of fewer than three"));
    ck_assert_str_eq(doctor_hear("broker.server", NULL).verdict, "ok");

    snprintf(more, sizeof more, "hosts = \"%s\";", dead);
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_more = more});
    doctor_run(EXIT_PARTIAL);
    ck_assert_str_eq(doctor_hear("broker.server", NULL).verdict, "problem");
}
END_TEST

/* ---- files ---- */

static const struct {
    mode_t mode;
    bool secret;
    const char *verdict, *finding;
} modes[] = {
    {0400, true, "", ""},
    {0640, true, "warning", "its group may read it"},
    {0644, true, "problem", "everybody may read it"},
    {0620, true, "problem", "more than its owner may write it"},
    {0644, false, "", ""},
    {0664, false, "problem", "more than its owner may write it"},
    {0646, false, "problem", "more than its owner may write it"},
};

START_TEST(file_mode)
{
    char copy[128], command[512];
    const char *path = modes[_i].secret ? copy : testing_ctl_file;

    snprintf(copy, sizeof copy, "/tmp/%s.pw", testing_ctl_schema);
    snprintf(command, sizeof command, "cp %s %s", testing_env("ORDERD_DB_PASSWORD_FILE"), copy);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(chmod(copy, 0400), 0);
    testing_ctl_configure(&(struct testing_ctl_conf){.db_password_file = copy});
    ck_assert_int_eq(chmod(path, modes[_i].mode), 0);
    if (modes[_i].verdict[0])
        doctor_only(modes[_i].secret ? "config.secret" : "config.file", path, modes[_i].verdict, modes[_i].finding);
    else
        doctor_all_good();
    unlink(copy);
}
END_TEST

static void present(const char *folder, const char *certificate, char more[600])
{
    snprintf(more, 600, "tls_cert_file = \"%s/%s.pem\"; tls_key_file = \"%s/%s.key\";", folder, certificate, folder,
             certificate);
    testing_ctl_configure(&(struct testing_ctl_conf){.db_more = more});
}

static bool has_ended(const char *path)
{
    CTL("-q", "doctor", "--json");
    return strcmp(doctor_hear("config.certificate", path).verdict, "problem") == 0;
}

/* A certificate of ours that has ended, and modes of files; keys are secrets. */
START_TEST(certificates)
{
    char folder[200], more[600], path[300], command[600];

    snprintf(folder, sizeof folder, "%s/%s", testing_dir(), testing_ctl_schema);
    snprintf(command, sizeof command, "%s/scripts/certificates %s", testing_env("ORDERD_SOURCE"), folder);
    ck_assert_int_eq(system(command), 0);
    present(folder, "client", more);
    doctor_all_good();
    snprintf(path, sizeof path, "%s/client.pem", folder);
    ck_assert_ptr_nonnull(strstr(doctor_hear("config.certificate", path).finding, "only its owner may write it"));
    ck_assert_int_eq(chmod(path, 0666), 0);
    doctor_only("config.certificate", path, "problem", "more than its owner may write it");
    snprintf(path, sizeof path, "%s/stranger-client.key", folder);
    ck_assert_int_eq(chmod(path, 0644), 0);
    present(folder, "stranger-client", more);
    doctor_only("config.secret", path, "problem", "everybody may read it");
    present(folder, "expired", more);
    snprintf(path, sizeof path, "%s/expired.pem", folder);
    testing_wait(has_ended(path), 2000, "its only second is over");
    doctor_only("config.certificate", path, "problem", "what it holds is valid until 20");
}
END_TEST

START_TEST(ends_of_certificates)
{
    const int64_t now = 1764400000, day = 86400;
    char text[16];

    ck_assert_int_eq(doctor_judge_until(now - 1, now), DOCTOR_PROBLEM);
    ck_assert_int_eq(doctor_judge_until(now, now), DOCTOR_PROBLEM);
    ck_assert_int_eq(doctor_judge_until(now + 1, now), DOCTOR_WARNING);
    ck_assert_int_eq(doctor_judge_until(now + 21 * day - 1, now), DOCTOR_WARNING);
    ck_assert_int_eq(doctor_judge_until(now + 21 * day, now), DOCTOR_OK);
    doctor_day(now, text);
    ck_assert_str_eq(text, "2025-11-29");
    ck_assert(doctor_is_here("127.0.0.1") && doctor_is_here("127.8.9.10") && doctor_is_here("::1"));
    ck_assert(doctor_is_here("localhost") && !doctor_is_here("10.0.0.1") && !doctor_is_here("127.example"));
    ck_assert(!doctor_is_here("fe80::1"));
}
END_TEST

/* The page asks nobody who they are. */
START_TEST(page)
{
    testing_ctl_configure(&(struct testing_ctl_conf){.more = "admin: { host = \"0.0.0.0\"; };"});
    doctor_all_good();
    ck_assert_str_eq(doctor_hear("admin.host", NULL).verdict, "look");
    ck_assert_ptr_nonnull(strstr(doctor_hear("admin.host", NULL).finding, "0.0.0.0"));
    testing_ctl_configure(&(struct testing_ctl_conf){.more = "admin: { host = \"::1\"; };"});
    doctor_all_good();
    ck_assert_str_eq(doctor_hear("admin.host", NULL).verdict, "ok");
    testing_ctl_configure(&(struct testing_ctl_conf){.more = "admin: { host = \"0.0.0.0\"; enabled = false; };"});
    doctor_all_good();
    ck_assert_str_eq(doctor_hear("admin.host", NULL).verdict, "");
}
END_TEST

/* ---- servers that are away ---- */

START_TEST(away)
{
    char port[16];

    snprintf(port, sizeof port, "%d", testing_free_port());
    testing_ctl_configure(&(struct testing_ctl_conf){.db_port = port});
    doctor_run(EXIT_PARTIAL);
    ck_assert_str_eq(doctor_hear("mysql.server", NULL).verdict, "problem");
    ck_assert_str_eq(doctor_hear("redis.eviction", NULL).verdict, "ok"); /* the others are looked at */
    ck_assert_str_eq(doctor_hear("broker.topology", NULL).verdict, "ok");
    ck_assert_str_eq(doctor_hear("broker.delay_queue", NULL).verdict, "look");
    ck_assert_uint_eq(doctor_hear("", NULL).wrong, 1);
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_port = port});
    doctor_run(EXIT_PARTIAL);
    ck_assert_str_eq(doctor_hear("redis.server", NULL).verdict, "problem");
    ck_assert_str_eq(doctor_hear("broker.topology", NULL).verdict, "ok");
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_port = port});
    doctor_run(EXIT_PARTIAL);
    ck_assert_str_eq(doctor_hear("broker.server", NULL).verdict, "problem");
    testing_ctl_configure(&(struct testing_ctl_conf){.db_port = port, .kv_port = port, .mq_port = port});
    doctor_run(EXIT_UNAVAILABLE);
    ck_assert_uint_eq(doctor_hear("", NULL).wrong, 3);
}
END_TEST

/* ---- as people read it ---- */

START_TEST(lines)
{
    CTL("doctor");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\nok       mysql.schema         all migrations are applied\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\nlook     broker.policy        "));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\nok       broker.create_queues 1, none of them left alone\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, " 0 warnings, 0 problems\n"));
}
END_TEST

START_TEST(clocks)
{
    struct doctor_clock clock = doctor_clock(1000, 1400, 6200);

    ck_assert_int_eq(clock.ahead_ms, 5000);
    ck_assert_int_eq(clock.error_ms, 201);
    ck_assert_int_eq(doctor_judge_clock(5000, 201), DOCTOR_WARNING);
    ck_assert_int_eq(doctor_judge_clock(-5000, 201), DOCTOR_WARNING);
    ck_assert_int_eq(doctor_judge_clock(1100, 201), DOCTOR_OK); /* the network may be all of it */
    ck_assert_int_eq(doctor_judge_clock(-999, 0), DOCTOR_OK);
    ck_assert_int_eq(doctor_judge_clock(1000, 0), DOCTOR_WARNING);
    ck_assert_int_eq(doctor_judge_clock(60000, 0), DOCTOR_PROBLEM);
    ck_assert_int_eq(doctor_judge_clock(-3600000, 50), DOCTOR_PROBLEM);
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

int main(void)
{
    Suite *s = suite_create("ctl_doctor");
    TCase *t = tcase_create("doctor");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, testing_doctor_setup, testing_ctl_teardown);
    tcase_add_loop_test(t, setting, 0, COUNT(settings));
    tcase_add_test(t, schema);
    tcase_add_loop_test(t, redis, 0, COUNT(redis_faults));
    tcase_add_test(t, queues);
    tcase_add_test(t, different);
    tcase_add_test(t, hosts);
    tcase_add_loop_test(t, file_mode, 0, COUNT(modes));
    tcase_add_test(t, certificates);
    tcase_add_test(t, page);
    tcase_add_test(t, ends_of_certificates);
    tcase_add_test(t, away);
    tcase_add_test(t, lines);
    tcase_add_test(t, clocks);
    suite_add_tcase(s, t);
    return testing_main(s);
}
