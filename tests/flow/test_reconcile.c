/* Every kind of fault planted by hand: found, named by its order, and mended or left to a person; mending twice changes
 * nothing, and what was mended is clean afterwards. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/activity_move.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/exitcode.h"
#include "orderd/order_store.h"
#include "orderd/stock.h"
#include "testing_balance.h"

static struct error err;

#define REPAIRED(lines_) ck_assert_str_eq(ledger_repaired, lines_)

/* A second repair finds nothing to do. */
static void mended_for_good(void)
{
    char *before = ledger_dump(), *after;

    RECONCILE("--repair");
    FOUND(EXIT_OK, "clean", "");
    REPAIRED("");
    after = ledger_dump();
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
}

/* ---- nothing wrong ---- */

START_TEST(clean_sale)
{
    struct order rejected;

    ledger_pending("A1", 1, 1);
    ledger_pending("A2", 2, 3);
    ledger_paid("A3", 3, 2);
    ledger_closed("A4", 4, 1);
    rejected = ledger_take("A5", 5, 1);
    ledger_row(&rejected, "rejected");
    ledger_return(&rejected);
    CLEAN();
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"quiet\":true"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"total\":100,\"available\":94,\"live\":6"));
    mended_for_good();
}
END_TEST

START_TEST(nothing_sold)
{
    CLEAN();
}
END_TEST

/* What is younger than the window is no gap, and no repair touches it. */
START_TEST(in_flight)
{
    struct order paid, closed, rejected;
    char *before, *after;

    ledger_take("F1", 1, 2);
    paid = ledger_pending("F2", 2, 1);
    closed = ledger_pending("F3", 3, 1);
    rejected = ledger_take("F4", 4, 1);
    ledger_pay(&paid);
    ledger_close(&closed);
    ledger_row(&rejected, "rejected");
    testing_ctl_run_sql("UPDATE orders SET paid_at=UTC_TIMESTAMP(6) WHERE status='paid'");
    testing_ctl_run_sql("UPDATE orders SET closed_at=UTC_TIMESTAMP(6) WHERE status IN('closed','rejected')");
    before = ledger_dump();
    CTL("reconcile", "--activity", ledger_text, "--repair");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    after = ledger_dump();
    ck_assert_str_eq(before, after);
    RECONCILE_IN("2m", "--quiet");
    FOUND(EXIT_PARTIAL, "explained", "effect_waiting F2 1\neffect_waiting F3 1\neffect_waiting F4 1\nin_flight F1 2\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"gaps\":0"));
    free(before);
    free(after);
}
END_TEST

/* ---- lost messages ---- */

static int64_t messages(const char *state, int recovery)
{
    return testing_ctl_number("SELECT COUNT(*) FROM local_message WHERE topic='order.create' AND state='%s' AND "
                              "headers='{\"orderd-recovery\":%d}'",
                              state, recovery);
}

static void send_messages(void)
{
    testing_ctl_run_sql("UPDATE local_message SET state='sent',sent_at=UTC_TIMESTAMP(6)-INTERVAL 5 HOUR,"
                        "due_at=sent_at WHERE state='pending'");
}

static bool take_payload(void *arg, const struct slice *c, unsigned count)
{
    char detail[200];

    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(order_decode(c[0], arg, detail, sizeof detail), REASON_NONE);
    return true;
}

static void assert_payload(const struct order *o)
{
    struct order sent = {.order_no = ""};
    char sql[200];

    snprintf(sql, sizeof sql, "SELECT payload FROM local_message WHERE message_key='recover:%s'", o->order_no);
    ck_assert_ok(db_query(testing_ctl_db, slice_of(sql), take_payload, &sent, &err), &err);
    ck_assert_str_eq(sent.order_no, o->order_no);
    ck_assert(order_same_content(&sent, o));
    ck_assert_int_eq(sent.user_seq, o->user_seq);
    ck_assert_int_eq(sent.shard, o->shard);
    ck_assert_int_eq(sent.epoch, o->epoch);
    ck_assert_int_eq(sent.reserved_at, o->reserved_at);
}

