/* orderload against the real servers and a real orderd: a good run is called good, and every planted fault is named. */
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orderd/broker.h"
#include "orderd/clock.h"
#include "orderd/db.h"
#include "orderd/kv.h"
#include "orderd/schema.h"
#include "orderd/stock.h"
#include "orderd/topology.h"

#define COUNT(a)  ((int)(sizeof(a) / sizeof *(a)))
#define DATABASE  "orderd_load"
#define WORDS_MAX 32

/* ---- one scene: own activity, own queue, own folder; each test is a process of its own ---- */

static struct conf *conf;
static struct db *db;
static struct kv *kv;
static char dir[64], conf_file[96], ids_file[96], out_file[96];
static int64_t activity;
static pid_t daemon_pid;
static json_t *report; /* of the last orderload */

static void run_sql(const char *fmt, ...) ORDERD_PRINTF(1, 2);

static void run_sql(const char *fmt, ...)
{
    struct strbuf sql = STRBUF_INIT;
    struct error err = {0};
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    strbuf_add_str(&sql, text);
    ck_assert_ok(db_run(db, (struct slice){sql.data, sql.len}, &err), &err);
    strbuf_release(&sql);
}

static void write_conf(const char *database, const char *queue)
{
    FILE *f = fopen(conf_file, "w");

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

    if (conf)
        conf_destroy(&conf);
    conf = conf_load(conf_file, &err);
    ck_assert_ok(conf, &err);
}

static void no_report(void *arg, unsigned version, const char *name, enum schema_state state)
{
    (void)arg;
    (void)version;
    (void)name;
    (void)state;
}

/* The schema is this test's own, because one of its faults takes a unique key away. */
static void open_database(const char *queue)
{
    struct error err = {0};

    write_conf(testing_env("ORDERD_DB_NAME"), queue);
    reload_conf();
    db_library_init();
    db = db_open(conf, &err);
    ck_assert_ok(db, &err);
    run_sql("CREATE DATABASE IF NOT EXISTS " DATABASE);
    db_close(&db);
    write_conf(DATABASE, queue);
    reload_conf();
    db = db_open(conf, &err);
    ck_assert_ok(db, &err);
    ck_assert_ok(schema_apply(db, no_report, NULL, &err), &err);
}

static void setup(void)
{
    struct error err = {0};

    snprintf(dir, sizeof dir, "/tmp/orderd_test_load_XXXXXX");
    ck_assert(mkdtemp(dir) != NULL);
    snprintf(conf_file, sizeof conf_file, "%s/orderd.conf", dir);
    snprintf(ids_file, sizeof ids_file, "%s/ids", dir);
    snprintf(out_file, sizeof out_file, "%s/out.json", dir);
    open_database(testing_name("order.create.load"));
    kv = kv_open(conf, "test_load", &err);
    ck_assert_ok(kv, &err);
    activity = clock_wall_us();
}

