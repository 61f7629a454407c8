/* The terminal decision against the real servers, with real reservations in Redis (DESIGN sections 1, 5 and 6):
 * whatever happens around it, an order that was rejected gives its stock back once, to its shard, and never lives. */
#include "testing_lane.h"
#include "testing_letters.h"
#include "testing_redis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/backoff.h"
#include "orderd/clock.h"
#include "orderd/metric.h"
#include "orderd/stock.h"
#include "orderd/topology.h"

#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

/* ---- a sale of the test's own ---- */

static struct sale {
    int64_t id, total, starts_at, ends_at;
    int shards, epoch, limit;
    struct kv *kv;
} sale;

static struct testing_spy events;
static struct testing_letters dead, told;

static void preheat(void)
{
    for (int i = 0; i < sale.shards; i++) {
        struct stock_plan plan = {.activity = sale.id,
                                  .shard = i,
                                  .cap = sale.total / sale.shards,
                                  .epoch = sale.epoch,
                                  .limit = sale.limit,
                                  .starts_at = sale.starts_at,
                                  .ends_at = sale.ends_at,
                                  .expire_at = sale.ends_at + 600000};
        struct stock_preheated answer;
        struct error err = {0};

        ck_assert_ok(stock_preheat(sale.kv, &plan, &answer, &err), &err);
        ck_assert_int_eq(answer.code, STOCK_PREHEAT_CREATED);
    }
}

/* A schema, a queue and, beside its activity, another one with so many units in so many shards, on sale. */
static void open_sale(int64_t total, int shards, int limit)
{
    testing_lane_setup(1, NULL);
    testing_lane_conf->relay_lease = 800; /* what a crash delays */
    testing_lane_conf->relay_poll_interval = 100;
    sale = (struct sale){.id = (int64_t)(backoff_seed() % 1000000000) + 2000,
                         .total = total,
                         .starts_at = clock_wall_ms() - 1000,
                         .ends_at = clock_wall_ms() + 600000,
                         .shards = shards,
                         .epoch = 1,
                         .limit = limit,
                         .kv = testing_redis_shared()};
    testing_sql("INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,per_user_limit,pay_timeout_ms,"
                "state,starts_at,ends_at,epoch,shards) VALUES(%" PRId64 ",'decide',%d,%d,'CNY',%" PRId64
                ",%d,900000,'running',NOW(3),NOW(3)+INTERVAL 1 HOUR,1,%d);"
                "INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",%" PRId64 ",%" PRId64 ")",
                sale.id, TESTING_SKU, TESTING_PRICE, total, limit, shards, sale.id, total, total);
    preheat();
    testing_spy_open(&events, topology_name(TOPOLOGY_EXCHANGE_EVENT), "order.rejected");
}

static void close_sale(void)
{
    testing_spy_close(&events);
    testing_letters_free(&dead);
    testing_letters_free(&told);
    kv_close(&sale.kv);
}

/* An order as a web tier makes it: units taken out of Redis first. */
static struct order take(const char *order_no, int user, int quantity)
{
    struct order o = testing_lane_order(user);
    struct stock_deducted answer;
    struct error err = {0};

    snprintf(o.order_no, sizeof o.order_no, "%s", order_no);
    o.activity_id = sale.id;
    o.quantity = quantity;
    o.amount = (int64_t)quantity * TESTING_PRICE;
    o.epoch = sale.epoch;
    o.shard = stock_home_shard(user, sale.shards);
    ck_assert_ok(stock_deduct(sale.kv,
                              &(struct stock_order){.activity = sale.id,
                                                    .shard = o.shard,
                                                    .order_no = slice_of(o.order_no),
                                                    .user = user,
                                                    .quantity = quantity,
                                                    .amount = o.amount,
                                                    .epoch = sale.epoch},
                              &answer, &err),
                 &err);
    ck_assert_msg(answer.code == STOCK_DEDUCT_TAKEN, "deduct: %s", stock_code_name(STOCK_SCRIPT_DEDUCT, answer.code));
    o.user_seq = answer.user_seq;
    o.reserved_at = answer.reserved_at;
    return o;
}

static struct order buy(int n, int quantity)
{
    return take(testing_lane_order(n).order_no, n, quantity);
}

static struct order sell(int n, int quantity)
{
    struct order o = buy(n, quantity);

    testing_publish(&o);
    return o;
}

static const char *number_of(int n)
{
    static char texts[4][ORDER_NO_MAX + 1];
    static unsigned i;
    char *text = texts[i++ % 4];

    snprintf(text, sizeof texts[0], "%s", testing_lane_order(n).order_no);
    return text;
}

/* ---- what must hold ---- */

struct stock_sum {
    int64_t left, held, forfeited, cap;
    int64_t held_dead; /* units held by orders without a live row */
};

