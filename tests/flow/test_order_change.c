/* Changes of orders against the real database: every pair of the transition table, batches judged in order, lost
 * answers, conflicts, and what the transaction leaves behind for the relay. */
#include "testing_lane.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orderd/arena.h"
#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/order_change.h"
#include "orderd/order_transition.h"
#include "orderd/stock_effect.h"
#include "orderd/thread.h"
#include "testing_fact.h"
#include "testing_letters.h"

#define STOCK 1000

static struct order_change_options options = {.owner = "test#1", .lease_ms = 60000, .events = true};
static struct local_messages committed;
static struct error err;

static void setup(void)
{
    testing_lane_setup(STOCK, "lanes = 1;");
    local_messages_init(&committed);
    options.metrics = metric_register();
}

static void teardown(void)
{
    local_messages_free(&committed);
    testing_faults("");
}

/* A row as the create lane (or a decision) would have left it; due: its time-out is over. */
static void make_order(const char *no, const char *status, bool due)
{
    bool live = strcmp(status, "pending") == 0 || strcmp(status, "paid") == 0;
    static int user;

    testing_sql(
        "INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,status,reason,"
        "units_returned,reserved_at,expires_at) VALUES('%s',%d,%d,0,%d,2,%d,0,1,'%s','',%d,NOW(3),%s)",
        no, TESTING_ACTIVITY, ++user, TESTING_SKU, 2 * TESTING_PRICE, status, live ? 0 : 2,
        due ? "NOW(6)-INTERVAL 1 SECOND" : "NOW(6)+INTERVAL 1 HOUR");
    if (live)
        testing_sql("UPDATE activity_stock SET available=available-2 WHERE activity_id=%d", TESTING_ACTIVITY);
}

static struct order_change wish(enum order_wish what, const char *no)
{
    struct order_change c = {.wish = what};

    snprintf(c.order_no, sizeof c.order_no, "%s", no);
    return c;
}

static struct order_change pay(const char *no, const char *ref, int64_t amount)
{
    struct order_change c = wish(ORDER_WISH_PAY, no);

    snprintf(c.payment_ref, sizeof c.payment_ref, "%s", ref);
    c.amount = amount;
    c.paid_at = clock_wall_ms();
    return c;
}

static void run(struct order_change *changes, size_t count)
{
    ck_assert_ok(order_change_run(testing_lane_db, changes, count, &options, &committed, &err), &err);
}

static const char *run_one(struct order_change c)
{
    run(&c, 1);
    return reason_name(c.verdict);
}

static int64_t messages(const char *like)
{
    return testing_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE '%s'", like);
}

static int64_t available(void)
{
    return testing_number("SELECT available FROM activity_stock");
}

static bool order_is(const char *no, const char *status)
{
    return testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND status='%s'", no, status) == 1;
}

static int64_t payments(const char *ref, const char *outcome)
{
    return testing_number("SELECT COUNT(*) FROM payment WHERE payment_ref='%s' AND outcome='%s'", ref, outcome);
}

/* ---- every pair ---- */

static const char *const standings[] = {"unknown", "pending", "paid", "closed", "rejected"};

/* What must come of it, told a second time: by condition, in the order of the standings. */
static const struct {
    const char *condition;
    const char *verdicts[5];
} expected[] = {
    {"pay", {"order_unknown", "paid", "refund_second", "refund_closed", "refund_rejected"}},
    {"pay_other_amount", {"order_unknown", "payment_amount", "payment_amount", "payment_amount", "payment_amount"}},
    {"pay_known_applied", {"paid_before", "paid_before", "paid_before", "paid_before", "paid_before"}},
    {"pay_known_refund", {"refund_before", "refund_before", "refund_before", "refund_before", "refund_before"}},
    {"pay_known_amount", {"payment_amount", "payment_amount", "payment_amount", "payment_amount", "payment_amount"}},
    {"pay_conflict",
     {"payment_conflict", "payment_conflict", "payment_conflict", "payment_conflict", "payment_conflict"}},
    {"cancel", {"order_unknown", "cancelled", "cancel_paid", "closed_before", "rejected_before"}},
    {"expire_due", {"timer_unknown", "unpaid", "timer_paid", "closed_before", "rejected_before"}},
    {"expire_early", {"timer_unknown", "not_due", "timer_paid", "closed_before", "rejected_before"}},
};

