/* orderctl dlq replay: what is sent, what is not and why, once whatever kills it, and that an orderd makes an order of
 * it. */
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

#define ALL ids[0], ids[1], ids[2], ids[3], ids[4], ids[5], ids[6], ids[7]

static const struct {
    const char *id, *result, *why;
} letters[] = {
    {"lost", "replayed", "order lost is not there"},
    {"live", "resolved", "order live is pending"},
    {"dead", "refused", "its order was bought anew 3 times, and dead-r3 is rejected too"},
    {"text", "refused", "its body can never be taken: "},
    {"pay1", "replayed", "order live is pending"},
    {"pay2", "refused", "order nobody is not there"},
    {"where", "refused", "it does not say which queue it was in"},
    {"often", "refused", "it was replayed 3 times and came back"},
};
#define LETTERS (sizeof letters / sizeof *letters)

static char ids[LETTERS][24];

static void order_letter(const char *order_no, int64_t user, const char *queue)
{
    struct order o = {.activity_id = sale_id,
                      .user_id = user,
                      .sku_id = 77,
                      .quantity = 1,
                      .amount = SALE_PRICE,
                      .epoch = sale_row().epoch,
                      .reserved_at = clock_wall_ms()};
    struct strbuf body = STRBUF_INIT;

    snprintf(o.order_no, sizeof o.order_no, "%s", order_no);
    order_encode(&o, &body);
    dlq_publish(&(struct dlq_letter){order_no, "delivery_limit", queue, NULL, {body.data, body.len}});
    strbuf_release(&body);
}

static void pay_letter(const char *ref, const char *order_no)
{
    char body[200];

    snprintf(body, sizeof body,
             "{\"v\":1,\"order_no\":\"%s\",\"payment_ref\":\"%s\",\"amount\":9900,\"paid_at\":1764400000123}", order_no,
             ref);
    dlq_publish(&(struct dlq_letter){ref, "order_unknown", "order.paid", NULL, slice_of(body)});
}

/* An order that was bought anew three times in vain; whose row is the last is test_ctl_dlq_renew's. */
static void bought_anew(void)
{
    char from[24] = "dead", to[24];

    for (int n = 1; n <= 3; n++) {
        snprintf(to, sizeof to, "dead-r%d", n);
        sale_sell(to, 3, 1, 0, ORDER_REJECTED);
        testing_ctl_run_sql("UPDATE orders SET replaced_by='%s' WHERE order_no='%s'", to, from);
        snprintf(from, sizeof from, "%s", to);
    }
}

static void setup(void)
{
    sale_setup_queued();
    sale_preheat();
    dlq_open();
    sale_deduct("lost", 1, 1, 0);
    sale_sell("live", 2, 1, 0, ORDER_PENDING);
    sale_sell("dead", 3, 1, 0, ORDER_REJECTED);
    bought_anew();
    order_letter("lost", 1, "order.create");
    order_letter("live", 2, "order.create");
    order_letter("dead", 3, "order.create");
    dlq_publish(&(struct dlq_letter){"text", "body_not_json", "order.create", NULL, slice_of("hello")});
    pay_letter("pay1", "live");
    pay_letter("pay2", "nobody");
    order_letter("where", 5, NULL);
    order_letter("often", 6, "order.create");
    CTL("dlq", "drain", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    for (size_t i = 0; i < LETTERS; i++)
        snprintf(ids[i], sizeof ids[i], "%" PRId64, dlq_id(letters[i].id));
    testing_ctl_run_sql("INSERT INTO dead_letter_action(letter_id,action,who) VALUES(%s,'replayed','a'),"
                        "(%s,'replayed','a'),(%s,'replayed','a')",
                        ids[7], ids[7], ids[7]);
}

static void teardown(void)
{
    dlq_close();
    sale_teardown();
}

static int64_t rows(void)
{
    return testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE 'replay:%%'");
}

static int64_t in_state(const char *state)
{
    return testing_ctl_number("SELECT COUNT(*) FROM dead_letter WHERE state='%s'", state);
}

static void told(const char *prefix)
{
    for (size_t i = 0; i < LETTERS; i++) {
        char line[300];

        snprintf(line, sizeof line, "{\"id\":%s,\"result\":\"%s%s\",\"why\":\"%s", ids[i], prefix, letters[i].result,
                 letters[i].why);
        ck_assert_msg(strstr(testing_ctl.out, line) != NULL, "%s in %s", line, testing_ctl.out);
    }
}

static void all_is_done(void)
{
    ck_assert_int_eq(in_state("replayed"), 2);
    ck_assert_int_eq(in_state("resolved"), 1);
    ck_assert_int_eq(in_state("open"), 5);
    ck_assert_int_eq(rows(), 2);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter l JOIN local_message m ON "
                                        "m.message_key=CONCAT('replay:',l.id,':1') WHERE m.payload=l.body AND "
                                        "m.topic=l.queue AND JSON_VALUE(m.headers,'$.\"message-id\"')=l.message_id AND "
                                        "JSON_VALUE(m.headers,'$.\"orderd-replay-of\"')=l.id AND "
                                        "JSON_VALUE(m.headers,'$.\"orderd-origin\"')=l.queue AND "
                                        "JSON_EXTRACT(m.headers,'$.\"orderd-attempt\"') IS NULL AND "
                                        "l.message_id IN ('lost','pay1')"),
                     2);
    ck_assert_int_eq(
        testing_ctl_number("SELECT COUNT(*) FROM dead_letter_made m JOIN dead_letter l ON l.id=m.letter_id "
                           "WHERE kind='message' AND NOT new_order AND m.message_key="
                           "CONCAT('replay:',l.id,':1') AND m.order_no=IF(l.message_id='lost','lost',"
                           "'live')"),
        2);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_made"), 2);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM dead_letter_action WHERE action='replayed' AND who<>'a'"),
                     2);
}