static bool add_held(const struct stock_entry *entry, void *data)
{
    struct stock_sum *sum = data;
    bool live = testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%.*s' AND status IN('pending','paid')",
                               (int)entry->order_no.len, entry->order_no.ptr) == 1;

    sum->held_dead += live ? 0 : entry->quantity;
    return true;
}

static struct stock_audit audit(int shard)
{
    struct stock_audit a;
    struct error err = {0};

    ck_assert_ok(stock_audit(sale.kv, sale.id, shard, &a, &err), &err);
    return a;
}

static struct stock_sum sum_of(void)
{
    struct stock_sum sum = {0};

    for (int i = 0; i < sale.shards; i++) {
        struct stock_audit a = audit(i);
        struct stock_walk walk = {sale.id, i, STOCK_KEY_HELD, 100, 0};
        struct error err = {0};

        ck_assert_int_eq(a.code, STOCK_AUDIT_PRESENT);
        ck_assert_msg(stock_audit_balances(&a), "shard %d does not balance", i);
        sum.left += a.left, sum.held += a.held, sum.forfeited += a.forfeited, sum.cap += a.cap;
        ck_assert_ok(stock_walk(sale.kv, &walk, add_held, &sum, &err), &err);
    }
    return sum;
}

static int64_t available(void)
{
    return testing_number("SELECT available FROM activity_stock WHERE activity_id=%" PRId64, sale.id);
}

static int64_t live_units(void)
{
    return testing_number("SELECT COALESCE(SUM(quantity),0) FROM orders WHERE activity_id=%" PRId64
                          " AND status IN('pending','paid')",
                          sale.id);
}

/* DESIGN's invariant 5; unknown: live units that Redis never had or has forgotten. */
static void assert_conserved(int64_t unknown)
{
    struct stock_sum sum = sum_of();

    ck_assert_int_eq(sum.cap, sale.total);
    ck_assert_int_eq(available() + live_units(), sale.total);
    ck_assert_msg(available() == sum.left + sum.held_dead + sum.forfeited - unknown,
                  "available %" PRId64 " is not left %" PRId64 " + held without live order %" PRId64
                  " + forfeited %" PRId64 " - unknown %" PRId64,
                  available(), sum.left, sum.held_dead, sum.forfeited, unknown);
}

static void assert_hash(int shard, int key, const char *field, const char *value)
{
    struct stock_keys keys;
    struct kv_reply *reply;

    stock_keys_of(&keys, sale.id, shard);
    reply = testing_redis_do(sale.kv, "HGET", keys.text[key], field, NULL);
    if (value)
        ck_assert_msg(slice_is(kv_reply_text(reply), value), "%s is \"%.*s\"", field, (int)kv_reply_text(reply).len,
                      kv_reply_text(reply).ptr);
    else
        ck_assert_msg(kv_reply_kind(reply) == KV_NIL, "%s is there", field);
    kv_reply_free(&reply);
}

/* Whether this buyer's mark belongs to that order of one unit; NULL: to nobody. */
static void assert_mark(int n, int seq, const char *order_no)
{
    char field[40], value[64];

    snprintf(field, sizeof field, "%d:%d", n, seq);
    snprintf(value, sizeof value, "%s|1", order_no ? order_no : "");
    assert_hash(stock_home_shard(n, sale.shards), STOCK_KEY_BUYERS, field, order_no ? value : NULL);
}

static void refuse_when(const char *condition)
{
    testing_admin("CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW IF NEW.status='pending' AND (%s) THEN "
                  "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT='refused by a trigger'; END IF",
                  condition);
}

static void wait_effects(void)
{
    testing_wait(testing_number("SELECT COUNT(*) FROM local_message WHERE state<>'sent'") == 0, 10000,
                 "all local messages are done with");
}

static int64_t tombstones(const char *reason)
{
    return testing_number("SELECT COUNT(*) FROM orders WHERE status='rejected' AND reason='%s'", reason);
}

/* Everything that Redis has of the sale. */
static void dump_all(struct strbuf *out)
{
    strbuf_reset(out);
    for (int shard = 0; shard < sale.shards; shard++) {
        struct stock_keys keys;

        stock_keys_of(&keys, sale.id, shard);
        for (int i = 0; i < STOCK_KEY_COUNT; i++) {
            struct kv_reply *reply = testing_redis_do(sale.kv, "DUMP", keys.text[i], NULL);

            strbuf_addf(out, "%zu:", kv_reply_text(reply).len);
            strbuf_add_slice(out, kv_reply_text(reply));
            kv_reply_free(&reply);
        }
    }
}

/* ---- the ordinary way ---- */

/* 40 orders of one to three units over four shards, a quarter of them refused, each published twice: the refused ones
 * are told and dead-lettered, their units are back in their own shards, their buyers may buy again. */
