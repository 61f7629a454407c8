/* The lane engine with a kind of the test's own, beside a create lane: whatever the messages mean, they are taken,
 * held, retried, parked and acknowledged alike (lane_engine.h). A toy's message is "verb:key"; what it makes durable is
 * a row of the table toy. */
#include "testing_lane.h"
#include "testing_letters.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/lane_engine.h"
#include "orderd/topology.h"

static char toy_queue[100];
static int64_t toy_batch_max = 50;
static struct broker *publisher;
static atomic_int opened, closed, works, probes, cured;
static atomic_bool ill; /* "refused" ones are */
static struct testing_letters dead;

/* ---- the kind ---- */

struct toy {
    struct lane_item base;
    char verb[16], key[40];
    char ballast[600]; /* items are larger than the engine's */
};

struct own {
    struct strbuf sql;
    int64_t zero;
};

static void settings(const struct conf *conf, struct lane_settings *out)
{
    *out = (struct lane_settings){.queue = toy_queue,
                                  .lanes = 1,
                                  .prefetch = 4 * toy_batch_max,
                                  .batch_max = toy_batch_max,
                                  .hold_max = conf->create_hold_max};
}

static void open_own(struct lane *lane)
{
    const struct own *own = lane->own;

    CHECK(own->zero == 0);
    atomic_fetch_add(&opened, 1);
}

static void close_own(struct lane *lane)
{
    struct own *own = lane->own;

    strbuf_release(&own->sql);
    atomic_fetch_add(&closed, 1);
}

static void decode(struct lane *lane, struct lane_item *base)
{
    struct toy *toy = (struct toy *)base;
    char text[64];

    snprintf(text, sizeof text, "%.*s", (int)base->delivery.body.len, base->delivery.body.ptr);
    if (sscanf(text, "%15[a-z]:%39[0-9A-Za-z_]", toy->verb, toy->key) != 2)
        lane_decide(lane, base, REASON_BODY_NOT_JSON, lane_detail(lane, "\"%s\" is no toy", text));
}

static bool is(const struct toy *toy, const char *verb)
{
    return strcmp(toy->verb, verb) == 0;
}

/* All good ones in one transaction. */
static bool insert(struct lane *lane, struct error *err)
{
    struct own *own = lane->own;
    size_t count = 0;

    strbuf_reset(&own->sql);
    for (size_t i = 0; i < lane->batch.count; i++) {
        const struct toy *toy = (struct toy *)lane_item(lane, i);

        if (toy->base.reason == REASON_NONE && is(toy, "good"))
            strbuf_addf(&own->sql, "%s('%s')", count++ > 0 ? "," : "INSERT INTO toy(k) VALUES", toy->key);
    }
    strbuf_add_str(&own->sql, " ON DUPLICATE KEY UPDATE times=times+1");
    return count == 0 || db_run(lane->db, (struct slice){own->sql.data, own->sql.len}, err);
}

static bool judge(struct lane *lane, struct toy *toy, struct error *err)
{
    bool cure = is(toy, "refused") && !atomic_load(&ill);

    if (is(toy, "good") || cure) {
        atomic_fetch_add(&cured, cure);
        lane_storm_fine(lane, true);
        lane_decide(lane, &toy->base, REASON_CREATED, "");
    } else if (is(toy, "fails")) {
        lane_decide(lane, &toy->base, REASON_CONSTRAINT, lane_detail(lane, "%s fails", toy->key));
    } else if (is(toy, "refused")) {
        if (lane_storm_refused(lane, &toy->base, toy->key))
            return error_set(err, ERROR_DB_UNKNOWN, "a storm");
        lane_decide(lane, &toy->base, REASON_ERROR_UNKNOWN, "");
    }
    return true;
}

static bool work(struct lane *lane, struct error *err)
{
    atomic_fetch_add(&works, 1);
    if (!insert(lane, err))
        return false;
    for (size_t i = 0; i < lane->batch.count; i++) {
        struct toy *toy = (struct toy *)lane_item(lane, i);

        /* The good ones first: they are durable. */
        if (toy->base.reason == REASON_NONE && is(toy, "good") && !judge(lane, toy, err))
            return false;
    }
    for (size_t i = 0; i < lane->batch.count; i++) {
        struct toy *toy = (struct toy *)lane_item(lane, i);

        if (toy->base.reason == REASON_NONE && !judge(lane, toy, err))
            return false;
    }
    return true;
}

static void report(struct lane *lane, const struct lane_item *item)
{
    if (item->reason == REASON_BODY_NOT_JSON)
        lane_log_refused(lane, item);
}

static bool probe(struct db *db, struct error *err)
{
    atomic_fetch_add(&probes, 1);
    return db_run(db, slice_of("DO (SELECT COUNT(*) FROM toy)"), err);
}

