/* What the walk completes beside lost messages, against the real servers: returns and settlements that Redis never saw,
 * orders that it forgot, forfeited units, keys; each once, however many walk at a time and however often. */
#include "testing_relay.h"
#include "testing_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/activity_move.h"
#include "orderd/balance.h"
#include "orderd/clock.h"
#include "orderd/metric.h"
#include "orderd/order_change.h"
#include "orderd/stock_effect.h"

#define EVERYTHING (TESTING_WALK | TESTING_RELAY | TESTING_LANES)

/* Orders from..to, bought and made rows in the ordinary way; nothing else goes on afterwards. */
static void sell(int from, int to)
{
    for (int n = from; n <= to; n++) {
        struct order o = testing_buy(n, 1);

        testing_send(&o);
    }
    testing_parts_start(TESTING_RELAY | TESTING_LANES, 0);
    testing_wait_orders(to, 10000);
    testing_wait_effects();
    testing_parts_stop();
}

static void walk_once(void)
{
    testing_parts_start(TESTING_WALK, 1);
    if (testing_walked().walks == 0)
        testing_wait_walks(1);
    else
        testing_next_walk();
    testing_parts_stop();
}

/* ---- returns and settlements that never reached Redis ---- */

/* Decided so many ms ago by the database, without a local message. Numbers MOD 3 by what: 0 closed, 1 paid, 2 rejected.
 */
static void decide(int orders, int64_t ago_ms)
{
    testing_sql(
        "UPDATE orders SET status=CASE user_id MOD 3 WHEN 0 THEN 'closed' WHEN 1 THEN 'paid' ELSE 'rejected' END,"
        "reason=CASE user_id MOD 3 WHEN 0 THEN 'unpaid' WHEN 1 THEN '' ELSE 'constraint' END,"
        "units_returned=IF(user_id MOD 3=1,0,quantity),"
        "paid_at=IF(user_id MOD 3=1,NOW(6)-INTERVAL %" PRId64 "000 MICROSECOND,NULL),"
        "closed_at=IF(user_id MOD 3=1,NULL,NOW(6)-INTERVAL %" PRId64 "000 MICROSECOND);"
        "UPDATE activity_stock SET available=%" PRId64 "-%d+(SELECT COUNT(*) FROM orders WHERE status<>'paid') "
        "WHERE activity_id=%" PRId64,
        ago_ms, ago_ms, testing_sale.total, orders, testing_sale.id);
}

static void assert_decided(int orders)
{
    for (int n = 1; n <= orders; n++) {
        testing_sale_hash(n, STOCK_KEY_HELD, NULL);
        testing_sale_hash(n, STOCK_KEY_GONE, n % 3 == 1 ? "sold" : "returned");
        testing_sale_mark(n, n % 3 == 1 ? testing_no(n) : NULL);
    }
    testing_sale_conserved();
}

START_TEST(decisions_redis_never_saw)
{
    enum { ORDERS = 60 };
    struct stock_audit before;

    testing_sale_open(200, 4, 1);
    sell(1, ORDERS);
    before = testing_sale_sum();
    decide(ORDERS, 3600000);
    walk_once();
    assert_decided(ORDERS);
    ck_assert_int_eq(testing_sale_sum().left, before.left + ORDERS / 3 * 2);
    ck_assert_int_eq(testing_walked().mended, ORDERS);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_RETURNED), ORDERS / 3 * 2);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_SETTLED), ORDERS / 3);
    walk_once();
    ck_assert_int_eq(testing_walked().mended, 0);
    assert_decided(ORDERS);
    testing_sale_close();
}
END_TEST

/* Younger than W: the relay is at it. */
START_TEST(fresh_decisions_are_the_relays)
{
    testing_sale_open(10, 1, 1);
    testing_walk_conf->walk_in_flight = 60000;
    sell(1, 3);
    decide(3, 0);
    walk_once();
    ck_assert_int_eq(testing_walked().mended, 0);
    ck_assert_int_eq(testing_sale_sum().held, 3);
    testing_sale_close();
}
END_TEST

/* Eight walks at once without a lock between them (as when a lock was lost), again and again, beside a relay that is
 * told the same: every unit comes back once. */