START_TEST(rejected_gives_back)
{
    int64_t before[4], units[4] = {0};

    open_sale(400, 4, 3);
    refuse_when("NEW.user_id MOD 4=0");
    for (int i = 0; i < 4; i++)
        before[i] = audit(i).left;
    for (int n = 1; n <= 40; n++) {
        struct order o = sell(n, 1 + n % 3);

        testing_publish(&o);
        units[o.shard] += n % 4 ? o.quantity : 0;
    }
    testing_lane_start(2);
    testing_letters_dead(&dead, 10, 200);
    testing_spy_take(&events, &told, 10, 200);
    testing_wait_orders(40, 5000);
    wait_effects();
    ck_assert_uint_eq(dead.count, 10);
    ck_assert_uint_eq(told.count, 10);
    ck_assert_int_eq(tombstones("constraint"), 10);
    assert_conserved(0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(audit(i).left, before[i] - units[i]);
    for (int n = 4; n <= 40; n += 4) {
        assert_hash(stock_home_shard(n, 4), STOCK_KEY_GONE, number_of(n), "returned");
        assert_hash(stock_home_shard(n, 4), STOCK_KEY_HELD, number_of(n), NULL);
        assert_mark(n, 0, NULL);
    }
    testing_admin("DROP TRIGGER refuse");
    for (int n = 4; n <= 40; n += 4) { /* the same buyers, new orders */
        char order_no[32];
        struct order o;

        snprintf(order_no, sizeof order_no, "again_%d", n);
        o = take(order_no, n, 3);
        ck_assert_int_eq(o.user_seq, 0);
        testing_publish(&o);
    }
    testing_wait_orders(50, 5000);
    testing_lane_stop();
    assert_conserved(0);
    close_sale();
}
END_TEST

/* What every dead letter must tell, whether it was published by the lane itself (no tombstone) or by the relay. */
static const struct {
    const char *reason, *detail;
    bool unknown_activity;
} letters[] = {
    {"activity_unknown", "activity 1 is not in the database", true},
    {"constraint", "statement 1: refused by a trigger (error 1644, SQLSTATE 45000)", false},
};

START_TEST(dead_letters_tell_all)
{
    struct broker_header more = {.name = slice_of("tenant"), .value = slice_of("a \xe2\x82\xac \"quote\"")};
    struct strbuf body = STRBUF_INIT;
    struct broker_delivery *d = &dead.list[0];
    int64_t began = clock_wall_ms();
    struct order o;

    open_sale(10, 1, 1);
    refuse_when("NEW.user_id=7");
    o = buy(7, 1);
    o.activity_id = letters[_i].unknown_activity ? 1 : o.activity_id;
    order_encode(&o, &body);
    strbuf_add_str(&body, " \n"); /* the very bytes, not ours of the same meaning */
    testing_publish_with("its own id", (struct slice){body.data, body.len}, &more);
    testing_lane_start(1);
    testing_letters_dead(&dead, 1, 200);
    testing_lane_stop();
    ck_assert_uint_eq(dead.count, 1);
    ck_assert(slice_equal(d->body, (struct slice){body.data, body.len}));
    ck_assert(slice_is(d->message_id, "its own id"));
    ck_assert(slice_is(d->content_type, "application/json"));
    ck_assert_str_eq(testing_header(d, "orderd-reason"), letters[_i].reason);
    ck_assert_str_eq(testing_header(d, "orderd-detail"), letters[_i].detail);
    ck_assert_str_eq(testing_header(d, "orderd-stage"), "create");
    ck_assert_str_eq(testing_header(d, "orderd-attempt"), "3");
    ck_assert_str_eq(testing_header(d, "orderd-origin"), testing_lane_conf->create_queue);
    ck_assert_str_eq(testing_header(d, "orderd-worker"), "orderd@test create.0");
    ck_assert_str_eq(testing_header(d, "traceparent"), TRACE);
    ck_assert_str_eq(testing_header(d, "tenant"), "a \xe2\x82\xac \"quote\"");
    ck_assert_int_ge(testing_header_time(d, "orderd-first-failed-at"), began - 1);
    ck_assert_int_ge(testing_header_time(d, "orderd-failed-at"),
                     testing_header_time(d, "orderd-first-failed-at") + 50 + 100 + 150);
    ck_assert_int_le(testing_header_time(d, "orderd-failed-at"), clock_wall_ms());
    testing_assert_stripped(d);
    strbuf_release(&body);
    close_sale();
}
END_TEST

/* The event, to the letter. */
START_TEST(event_tells_once)
{
    char want[400], got[400], key[80];
    struct order o;
    int64_t at;
    int head = 0;

    open_sale(10, 1, 2);
    refuse_when("NEW.user_id=7");
    o = sell(7, 2);
    testing_lane_start(1);
    testing_spy_take(&events, &told, 1, 500);
    testing_lane_stop();
    ck_assert_uint_eq(told.count, 1);
    snprintf(want, sizeof want,
             ",\"orders\":[{\"order_no\":\"%s\",\"activity_id\":%" PRId64
             ",\"user_id\":7,\"sku_id\":%d,\"quantity\":2,\"amount\":%d,\"reason\":\"constraint\"}]}",
             o.order_no, sale.id, TESTING_SKU, 2 * TESTING_PRICE);
    snprintf(got, sizeof got, "%.*s", (int)told.list[0].body.len, told.list[0].body.ptr);
    ck_assert_msg(sscanf(got, "{\"v\":1,\"event\":\"order.rejected\",\"at\":%" SCNd64 "%n", &at, &head) == 1, "%s",
                  got);
    ck_assert_int_le(llabs(clock_wall_ms() - at), 60000);
    ck_assert_str_eq(got + head, want);
    snprintf(key, sizeof key, "order.rejected:%s", o.order_no);
    ck_assert(slice_is(told.list[0].message_id, key));
    close_sale();
}
END_TEST

/* ---- (a) to (e): crashes, repetition, reordering, unknown outcomes ---- */

/* Each of these ends a process once around the decision; a second one goes on. */
static const char *const crashes[] = {
    "decide.before_commit=kill@1", "decide.after_commit=kill@1", "create.before_ack=kill@4",
    "create.after_ack=kill@4",     "relay.after_send=kill@1",    "relay.after_mark=kill@1",
};

static void publish_and_refuse(void)
{
    open_sale(40, 2, 2);
    refuse_when("NEW.user_id IN(3,7)");
    for (int n = 1; n <= 8; n++)
        (void)sell(n, 2);
}

static void assert_two_rejected(void)
{
    testing_letters_dead(&dead, 2, 300);
    testing_spy_take(&events, &told, 2, 300);
    wait_effects();
    testing_wait(testing_waiting() == 0, 5000, "all are taken");
    testing_lane_stop();
    ck_assert_int_eq(tombstones("constraint"), 2);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='pending'"), 6);
    /* Sent twice after a crash, at the most, and then under the same message id. */
    for (size_t i = 0; i < dead.count; i++)
        ck_assert(slice_is(dead.list[i].message_id, number_of(3)) || slice_is(dead.list[i].message_id, number_of(7)));
    for (size_t i = 0; i < told.count; i++) {
        char key[2][80];

        snprintf(key[0], sizeof key[0], "order.rejected:%s", number_of(3));
        snprintf(key[1], sizeof key[1], "order.rejected:%s", number_of(7));
        ck_assert(slice_is(told.list[i].message_id, key[0]) || slice_is(told.list[i].message_id, key[1]));
    }
    assert_conserved(0);
    ck_assert_int_eq(sum_of().left, 40 - 12);
    assert_mark(3, 0, NULL);
    assert_mark(7, 0, NULL);
}

START_TEST(crash_around_the_decision)
{
    publish_and_refuse();
    testing_crash_at(crashes[_i]);
    testing_lane_start(2);
    assert_two_rejected();
    close_sale();
}
END_TEST

/* One after the other at each step of the relay: the rows outlive four processes. */
START_TEST(crash_at_each_step_of_the_relay)
{
    publish_and_refuse();
    testing_crash_at("decide.after_commit=kill@2");
    testing_crash_at("relay.after_claim=kill@1");
    testing_crash_at("relay.after_send=kill@1");
    testing_crash_at("relay.after_mark=kill@1");
    testing_lane_start(1);
    assert_two_rejected();
    close_sale();
}
END_TEST

/* The answer to the decision's COMMIT is lost, with or without effect; or that of the order's own, which is none of the
 * decision's business: no stock moves for an outcome that is not known. */
static const struct {
    const char *fault;
    int rejected;
} unknown[] = {
    {"decide.before_commit=fail@1", 1}, {"decide.after_commit=fail@1", 1},  {"decide.after_commit=fail@1+", 1},
    {"create.before_commit=fail@1", 0}, {"create.after_commit=fail@1+", 0},
};

START_TEST(unknown_commit_moves_nothing_twice)
{
    open_sale(20, 1, 2);
    if (unknown[_i].rejected)
        refuse_when("NEW.user_id=3");
    for (int n = 1; n <= 5; n++)
        (void)sell(n, 2);
    testing_faults(unknown[_i].fault);
    testing_lane_start(1);
    testing_wait_orders(5, 10000);
    wait_effects();
    testing_wait(testing_waiting() == 0, 5000, "all are taken");
    testing_lane_stop();
    testing_faults("");
    testing_letters_dead(&dead, (size_t)unknown[_i].rejected, 200);
    testing_spy_take(&events, &told, (size_t)unknown[_i].rejected, 200);
    ck_assert_uint_eq(dead.count, (size_t)unknown[_i].rejected);
    ck_assert_uint_eq(told.count, (size_t)unknown[_i].rejected);
    ck_assert_int_eq(tombstones("constraint"), unknown[_i].rejected);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE " TESTING_DECIDED),
                     3 * unknown[_i].rejected);
    assert_conserved(0);
    ck_assert_int_eq(sum_of().left, 10 + 2 * unknown[_i].rejected);
    close_sale();
}
END_TEST

