#include "testing_walk.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orderd/backoff.h"
#include "orderd/clock.h"
#include "orderd/create_lane.h"
#include "orderd/log.h"
#include "orderd/metric.h"
#include "orderd/relay.h"
#include "orderd/thread.h"
#include "orderd/topology.h"
#include "testing_relay.h"

#define LANES     2
#define WALKS_MAX 8

struct testing_sale testing_sale;
struct conf *testing_walk_conf;

static struct lane_shared shared;
static struct lane *lanes[LANES];
static struct keeper *walks[WALKS_MAX];
static unsigned walk_count;
static unsigned running;
static struct thread guard;
static atomic_bool guard_stop;
static int64_t last_bought; /* by the clock of Redis */

/* ---- the sale ---- */

void testing_walk_clean(void)
{
    testing_relay_clean();
}

static void make_conf(void)
{
    char extra[1200];

    snprintf(extra, sizeof extra,
             "retry: { delays = \"%s\"; };\nrelay: { poll_interval = \"50ms\"; lease = \"2s\"; };\n"
             "walk: { interval = \"1h\"; page = 100; pause = \"1ms\"; in_flight = \"%dms\"; recover_backoff = "
             "\"200ms\"; };\nlog: { level = \"%s\"; };\n",
             testing_lane_delays, TESTING_WALK_IN_FLIGHT,
             getenv("ORDERD_TEST_LOG") ? getenv("ORDERD_TEST_LOG") : "error");
    testing_walk_conf = testing_conf(extra);
    log_configure(testing_walk_conf);
}

void testing_sale_preheat(int64_t activity, int shard_count, int64_t total, int64_t ends_at, int64_t expire_at)
{
    for (int i = 0; i < shard_count; i++) {
        struct stock_plan plan = {.activity = activity,
                                  .shard = i,
                                  .cap = total / shard_count,
                                  .epoch = testing_sale.epoch,
                                  .limit = 5,
                                  .starts_at = testing_sale.starts_at,
                                  .ends_at = ends_at,
                                  .expire_at = expire_at};
        struct stock_preheated answer;
        struct error err = {0};

        ck_assert_ok(stock_preheat(testing_sale.kv, &plan, &answer, &err), &err);
        ck_assert_int_eq(answer.code, STOCK_PREHEAT_CREATED);
    }
}

void testing_sale_open(int64_t total, int shard_count, int limit)
{
    char starts_at[32], ends_at[32];

    testing_relay_clean();
    testing_lane_delays = "20ms,30ms,50ms";
    testing_lane_setup(1, NULL);
    make_conf();
    testing_sale = (struct testing_sale){.id = (int64_t)(backoff_seed() % 1000000000) + 2000,
                                         .total = total,
                                         .starts_at = clock_wall_ms() - 1000,
                                         .ends_at = clock_wall_ms() + 600000,
                                         .shards = shard_count,
                                         .epoch = 1,
                                         .kv = testing_redis_shared()};
    clock_format_sql(starts_at, sizeof starts_at, testing_sale.starts_at);
    clock_format_sql(ends_at, sizeof ends_at, testing_sale.ends_at);
    testing_sql("INSERT INTO activity(id,title,sku_id,unit_price,currency,total_stock,per_user_limit,pay_timeout_ms,"
                "state,starts_at,ends_at,epoch,shards,preheated_at) VALUES(%" PRId64 ",'walk',%d,%d,'CNY',%" PRId64
                ",%d,900000,'running','%s','%s',1,%d,NOW(6));"
                "INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",%" PRId64 ",%" PRId64 ")",
                testing_sale.id, TESTING_SKU, TESTING_PRICE, total, limit, starts_at, ends_at, shard_count,
                testing_sale.id, total, total);
    testing_sale_preheat(testing_sale.id, shard_count, total, testing_sale.ends_at,
                         testing_sale.ends_at + 900000 + 7200000);
}

void testing_sale_close(void)
{
    kv_close(&testing_sale.kv);
    conf_destroy(&testing_walk_conf);
}

/* ---- parts ---- */

static void guard_run(void *data)
{
    (void)data;
    while (!atomic_load(&guard_stop)) {
        (void)broker_guard_check();
        clock_sleep_ms(50);
    }
}