START_TEST(many_at_once_give_back_once)
{
    enum { ORDERS = 300 };
    struct stock_audit before;

    testing_sale_open(2 * ORDERS, 2, 1);
    sell(1, ORDERS);
    before = testing_sale_sum();
    decide(ORDERS, 3600000);
    for (int n = 3; n <= ORDERS; n += 3) {
        struct stock_giveback g = {.activity = testing_sale.id,
                                   .shard = stock_home_shard(n, 2),
                                   .order_no = slice_of(testing_no(n)),
                                   .units_back = 1,
                                   .epoch = 1,
                                   .free_mark = true,
                                   .reservations = true};
        struct strbuf payload = STRBUF_INIT;

        stock_effect_encode(&g, 1, &payload);
        testing_sql(
            "INSERT INTO local_message(message_key,topic,payload) VALUES('stock.return:%s','stock.return','%s')",
            testing_no(n), payload.data);
        strbuf_release(&payload);
    }
    testing_walk_conf->walk_interval = 100;
    testing_parts_start(TESTING_WALK | TESTING_RELAY, 8);
    testing_wait(testing_sale_sum().held == 0, 10000, "all are done with");
    testing_wait_effects();
    testing_wait(testing_walked().walks >= 3, 10000, "walked again");
    testing_parts_stop();
    ck_assert_int_eq(testing_sale_sum().left, before.left + ORDERS / 3 * 2);
    assert_decided(ORDERS);
    testing_sale_close();
}
END_TEST

/* ---- a failover that lost the last writes ---- */

static struct {
    struct stock_keys keys;
    struct kv_reply *dump[STOCK_KEY_COUNT];
} kept;

static void keep_shard(void)
{
    stock_keys_of(&kept.keys, testing_sale.id, 0);
    for (int i = 0; i < STOCK_KEY_COUNT; i++)
        kept.dump[i] = testing_redis_do(testing_sale.kv, "DUMP", kept.keys.text[i], NULL);
}

/* The replica that takes over knows only what it had been told. */
static void fail_over(void)
{
    char expire_at[24];

    snprintf(expire_at, sizeof expire_at, "%" PRId64, testing_sale_audit(0).expire_at);
    for (int i = 0; i < STOCK_KEY_COUNT; i++) {
        struct error err = {0};
        struct kv_reply *reply;

        testing_redis_run(testing_sale.kv, "DEL", kept.keys.text[i], NULL);
        if (kv_reply_kind(kept.dump[i]) != KV_TEXT) {
            kv_reply_free(&kept.dump[i]);
            continue;
        }
        reply = kv_command(testing_sale.kv,
                           (const struct slice[]){slice_of("RESTORE"), slice_of(kept.keys.text[i]), slice_of(expire_at),
                                                  kv_reply_text(kept.dump[i]), slice_of("ABSTTL")},
                           5, &err);
        ck_assert_ok(reply != NULL, &err);
        kv_reply_free(&reply);
        kv_reply_free(&kept.dump[i]);
    }
}

static void change(int from, int to, enum order_wish wish)
{
    struct order_change changes[20];
    struct order_change_options options = {.owner = ""};
    struct local_messages committed;
    struct error err = {0};
    size_t count = 0;

    for (int n = from; n <= to; n++, count++) {
        changes[count] = (struct order_change){.wish = wish, .amount = TESTING_PRICE, .paid_at = clock_wall_ms()};
        snprintf(changes[count].order_no, sizeof changes[count].order_no, "%s", testing_no(n));
        snprintf(changes[count].payment_ref, sizeof changes[count].payment_ref, "pay-%d", n);
    }
    local_messages_init(&committed);
    ck_assert_ok(order_change_run(testing_lane_db, changes, count, &options, &committed, &err), &err);
    local_messages_free(&committed);
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(reason_name(changes[i].verdict), wish == ORDER_WISH_PAY ? "paid" : "cancelled");
}

/* Ten orders are replicated, ten more are not when the primary dies; of those some are pending, some were paid. They
 * are adopted; and when they close later, in the ordinary way, their units return. */