/* The web tier died right after the deduct. */
START_TEST(lost_messages)
{
    struct order a = ledger_take("L1", 1, 2), b = ledger_take("L2", 2, 1);
    char *before, *after;

    ledger_pending("L3", 3, 1);
    RECONCILE("--quiet");
    FOUND(EXIT_PARTIAL, "explained", "lost_message L1 2\nlost_message L2 1\n");
    before = ledger_dump();
    RECONCILE("--quiet", "--repair", "--dry-run");
    REPAIRED("would_be_mended lost_message L1\nwould_be_mended lost_message L2\n");
    after = ledger_dump();
    ck_assert_str_eq(before, after);
    RECONCILE("--repair");
    FOUND(EXIT_PARTIAL, "explained", "lost_message L1 2\nlost_message L2 1\n");
    REPAIRED("mended lost_message L1\nmended lost_message L2\n");
    ck_assert_int_eq(messages("pending", 1), 2);
    assert_payload(&a);
    assert_payload(&b);
    RECONCILE("--repair");
    FOUND(EXIT_PARTIAL, "explained", "message_waiting L1 2\nmessage_waiting L2 1\n");
    REPAIRED("");
    ck_assert_int_eq(messages("pending", 1), 2);
    ledger_row(&a, "pending");
    ledger_row(&b, "pending");
    CLEAN();
    free(before);
    free(after);
}
END_TEST

/* Sent again three times at most, each time counted in its row; then it is the walk's terminal decision. */
START_TEST(lost_again_and_again)
{
    ledger_take("L1", 1, 1);
    for (int n = 1; n <= 3; n++) {
        RECONCILE("--repair");
        FOUND(EXIT_PARTIAL, "explained", "lost_message L1 1\n");
        REPAIRED("mended lost_message L1\n");
        ck_assert_int_eq(messages("pending", n), 1);
        ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 1);
        send_messages();
    }
    RECONCILE("--repair");
    FOUND(EXIT_PARTIAL, "explained", "unrecoverable L1 1\n");
    REPAIRED("");
    testing_ctl_run_sql("UPDATE local_message SET sent_at=UTC_TIMESTAMP(6)-INTERVAL 30 MINUTE"); /* the third: 40 */
    RECONCILE("--quiet");
    FOUND(EXIT_PARTIAL, "explained", "recovering L1 1\n");
}
END_TEST

START_TEST(message_in_the_table)
{
    struct order o = ledger_take("M1", 1, 1), given_up = ledger_take("M2", 2, 1);

    testing_ctl_run_sql("INSERT INTO local_message(message_key,topic,payload,state) VALUES('order.create:%s',"
                        "'order.create','{}','pending'),('order.create:%s','order.create','{}','quarantined')",
                        o.order_no, given_up.order_no);
    RECONCILE("--repair");
    FOUND(EXIT_BAD_DATA, "broken", "message_quarantined M2 1\nmessage_waiting M1 1\n");
    REPAIRED("");
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 2);
}
END_TEST

/* ---- effects that did not happen ---- */

