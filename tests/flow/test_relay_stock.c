/* Effects that run in Redis: what each answer of the script does to the row; Redis away, silent or full. */
#include "testing_relay.h"
#include "testing_stock.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "orderd/clock.h"
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

static void write_row(const char *key, const struct stock_giveback *giveback)
{
    struct strbuf payload = STRBUF_INIT;

    stock_effect_encode(giveback, 1, &payload);
    testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('stock.return:%s','stock.return','%s')",
                key, payload.data);
    strbuf_release(&payload);
}

static void assert_row(const char *key, const char *condition)
{
    ck_assert_msg(testing_number("SELECT COUNT(*) FROM local_message WHERE message_key='stock.return:%s' AND %s", key,
                                 condition) == 1,
                  "row %s is not as expected: %s", key, condition);
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
    testing_wait(testing_number("SELECT COUNT(*) FROM local_message WHERE lease_owner IS NULL AND (state<>'pending' OR "
                                "last_error IS NOT NULL)") == 8,
                 5000, "all were tried");
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
#ifdef ORDERD_FAULTS
    tcase_add_test(c, killed_before_the_mark);
#endif
    tcase_add_test(c, redis_away);
    tcase_add_test(c, redis_silent);
    tcase_add_test(c, redis_full);
    suite_add_tcase(s, c);
    return testing_main(s);
}
