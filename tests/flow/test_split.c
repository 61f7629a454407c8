/* Several create queues against the real broker: the orders of an activity wait in one of them, wherever a message
 * comes from it ends as a row, and when there are fewer of them what the others hold is not forgotten. */
#include "testing_lane.h"
#include "testing_letters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/create_queue.h"
#include "orderd/log.h"
#include "orderd/order_store.h"
#include "orderd/topology.h"

#define STOCK 1000
#define EACH  10 /* orders of an activity */

/* One for each queue: activity i + 1 of these belongs to queue i + 1 (unit_create_queue). */
static const int64_t activities[] = {1, 1002, TESTING_ACTIVITY};
enum { QUEUES = 3 };

static void setup(const char *create)
{
    testing_lane_setup(STOCK, create);
    for (int i = 0; i < QUEUES; i++) {
        ck_assert_uint_eq(create_queue_number(activities[i], QUEUES), (unsigned)i + 1);
        if (activities[i] != TESTING_ACTIVITY)
            testing_sql("INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,per_user_limit,"
                        "pay_timeout_ms,state,starts_at,ends_at,epoch) SELECT %d,title,sku_id,unit_price,currency,"
                        "total_stock,per_user_limit,pay_timeout_ms,state,starts_at,ends_at,epoch FROM activity WHERE "
                        "id=%d; INSERT INTO activity_stock(activity_id,total,available) VALUES(%d,%d,%d)",
                        (int)activities[i], TESTING_ACTIVITY, (int)activities[i], STOCK, STOCK);
    }
}

/* The configuration of a process started after create.queues was lowered to one. */
static void lower(void)
{
    testing_lane_conf->create_queues = 1;
    testing_lane_conf->create_lanes = 1;
}

/* Order n of the i-th activity. */
static struct order order_of(int i, int n)
{
    struct order o = testing_lane_order(i * 100 + n);

    o.activity_id = activities[i];
    return o;
}

static const char *queue(unsigned number)
{
    static char names[4][CREATE_QUEUE_NAME_MAX];

    create_queue_name(testing_lane_conf, number, names[number % 4]);
    return names[number % 4];
}

static struct broker *broker(void)
{
    struct error err = {0};
    struct broker *b = testing_broker("test split", &err);

    ck_assert_ok(b != NULL, &err);
    return b;
}

static void publish_to(unsigned number, const struct order *order)
{
    enum broker_outcome outcome;
    struct error err = {0};
    struct strbuf body = STRBUF_INIT;
    struct broker *b = broker();
    struct broker_publication p = {.exchange = "order", .routing_key = queue(number)};

    order_encode(order, &body);
    p.body = (struct slice){body.data, body.len};
    p.message_id = slice_of(order->order_no);
    ck_assert_ok(broker_confirm_select(b, 10, &err), &err);
    ck_assert_ok(broker_publish(b, &p, &outcome, &err), &err);
    ck_assert_ok(broker_wait_confirms(b, 20000, &err), &err);
    ck_assert_int_eq(outcome, BROKER_OUTCOME_CONFIRMED);
    strbuf_release(&body);
    broker_close(&b, true);
}

static struct create_queues waiting(unsigned count)
{
    struct create_queues queues;
    struct error err = {0};
    struct broker *b = broker();

    ck_assert_ok(create_queue_look(b, testing_lane_conf, count, &queues, &err), &err);
    broker_close(&b, true);
    return queues;
}

static unsigned counted(void)
{
    struct error err = {0};
    struct broker *b = broker();
    unsigned count;
    bool seen;

    ck_assert_ok(create_queue_count(b, testing_lane_conf, &count, &seen, &err), &err);
    ck_assert(seen);
    broker_close(&b, true);
    return count;
}

static void assert_rows(int each)
{
    testing_wait_orders((int64_t)each * QUEUES, 20000);
    for (int i = 0; i < QUEUES; i++) {
        for (int n = 1; n <= each; n++) {
            struct order o = order_of(i, n);

            ck_assert_msg(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND activity_id=%d AND "
                                         "status='pending'",
                                         o.order_no, (int)activities[i]) == 1,
                          "order %s is not there once", o.order_no);
        }
        ck_assert_int_eq(
            testing_number("SELECT available FROM activity_stock WHERE activity_id=%d", (int)activities[i]),
            STOCK - each);
    }
}