#define CONDITIONS ((int)(sizeof expected / sizeof *expected))

static void know_payment(const char *ref, const char *no, const char *outcome)
{
    testing_sql("INSERT INTO payment(payment_ref,order_no,amount,paid_at,outcome,reason) VALUES('%s','%s',%d,NOW(3),"
                "'%s','')",
                ref, no, 2 * TESTING_PRICE, outcome);
}

static struct order_change make_wish(const char *condition, const char *no, const char *ref)
{
    if (strcmp(condition, "cancel") == 0)
        return wish(ORDER_WISH_CANCEL, no);
    if (strncmp(condition, "expire", 6) == 0)
        return wish(ORDER_WISH_EXPIRE, no);
    if (strcmp(condition, "pay_known_applied") == 0)
        know_payment(ref, no, "applied");
    if (strcmp(condition, "pay_known_refund") == 0)
        know_payment(ref, no, "refund_due");
    if (strcmp(condition, "pay_known_amount") == 0)
        know_payment(ref, no, "amount_mismatch");
    if (strcmp(condition, "pay_conflict") == 0)
        know_payment(ref, "another_order", "refund_due");
    return pay(no, ref, strcmp(condition, "pay_other_amount") == 0 ? 1 : 2 * TESTING_PRICE);
}

/* Everything that is the same whatever was asked: what the verdict says, and nothing else, is in the tables. */
static void assert_effects(const char *no, const char *ref, const char *before, const char *verdict, int64_t stock)
{
    bool paid = strcmp(verdict, "paid") == 0;
    bool closed = strcmp(verdict, "cancelled") == 0 || strcmp(verdict, "unpaid") == 0;
    bool refund = strcmp(verdict, "refund_second") == 0 || strcmp(verdict, "refund_closed") == 0 ||
                  strcmp(verdict, "refund_rejected") == 0;
    char key[200];

    if (strcmp(before, "unknown") == 0)
        ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s'", no), 0);
    else
        ck_assert_msg(order_is(no, paid ? "paid" : closed ? "closed" : before), "%s was %s", no, before);
    ck_assert_int_eq(available(), closed ? stock + 2 : stock);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND status='closed' AND "
                                    "reason='%s' AND units_returned=2 AND closed_at IS NOT NULL",
                                    no, verdict),
                     closed);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND paid_at IS NOT NULL", no),
                     paid);
    snprintf(key, sizeof key, "stock.return:%s", no);
    ck_assert_int_eq(messages(key), closed);
    snprintf(key, sizeof key, "event.order.closed:%s", no);
    ck_assert_int_eq(messages(key), closed);
    snprintf(key, sizeof key, "stock.settle:%s", no);
    ck_assert_int_eq(messages(key), paid);
    snprintf(key, sizeof key, "event.order.paid:%s", no);
    ck_assert_int_eq(messages(key), paid);
    snprintf(key, sizeof key, "timer:%s", no);
    ck_assert_int_eq(messages(key), strcmp(verdict, "not_due") == 0);
    if (paid || refund)
        ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM payment WHERE payment_ref='%s' AND order_no='%s' AND "
                                        "reason='%s' AND outcome='%s'",
                                        ref, no, verdict, paid ? "applied" : "refund_due"),
                         1);
    snprintf(key, sizeof key, "event.order.refund_due:%s", ref);
    if (strcmp(verdict, "payment_amount") == 0)
        ck_assert_int_eq(payments(ref, "amount_mismatch"), 1); /* its event is judged by the caller */
    else
        ck_assert_int_eq(messages(key), refund);
}

START_TEST(each_pair_has_its_outcome)
{
    const char *condition = expected[_i].condition;

    for (int i = 0; i < 5; i++) {
        const char *before = standings[i], *verdict = expected[_i].verdicts[i];
        char no[40], ref[40];
        int64_t stock;
        struct order_change c;

        snprintf(no, sizeof no, "X_%s_%s", condition, before);
        snprintf(ref, sizeof ref, "ref.%d", i);
        no[ORDER_NO_BASE_MAX] = '\0';
        if (i > 0)
            make_order(no, before, strcmp(condition, "expire_due") == 0);
        stock = available();
        c = make_wish(condition, no, ref);
        ck_assert_str_eq(run_one(c), verdict);
        assert_effects(no, ref, before, verdict, stock);
        if (strcmp(verdict, "payment_amount") == 0) {
            snprintf(ref, sizeof ref, "%%refund_due:ref.%d", i);
            ck_assert_int_eq(messages(ref), strcmp(condition, "pay_other_amount") == 0);
        }
    }
}
END_TEST

