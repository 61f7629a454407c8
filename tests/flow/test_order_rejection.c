/* The terminal decision as one transaction of its own, with and without a message at hand (order_rejection.h). What the
 * create lane makes of it is in test_decide. */
#include "testing_lane.h"
#include "testing_letters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/order_rejection.h"
#include "orderd/topology.h"

#define DETAIL "sent three times, and no row"

static struct db *db;

static void setup(void)
{
    struct error err = {0};

    testing_lane_setup(10, NULL);
    db = db_open(testing_lane_conf, &err);
    ck_assert_ok(db != NULL, &err);
}

static void teardown(void)
{
    db_close(&db);
}

static struct order order_of(int quantity)
{
    struct order o = testing_lane_order(1);

    o.quantity = quantity;
    o.amount = (int64_t)quantity * TESTING_PRICE;
    o.shard = 3;
    o.user_seq = 2;
    return o;
}

/* As the walk decides, which has no message: nobody's lease, so the relay finds the rows by itself. */
static bool reject(const struct order *o, enum reason reason, int forfeited, struct local_messages *committed,
                   struct error *err)
{
    struct order_rejection r = {
        .order = o,
        .units_back = o->quantity - forfeited,
        .units_forfeited = forfeited,
        .reservations = true,
        .letter = {.reason = reason,
                   .detail = DETAIL,
                   .stage = "recover",
                   .origin = testing_lane_conf->create_queue,
                   .worker = "orderd@test walk",
                   .attempt = 3},
    };

    return order_rejection_run(db, &r, "", 0, committed, err);
}

static int64_t messages(const char *like)
{
    return testing_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE '%s'", like);
}

static void assert_tombstone(const struct order *o, const char *reason, int returned, int forfeited)
{
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND status='rejected' AND "
                                    "reason='%s' AND quantity=%d AND units_returned=%d AND units_forfeited=%d",
                                    o->order_no, reason, o->quantity, returned, forfeited),
                     1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), 1);
    ck_assert_int_eq(testing_number("SELECT available FROM activity_stock"), 10);
}

START_TEST(without_a_message_the_letter_is_the_order_rebuilt)
{
    struct order o = order_of(4), read;
    struct local_messages committed;
    struct testing_letters dead = {0};
    struct error err = {0};
    char detail[200];

    local_messages_init(&committed);
    ck_assert_ok(reject(&o, REASON_ACTIVITY_SETTLED, 1, &committed, &err), &err);
    ck_assert_uint_eq(committed.count, 3);
    local_messages_free(&committed);
    assert_tombstone(&o, "activity_settled", 3, 1);
    ck_assert_int_eq(messages("%%"), 3);
    ck_assert_int_eq(messages("stock.return:%%"), 1);

    testing_lane_start(0);
    testing_letters_dead(&dead, 1, 300);
    ck_assert_uint_eq(dead.count, 1);
    ck_assert(slice_is(dead.list[0].message_id, o.order_no));
    ck_assert(slice_is(dead.list[0].content_type, "application/json"));
    ck_assert_int_eq(order_decode(dead.list[0].body, &read, detail, sizeof detail), REASON_NONE);
    ck_assert_mem_eq(&read, &o, sizeof o);
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-reason"), "activity_settled");
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-detail"), DETAIL);
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-stage"), "recover");
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-origin"), testing_lane_conf->create_queue);
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-worker"), "orderd@test walk");
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-attempt"), "3");
    ck_assert_str_eq(testing_header(&dead.list[0], "traceparent"), "(absent)");
    testing_lane_stop();
    testing_letters_free(&dead);
}
END_TEST