START_TEST(effects_due)
{
    struct order closed = ledger_pending("E1", 1, 2), rejected = ledger_take("E2", 2, 3),
                 paid = ledger_pending("E3", 3, 1);
    struct stock_audit audit;

    ledger_close(&closed);
    ledger_row(&rejected, "rejected");
    testing_ctl_run_sql("UPDATE orders SET units_returned=1,units_forfeited=2 WHERE order_no='E2'");
    ledger_pay(&paid);
    RECONCILE("--quiet");
    FOUND(EXIT_PARTIAL, "explained", "return_due E1 2\nreturn_due E2 3\nsettle_due E3 1\n");
    RECONCILE("--repair");
    REPAIRED("mended return_due E1\nmended return_due E2\nmended settle_due E3\n");
    audit = ledger_audit(rejected.shard);
    ck_assert_int_eq(audit.forfeited, 2); /* MySQL has them: that is a finding of its own */
    RECONCILE("--repair");
    ck_assert_ptr_nonnull(strstr(ledger_found, "forfeited_reclaimable"));
    CLEAN();
    mended_for_good();
    ck_assert_int_eq(ledger_audit(0).left + ledger_audit(1).left, 99);
    ck_assert_int_eq(ledger_audit(paid.shard).sold, 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM local_message"), 0);
}
END_TEST

/* A closed order whose trace in Redis is gone: repeating the return marks its number for good, and moves nothing. */
START_TEST(return_forgotten)
{
    struct order o = ledger_closed("R1", 1, 2);

    ledger_redis(o.shard, STOCK_KEY_GONE, "HDEL", "R1");
    RECONCILE("--repair");
    FOUND(EXIT_PARTIAL, "explained", "return_forgotten R1 2\n");
    REPAIRED("mended return_forgotten R1\n");
    ck_assert_int_eq(ledger_audit(o.shard).left + ledger_audit(1 - o.shard).left, SALE_TOTAL);
    CLEAN();
    mended_for_good();
}
END_TEST

/* ---- what Redis forgot ---- */

/* The writes of an order are lost with the primary: its units are on sale again, though MySQL has the order. */
static void forget(const struct order *o, const char *counter)
{
    char seq[64], units[16];

    snprintf(seq, sizeof seq, "%" PRId64 ":%d", o->user_id, o->user_seq);
    snprintf(units, sizeof units, "-%d", o->quantity);
    ledger_redis(o->shard, STOCK_KEY_HELD, "HDEL", o->order_no);
    ledger_redis(o->shard, STOCK_KEY_GONE, "HDEL", o->order_no);
    ledger_redis(o->shard, STOCK_KEY_BUYERS, "HDEL", seq);
    ledger_redis(o->shard, STOCK_KEY_META, "HINCRBY", counter, units);
    ledger_redis(o->shard, STOCK_KEY_STOCK, "INCRBY", units + 1);
}

START_TEST(replica_promoted_with_lost_writes)
{
    struct order a = ledger_pending("P1", 1, 2), b = ledger_paid("P2", 2, 1), c = ledger_pending("P3", 3, 1);

    ledger_pending("P4", 4, 1);
    forget(&a, "held");
    forget(&b, "sold");
    forget(&c, "held");
    RECONCILE("--quiet");
    FOUND(EXIT_PARTIAL, "explained", "unknown_reservation P1 2\nunknown_reservation P2 1\nunknown_reservation P3 1\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"live_unknown_to_redis\":4,\"unexplained\":0"));
    RECONCILE("--repair");
    REPAIRED("mended unknown_reservation P1\nmended unknown_reservation P2\nmended unknown_reservation P3\n");
    CLEAN();
    mended_for_good();
    ck_assert_int_eq(ledger_audit(0).held + ledger_audit(1).held, 4);
    ck_assert_int_eq(ledger_audit(0).sold + ledger_audit(1).sold, 1);
}
END_TEST

