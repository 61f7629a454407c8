/* Effects that run in Redis: what each answer of the script does to the row; Redis away, silent or full. */
#include "testing_relay.h"
#include "testing_sentinel.h"
#include "testing_stock.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "orderd/clock.h"
#include "orderd/metric.h"
#include "orderd/stock_effect.h"

#define CAP 100

static struct kv *redis;
static struct testing_shard shard;

static void setup(const char *relay)
{
    testing_relay_setup(relay);
    redis = testing_redis_shared();
    testing_shard_create(&shard, redis, CAP, 100);
}

static void write_list(const char *key, const struct stock_giveback *list, size_t count)
{
    struct strbuf payload = STRBUF_INIT;

    stock_effect_encode(list, count, &payload);
    testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('stock.return:%s','stock.return','%s')",
                key, payload.data);
    strbuf_release(&payload);
}

static void write_row(const char *key, const struct stock_giveback *giveback)
{
    write_list(key, giveback, 1);
}

static void write_paid(const char *key, int shard_no, const char *const *order_nos, size_t count)
{
    struct strbuf payload = STRBUF_INIT;
    struct stock_paid list[8];

    for (size_t i = 0; i < count; i++)
        list[i] = (struct stock_paid){shard.plan.activity, shard_no, slice_of(order_nos[i])};
    stock_effect_encode_paid(list, count, &payload);
    testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('stock.settle:%s','stock.settle','%s')",
                key, payload.data);
    strbuf_release(&payload);
}

static void assert_row(const char *key, const char *condition)
{
    ck_assert_msg(testing_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE 'stock.%%:%s' AND %s", key,
                                 condition) == 1,
                  "row %s is not as expected: %s", key, condition);
}

static void wait_tried(int rows)
{
    testing_wait(testing_number("SELECT COUNT(*) FROM local_message WHERE lease_owner IS NULL AND (state<>'pending' OR "
                                "last_error IS NOT NULL)") == rows,
                 5000, "all were tried");
}

static int64_t counted(enum metric metric)
{
    struct metric_sum sum;

    metric_read(&sum);
    return (int64_t)sum.counters[metric];
}

static void give_activity(const char *state)
{
    testing_sql(
        "INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,per_user_limit,pay_timeout_ms,state,"
        "starts_at,ends_at,epoch) VALUES(%" PRId64 ",'test',1,1,'CNY',100,1,900000,'%s',NOW(3),"
        "NOW(3)+INTERVAL 1 HOUR,1)",
        shard.plan.activity, state);
}

static struct stock_giveback giveback_of(const char *order_no)
{
    return testing_giveback(&shard, order_no, 2);
}

/* One row for each answer of the script. */
START_TEST(every_answer)
{
    struct stock_giveback g;

    setup("poll_interval = \"50ms\";");
    give_activity("ended");
    testing_take(&shard, "given", 1, 2);
    g = giveback_of("given");
    write_row("given", &g);
    write_row("already", &g);
    g = giveback_of("nobody");
    write_row("refused", &g);
    g = giveback_of("old");
    g.epoch = shard.plan.epoch - 1;
    write_row("old_epoch", &g);
    g = giveback_of("new");
    g.epoch = shard.plan.epoch + 1;
    write_row("newer_epoch", &g);
    g = giveback_of("cut");
    g.reservations = false;
    g.units_back = CAP + 7;
    write_row("cut", &g);
    g = giveback_of("bad");
    g.epoch = 0;
    write_row("bad_argument", &g);
    g = giveback_of("elsewhere");
    g.shard = shard.plan.shard + 1;
    write_row("no_shard", &g);
    testing_relay_start(1);
    wait_tried(8);
    for (const char *const *key = (const char *const[]){"given", "already", "refused", "old_epoch", "cut", NULL}; *key;
         key++)
        assert_row(*key, "state='sent' AND attempts=1");
    assert_row("bad_argument",
               "state='quarantined' AND last_error='an argument is out of its range; nothing changed: epoch'");
    assert_row("newer_epoch", "state='pending' AND attempts=0 AND last_error LIKE '%later epoch%' AND "
                              "due_at>NOW(6)+INTERVAL 20 SECOND");
    assert_row("no_shard", "state='pending' AND attempts=0 AND last_error LIKE 'no such shard%' AND "
                           "due_at>NOW(6)+INTERVAL 20 SECOND");
    ck_assert_int_eq(testing_shard_audit(&shard).left, CAP);
    testing_shard_hash(&shard, STOCK_KEY_GONE, "nobody", "refused");
    testing_relay_stop();
}
END_TEST