void testing_parts_start(unsigned parts, unsigned walk_number)
{
    atomic_store(&shared.conf, testing_walk_conf);
    atomic_store(&shared.stop, false);
    shared.instance = "test";
    shared.stop_fd = eventfd(0, EFD_NONBLOCK);
    shared.relay = NULL;
    atomic_store(&guard_stop, false);
    guard = (struct thread){.name = "guard", .run = guard_run};
    thread_start(&guard);
    running = parts;
    walk_count = parts & TESTING_WALK ? walk_number : 0;
    ck_assert_uint_le(walk_count, WALKS_MAX);
    if (parts & TESTING_RELAY)
        shared.relay = relay_start(&shared);
    for (unsigned i = 0; parts & TESTING_LANES && i < LANES; i++)
        lanes[i] = lane_start(&create_lane, &shared, i);
    for (unsigned i = 0; i < walk_count; i++)
        walks[i] = keeper_start(&walk_keeper, &shared);
}

void testing_parts_reload(const struct conf *conf)
{
    atomic_store(&shared.conf, conf);
}

static void stop_walks(void)
{
    int64_t began = testing_now_ms();

    for (unsigned i = 0; i < walk_count; i++) {
        testing_wait(keeper_state(walks[i]) == LANE_STOPPED, 5000, "the walk ends");
        keeper_join(&walks[i]);
    }
    testing_within(began, 3000);
    walk_count = 0;
}

void testing_parts_stop(void)
{
    uint64_t one = 1;

    atomic_store(&shared.stop, true);
    ck_assert_int_eq(write(shared.stop_fd, &one, sizeof one), (int)sizeof one);
    stop_walks();
    for (unsigned i = 0; running & TESTING_LANES && i < LANES; i++) {
        testing_wait(lane_state_of(lanes[i]) == LANE_STOPPED, 10000, "the lane ends");
        lane_join(&lanes[i]);
    }
    if (running & TESTING_RELAY)
        relay_stop(&shared.relay);
    close(shared.stop_fd);
    atomic_store(&guard_stop, true);
    thread_join(&guard);
}

pid_t testing_parts_fork(unsigned parts, const char *fault)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifdef ORDERD_FAULTS
    testing_faults(fault ? fault : "");
#else
    ck_assert(fault == NULL);
#endif
    testing_parts_start(parts, 1);
    for (;;)
        pause();
}