/* The table of the code says the same: what was asked above is all that can be asked. */
START_TEST(the_table_agrees)
{
    ck_assert_int_eq(CONDITIONS, ORDER_CONDITION_COUNT);
    for (int c = 0; c < CONDITIONS; c++) {
        ck_assert_str_eq(order_condition_name((enum order_condition)c), expected[c].condition);
        for (int s = 0; s < ORDER_STANDING_COUNT; s++) {
            int place = s == ORDER_STANDS_UNKNOWN ? 0 : s + 1;

            ck_assert_str_eq(order_standing_name((enum order_standing)s), standings[place]);
            ck_assert_str_eq(reason_name(order_transition((enum order_condition)c, (enum order_standing)s).verdict),
                             expected[c].verdicts[place]);
        }
    }
}
END_TEST

/* ---- batches ---- */

static void assert_verdicts(const struct order_change *changes, const char *const *verdicts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(strcmp(reason_name(changes[i].verdict), verdicts[i]) == 0, "wish %zu of %s: %s, expected %s", i,
                      changes[i].order_no, reason_name(changes[i].verdict), verdicts[i]);
}

#define RUN_EXPECT(changes, ...)                                                                                       \
    do {                                                                                                               \
        static const char *const verdicts_[] = {__VA_ARGS__};                                                          \
        ck_assert_uint_eq(sizeof verdicts_ / sizeof *verdicts_, sizeof(changes) / sizeof *(changes));                  \
        run((changes), sizeof(changes) / sizeof *(changes));                                                           \
        assert_verdicts((changes), verdicts_, sizeof verdicts_ / sizeof *verdicts_);                                   \
    } while (0)

#define PRICE (2 * TESTING_PRICE)

/* Wishes of one batch see what those before them did, as if each had its own transaction. */
START_TEST(a_batch_is_judged_in_order)
{
    for (char no[2] = "A"; no[0] <= 'G'; no[0]++)
        make_order(no, "pending", no[0] == 'B' || no[0] == 'C');
    {
        struct order_change changes[] = {
            pay("A", "r1", PRICE),
            wish(ORDER_WISH_CANCEL, "B"),
            pay("A", "r1", PRICE),
            pay("A", "r2", PRICE),
            wish(ORDER_WISH_CANCEL, "A"),
            wish(ORDER_WISH_EXPIRE, "A"),
            pay("B", "r3", PRICE),
            wish(ORDER_WISH_EXPIRE, "C"),
            pay("B", "r3", PRICE),
            wish(ORDER_WISH_CANCEL, "C"),
            pay("C", "r4", PRICE),
            pay("D", "r5", 1),
            pay("D", "r5", 1),
            pay("D", "r5", PRICE),
            pay("D", "r6", PRICE),
            pay("E", "r7", PRICE),
            pay("F", "r7", PRICE),
            pay("nobody", "r8", PRICE),
            pay("F", "r8", PRICE),
            wish(ORDER_WISH_EXPIRE, "G"),
            wish(ORDER_WISH_CANCEL, "G"),
            pay("nobody", "r1", PRICE),
        };

        RUN_EXPECT(changes, "paid", "cancelled", "paid_before", "refund_second", "cancel_paid", "timer_paid",
                   "refund_closed", "unpaid", "refund_before", "closed_before", "refund_closed", "payment_amount",
                   "payment_amount", "payment_conflict", "paid", "paid", "payment_conflict", "order_unknown", "paid",
                   "not_due", "cancelled", "payment_conflict");
    }
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='paid' AND order_no IN('A','D','E','F')"),
                     4);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='closed' AND order_no IN('B','C','G')"),
                     3);
    ck_assert_int_eq(available(), STOCK - 8);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM payment"), 8);
    ck_assert_int_eq(messages("%"), 8); /* return, settle, closed, paid, and one for each refund */
    ck_assert_int_eq(messages("event.order.refund_due:%"), 4);
    ck_assert_int_eq(messages("timer:%"), 0); /* G is closed already */
    ck_assert_uint_eq(committed.count, 8);
}
END_TEST