static void wait_exit(pid_t pid, int *status)
{
    while (waitpid(pid, status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
}

static void stop_daemon(void)
{
    int status;

    if (daemon_pid <= 0)
        return;
    kill(daemon_pid, SIGTERM);
    wait_exit(daemon_pid, &status);
    daemon_pid = 0;
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "orderd ended with status %d", status);
}

static void teardown(void)
{
    stop_daemon();
    json_decref(report);
    kv_close(&kv);
    db_close(&db);
    db_library_end();
    conf_destroy(&conf);
    unlink(conf_file);
    unlink(ids_file);
    unlink(out_file);
    rmdir(dir);
}

/* A child that ends with us, even where a test fails. */
static pid_t start(char *const *argv, const char *out, const char *err_out)
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

static const char *program(const char *name)
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
static void declare_queue(void)
{
    struct error err = {0};
    struct broker *broker = broker_open(conf, "test_load", &err);

    ck_assert_ok(broker, &err);
    ck_assert_ok(topology_walk(broker, conf, true, no_finding, NULL, &err), &err);
    broker_close(&broker, true);
}

static void start_daemon(void)
{
    char *argv[] = {(char *)(uintptr_t)program("orderd"), (char *)(uintptr_t) "-c", conf_file, NULL};

    declare_queue();
    daemon_pid = start(argv, NULL, "/dev/null");
}

/* ---- activities ---- */

static void preheat(int shard, int64_t cap, int64_t now)
{
    struct stock_plan plan = {.activity = activity,
                              .shard = shard,
                              .cap = cap,
                              .epoch = 1,
                              .limit = 1,
                              .starts_at = now - 1000,
                              .ends_at = now + 3600000,
                              .expire_at = now + 7200000};
    struct stock_preheated done;
    struct error err = {0};

    ck_assert_ok(stock_preheat(kv, &plan, &done, &err), &err);
    ck_assert_int_eq(done.code, STOCK_PREHEAT_CREATED);
}

static void make_activity(int64_t stock, int shards, bool on_sale)
{
    int64_t now = clock_wall_ms();

    run_sql(
        "INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,pay_timeout_ms,shards,state,starts_at,"
        "ends_at,epoch,preheated_at) VALUES(%" PRId64 ",'test',77,9900,'EUR',%" PRId64 ",900000,%d,'running',"
        "FROM_UNIXTIME(%" PRId64 "/1000),FROM_UNIXTIME(%" PRId64 "/1000),1,%s)",
        activity, stock, shards, now - 1000, now + 3600000, on_sale ? "NOW(6)" : "NULL");
    run_sql("INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",%" PRId64 ",%" PRId64 ")",
            activity, stock, stock);
    for (int shard = 0; on_sale && shard < shards; shard++)
        preheat(shard, stock / shards + (shard < stock % shards), now);
}

/* ---- orderload ---- */

/* Runs `orderload -c conf --activity N --json`, the words in between; answers its exit code and reads its report. */
static int orderload(const char *line)
{
    char copy[512], number[32], *rest = copy, *argv[WORDS_MAX], *word;
    int argc = 0, status;
    json_error_t error;

    snprintf(copy, sizeof copy, "%s", line);
    snprintf(number, sizeof number, "%" PRId64, activity);
    argv[argc++] = (char *)(uintptr_t)program("orderload");
    while ((word = strsep(&rest, " ")) && argc < WORDS_MAX - 6)
        argv[argc++] = strcmp(word, "IDS") == 0 ? ids_file : word;
    argv[argc++] = (char *)(uintptr_t) "--activity";
    argv[argc++] = number;
    argv[argc++] = (char *)(uintptr_t) "-c";
    argv[argc++] = conf_file;
    argv[argc++] = (char *)(uintptr_t) "--json";
    argv[argc] = NULL;
    wait_exit(start(argv, out_file, NULL), &status);
    ck_assert_msg(WIFEXITED(status), "orderload died of signal %d", WTERMSIG(status));
    json_decref(report);
    report = json_load_file(out_file, 0, &error);
    return WEXITSTATUS(status);
}

static int64_t fact(const char *name)
{
    const json_t *value = json_object_get(json_object_get(report, "facts"), name);

    ck_assert_msg(json_is_number(value), "no fact %s", name);
    return (int64_t)json_number_value(value);
}

static const json_t *check_of(const char *name)
{
    const json_t *check = json_object_get(json_object_get(report, "checks"), name);

    ck_assert_msg(json_is_object(check), "no check %s", name);
    return check;
}

static const char *verdict_of(const char *name)
{
    return json_string_value(json_object_get(check_of(name), "verdict"));
}

static int64_t found(const char *name)
{
    return json_integer_value(json_object_get(check_of(name), "found"));
}

static bool names(const char *check, const char *text)
{
    const json_t *examples = json_object_get(check_of(check), "examples");

    for (size_t i = 0; i < json_array_size(examples); i++) {
        if (strstr(json_string_value(json_array_get(examples, i)), text))
            return true;
    }
    return false;
}

static void assert_good(int code)
{
    char *text = json_dumps(report, JSON_INDENT(1));

    ck_assert_msg(code == 0 && json_is_true(json_object_get(report, "good")), "exit %d: %s", code, text ? text : "");
    free(text);
}

/* ---- tests ---- */

