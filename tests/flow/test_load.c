/* orderload against the real servers and a real orderd: a good run is called good, and every planted fault is named. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "testing_load.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* ---- tests ---- */

START_TEST(a_sale_with_all_that_goes_wrong_is_good)
{
    scene_sell(300, 3, true);
    scene_start();
    scene_good(
        scene_orderload("sale --buyers 1500 --duplicates 10 --malformed 5% --oversized 1 --foreign 1% --silent 4 "
                        "--ids IDS"));
    ck_assert_int_eq(scene_fact("buyers"), 1500);
    ck_assert_int_eq(scene_fact("accepted"), 300);
    ck_assert_int_eq(scene_fact("taken"), 300);
    ck_assert_int_eq(scene_fact("short"), 1200);
    ck_assert_int_eq(scene_fact("silent"), 12);
    ck_assert_int_eq(scene_fact("orders"), 288);
    ck_assert_int_eq(scene_fact("rows"), 288);
    ck_assert_int_eq(scene_fact("available"), 12);
    ck_assert_int_eq(scene_fact("left"), 0);
    ck_assert_int_eq(scene_fact("reservations"), 300);
    ck_assert_int_eq(scene_fact("duplicates"), 28);
    ck_assert_int_eq(scene_fact("malformed"), 16); /* 316 * 5 / 93, rounded down */
    ck_assert_int_eq(scene_fact("oversized"), 3);
    ck_assert_int_eq(scene_fact("foreign"), 3);
    ck_assert_int_eq(scene_found("dead_letters"), 22);
    scene_good(scene_orderload("verify --ids IDS --wait 0"));
    ck_assert_int_eq(scene_fact("accepted"), 300);
}
END_TEST

START_TEST(units_of_several_and_a_pace)
{
    int64_t begun = testing_now_ms();

    scene_sell(100, 2, true);
    scene_sql("UPDATE activity SET per_user_limit=3 WHERE id=%" PRId64, scene.activity);
    scene_start();
    /* Redis still has a limit of 1 a buyer: nobody may have two. */
    scene_good(scene_orderload("sale --buyers 60 --rate 60 --quantity 2"));
    ck_assert_int_ge(testing_now_ms() - begun, 950);
    ck_assert_int_eq(scene_fact("over_limit"), 60);
    ck_assert_int_eq(scene_fact("accepted"), 0);
    ck_assert_msg(strstr(json_string_value(json_object_get(scene.report, "verdict")), "nothing was sold") != NULL, "%s",
                  json_string_value(json_object_get(scene.report, "verdict")));
}
END_TEST

START_TEST(what_no_daemon_took_is_lost_until_one_does)
{
    scene_sell(50, 1, true);
    scene_start();
    scene_good(scene_orderload("sale --buyers 1"));
    scene_stop();
    ck_assert_int_eq(scene_orderload("sale --buyers 100 --users-from 2 --settle 500ms --ids IDS"), 1);
    ck_assert_str_eq(scene_verdict("lost"), "broken");
    ck_assert_int_eq(scene_found("lost"), 49);
    ck_assert_int_eq(scene_found("extra"), 1); /* the first run left no ids */
    scene_start();
    ck_assert_int_eq(scene_orderload("verify --ids IDS"), 1);
    ck_assert_str_eq(scene_verdict("lost"), "ok");
    ck_assert_int_eq(scene_fact("rows"), 50);
}
END_TEST

START_TEST(several_runs_share_one_ids_file)
{
    scene_sell(50, 2, true);
    scene_start();
    scene_good(scene_orderload("sale --buyers 20 --ids IDS"));
    scene_good(scene_orderload("sale --buyers 20 --ids IDS")); /* the same buyers: all over their limit */
    ck_assert_int_eq(scene_fact("over_limit"), 20);
    scene_good(scene_orderload("sale --buyers 100 --users-from 1000 --ids IDS"));
    ck_assert_int_eq(scene_fact("accepted"), 30);
    ck_assert_int_eq(scene_fact("rows"), 50);
    ck_assert_int_eq(scene_orderload("sale --buyers 5 --users-from 5000"), 1);
    ck_assert_int_eq(scene_found("extra"), 50);
}
END_TEST

