/* orderctl dlq replay of orders that were rejected for good: the buyer gets a new order, one, whoever is killed or
 * meddles where; or is told why not. Daemons with a walk run beside it where that could make a second one. */
#include "testing_dlq.h"
#include "testing_sale.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "orderd/clock.h"
#include "orderd/exitcode.h"
#include "orderd/order.h"

/* All that waits is short, so that a walk finds within the test what a run left behind. */
#define CONF                                                                                                           \
    "create: { queue = \"" SALE_QUEUE "\"; }; retry: { delays = \"61ms,62ms\"; }; relay: { poll_interval = \"50ms\"; " \
    "}; walk: { interval = \"200ms\"; in_flight = \"100ms\"; pause = \"0\"; };"

#define REJECTED "order dead is rejected for good (stock_short): the buyer gets the new order dead-r1"

static char id[24]; /* of the letter of "dead" */
static struct program daemon_, other;

static void letter_of(const char *order_no, int64_t user, int quantity)
{
    struct order o = {.activity_id = sale_id,
                      .user_id = user,
                      .sku_id = 77,
                      .quantity = quantity,
                      .amount = SALE_PRICE * (int64_t)quantity,
                      .shard = 1,
                      .epoch = sale_row().epoch,
                      .reserved_at = clock_wall_ms()};
    struct strbuf body = STRBUF_INIT;

    snprintf(o.order_no, sizeof o.order_no, "%s", order_no);
    order_encode(&o, &body);
    testing_ctl_run_sql(
        "INSERT INTO dead_letter(letter_key,message_id,content_type,body,headers,reason,detail,queue,"
        "attempts,died_at,death_told,order_no) VALUES(UNHEX(SHA2('%s',256)),'%s','application/json','%s',"
        "'{\"traceparent\":\"00-1-2-01\",\"orderd-attempt\":3}','stock_short','','order.create',3,"
        "UTC_TIMESTAMP(),1,'%s')",
        order_no, order_no, body.data, order_no);
    strbuf_release(&body);
}

static void rejected(const char *order_no, int64_t user, int quantity)
{
    sale_sell(order_no, user, quantity, 1, ORDER_REJECTED);
    testing_ctl_run_sql("UPDATE orders SET reason='stock_short' WHERE order_no='%s'", order_no);
}

static void setup(void)
{
    sale_setup();
    testing_ctl_configure(&(struct testing_ctl_conf){.more = CONF});
    sale_preheat();
    rejected("dead", 3, 2);
    letter_of("dead", 3, 2);
    snprintf(id, sizeof id, "%" PRId64, dlq_id("dead"));
}

static void teardown(void)
{
    sale_teardown();
}

/* ---- what there is ---- */

static int64_t orders(const char *like, const char *status)
{
    return testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no LIKE '%s' AND status='%s'", like, status);
}

static int64_t messages(const char *key)
{
    return testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE message_key='%s'", key);
}

static int64_t in_state(const char *state)
{
    return testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE id=%s AND state='%s'", id, state);
}

static int64_t actions(const char *action)
{
    return testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action WHERE action='%s'", action);
}

static int64_t held(void)
{
    int64_t sum = 0;

    for (int i = 0; i < SALE_SHARDS; i++)
        sum += sale_audit(i).held;
    return sum;
}

static void start_daemon(void)
{
    program_start(&daemon_, (const char *const[]){"orderd", "-c", testing_ctl_file, NULL});
}

static void stop_daemon(void)
{
    kill(daemon_.pid, SIGTERM);
    program_wait(&daemon_);
    ck_assert_int_eq(daemon_.code, EXIT_OK);
}

/* Nothing that was written for the relay waits any more. */
static void settled(void)
{
    testing_wait(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE state='pending' AND topic NOT LIKE "
                                    "'order.unpaid%%'") == 0,
                 20000, "the relay has sent all");
}