/* A shard that is gone waits for its rebuild, unless the activity is over and done with. */
START_TEST(missing_shard)
{
    struct stock_giveback g;

    setup("poll_interval = \"50ms\";");
    give_activity("ended");
    g = giveback_of("lost");
    g.shard = shard.plan.shard + 1;
    write_row("lost", &g);
    testing_relay_start(1);
    testing_wait(testing_number("SELECT COUNT(*) FROM local_message WHERE last_error IS NOT NULL") == 1, 5000,
                 "it waits");
    testing_sql("UPDATE activity SET state='settled' WHERE id=%" PRId64, shard.plan.activity);
    testing_sql("UPDATE local_message SET due_at=NOW(6)");
    testing_wait_relayed(5000);
    assert_row("lost", "state='sent'");
    testing_sql("UPDATE activity SET state='ended' WHERE id=%" PRId64, shard.plan.activity);
    g = giveback_of("damaged");
    write_row("damaged", &g);
    testing_redis_run(redis, "SET", shard.keys.text[STOCK_KEY_STOCK], "junk", NULL);
    testing_wait(testing_number("SELECT COUNT(*) FROM local_message WHERE last_error LIKE 'the shard is damaged%%'") ==
                     1,
                 5000, "it waits");
    assert_row("damaged", "state='pending' AND attempts=0");
    testing_relay_stop();
}
END_TEST

/* ---- rows of many orders ---- */

/* Takes 2 units for each of the orders and lists how they go back. */
static void take_list(const char *prefix, struct stock_giveback *list, char (*names)[24], int count)
{
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%s%d", prefix, i);
        testing_take(&shard, names[i], 1000 + i, 2);
        list[i] = giveback_of(names[i]);
    }
}

/* All go back at once, those that did before and those that never were do not count. */
START_TEST(list_goes_back_once)
{
    struct stock_giveback list[40];
    char names[40][24];
    int64_t before = counted(METRIC_STOCK_UNITS_RETURNED);

    setup("poll_interval = \"50ms\";");
    take_list("L", list, names, 38);
    list[38] = giveback_of("nobody");
    list[39] = list[0];
    testing_give(&shard, "L5", 2);
    write_list("list", list, 40);
    write_list("again", list, 40);
    testing_relay_start(1);
    testing_wait_relayed(5000);
    testing_relay_stop();
    assert_row("list", "state='sent' AND attempts=1");
    assert_row("again", "state='sent' AND attempts=1");
    ck_assert_int_eq(testing_shard_audit(&shard).left, CAP);
    ck_assert_int_eq(testing_shard_audit(&shard).held, 0);
    testing_shard_hash(&shard, STOCK_KEY_GONE, "nobody", "refused");
    ck_assert_int_eq(counted(METRIC_STOCK_UNITS_RETURNED) - before, 37 * 2);
}
END_TEST