/* Sold out meanwhile: nothing can be taken for it, which is said and tried again. */
START_TEST(adoption_that_falls_short)
{
    struct order o = ledger_pending("P1", 1, 2);
    char left[24];

    forget(&o, "held");
    snprintf(left, sizeof left, "%" PRId64, ledger_audit(o.shard).left);
    ledger_redis(o.shard, STOCK_KEY_STOCK, "DECRBY", left);
    ledger_redis(o.shard, STOCK_KEY_META, "HINCRBY", "sold", left);
    RECONCILE("--repair");
    ck_assert_str_eq(ledger_repaired, "not_mended unknown_reservation P1\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "too few units"));
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
}
END_TEST

START_TEST(marks)
{
    struct order a = ledger_pending("K1", 1, 1), b = ledger_paid("K2", 2, 1), c = ledger_pending("K3", 3, 1);

    ledger_redis(a.shard, STOCK_KEY_BUYERS, "HDEL", "1:0");
    ledger_redis(b.shard, STOCK_KEY_BUYERS, "HDEL", "2:0");
    ledger_redis(c.shard, STOCK_KEY_BUYERS, "HSET", "3:0", "OTHER|1");
    RECONCILE("--repair");
    FOUND(EXIT_PARTIAL, "explained", "mark_missing K1 1\nmark_missing K2 1\nmark_taken K3 1\n");
    REPAIRED("mended mark_missing K1\nmended mark_missing K2\n");
    RECONCILE("--quiet");
    FOUND(EXIT_PARTIAL, "explained", "mark_taken K3 1\n");
    ledger_redis(c.shard, STOCK_KEY_BUYERS, "HDEL", "3:0"); /* the other order was refused */
    RECONCILE("--repair");
    CLEAN();
    mended_for_good();
}
END_TEST

START_TEST(mark_of_who_may_not_buy_again)
{
    struct order o = ledger_pending("K1", 1, 1);

    ledger_close(&o);
    RECONCILE("--repair");
    REPAIRED("mended return_due K1\n");
    CLEAN(); /* the mark stayed */
    ledger_redis(o.shard, STOCK_KEY_BUYERS, "HDEL", "1:0");
    RECONCILE("--repair");
    FOUND(EXIT_PARTIAL, "explained", "mark_missing K1 1\n");
    CLEAN();
    mended_for_good();
}
END_TEST

/* ---- for a person ---- */

START_TEST(orders_for_a_person)
{
    struct order live = ledger_pending("X1", 1, 1), sold = ledger_pending("X2", 2, 1),
                 other = ledger_pending("X3", 3, 2);
    struct order damaged = ledger_pending("X4", 4, 1), word = ledger_paid("X5", 5, 1),
                 both = ledger_pending("X6", 6, 1);
    struct order shard = {.activity_id = sale, .user_id = 7, .quantity = 1, .epoch = 1, .shard = 9, .order_no = "X7"};
    struct order gone = ledger_take("X8", 8, 1);

    ledger_return(&live);
    ledger_settle(&sold);
    testing_ctl_run_sql("UPDATE orders SET amount=1 WHERE order_no='X3'");
    ledger_redis(damaged.shard, STOCK_KEY_HELD, "HSET", "X4", "4|0|1|9900|1");
    ledger_redis(word.shard, STOCK_KEY_GONE, "HSET", "X5", "selled");
    ledger_redis(both.shard, STOCK_KEY_GONE, "HSET", "X6", "returned");
    shard.reserved_at = other.reserved_at;
    ledger_row(&shard, "pending");
    ledger_settle(&gone);
    ledger_redis(0, STOCK_KEY_HELD, "HSET", "no number!", "1|0|0|9900|1|1764400000123");
    RECONCILE("--repair", "--quiet");
    REPAIRED("");
    FOUND(EXIT_BAD_DATA, "broken",
          "ledger_damaged X4 1\nledger_damaged X5 1\nledger_damaged X6 1\nledger_damaged shard:0 0\nother_content X3 "
          "2\nreturned_but_live X1 1\nsold_not_paid X2 1\nsold_not_paid X8 0\nwrong_shard X7 1\n");
    RECONCILE("--json");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"detail\":\"amount is 19800 in Redis and 1 in the row\""));
}
END_TEST

/* ---- shards ---- */

START_TEST(unit_lost_or_won)
{
    ledger_pending("U1", 1, 1);
    ledger_redis(0, STOCK_KEY_STOCK, "DECRBY", "1");
    ledger_redis(1, STOCK_KEY_STOCK, "INCRBY", "3");
    RECONCILE("--repair", "--quiet");
    FOUND(EXIT_BAD_DATA, "broken", "shard_unbalanced shard:0 -1\nshard_unbalanced shard:1 3\n");
    REPAIRED("");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, ": 1 lost"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, ": 3 too many"));
}
END_TEST

START_TEST(counter_wrong)
{
    struct order o = ledger_pending("U1", 1, 1);

    ledger_redis(o.shard, STOCK_KEY_META, "HINCRBY", "held", "2");
    ledger_redis(o.shard, STOCK_KEY_STOCK, "DECRBY", "2");
    RECONCILE("--quiet");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(ledger_found, "held_counter_wrong shard:"));
    ck_assert_ptr_nonnull(strstr(ledger_found, "unexplained - 2"));
}
END_TEST