/* The buyer has one new order, of one reservation; both sides agree. */
static void one_new_order(const char *order_no)
{
    testing_wait(orders(order_no, "pending") == 1, 20000, "the new order is there");
    settled();
    ck_assert_int_eq(orders("dead-r%%", "pending"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders n JOIN orders o ON o.order_no=n.replaces AND "
                                        "o.replaced_by=n.order_no WHERE n.order_no='%s' AND n.user_id=3 AND "
                                        "n.quantity=2 AND n.amount=%d AND n.shard=1 AND n.sku_id=77",
                                        order_no, 2 * SALE_PRICE),
                     1);
    ck_assert_int_eq(held(), 2);
    sale_ledger_agrees();
}

/* ---- looked at ---- */

START_TEST(shows_first)
{
    CTL("dlq", "replay", id, "--json");
    CTL_SAYS(EXIT_OK, "orderctl: 0 would be replayed, 1 renewed, 0 resolved, 0 refused; nothing was changed; "
                      "`--confirm 1` does it\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"result\":\"would_be_renewed\",\"why\":\"" REJECTED
                                                  "\",\"new_order\":\"dead-r1\"}\n"));
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE replaced_by IS NOT NULL"), 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_made"), 0);
    ck_assert_int_eq(in_state("open"), 1);
    ck_assert_int_eq(held(), 0);
}
END_TEST

static void over(void)
{
    testing_ctl_run_sql("UPDATE activity SET state='ended'");
}

static void paused(void)
{
    struct stock_keys keys;

    stock_keys_of(&keys, sale_id, 1);
    testing_redis_run(sale_kv, "HSET", keys.text[STOCK_KEY_META], "paused", "1", NULL);
}

static void sold_out(void)
{
    for (int64_t user = 100, left; (left = sale_audit(1).left) > 1; user++) {
        char order_no[32];

        snprintf(order_no, sizeof order_no, "b%" PRId64, user);
        sale_deduct(order_no, user, left > 3 ? 3 : left - 1, 1);
    }
}

static void has_order(void)
{
    sale_sell("mine", 3, 2, 1, ORDER_PENDING);
}

static void has_order_elsewhere(void)
{
    sale_sell("mine", 3, 2, 0, ORDER_PENDING);
}

/* Its own units are on their way back, so they count against its buyer. */
static void not_given_back(void)
{
    struct stock_keys keys;

    stock_keys_of(&keys, sale_id, 1);
    testing_redis_run(sale_kv, "HSET", keys.text[STOCK_KEY_HELD], "dead", "3|0|2|19800|1|1764400000123", NULL);
}

static void no_shard(void)
{
    sale_forget(1);
}

static void foreign_tier(void)
{
    testing_ctl_run_sql("UPDATE activity SET reservations=0");
}

static void on_its_way(void)
{
    testing_ctl_run_sql("UPDATE orders SET replaced_by='dead-r1' WHERE order_no='dead'");
    testing_ctl_run_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('order.create:dead-r1',"
                        "'order.create','{}')");
}

static void foreign_number(void)
{
    sale_insert("dead-r1", 9, 2, 2);
}

static void foreign_chain(void)
{
    testing_ctl_run_sql("UPDATE orders SET replaced_by='mine' WHERE order_no='dead'");
}

static void other_content(void)
{
    testing_ctl_run_sql("UPDATE orders SET user_id=4 WHERE order_no='dead'");
}

/* Each is looked at before the ones above it, so it counts although they are still so. */
static const struct {
    void (*before)(void);
    const char *why; /* how it begins */
} foreseen[] = {
    {sold_out, "sold out since: shard 1 has 1 units left"},
    {has_order_elsewhere, "buyer has an order: 2 units, and 2 more are over the limit of 3"},
    {not_given_back, "the units of order dead are not given back yet; a running orderd does that"},
    {paused, "the sale is paused"},
    {no_shard, "shard 1 of activity "},
    {over, "the sale is over"},
    {foreign_tier, "the web tier of activity "},
    {on_its_way, "order dead-r1, which replaces dead, is on its way"},
    {foreign_number, "order dead is rejected, and dead-r1, which should replace it, is another purchase"},
    {foreign_chain, "order dead is replaced by mine, which is not the number after it"},
    {other_content, "order dead is there and another purchase: buyer, activity, SKU, quantity or amount differ"},
};