START_TEST(a_sale_with_all_that_goes_wrong_is_good)
{
    make_activity(300, 3, true);
    start_daemon();
    assert_good(orderload("sale --buyers 1500 --duplicates 10 --malformed 5% --oversized 1 --foreign 1% --silent 4 "
                          "--ids IDS"));
    ck_assert_int_eq(fact("buyers"), 1500);
    ck_assert_int_eq(fact("accepted"), 300);
    ck_assert_int_eq(fact("taken"), 300);
    ck_assert_int_eq(fact("short"), 1200);
    ck_assert_int_eq(fact("silent"), 12);
    ck_assert_int_eq(fact("orders"), 288);
    ck_assert_int_eq(fact("rows"), 288);
    ck_assert_int_eq(fact("available"), 12);
    ck_assert_int_eq(fact("left"), 0);
    ck_assert_int_eq(fact("reservations"), 300);
    ck_assert_int_eq(fact("duplicates"), 28);
    ck_assert_int_eq(fact("malformed"), 16); /* 316 * 5 / 93, rounded down */
    ck_assert_int_eq(fact("oversized"), 3);
    ck_assert_int_eq(fact("foreign"), 3);
    ck_assert_int_eq(found("dead_letters"), 22);
    assert_good(orderload("verify --ids IDS --wait 0"));
    ck_assert_int_eq(fact("accepted"), 300);
}
END_TEST

START_TEST(units_of_several_and_a_pace)
{
    int64_t begun = testing_now_ms();

    make_activity(100, 2, true);
    run_sql("UPDATE activity SET per_user_limit=3 WHERE id=%" PRId64, activity);
    start_daemon();
    /* Redis still has a limit of 1 a buyer: nobody may have two. */
    assert_good(orderload("sale --buyers 60 --rate 60 --quantity 2"));
    ck_assert_int_ge(testing_now_ms() - begun, 950);
    ck_assert_int_eq(fact("over_limit"), 60);
    ck_assert_int_eq(fact("accepted"), 0);
    ck_assert_msg(strstr(json_string_value(json_object_get(report, "verdict")), "nothing was sold") != NULL, "%s",
                  json_string_value(json_object_get(report, "verdict")));
}
END_TEST

START_TEST(what_no_daemon_took_is_lost_until_one_does)
{
    make_activity(50, 1, true);
    start_daemon();
    assert_good(orderload("sale --buyers 1"));
    stop_daemon();
    ck_assert_int_eq(orderload("sale --buyers 100 --users-from 2 --settle 500ms --ids IDS"), 1);
    ck_assert_str_eq(verdict_of("lost"), "broken");
    ck_assert_int_eq(found("lost"), 49);
    ck_assert_int_eq(found("extra"), 1); /* the first run left no ids */
    start_daemon();
    ck_assert_int_eq(orderload("verify --ids IDS"), 1);
    ck_assert_str_eq(verdict_of("lost"), "ok");
    ck_assert_int_eq(fact("rows"), 50);
}
END_TEST

START_TEST(several_runs_share_one_ids_file)
{
    make_activity(50, 2, true);
    start_daemon();
    assert_good(orderload("sale --buyers 20 --ids IDS"));
    assert_good(orderload("sale --buyers 20 --ids IDS")); /* the same buyers: all over their limit */
    ck_assert_int_eq(fact("over_limit"), 20);
    assert_good(orderload("sale --buyers 100 --users-from 1000 --ids IDS"));
    ck_assert_int_eq(fact("accepted"), 30);
    ck_assert_int_eq(fact("rows"), 50);
    ck_assert_int_eq(orderload("sale --buyers 5 --users-from 5000"), 1);
    ck_assert_int_eq(found("extra"), 50);
}
END_TEST