START_TEST(cap_wrong)
{
    ledger_redis(1, STOCK_KEY_META, "HINCRBY", "cap", "5");
    ledger_redis(1, STOCK_KEY_STOCK, "INCRBY", "5");
    RECONCILE("--quiet");
    FOUND(EXIT_BAD_DATA, "broken", "cap_total - 5\n");
}
END_TEST

/* Half of a transfer, as a failover leaves it: each shard balances by itself, and the caps add up with what is between
 * them. */
static void borrow(const char *units, const char *out)
{
    ledger_redis(1, STOCK_KEY_META, "HINCRBY", "cap", units);
    ledger_redis(1, STOCK_KEY_STOCK, "INCRBY", units);
    ledger_redis(1, STOCK_KEY_META, "HINCRBY", "out", out);
}

START_TEST(half_a_transfer)
{
    borrow("5", "-5");
    RECONCILE("--quiet");
    FOUND(EXIT_BAD_DATA, "broken", "transfer_unknown - -5\n");
    testing_ctl_run_sql("INSERT INTO stock_transfer(id,activity_id,epoch,from_shard,to_shard,units) SELECT "
                        "7,id,epoch,0,1,5 FROM activity");
    RECONCILE("--quiet");
    FOUND(EXIT_OK, "clean", "");
    testing_ctl_run_sql("UPDATE stock_transfer SET state='done'");
    borrow("-8", "8");
    RECONCILE("--quiet");
    FOUND(EXIT_BAD_DATA, "broken", "transfer_unknown - 3\n");
}
END_TEST

START_TEST(keys_flushed)
{
    struct order here = ledger_pending("S1", 1, 2), also = ledger_pending("S2", 2, 1);
    char expected[200];

    for (int key = 0; key < STOCK_KEY_COUNT; key++)
        testing_redis_run(ledger_kv, "DEL", ledger_key(here.shard, key), (char *)NULL);
    RECONCILE("--repair", "--quiet");
    snprintf(expected, sizeof expected, "shard_missing shard:%d %d\n", here.shard,
             here.quantity + (also.shard == here.shard ? also.quantity : 0));
    FOUND(EXIT_BAD_DATA, "broken", expected);
    REPAIRED("");
}
END_TEST

START_TEST(shard_damaged)
{
    testing_redis_run(ledger_kv, "DEL", ledger_key(0, STOCK_KEY_STOCK), (char *)NULL);
    testing_redis_run(ledger_kv, "DEL", ledger_key(1, STOCK_KEY_HELD), (char *)NULL);
    testing_redis_run(ledger_kv, "SET", ledger_key(1, STOCK_KEY_HELD), "text", (char *)NULL);
    RECONCILE("--quiet");
    FOUND(EXIT_BAD_DATA, "broken", "shard_damaged shard:0 0\nshard_damaged shard:1 0\n");
}
END_TEST

START_TEST(shard_of_another_epoch)
{
    ledger_pending("S1", 1, 1);
    testing_ctl_run_sql("UPDATE activity SET epoch=2 WHERE id=%" PRId64, sale);
    RECONCILE("--quiet");
    FOUND(EXIT_BAD_DATA, "broken", "shard_epoch shard:0 0\nshard_epoch shard:1 0\n");
}
END_TEST