START_TEST(fill_and_rate_need_no_redis)
{
    scene_sell(1000, 4, false);
    scene_start();
    ck_assert_int_eq(scene_orderload("fill 700 --ids IDS"), 0);
    ck_assert_int_eq(scene_fact("orders"), 700);
    scene_good(scene_orderload("verify --ids IDS"));
    ck_assert_int_eq(scene_fact("rows"), 700);
    ck_assert_str_eq(scene_verdict("shards"), "skipped");
    scene_good(scene_orderload("rate --rate 100 --seconds 2 --users-from 10000 --ids IDS"));
    ck_assert_int_eq(scene_fact("rows"), 200);
    ck_assert(json_number_value(json_object_get(json_object_get(scene.report, "facts"), "row_p50_ms")) > 0);
    ck_assert(json_number_value(json_object_get(json_object_get(scene.report, "facts"), "row_p99_ms")) < 5000);
    ck_assert_int_ge(scene_fact("seconds"), 1);
    scene_good(scene_orderload("verify --ids IDS --wait 0"));
    ck_assert_int_eq(scene_fact("rows"), 900);
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
     {"HINCRBY sk:{%A:%S}:meta cap 3", "INCRBY sk:{%A:%S}:stock 3", "HINCRBY sk:{%A:%S}:meta out -3"},
     "shards",
     "3 units came to shards and never left one"},
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
             scene.activity);
    ck_assert_ok(db_query(scene.db, slice_of(sql), take_victim, &v, &err), &err);
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
            strbuf_add_i64(out, scene.activity);
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
    ck_assert_ok(db_run(scene.db, (struct slice){sql.data, sql.len}, &err), &err);
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
    reply = kv_command(scene.kv, argv, argc, &err);
    ck_assert_ok(reply, &err);
    kv_reply_free(&reply);
    strbuf_release(&line);
}

START_TEST(a_planted_fault_is_named)
{
    struct strbuf text = STRBUF_INIT;
    struct victim v;
    char first[32];
    int code;

    scene_sell(40, 2, true);
    scene_start();
    scene_good(scene_orderload("sale --buyers 120 --ids IDS"));
    scene_stop();
    v = choose_victim();
    plant_sql(faults[_i].sql, &v);
    for (int i = 0; i < COUNT(faults[_i].redis); i++)
        plant_redis(faults[_i].redis[i], &v);
    code = scene_orderload("verify --ids IDS --wait 0");
    plant_sql(faults[_i].undo_sql, &v);
    ck_assert_int_eq(code, 1);
    scene_broken(faults[_i].broken);
    snprintf(first, sizeof first, "%.*s", (int)strcspn(faults[_i].broken, " "), faults[_i].broken);
    expand(&text, faults[_i].names, &v);
    ck_assert_msg(!text.len || scene_names(first, text.data), "%s does not name %s", first, text.data);
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
    return scene_child(argv, "/dev/null", NULL);
}

START_TEST(a_sale_outlives_its_servers)
{
    pid_t pid;
    int status, code;

    scene_sell(1500, 2, true);
    scene_start();
    pid = restart_all();
    code = scene_orderload(
        "sale --buyers 2500 --rate 250 --duplicates 10 --malformed 3 --silent 1 --settle 20s --ids IDS");
    scene_wait_exit(pid, &status);
    ck_assert_int_eq(status, 0);
    scene_good(code);
    ck_assert_int_eq(scene_fact("accepted"), 1500);
    ck_assert_int_ge(scene_fact("redis_outages"), 1);
    ck_assert_int_ge(scene_fact("broker_outages"), 1);
}
END_TEST

/* ---- exit codes ---- */

static void spoil_conf(const char *port)
{
    FILE *f = fopen(scene.conf_file, "a");

    ck_assert(f != NULL);
    fprintf(f, "%s\n", port);
    fclose(f);
}