START_TEST(forgotten_orders_are_adopted)
{
    testing_sale_open(40, 1, 1);
    sell(1, 10);
    keep_shard();
    sell(11, 20);
    change(19, 20, ORDER_WISH_PAY);
    testing_parts_start(TESTING_RELAY, 0);
    testing_wait_effects();
    testing_parts_stop();
    testing_sale_hash(20, STOCK_KEY_GONE, "sold");
    fail_over();
    testing_sale_hash(11, STOCK_KEY_HELD, NULL);
    testing_sale_hash(20, STOCK_KEY_GONE, NULL);
    ck_assert_int_eq(testing_sale_sum().left, 30);
    walk_once();
    ck_assert_int_eq(testing_walked().mended, 10);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_ADOPTED), 10);
    ck_assert_int_eq(testing_sale_sum().left, 20);
    testing_sale_hash(11, STOCK_KEY_HELD, "*");
    testing_sale_hash(20, STOCK_KEY_GONE, "sold");
    testing_sale_mark(11, testing_no(11));
    testing_sale_mark(20, testing_no(20));
    testing_sale_conserved();
    change(9, 15, ORDER_WISH_CANCEL);
    testing_parts_start(TESTING_RELAY, 0);
    testing_wait_effects();
    testing_parts_stop();
    testing_sale_hash(11, STOCK_KEY_GONE, "returned");
    testing_sale_mark(11, NULL);
    ck_assert_int_eq(testing_sale_sum().left, 27);
    testing_sale_conserved();
    walk_once();
    ck_assert_int_eq(testing_walked().mended, 0);
    ck_assert_int_eq(testing_walked().need_person, 0);
    testing_sale_close();
}
END_TEST

/* The same failover, and the orders close before anybody walks: what Redis forgot that it had taken, nobody gives back.
 */
START_TEST(forgotten_and_closed)
{
    testing_sale_open(20, 1, 1);
    sell(1, 2);
    keep_shard();
    sell(3, 6);
    fail_over();
    change(3, 6, ORDER_WISH_CANCEL);
    testing_parts_start(TESTING_RELAY, 0);
    testing_wait_effects();
    testing_parts_stop();
    walk_once();
    ck_assert_int_eq(testing_walked().mended, 0);
    ck_assert_int_eq(testing_sale_sum().left, 18);
    testing_sale_hash(3, STOCK_KEY_GONE, "refused");
    testing_sale_conserved();
    testing_sale_close();
}
END_TEST

/* They close before the primary dies, and the replica has heard of neither: the units are right as they are, but Redis
 * is to know the numbers again, and, where nobody may buy twice, the buyers. */
START_TEST(forgotten_when_closed)
{
    testing_sale_open(20, 1, 1);
    testing_sql("UPDATE activity SET rebuy_after_release=0 WHERE id=%" PRId64, testing_sale.id);
    sell(1, 2);
    keep_shard();
    sell(3, 6);
    change(3, 6, ORDER_WISH_CANCEL);
    testing_parts_start(TESTING_RELAY, 0);
    testing_wait_effects();
    testing_parts_stop();
    testing_sale_hash(3, STOCK_KEY_GONE, "returned");
    testing_sale_mark(3, testing_no(3));
    fail_over();
    testing_sale_hash(3, STOCK_KEY_GONE, NULL);
    testing_sql("UPDATE orders SET closed_at=closed_at-INTERVAL 1 HOUR WHERE status='closed'");
    walk_once();
    ck_assert_int_eq(testing_walked().mended, 4);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_RETURNED), 4);
    ck_assert_int_eq(testing_sale_sum().left, 18);
    testing_sale_hash(3, STOCK_KEY_GONE, "refused");
    walk_once();
    testing_sale_mark(3, testing_no(3));
    testing_sale_mark(6, testing_no(6));
    walk_once();
    ck_assert_int_eq(testing_walked().mended, 0);
    ck_assert_int_eq(testing_walked().need_person, 0);
    testing_sale_conserved();
    testing_sale_close();
}
END_TEST