static const struct lane_kind toy_lane = {
    .name = "toy",
    .settings = settings,
    .item_size = sizeof(struct toy),
    .own_size = sizeof(struct own),
    .open = open_own,
    .close = close_own,
    .decode = decode,
    .work = work,
    .report = report,
    .fate = lane_fate,
    .probe = probe,
    .taken = FAULT_POINT(CREATE_TAKEN),
    .before_ack = FAULT_POINT(CREATE_BEFORE_ACK),
    .after_ack = FAULT_POINT(CREATE_AFTER_ACK),
};

/* ---- its queue ---- */

static void declare_queue(void)
{
    struct broker_argument arguments[] = {{"x-queue-type", "quorum", 0}, {"x-delivery-limit", NULL, 20}};
    struct error detail = {0}, err = {0};
    enum broker_presence presence;
    struct broker *b = testing_broker("test toy queue", &err);

    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_declare_queue(b, toy_queue, arguments, 2, true, &presence, &detail, &err), &err);
    ck_assert_ok(broker_bind_queue(b, toy_queue, topology_name(TOPOLOGY_EXCHANGE_ORDER), toy_queue, &err), &err);
    broker_close(&b, true);
}

static void setup(void)
{
    struct error err = {0};

    testing_lane_delays = "81ms,82ms,83ms";
    testing_lane_setup(1000, NULL);
    snprintf(toy_queue, sizeof toy_queue, "%s", testing_name("test.toy"));
    declare_queue();
    testing_sql("CREATE TABLE toy(k VARCHAR(40) PRIMARY KEY, times INT NOT NULL DEFAULT 1)");
    publisher = testing_broker("test toys", &err);
    ck_assert_ok(publisher != NULL, &err);
    ck_assert_ok(broker_confirm_select(publisher, 1000, &err), &err);
}

static void teardown(void)
{
    broker_close(&publisher, true);
    testing_letters_free(&dead);
}

static void send(const char *verb, int from, int to)
{
    static enum broker_outcome outcomes[1001];
    struct error err = {0};

    for (int n = from; n <= to; n++) {
        char body[64];
        struct broker_publication p = {.exchange = topology_name(TOPOLOGY_EXCHANGE_ORDER), .routing_key = toy_queue};

        snprintf(body, sizeof body, "%s:%s%d", verb, verb, n);
        p.body = slice_of(body);
        p.message_id = slice_of(body);
        ck_assert_ok(broker_publish(publisher, &p, &outcomes[n], &err), &err);
    }
    ck_assert_ok(broker_wait_confirms(publisher, 20000, &err), &err);
    for (int n = from; n <= to; n++)
        ck_assert_int_eq(outcomes[n], BROKER_OUTCOME_CONFIRMED);
}

/* Exactly good1..goodN, each once. */
static void wait_good(int count)
{
    testing_wait(testing_number("SELECT COUNT(*) FROM toy") >= count, 15000, "rows of toys");
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM toy"), count);
    for (int n = 1; n <= count; n++)
        ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM toy WHERE k='good%d'", n), 1);
}

static uint32_t waiting(void)
{
    struct error err = {0};
    uint32_t messages = 0, consumers = 0;
    struct broker *b = testing_broker("test depth", &err);

    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_queue_depth(b, toy_queue, &messages, &consumers, &err), &err);
    broker_close(&b, true);
    return messages;
}

static int64_t counter(enum metric metric)
{
    struct metric_sum sum;

    metric_read(&sum);
    return (int64_t)sum.counters[metric];
}

static void stop(void)
{
    testing_lane_stop();
    ck_assert_int_eq(atomic_load(&opened), atomic_load(&closed));
    ck_assert_uint_eq(waiting(), 0);
}

/* ---- tests ---- */

START_TEST(two_kinds_share_a_process)
{
    send("good", 1, 500);
    for (int n = 1; n <= 200; n++) {
        struct order o = testing_lane_order(n);

        testing_publish(&o);
    }
    testing_lane_start(1);
    testing_lane_add(&toy_lane, 2);
    wait_good(500);
    testing_wait_orders(200, 10000);
    stop();
    testing_assert_orders(200, 1000);
    ck_assert_int_eq(testing_number("SELECT SUM(times) FROM toy"), 500);
    ck_assert_int_eq(atomic_load(&opened), 2);
    ck_assert_int_lt(atomic_load(&works),
                     200); /* in batches: at most 2 lanes x (1 + 500/50), and some that were small */
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

/* Through each retry queue back to its own queue, and then dead, with the story in the headers. */
START_TEST(own_failure_is_retried_and_then_dead)
{
    send("fails", 1, 1);
    send("good", 1, 20);
    testing_lane_start(1);
    testing_lane_add(&toy_lane, 1);
    testing_letters_dead(&dead, 1, 300);
    wait_good(20);
    stop();
    ck_assert_uint_eq(dead.count, 1);
    ck_assert(slice_is(dead.list[0].body, "fails:fails1"));
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-reason"), "constraint");
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-detail"), "fails1 fails");
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-stage"), "toy");
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-origin"), toy_queue);
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-attempt"), "3");
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-worker"), "orderd@test toy.0");
}
END_TEST

START_TEST(what_is_no_message_is_dead_at_once)
{
    send("good", 1, 3);
    send("GOOD", 1, 1);
    send("good", 4, 6);
    testing_lane_start(0);
    testing_lane_add(&toy_lane, 1);
    testing_letters_dead(&dead, 1, 300);
    wait_good(6);
    stop();
    ck_assert_uint_eq(dead.count, 1);
    ck_assert(slice_is(dead.list[0].body, "GOOD:GOOD1"));
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-detail"), "\"GOOD:GOOD1\" is no toy");
    ck_assert_str_eq(testing_header(&dead.list[0], "orderd-attempt"), "0");
}
END_TEST