START_TEST(a_second_one_is_void)
{
    struct order o = order_of(2), other = order_of(3);
    struct local_messages committed;
    struct error err = {0};

    local_messages_init(&committed);
    ck_assert_ok(reject(&o, REASON_ACTIVITY_SETTLED, 0, &committed, &err), &err);
    local_messages_free(&committed);
    local_messages_init(&committed);
    ck_assert(!reject(&other, REASON_STOCK_SHORT, 3, &committed, &err));
    ck_assert_int_eq(err.code, ERROR_DB_DUPLICATE);
    ck_assert_str_eq(db_duplicate_key(db), "uk_order_no");
    ck_assert_uint_eq(committed.count, 0);
    ck_assert(committed.first == NULL);
    assert_tombstone(&o, "activity_settled", 2, 0);
    ck_assert_int_eq(messages("%%"), 3);
    /* No lock is left behind: this would wait for it in vain. */
    testing_sql("SET innodb_lock_wait_timeout=1; UPDATE orders SET units_returned=1 WHERE order_no='%s'", o.order_no);
}
END_TEST

/* A local message of that key which we did not write: then nothing at all is decided. */
START_TEST(all_or_nothing)
{
    struct order o = order_of(2);
    struct local_messages committed;
    struct error err = {0};

    testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('order.dead:%s','order.dead','x')",
                o.order_no);
    local_messages_init(&committed);
    ck_assert(!reject(&o, REASON_ACTIVITY_SETTLED, 0, &committed, &err));
    ck_assert_int_eq(err.code, ERROR_DB_DUPLICATE);
    ck_assert_str_eq(db_duplicate_key(db), "uk_message_key");
    ck_assert_uint_eq(committed.count, 0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), 0);
    ck_assert_int_eq(messages("%%"), 1);
}
END_TEST

START_TEST(a_buyers_second_order_leaves_no_letter)
{
    struct order o = order_of(1);
    struct local_messages committed;
    struct error err = {0};

    local_messages_init(&committed);
    ck_assert_ok(reject(&o, REASON_BUYER_HAS_ORDER, 0, &committed, &err), &err);
    ck_assert_uint_eq(committed.count, 2);
    local_messages_free(&committed);
    assert_tombstone(&o, "buyer_has_order", 1, 0);
    ck_assert_int_eq(messages("%%"), 2);
    ck_assert_int_eq(messages("order.dead:%%"), 0);
}
END_TEST

/* The answer to COMMIT is lost, or the transaction never came that far: another run finds out. */
static const struct {
    const char *fault;
    bool committed;
} windows[] = {{"decide.before_commit=fail@1", false}, {"decide.after_commit=fail@1", true}};

START_TEST(an_unknown_outcome_is_found_out_by_running_again)
{
    struct order o = order_of(2);
    struct local_messages committed;
    struct error err = {0};

    testing_faults(windows[_i].fault);
    local_messages_init(&committed);
    ck_assert(!reject(&o, REASON_ACTIVITY_SETTLED, 0, &committed, &err));
    ck_assert_int_eq(err.code, ERROR_DB_LOST);
    ck_assert_uint_eq(committed.count, 0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), windows[_i].committed);
    error_clear(&err);
    ck_assert(reject(&o, REASON_ACTIVITY_SETTLED, 0, &committed, &err) != windows[_i].committed);
    ck_assert_int_eq(err.code, windows[_i].committed ? ERROR_DB_DUPLICATE : ERROR_NONE);
    assert_tombstone(&o, "activity_settled", 2, 0);
    ck_assert_int_eq(messages("%%"), 3);
    local_messages_free(&committed);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("order_rejection");
    TCase *c = tcase_create("order_rejection");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, without_a_message_the_letter_is_the_order_rebuilt);
    tcase_add_test(c, a_second_one_is_void);
    tcase_add_test(c, all_or_nothing);
    tcase_add_test(c, a_buyers_second_order_leaves_no_letter);
    tcase_add_loop_test(c, an_unknown_outcome_is_found_out_by_running_again, 0,
                        (int)(sizeof windows / sizeof *windows));
    suite_add_tcase(s, c);
    return testing_main(s);
}