/* What is in the row of one message, as text. */
static void payload_of(const char *key, struct strbuf *out)
{
    struct local_message *m;

    ck_assert_int_eq(messages(key), 1);
    strbuf_reset(out);
    for (m = committed.first; m; m = m->next) {
        if (slice_is(m->key, key))
            strbuf_add_slice(out, m->payload);
    }
    ck_assert_msg(out->len > 0, "%s was not handed over", key);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE message_key='%s' AND payload='%s' AND "
                                    "lease_owner='test#1' AND lease_until>NOW(6) AND state='pending' AND attempts=1",
                                    key, out->data),
                     1);
}

static void add_activity(int64_t id, bool rebuy, bool reservations)
{
    testing_sql(
        "INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,per_user_limit,pay_timeout_ms,state,"
        "starts_at,ends_at,epoch,rebuy_after_release,reservations) VALUES(%" PRId64
        ",'test',1,%d,'CNY',100,1,900000,'running',NOW(3),NOW(3)+INTERVAL 1 HOUR,1,%d,%d);"
        "INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",100,90)",
        id, TESTING_PRICE, rebuy, reservations, id);
}

/* One message for the orders of several activities; each goes back as its activity wants it. */
START_TEST(activities_differ)
{
    struct arena *arena = arena_create(4096);
    struct strbuf payload = STRBUF_INIT;
    struct stock_giveback *back;
    struct stock_paid *paid;
    size_t count;

    add_activity(2001, false, true);
    add_activity(2002, true, false);
    make_order("A", "pending", false);
    for (char no[2] = "B"; no[0] <= 'E'; no[0]++) {
        make_order(no, "pending", false);
        testing_sql("UPDATE orders SET activity_id=%d,shard=%d WHERE order_no='%s'", no[0] <= 'C' ? 2001 : 2002,
                    no[0] - 'A', no);
    }
    {
        struct order_change changes[] = {wish(ORDER_WISH_CANCEL, "D"), wish(ORDER_WISH_CANCEL, "B"),
                                         wish(ORDER_WISH_CANCEL, "A"), pay("E", "r1", PRICE), pay("C", "r2", PRICE)};

        RUN_EXPECT(changes, "cancelled", "cancelled", "cancelled", "paid", "paid");
    }
    payload_of("stock.return:A", &payload);
    ck_assert_ok(stock_effect_decode((struct slice){payload.data, payload.len}, arena, &back, &count, &err), &err);
    ck_assert_uint_eq(count, 3);
    for (size_t i = 0; i < count; i++) {
        static const int64_t ids[] = {TESTING_ACTIVITY, 2001, 2002};
        static const int shards[] = {0, 1, 3};

        ck_assert_int_eq(back[i].activity, ids[i]);
        ck_assert_int_eq(back[i].shard, shards[i]);
        ck_assert_int_eq(back[i].epoch, 1);
        ck_assert_int_eq(back[i].units_back, 2);
        ck_assert_int_eq(back[i].units_forfeited, 0);
        ck_assert_int_eq(back[i].free_mark, i != 1);
        ck_assert_int_eq(back[i].reservations, i != 2);
    }
    /* E took its units without a reservation: there is nothing to settle. */
    payload_of("stock.settle:C", &payload);
    ck_assert_ok(stock_effect_decode_paid((struct slice){payload.data, payload.len}, arena, &paid, &count, &err), &err);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(paid[0].activity, 2001);
    ck_assert_int_eq(paid[0].shard, 2);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock WHERE activity_id=2001"), 92);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock WHERE activity_id=2002"), 92);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock WHERE activity_id=%d", TESTING_ACTIVITY),
                     STOCK - 10 + 2); /* five were made, one came back */
    strbuf_release(&payload);
    arena_destroy(&arena);
}
END_TEST

