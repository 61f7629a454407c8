#include "testing_ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/broker.h"
#include "orderd/topology.h"

struct program testing_ctl;
const char *testing_ctl_file, *testing_ctl_schema;
struct db *testing_ctl_db;

static struct conf *conf;
static char file[128], schema[64];

static const char *or_env(const char *value, const char *name)
{
    return value ? value : testing_env(name);
}

void testing_ctl_configure(const struct testing_ctl_conf *other)
{
    static const struct testing_ctl_conf usual;
    const struct testing_ctl_conf *c = other ? other : &usual;
    FILE *f = fopen(file, "w");

    ck_assert(f != NULL);
    fprintf(f,
            "broker: { host = \"%s\"; port = %s; user = \"%s\"; password_file = \"%s\"; vhost = \"%s\"; "
            "queue_type = \"%s\"; %s };\n"
            "mysql: { host = \"%s\"; port = %s; user = \"%s\"; password_file = \"%s\"; database = \"%s\"; %s };\n"
            "redis: { host = \"%s\"; port = %s; %s };\n%s\n",
            testing_env("ORDERD_MQ_HOST"), or_env(c->mq_port, "ORDERD_MQ_PORT"), or_env(c->mq_user, "ORDERD_MQ_USER"),
            or_env(c->mq_password_file, "ORDERD_MQ_PASSWORD_FILE"), c->vhost ? c->vhost : "/",
            c->queue_type ? c->queue_type : "quorum", c->mq_more ? c->mq_more : "", testing_env("ORDERD_DB_HOST"),
            or_env(c->db_port, "ORDERD_DB_PORT"), or_env(c->db_user, "ORDERD_DB_USER"),
            or_env(c->db_password_file, "ORDERD_DB_PASSWORD_FILE"), c->schema ? c->schema : schema,
            c->db_more ? c->db_more : "", testing_env("ORDERD_KV_HOST"), or_env(c->kv_port, "ORDERD_KV_PORT"),
            c->kv_more ? c->kv_more : "", c->more ? c->more : "");
    /* Where no orderd of somebody else's answers; an instance's number is added. */
    if (!c->more || !strstr(c->more, "admin:"))
        fprintf(f, "admin: { port = 2; };\n");
    fclose(f);
}

static void connect_to(const char *database)
{
    struct error err;

    db_close(&testing_ctl_db);
    conf->mysql_database = database;
    testing_ctl_db = db_open(conf, &err);
    ck_assert_ok(testing_ctl_db != NULL, &err);
}

void testing_ctl_connect(void)
{
    connect_to(testing_ctl_schema);
}

static void ignore_finding(void *arg, const struct topology_finding *finding)
{
    (void)arg, (void)finding;
}

/* What approving an activity with the usual pay time-out finds, so that it has nothing more to say. */
static void make_topology(void)
{
    static const int64_t usual = 900000;
    struct error err = {0};
    struct broker *broker = broker_open(conf, "test_ctl topology", &err);

    ck_assert_ok(broker != NULL, &err);
    ck_assert_ok(topology_walk(broker, conf, true, ignore_finding, NULL, &err), &err);
    ck_assert_ok(topology_walk_unpaid(broker, conf, &usual, 1, true, ignore_finding, NULL, &err), &err);
    broker_close(&broker, true);
}

void testing_ctl_setup(void)
{
    db_library_init();
    conf = testing_conf(NULL);
    snprintf(schema, sizeof schema, "%s", testing_name("orderd_ctl"));
    snprintf(file, sizeof file, "%s/%d.conf", testing_dir(), (int)getpid());
    testing_ctl_file = file;
    testing_ctl_schema = schema;
    connect_to(testing_env("ORDERD_DB_NAME"));
    testing_ctl_run_sql("CREATE DATABASE %s CHARACTER SET utf8mb4", schema);
    connect_to(schema);
    testing_ctl_configure(NULL);
    make_topology();
}

void testing_ctl_teardown(void)
{
    testing_ctl_run_sql("DROP DATABASE %s", schema);
    db_close(&testing_ctl_db);
    conf_destroy(&conf);
    db_library_end();
    unlink(file);
}

static void format(char *sql, size_t size, const char *fmt, va_list ap) ORDERD_PRINTF(3, 0);

static void format(char *sql, size_t size, const char *fmt, va_list ap)
{
    ck_assert_int_lt(vsnprintf(sql, size, fmt, ap), (int)size);
}

void testing_ctl_run_sql(const char *fmt, ...)
{
    struct error err = {0};
    char sql[2048];
    va_list ap;

    va_start(ap, fmt);
    format(sql, sizeof sql, fmt, ap);
    va_end(ap);
    testing_run_sql(testing_ctl_db, sql, &err);
    ck_assert_ok(err.code == ERROR_NONE, &err);
}

int64_t testing_ctl_number(const char *fmt, ...)
{
    struct error err;
    char sql[2048];
    int64_t n;
    va_list ap;

    va_start(ap, fmt);
    format(sql, sizeof sql, fmt, ap);
    va_end(ap);
    ck_assert_ok(db_query_i64(testing_ctl_db, slice_of(sql), -1, &n, &err), &err);
    return n;
}