/* (b), (c): the effect is run again and again, in any order, also after the buyer has bought again. */
START_TEST(repeated_returns_move_nothing)
{
    struct strbuf first = STRBUF_INIT, again = STRBUF_INIT;

    open_sale(20, 2, 1);
    refuse_when("NEW.user_id IN(3,4)");
    for (int n = 1; n <= 6; n++)
        (void)sell(n, 1);
    testing_lane_start(1);
    testing_letters_dead(&dead, 2, 100);
    wait_effects();
    testing_admin("DROP TRIGGER refuse");
    for (int n = 3; n <= 4; n++) { /* a new order under the freed mark */
        struct order o = take(n == 3 ? "again_3" : "again_4", n, 1);

        testing_publish(&o);
    }
    testing_wait_orders(8, 5000);
    dump_all(&first);
    for (int round = 0; round < 3; round++) {
        testing_sql("UPDATE local_message SET state='pending',due_at=NOW(6)-INTERVAL 1 SECOND WHERE "
                    "topic='stock.return'");
        wait_effects();
    }
    testing_lane_stop();
    dump_all(&again);
    ck_assert(slice_equal((struct slice){first.data, first.len}, (struct slice){again.data, again.len}));
    assert_mark(3, 0, "again_3");
    assert_conserved(0);
    strbuf_release(&first);
    strbuf_release(&again);
    close_sale();
}
END_TEST