void testing_parts_killed(pid_t pid)
{
    int status = 0;

    testing_wait(waitpid(pid, &status, WNOHANG) == pid, 20000, "the process meets its fault");
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

void testing_parts_kill(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* ---- buyers ---- */

const char *testing_no(int n)
{
    static char texts[8][ORDER_NO_MAX + 1];
    static unsigned i;
    char *text = texts[i++ % 8];

    snprintf(text, sizeof texts[0], "%s", testing_lane_order(n).order_no);
    return text;
}

struct order testing_buy_at(int n, int quantity, int64_t amount)
{
    struct order o = testing_lane_order(n);
    struct stock_order what;
    struct stock_deducted answer;
    struct error err = {0};

    o.activity_id = testing_sale.id;
    o.quantity = quantity;
    o.amount = amount;
    o.epoch = testing_sale.epoch;
    o.shard = stock_home_shard(n, testing_sale.shards);
    what = (struct stock_order){.activity = o.activity_id,
                                .shard = o.shard,
                                .order_no = slice_of(o.order_no),
                                .user = n,
                                .quantity = quantity,
                                .amount = amount,
                                .epoch = o.epoch};
    ck_assert_ok(stock_deduct(testing_sale.kv, &what, &answer, &err), &err);
    ck_assert_msg(answer.code == STOCK_DEDUCT_TAKEN, "deduct: %s %s", stock_code_name(STOCK_SCRIPT_DEDUCT, answer.code),
                  answer.note);
    o.user_seq = answer.user_seq;
    o.reserved_at = last_bought = answer.reserved_at;
    return o;
}

struct order testing_buy(int n, int quantity)
{
    return testing_buy_at(n, quantity, (int64_t)quantity * TESTING_PRICE);
}

void testing_send(const struct order *order)
{
    static struct broker *publisher;
    static enum broker_outcome outcome;
    struct strbuf body = STRBUF_INIT;
    struct error err = {0};
    struct broker_publication p = {.exchange = topology_name(TOPOLOGY_EXCHANGE_ORDER),
                                   .routing_key = topology_name(TOPOLOGY_QUEUE_CREATE),
                                   .message_id = slice_of(order->order_no)};

    if (!publisher) {
        publisher = broker_open(testing_walk_conf, "test web tier", &err);
        ck_assert_ok(publisher != NULL, &err);
        ck_assert_ok(broker_confirm_select(publisher, 1000, &err), &err);
    }
    order_encode(order, &body);
    p.body = (struct slice){body.data, body.len};
    ck_assert_ok(broker_publish(publisher, &p, &outcome, &err), &err);
    ck_assert_ok(broker_wait_confirms(publisher, 20000, &err), &err);
    ck_assert_int_eq(outcome, BROKER_OUTCOME_CONFIRMED);
    strbuf_release(&body);
}

static int64_t redis_now(void)
{
    struct kv_reply *reply = testing_redis_do(testing_sale.kv, "TIME", NULL);
    int64_t ms = kv_reply_integer(kv_reply_at(reply, 0)) * 1000 + kv_reply_integer(kv_reply_at(reply, 1)) / 1000;

    kv_reply_free(&reply);
    return ms;
}

void testing_wait_old(void)
{
    testing_wait(redis_now() > last_bought + TESTING_WALK_OLD, 5000, "what was bought is old");
}

/* ---- walks ---- */

void testing_walk_again(void)
{
    testing_sql("UPDATE activity_walk SET began_at=NOW(6)-INTERVAL 1 DAY WHERE activity_id=%" PRId64, testing_sale.id);
}

struct activity_walk testing_walked(void)
{
    struct activity_walk w;
    struct error err = {0};

    ck_assert_ok(activity_walk_read(testing_lane_db, testing_sale.id, &w, &err), &err);
    return w;
}

void testing_wait_walks(int64_t count)
{
    testing_wait(testing_walked().walks >= count, 20000, "the activity is walked");
    ck_assert_int_eq(testing_walked().walks, count);
}

void testing_next_walk(void)
{
    int64_t walked = testing_walked().walks;

    testing_walk_again();
    testing_wait_walks(walked + 1);
}

void testing_recover_in_vain(void)
{
    static struct testing_letters dead;

    testing_parts_start(TESTING_WALK | TESTING_RELAY | TESTING_LANES, 1);
    testing_wait_walks(1);
    for (size_t times = 1; times <= 3; times++) {
        testing_letters_dead(&dead, times, 100);
        testing_wait_effects();
        ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM local_message WHERE message_key LIKE 'recover:%%'"), 1);
        testing_sql("UPDATE local_message SET sent_at=sent_at-INTERVAL 1 HOUR,due_at=due_at-INTERVAL 1 HOUR WHERE "
                    "message_key LIKE 'recover:%%'");
        if (times < 3)
            testing_next_walk();
    }
    testing_parts_stop();
    testing_letters_free(&dead);
    ck_assert_uint_eq(testing_counted(METRIC_WALK_RECOVERED), 3);
}

/* ---- what must hold ---- */

struct stock_audit testing_sale_audit(int shard)
{
    struct stock_audit a;
    struct error err = {0};

    ck_assert_ok(stock_audit(testing_sale.kv, testing_sale.id, shard, &a, &err), &err);
    ck_assert_int_eq(a.code, STOCK_AUDIT_PRESENT);
    ck_assert_msg(stock_audit_balances(&a),
                  "shard %d: cap %" PRId64 ", left %" PRId64 ", held %" PRId64 ", sold %" PRId64 ", forfeited %" PRId64,
                  shard, a.cap, a.left, a.held, a.sold, a.forfeited);
    return a;
}

struct stock_audit testing_sale_sum(void)
{
    struct stock_audit sum = {.code = STOCK_AUDIT_PRESENT};

    for (int i = 0; i < testing_sale.shards; i++) {
        struct stock_audit a = testing_sale_audit(i);

        sum.cap += a.cap, sum.left += a.left, sum.held += a.held, sum.sold += a.sold, sum.forfeited += a.forfeited;
        sum.held_orders += a.held_orders, sum.gone_orders += a.gone_orders, sum.buyer_marks += a.buyer_marks;
    }
    return sum;
}

static void assert_field(int n, int key, const char *field, const char *value)
{
    struct stock_keys keys;
    struct kv_reply *reply;

    stock_keys_of(&keys, testing_sale.id, stock_home_shard(n, testing_sale.shards));
    reply = testing_redis_do(testing_sale.kv, "HGET", keys.text[key], field, NULL);
    if (!value)
        ck_assert_msg(kv_reply_kind(reply) == KV_NIL, "%s is there: %.*s", field, (int)kv_reply_text(reply).len,
                      kv_reply_text(reply).ptr);
    else
        ck_assert_msg(kv_reply_kind(reply) == KV_TEXT &&
                          (strcmp(value, "*") == 0 || slice_is(kv_reply_text(reply), value)),
                      "%s is \"%.*s\", not %s", field, (int)kv_reply_text(reply).len, kv_reply_text(reply).ptr, value);
    kv_reply_free(&reply);
}

void testing_sale_hash(int n, int key, const char *value)
{
    assert_field(n, key, testing_no(n), value);
}

void testing_sale_mark(int n, const char *order_no)
{
    char field[40], value[64];

    snprintf(field, sizeof field, "%d:0", n);
    snprintf(value, sizeof value, "%s|1", order_no ? order_no : "");
    assert_field(n, STOCK_KEY_BUYERS, field, order_no ? value : NULL);
}

static bool is_live(const struct stock_entry *entry, void *data)
{
    (void)data;
    ck_assert_msg(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%.*s' AND status='pending' AND quantity="
                                 "%" PRId64,
                                 (int)entry->order_no.len, entry->order_no.ptr, entry->quantity) == 1,
                  "%.*s holds units without a live order", (int)entry->order_no.len, entry->order_no.ptr);
    return true;
}

void testing_sale_conserved(void)
{
    struct stock_audit sum = testing_sale_sum();
    int64_t id = testing_sale.id;
    int64_t available = testing_number("SELECT available FROM activity_stock WHERE activity_id=%" PRId64, id);
    int64_t pending = testing_number(
        "SELECT COALESCE(SUM(quantity),0) FROM orders WHERE status='pending' AND activity_id=%" PRId64, id);
    int64_t paid =
        testing_number("SELECT COALESCE(SUM(quantity),0) FROM orders WHERE status='paid' AND activity_id=%" PRId64, id);

    ck_assert_int_eq(sum.cap, testing_sale.total);
    ck_assert_int_eq(available + pending + paid, testing_sale.total);
    ck_assert_int_eq(sum.held, pending);
    ck_assert_int_eq(sum.sold, paid);
    ck_assert_int_eq(available, sum.left + sum.forfeited);
    for (int i = 0; i < testing_sale.shards; i++) {
        struct stock_walk walk = {id, i, STOCK_KEY_HELD, 1000, 0};
        struct error err = {0};

        ck_assert_ok(stock_walk(testing_sale.kv, &walk, is_live, NULL, &err), &err);
    }
}

void testing_wait_effects(void)
{
    testing_wait(
        testing_number("SELECT COUNT(*) FROM local_message WHERE state<>'sent' AND topic NOT LIKE 'order.unpaid.%%'") ==
            0,
        10000, "all local messages but timers are done with");
}

void testing_orders_are(const char *status, int from, int to)
{
    ck_assert_int_eq(testing_number("SELECT COUNT(*) FROM orders WHERE status='%s'", status), to - from + 1);
    for (int n = from; n <= to; n++)
        ck_assert_msg(testing_number("SELECT COUNT(*) FROM orders WHERE order_no='%s' AND user_id=%d AND status='%s'",
                                     testing_no(n), n, status) == 1,
                      "order %d is not there once as %s", n, status);
}

int64_t testing_ready(const char *name)
{
    struct error err = {0};
    uint32_t messages = 0, consumers = 0;
    struct broker *b = testing_broker("test depth", &err);

    ck_assert_ok(b != NULL, &err);
    ck_assert_ok(broker_queue_depth(b, name, &messages, &consumers, &err), &err);
    broker_close(&b, true);
    return messages;
}

uint64_t testing_counted(enum metric metric)
{
    struct metric_sum sum;

    metric_read(&sum);
    return sum.counters[metric];
}
