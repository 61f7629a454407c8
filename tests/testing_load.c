#include "testing_load.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orderd/broker.h"
#include "orderd/clock.h"
#include "orderd/schema.h"
#include "orderd/stock.h"
#include "orderd/topology.h"

#define DATABASE  "orderd_load"
#define WORDS_MAX 32

/* ---- one scene: own activity, own queue, own folder; each test is a process of its own ---- */

struct load_scene scene;

void scene_sql(const char *fmt, ...)
{
    struct strbuf sql = STRBUF_INIT;
    struct error err = {0};
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    strbuf_add_str(&sql, text);
    ck_assert_ok(db_run(scene.db, (struct slice){sql.data, sql.len}, &err), &err);
    strbuf_release(&sql);
}

static void write_conf(const char *database, const char *queue)
{
    FILE *f = fopen(scene.conf_file, "w");

    ck_assert(f != NULL);
    fprintf(f,
            "broker: { host = \"%s\"; port = %s; user = \"%s\"; password_file = \"%s\"; topology = \"declare\"; };\n"
            "mysql: { host = \"%s\"; port = %s; user = \"%s\"; password_file = \"%s\"; database = \"%s\"; };\n"
            "redis: { host = \"%s\"; port = %s; };\ncreate: { queue = \"%s\"; };\n"
            "retry: { delays = \"50ms,100ms\"; };\n",
            testing_env("ORDERD_MQ_HOST"), testing_env("ORDERD_MQ_PORT"), testing_env("ORDERD_MQ_USER"),
            testing_env("ORDERD_MQ_PASSWORD_FILE"), testing_env("ORDERD_DB_HOST"), testing_env("ORDERD_DB_PORT"),
            testing_env("ORDERD_DB_USER"), testing_env("ORDERD_DB_PASSWORD_FILE"), database,
            testing_env("ORDERD_KV_HOST"), testing_env("ORDERD_KV_PORT"), queue);
    fclose(f);
}

static void reload_conf(void)
{
    struct error err = {0};

    if (scene.conf)
        conf_destroy(&scene.conf);
    scene.conf = conf_load(scene.conf_file, &err);
    ck_assert_ok(scene.conf, &err);
}

static void no_report(void *arg, unsigned version, const char *name, enum schema_state state)
{
    (void)arg;
    (void)version;
    (void)name;
    (void)state;
}

static void open_database(const char *queue)
{
    struct error err = {0};

    write_conf(testing_env("ORDERD_DB_NAME"), queue);
    reload_conf();
    db_library_init();
    scene.db = db_open(scene.conf, &err);
    ck_assert_ok(scene.db, &err);
    scene_sql("CREATE DATABASE IF NOT EXISTS " DATABASE);
    db_close(&scene.db);
    write_conf(DATABASE, queue);
    reload_conf();
    scene.db = db_open(scene.conf, &err);
    ck_assert_ok(scene.db, &err);
    ck_assert_ok(schema_apply(scene.db, no_report, NULL, &err), &err);
}

void scene_setup(void)
{
    struct error err = {0};

    snprintf(scene.dir, sizeof scene.dir, "/tmp/orderd_test_load_XXXXXX");
    ck_assert(mkdtemp(scene.dir) != NULL);
    snprintf(scene.conf_file, sizeof scene.conf_file, "%s/orderd.conf", scene.dir);
    snprintf(scene.ids_file, sizeof scene.ids_file, "%s/ids", scene.dir);
    snprintf(scene.payments_file, sizeof scene.payments_file, "%s/payments", scene.dir);
    snprintf(scene.out_file, sizeof scene.out_file, "%s/out.json", scene.dir);
    open_database(testing_name("order.create.load"));
    scene.kv = kv_open(scene.conf, "test_load", &err);
    ck_assert_ok(scene.kv, &err);
    scene.activity = clock_wall_us();
    scene.pay_timeout_ms = 900000;
}