START_TEST(fill_and_rate_need_no_redis)
{
    make_activity(1000, 4, false);
    start_daemon();
    ck_assert_int_eq(orderload("fill 700 --ids IDS"), 0);
    ck_assert_int_eq(fact("orders"), 700);
    assert_good(orderload("verify --ids IDS"));
    ck_assert_int_eq(fact("rows"), 700);
    ck_assert_str_eq(verdict_of("shards"), "skipped");
    assert_good(orderload("rate --rate 100 --seconds 2 --users-from 10000 --ids IDS"));
    ck_assert_int_eq(fact("rows"), 200);
    ck_assert(json_number_value(json_object_get(json_object_get(report, "facts"), "row_p50_ms")) > 0);
    ck_assert(json_number_value(json_object_get(json_object_get(report, "facts"), "row_p99_ms")) < 5000);
    ck_assert_int_ge(fact("seconds"), 1);
    assert_good(orderload("verify --ids IDS --wait 0"));
    ck_assert_int_eq(fact("rows"), 900);
}
END_TEST

/* ---- planted faults ---- */

/* %A activity, %O %U %Q %S: one order's number, user, mark and shard. `broken`: exactly these checks, in their order.
 */
static const struct {
    const char *sql, *undo_sql;
    const char *redis[3];
    const char *broken;
    const char *names; /* what the first of them names */
} faults[] = {
    {"DELETE FROM orders WHERE order_no='%O'", NULL, {NULL}, "lost db_stock across", "%O"},
    {"INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,status,reserved_at) "
     "VALUES('extra_%A',%A,999999,0,77,1,9900,0,1,'pending',NOW(3))",
     NULL,
     {NULL},
     "extra oversold db_stock across",
     "extra_%A"},
    /* Two live rows of one buyer's mark, as a database without its unique key would take them. */
    {"ALTER TABLE orders DROP KEY uk_live, ADD KEY uk_live(activity_id,live_user,user_seq);"
     "INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,status,reserved_at) "
     "VALUES('twin_%A',%A,%U,%Q,77,1,9900,%S,1,'pending',NOW(3))",
     "DELETE FROM orders WHERE order_no='twin_%A';"
     "ALTER TABLE orders DROP KEY uk_live, ADD UNIQUE KEY uk_live(activity_id,live_user,user_seq)",
     {NULL},
     "extra doubled oversold db_stock across",
     "twin_%A"},
    {"UPDATE orders SET amount=amount-1 WHERE order_no='%O'", NULL, {NULL}, "wrong", "%O: amount is 9899"},
    {"UPDATE orders SET shard=shard+1 WHERE order_no='%O'", NULL, {NULL}, "wrong", "%O: shard"},
    {"UPDATE orders SET reserved_at=reserved_at+INTERVAL 1000 MICROSECOND WHERE order_no='%O'",
     NULL,
     {NULL},
     "wrong",
     "%O: reserved_at"},
    {"UPDATE orders SET status='rejected' WHERE order_no='%O'",
     NULL,
     {NULL},
     "rejected db_stock unsettled across",
     "%O"},
    {"UPDATE orders SET status='closed' WHERE order_no='%O';"
     "UPDATE activity_stock SET available=available+1 WHERE activity_id=%A",
     NULL,
     {NULL},
     "unsettled",
     "%O"},
    {"UPDATE orders SET status='paid' WHERE order_no='%O'", NULL, {NULL}, "unsettled", "%O"},
    {"UPDATE activity_stock SET total=total+10,available=available+10 WHERE activity_id=%A",
     NULL,
     {NULL},
     "db_stock across",
     "total 50 (activity: 40)"},
    {"UPDATE activity SET total_stock=39 WHERE id=%A", NULL, {NULL}, "oversold db_stock caps", ""},
    {NULL, NULL, {"INCRBY sk:{%A:%S}:stock 5"}, "shards across", "shard %S: present"},
    {NULL, NULL, {"HSET sk:{%A:%S}:meta epoch 2"}, "shards", "shard %S: present; epoch 2"},
    {NULL, NULL, {"HINCRBY sk:{%A:%S}:meta cap 3", "INCRBY sk:{%A:%S}:stock 3"}, "caps across", ""},
    {NULL,
     NULL,
     {"DEL sk:{%A:%S}:stock sk:{%A:%S}:held sk:{%A:%S}:gone sk:{%A:%S}:buyers sk:{%A:%S}:meta"},
     "shards caps unheld across",
     "shard %S: no_shard"},
    {NULL, NULL, {"HDEL sk:{%A:%S}:held %O"}, "ledger unheld marks across", "shard %S"},
    {NULL,
     NULL,
     {"HSET sk:{%A:%S}:held ghost_1 7|0|1|9900|1|1764400000123", "HINCRBY sk:{%A:%S}:meta held 1"},
     "shards stray across",
     "shard %S"},
    {NULL, NULL, {"HSET sk:{%A:%S}:held %O %U|%Q|1|1|1|1764400000123"}, "held_wrong", "%O: amount is 1,"},
    {NULL, NULL, {"HDEL sk:{%A:%S}:buyers %U:%Q"}, "marks", "%O: mark %U:%Q is missing"},
    {NULL, NULL, {"HSET sk:{%A:%S}:buyers 5:7 ghost|1"}, "marks", "mark 5:7 = ghost|1"},
};