START_TEST(lives_of_keys)
{
    struct order o = ledger_pending("S1", 1, 1);
    struct stock_audit audit;
    char soon[24];

    testing_redis_run(ledger_kv, "PERSIST", ledger_key(o.shard, STOCK_KEY_HELD), (char *)NULL);
    RECONCILE("--repair");
    ck_assert_ptr_nonnull(strstr(ledger_repaired, "mended keys_without_ttl"));
    CLEAN();
    snprintf(soon, sizeof soon, "%" PRId64, ledger_audit(1 - o.shard).now + 60000);
    ledger_redis(1 - o.shard, STOCK_KEY_META, "HSET", "expire_at", soon);
    testing_redis_run(ledger_kv, "PEXPIREAT", ledger_key(1 - o.shard, STOCK_KEY_META), soon, (char *)NULL);
    testing_redis_run(ledger_kv, "PEXPIREAT", ledger_key(1 - o.shard, STOCK_KEY_STOCK), soon, (char *)NULL);
    RECONCILE("--repair");
    ck_assert_ptr_nonnull(strstr(ledger_repaired, "mended ttl_too_short"));
    CLEAN();
    mended_for_good();
    audit = ledger_audit(1 - o.shard);
    ck_assert_int_gt(audit.ttl_stock, 2 * 3600 * 1000);
    ck_assert_int_gt(audit.ttl_meta, 2 * 3600 * 1000);
}
END_TEST

/* After the end of the sale, with an order still pending: the keys outlive it. */
START_TEST(lives_of_keys_after_the_end)
{
    struct order o = ledger_pending("S1", 1, 1);

    testing_ctl_run_sql("UPDATE activity SET state='ended',starts_at=UTC_TIMESTAMP(3)-INTERVAL 6 HOUR,ends_at="
                        "UTC_TIMESTAMP(3)-INTERVAL 5 HOUR WHERE id=%" PRId64,
                        sale);
    ledger_redis(o.shard, STOCK_KEY_META, "HSET", "ends_at", "1");
    RECONCILE("--quiet");
    FOUND(EXIT_OK, "clean", "");
    testing_ctl_run_sql("UPDATE activity SET pay_timeout_ms=86400000 WHERE id=%" PRId64, sale);
    RECONCILE("--repair"); /* a day to pay */
    ck_assert_ptr_nonnull(strstr(ledger_repaired, "mended ttl_too_short"));
    ck_assert_int_gt(ledger_audit(o.shard).ttl_held, 86400 * 1000);
    CLEAN();
}
END_TEST

/* ---- forfeited ---- */

/* MySQL has the units after all: back on sale, never more than it has. */
START_TEST(forfeited)
{
    struct order o = ledger_take("D1", 1, 3);
    struct stock_giveback g = {.activity = sale,
                               .shard = o.shard,
                               .order_no = slice_of("D1"),
                               .units_back = 0,
                               .units_forfeited = 3,
                               .epoch = 1,
                               .free_mark = true,
                               .reservations = true};
    struct stock_returned answer;

    testing_ctl_run_sql("UPDATE activity_stock SET total=99,available=99");
    ledger_row(&o, "rejected");
    ck_assert_ok(stock_return(ledger_kv, &g, &answer, &err), &err);
    ck_assert_int_eq(answer.forfeited, 3);
    RECONCILE("--repair");
    ck_assert_ptr_nonnull(strstr(ledger_found, "forfeited_reclaimable shard:"));
    ck_assert_int_eq(ledger_audit(o.shard).forfeited, 1);
    testing_ctl_run_sql("UPDATE activity_stock SET total=100,available=100");
    RECONCILE("--repair");
    ck_assert_int_eq(ledger_audit(o.shard).forfeited, 0);
    CLEAN();
    mended_for_good();
}
END_TEST

/* ---- MySQL ---- */

START_TEST(stock_changed_by_hand)
{
    ledger_pending("H1", 1, 2);
    testing_ctl_run_sql("UPDATE activity_stock SET available=available-7");
    RECONCILE("--quiet");
    FOUND(EXIT_BAD_DATA, "broken", "db_unbalanced - -7\n");
    RECONCILE("--repair");
    FOUND(EXIT_PARTIAL, "explained", "db_unbalanced - -7\n");
    REPAIRED("mended db_unbalanced -\n");
    ck_assert_int_eq(testing_ctl_number("SELECT available FROM activity_stock"), 98);
    CLEAN();
    testing_ctl_run_sql("UPDATE activity_stock SET available=100");
    RECONCILE("--repair");
    FOUND(EXIT_PARTIAL, "explained", "db_unbalanced - 2\n");
    ck_assert_int_eq(testing_ctl_number("SELECT available FROM activity_stock"), 98);
    CLEAN();
    mended_for_good();
}
END_TEST