/* What is known beforehand begins no number. */
START_TEST(refused_beforehand)
{
    for (size_t i = 0; i < sizeof foreseen / sizeof *foreseen; i++) {
        char line[300];

        foreseen[i].before();
        snprintf(line, sizeof line, "\"result\":\"refused\",\"why\":\"%s", foreseen[i].why);
        CTL("dlq", "replay", id, "--confirm", "0", "--json", "-q");
        CTL_SAYS(EXIT_PARTIAL, "");
        ck_assert_msg(strstr(testing_ctl.out, line) != NULL, "%s in %s", line, testing_ctl.out);
        ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\",\"new_order\":null}\n"));
    }
    ck_assert_int_eq(in_state("open"), 1);
    ck_assert_int_eq(actions("renewing"), 0);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_made"), 0);
}
END_TEST

/* One that nobody can follow does not keep the others back; it can be put aside. */
START_TEST(a_foreign_chain)
{
    char second[24];

    rejected("dead2", 4, 1);
    letter_of("dead2", 4, 1);
    snprintf(second, sizeof second, "%" PRId64, dlq_id("dead2"));
    foreign_chain();
    CTL("dlq", "replay", id, second, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_int_eq(messages("order.create:dead2-r1"), 1);
    CTL("dlq", "discard", id, "--note", "a test", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(in_state("discarded"), 1);
    ck_assert_int_eq(actions("rejects_order"), 0);
}
END_TEST

/* A new order is bought as soon as the units are given back, under the first number. */
START_TEST(given_back_first)
{
    sale_deduct("slow", 4, 3, 1);
    sale_insert("slow", 4, 3, 1);
    testing_ctl_run_sql("UPDATE orders SET status='rejected',reason='stock_short',units_returned=3 WHERE "
                        "order_no='slow'");
    letter_of("slow", 4, 3);
    snprintf(id, sizeof id, "%" PRId64, dlq_id("slow"));
    CTL("dlq", "replay", id, "--confirm", "0", "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_int_eq(orders("slow-r%%", "rejected"), 0);
    start_daemon();
    testing_wait(held() == 0, 20000, "the walk has given them back");
    stop_daemon();
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(messages("order.create:slow-r1"), 1);
}
END_TEST

/* ---- done ---- */

/* The letter names message and order and how they stand; each order its letter, and the other order. */
static void points_both_ways(void)
{
    char line[200];

    CTL("dlq", "show", id, "--json");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"messages\":[{\"key\":\"order.create:dead-r1\",\"state\":\"sent\","
                                                  "\"order_no\":\"dead-r1\",\"new_order\":true,\"order_status\":"
                                                  "\"pending\",\"who\":"));
    CTL("dlq", "show", id);
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "  sent as     order.create:dead-r1 is sent, new order dead-r1 is pending\n"));
    CTL("order", "show", "dead-r1", "--json");
    snprintf(line, sizeof line,
             "\"dead_letters\":[{\"id\":%s,\"state\":\"replayed\",\"reason\":\"stock_short\",\"sent\":true,"
             "\"new_order\":true}]",
             id);
    ck_assert_msg(strstr(testing_ctl.out, line) != NULL, "%s", testing_ctl.out);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"replaces\":\"dead\",\"replaced_by\":null"));
    CTL("order", "show", "dead");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  replaced by dead-r1\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "names this order"));
    CTL("order", "show", "dead-r1");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "this order is the new one for it"));
}