START_TEST(a_lost_mark)
{
    struct stock_keys keys;
    char field[24];

    testing_sale_open(20, 1, 1);
    sell(1, 5);
    stock_keys_of(&keys, testing_sale.id, 0);
    snprintf(field, sizeof field, "%d:0", 3);
    testing_redis_run(testing_sale.kv, "HDEL", keys.text[STOCK_KEY_BUYERS], field, NULL);
    testing_sale_mark(3, NULL);
    walk_once();
    ck_assert_int_eq(testing_walked().mended, 1);
    testing_sale_mark(3, testing_no(3));
    testing_sale_conserved();
    testing_sale_close();
}
END_TEST

/* What a walk took besides what the next one waits for. */
static int64_t history_ms(uint64_t before)
{
    return (int64_t)(testing_counted(METRIC_WALK_MS) - before) - testing_walked().took_ms;
}

/* The longer it is, the less often it is gone through, and the others of the fleet do so as well; and what else a walk
 * is for does not wait for it. */
START_TEST(a_long_history)
{
    enum { ORDERS = 10, PAUSE_MS = 50 };
    uint64_t before;

    testing_sale_open(20, 1, 1);
    sell(1, ORDERS);
    change(1, ORDERS, ORDER_WISH_CANCEL);
    testing_parts_start(TESTING_RELAY, 0);
    testing_wait_effects();
    testing_parts_stop();
    testing_walk_conf->walk_page = 1;
    testing_walk_conf->walk_pause = PAUSE_MS;
    testing_walk_conf->walk_interval = 3600000;
    testing_walk_conf->survey_lost_after = 600000;
    testing_parts_start(TESTING_WALK, 1);
    testing_wait_walks(1);
    ck_assert_int_ge(history_ms(0), ORDERS * PAUSE_MS);
    before = testing_counted(METRIC_WALK_MS);
    testing_next_walk();
    ck_assert_int_ge(history_ms(before), ORDERS * PAUSE_MS); /* little of an hour: in each */
    testing_sql(
        "INSERT INTO replica(host,instance,pid,version,admin,state,why,started_at,seen_at,report) WITH RECURSIVE "
        "n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<900) SELECT 'a',CONCAT('r',i),i,'1','','ready','',"
        "UTC_TIMESTAMP(3),UTC_TIMESTAMP(6),'{}' FROM n");
    testing_next_walk(); /* together these would */
    before = testing_counted(METRIC_WALK_MS);
    testing_next_walk();
    ck_assert_int_eq(history_ms(before), 0);
    testing_parts_stop();
    testing_sale_close();
}
END_TEST

/* Orders 1 to `live` pending; the others up to `to` closed, and the failover forgot both that and their reservations.
 */
static void forget_closed(int live, int to)
{
    testing_sale_open(to + 10, 1, 1);
    sell(1, live);
    keep_shard();
    sell(live + 1, to);
    change(live + 1, to, ORDER_WISH_CANCEL);
    testing_parts_start(TESTING_RELAY, 0);
    testing_wait_effects();
    testing_parts_stop();
    fail_over();
    testing_sql("UPDATE orders SET closed_at=closed_at-INTERVAL 1 HOUR WHERE status='closed'");
}

static bool count_forgotten(void *arg, const struct balance_finding *findings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *(int *)arg += findings[i].kind == FINDING_RETURN_FORGOTTEN;
    return true;
}

/* A history in slices of no time at all, thus of a page each: whole in the end, no order met twice, and then anew. */
START_TEST(history_goes_on)
{
    enum { ORDERS = 8, SCANS = ORDERS - 2 + 3 }; /* a page each; that there are no more; the shard; nobody was sold */
    struct balance_history history = {0};
    const struct balance_options options = {.parts = BALANCE_DONE,
                                            .window = {.in_flight_ms = 1},
                                            .worked_to = INT64_MAX,
                                            .page = 1,
                                            .history = &history,
                                            .history_ms = 1,
                                            .pause_ms = 2};
    struct balance_report report;
    struct error err;
    int found = 0, scans = 0;

    forget_closed(2, ORDERS);
    for (int round = 1; round <= 2; round++) {
        do {
            ck_assert_int_lt(scans++, 2 * SCANS);
            ck_assert_ok(balance_scan(testing_lane_db, testing_sale.kv, testing_sale.id, &options, count_forgotten,
                                      &found, &report, &err),
                         &err);
            ck_assert(report.complete);
            ck_assert_int_le(report.done_orders, 1);
        } while (history.rows.id > 0 || history.shard > 0 || history.rows.end);
        ck_assert_int_eq(found, round * (ORDERS - 2));
    }
    ck_assert_int_gt(scans, 2 * (ORDERS - 2));
    testing_sale_close();
}
END_TEST

