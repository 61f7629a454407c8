/* The relay against the real servers: what it sends, when, and what becomes of rows that cannot be sent. */
#include "testing_relay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/clock.h"
#include "orderd/topology.h"

static void assert_row(const char *key, const char *condition)
{
    ck_assert_msg(testing_number("SELECT COUNT(*) FROM local_message WHERE message_key='%s' AND %s", key, condition) ==
                      1,
                  "row %s is not as expected: %s", key, condition);
}

static void assert_text(const struct broker_delivery *d, const char *name, const char *value)
{
    struct broker_header h;

    ck_assert_msg(broker_delivery_find(d, name, &h), "no header %s", name);
    ck_assert_msg(slice_is(h.value, value), "header %s is %.*s", name, (int)h.value.len, h.value.ptr);
}

/* As a lane does it: the row is born leased, in the lane's own transaction, and handed over after the commit. */
static void hand_over(const char *key, const char *topic, const char *payload, int64_t lease_ms)
{
    struct local_messages list;
    struct strbuf sql = STRBUF_INIT;
    struct error err = {0};

    local_messages_init(&list);
    local_messages_add(&list, slice_of(key), topic, slice_of(payload), slice_of("{\"orderd-attempt\":3}"),
                       relay_owner(testing_relay(0)));
    strbuf_add_str(&sql, "BEGIN;");
    local_message_add_insert(testing_lane_db, &sql, &list, lease_ms);
    strbuf_add_str(&sql, ";COMMIT");
    ck_assert_ok(db_run(testing_lane_db, (struct slice){sql.data, sql.len}, &err), &err);
    relay_offer(testing_relay(0), &list);
    ck_assert_uint_eq(list.count, 0);
    strbuf_release(&sql);
}

/* The poll comes once a minute: nothing but the handing over can have sent it. */
START_TEST(handed_over_is_sent_at_once)
{
    struct broker_delivery d;
    struct broker_header h;

    testing_relay_setup("poll_interval = \"60s\";");
    testing_relay_start(1);
    clock_sleep_ms(500); /* the first poll is over */
    for (int n = 1; n <= 20; n++) {
        char key[40];
        int64_t begun = testing_now_ms();

        snprintf(key, sizeof key, "order.create:H%d", n);
        hand_over(key, "order.create", "{}", 30000);
        testing_next("order.create", &d);
        testing_within(begun, 2000);
        ck_assert(slice_is(d.message_id, key + 13));
        ck_assert(broker_delivery_find(&d, "orderd-attempt", &h));
        ck_assert(h.is_integer && h.integer == 3);
        broker_delivery_release(&d);
    }
    testing_wait_relayed(2000);
    testing_relay_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='sent' AND attempts=1 AND "
                                    "lease_owner IS NULL AND lease_until IS NULL AND last_error IS NULL AND "
                                    "sent_at BETWEEN created_at AND NOW(6)"),
                     20);
}
END_TEST

START_TEST(poll_finds_foreign_rows)
{
    struct broker_delivery d;

    testing_relay_setup("poll_interval = \"50ms\";");
    testing_relay_start(1);
    testing_sql("INSERT INTO local_message(message_key,topic,payload,headers) VALUES('order.create:F1','order.create',"
                "'{\"v\":1}','{\"traceparent\":\"00-ab\",\"shop\":\"eu\",\"tries\":-5000000000}')");
    testing_next("order.create", &d);
    ck_assert(slice_is(d.message_id, "F1"));
    ck_assert(slice_is(d.body, "{\"v\":1}"));
    ck_assert(slice_is(d.content_type, "application/json"));
    ck_assert(slice_is(d.exchange, "order"));
    assert_text(&d, "traceparent", "00-ab");
    assert_text(&d, "shop", "eu");
    assert_text(&d, "tries", "-5000000000");
    broker_delivery_release(&d);
    testing_sql("INSERT INTO local_message(message_key,topic,payload,headers) VALUES('k','order.paid','x',"
                "'{\"message-id\":\"M1\",\"content-type\":\"text/plain\"}')");
    testing_next("order.paid", &d);
    ck_assert(slice_is(d.message_id, "M1"));
    ck_assert(slice_is(d.content_type, "text/plain"));
    broker_delivery_release(&d);
    testing_sql("INSERT INTO local_message(message_key,topic,payload,headers) VALUES('order.cancel:','order.cancel',"
                "'',''),('no_colon','order.cancel','y',NULL)");
    testing_next("order.cancel", &d);
    ck_assert(slice_is(d.message_id, "order.cancel:"));
    ck_assert_uint_eq(d.body.len, 0);
    broker_delivery_release(&d);
    testing_next("order.cancel", &d);
    ck_assert(slice_is(d.message_id, "no_colon"));
    broker_delivery_release(&d);
    testing_wait_relayed(5000);
    testing_relay_stop();
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='sent' AND attempts=1"), 4);
}
END_TEST