START_TEST(renews)
{
    CTL("dlq", "replay", id, "--confirm", "1", "--json");
    CTL_SAYS(EXIT_OK, "orderctl: 0 are replayed, 1 renewed, 0 resolved, 0 refused; a running orderd sends them\n");
    ck_assert_int_eq(in_state("replayed"), 1);
    ck_assert_int_eq(held(), 2);
    ck_assert_int_eq(
        testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE message_key='order.create:dead-r1' AND "
                           "topic='order.create' AND JSON_VALUE(headers,'$.\"orderd-replay-of\"')=%s AND "
                           "JSON_VALUE(headers,'$.\"message-id\"')='dead-r1' AND "
                           "JSON_VALUE(headers,'$.traceparent')='00-1-2-01' AND "
                           "JSON_EXTRACT(headers,'$.\"orderd-attempt\"') IS NULL AND JSON_VALUE(CONVERT(payload USING "
                           "utf8mb4),'$.amount')=%d",
                           id, 2 * SALE_PRICE),
        1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_made WHERE letter_id=%s AND kind='message' "
                                        "AND new_order AND order_no='dead-r1' AND message_key='order.create:dead-r1'",
                                        id),
                     1);
    ck_assert_int_eq(actions("renewing"), 1);
    ck_assert_int_eq(actions("renewed"), 1);
    start_daemon();
    one_new_order("dead-r1");
    stop_daemon();
    points_both_ways();
    testing_ctl_run_sql("UPDATE dead_letter SET state='open'");
    CTL("dlq", "replay", id, "--confirm", "1", "--json", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"resolved\",\"why\":\"order dead-r1, which replaces dead, is "
                                                  "pending\""));
}
END_TEST

/* The activity's price, but the order's own where amounts are free. */
START_TEST(at_its_own_amount)
{
    testing_ctl_run_sql("UPDATE activity SET free_amount=1");
    testing_ctl_run_sql("UPDATE orders SET amount=123;UPDATE dead_letter SET body=REPLACE(body,'19800','123')");
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE message_key='order.create:dead-r1' "
                                        "AND JSON_VALUE(CONVERT(payload USING utf8mb4),'$.amount')=123"),
                     1);
}
END_TEST

/* In the order in which they are named, so many a second. */
START_TEST(at_a_rate)
{
    char second[24], third[24];

    rejected("dead2", 4, 1);
    letter_of("dead2", 4, 1);
    rejected("dead3", 5, 1);
    letter_of("dead3", 5, 1);
    snprintf(second, sizeof second, "%" PRId64, dlq_id("dead2"));
    snprintf(third, sizeof third, "%" PRId64, dlq_id("dead3"));
    CTL("dlq", "replay", third, id, second, "--confirm", "3", "--rate", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    for (int i = 0; i < 2; i++)
        ck_assert_int_ge(testing_ctl_number(
                             "SELECT TIMESTAMPDIFF(MICROSECOND,a.due_at,b.due_at) FROM local_message a,local_message b "
                             "WHERE a.message_key='order.create:%s-r1' AND b.message_key='order.create:%s-r1'",
                             i ? "dead" : "dead3", i ? "dead2" : "dead"),
                         1000000);
    ck_assert_int_eq(held(), 4);
}
END_TEST

static const char *const kills[] = {"renew.after_number=kill@1", "renew.after_deduct=kill@1",
                                    "replay.before_commit=kill@1", "replay.after_commit=kill@1"};

/* Killed anywhere, and run again at once, beside a daemon whose walk finds the reservation too. */
START_TEST(killed)
{
    bool done = strcmp(kills[_i], "replay.after_commit=kill@1") == 0;

    DLQ_KILLED(kills[_i], "dlq", "replay", id, "--confirm", "1");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE replaced_by='dead-r1'"), 1);
    ck_assert_int_eq(held(), _i == 0 ? 0 : 2);
    CTL("dlq", "replay", id, "--confirm", done ? "0" : "1", "-q");
    ck_assert_int_eq(testing_ctl.code, done ? EXIT_PARTIAL : EXIT_OK);
    ck_assert_int_eq(in_state("replayed"), 1);
    ck_assert_int_eq(messages("order.create:dead-r1"), 1);
    ck_assert_int_eq(actions("renewed"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_made"), 1);
    start_daemon();
    one_new_order("dead-r1");
    stop_daemon();
}
END_TEST

/* Nobody runs it again: the walk makes the order. Then the letter is resolved by it; and had the message been written
 * as well (replay and walk at the same time), it is the same order. */
START_TEST(the_walk_is_faster)
{
    DLQ_KILLED("renew.after_deduct=kill@1", "dlq", "replay", id, "--confirm", "1");
    start_daemon();
    one_new_order("dead-r1");
    ck_assert_int_eq(messages("recover:dead-r1"), 1);
    ck_assert_int_eq(messages("order.create:dead-r1"), 0);
    testing_ctl_run_sql(
        "INSERT INTO local_message(message_key,topic,payload) SELECT 'order.create:dead-r1',topic,payload"
        " FROM local_message WHERE message_key='recover:dead-r1'");
    testing_wait(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE message_key='order.create:dead-r1' AND "
                                    "state='sent'") == 1,
                 20000, "it is sent twice");
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(in_state("resolved"), 1);
    stop_daemon();
    one_new_order("dead-r1");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_made WHERE letter_id=%s AND "
                                        "order_no='dead-r1' AND new_order",
                                        id),
                     1);
}
END_TEST