/* The same by the walks: one of them takes a quarter of the interval at most, and the rests alone take longer. */
START_TEST(a_history_in_slices)
{
    enum { ORDERS = 8 };
    int64_t first;

    forget_closed(2, ORDERS);
    testing_walk_conf->walk_page = 1;
    testing_walk_conf->walk_pause = 60;
    testing_walk_conf->walk_interval = 400;
    testing_parts_start(TESTING_WALK, 1);
    testing_wait_walks(1);
    first = testing_walked().mended;
    ck_assert_int_lt(first, ORDERS - 2);
    testing_wait(testing_counted(METRIC_WALK_RETURNED) == ORDERS - 2, 60000, "all are given back");
    testing_parts_stop();
    ck_assert_int_eq(testing_sale_sum().left, ORDERS + 10 - 2);
    testing_sale_hash(3, STOCK_KEY_GONE, "refused");
    testing_sale_hash(ORDERS, STOCK_KEY_GONE, "refused");
    testing_sale_close();
}
END_TEST

/* Live orders that take longer than the interval are looked at seldom, and so is the history: by slices that are
 * longer. A quarter of the interval alone would be two pages. Each walk is noted, since the next one writes over it. */
START_TEST(slices_grow_with_the_live_orders)
{
    enum { LIVE = 20, CLOSED = 20 };
    int64_t walks;

    forget_closed(LIVE, LIVE + CLOSED);
    testing_admin("CREATE TABLE walk_seen (mended INT NOT NULL)");
    testing_admin("CREATE TRIGGER see_walk AFTER UPDATE ON activity_walk FOR EACH ROW INSERT INTO walk_seen "
                  "VALUES(NEW.mended)");
    testing_walk_conf->walk_page = 1;
    testing_walk_conf->walk_pause = 20;
    testing_walk_conf->walk_interval = 100;
    testing_parts_start(TESTING_WALK, 1);
    testing_wait(testing_counted(METRIC_WALK_RETURNED) == CLOSED, 60000, "all are given back");
    walks = testing_walked().walks;
    testing_wait(testing_walked().walks > walks, 20000, "the walk that did is noted");
    testing_parts_stop();
    ck_assert_int_gt(testing_number("SELECT MAX(mended) FROM walk_seen"), 4);
    testing_admin("DROP TRIGGER see_walk");
    testing_admin("DROP TABLE walk_seen");
    testing_sale_close();
}
END_TEST

/* ---- forfeited units that MySQL has after all ---- */

START_TEST(reclaimed_when_seen_twice)
{
    struct stock_giveback g = {
        .activity = 0, .units_forfeited = 1, .epoch = 1, .free_mark = true, .reservations = true};

    testing_sale_open(10, 1, 1);
    (void)testing_buy(1, 1);
    (void)testing_buy(2, 1);
    g.activity = testing_sale.id;
    for (int n = 1; n <= 2; n++) { /* given back as if MySQL did not have them, while its stock row says that it has */
        struct stock_returned answer;
        struct error err = {0};

        g.order_no = slice_of(testing_no(n));
        ck_assert_ok(stock_return(testing_sale.kv, &g, &answer, &err), &err);
        ck_assert_int_eq(answer.forfeited, 1);
    }
    testing_parts_start(TESTING_WALK, 1);
    testing_wait_walks(1);
    ck_assert_int_eq(testing_sale_sum().forfeited, 2);
    testing_next_walk();
    ck_assert_int_eq(testing_sale_sum().forfeited, 0);
    ck_assert_int_eq(testing_sale_sum().left, 10);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_UNITS_RECLAIMED), 2);
    testing_next_walk();
    testing_parts_stop();
    ck_assert_int_eq(testing_walked().mended, 0);
    testing_sale_conserved();
    testing_sale_close();
}
END_TEST

/* ---- keys ---- */