/* Whoever wrote it sends it, or has ended without: only then others come in. */
START_TEST(born_leased_is_left_alone)
{
    testing_relay_setup("poll_interval = \"50ms\";");
    testing_sql("INSERT INTO local_message(message_key,topic,payload,attempts,due_at,lease_owner,lease_until) VALUES"
                "('order.paid:B1','order.paid','x',1,NOW(6)+INTERVAL 2 SECOND,'another',NOW(6)+INTERVAL 2 SECOND)");
    testing_relay_start(2);
    testing_wait_relayed(5000);
    testing_relay_stop();
    assert_row("order.paid:B1", "state='sent' AND attempts=2 AND sent_at>=created_at+INTERVAL 2 SECOND");
    ck_assert_int_eq(testing_harvest("order.paid", "B", 1, 1, 300).twice, 0);
}
END_TEST

static const struct {
    const char *topic, *headers, *sentence;
} hopeless[] = {
    {"order.unknown", "NULL", "no effect is known"},
    {"", "NULL", "no effect is known"},
    {"order.paid", "'{'", "not a JSON object"},
    {"order.paid", "'[]'", "not a JSON object"},
    {"order.paid", "'\"x\"'", "not a JSON object"},
    {"order.paid", "'{\"a\":1} x'", "not a JSON object"},
    {"order.paid", "'{\"a\":true}'", "header a is neither a text nor a whole number"},
    {"order.paid", "'{\"a\":1.5}'", "header a is neither"},
    {"order.paid", "'{\"a\":{\"b\":1}}'", "header a is neither"},
    {"order.paid", "'{\"a\":null}'", "header a is neither"},
    {"order.paid", "'{\"message-id\":7}'", ""}, /* not hopeless: a header of that name */
    {"order.paid", "'{\"CC\":\"order.create\"}'", "header CC is the broker"},
    {"order.paid", "CONCAT('{\"',REPEAT('n',256),'\":1}')", "255 bytes"},
    {"order.paid", "CONCAT('{\"message-id\":\"',REPEAT('n',256),'\"}')", "255 bytes"},
    {"order.paid", "CONCAT('{\"a\":\"',REPEAT('v',140000),'\"}')", "one frame"},
    {"stock.return", "NULL", "not a stock.return of ours"},
};

#define HOPELESS (sizeof hopeless / sizeof *hopeless)

START_TEST(hopeless_rows_are_set_aside)
{
    testing_relay_setup("poll_interval = \"50ms\";");
    for (size_t i = 0; i < HOPELESS; i++)
        testing_sql(
            "INSERT INTO local_message(message_key,topic,payload,headers) VALUES('order.paid:Q%zu','%s','x',%s)", i,
            hopeless[i].topic, hopeless[i].headers);
    testing_rows("order.paid", "G", 1, 300);
    testing_relay_start(1);
    testing_wait_relayed(5000);
    testing_relay_stop();
    for (size_t i = 0; i < HOPELESS; i++) {
        char key[40], condition[200];

        snprintf(key, sizeof key, "order.paid:Q%zu", i);
        snprintf(condition, sizeof condition,
                 "state='%s' AND attempts=1 AND lease_owner IS NULL AND IFNULL(last_error,'') LIKE '%%%s%%'",
                 hopeless[i].sentence[0] ? "quarantined" : "sent", hopeless[i].sentence);
        assert_row(key, condition);
    }
    ck_assert_uint_eq(testing_broker_losses(), 0);
    ck_assert_int_eq(testing_harvest("order.paid", "G", 1, 300, 300).missing, 0);
}
END_TEST