void scene_wait_exit(pid_t pid, int *status)
{
    while (waitpid(pid, status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
}

void scene_stop(void)
{
    int status;

    if (scene.daemon_pid <= 0)
        return;
    kill(scene.daemon_pid, SIGTERM);
    scene_wait_exit(scene.daemon_pid, &status);
    scene.daemon_pid = 0;
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "orderd ended with status %d", status);
}

void scene_teardown(void)
{
    scene_stop();
    json_decref(scene.report);
    kv_close(&scene.kv);
    db_close(&scene.db);
    db_library_end();
    conf_destroy(&scene.conf);
    unlink(scene.conf_file);
    unlink(scene.ids_file);
    unlink(scene.payments_file);
    unlink(scene.out_file);
    rmdir(scene.dir);
}

/* A child that ends with us, even where a test fails. */
pid_t scene_child(char *const *argv, const char *out, const char *err_out)
{
    pid_t parent = getpid(), pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    if (out && !freopen(out, "w", stdout))
        _exit(126);
    if (err_out && !freopen(err_out, "w", stderr))
        _exit(126);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(126);
    execv(argv[0], argv);
    _exit(127);
}

const char *scene_program(const char *name)
{
    static char path[2][512];
    static int n;
    char *p = path[n++ % 2];

    snprintf(p, sizeof path[0], "%s/src/%s", testing_env("ORDERD_BUILD"), name);
    return p;
}

static void no_finding(void *arg, const struct topology_finding *finding)
{
    (void)arg;
    (void)finding;
}

/* Before the daemon, which would make it too: orderload may look for it first. */
static void declare_queues(void)
{
    struct error err = {0};
    struct broker *broker = broker_open(scene.conf, "test_load", &err);

    ck_assert_ok(broker, &err);
    ck_assert_ok(topology_walk(broker, scene.conf, true, no_finding, NULL, &err), &err);
    ck_assert_ok(topology_walk_unpaid(broker, scene.conf, &scene.pay_timeout_ms, 1, true, no_finding, NULL, &err),
                 &err);
    broker_close(&broker, true);
}

void scene_start(void)
{
    char *argv[] = {(char *)(uintptr_t)scene_program("orderd"), (char *)(uintptr_t) "-c", scene.conf_file, NULL};

    declare_queues();
    scene.daemon_pid = scene_child(argv, NULL, "/dev/null");
}

/* ---- activities ---- */

static void preheat(int shard, int64_t cap, int64_t now)
{
    struct stock_plan plan = {.activity = scene.activity,
                              .shard = shard,
                              .cap = cap,
                              .epoch = 1,
                              .limit = 1,
                              .starts_at = now - 1000,
                              .ends_at = now + 3600000,
                              .expire_at = now + 7200000};
    struct stock_preheated done;
    struct error err = {0};

    ck_assert_ok(stock_preheat(scene.kv, &plan, &done, &err), &err);
    ck_assert_int_eq(done.code, STOCK_PREHEAT_CREATED);
}

void scene_sell(int64_t stock, int shards, bool on_sale)
{
    int64_t now = clock_wall_ms();

    scene_sql(
        "INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,pay_timeout_ms,shards,state,starts_at,"
        "ends_at,epoch,preheated_at) VALUES(%" PRId64 ",'test',77,9900,'EUR',%" PRId64 ",%" PRId64 ",%d,'running',"
        "FROM_UNIXTIME(%" PRId64 "/1000),FROM_UNIXTIME(%" PRId64 "/1000),1,%s)",
        scene.activity, stock, scene.pay_timeout_ms, shards, now - 1000, now + 3600000, on_sale ? "NOW(6)" : "NULL");
    scene_sql("INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",%" PRId64 ",%" PRId64 ")",
              scene.activity, stock, stock);
    for (int shard = 0; on_sale && shard < shards; shard++)
        preheat(shard, stock / shards + (shard < stock % shards), now);
}

/* ---- orderload ---- */

/* Runs `orderload -c conf --activity N --json`, the words in between; answers its exit code and reads its report. */
static char *file_of(char *word)
{
    if (strcmp(word, "IDS") == 0)
        return scene.ids_file;
    return strcmp(word, "PAYMENTS") == 0 ? scene.payments_file : word;
}

pid_t scene_orderload_start(const char *line, const char *out)
{
    char copy[512], number[32], *rest = copy, *argv[WORDS_MAX], *word;
    int argc = 0;

    snprintf(copy, sizeof copy, "%s", line);
    snprintf(number, sizeof number, "%" PRId64, scene.activity);
    argv[argc++] = (char *)(uintptr_t)scene_program("orderload");
    while ((word = strsep(&rest, " ")) && argc < WORDS_MAX - 6)
        argv[argc++] = file_of(word);
    ck_assert_ptr_null(word);
    argv[argc++] = (char *)(uintptr_t) "--activity";
    argv[argc++] = number;
    argv[argc++] = (char *)(uintptr_t) "-c";
    argv[argc++] = scene.conf_file;
    argv[argc++] = (char *)(uintptr_t) "--json";
    argv[argc] = NULL;
    return scene_child(argv, out, NULL);
}

int scene_orderload_end(pid_t pid, const char *out)
{
    json_error_t error;
    int status;

    scene_wait_exit(pid, &status);
    ck_assert_msg(WIFEXITED(status), "orderload died of signal %d", WTERMSIG(status));
    json_decref(scene.report);
    scene.report = json_load_file(out, 0, &error);
    return WEXITSTATUS(status);
}

int scene_orderload(const char *line)
{
    return scene_orderload_end(scene_orderload_start(line, scene.out_file), scene.out_file);
}

int64_t scene_fact(const char *name)
{
    const json_t *value = json_object_get(json_object_get(scene.report, "facts"), name);

    ck_assert_msg(json_is_number(value), "no fact %s", name);
    return (int64_t)json_number_value(value);
}

static const json_t *check_of(const char *name)
{
    const json_t *check = json_object_get(json_object_get(scene.report, "checks"), name);

    ck_assert_msg(json_is_object(check), "no check %s", name);
    return check;
}

const char *scene_verdict(const char *name)
{
    return json_string_value(json_object_get(check_of(name), "verdict"));
}

int64_t scene_found(const char *name)
{
    return json_integer_value(json_object_get(check_of(name), "found"));
}

bool scene_names(const char *check, const char *text)
{
    const json_t *examples = json_object_get(check_of(check), "examples");

    for (size_t i = 0; i < json_array_size(examples); i++) {
        if (strstr(json_string_value(json_array_get(examples, i)), text))
            return true;
    }
    return false;
}

void scene_good(int code)
{
    char *text = json_dumps(scene.report, JSON_COMPACT);

    ck_assert_msg(code == 0 && json_is_true(json_object_get(scene.report, "good")), "exit %d: %.7000s", code,
                  text ? text : "");
    free(text);
}

void scene_broken(const char *expected)
{
    struct strbuf broken = STRBUF_INIT;
    const char *name;
    json_t *check;

    json_object_foreach(json_object_get(scene.report, "checks"), name, check)
    {
        if (strcmp(json_string_value(json_object_get(check, "verdict")), "broken") == 0)
            strbuf_addf(&broken, "%s%s", broken.len ? " " : "", name);
    }
    ck_assert_str_eq(broken.len ? broken.data : "", expected);
    strbuf_release(&broken);
}