/* (d): copies of a rejected order, late, with and without tries, are acknowledged and never live, even where nothing
 * stands in their way any more. */
START_TEST(late_copies_never_live)
{
    struct strbuf body = STRBUF_INIT;
    struct order o;

    open_sale(20, 1, 1);
    refuse_when("NEW.user_id=7");
    o = sell(7, 1);
    testing_lane_start(2);
    testing_letters_dead(&dead, 1, 100);
    wait_effects();
    testing_admin("DROP TRIGGER refuse");
    order_encode(&o, &body);
    for (int i = 0; i < 12; i++) {
        struct broker_header h = {.name = slice_of("orderd-attempt"), .is_integer = true, .integer = i % 5};

        testing_publish_with(o.order_no, (struct slice){body.data, body.len}, &h);
    }
    (void)sell(8, 1);
    testing_wait_orders(2, 5000);
    testing_wait(testing_waiting() == 0, 5000, "all are taken");
    testing_lane_stop();
    testing_letters_dead(&dead, 1, 200);
    ck_assert_uint_eq(dead.count, 1);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE " TESTING_DECIDED), 3);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE user_id=7 AND status='rejected'"), 1);
    assert_conserved(0);
    strbuf_release(&body);
    close_sale();
}
END_TEST

/* ---- (f): the buyer's second order ---- */

/* A second order under a mark whose order lives. 0: it has no reservation. 1: it holds one, under another mark. 2:
 * Redis had forgotten the first one's mark, so the second one holds it. */
START_TEST(second_order_leaves_the_first_alone)
{
    struct order first, second;

    open_sale(20, 1, 2);
    first = sell(7, 1);
    testing_lane_start(1);
    testing_wait_orders(1, 5000);
    if (_i == 2) {
        struct stock_keys keys;

        stock_keys_of(&keys, sale.id, 0);
        testing_redis_run(sale.kv, "HDEL", keys.text[STOCK_KEY_BUYERS], "7:0", NULL);
    }
    second = first;
    snprintf(second.order_no, sizeof second.order_no, "second");
    if (_i > 0)
        ck_assert_int_eq(take("second", 7, 1).user_seq, _i == 1 ? 1 : 0);
    testing_publish(&second); /* user_seq 0, as the first one */
    testing_wait_orders(2, 5000);
    wait_effects();
    testing_spy_take(&events, &told, 1, 100);
    testing_lane_stop();
    testing_letters_dead(&dead, 0, 100);
    ck_assert_uint_eq(dead.count, 0);
    ck_assert_int_eq(tombstones("buyer_has_order"), 1);
    ck_assert_int_eq(
        testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND status='pending'", first.order_no), 1);
    assert_mark(7, 0, _i == 2 ? NULL : first.order_no);
    assert_mark(7, 1, NULL);
    assert_hash(0, STOCK_KEY_GONE, "second", _i == 0 ? "refused" : "returned");
    ck_assert_int_eq(audit(0).held, 1);
    assert_conserved(0);
    close_sale();
}
END_TEST

/* ---- (g): foreign bytes under a number that exists ---- */

static void change_user(struct order *o)
{
    o->user_id++;
}

static void change_quantity(struct order *o)
{
    o->quantity++;
    o->amount += TESTING_PRICE;
}

static void change_activity(struct order *o)
{
    o->activity_id = TESTING_ACTIVITY;
    o->shard = 0;
}

static void (*const changes[])(struct order *) = {change_user, change_quantity, change_activity};

/* The order lives (0), or is rejected (1): a message that says something else under its number moves nothing. */
START_TEST(foreign_bytes_move_nothing)
{
    const int count = (int)(sizeof changes / sizeof *changes);
    struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    struct order o;
    int64_t rows;

    open_sale(20, 4, 3);
    if (_i == 1)
        refuse_when("NEW.user_id=7");
    o = sell(7, 2);
    testing_lane_start(1);
    testing_wait_orders(1, 5000);
    wait_effects();
    testing_letters_dead(&dead, (size_t)_i, 100);
    testing_letters_free(&dead);
    dump_all(&before);
    rows = testing_number("SELECT COUNT(*) FROM local_message");
    for (int i = 0; i < count; i++) {
        struct order other = o;

        changes[i](&other);
        testing_publish(&other);
    }
    testing_letters_dead(&dead, (size_t)count, 300);
    testing_lane_stop();
    ck_assert_uint_eq(dead.count, (size_t)count);
    for (int i = 0; i < count; i++)
        ck_assert_str_eq(testing_header(&dead.list[i], "orderd-reason"), "order_conflict");
    for (int i = 0; i < count; i++)
        ck_assert_ptr_nonnull(strstr(testing_header(&dead.list[i], "orderd-detail"), " in the stored order"));
    dump_all(&after);
    ck_assert(slice_equal((struct slice){before.data, before.len}, (struct slice){after.data, after.len}));
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message"), rows);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders"), 1);
    assert_conserved(0);
    strbuf_release(&before);
    strbuf_release(&after);
    close_sale();
}
END_TEST