/* A return names the message id only: the stored one of two must not be taken for the one that was returned. */
START_TEST(same_id_twice)
{
    testing_relay_setup("poll_interval = \"50ms\";");
    testing_queue_delete("order.cancel");
    for (int n = 1; n <= 20; n++)
        testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('order.%s:T%d','order.%s','x'),"
                    "('order.%s:T%d','order.%s','x')",
                    n % 2 ? "paid" : "cancel", n, n % 2 ? "paid" : "cancel", n % 2 ? "cancel" : "paid", n,
                    n % 2 ? "cancel" : "paid");
    testing_relay_start(1);
    testing_wait(testing_rows_in("order.paid", "sent") == 20, 5000, "what has a queue is sent");
    testing_wait(testing_number("SELECT COUNT(*) FROM local_message WHERE topic='order.cancel' AND state='pending' AND "
                                "attempts=0 AND last_error LIKE 'no queue is bound%%'") == 20,
                 5000, "what has none says so");
    testing_topology_apply();
    testing_wait_relayed(15000);
    testing_relay_stop();
    ck_assert_int_eq(testing_harvest("order.paid", "T", 1, 20, 300).missing, 0);
    ck_assert_int_eq(testing_harvest("order.cancel", "T", 1, 20, 300).missing, 0);
}
END_TEST

START_TEST(queue_deleted_in_mid_run)
{
    static const char *const queue = "order.paid";
    int64_t lost;
    struct testing_harvest h;

    testing_relay_setup("poll_interval = \"50ms\"; batch_max = 50;");
    ck_assert(testing_queues_ready(&queue, 1)); /* now: then it goes in the midst of it */
    testing_rows("order.paid", "P", 1, 5000);
    testing_rows("order.cancel", "C", 1, 5000);
    testing_relay_start(1);
    testing_wait(testing_rows_in("order.paid", "sent") > 500, 5000, "some are sent");
    testing_queue_drop(queue);
    testing_rows("order.paid", "P", 5001, 5100);
    testing_wait(testing_rows_in("order.cancel", "sent") == 5000, 20000, "others are not held up");
    testing_wait(testing_number("SELECT COUNT(*)>=100 FROM local_message WHERE topic='order.paid' AND "
                                "state='pending' AND attempts=0 AND last_error LIKE 'no queue is bound%%'"),
                 5000, "they wait and say why");
    testing_wait(relay_oldest_ms(testing_relay(0)) >= 3000, 10000, "their age grows although they are tried again");
    ck_assert_int_le(
        relay_oldest_ms(testing_relay(0)),
        testing_number("SELECT TIMESTAMPDIFF(SECOND,MIN(created_at),NOW(6))*1000+1000 FROM local_message"));
    lost = testing_rows_in("order.paid", "sent"); /* they were in the queue */
    testing_topology_apply();
    testing_wait_relayed(20000);
    testing_wait(relay_oldest_ms(testing_relay(0)) == 0, 2000, "nothing is overdue any more");
    testing_relay_stop();
    h = testing_harvest_rest("order.paid", "P", 1, 5100, (int)lost, 300);
    ck_assert_int_ge(lost, 500);
    ck_assert_int_eq(h.missing, lost);
    ck_assert_int_eq(h.twice, 0);
    ck_assert_int_eq(testing_harvest("order.cancel", "C", 1, 5000, 300).missing, 0);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='quarantined'"), 0);
}
END_TEST

/* The broker closes the channel on each: that must cost neither the others their way nor these their tries. */
START_TEST(missing_exchange_holds_up_nobody)
{
    testing_relay_setup("poll_interval = \"50ms\";");
    testing_exchange_delete("order.event");
    testing_rows("event.order.rejected", "E", 1, 300);
    testing_rows("order.paid", "P", 1, 3000);
    testing_rows("event.order.rejected", "E", 301, 400);
    testing_relay_start(1);
    testing_wait(testing_rows_in("order.paid", "sent") == 3000, 15000, "others are not held up");
    testing_wait(
        testing_number("SELECT COUNT(*) FROM local_message WHERE topic='event.order.rejected' AND state='pending' AND "
                       "attempts=0 AND last_error LIKE '%%no exchange%%order.event%%'") == 400,
        15000, "they wait and say why");
    ck_assert_uint_le(testing_broker_losses(), 6); /* not one for each */
    testing_topology_apply();
    testing_wait_relayed(20000);
    testing_relay_stop();
    ck_assert_int_eq(testing_rows_in("event.order.rejected", "sent"), 400); /* nobody listens: sent all the same */
    ck_assert_int_eq(testing_harvest("order.paid", "P", 1, 3000, 300).missing, 0);
}
END_TEST

#define LISTENER "test.events"