/* One of them cannot go: it makes its row wait, the others are through, and nothing moves twice when it goes. */
START_TEST(list_waits_for_one)
{
    struct stock_giveback list[10];
    char names[10][24];
    struct testing_shard other;
    struct stock_preheated preheated;
    struct error err;
    int64_t before = counted(METRIC_STOCK_UNITS_RETURNED);

    setup("poll_interval = \"50ms\";");
    give_activity("ended");
    take_list("W", list, names, 10);
    list[4].shard = shard.plan.shard + 1;
    list[7].epoch = 0; /* refused: but it must not set the row aside while another of it waits */
    write_list("list", list, 10);
    testing_relay_start(1);
    wait_tried(1);
    assert_row("list", "state='pending' AND attempts=0 AND last_error LIKE 'order W4: no such shard%' AND "
                       "due_at>NOW(6)+INTERVAL 20 SECOND");
    ck_assert_int_eq(testing_shard_audit(&shard).left, CAP - 4);
    other = shard;
    other.plan.shard++;
    stock_keys_of(&other.keys, other.plan.activity, other.plan.shard);
    ck_assert_ok(stock_preheat(redis, &other.plan, &preheated, &err), &err);
    testing_take(&other, "W4", 1, 3);
    testing_sql("UPDATE local_message SET due_at=NOW(6)");
    testing_wait_relayed(5000);
    assert_row("list",
               "state='quarantined' AND last_error='order W7: an argument is out of its range; nothing changed: "
               "epoch'");
    ck_assert_int_eq(testing_shard_audit(&shard).left, CAP - 4); /* W4's in this shard, and W7's */
    ck_assert_int_eq(testing_shard_audit(&other).left, CAP);
    ck_assert_int_eq(counted(METRIC_STOCK_UNITS_RETURNED) - before, 8 * 2 + 3);
    testing_relay_stop();
}
END_TEST

/* More rows and orders than go together in one round trip. */
START_TEST(many_lists)
{
    enum { ROWS = 12, EACH = 90 };
    static char names[ROWS * EACH][24];
    struct stock_giveback list[EACH];

    testing_relay_setup("poll_interval = \"50ms\";");
    redis = testing_redis_shared();
    testing_shard_create(&shard, redis, 2 * ROWS * EACH, 100);
    for (int r = 0; r < ROWS; r++) {
        char key[24];

        for (int i = 0; i < EACH; i++) {
            char *name = names[r * EACH + i];

            snprintf(name, sizeof names[0], "M%d_%d", r, i);
            testing_take(&shard, name, 1 + r * EACH + i, 2);
            list[i] = giveback_of(name);
        }
        snprintf(key, sizeof key, "M%d", r);
        write_list(key, list, EACH);
    }
    ck_assert_int_eq(testing_shard_audit(&shard).left, 0);
    testing_relay_start(1);
    testing_wait_relayed(10000);
    testing_relay_stop();
    ck_assert_int_eq(testing_rows_in("stock.return", "sent"), ROWS);
    ck_assert_int_eq(testing_shard_audit(&shard).left, 2 * ROWS * EACH);
}
END_TEST

/* ---- what is paid ---- */

START_TEST(every_answer_of_settle)
{
    int64_t sold = counted(METRIC_STOCK_UNITS_SOLD), gone = counted(METRIC_STOCK_PAID_GONE);

    setup("poll_interval = \"50ms\";");
    give_activity("running");
    testing_take(&shard, "S1", 1, 2);
    testing_take(&shard, "S2", 2, 3);
    testing_take(&shard, "S3", 3, 4);
    testing_take(&shard, "S4", 4, 5);
    testing_settle(&shard, "S2");
    testing_give(&shard, "S3", 4);
    write_paid("mixed", shard.plan.shard, (const char *const[]){"S1", "S2", "nobody", "S3"}, 4);
    write_paid("one", shard.plan.shard, (const char *const[]){"S4"}, 1);
    write_paid("one_again", shard.plan.shard, (const char *const[]){"S4"}, 1);
    write_paid("no_shard", shard.plan.shard + 1, (const char *const[]){"S5", "S6"}, 2);
    testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('stock.settle:junk','stock.settle','{}')");
    testing_relay_start(1);
    wait_tried(5);
    for (const char *const *key = (const char *const[]){"mixed", "one", "one_again", NULL}; *key; key++)
        assert_row(*key, "state='sent' AND attempts=1");
    assert_row("junk", "state='quarantined' AND last_error='the payload is not a stock.settle of ours'");
    assert_row("no_shard", "state='pending' AND attempts=0 AND last_error LIKE 'order S5: no such shard%' AND "
                           "due_at>NOW(6)+INTERVAL 20 SECOND");
    ck_assert_int_eq(testing_shard_audit(&shard).sold, 2 + 3 + 5);
    ck_assert_int_eq(testing_shard_audit(&shard).held, 0);
    ck_assert_int_eq(testing_shard_audit(&shard).left, CAP - 10);
    testing_shard_hash(&shard, STOCK_KEY_GONE, "S1", "sold");
    testing_shard_hash(&shard, STOCK_KEY_GONE, "S3", "returned");
    testing_shard_hash(&shard, STOCK_KEY_GONE, "nobody", NULL);
    ck_assert_int_eq(counted(METRIC_STOCK_UNITS_SOLD) - sold, 2 + 5);
    ck_assert_int_eq(counted(METRIC_STOCK_PAID_GONE) - gone, 1);
    testing_sql("UPDATE activity SET state='settled' WHERE id=%" PRId64, shard.plan.activity);
    testing_sql("UPDATE local_message SET due_at=NOW(6)");
    testing_wait_relayed(5000);
    assert_row("no_shard", "state='sent'");
    testing_relay_stop();
}
END_TEST