/* Nobody takes the messages over: they are due at once, for whoever polls. Events can be off. */
START_TEST(without_relay_and_events)
{
    options = (struct order_change_options){.owner = ""};
    make_order("A", "pending", true);
    make_order("B", "pending", true);
    {
        struct order_change changes[] = {wish(ORDER_WISH_EXPIRE, "A"), pay("B", "r1", PRICE), pay("B", "r2", PRICE)};

        RUN_EXPECT(changes, "unpaid", "paid", "refund_second");
    }
    ck_assert_int_eq(messages("event.%"), 0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE due_at<=NOW(6)"), 2);
}
END_TEST

/* As many statements for 500 orders as for five. */
static int64_t questions(void)
{
    return testing_number("SELECT VARIABLE_VALUE FROM %s.session_status WHERE VARIABLE_NAME='QUESTIONS'",
                          testing_status_schema());
}

static int64_t statements_for(int from, int count)
{
    static struct order_change changes[ORDER_CHANGE_MAX];
    int64_t before;

    for (int i = 0; i < count; i++) {
        char no[20];

        snprintf(no, sizeof no, "S%d", from + i);
        make_order(no, "pending", true);
        changes[i] = i % 2 ? wish(ORDER_WISH_EXPIRE, no) : pay(no, no, PRICE);
    }
    before = questions();
    run(changes, (size_t)count);
    for (int i = 0; i < count; i++)
        ck_assert_str_eq(reason_name(changes[i].verdict), i % 2 ? "unpaid" : "paid");
    return questions() - before;
}

START_TEST(few_statements)
{
    int64_t few = statements_for(0, 6), many = statements_for(1000, 400);

    /* But for the looks, once a second, whether the server still takes writes (db.h). */
    ck_assert_int_ge(many, few - 1);
    ck_assert_int_le(many, few + 1);
    ck_assert_int_le(many, 16);
    ck_assert_int_eq(available(), STOCK - 2 * (3 + 200));
}
END_TEST

/* ---- timers that come too early ---- */

START_TEST(an_early_timer_waits)
{
    struct order_change c = wish(ORDER_WISH_EXPIRE, "A");
    const char *row = "message_key='timer:A' AND topic='order.unpaid' AND payload='{\"v\":1,\"orders\":[\"A\"]}' AND "
                      "state='pending' AND attempts=0 AND lease_owner IS NULL AND sent_at IS NULL AND first_due_at IS "
                      "NULL AND due_at=(SELECT expires_at FROM orders WHERE order_no='A')";

    make_order("A", "pending", false);
    for (int i = 0; i < 3; i++) { /* forged ones do not pile up */
        run(&c, 1);
        ck_assert_str_eq(reason_name(c.verdict), "not_due");
        ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE %s", row), 1);
        ck_assert_int_eq(messages("%"), 1);
    }
    ck_assert_uint_eq(committed.count, 0); /* not to be sent now */
    testing_sql("UPDATE local_message SET state='sent',sent_at=NOW(6),attempts=1,due_at=NOW(6)");
    run(&c, 1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE %s", row), 1);
    testing_sql("UPDATE orders SET expires_at=NOW(6)+INTERVAL 2 HOUR"); /* extended */
    testing_sql("UPDATE local_message SET lease_owner='x',lease_until=NOW(6),attempts=3,first_due_at=NOW(6)");
    run(&c, 1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE %s", row), 1);
    testing_sql("UPDATE orders SET expires_at=NOW(6)");
    ck_assert_str_eq(run_one(c), "unpaid");
}
END_TEST

/* A pending order that has no end stays. */
START_TEST(without_an_end)
{
    make_order("A", "pending", false);
    testing_sql("UPDATE orders SET expires_at=NULL");
    ck_assert_str_eq(run_one(wish(ORDER_WISH_EXPIRE, "A")), "not_due");
    ck_assert_int_eq(messages("%"), 0);
    ck_assert(order_is("A", "pending"));
}
END_TEST

START_TEST(overdue_ones_are_found)
{
    struct order_change due[8];
    size_t count;

    for (int i = 0; i < 6; i++) {
        char no[2] = {(char)('A' + i), '\0'};

        make_order(no, i == 1 ? "paid" : i == 2 ? "closed" : "pending", true);
        testing_sql("UPDATE orders SET expires_at=NOW(6)-INTERVAL %d SECOND WHERE order_no='%s'", i * 60 - 30, no);
    }
    ck_assert_ok(order_change_due(testing_lane_db, 0, 8, due, &count, &err), &err);
    ck_assert_uint_eq(count, 3); /* A is not due, B is paid, C is closed */
    ck_assert_str_eq(due[0].order_no, "F");
    ck_assert_str_eq(due[1].order_no, "E");
    ck_assert_str_eq(due[2].order_no, "D");
    ck_assert_int_eq(due[0].wish, ORDER_WISH_EXPIRE);
    ck_assert_ok(order_change_due(testing_lane_db, 240000, 8, due, &count, &err), &err);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(due[0].order_no, "F");
    ck_assert_ok(order_change_due(testing_lane_db, 0, 2, due, &count, &err), &err);
    ck_assert_uint_eq(count, 2);
    run(due, count);
    ck_assert_ok(order_change_due(testing_lane_db, 0, 8, due, &count, &err), &err);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(due[0].order_no, "D");
}
END_TEST

/* ---- the stock's cap ---- */

static int64_t counted(enum metric metric)
{
    struct metric_sum sum;

    metric_read(&sum);
    return (int64_t)sum.counters[metric];
}

/* Somebody has put units back by hand: what is over the total is dropped, with an alarm; the orders end all the same.
 */
START_TEST(stock_is_capped_at_its_total)
{
    add_activity(2001, true, true);
    make_order("A", "pending", false);
    make_order("B", "pending", false);
    make_order("C", "pending", false);
    testing_sql("UPDATE orders SET activity_id=2001 WHERE order_no='C'");
    testing_sql("UPDATE activity_stock SET available=total-1 WHERE activity_id=%d", TESTING_ACTIVITY);
    {
        struct order_change changes[] = {wish(ORDER_WISH_CANCEL, "A"), wish(ORDER_WISH_CANCEL, "B"),
                                         wish(ORDER_WISH_CANCEL, "C")};

        RUN_EXPECT(changes, "cancelled", "cancelled", "cancelled");
    }
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock WHERE activity_id=%d", TESTING_ACTIVITY),
                     STOCK);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock WHERE activity_id=2001"), 92);
    ck_assert_int_eq(counted(METRIC_STOCK_UNITS_CAPPED), 3);
    ck_assert_int_eq((int64_t)log_count(LOG_EVENT_STOCK_CAPPED), 1);
    ck_assert_int_eq(counted(METRIC_ORDERS_CLOSED), 3);
    ck_assert_int_eq(messages("stock.return:A"), 1);
    ck_assert_int_eq(messages("event.order.closed:A"), 1);
    ck_assert_uint_eq(committed.count, 2);
}
END_TEST

START_TEST(stock_row_is_gone)
{
    make_order("A", "pending", false);
    testing_sql("DELETE FROM activity_stock");
    ck_assert_str_eq(run_one(wish(ORDER_WISH_CANCEL, "A")), "cancelled");
    ck_assert(order_is("A", "closed"));
    ck_assert_int_eq(counted(METRIC_STOCK_UNITS_CAPPED), 2);
}
END_TEST

/* ---- lost answers and crashes ---- */

static void fill(struct order_change *changes)
{
    make_order("A", "pending", false);
    make_order("B", "pending", false);
    make_order("C", "pending", true);
    make_order("D", "pending", false);
    changes[0] = pay("A", "r1", PRICE);
    changes[1] = pay("A", "r2", PRICE);
    changes[2] = wish(ORDER_WISH_CANCEL, "B");
    changes[3] = wish(ORDER_WISH_EXPIRE, "C");
    changes[4] = pay("D", "r3", 1);
}

static const char *const first_verdicts[] = {"paid", "refund_second", "cancelled", "unpaid", "payment_amount"};
static const char *const later_verdicts[] = {"paid_before", "refund_before", "closed_before", "closed_before",
                                             "payment_amount"};

static void assert_done_once(void)
{
    ck_assert_int_eq(messages("%"), 6);
    ck_assert_int_eq(messages("event.order.refund_due:r2"), 1);
    ck_assert_int_eq(messages("event.order.refund_due:r3"), 1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM payment"), 3);
    ck_assert_int_eq(available(), STOCK - 4);
    ck_assert(order_is("A", "paid") && order_is("B", "closed") && order_is("C", "closed") && order_is("D", "pending"));
}

static void run_in_vain(struct order_change *changes, const char *fault)
{
    testing_faults(fault);
    ck_assert(!order_change_run(testing_lane_db, changes, 5, &options, &committed, &err));
    ck_assert_int_eq(err.code, ERROR_DB_LOST);
    ck_assert_uint_eq(committed.count, 0);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(changes[i].verdict, REASON_NONE);
}

START_TEST(a_lost_answer_moves_nothing_twice)
{
    struct order_change changes[5];

    fill(changes);
    run_in_vain(changes, "change.after_commit=fail@1");
    assert_done_once();
    for (int i = 0; i < 2; i++) {
        run(changes, 5);
        assert_verdicts(changes, later_verdicts, 5);
        assert_done_once();
    }
    ck_assert_uint_eq(committed.count, 0); /* the relay finds them when their lease ends */
}
END_TEST

START_TEST(nothing_before_the_commit)
{
    struct order_change changes[5];

    fill(changes);
    run_in_vain(changes, "change.before_commit=fail@1");
    ck_assert_int_eq(messages("%"), 0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM payment"), 0);
    ck_assert_int_eq(available(), STOCK - 8);
    run(changes, 5);
    assert_verdicts(changes, first_verdicts, 5);
    assert_done_once();
    ck_assert_uint_eq(committed.count, 6);
}
END_TEST

static void die_in(struct order_change *changes, const char *fault)
{
    pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct db *db = db_open(testing_lane_conf, &err);

        testing_faults(fault);
        (void)!order_change_run(db, changes, 5, &options, &committed, &err);
        _exit(1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%s was not passed", fault);
}

START_TEST(killed_around_the_commit)
{
    struct order_change changes[5];

    fill(changes);
    die_in(changes, "change.before_commit=kill@1");
    die_in(changes, "change.after_commit=kill@1");
    assert_done_once();
    run(changes, 5);
    assert_verdicts(changes, later_verdicts, 5);
    assert_done_once();
}
END_TEST

/* ---- whether it could run at all ---- */

START_TEST(probed)
{
    static const struct {
        const char *hurt, *mend;
    } ways[] = {
        {"RENAME TABLE payment TO gone", "RENAME TABLE gone TO payment"},
        {"RENAME TABLE orders TO gone", "RENAME TABLE gone TO orders"},
        {"RENAME TABLE local_message TO gone", "RENAME TABLE gone TO local_message"},
        {"RENAME TABLE activity_stock TO gone", "RENAME TABLE gone TO activity_stock"},
        {"RENAME TABLE activity TO gone", "RENAME TABLE gone TO activity"},
        {"ALTER TABLE orders CHANGE closed_at gone DATETIME(6) NULL",
         "ALTER TABLE orders CHANGE gone closed_at DATETIME(6) NULL"},
    };

    make_order("A", "pending", true);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        ck_assert_ok(order_change_probe(testing_lane_db, &err), &err);
        testing_sql("%s", ways[i].hurt);
        ck_assert_msg(!order_change_probe(testing_lane_db, &err), "%s", ways[i].hurt);
        ck_assert_int_eq(err.code, ERROR_DB_SETUP);
        testing_sql("%s", ways[i].mend);
    }
    ck_assert(order_is("A", "pending"));
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM payment"), 0);
    ck_assert_int_eq(messages("%"), 0);
}
END_TEST

/* ---- others at the same rows ---- */

struct hold {
    _Atomic bool held;
    _Atomic int waits;
};

/* Holds the row of an order locked until somebody has waited for it in vain. */
static void hold_row(void *data)
{
    struct hold *hold = data;
    struct error mine = {0};
    struct db *db = db_open(testing_lane_conf, &mine);

    ck_assert_ok(db != NULL, &mine);
    ck_assert_ok(db_run(db, slice_of("BEGIN;SELECT 1 FROM orders WHERE order_no='A' FOR UPDATE"), &mine), &mine);
    hold->held = true;
    testing_wait(hold->waits > 0, 20000, "somebody waits");
    db_rollback(db);
    db_close(&db);
}

static void count_wait(void *arg)
{
    ((struct hold *)arg)->waits++;
}

START_TEST(a_locked_row_is_waited_for)
{
    struct hold hold = {false, 0};
    struct thread holder = {.name = "holder", .run = hold_row, .data = &hold};

    make_order("A", "pending", false);
    testing_lane_conf->mysql_lock_wait_timeout = 1000;
    db_close(&testing_lane_db);
    testing_lane_db = db_open(testing_lane_conf, &err);
    ck_assert_ok(testing_lane_db != NULL, &err);
    options.keep_alive = count_wait;
    options.arg = &hold;
    thread_start(&holder);
    testing_wait(hold.held, 5000, "the row is locked");
    ck_assert_str_eq(run_one(wish(ORDER_WISH_CANCEL, "A")), "cancelled");
    thread_join(&holder);
    ck_assert_int_eq(hold.waits, 1);
    ck_assert_int_eq(counted(METRIC_DB_CONFLICTS), 1);
    ck_assert_int_eq(available(), STOCK);
}
END_TEST

#define RIVALS 400
#define GROUP  20

struct rival {
    struct thread thread;
    char side;
    int paid, conflicts;
};

/* Pays order <side><i> with the reference r<i>, which the other side uses for its own order. */
static void pay_own(void *data)
{
    struct rival *rival = data;
    struct error mine = {0};
    struct local_messages list;
    struct order_change_options own = options;
    struct db *db = db_open(testing_lane_conf, &mine);

    ck_assert_ok(db != NULL, &mine);
    local_messages_init(&list);
    own.metrics = metric_register();
    for (int from = 0; from < RIVALS; from += GROUP) {
        struct order_change group[GROUP];

        for (int i = 0; i < GROUP; i++) {
            /* one side goes through the group backwards */
            int n = from + (rival->side == 'A' ? i : GROUP - 1 - i);
            char no[20], ref[20];

            snprintf(no, sizeof no, "%c%d", rival->side, n);
            snprintf(ref, sizeof ref, "r%d", n);
            group[i] = pay(no, ref, PRICE);
        }
        ck_assert_ok(order_change_run(db, group, GROUP, &own, &list, &mine), &mine);
        for (int i = 0; i < GROUP; i++) {
            rival->paid += group[i].verdict == REASON_PAID;
            rival->conflicts += group[i].verdict == REASON_PAYMENT_CONFLICT;
        }
    }
    local_messages_free(&list);
    db_close(&db);
}

/* Two at the same time use one reference for two orders: one order is paid, the other side hears that it is taken. */
START_TEST(one_reference_pays_one_order)
{
    struct rival rivals[2] = {{.thread = {.name = "a", .run = pay_own}, .side = 'A'},
                              {.thread = {.name = "b", .run = pay_own}, .side = 'B'}};

    testing_sql("UPDATE activity_stock SET total=10000,available=10000");
    for (int i = 0; i < RIVALS; i++) {
        char no[20];

        snprintf(no, sizeof no, "A%d", i);
        make_order(no, "pending", false);
        no[0] = 'B';
        make_order(no, "pending", false);
    }
    for (int i = 0; i < 2; i++) {
        rivals[i].thread.data = &rivals[i];
        thread_start(&rivals[i].thread);
    }
    for (int i = 0; i < 2; i++)
        thread_join(&rivals[i].thread);
    ck_assert_int_eq(rivals[0].paid + rivals[1].paid, RIVALS);
    ck_assert_int_eq(rivals[0].conflicts + rivals[1].conflicts, RIVALS);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM payment"), RIVALS);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders o JOIN payment p ON p.order_no=o.order_no AND "
                                    "p.outcome='applied' WHERE o.status='paid' AND "
                                    "SUBSTRING(o.order_no,2)=SUBSTRING(p.payment_ref,2)"),
                     RIVALS);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='paid'"), RIVALS);
    ck_assert_int_eq(messages("event.order.refund_due:%"), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("order_change");
    TCase *c = tcase_create("change");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, each_pair_has_its_outcome, 0, CONDITIONS);
    tcase_add_test(c, the_table_agrees);
    tcase_add_test(c, a_batch_is_judged_in_order);
    tcase_add_test(c, activities_differ);
    tcase_add_test(c, without_relay_and_events);
    tcase_add_test(c, few_statements);
    tcase_add_test(c, an_early_timer_waits);
    tcase_add_test(c, without_an_end);
    tcase_add_test(c, overdue_ones_are_found);
    tcase_add_test(c, stock_is_capped_at_its_total);
    tcase_add_test(c, stock_row_is_gone);
    tcase_add_test(c, a_lost_answer_moves_nothing_twice);
    tcase_add_test(c, nothing_before_the_commit);
    tcase_add_test(c, killed_around_the_commit);
    tcase_add_test(c, probed);
    tcase_add_test(c, a_locked_row_is_waited_for);
    tcase_add_test(c, one_reference_pays_one_order);
    suite_add_tcase(s, c);
    return testing_main(s);
}