static void listen_to_events(void)
{
    struct broker_argument classic[] = {{"x-queue-type", "classic", 0}};
    struct broker *b;
    struct error err = {0};

    testing_queue_make(LISTENER, classic, 1);
    b = broker_open(testing_relay_conf, "test listener", &err);
    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_bind_queue(b, LISTENER, "order.event", "order.*", &err), &err);
    broker_close(&b, true);
}

START_TEST(events_reach_who_listens)
{
    struct broker_delivery d;

    testing_relay_setup("poll_interval = \"50ms\";");
    listen_to_events();
    testing_relay_start(1);
    testing_sql("INSERT INTO local_message(message_key,topic,payload) "
                "VALUES('event.order.rejected:E1','event.order.rejected','x')");
    testing_next(LISTENER, &d);
    ck_assert(slice_is(d.message_id, "order.rejected:E1")); /* the whole key: an order has several events */
    ck_assert(slice_is(d.exchange, "order.event"));
    ck_assert(slice_is(d.routing_key, "order.rejected"));
    broker_delivery_release(&d);
    testing_wait_relayed(5000);
    testing_relay_stop();
    testing_queue_delete(LISTENER);
}
END_TEST

static void make_full_queue(int64_t room)
{
    struct broker_argument full[] = {
        {"x-queue-type", "classic", 0}, {"x-max-length", NULL, room}, {"x-overflow", "reject-publish", 0}};

    testing_queue_delete("order.paid");
    testing_queue_make("order.paid", full, 3);
}

START_TEST(nack_counts_and_quarantines)
{
    testing_relay_setup("poll_interval = \"50ms\"; retry_min = \"50ms\"; retry_max = \"100ms\"; attempts_max = 3;");
    make_full_queue(5);
    testing_rows("order.paid", "N", 1, 30);
    testing_relay_start(1);
    testing_wait_relayed(10000);
    ck_assert_int_eq(testing_rows_in("order.paid", "sent"), 5);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE state='quarantined' AND attempts=3 AND "
                                    "last_error LIKE '%%nack%%' AND lease_owner IS NULL AND LENGTH(payload)>0"),
                     25);
    /* As ops would do it, once there is room. */
    testing_queue_delete("order.paid");
    testing_topology_apply();
    testing_sql(
        "UPDATE local_message SET state='pending',attempts=0,due_at=UTC_TIMESTAMP(6) WHERE state='quarantined'");
    testing_wait_relayed(10000);
    testing_relay_stop();
    ck_assert_int_eq(testing_harvest_rest("order.paid", "N", 1, 30, 5, 300).missing, 5); /* gone with the queue */
    ck_assert_int_eq(testing_rows_in("order.paid", "sent"), 30);
}
END_TEST

/* Waits of 20 s, 40 s, 50 s by the database's clock. */
START_TEST(nack_backs_off)
{
    static const int waits_ms[] = {20000, 40000, 50000, 50000};

    testing_relay_setup("poll_interval = \"50ms\"; retry_min = \"20s\"; retry_max = \"50s\";");
    make_full_queue(0);
    testing_rows("order.paid", "N", 1, 1);
    testing_relay_start(1);
    for (int i = 0; i < 4; i++) {
        testing_wait(testing_number("SELECT attempts FROM local_message WHERE lease_owner IS NULL") == i + 1, 5000,
                     "it was tried");
        /* It was tried after created_at. */
        ck_assert_int_le(testing_number("SELECT TIMESTAMPDIFF(MICROSECOND,NOW(6),due_at) FROM local_message"),
                         waits_ms[i] * 1000);
        ck_assert_int_ge(testing_number("SELECT TIMESTAMPDIFF(MICROSECOND,created_at,due_at) FROM local_message"),
                         waits_ms[i] * 1000);
        testing_sql("UPDATE local_message SET due_at=NOW(6),created_at=NOW(6)"); /* not to wait for it here */
    }
    testing_relay_stop();
    ck_assert_int_eq(testing_rows_in("order.paid", "pending"), 1);
}
END_TEST

/* Twelve bodies of 1 MB and one of 10 MB are never in memory together. */
START_TEST(large_bodies)
{
    testing_relay_setup("poll_interval = \"50ms\";");
    for (int n = 1; n <= 12; n++)
        testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('order.paid:L%d','order.paid',"
                    "REPEAT('x',1000000))",
                    n);
    testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('order.paid:L13','order.paid',"
                "REPEAT('x',10000000))");
    testing_rows("order.paid", "L", 14, 100);
    testing_relay_start(1);
    testing_wait_relayed(20000);
    testing_relay_stop();
    ck_assert_int_eq(testing_rows_in("order.paid", "sent"), 100);
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE attempts=1"), 100);
    ck_assert_int_eq(testing_harvest("order.paid", "L", 1, 100, 1000).missing, 0);
}
END_TEST