/* ---- what the relay sends ---- */

static void write_down(const struct order *order)
{
    struct strbuf body = STRBUF_INIT;

    order_encode(order, &body);
    testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('order.create:%s','order.create','%s')",
                order->order_no, body.data);
    strbuf_release(&body);
}

/* Copies of what came: each is in the queue of its activity, and nowhere else. */
static void assert_homes(const struct testing_letters *letters)
{
    for (size_t i = 0; i < letters->count; i++) {
        struct order order;
        char detail[200], home[CREATE_QUEUE_NAME_MAX];

        if (order_decode(letters->list[i].body, &order, detail, sizeof detail) == REASON_NONE)
            create_queue_of(testing_lane_conf, order.activity_id, home);
        else
            snprintf(home, sizeof home, "%s", testing_lane_conf->create_queue);
        ck_assert_msg(slice_is(letters->list[i].routing_key, home), "in %.*s and not in %s",
                      (int)letters->list[i].routing_key.len, letters->list[i].routing_key.ptr, home);
    }
}

/* Of the activity's row in this place, the earliest first. */
static int64_t reserved_at(int i, int place)
{
    return testing_number("SELECT CAST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',reserved_at) DIV 1000 AS SIGNED) FROM "
                          "orders WHERE activity_id=%d ORDER BY reserved_at LIMIT 1 OFFSET %d",
                          (int)activities[i], place);
}

START_TEST(relay_knows_them)
{
    struct testing_letters seen = {.count = 0};
    struct testing_spy spy;
    struct create_queues queues;
    struct order_recent recent;
    struct error err = {0};

    setup("queues = 3; lanes = 3;");
    testing_spy_open(&spy, "order", queue(1));
    testing_spy_bind(&spy, "order", queue(2));
    testing_spy_bind(&spy, "order", queue(3));
    for (int i = 0; i < QUEUES; i++) {
        for (int n = 1; n <= EACH; n++) {
            struct order o = order_of(i, n);

            o.reserved_at += (int64_t)1000 * i + n; /* each queue's lanes have come to another time */
            write_down(&o);
        }
    }
    testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('order.create:odd','order.create','odd')");
    testing_lane_start(0);
    testing_spy_take(&spy, &seen, EACH * QUEUES + 1, 300);
    ck_assert_uint_eq(seen.count, EACH * QUEUES + 1);
    assert_homes(&seen);
    queues = waiting(0);
    ck_assert_uint_eq(queues.count, QUEUES);
    ck_assert_int_eq(queues.waiting[0], EACH + 1);
    ck_assert_int_eq(queues.waiting[1], EACH);
    ck_assert_int_eq(queues.waiting[2], EACH);
    ck_assert_int_eq(queues.sum, EACH * QUEUES + 1);

    testing_lane_add(&create_lane, 3);
    assert_rows(EACH);
    ck_assert_int_eq(testing_dead_letters(1, "body_not_json"), 1);
    testing_lane_stop();
    ck_assert_int_eq(waiting(0).sum, 0);

    ck_assert_ok(order_store_recent(testing_lane_db, QUEUES, EACH, &recent, &err), &err);
    for (int i = 0; i < QUEUES; i++) {
        ck_assert_int_eq(recent.earliest[i], reserved_at(i, 0));
        ck_assert_int_eq(recent.median[i], reserved_at(i, EACH / 2));
    }
    testing_letters_free(&seen);
    testing_spy_close(&spy);
}
END_TEST

/* ---- in a queue of another activity ---- */