/* Somebody's row stands under the key of our local message: the decision cannot be written, and the lane goes on. */
START_TEST(foreign_local_message)
{
    open_sale(20, 1, 1);
    refuse_when("NEW.user_id=7");
    testing_sql("INSERT INTO local_message(message_key,topic,payload,due_at) VALUES('order.dead:%s','order.paid','x',"
                "NOW(6)+INTERVAL 1 HOUR)",
                number_of(7));
    for (int n = 1; n <= 10; n++)
        (void)sell(n, 1);
    testing_lane_start(1);
    testing_letters_dead(&dead, 1, 200);
    testing_wait_orders(9, 5000);
    (void)sell(11, 1);
    testing_wait_orders(10, 5000);
    testing_lane_stop();
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-reason"), "constraint");
    ck_assert_ptr_nonnull(strstr(testing_header(&dead.list[0], "orderd-detail"), "its tombstone cannot be written"));
    assert_hash(0, STOCK_KEY_GONE, number_of(7), NULL); /* its reservation stands: the walk finds it */
    ck_assert_int_eq(sum_of().held_dead, 1);
    assert_conserved(0);
    close_sale();
}
END_TEST

/* ---- stock_short ---- */

/* Ten units; three live ones that Redis has forgotten. Redis sells ten all the same: three are missing. */
START_TEST(short_stock_forfeits_what_is_missing)
{
    static const int quantities[] = {3, 3, 3, 1};
    struct metric_sum metrics;
    int64_t forfeited;
    int n = 0;

    open_sale(10, 1, 3);
    testing_sql("INSERT INTO orders(order_no,activity_id,user_id,user_seq,sku_id,quantity,amount,shard,epoch,status,"
                "reserved_at) VALUES('unknown',%" PRId64 ",999,0,%d,3,29700,0,1,'pending',NOW(3));"
                "UPDATE activity_stock SET available=available-3 WHERE activity_id=%" PRId64,
                sale.id, TESTING_SKU, sale.id);
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++)
        (void)sell(++n, quantities[i]);
    testing_lane_start(2);
    testing_wait_orders(5, 10000);
    wait_effects();
    assert_conserved(3);
    /* Until Redis has converged: what was returned is sold again, and the last missing unit forfeited. */
    while (sum_of().left > 0) {
        ck_assert_int_lt(n, 20);
        (void)sell(++n, 1);
        testing_wait_orders(n + 1, 10000);
        wait_effects();
        assert_conserved(3);
    }
    testing_lane_stop();
    ck_assert_int_eq(available(), 0);
    ck_assert_int_eq(live_units(), 10);
    ck_assert_int_eq(sum_of().forfeited, 3);
    forfeited = testing_number("SELECT SUM(units_forfeited) FROM orders WHERE reason='stock_short'");
    ck_assert_int_eq(forfeited, 3);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE reason='stock_short' AND "
                                    "units_forfeited+units_returned<>quantity"),
                     0);
    metric_read(&metrics);
    ck_assert_int_eq((int64_t)metrics.counters[METRIC_STOCK_UNITS_FORFEITED], 3);
    close_sale();
}
END_TEST

