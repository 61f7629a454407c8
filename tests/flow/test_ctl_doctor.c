/* orderctl doctor: each fault that can be planted in a server, a file or an account is seen, by its check and with its
 * verdict, and what is well is called well. */
#include "testing_ctl.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orderd/exitcode.h"
#include "testing_redis.h"

#include "../../src/program/ctl/doctor.h"

static void setup(void)
{
    testing_ctl_setup();
    ck_assert_int_eq(chmod(testing_ctl_file, 0600), 0);
    CTL("migrate", "up");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
}

/* ---- what doctor says ---- */

struct heard {
    unsigned lines, wrong; /* wrong: neither ok nor look */
    char verdict[16], finding[512];
};

/* The lines of the last run; verdict and finding of the one of this check that is worst, or "". */
static struct heard hear(const char *check, const char *subject)
{
    struct heard h = {0};
    char *save = NULL, *out = check_strdup(testing_ctl.out);

    for (char *line = strtok_r(out, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_t *o = json_loads(line, 0, NULL);
        const char *verdict = json_string_value(json_object_get(o, "verdict"));
        const char *about = json_string_value(json_object_get(o, "subject"));
        bool wrong;

        ck_assert_msg(verdict != NULL, "%s", line);
        ck_assert_int_eq(strcmp(verdict, "ok") == 0, json_is_null(json_object_get(o, "advice")));
        wrong = strcmp(verdict, "ok") != 0 && strcmp(verdict, "look") != 0;
        h.lines++;
        h.wrong += wrong;
        if (strcmp(json_string_value(json_object_get(o, "check")), check) == 0 &&
            (!subject || (about && strcmp(subject, about) == 0)) && (wrong || !h.verdict[0])) {
            snprintf(h.verdict, sizeof h.verdict, "%s", verdict);
            snprintf(h.finding, sizeof h.finding, "%s", json_string_value(json_object_get(o, "finding")));
        }
        json_decref(o);
    }
    free(out);
    return h;
}

static void doctor(enum exitcode code)
{
    CTL("-q", "doctor", "--json");
    ck_assert_str_eq(testing_ctl.err, "");
    ck_assert_msg(testing_ctl.code == (int)code, "ended with %d and not %d:\n%s", testing_ctl.code, code,
                  testing_ctl.out);
}

/* One planted fault: its check alone, and nothing else, has this verdict. */
static void only(const char *check, const char *subject, const char *verdict, const char *finding)
{
    struct heard h;

    doctor(strcmp(verdict, "problem") == 0 ? EXIT_FAILED : EXIT_OK);
    h = hear(check, subject);
    ck_assert_msg(strcmp(h.verdict, verdict) == 0, "%s is \"%s\":\n%s", check, h.verdict, testing_ctl.out);
    ck_assert_msg(strstr(h.finding, finding) != NULL, "%s says: %s", check, h.finding);
    ck_assert_msg(h.wrong == 1, "%u findings:\n%s", h.wrong, testing_ctl.out);
}

static void all_good(void)
{
    struct heard h;

    doctor(EXIT_OK);
    h = hear("mysql.schema", NULL);
    ck_assert_str_eq(h.verdict, "ok");
    ck_assert_msg(h.wrong == 0, "%s", testing_ctl.out);
    ck_assert_uint_gt(h.lines, 21);
}

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
    all_good();
    testing_administer("SET GLOBAL %s=%s", settings[_i].variable, settings[_i].bad);
    CTL("-q", "doctor", "--json");
    testing_administer("SET GLOBAL %s=%s", settings[_i].variable, settings[_i].good);
    ck_assert_str_eq(hear(settings[_i].check, NULL).verdict, settings[_i].verdict);
    ck_assert_ptr_nonnull(strstr(hear(settings[_i].check, NULL).finding, settings[_i].finding));
    ck_assert_uint_eq(hear("", NULL).wrong, 1);
    ck_assert_int_eq(testing_ctl.code, strcmp(settings[_i].verdict, "problem") == 0 ? EXIT_FAILED : EXIT_OK);
    all_good();
}
END_TEST

START_TEST(schema)
{
    testing_ctl_run_sql("DELETE FROM schema_migration ORDER BY version DESC LIMIT 1");
    only("mysql.schema", NULL, "problem", "1 of 15 migrations are not applied");
}
END_TEST