/* A row that ended the process each time is not tried for ever. */
START_TEST(deadly_row_is_set_aside)
{
    testing_relay_setup("poll_interval = \"50ms\"; attempts_max = 5;");
    testing_rows("order.paid", "D", 1, 3);
    testing_sql("UPDATE local_message SET attempts=5,lease_owner='dead' WHERE message_key='order.paid:D2'");
    testing_sql("UPDATE local_message SET attempts=4,lease_owner='dead' WHERE message_key='order.paid:D3'");
    testing_relay_start(1);
    testing_wait_relayed(5000);
    testing_relay_stop();
    assert_row("order.paid:D1", "state='sent'");
    assert_row("order.paid:D2", "state='quarantined' AND attempts=6 AND last_error LIKE '%ends the process%'");
    assert_row("order.paid:D3", "state='sent' AND attempts=5");
}
END_TEST

/* A row that is tried again and again does not stay young; one that is not due yet does not count. */
START_TEST(oldest_age)
{
    int64_t age;

    testing_relay_setup("poll_interval = \"100ms\";");
    testing_queue_delete("order.cancel");
    testing_sql("INSERT INTO local_message(message_key,topic,payload,due_at,created_at) VALUES"
                "('order.paid:A1','order.paid','x',NOW(6)+INTERVAL 1 HOUR,NOW(6)-INTERVAL 1 HOUR)");
    testing_relay_start(1);
    clock_sleep_ms(500);
    ck_assert_int_eq(relay_oldest_ms(testing_relay(0)), 0);
    testing_sql("INSERT INTO local_message(message_key,topic,payload) VALUES('order.cancel:A2','order.cancel','x')");
    for (int second = 1; second <= 3; second++) {
        int64_t said;

        clock_sleep_ms(1000);
        said = relay_oldest_ms(testing_relay(0));
        age = testing_number("SELECT TIMESTAMPDIFF(MICROSECOND,created_at,NOW(6)) DIV 1000 FROM local_message WHERE "
                             "message_key='order.cancel:A2'");
        ck_assert_int_le(said, age);
        testing_wait(relay_oldest_ms(testing_relay(0)) >= age, 1500, "its age is said"); /* a poll, and what it takes */
    }
    assert_row("order.cancel:A2", "state='pending' AND attempts=0 AND due_at>NOW(6)");
    testing_topology_apply();
    testing_wait(relay_oldest_ms(testing_relay(0)) == 0, 10000, "nothing is overdue");
    testing_relay_stop();
}
END_TEST

START_TEST(stop_sends_what_was_handed_over)
{
    testing_relay_setup("poll_interval = \"60s\"; batch_max = 10;");
    testing_relay_start(1);
    for (int n = 1; n <= 100; n++) {
        char key[40];

        snprintf(key, sizeof key, "order.paid:S%d", n);
        hand_over(key, "order.paid", "x", 30000);
    }
    testing_relay_stop();
    ck_assert_int_eq(testing_rows_in("order.paid", "sent"), 100);
    ck_assert_int_eq(testing_harvest("order.paid", "S", 1, 100, 300).missing, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("relay");
    TCase *c = tcase_create("relay");

    tcase_set_timeout(c, 90);
    tcase_add_unchecked_fixture(c, NULL, testing_relay_clean);
    tcase_add_test(c, handed_over_is_sent_at_once);
    tcase_add_test(c, poll_finds_foreign_rows);
    tcase_add_test(c, born_leased_is_left_alone);
    tcase_add_test(c, hopeless_rows_are_set_aside);
    tcase_add_test(c, same_id_twice);
    tcase_add_test(c, queue_deleted_in_mid_run);
    tcase_add_test(c, missing_exchange_holds_up_nobody);
    tcase_add_test(c, events_reach_who_listens);
    tcase_add_test(c, nack_counts_and_quarantines);
    tcase_add_test(c, nack_backs_off);
    tcase_add_test(c, large_bodies);
    tcase_add_test(c, deadly_row_is_set_aside);
    tcase_add_test(c, oldest_age);
    tcase_add_test(c, stop_sends_what_was_handed_over);
    suite_add_tcase(s, c);
    return testing_main(s);
}