/* Enough stock comes back before the last try: the order that was short stands. */
START_TEST(short_stock_that_comes_back)
{
    testing_lane_delays = "50ms,100ms,3s";
    open_sale(10, 1, 5);
    testing_sql("UPDATE activity_stock SET available=2 WHERE activity_id=%" PRId64, sale.id);
    (void)sell(1, 3);
    (void)sell(2, 2); /* is not short, and not to be harmed by the other */
    testing_lane_start(1);
    testing_wait_orders(1, 5000);
    clock_sleep_ms(100);
    testing_sql("UPDATE activity_stock SET available=8 WHERE activity_id=%" PRId64, sale.id);
    testing_wait_orders(2, 5000);
    testing_lane_stop();
    testing_letters_dead(&dead, 0, 100);
    ck_assert_uint_eq(dead.count, 0);
    assert_conserved(0);
    close_sale();
}
END_TEST

/* ---- returns under all conditions ---- */

START_TEST(return_after_the_sale_ended)
{
    struct kv_reply *reply;
    struct stock_keys keys;

    open_sale(20, 1, 1);
    refuse_when("NEW.user_id IN(3,7)");
    for (int n = 1; n <= 8; n++)
        (void)buy(n, 1);
    stock_keys_of(&keys, sale.id, 0);
    testing_redis_run(sale.kv, "HSET", keys.text[STOCK_KEY_META], "ends_at", "1000000000000", NULL);
    testing_sql("UPDATE activity SET state='ended',starts_at=NOW(3)-INTERVAL 2 HOUR,ends_at=NOW(3)-INTERVAL 1 HOUR");
    for (int n = 1; n <= 8; n++) {
        struct order o = testing_lane_order(n);

        o.activity_id = sale.id;
        testing_publish(&o);
    }
    testing_lane_start(1);
    testing_wait_orders(8, 5000);
    wait_effects();
    testing_lane_stop();
    ck_assert_int_eq(tombstones("constraint"), 2);
    ck_assert_int_eq(audit(0).left, 20 - 6);
    reply = testing_redis_do(sale.kv, "TTL", keys.text[STOCK_KEY_STOCK], NULL);
    ck_assert_int_gt(kv_reply_integer(reply), 0);
    kv_reply_free(&reply);
    assert_conserved(0);
    close_sale();
}
END_TEST

/* A web tier that takes stock without deduct: what comes back is the message's word, once by its number. */
START_TEST(return_without_reservations)
{
    struct stock_keys keys;

    open_sale(20, 1, 3);
    testing_sql("UPDATE activity SET reservations=0 WHERE id=%" PRId64, sale.id);
    refuse_when("NEW.user_id IN(3,7)");
    stock_keys_of(&keys, sale.id, 0);
    for (int n = 1; n <= 8; n++) {
        struct order o = testing_lane_order(n);

        o.activity_id = sale.id, o.quantity = 2, o.amount = 2 * TESTING_PRICE;
        testing_redis_run(sale.kv, "DECRBY", keys.text[STOCK_KEY_STOCK], "2", NULL);
        testing_publish(&o);
    }
    testing_lane_start(1);
    testing_wait_orders(8, 5000);
    wait_effects();
    ck_assert_int_eq(audit(0).left, 20 - 12);
    testing_sql("UPDATE local_message SET state='pending' WHERE topic='stock.return'");
    wait_effects();
    testing_lane_stop();
    ck_assert_int_eq(audit(0).left, 20 - 12);
    ck_assert_int_eq(available(), 20 - 12);
    assert_hash(0, STOCK_KEY_GONE, number_of(3), "returned");
    close_sale();
}
END_TEST

static void make_due(void)
{
    testing_sql("UPDATE local_message SET due_at=NOW(6)-INTERVAL 1 SECOND WHERE state='pending'");
}

static int64_t waiting_returns(void)
{
    return testing_number("SELECT COUNT(*) FROM local_message WHERE topic='stock.return' AND state='pending' AND "
                          "lease_owner IS NULL AND last_error LIKE '%%no such shard%%' AND attempts=0");
}

/* The shard's stock key is gone. 0: alone; it is put back. 1: with all others; the shard is preheated again, and what
 * it held is not known any more. Nothing is changed meanwhile, no attempt is used up, and everything else goes on. */
START_TEST(return_waits_for_its_shard)
{
    struct stock_keys keys;

    open_sale(20, 1, 1);
    refuse_when("NEW.user_id=7");
    (void)sell(7, 1);
    stock_keys_of(&keys, sale.id, 0);
    for (int i = 0; i < (_i ? STOCK_KEY_COUNT : 1); i++)
        testing_redis_run(sale.kv, "DEL", keys.text[i], NULL);
    testing_lane_start(1);
    testing_letters_dead(&dead, 1, 0);
    testing_spy_take(&events, &told, 1, 0);
    testing_wait(waiting_returns() == 1, 5000, "the return waits");
    make_due();
    testing_wait(waiting_returns() == 1, 5000, "the return waits again");
    if (_i)
        preheat();
    else
        testing_redis_run(sale.kv, "SET", keys.text[STOCK_KEY_STOCK], "19", NULL);
    make_due();
    wait_effects();
    testing_lane_stop();
    assert_hash(0, STOCK_KEY_GONE, number_of(7), _i ? "refused" : "returned");
    ck_assert_int_eq(audit(0).left, 20);
    assert_conserved(0);
    close_sale();
}
END_TEST