/* It becomes a row all the same; and what has to be tried again comes back to the queue that it belongs to. */
START_TEST(any_queue_will_do)
{
    struct testing_letters dead = {.count = 0}, back = {.count = 0};
    struct testing_spy spy;
    struct order stranger;

    setup("queues = 3; lanes = 3;");
    for (int i = 0; i < QUEUES; i++) {
        for (int n = 1; n <= EACH; n++) {
            struct order o = order_of(i, n);

            publish_to(1 + (unsigned)(i + n) % QUEUES, &o);
        }
    }
    testing_lane_start(3);
    assert_rows(EACH);

    stranger = order_of(0, EACH + 1);
    stranger.activity_id = 5; /* nobody knows it, so it is tried again */
    ck_assert_uint_eq(create_queue_number(5, QUEUES), 2);
    testing_spy_open(&spy, "order", queue(1));
    testing_spy_bind(&spy, "order", queue(2));
    testing_spy_bind(&spy, "order", queue(3));
    publish_to(3, &stranger);
    testing_letters_dead(&dead, 1, 200);
    ck_assert_uint_eq(dead.count, 1);
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-origin"), queue(3)); /* where it failed first */
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-worker"), "orderd@test create.1");
    testing_spy_take(&spy, &back, 4, 200);
    ck_assert_uint_eq(back.count, 4);
    ck_assert(slice_is(back.list[0].routing_key, queue(3)));
    for (size_t i = 1; i < back.count; i++)
        ck_assert(slice_is(back.list[i].routing_key, queue(2)));
    testing_lane_stop();
    testing_letters_free(&dead);
    testing_letters_free(&back);
    testing_spy_close(&spy);
}
END_TEST

/* ---- fewer ---- */

/* Messages wait in three queues; whoever starts then knows of one. The other two are emptied, as long as they are
 * there; what is tried again goes to the one that stays. */
START_TEST(lowered)
{
    struct testing_letters dead = {.count = 0};
    struct order stranger, late;
    unsigned there;

    setup("queues = 3; lanes = 3;");
    stranger = order_of(0, EACH + 5);
    stranger.activity_id = 6;
    publish_to(3, &stranger);
    for (int i = 0; i < QUEUES; i++) {
        for (int n = 1; n <= EACH; n++) {
            struct order o = order_of(i, n);

            publish_to((unsigned)i + 1, &o);
        }
    }
    lower();
    there = counted();
    ck_assert_uint_eq(there, QUEUES);
    testing_lane_start(1 + there - 1);
    assert_rows(EACH);
    testing_letters_dead(&dead, 1, 200);
    ck_assert_uint_eq(dead.count, 1);
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-origin"), queue(3));
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-worker"), "orderd@test create.0");

    /* A web tier that was not told. */
    late = order_of(1, EACH + 1);
    publish_to(2, &late);
    testing_wait_orders(EACH * QUEUES + 1, 20000);

    /* Deleted when nobody needs it: nothing to be alarmed about. */
    testing_rabbitmqctl("delete_queue %s", queue(3));
    testing_wait(lane_state_of(testing_lane(2)) == LANE_OVER, 10000, "the lane of the deleted queue rests");
    ck_assert(lane_state_ready(lane_state_of(testing_lane(2))));
    ck_assert_int_eq(lane_state_of(testing_lane(1)), LANE_CONSUMING);
    ck_assert_uint_eq(counted(), 2);
    ck_assert_int_eq(waiting(there).sum, 0); /* who has counted it before goes on */
    testing_rabbitmqctl("delete_queue %s", queue(2));
    testing_wait(lane_state_of(testing_lane(1)) == LANE_OVER, 10000, "the lane of the deleted queue rests");
    late = order_of(1, EACH + 2);
    publish_to(1, &late);
    testing_wait_orders(EACH * QUEUES + 2, 20000);
    testing_lane_stop();
    testing_letters_free(&dead);
}
END_TEST

/* The one queue that is in use is another matter: its lane waits for it, and says so. */
START_TEST(not_a_spare_one)
{
    struct order o;

    setup("queues = 2; lanes = 2;");
    testing_lane_start(2);
    testing_wait(lane_state_of(testing_lane(1)) == LANE_CONSUMING, 10000, "it consumes");
    testing_rabbitmqctl("delete_queue %s", queue(2));
    testing_wait(lane_state_of(testing_lane(1)) == LANE_PAUSED, 10000, "it asks for an operator");
    testing_lane_topology();
    o = order_of(1, 1);
    publish_to(2, &o);
    testing_wait_orders(1, 20000);
    testing_lane_stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("split");
    TCase *c = tcase_create("split");

    tcase_set_timeout(c, 120);
    tcase_add_test(c, relay_knows_them);
    tcase_add_test(c, any_queue_will_do);
    tcase_add_test(c, lowered);
    tcase_add_test(c, not_a_spare_one);
    suite_add_tcase(s, c);
    return testing_main(s);
}