struct victim {
    char order_no[40], user[24], user_seq[8], shard[8];
};

static bool take_victim(void *arg, const struct slice *c, unsigned count)
{
    struct victim *v = arg;

    ck_assert_uint_eq(count, 4);
    snprintf(v->order_no, sizeof v->order_no, "%.*s", (int)c[0].len, c[0].ptr);
    snprintf(v->user, sizeof v->user, "%.*s", (int)c[1].len, c[1].ptr);
    snprintf(v->user_seq, sizeof v->user_seq, "%.*s", (int)c[2].len, c[2].ptr);
    snprintf(v->shard, sizeof v->shard, "%.*s", (int)c[3].len, c[3].ptr);
    return true;
}

static struct victim choose_victim(void)
{
    struct victim v = {.order_no = ""};
    struct error err = {0};
    char sql[160];

    snprintf(sql, sizeof sql,
             "SELECT order_no,user_id,user_seq,shard FROM orders WHERE activity_id=%" PRId64 " ORDER BY id LIMIT 7,1",
             activity);
    ck_assert_ok(db_query(db, slice_of(sql), take_victim, &v, &err), &err);
    ck_assert(v.order_no[0] != '\0');
    return v;
}

static void expand(struct strbuf *out, const char *text, const struct victim *v)
{
    strbuf_reset(out);
    for (; *text; text++) {
        if (*text != '%') {
            strbuf_add_char(out, *text);
            continue;
        }
        switch (*++text) {
        case 'A':
            strbuf_add_i64(out, activity);
            break;
        case 'O':
            strbuf_add_str(out, v->order_no);
            break;
        case 'U':
            strbuf_add_str(out, v->user);
            break;
        case 'Q':
            strbuf_add_str(out, v->user_seq);
            break;
        default:
            strbuf_add_str(out, v->shard);
            break;
        }
    }
}

static void plant_sql(const char *text, const struct victim *v)
{
    struct strbuf sql = STRBUF_INIT;
    struct error err = {0};

    if (!text)
        return;
    expand(&sql, text, v);
    ck_assert_ok(db_run(db, (struct slice){sql.data, sql.len}, &err), &err);
    strbuf_release(&sql);
}

static void plant_redis(const char *text, const struct victim *v)
{
    struct strbuf line = STRBUF_INIT;
    struct slice argv[16];
    struct kv_reply *reply;
    struct error err = {0};
    char *rest, *word;
    size_t argc = 0;

    if (!text)
        return;
    expand(&line, text, v);
    for (rest = line.data; (word = strsep(&rest, " ")) && argc < 16;)
        argv[argc++] = slice_of(word);
    reply = kv_command(kv, argv, argc, &err);
    ck_assert_ok(reply, &err);
    kv_reply_free(&reply);
    strbuf_release(&line);
}

static void assert_broken(const char *expected)
{
    struct strbuf broken = STRBUF_INIT;
    const char *name;
    json_t *check;

    json_object_foreach(json_object_get(report, "checks"), name, check)
    {
        if (strcmp(json_string_value(json_object_get(check, "verdict")), "broken") == 0)
            strbuf_addf(&broken, "%s%s", broken.len ? " " : "", name);
    }
    ck_assert_str_eq(broken.len ? broken.data : "", expected);
    strbuf_release(&broken);
}