/* A second session. */
static struct db *open_other(void)
{
    struct conf conf = *ledger_conf;
    struct db *other;

    conf.mysql_database = testing_ctl_schema;
    other = db_open(&conf, &err);
    ck_assert_ok(other != NULL, &err);
    return other;
}

/* Two repairs would each add what is missing. */
START_TEST(stock_changed_by_hand_and_repaired_by_another)
{
    struct db *other = open_other();
    bool locked;

    ledger_pending("H1", 1, 2);
    testing_ctl_run_sql("UPDATE activity_stock SET available=available-7");
    ck_assert_ok(activity_lock(other, sale, 0, &locked, &err), &err);
    RECONCILE("--repair");
    FOUND(EXIT_BAD_DATA, "broken", "db_unbalanced - -7\n");
    REPAIRED("not_mended db_unbalanced -\n");
    ck_assert_int_eq(testing_ctl_number("SELECT available FROM activity_stock"), 91);
    db_close(&other);
    RECONCILE("--repair");
    REPAIRED("mended db_unbalanced -\n");
    CLEAN();
}
END_TEST

/* Holds the stock row until somebody else waits for it. */
static void *commit_late(void *arg)
{
    struct db *other = arg;
    int64_t waits = 0;
    struct error why;

    for (int i = 0; i < 3000 && waits == 0; i++) {
        ck_assert_ok(db_query_i64(other,
                                  slice_of("SELECT COUNT(*) FROM information_schema.processlist WHERE db=DATABASE() "
                                           "AND id<>CONNECTION_ID() AND info LIKE 'UPDATE activity_stock%'"),
                                  0, &waits, &why),
                     &why);
        clock_sleep_ms(10);
    }
    ck_assert_ok(db_run(other, slice_of("COMMIT"), &why), &why);
    return NULL;
}

/* Too many, by hand, of a sale that is sold out. While the repair knows that and has not written yet, a return is
 * dropped for want of room, and others buy: then there is less than it would take away. */
START_TEST(stock_changed_by_hand_and_a_return_dropped)
{
    struct db *other = open_other();
    pthread_t thread;

    ledger_pending("H1", 1, 5);
    testing_ctl_run_sql("UPDATE activity SET total_stock=5");
    testing_ctl_run_sql("UPDATE activity_stock SET total=5,available=5");
    ck_assert_ok(
        db_run(other,
               slice_of("BEGIN;UPDATE orders SET status='closed',closed_at=NOW(6) WHERE order_no='H1';"
                        "INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,"
                        "status,reserved_at) SELECT 'H2',activity_id,2,user_seq,sku_id,3,amount,shard,epoch,'pending',"
                        "reserved_at FROM orders WHERE order_no='H1';"
                        "UPDATE activity_stock SET available=available-3"),
               &err),
        &err);
    CHECK_ZERO(pthread_create(&thread, NULL, commit_late, other));
    RECONCILE("--repair");
    CHECK_ZERO(pthread_join(thread, NULL));
    db_close(&other);
    ck_assert_ptr_nonnull(strstr(ledger_repaired, "mended db_unbalanced -\n"));
    ck_assert_int_eq(testing_ctl_number("SELECT available FROM activity_stock"), 2);
}
END_TEST

START_TEST(total_changed_by_hand)
{
    ledger_pending("H1", 1, 5);
    testing_ctl_run_sql("UPDATE activity_stock SET total=3,available=0");
    RECONCILE("--repair", "--quiet");
    FOUND(EXIT_BAD_DATA, "broken", "db_unbalanced - 2\noversold - 2\nstock_total_differs - -97\n");
    REPAIRED("not_mended db_unbalanced -\n");
    testing_ctl_run_sql("DELETE FROM activity_stock");
    RECONCILE("--quiet");
    FOUND(EXIT_BAD_DATA, "broken", "stock_row_missing - 0\n");
}
END_TEST