/* An account that may do everything but one thing, and one that may not even look. */
START_TEST(privileges)
{
    static const char *const tables[] = {
#define X(table, insert, update, delete) #table,
#include "orderd/tbl/doctor_privilege.h"
#undef X
    };
    const char *user = testing_name("orderd_doc");
    char password[128], path[128];
    FILE *f;

    snprintf(path, sizeof path, "/tmp/%s.pw", user);
    f = fopen(path, "w");
    ck_assert(f != NULL);
    fprintf(f, "secret\n");
    fclose(f);
    chmod(path, 0400);
    snprintf(password, sizeof password, "CREATE USER %s@'127.0.0.1' IDENTIFIED BY 'secret'", user);
    testing_administer("%s", password);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        testing_administer("GRANT SELECT,INSERT,UPDATE,DELETE ON %s.%s TO %s@'127.0.0.1'", testing_ctl_schema,
                           tables[i], user);
    testing_ctl_configure(&(struct testing_ctl_conf){.db_user = user, .db_password_file = path});
    all_good();
    testing_administer("REVOKE DELETE ON %s.local_message FROM %s@'127.0.0.1'", testing_ctl_schema, user);
    only("mysql.privilege", "local_message", "problem", "the account lacks DELETE");
    testing_administer("GRANT DELETE ON %s.local_message TO %s@'127.0.0.1'", testing_ctl_schema, user);
    testing_administer("REVOKE INSERT,UPDATE ON %s.orders FROM %s@'127.0.0.1'", testing_ctl_schema, user);
    only("mysql.privilege", "orders", "problem", "the account lacks INSERT, UPDATE");
    testing_administer("GRANT INSERT,UPDATE ON %s.orders TO %s@'127.0.0.1'", testing_ctl_schema, user);
    testing_administer("REVOKE ALL ON %s.payment FROM %s@'127.0.0.1'", testing_ctl_schema, user);
    only("mysql.privilege", "payment", "problem", "the account lacks SELECT");
    ck_assert_int_eq((int)testing_ctl_number("SELECT COUNT(*) FROM orders"), 0); /* nothing is ever run */
    testing_administer("DROP USER %s@'127.0.0.1'", user);
    unlink(path);
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
    only(redis_faults[_i].check, NULL, redis_faults[_i].verdict, redis_faults[_i].finding);
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
    all_good();
    testing_rabbitmqctl("delete_queue -p %s order.cancel", vhost);
    only("broker.topology", "order.cancel", "problem", "this queue is missing");
    CTL("-q", "topology", "apply");

    CTL("activity", "create", "--id", "1", "--title", "t", "--sku", "1", "--price", "1", "--currency", "EUR", "--stock",
        "1", "--starts", "now", "--ends", "+1h", "--pay-timeout", "77s");
    CTL("activity", "approve", "1");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    all_good();
    ck_assert_ptr_nonnull(strstr(hear("broker.delay_queue", NULL).finding, "1 pay time-outs"));
    testing_rabbitmqctl("delete_queue -p %s order.unpaid.77000", vhost);
    only("broker.delay_queue", "order.unpaid.77000", "problem", "this queue is missing");
    CTL("-q", "topology", "apply");

    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = vhost, .more = "create: { hold_max = \"21m\"; };"});
    only("broker.timeout", NULL, "warning", "create.hold_max = 1260 s");
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
    doctor(EXIT_FAILED);
    ck_assert_str_eq(hear("broker.topology", "order.create").verdict, "problem");
    ck_assert_ptr_nonnull(strstr(hear("broker.topology", "order.create").finding, "this queue is different: "));
    ck_assert_str_eq(hear("broker.version", NULL).verdict, "warning");
}
END_TEST

/* One node under two names, and one that is down. */
START_TEST(hosts)
{
    const char *port = testing_env("ORDERD_MQ_PORT");
    char more[200], dead[64];

    snprintf(more, sizeof more, "hosts = \"127.0.0.1:%s 127.1:%s\";", port, port);
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_more = more});
    all_good();
    ck_assert_ptr_nonnull(strstr(hear("broker.hosts", NULL).finding, "is of the cluster \""));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "broker.hosts names 2: quorum queues of fewer than three nodes"));

    snprintf(dead, sizeof dead, "127.0.0.1:%d", testing_free_port());
    snprintf(more, sizeof more, "hosts = \"127.0.0.1:%s %s 127.1:%s\";", port, dead, port);
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_more = more});
    only("broker.hosts", dead, "warning", "Connection refused");
    ck_assert_ptr_null(strstr(testing_ctl.out, "of fewer than three"));
    ck_assert_str_eq(hear("broker.server", NULL).verdict, "ok");

    snprintf(more, sizeof more, "hosts = \"%s\";", dead);
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_more = more});
    doctor(EXIT_PARTIAL);
    ck_assert_str_eq(hear("broker.server", NULL).verdict, "problem");
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
        only(modes[_i].secret ? "config.secret" : "config.file", path, modes[_i].verdict, modes[_i].finding);
    else
        all_good();
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
    return strcmp(hear("config.certificate", path).verdict, "problem") == 0;
}