/* Held, not harmed; and after it was given back, nothing is taken before the probe says so. */
static const struct {
    int64_t hold_max;
    bool given_back;
} outages[] = {{600000, false}, {1000, true}};

START_TEST(what_it_needs_is_missing)
{
    int64_t taken;

    testing_lane_conf->create_hold_max = outages[_i].hold_max;
    testing_sql("RENAME TABLE toy TO hidden");
    send("good", 1, 120);
    send("fails", 1, 1);
    testing_lane_start(0);
    testing_lane_add(&toy_lane, 1);
    testing_wait(lane_state_of(testing_lane(0)) == LANE_PAUSED, 10000, "the lane pauses");
    if (outages[_i].given_back) {
        testing_wait(waiting() == 121, 10000, "everything is back in the queue");
        taken = counter(METRIC_MESSAGES_RECEIVED);
        testing_wait(atomic_load(&probes) > 3, 10000, "the lane asks");
        ck_assert_int_eq(counter(METRIC_MESSAGES_RECEIVED), taken);
    }
    testing_sql("RENAME TABLE hidden TO toy");
    wait_good(120);
    testing_letters_dead(&dead, 1, 300);
    testing_wait(lane_state_of(testing_lane(0)) == LANE_CONSUMING, 10000, "the lane consumes");
    stop();
    ck_assert_int_eq(testing_number("SELECT SUM(times) FROM toy"), 120);
    ck_assert_uint_eq(dead.count, 1);
}
END_TEST

/* Many different ones in a row, none good: the database is ill. Nothing is dead-lettered, and what comes in meanwhile
 * is tried too, since one that is fine is what ends a storm. */
START_TEST(a_storm_is_nobodys_fault)
{
    toy_batch_max = 60;
    atomic_store(&ill, true);
    send("refused", 1, 40);
    testing_lane_start(0);
    testing_lane_add(&toy_lane, 1);
    testing_wait(lane_state_of(testing_lane(0)) == LANE_PAUSED, 10000, "the lane pauses");
    send("good", 1, 1);
    wait_good(1);
    ck_assert_int_eq(lane_state_of(testing_lane(0)), LANE_PAUSED);
    atomic_store(&ill, false);
    testing_wait(atomic_load(&cured) == 40, 10000, "all are fine in the end");
    stop();
    ck_assert_int_eq(testing_dead_letters(0, ""), 0);
}
END_TEST

/* What cannot be published waits aside, of its item only the engine's part, while the good ones go on. */
START_TEST(what_cannot_be_published_is_parked)
{
    testing_rabbitmqctl("delete_queue order.retry.81");
    send("fails", 1, 5);
    send("good", 1, 1);
    testing_lane_start(0);
    testing_lane_add(&toy_lane, 1);
    wait_good(1);
    send("good", 2, 100);
    wait_good(100);
    ck_assert_int_eq(counter(METRIC_MESSAGES_PARKED), 5);
    testing_lane_topology();
    testing_letters_dead(&dead, 5, 500);
    stop();
    ck_assert_int_eq(counter(METRIC_MESSAGES_PARKED), 5);
    for (size_t i = 0; i < dead.count; i++)
        ck_assert_int_eq(strncmp(testing_header(&dead.list[i], "orderd-detail"), "fails", 5), 0);
}
END_TEST

/* A kind that leaves a message without an outcome would lose it at the acknowledgement: rather die. */
START_TEST(no_item_may_be_left_open)
{
    send("forgotten", 1, 1);
    testing_lane_start(0);
    testing_lane_add(&toy_lane, 1);
    testing_wait(waiting() != 0, 10000, "the process dies instead");
    testing_wait(false, 10000, "the process dies instead");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lane");
    TCase *c = tcase_create("lane");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, two_kinds_share_a_process);
    tcase_add_test(c, own_failure_is_retried_and_then_dead);
    tcase_add_test(c, what_is_no_message_is_dead_at_once);
    tcase_add_loop_test(c, what_it_needs_is_missing, 0, (int)(sizeof outages / sizeof *outages));
    tcase_add_test(c, a_storm_is_nobodys_fault);
    tcase_add_test(c, what_cannot_be_published_is_parked);
    tcase_add_test_raise_signal(c, no_item_may_be_left_open, SIGABRT);
    suite_add_tcase(s, c);
    return testing_main(s);
}