/* ---- refused by the deduct ---- */

static void sale_ended(void)
{
    for (int i = 0; i < SALE_SHARDS; i++) {
        struct stock_keys keys;

        stock_keys_of(&keys, sale_id, i);
        testing_redis_run(sale_kv, "HSET", keys.text[STOCK_KEY_META], "ends_at", "1764400000123", NULL);
    }
}

static void number_gone(void)
{
    struct stock_keys keys;

    stock_keys_of(&keys, sale_id, 1);
    testing_redis_run(sale_kv, "HSET", keys.text[STOCK_KEY_GONE], "dead-r1", "refused", NULL);
}

static const struct {
    void (*meanwhile)(void);
    const char *why, *reason;
} refusals[] = {
    {sold_out, "sold out since: shard 1 has 1 units left", "sold_out"},
    {has_order, "buyer has an order: 2 more are over the limit of 3", "buyer_has_order"},
    {sale_ended, "the sale is over", "sale_over"},
    {number_gone, "Redis is done with order dead-r1: refused", "number_gone"},
};

/* The number is begun when the deduct says no: it gets its tombstone, and the letter waits for the next one. */
static void refused_with(int i)
{
    char line[200];

    snprintf(line, sizeof line, "\"result\":\"refused\",\"why\":\"%s\"", refusals[i].why);
    CTL("dlq", "replay", id, "--confirm", "1", "--json", "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_msg(strstr(testing_ctl.out, line) != NULL, "%s in %s", line, testing_ctl.out);
}

static void has_tombstone(int i)
{
    ck_assert_int_eq(
        testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='dead-r1' AND status='rejected' AND "
                           "reason='%s' AND replaces='dead' AND units_returned=0 AND units_forfeited=0",
                           refusals[i].reason),
        1);
    ck_assert_int_eq(messages("stock.return:dead-r1"), 1);
    ck_assert_int_eq(messages("order.create:dead-r1"), 0);
    ck_assert_int_eq(messages("order.dead:dead-r1"), 0);
    ck_assert_int_eq(
        testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action WHERE action='refused' AND letter_id=%s "
                           "AND note LIKE '%%; dead-r1 is rejected: %s'",
                           id, refusals[i].reason),
        1);
    ck_assert_int_eq(in_state("open"), 1);
}

START_TEST(refused)
{
    DLQ_KILLED("renew.after_number=kill@1", "dlq", "replay", id, "--confirm", "1");
    refusals[_i].meanwhile();
    refused_with(_i);
    has_tombstone(_i);
}
END_TEST