/* A certificate of ours that has ended, and modes of files; keys are secrets. */
START_TEST(certificates)
{
    char folder[200], more[600], path[300], command[600];

    snprintf(folder, sizeof folder, "%s/%s", testing_dir(), testing_ctl_schema);
    snprintf(command, sizeof command, "%s/scripts/certificates %s", testing_env("ORDERD_SOURCE"), folder);
    ck_assert_int_eq(system(command), 0);
    present(folder, "client", more);
    all_good();
    snprintf(path, sizeof path, "%s/client.pem", folder);
    ck_assert_ptr_nonnull(strstr(hear("config.certificate", path).finding, "only its owner may write it"));
    ck_assert_int_eq(chmod(path, 0666), 0);
    only("config.certificate", path, "problem", "more than its owner may write it");
    snprintf(path, sizeof path, "%s/stranger-client.key", folder);
    ck_assert_int_eq(chmod(path, 0644), 0);
    present(folder, "stranger-client", more);
    only("config.secret", path, "problem", "everybody may read it");
    present(folder, "expired", more);
    snprintf(path, sizeof path, "%s/expired.pem", folder);
    testing_wait(has_ended(path), 2000, "its only second is over");
    only("config.certificate", path, "problem", "what it holds is valid until 20");
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

/* ---- servers that are away ---- */

START_TEST(away)
{
    char port[16];

    snprintf(port, sizeof port, "%d", testing_free_port());
    testing_ctl_configure(&(struct testing_ctl_conf){.db_port = port});
    doctor(EXIT_PARTIAL);
    ck_assert_str_eq(hear("mysql.server", NULL).verdict, "problem");
    ck_assert_str_eq(hear("redis.eviction", NULL).verdict, "ok"); /* the others are looked at */
    ck_assert_str_eq(hear("broker.topology", NULL).verdict, "ok");
    ck_assert_str_eq(hear("broker.delay_queue", NULL).verdict, "look");
    ck_assert_uint_eq(hear("", NULL).wrong, 1);
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_port = port});
    doctor(EXIT_PARTIAL);
    ck_assert_str_eq(hear("redis.server", NULL).verdict, "problem");
    ck_assert_str_eq(hear("broker.topology", NULL).verdict, "ok");
    testing_ctl_configure(&(struct testing_ctl_conf){.mq_port = port});
    doctor(EXIT_PARTIAL);
    ck_assert_str_eq(hear("broker.server", NULL).verdict, "problem");
    testing_ctl_configure(&(struct testing_ctl_conf){.db_port = port, .kv_port = port, .mq_port = port});
    doctor(EXIT_UNAVAILABLE);
    ck_assert_uint_eq(hear("", NULL).wrong, 3);
}
END_TEST

/* A refused login is no outage: nothing gets better by waiting. */
START_TEST(refused)
{
    testing_ctl_configure(&(struct testing_ctl_conf){.vhost = "no_such_vhost"});
    only("broker.server", NULL, "problem", "no_such_vhost");
    testing_ctl_configure(&(struct testing_ctl_conf){.db_user = "orderd_nobody"});
    only("mysql.server", NULL, "problem", "orderd_nobody");
}
END_TEST

/* ---- as people read it ---- */

START_TEST(lines)
{
    CTL("doctor");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\nok       mysql.schema        all migrations are applied\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\nlook     broker.policy       "));
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
    tcase_add_checked_fixture(t, setup, testing_ctl_teardown);
    tcase_add_loop_test(t, setting, 0, COUNT(settings));
    tcase_add_test(t, schema);
    tcase_add_test(t, privileges);
    tcase_add_loop_test(t, redis, 0, COUNT(redis_faults));
    tcase_add_test(t, queues);
    tcase_add_test(t, different);
    tcase_add_test(t, hosts);
    tcase_add_loop_test(t, file_mode, 0, COUNT(modes));
    tcase_add_test(t, certificates);
    tcase_add_test(t, ends_of_certificates);
    tcase_add_test(t, away);
    tcase_add_test(t, refused);
    tcase_add_test(t, lines);
    tcase_add_test(t, clocks);
    suite_add_tcase(s, t);
    return testing_main(s);
}