/* Its keys are gone then, rightly. */
START_TEST(of_a_settled_activity_only_rows_are_verified)
{
    scene_sell(20, 2, true);
    scene_start();
    scene_good(scene_orderload("sale --buyers 30 --ids IDS"));
    ck_assert_str_eq(scene_verdict("shards"), "ok");
    scene_sql("UPDATE activity SET state='settled' WHERE id=%" PRId64, scene.activity);
    scene_good(scene_orderload("verify --ids IDS --wait 0"));
    ck_assert_str_eq(scene_verdict("lost"), "ok");
    ck_assert_str_eq(scene_verdict("shards"), "skipped");
    ck_assert_str_eq(scene_verdict("across"), "skipped");
    scene_sql("DELETE FROM orders WHERE activity_id=%" PRId64 " LIMIT 1", scene.activity);
    ck_assert_int_eq(scene_orderload("verify --ids IDS --wait 0 --settle 0"), 1);
    scene_broken("lost db_stock");
}
END_TEST

START_TEST(exit_codes_tell_what_is_wrong)
{
    FILE *f;

    ck_assert_int_eq(scene_orderload("verify --ids IDS"), 65); /* no such activity */
    scene_sell(10, 1, false);
    ck_assert_int_eq(scene_orderload("verify --ids IDS"), 74); /* no such file */
    ck_assert_int_eq(scene_orderload("verify --ids IDS --ids /dev/null"), 74);
    ck_assert_int_eq(scene_orderload("verify --ids /dev/null"), 65);
    ck_assert_int_eq(scene_orderload("sale"), 65); /* not on sale */
    f = fopen(scene.ids_file, "w");
    ck_assert(f != NULL);
    fputs("nonsense\n", f);
    fclose(f);
    ck_assert_int_eq(scene_orderload("verify --ids IDS"), 65);
    f = fopen(scene.ids_file, "w");
    ck_assert(f != NULL);
    fputs("1000000000000000001 9 42 0 1 9900 0 1 1764400000123 filled\n", f); /* another activity's */
    fclose(f);
    ck_assert_int_eq(scene_orderload("verify --ids IDS --wait 0"), 65);
    f = fopen(scene.ids_file, "w");
    ck_assert(f != NULL);
    fputs("# the head of a run that accepted nothing\n", f);
    fclose(f);
    scene_good(scene_orderload("verify --ids IDS --wait 0"));
    ck_assert_int_eq(scene_orderload("verify --ids IDS --payments /nope --wait 0"), 74);
    ck_assert_int_eq(scene_orderload("verify --ids IDS --payments /dev/null --wait 0"), 65);
    ck_assert_int_eq(scene_orderload("fill 1"), 78); /* no queue of that name yet */
    scene_sql("UPDATE activity SET preheated_at=NOW(6) WHERE id=%" PRId64, scene.activity);
    ck_assert_int_eq(scene_orderload("sale --nonsense"), 64);
    spoil_conf("nonsense");
    ck_assert_int_eq(scene_orderload("sale"), 78);
    f = fopen(scene.conf_file, "w");
    ck_assert(f != NULL);
    fputs("mysql: { port = 1; };\n", f);
    fclose(f);
    ck_assert_int_eq(scene_orderload("sale"), 69);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load");
    TCase *t = tcase_create("load");

    tcase_add_checked_fixture(t, scene_setup, scene_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_sale_with_all_that_goes_wrong_is_good);
    tcase_add_test(t, units_of_several_and_a_pace);
    tcase_add_test(t, what_no_daemon_took_is_lost_until_one_does);
    tcase_add_test(t, several_runs_share_one_ids_file);
    tcase_add_test(t, fill_and_rate_need_no_redis);
    tcase_add_loop_test(t, a_planted_fault_is_named, 0, COUNT(faults));
    tcase_add_test(t, of_a_settled_activity_only_rows_are_verified);
    tcase_add_test(t, exit_codes_tell_what_is_wrong);
    tcase_add_test(t, a_sale_outlives_its_servers);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