START_TEST(shows_first)
{
    CTL("dlq", "replay", ALL, "--json");
    CTL_SAYS(EXIT_PARTIAL, "orderctl: 2 would be replayed, 0 renewed, 1 resolved, 5 refused; nothing was changed; "
                           "`--confirm 3` does it\n");
    told("would_be_");
    CTL("dlq", "replay", ALL, "--confirm", "4");
    CTL_SAYS(EXIT_BAD_DATA,
             "orderctl: dlq replay: 3 letters would be replayed, renewed or resolved, not 4; look at them without "
             "--confirm\n");
    ck_assert_int_eq(in_state("open"), (int64_t)LETTERS);
    ck_assert_int_eq(rows(), 0);
}
END_TEST

START_TEST(does_it)
{
    CTL("dlq", "replay", ALL, "--confirm", "3", "--rate", "1", "--json");
    CTL_SAYS(EXIT_PARTIAL, "orderctl: 2 are replayed, 0 renewed, 1 resolved, 5 refused; a running orderd sends them\n");
    told("");
    all_is_done();
    ck_assert_int_ge(testing_ctl_number("SELECT TIMESTAMPDIFF(MICROSECOND,MIN(due_at),MAX(due_at)) FROM local_message "
                                        "WHERE message_key LIKE 'replay:%%'"),
                     1000000);
    CTL("dlq", "replay", ALL, "--confirm", "0", "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    all_is_done();
}
END_TEST

/* Of lost, which Redis holds for user 1 in shard 0. */
static const struct {
    const char *from, *to, *why;
} forged[] = {
    {"\"user_id\":1", "\"user_id\":9", "Redis holds lost for user 1, 1 units for 9900 in epoch 1, which is not"},
    {"\"quantity\":1", "\"quantity\":2", "Redis holds lost for user 1, 1 units for 9900 in epoch 1, which is not"},
    {"\"amount\":9900", "\"amount\":1", "Redis holds lost for user 1, 1 units for 9900 in epoch 1, which is not"},
    {"\"shard\":0", "\"shard\":3", "Redis holds lost in shard 0, which is not what the body says"},
    {"\"shard\":0", "\"shard\":99", "Redis holds lost in shard 0, which is not what the body says"},
};

START_TEST(of_another_purchase)
{
    testing_ctl_run_sql("UPDATE dead_letter SET body=REPLACE(body,'%s','%s') WHERE id=%s", forged[_i].from,
                        forged[_i].to, ids[0]);
    CTL("dlq", "replay", ids[0], "--confirm", "0", "--json", "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_msg(strstr(testing_ctl.out, forged[_i].why) != NULL, "%s in %s", forged[_i].why, testing_ctl.out);
    ck_assert_int_eq(rows(), 0);
    ck_assert_int_eq(in_state("open"), (int64_t)LETTERS);
}
END_TEST

/* Its units went back, by somebody who knows; there is no row. */
START_TEST(done_with)
{
    struct stock_keys keys;

    stock_keys_of(&keys, sale_id, 0);
    testing_redis_run(sale_kv, "HDEL", keys.text[STOCK_KEY_HELD], "lost", NULL);
    testing_redis_run(sale_kv, "HSET", keys.text[STOCK_KEY_GONE], "lost", "returned", NULL);
    CTL("dlq", "replay", ids[0], "--confirm", "0", "--json", "-q");
    CTL_SAYS(EXIT_PARTIAL, "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "Redis is done with order lost: returned"));
    ck_assert_int_eq(rows(), 0);
}
END_TEST

/* Redis, or the activity, may not say whose it is: after a loss, or in a web tier that keeps no reservations. */
START_TEST(of_unknown_purchase)
{
    static const char *const sql[] = {"UPDATE activity SET reservations=0", "UPDATE dead_letter SET body=REPLACE(body,"
                                                                            "'\"activity_id\":','\"activity_id\":9')"};

    sale_flush();
    if (_i > 0)
        testing_ctl_run_sql("%s", sql[_i - 1]);
    CTL("dlq", "replay", ids[0], "--confirm", "1", "-q");
    CTL_SAYS(EXIT_OK, "");
    ck_assert_int_eq(rows(), 1);
}
END_TEST

static const struct {
    const char *fault, *left; /* what is to be confirmed then */
} kills[] = {{"replay.before_commit=kill@1", "3"},
             {"replay.after_commit=kill@1", "2"},
             {"replay.before_commit=kill@3", "1"},
             {"replay.after_commit=kill@3", "0"}};

START_TEST(killed)
{
    DLQ_KILLED(kills[_i].fault, "dlq", "replay", ALL, "--confirm", "3");
    CTL("dlq", "replay", ALL, "--confirm", kills[_i].left, "-q");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    all_is_done();
}
END_TEST

static const struct {
    const char *row, *result, *why;
    int code;
} payments[] = {
    {"'live',9900,'applied'", "would_be_resolved", "payment pay1 has paid order live", EXIT_OK},
    {"'live',9900,'refund_due'", "would_be_refused", "payment pay1 is decided: refund it, then discard the letter",
     EXIT_PARTIAL},
    {"'live',9900,'amount_mismatch'", "would_be_refused", "payment pay1 is decided: refund it, then discard the letter",
     EXIT_PARTIAL},
    {"'live',9901,'applied'", "would_be_refused", "payment pay1 is there and another one: order or amount differ",
     EXIT_PARTIAL},
    {"'lost',9900,'applied'", "would_be_refused", "payment pay1 is there and another one: order or amount differ",
     EXIT_PARTIAL},
};

/* A payment that has its row would only be what it was, and perhaps die again. Without one that can be done nothing is
 * offered. */
START_TEST(payment_is_decided)
{
    char line[300];

    testing_ctl_run_sql("INSERT INTO payment(payment_ref,order_no,amount,outcome,paid_at,reason) "
                        "SELECT 'pay1',c.*,UTC_TIMESTAMP(3),'paid' FROM (SELECT %s) c",
                        payments[_i].row);
    CTL("dlq", "replay", ids[4], "--json");
    snprintf(line, sizeof line, "{\"id\":%s,\"result\":\"%s\",\"why\":\"%s\"", ids[4], payments[_i].result,
             payments[_i].why);
    ck_assert_msg(strstr(testing_ctl.out, line) != NULL, "%s in %s", line, testing_ctl.out);
    ck_assert_int_eq(testing_ctl.code, payments[_i].code);
    ck_assert_int_eq(strstr(testing_ctl.err, "--confirm") != NULL, payments[_i].code == EXIT_OK);
}
END_TEST

/* All the way: a daemon sends the row, and its create lane makes the order. */
START_TEST(becomes_an_order)
{
    static struct program daemon;

    CTL("dlq", "replay", ids[0], ids[4], "--confirm", "2", "-q");
    CTL_SAYS(EXIT_OK, "");
    program_start(&daemon, (const char *const[]){"orderd", "-c", testing_ctl_file, NULL});
    testing_wait(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='lost' AND status='pending'") == 1,
                 20000, "the order is there");
    testing_wait(testing_ctl_number("SELECT COUNT(*) FROM orders WHERE order_no='live' AND status='paid'") == 1, 20000,
                 "the payment is applied");
    kill(daemon.pid, SIGTERM);
    program_wait(&daemon);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE 'replay:%%' AND "
                                        "state='sent'"),
                     2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ctl_dlq_replay");
    TCase *t = tcase_create("replay");

    tcase_add_unchecked_fixture(t, sale_queues_make, sale_queues_delete);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, shows_first);
    tcase_add_test(t, does_it);
    tcase_add_loop_test(t, killed, 0, (int)(sizeof kills / sizeof *kills));
    tcase_add_loop_test(t, of_another_purchase, 0, (int)(sizeof forged / sizeof *forged));
    tcase_add_test(t, done_with);
    tcase_add_loop_test(t, of_unknown_purchase, 0, 3);
    tcase_add_loop_test(t, payment_is_decided, 0, (int)(sizeof payments / sizeof *payments));
    tcase_add_test(t, becomes_an_order);
    suite_add_tcase(suite, t);
    return testing_main(suite);
}