/* Killed around the tombstone's commit; and then the stock comes back, and the next number is bought. */
START_TEST(killed_while_refused)
{
    DLQ_KILLED("renew.after_number=kill@1", "dlq", "replay", id, "--confirm", "1");
    has_order();
    DLQ_KILLED(_i ? "decide.after_commit=kill@1" : "decide.before_commit=kill@1", "dlq", "replay", id, "--confirm",
               "1");
    ck_assert_int_eq(orders("dead-r1", "rejected"), _i);
    if (!_i)
        refused_with(1);
    has_tombstone(1);
    start_daemon();
    CTL("order", "cancel", "mine", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    settled();
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    one_new_order("dead-r2");
    stop_daemon();
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='dead-r1' AND "
                                        "replaced_by='dead-r2' AND replaces='dead'"),
                     1);
}
END_TEST

/* What only time can mend decides nothing: the same number waits. */
START_TEST(not_now)
{
    struct stock_keys keys;

    DLQ_KILLED("renew.after_number=kill@1", "dlq", "replay", id, "--confirm", "1");
    paused();
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "not for sale now: paused; order dead-r1 waits for another try"));
    ck_assert_int_eq(orders("dead-r%%", "rejected"), 0);
    stock_keys_of(&keys, sale_id, 1);
    testing_redis_run(sale_kv, "HSET", keys.text[STOCK_KEY_META], "paused", "0", NULL);
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(messages("order.create:dead-r1"), 1);
}
END_TEST

START_TEST(redis_is_away)
{
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_port = "1", .more = CONF});
    CTL("dlq", "replay", id, "--confirm", "1");
    ck_assert_int_eq(testing_ctl.code, EXIT_UNAVAILABLE);
    ck_assert_int_eq(actions("renewing"), 0);
    testing_ctl_configure(&(struct testing_ctl_conf){.more = CONF});
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
}
END_TEST

/* ---- two at the same time ---- */

static void start_stopped(const char *fault)
{
    int status;

    program_faults(fault);
    program_start(
        &other, (const char *const[]){"orderctl", "-c", testing_ctl_file, "dlq", "replay", id, "--confirm", "1", NULL});
    program_faults(NULL);
    ck_assert_int_eq(waitpid(other.pid, &status, WUNTRACED), other.pid);
    ck_assert(WIFSTOPPED(status));
}

static void go_on(int code)
{
    kill(other.pid, SIGCONT);
    program_wait(&other);
    ck_assert_msg(other.code == code, "%d: %s %s", other.code, other.out, other.err);
}

/* The second one waits a little, and leaves it to the first. */
START_TEST(two_people)
{
    start_stopped("renew.after_deduct=stop@1");
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "somebody else is replaying it"));
    go_on(EXIT_OK);
    ck_assert_int_eq(in_state("replayed"), 1);
    ck_assert_int_eq(messages("order.create:dead-r1"), 1);
    ck_assert_int_eq(held(), 2);
    ck_assert_int_eq(actions("renewed"), 1);
}
END_TEST

/* The first one lost its connection, and with it the lock, between its deduct and the rest. */
START_TEST(two_people_without_a_lock)
{
    start_stopped("renew.after_deduct=stop@1");
    testing_ctl_run_sql("KILL %" PRId64,
                        testing_ctl_number("SELECT IS_USED_LOCK(CONCAT('orderd.renew.',LEFT(SHA2(CONCAT(DATABASE(),"
                                           "'.dead'),256),40)))"));
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    go_on(EXIT_UNAVAILABLE);
    ck_assert_int_eq(in_state("replayed"), 1);
    start_daemon();
    one_new_order("dead-r1");
    stop_daemon();
    ck_assert_int_eq(actions("renewed"), 1);
}
END_TEST