/* So it would be with another plan. */
static void expire_early(int64_t at)
{
    struct stock_keys keys;
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, at);
    for (int shard = 0; shard < testing_sale.shards; shard++) {
        stock_keys_of(&keys, testing_sale.id, shard);
        testing_redis_run(testing_sale.kv, "HSET", keys.text[STOCK_KEY_META], "expire_at", text, NULL);
        for (int i = 0; i < STOCK_KEY_COUNT; i++)
            testing_redis_run(testing_sale.kv, "PEXPIREAT", keys.text[i], text, NULL);
    }
}

/* The end of life of the keys comes in seconds, with an order still pending, one paid, and one held without a row: they
 * are kept, and so are those of a shard where nothing was ever sold. Nothing is lost when it would have come. */
START_TEST(keys_outlive_their_orders)
{
    int64_t expire_at, id;

    testing_sale_open(20, 2, 1);
    id = testing_sale.id;
    sell(1, 2);
    change(2, 2, ORDER_WISH_PAY);
    testing_sql("UPDATE activity SET ends_at=NOW(3)+INTERVAL 1 SECOND,pay_timeout_ms=1000 WHERE id=%" PRId64, id);
    expire_at = clock_wall_ms() + 4000;
    expire_early(expire_at);
    walk_once();
    for (int shard = 0; shard < 2; shard++) {
        struct stock_audit a = testing_sale_audit(shard);

        ck_assert_int_ge(a.expire_at, expire_at + 3600000);
        ck_assert_int_gt(a.ttl_stock, 3600000);
        ck_assert_int_gt(a.ttl_meta, 3600000);
        ck_assert(a.ttl_held == -2 || a.ttl_held > 3600000);
    }
    testing_wait(clock_wall_ms() > expire_at + 500, 10000, "their end would have come");
    testing_sale_hash(1, STOCK_KEY_HELD, "*");
    testing_sql("UPDATE activity SET state='ended' WHERE id=%" PRId64, id);
    walk_once();
    ck_assert_int_eq(testing_walked().need_person, 0);
    testing_parts_start(TESTING_RELAY, 0); /* the payment's settlement */
    testing_wait_effects();
    testing_parts_stop();
    testing_sale_hash(2, STOCK_KEY_GONE, "sold");
    testing_sale_close();
}
END_TEST

/* A sale that was over long ago and is not settled: its keys are kept although nobody holds anything any more. */
START_TEST(keys_outlive_their_sale)
{
    int64_t expire_at;

    testing_sale_open(20, 1, 1);
    sell(1, 2);
    change(1, 2, ORDER_WISH_PAY);
    testing_parts_start(TESTING_RELAY, 0);
    testing_wait_effects();
    testing_parts_stop();
    testing_sql("UPDATE activity SET state='ended',starts_at=NOW(3)-INTERVAL 9 HOUR,ends_at=NOW(3)-INTERVAL 8 HOUR");
    expire_at = clock_wall_ms() + 60000;
    expire_early(expire_at);
    walk_once();
    ck_assert_int_ge(testing_sale_audit(0).expire_at, expire_at + 3600000);
    ck_assert_int_gt(testing_sale_audit(0).ttl_gone, 3600000);
    ck_assert_int_eq(testing_walked().mended, 1);
    walk_once();
    ck_assert_int_eq(testing_walked().mended, 0);
    ck_assert_int_eq(testing_walked().need_person, 0);
    testing_sale_close();
}
END_TEST

/* Somebody took the TTLs away, of single keys or of all. */
START_TEST(lost_ttls_come_back)
{
    struct stock_keys keys;
    struct stock_audit a;

    testing_sale_open(20, 1, 1);
    sell(1, 3);
    stock_keys_of(&keys, testing_sale.id, 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < STOCK_KEY_COUNT; i++) {
            if (round == 1 || i == STOCK_KEY_HELD)
                testing_redis_run(testing_sale.kv, "PERSIST", keys.text[i], NULL);
        }
        walk_once();
        a = testing_sale_audit(0);
        ck_assert_int_gt(a.ttl_stock, 0);
        ck_assert_int_gt(a.ttl_held, 0);
        ck_assert_int_gt(a.ttl_buyers, 0);
        ck_assert_int_gt(a.ttl_meta, 0);
        ck_assert_int_ge(testing_walked().mended, 1);
    }
    testing_sale_conserved();
    testing_sale_close();
}
END_TEST