#ifdef ORDERD_FAULTS
/* Given back, but the process died before it was marked: the second time nothing moves. */
START_TEST(killed_before_the_mark)
{
    setup("poll_interval = \"50ms\"; lease = \"2s\";");
    for (int n = 1; n <= 20; n++) {
        struct stock_giveback g;
        char order_no[20];

        snprintf(order_no, sizeof order_no, "K%d", n);
        testing_take(&shard, order_no, n, 2);
        g = giveback_of(order_no);
        write_row(order_no, &g);
    }
    ck_assert_int_eq(testing_shard_audit(&shard).left, CAP - 40);
    testing_relay_await(testing_relay_fork("relay.after_send=kill@1"), SIGKILL);
    ck_assert_int_eq(testing_shard_audit(&shard).left, CAP);
    testing_take(&shard, "later", 1, 5);
    testing_relay_start(1);
    testing_wait_relayed(10000);
    testing_relay_stop();
    ck_assert_int_eq(testing_shard_audit(&shard).left, CAP - 5);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='sent' AND attempts=2"), 20);
}
END_TEST
#endif

/* ---- Redis in trouble ---- */

static struct testing_redis server;
static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};

static void setup_own_redis(void)
{
    testing_relay_setup("poll_interval = \"50ms\";");
    testing_redis_start(&server, durable);
    testing_relay_conf->redis_port = server.port;
    testing_relay_conf->redis_connect_timeout = 500;
    testing_relay_conf->redis_command_timeout = 500;
    redis = testing_redis_open(server.port);
    testing_shard_create(&shard, redis, CAP, 100);
    for (int n = 1; n <= 30; n++) {
        struct stock_giveback g;
        char order_no[20];

        snprintf(order_no, sizeof order_no, "R%d", n);
        testing_take(&shard, order_no, n, 2);
        g = giveback_of(order_no);
        write_row(order_no, &g);
    }
}

static void assert_waiting(void)
{
    testing_wait(testing_number("SELECT COUNT(*) FROM local_message WHERE topic='stock.return' AND state='pending' AND "
                                "attempts=0 AND last_error IS NOT NULL") == 30,
                 10000, "the returns wait and say why");
    testing_rows("order.paid", "P", 1, 50);
    testing_wait(testing_rows_in("order.paid", "sent") == 50, 10000, "messages are not held up");
    clock_sleep_ms(1000);
    ck_assert_int_eq(testing_rows_in("stock.return", "pending"), 30);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE attempts>1"), 0);
}

static void assert_given_back(void)
{
    testing_wait_relayed(15000);
    ck_assert_int_eq(
        testing_number("SELECT COUNT(*) FROM local_message WHERE topic='stock.return' AND state='sent' AND "
                       "attempts=1"),
        30);
    ck_assert_int_eq(testing_shard_audit(&shard).left, CAP);
}

START_TEST(redis_away)
{
    setup_own_redis();
    kv_close(&redis);
    testing_redis_kill(&server);
    testing_relay_start(1);
    assert_waiting();
    testing_redis_again(&server, durable);
    shard.kv = redis = testing_redis_open(server.port);
    assert_given_back();
    testing_relay_stop();
    testing_redis_stop(&server);
}
END_TEST

/* Answers are lost: what ran and what did not is unknown, and repeated. */
START_TEST(redis_silent)
{
    setup_own_redis();
    ck_assert_int_eq(kill(server.pid, SIGSTOP), 0);
    testing_relay_start(1);
    assert_waiting();
    ck_assert_int_eq(kill(server.pid, SIGCONT), 0);
    assert_given_back();
    testing_relay_stop();
    testing_redis_stop(&server);
}
END_TEST