/* Of the letters of a purchase, whichever is replayed: dead-r1 died too, and its letter and that of dead are open. */
START_TEST(letters_of_one_purchase)
{
    rejected("dead-r1", 3, 2);
    testing_ctl_run_sql("UPDATE orders SET replaced_by='dead-r1' WHERE order_no='dead'");
    letter_of("dead-r1", 3, 2);
    snprintf(id, sizeof id, "%" PRId64, dlq_id("dead-r1"));
    start_stopped("renew.after_deduct=stop@1");
    snprintf(id, sizeof id, "%" PRId64, dlq_id("dead"));
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    go_on(EXIT_OK);
    CTL("dlq", "replay", id, "--confirm", "0", "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "order dead-r2, which replaces dead-r1, is on its way"));
    start_daemon();
    one_new_order("dead-r2");
    stop_daemon();
}
END_TEST

/* ^C in the middle is a crash like any other. */
START_TEST(interrupted)
{
    start_stopped("renew.after_deduct=stop@1");
    kill(other.pid, SIGINT);
    go_on(128 + SIGINT);
    CTL("dlq", "replay", id, "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(messages("order.create:dead-r1"), 1);
    ck_assert_int_eq(held(), 2);
}
END_TEST

/* ---- put aside meanwhile ---- */

static void given_back(void)
{
    ck_assert_int_eq(
        testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='dead-r1' AND status='rejected' AND "
                           "reason='discarded' AND units_returned=2"),
        1);
    start_daemon();
    testing_wait(held() == 0, 20000, "the units are given back");
    settled();
    stop_daemon();
    ck_assert_int_eq(orders("%%", "pending"), 0);
    ck_assert_int_eq(messages("order.create:dead-r1"), 0);
    sale_ledger_agrees();
}

/* By orderctl, which rejects what was begun; or by hand in the database, where the replay itself does it. */
START_TEST(put_aside)
{
    start_stopped("renew.after_deduct=stop@1");
    if (_i) {
        CTL("dlq", "discard", id, "--note", "a test");
        ck_assert_int_eq(testing_ctl.code, EXIT_OK);
        ck_assert_ptr_nonnull(strstr(testing_ctl.out, "order dead-r1 is rejected, units that go back on sale: 2"));
    } else {
        testing_ctl_run_sql("UPDATE dead_letter SET state='discarded'");
    }
    go_on(EXIT_PARTIAL);
    ck_assert_ptr_nonnull(strstr(other.out, _i ? "somebody else was faster" : "it is discarded by now"));
    given_back();
}
END_TEST

/* The same after a crash: nobody but the walk would complete it. */
START_TEST(put_aside_after_a_crash)
{
    DLQ_KILLED(_i ? "renew.after_deduct=kill@1" : "renew.after_number=kill@1", "dlq", "replay", id, "--confirm", "1");
    CTL("dlq", "discard", id, "--note", "a test", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    if (_i) {
        given_back();
        return;
    }
    ck_assert_int_eq(
        testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='dead-r1' AND status='rejected' AND "
                           "reason='discarded' AND units_returned=0"),
        1);
    ck_assert_int_eq(held(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ctl_dlq_renew");
    TCase *t = tcase_create("renew");

    tcase_add_unchecked_fixture(t, sale_queues_make, sale_queues_delete);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, shows_first);
    tcase_add_test(t, refused_beforehand);
    tcase_add_test(t, a_foreign_chain);
    tcase_add_test(t, given_back_first);
    tcase_add_test(t, renews);
    tcase_add_test(t, at_its_own_amount);
    tcase_add_test(t, at_a_rate);
    tcase_add_loop_test(t, killed, 0, (int)(sizeof kills / sizeof *kills));
    tcase_add_test(t, the_walk_is_faster);
    tcase_add_loop_test(t, refused, 0, (int)(sizeof refusals / sizeof *refusals));
    tcase_add_loop_test(t, killed_while_refused, 0, 2);
    tcase_add_test(t, not_now);
    tcase_add_test(t, redis_is_away);
    tcase_add_test(t, two_people);
    tcase_add_test(t, two_people_without_a_lock);
    tcase_add_test(t, letters_of_one_purchase);
    tcase_add_test(t, interrupted);
    tcase_add_loop_test(t, put_aside, 0, 2);
    tcase_add_loop_test(t, put_aside_after_a_crash, 0, 2);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