/* ---- a restock that was cut short ---- */

static const char *meta_of(int shard)
{
    static struct stock_keys keys;

    stock_keys_of(&keys, testing_sale.id, shard);
    return keys.text[STOCK_KEY_META];
}

static void total_in_mysql(int64_t total)
{
    testing_sql("UPDATE activity_stock SET available=available+%" PRId64 "-total,total=%" PRId64
                " WHERE activity_id=%" PRId64 ";UPDATE activity SET total_stock=%" PRId64 " WHERE id=%" PRId64,
                total, total, testing_sale.id, total, testing_sale.id);
    testing_sale.total = total;
}

/* A rise that MySQL has and no shard, then a cut that a shard has and MySQL does not: MySQL's total is what counts. One
 * look is not enough, since a restock may be under way. */
START_TEST(a_restock_cut_short)
{
    struct stock_restock cut = {.shard = 1, .cap_seen = 30, .cap = 22, .epoch = 1};
    struct stock_restocked answer;
    struct error err = {0};

    testing_sale_open(40, 2, 1);
    sell(1, 10);
    total_in_mysql(60);
    testing_parts_start(TESTING_WALK, 1);
    testing_wait_walks(1);
    ck_assert_int_eq(testing_sale_sum().cap, 40);
    ck_assert_int_eq(testing_walked().need_person, 0);
    testing_next_walk();
    ck_assert_int_eq(testing_walked().mended, 1);
    testing_sale_conserved();
    ck_assert_int_eq(testing_sale_audit(0).cap, 30);
    cut.activity = testing_sale.id;
    ck_assert_ok(stock_restock(testing_sale.kv, &cut, &answer, &err), &err);
    ck_assert_int_eq(answer.code, STOCK_RESTOCK_RESTOCKED);
    testing_next_walk();
    ck_assert_int_eq(testing_walked().mended, 0);
    ck_assert_int_eq(testing_sale_sum().cap, 52);
    testing_next_walk();
    ck_assert_int_eq(testing_walked().mended, 1);
    ck_assert_int_eq(testing_walked().need_person, 0);
    testing_sale_conserved();
    testing_next_walk();
    testing_parts_stop();
    ck_assert_int_eq(testing_walked().mended, 0);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_RESTOCKED), 2);
    testing_sale_close();
}
END_TEST

/* Somebody is at it, and holds the lock of such changes: then nothing is done. One that cannot be done is told. */
START_TEST(a_restock_under_way)
{
    struct error err = {0};
    bool locked;

    testing_sale_open(40, 2, 1);
    total_in_mysql(50);
    ck_assert_ok(activity_lock(testing_lane_db, testing_sale.id, 0, &locked, &err) && locked, &err);
    testing_parts_start(TESTING_WALK, 1);
    testing_wait_walks(1);
    testing_next_walk();
    testing_next_walk();
    ck_assert_int_eq(testing_sale_sum().cap, 40);
    activity_unlock(testing_lane_db, testing_sale.id);
    testing_redis_run(testing_sale.kv, "HSET", meta_of(1), "paused", "1", NULL);
    testing_next_walk();
    ck_assert_int_eq(testing_sale_sum().cap, 40);
    ck_assert_int_eq(testing_walked().need_person, 1);
    testing_redis_run(testing_sale.kv, "HSET", meta_of(1), "paused", "0", NULL);
    testing_next_walk();
    testing_parts_stop();
    ck_assert_int_eq(testing_walked().need_person, 0);
    testing_sale_conserved();
    testing_sale_close();
}
END_TEST

/* ---- the others go on ---- */

/* A shard that is no shard any more, a key of a foreign kind, an activity without a row in Redis: each is told, and the
 * sale beside them is walked as ever. */