START_TEST(a_planted_fault_is_named)
{
    struct strbuf text = STRBUF_INIT;
    struct victim v;
    char first[32];
    int code;

    make_activity(40, 2, true);
    start_daemon();
    assert_good(orderload("sale --buyers 120 --ids IDS"));
    stop_daemon();
    v = choose_victim();
    plant_sql(faults[_i].sql, &v);
    for (int i = 0; i < COUNT(faults[_i].redis); i++)
        plant_redis(faults[_i].redis[i], &v);
    code = orderload("verify --ids IDS --wait 0");
    plant_sql(faults[_i].undo_sql, &v);
    ck_assert_int_eq(code, 1);
    assert_broken(faults[_i].broken);
    snprintf(first, sizeof first, "%.*s", (int)strcspn(faults[_i].broken, " "), faults[_i].broken);
    expand(&text, faults[_i].names, &v);
    ck_assert_msg(!text.len || names(first, text.data), "%s does not name %s", first, text.data);
    strbuf_release(&text);
}
END_TEST

/* ---- servers that go away ---- */

static pid_t restart_all(void)
{
    char command[1024];
    char *argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", command, NULL};

    snprintf(
        command, sizeof command,
        "s='%s/scripts/stack'; d='%s'; sleep 1; $s restart $d redis --kill; sleep 1; $s restart $d rabbitmq --kill; "
        "sleep 1; $s restart $d mariadb --kill",
        testing_env("ORDERD_SOURCE"), testing_env("ORDERD_STACK_DIR"));
    return start(argv, "/dev/null", NULL);
}

START_TEST(a_sale_outlives_its_servers)
{
    pid_t pid;
    int status, code;

    make_activity(1500, 2, true);
    start_daemon();
    pid = restart_all();
    code = orderload("sale --buyers 2500 --rate 250 --duplicates 10 --malformed 3 --silent 1 --settle 20s --ids IDS");
    wait_exit(pid, &status);
    ck_assert_int_eq(status, 0);
    assert_good(code);
    ck_assert_int_eq(fact("accepted"), 1500);
    ck_assert_int_ge(fact("redis_outages"), 1);
    ck_assert_int_ge(fact("broker_outages"), 1);
}
END_TEST

/* ---- exit codes ---- */

static void spoil_conf(const char *port)
{
    FILE *f = fopen(conf_file, "a");

    ck_assert(f != NULL);
    fprintf(f, "%s\n", port);
    fclose(f);
}

START_TEST(exit_codes_tell_what_is_wrong)
{
    FILE *f;

    ck_assert_int_eq(orderload("verify --ids IDS"), 65); /* no such activity */
    make_activity(10, 1, false);
    ck_assert_int_eq(orderload("verify --ids IDS"), 65); /* no such file */
    ck_assert_int_eq(orderload("sale"), 65);             /* not on sale */
    f = fopen(ids_file, "w");
    ck_assert(f != NULL);
    fputs("nonsense\n", f);
    fclose(f);
    ck_assert_int_eq(orderload("verify --ids IDS"), 65);
    ck_assert_int_eq(orderload("fill 1"), 78); /* no queue of that name yet */
    run_sql("UPDATE activity SET preheated_at=NOW(6) WHERE id=%" PRId64, activity);
    ck_assert_int_eq(orderload("sale --nonsense"), 64);
    spoil_conf("nonsense");
    ck_assert_int_eq(orderload("sale"), 78);
    f = fopen(conf_file, "w");
    ck_assert(f != NULL);
    fputs("mysql: { port = 1; };\n", f);
    fclose(f);
    ck_assert_int_eq(orderload("sale"), 69);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load");
    TCase *t = tcase_create("load");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_sale_with_all_that_goes_wrong_is_good);
    tcase_add_test(t, units_of_several_and_a_pace);
    tcase_add_test(t, what_no_daemon_took_is_lost_until_one_does);
    tcase_add_test(t, several_runs_share_one_ids_file);
    tcase_add_test(t, fill_and_rate_need_no_redis);
    tcase_add_loop_test(t, a_planted_fault_is_named, 0, COUNT(faults));
    tcase_add_test(t, exit_codes_tell_what_is_wrong);
    tcase_add_test(t, a_sale_outlives_its_servers);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