/* A second live order on a buyer's mark: the key refuses it, whatever the mark in Redis says. */
START_TEST(double_order)
{
    struct order first = ledger_pending("B1", 1, 1), second = first;
    const struct order *list[] = {&second};
    int64_t timeout = 900000;
    struct strbuf sql = STRBUF_INIT;

    snprintf(second.order_no, sizeof second.order_no, "B2");
    order_store_add_create(&sql, list, &timeout, 1);
    order_store_add_stock(&sql, list, 1);
    ck_assert(!db_run(testing_ctl_db, (struct slice){sql.data, sql.len}, &err));
    ck_assert_int_eq(err.code, ERROR_DB_DUPLICATE);
    ck_assert_str_eq(db_duplicate_key(testing_ctl_db), "uk_live");
    db_rollback(testing_ctl_db);
    strbuf_release(&sql);
    CLEAN();
}
END_TEST

/* ---- without reservations ---- */

START_TEST(without_reservations)
{
    struct order live = {.activity_id = sale, .user_id = 1, .quantity = 2, .epoch = 1, .order_no = "N1"}, closed = live;

    live.reserved_at = 1764400000123;
    closed = live;
    snprintf(closed.order_no, sizeof closed.order_no, "N2");
    closed.user_seq = 1;
    ledger_redis(0, STOCK_KEY_STOCK, "DECRBY", "4"); /* as its web tier does */
    ledger_row(&live, "pending");
    ledger_row(&closed, "closed");
    RECONCILE("--repair");
    FOUND(EXIT_PARTIAL, "explained", "return_forgotten N2 2\n");
    REPAIRED("mended return_forgotten N2\n");
    ck_assert_int_eq(ledger_audit(0).left, 48);
    CLEAN();
    mended_for_good();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reconcile");
    TCase *tc = tcase_create("reconcile"), *no_rebuy = tcase_create("no_rebuy"), *foreign = tcase_create("foreign");

    tcase_add_checked_fixture(tc, ledger_setup, ledger_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, clean_sale);
    tcase_add_test(tc, nothing_sold);
    tcase_add_test(tc, in_flight);
    tcase_add_test(tc, lost_messages);
    tcase_add_test(tc, lost_again_and_again);
    tcase_add_test(tc, message_in_the_table);
    tcase_add_test(tc, effects_due);
    tcase_add_test(tc, return_forgotten);
    tcase_add_test(tc, replica_promoted_with_lost_writes);
    tcase_add_test(tc, adoption_that_falls_short);
    tcase_add_test(tc, marks);
    tcase_add_test(tc, orders_for_a_person);
    tcase_add_test(tc, unit_lost_or_won);
    tcase_add_test(tc, counter_wrong);
    tcase_add_test(tc, cap_wrong);
    tcase_add_test(tc, half_a_transfer);
    tcase_add_test(tc, keys_flushed);
    tcase_add_test(tc, shard_damaged);
    tcase_add_test(tc, shard_of_another_epoch);
    tcase_add_test(tc, lives_of_keys);
    tcase_add_test(tc, lives_of_keys_after_the_end);
    tcase_add_test(tc, forfeited);
    tcase_add_test(tc, stock_changed_by_hand);
    tcase_add_test(tc, stock_changed_by_hand_and_repaired_by_another);
    tcase_add_test(tc, stock_changed_by_hand_and_a_return_dropped);
    tcase_add_test(tc, total_changed_by_hand);
    tcase_add_test(tc, double_order);
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(no_rebuy, ledger_setup_no_rebuy, ledger_teardown);
    tcase_set_timeout(no_rebuy, 60);
    tcase_add_test(no_rebuy, mark_of_who_may_not_buy_again);
    suite_add_tcase(suite, no_rebuy);
    tcase_add_checked_fixture(foreign, ledger_setup_no_reservations, ledger_teardown);
    tcase_set_timeout(foreign, 60);
    tcase_add_test(foreign, without_reservations);
    suite_add_tcase(suite, foreign);
    return testing_main(suite);
}