/* The primary dies while units go back: the relay finds the next one by itself, and nothing comes back twice or not at
 * all. */
#define FAILING_OVER 300

/* What the dead primary had answered and the new one never got: the walk repeats it, and so does the test. */
static void give_all_again(void)
{
    for (int n = 0; n < FAILING_OVER; n++) {
        char order_no[20];
        int code;

        snprintf(order_no, sizeof order_no, "F%d", n);
        code = testing_give(&shard, order_no, 1).code;
        ck_assert_msg(code == STOCK_RETURN_ALREADY || code == STOCK_RETURN_GIVEN_BACK, "%s: %d", order_no, code);
    }
}

static void use_sentinels(const struct conf *conf)
{
    testing_relay_conf->redis_mode = CONF_MODE_SENTINEL;
    testing_relay_conf->redis_nodes = conf->redis_nodes;
    testing_relay_conf->redis_sentinel_master = conf->redis_sentinel_master;
    testing_relay_conf->redis_sentinel_password_file = conf->redis_sentinel_password_file;
    testing_relay_conf->redis_password_file = conf->redis_password_file;
    testing_relay_conf->relay_batch_max = 20;
}

static void take_and_write_rows(int count)
{
    for (int n = 0; n < count; n++) {
        struct stock_giveback g;
        char order_no[20];

        snprintf(order_no, sizeof order_no, "F%d", n);
        testing_take(&shard, order_no, n + 1, 1);
        g = testing_giveback(&shard, order_no, 1);
        write_row(order_no, &g);
    }
}

START_TEST(redis_fails_over)
{
    static struct testing_sentinels sentinels;
    static struct conf conf;
    struct error err;

    testing_relay_setup("poll_interval = \"50ms\";");
    testing_sentinels_start(&sentinels);
    conf = testing_sentinels_conf(&sentinels);
    ck_assert((redis = kv_open(&conf, "test", &err)));
    testing_shard_create(&shard, redis, FAILING_OVER, 100);
    take_and_write_rows(FAILING_OVER);
    testing_redis_run(redis, "WAIT", "1", "4000", NULL);
    kv_close(&redis);
    use_sentinels(&conf);
    testing_relay_start(1);
    testing_wait(testing_rows_in("stock.return", "sent") > 0, 10000, "units go back");
    testing_redis_kill(&sentinels.servers[0]);
    testing_wait_relayed(30000);
    testing_relay_stop();
    ck_assert((shard.kv = redis = kv_open(&conf, "test", &err)));
    give_all_again();
    ck_assert_int_eq(testing_shard_audit(&shard).left, FAILING_OVER);
    kv_close(&redis);
    testing_sentinels_stop(&sentinels);
}
END_TEST

/* Out of memory: an operator's affair, not the row's. */
START_TEST(redis_full)
{
    setup_own_redis();
    testing_redis_run(redis, "CONFIG", "SET", "maxmemory", "1", NULL);
    testing_relay_start(1);
    assert_waiting();
    testing_redis_run(redis, "CONFIG", "SET", "maxmemory", "0", NULL);
    assert_given_back();
    testing_relay_stop();
    testing_redis_stop(&server);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("relay stock");
    TCase *c = tcase_create("stock");

    tcase_set_timeout(c, 60);
    tcase_add_unchecked_fixture(c, NULL, testing_relay_clean);
    tcase_add_test(c, every_answer);
    tcase_add_test(c, missing_shard);
    tcase_add_test(c, list_goes_back_once);
    tcase_add_test(c, list_waits_for_one);
    tcase_add_test(c, many_lists);
    tcase_add_test(c, every_answer_of_settle);
#ifdef ORDERD_FAULTS
    tcase_add_test(c, killed_before_the_mark);
#endif
    tcase_add_test(c, redis_away);
    tcase_add_test(c, redis_silent);
    tcase_add_test(c, redis_full);
    tcase_add_test(c, redis_fails_over);
    suite_add_tcase(s, c);
    return testing_main(s);
}