/* A settled activity's shards are gone for good: its returns are done with. */
START_TEST(return_to_a_settled_activity)
{
    struct stock_keys keys;

    open_sale(20, 1, 1);
    (void)sell(7, 1);
    testing_sql("UPDATE activity SET state='settled' WHERE id=%" PRId64, sale.id);
    testing_sql("UPDATE activity_stock SET takes_orders=0 WHERE activity_id=%" PRId64, sale.id);
    stock_keys_of(&keys, sale.id, 0);
    for (int i = 0; i < STOCK_KEY_COUNT; i++)
        testing_redis_run(sale.kv, "DEL", keys.text[i], NULL);
    testing_lane_start(1);
    testing_wait_orders(1, 5000);
    wait_effects();
    testing_lane_stop();
    ck_assert_int_eq(tombstones("activity_settled"), 1);
    testing_letters_dead(&dead, 1, 100);
    close_sale();
}
END_TEST

/* Redis of the test's own, which keeps what it answered: away for long while orders are decided. */
static struct testing_redis server;
static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};

static void own_redis(void)
{
    testing_redis_start(&server, durable);
    kv_close(&sale.kv);
    sale.kv = testing_redis_open(server.port);
    testing_lane_conf->redis_port = server.port;
    preheat();
}

START_TEST(redis_away_for_long)
{
    open_sale(40, 2, 2);
    own_redis();
    refuse_when("NEW.user_id IN(3,7)");
    for (int n = 1; n <= 8; n++)
        (void)sell(n, 2);
    testing_redis_kill(&server);
    testing_lane_start(2);
    testing_wait_orders(8, 5000);
    testing_letters_dead(&dead, 2, 0); /* these need no Redis */
    testing_spy_take(&events, &told, 2, 0);
    clock_sleep_ms(3000);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE topic='stock.return' AND state='pending' "
                                    "AND attempts<=1"),
                     2);
    testing_redis_again(&server, durable);
    kv_close(&sale.kv);
    sale.kv = testing_redis_open(server.port);
    wait_effects();
    testing_lane_stop();
    assert_conserved(0);
    ck_assert_int_eq(sum_of().left, 40 - 12);
    close_sale();
    testing_redis_stop(&server);
}
END_TEST

/* A failover lost everything; the activity was preheated again, in the same epoch (0) or a new one (1). A return finds
 * no reservation and brings nothing: the shard is full already. */
START_TEST(failover_that_lost_the_marks)
{
    open_sale(40, 2, 2);
    own_redis();
    refuse_when("NEW.user_id IN(3,7)");
    for (int n = 1; n <= 8; n++)
        (void)sell(n, 2);
    testing_redis_run(sale.kv, "FLUSHALL", NULL);
    sale.epoch += _i;
    preheat();
    testing_lane_start(2);
    testing_wait_orders(8, 5000);
    wait_effects();
    testing_lane_stop();
    ck_assert_int_eq(tombstones("constraint"), 2);
    ck_assert_int_eq(sum_of().left, 40);
    assert_conserved(12); /* the six live orders are unknown to Redis */
    for (int n = 3; n <= 7; n += 4)
        assert_hash(stock_home_shard(n, 2), STOCK_KEY_GONE, number_of(n), "refused");
    close_sale();
    testing_redis_stop(&server);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("decide");
    TCase *c = tcase_create("decide");

#define LOOP(test, table) tcase_add_loop_test(c, test, 0, (int)(sizeof(table) / sizeof *(table)))
    tcase_set_timeout(c, 40);
    tcase_add_test(c, rejected_gives_back);
    LOOP(dead_letters_tell_all, letters);
    tcase_add_test(c, event_tells_once);
    LOOP(crash_around_the_decision, crashes);
    tcase_add_test(c, crash_at_each_step_of_the_relay);
    LOOP(unknown_commit_moves_nothing_twice, unknown);
    tcase_add_test(c, repeated_returns_move_nothing);
    tcase_add_test(c, late_copies_never_live);
    tcase_add_loop_test(c, second_order_leaves_the_first_alone, 0, 3);
    tcase_add_loop_test(c, foreign_bytes_move_nothing, 0, 2);
    tcase_add_test(c, foreign_local_message);
    tcase_add_test(c, short_stock_forfeits_what_is_missing);
    tcase_add_test(c, short_stock_that_comes_back);
    tcase_add_test(c, return_after_the_sale_ended);
    tcase_add_test(c, return_without_reservations);
    tcase_add_loop_test(c, return_waits_for_its_shard, 0, 2);
    tcase_add_test(c, return_to_a_settled_activity);
    tcase_add_test(c, redis_away_for_long);
    tcase_add_loop_test(c, failover_that_lost_the_marks, 0, 2);
    suite_add_tcase(s, c);
    return testing_main(s);
}