START_TEST(one_failure_is_not_all)
{
    struct stock_keys keys;

    testing_sale_open(20, 1, 1);
    for (int64_t id = 1; id <= 3; id++)
        testing_sql("INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,pay_timeout_ms,state,"
                    "starts_at,ends_at,epoch,preheated_at) VALUES(%" PRId64 ",'broken',1,1,'CNY',5,1000,'running',"
                    "NOW(3)-INTERVAL 1 SECOND,NOW(3)+INTERVAL 1 HOUR,1,NOW(6));"
                    "INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",5,5)",
                    id, id);
    testing_sale_preheat(1, 1, 5, clock_wall_ms() + 3600000, clock_wall_ms() + 3600000);
    testing_sale_preheat(2, 1, 5, clock_wall_ms() + 3600000, clock_wall_ms() + 3600000);
    stock_keys_of(&keys, 1, 0);
    testing_redis_run(testing_sale.kv, "HSET", keys.text[STOCK_KEY_META], "cap", "nonsense", NULL);
    stock_keys_of(&keys, 2, 0);
    testing_redis_run(testing_sale.kv, "DEL", keys.text[STOCK_KEY_HELD], NULL);
    testing_redis_run(testing_sale.kv, "SET", keys.text[STOCK_KEY_HELD], "a text", NULL);
    (void)testing_buy(1, 1);
    testing_wait_old();
    testing_parts_start(EVERYTHING, 1);
    testing_wait_orders(1, 10000);
    testing_wait(testing_number("SELECT COUNT(*) FROM activity_walk WHERE need_person>0") == 3, 10000,
                 "the broken ones are told of");
    testing_parts_stop();
    ck_assert_int_eq(testing_walked().need_person, 0);
    for (int64_t id = 1; id <= 2; id++) {
        stock_keys_of(&keys, id, 0);
        for (int i = 0; i < STOCK_KEY_COUNT; i++)
            testing_redis_run(testing_sale.kv, "DEL", keys.text[i], NULL);
    }
    testing_sale_close();
}
END_TEST

/* Settled while it is walked, or before: nobody is called for keys that are gone as they should be. */
START_TEST(settled_is_left_alone)
{
    struct stock_keys keys;

    testing_sale_open(20, 1, 1);
    walk_once();
    testing_sql("UPDATE activity SET state='settled' WHERE id=%" PRId64, testing_sale.id);
    stock_keys_of(&keys, testing_sale.id, 0);
    for (int i = 0; i < STOCK_KEY_COUNT; i++)
        testing_redis_run(testing_sale.kv, "DEL", keys.text[i], NULL);
    testing_walk_again();
    testing_walk_conf->walk_interval = 100;
    testing_sql("UPDATE activity SET preheated_at=NOW(6) WHERE id=%d", TESTING_ACTIVITY); /* another one, to wait for */
    testing_parts_start(TESTING_WALK, 1);
    testing_wait(
        testing_number("SELECT COALESCE(MAX(walks),0) FROM activity_walk WHERE activity_id=%d", TESTING_ACTIVITY) >= 2,
        10000, "the other one is walked");
    testing_parts_stop();
    ck_assert_int_eq(testing_walked().walks, 1);
    testing_sale_close();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("walk mends");
    TCase *c = tcase_create("mend");

    tcase_set_timeout(c, 60);
    tcase_add_unchecked_fixture(c, NULL, testing_walk_clean);
    tcase_add_test(c, decisions_redis_never_saw);
    tcase_add_test(c, fresh_decisions_are_the_relays);
    tcase_add_test(c, many_at_once_give_back_once);
    tcase_add_test(c, forgotten_orders_are_adopted);
    tcase_add_test(c, forgotten_and_closed);
    tcase_add_test(c, forgotten_when_closed);
    tcase_add_test(c, a_long_history);
    tcase_add_test(c, history_goes_on);
    tcase_add_test(c, a_history_in_slices);
    tcase_add_test(c, slices_grow_with_the_live_orders);
    tcase_add_test(c, a_lost_mark);
    tcase_add_test(c, reclaimed_when_seen_twice);
    tcase_add_test(c, keys_outlive_their_orders);
    tcase_add_test(c, keys_outlive_their_sale);
    tcase_add_test(c, lost_ttls_come_back);
    tcase_add_test(c, a_restock_cut_short);
    tcase_add_test(c, a_restock_under_way);
    tcase_add_test(c, one_failure_is_not_all);
    tcase_add_test(c, settled_is_left_alone);
    suite_add_tcase(s, c);
    return testing_main(s);
}
