#include "testing_sale.h"
#include "testing_relay.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/activity_apply.h"
#include "orderd/activity_store.h"
#include "orderd/clock.h"
#include "orderd/exitcode.h"
#include "orderd/order_store.h"

int64_t sale_id;
char sale_text[24];
struct kv *sale_kv;

static struct conf *conf;
static struct error err;

void sale_setup(void)
{
    static int64_t n;

    testing_ctl_setup();
    CTL("migrate", "up");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    sale_id = INT64_C(7000000000) + (int64_t)getpid() * 100 + n++;
    snprintf(sale_text, sizeof sale_text, "%" PRId64, sale_id);
    conf = testing_conf(NULL);
    sale_kv = kv_open(conf, "test_ctl", &err);
    ck_assert_ok(sale_kv != NULL, &err);
}

void sale_forget(int shard)
{
    struct stock_keys keys;

    stock_keys_of(&keys, sale_id, shard);
    for (int i = 0; i < STOCK_KEY_COUNT; i++) {
        struct slice argv[] = {slice_of("DEL"), slice_of(keys.text[i])};
        struct kv_reply *reply = kv_command(sale_kv, argv, 2, &err);

        ck_assert_ok(reply != NULL, &err);
        kv_reply_free(&reply);
    }
}

void sale_flush(void)
{
    char state[STOCK_STATE_KEY_MAX];

    for (int i = 0; i < SALE_SHARDS; i++)
        sale_forget(i);
    stock_state_key(state, sale_id);
    testing_redis_run(sale_kv, "DEL", state, NULL);
}

void sale_teardown(void)
{
    sale_flush();
    kv_close(&sale_kv);
    conf_destroy(&conf);
    testing_ctl_teardown();
}

/* ---- queues of its own ---- */

#define QUEUED "create: { queue = \"" SALE_QUEUE "\"; }; retry: { delays = \"61ms,62ms\"; };"

void sale_configure(const char *mq_port)
{
    testing_ctl_configure(
        &(struct testing_ctl_conf){.mq_port = mq_port, .db_more = "reconnect_max = \"100ms\";", .more = QUEUED});
}

void sale_setup_queued(void)
{
    sale_setup();
    sale_configure(NULL);
}

void sale_queues_make(void)
{
    testing_relay_conf = testing_conf(QUEUED);
    testing_topology_apply();
}

void sale_queues_delete(void)
{
    static const char *const queues[] = {SALE_QUEUE, "order.retry.61", "order.retry.62"};

    (void)testing_queues_ready(queues, 3);
    for (int i = 0; i < 3; i++)
        testing_queue_drop(queues[i]);
    testing_exchange_delete("order.retry.61");
    testing_exchange_delete("order.retry.62");
    conf_destroy(&testing_relay_conf);
}

void sale_queue_empty(void)
{
    testing_topology_apply();
    testing_queue_empty(SALE_QUEUE);
}

void sale_create(void)
{
    SALE_CREATE(SALE_USUAL);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
}

void sale_approve(void)
{
    sale_create();
    CTL("activity", "approve", sale_text);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
}

void sale_preheat(void)
{
    sale_approve();
    CTL("activity", "preheat", sale_text);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
}

void sale_preheat_at(const char *starts, const char *ends)
{
    SALE_CREATE("--title", SALE_TITLE, "--starts", starts, "--ends", ends);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
    CTL("activity", "approve", sale_text);
    CTL("activity", "preheat", sale_text);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
}

const char *sale_announced(const char *field)
{
    static char texts[4][64];
    static unsigned n;
    char *text = texts[n++ % 4], key[STOCK_STATE_KEY_MAX];
    struct kv_reply *reply;

    stock_state_key(key, sale_id);
    reply = testing_redis_do(sale_kv, "HGET", key, field, NULL);
    snprintf(text, sizeof texts[0], "%.*s", (int)kv_reply_text(reply).len, kv_reply_text(reply).ptr);
    kv_reply_free(&reply);
    return text;
}

static void announced_is(const char *field, int64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, number);
    ck_assert_str_eq(sale_announced(field), text);
}

void sale_agrees(enum activity_state state)
{
    struct activity a = sale_row();

    ck_assert_str_eq(activity_state_name(a.state), activity_state_name(state));
    for (int i = 0; i < SALE_SHARDS; i++) {
        struct stock_audit s = sale_audit(i);

        ck_assert_str_eq(shard_fault_name(shard_fault_of(&a, &s)), "");
        ck_assert(stock_audit_balances(&s));
        ck_assert_int_ge(s.expire_at, sale_plan(i).expire_at);
        ck_assert_int_le(llabs(s.ttl_stock - (s.expire_at - s.now)), 1000);
        ck_assert_int_le(llabs(s.ttl_meta - (s.expire_at - s.now)), 1000);
    }
    ck_assert_str_eq(sale_announced("state"), activity_state_name(state));
    announced_is("starts_at", a.starts_at);
    announced_is("ends_at", a.ends_at);
    announced_is("epoch", a.epoch);
    announced_is("shards", SALE_SHARDS);
}

void sale_killed(const char *fault, const char *const *words)
{
    const char *argv[16] = {"orderctl", "-c", testing_ctl_file, "activity"};

    for (int i = 0; words[i]; i++)
        argv[4 + i] = words[i];
    program_faults(fault);
    program_start(&testing_ctl, argv);
    program_wait(&testing_ctl);
    program_faults(NULL);
    ck_assert_msg(testing_ctl.code == 128 + SIGKILL, "%s: %d %s", fault, testing_ctl.code, testing_ctl.err);
}

void sale_said(int code, const char *fmt, ...)
{
    char expected[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(expected, sizeof expected, fmt, ap);
    va_end(ap);
    CTL_SAYS(code, expected);
}

json_t *sale_parsed(void)
{
    json_error_t where;
    json_t *json = json_loads(testing_ctl.out, 0, &where);

    ck_assert_msg(json != NULL, "%s: %s", where.text, testing_ctl.out);
    return json;
}

int64_t sale_member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    ck_assert_msg(json_is_integer(value), "no number %s", name);
    return json_integer_value(value);
}

struct activity sale_row(void)
{
    struct activity a;

    ck_assert_ok(activity_store_get(testing_ctl_db, sale_id, &a, &err), &err);
    return a;
}

struct stock_plan sale_plan(int shard)
{
    struct activity a = sale_row();
    struct stock_plan plan;

    activity_plan(&a, shard, &plan);
    return plan;
}

struct stock_audit sale_audit(int shard)
{
    struct stock_audit a;

    ck_assert_ok(stock_audit(sale_kv, sale_id, shard, &a, &err), &err);
    return a;
}

struct stock_deducted sale_try(const char *order_no, int64_t user, int64_t quantity, int shard)
{
    struct stock_order order = {sale_id,         shard, slice_of(order_no), user, quantity, SALE_PRICE * quantity,
                                sale_row().epoch};
    struct stock_deducted answer;

    ck_assert_ok(stock_deduct(sale_kv, &order, &answer, &err), &err);
    return answer;
}

struct stock_deducted sale_deduct(const char *order_no, int64_t user, int64_t quantity, int shard)
{
    struct stock_deducted answer = sale_try(order_no, user, quantity, shard);

    ck_assert_int_eq(answer.code, STOCK_DEDUCT_TAKEN);
    return answer;
}

void sale_insert(const char *order_no, int64_t user, int32_t quantity, int32_t shard)
{
    struct order order = {.activity_id = sale_id,
                          .user_id = user,
                          .sku_id = 77,
                          .quantity = quantity,
                          .amount = SALE_PRICE * (int64_t)quantity,
                          .shard = shard,
                          .epoch = sale_row().epoch,
                          .reserved_at = clock_wall_ms()};
    const struct order *list = &order;
    int64_t timeout = 900000;
    struct strbuf sql = STRBUF_INIT;

    snprintf(order.order_no, sizeof order.order_no, "%s", order_no);
    order_store_add_create(&sql, &list, &timeout, 1);
    order_store_add_stock(&sql, &list, 1);
    ck_assert_ok(db_run(testing_ctl_db, (struct slice){sql.data, sql.len}, &err), &err);
    strbuf_release(&sql);
}

/* ---- orders in both ---- */

static void settle(const char *order_no, int shard)
{
    struct stock_settled answer;

    ck_assert_ok(stock_settle(sale_kv, &(struct stock_paid){sale_id, shard, slice_of(order_no)}, &answer, &err), &err);
    ck_assert_int_eq(answer.code, STOCK_SETTLE_SETTLED);
}

static void give_back(const char *order_no, int shard, int64_t epoch)
{
    struct stock_giveback giveback = {.activity = sale_id,
                                      .shard = shard,
                                      .order_no = slice_of(order_no),
                                      .epoch = epoch,
                                      .free_mark = sale_row().rebuy_after_release,
                                      .reservations = true};
    struct stock_returned answer;

    ck_assert_ok(stock_return(sale_kv, &giveback, &answer, &err), &err);
    ck_assert_int_eq(answer.code, STOCK_RETURN_GIVEN_BACK);
}

void sale_sell(const char *order_no, int64_t user, int32_t quantity, int32_t shard, enum order_status status)
{
    sale_deduct(order_no, user, quantity, shard);
    sale_insert(order_no, user, quantity, shard);
    testing_ctl_run_sql("UPDATE orders SET status='%s' WHERE order_no='%s'", order_status_name(status), order_no);
    if (status == ORDER_PAID)
        settle(order_no, shard);
    if (order_status_live(status))
        return;
    testing_ctl_run_sql("UPDATE activity_stock SET available=available+%d", quantity);
    give_back(order_no, shard, sale_row().epoch);
}

void sale_sell_all_sorts(void)
{
    static const enum order_status statuses[] = {ORDER_PENDING, ORDER_PAID, ORDER_CLOSED, ORDER_PENDING,
                                                 ORDER_REJECTED};

    for (int n = 1; n <= 25; n++) {
        char order_no[16];

        snprintf(order_no, sizeof order_no, "o%02d", n);
        sale_sell(order_no, n, 1 + n % 3, n % SALE_SHARDS, statuses[n % 5]);
    }
}

struct names {
    char list[4096][ORDER_NO_MAX + 1];
    size_t count;
};

static void add_name(struct names *names, struct slice order_no)
{
    ck_assert_uint_lt(names->count, sizeof names->list / sizeof *names->list);
    snprintf(names->list[names->count++], sizeof *names->list, "%.*s", (int)order_no.len, order_no.ptr);
}

static bool add_held(const struct stock_entry *entry, void *data)
{
    ck_assert(entry->valid);
    add_name(data, entry->order_no);
    return true;
}

static bool add_sold(const struct stock_entry *entry, void *data)
{
    ck_assert(entry->valid);
    if (entry->gone == STOCK_GONE_SOLD)
        add_name(data, entry->order_no);
    return true;
}

static bool add_row(void *arg, const struct slice *columns, unsigned count)
{
    (void)count;
    add_name(arg, columns[0]);
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void same_names(int shard, int key, bool (*entry)(const struct stock_entry *, void *), const char *status)
{
    struct names *redis = check_calloc(2, sizeof *redis), *rows = redis + 1;
    char sql[160];

    snprintf(sql, sizeof sql, "SELECT order_no FROM orders WHERE shard=%d AND status='%s'", shard, status);
    ck_assert_ok(db_query(testing_ctl_db, slice_of(sql), add_row, rows, &err), &err);
    ck_assert_ok(stock_walk(sale_kv, &(struct stock_walk){sale_id, shard, key, 100, 0}, entry, redis, &err), &err);
    qsort(redis->list, redis->count, sizeof *redis->list, by_name);
    qsort(rows->list, rows->count, sizeof *rows->list, by_name);
    for (size_t i = 0; i < redis->count && i < rows->count; i++)
        ck_assert_str_eq(redis->list[i], rows->list[i]);
    ck_assert_uint_eq(redis->count, rows->count);
    free(redis);
}

void sale_ledger_agrees(void)
{
    int64_t left = 0, cap = 0;

    for (int i = 0; i < SALE_SHARDS; i++) {
        struct stock_audit a = sale_audit(i);

        ck_assert(stock_audit_balances(&a));
        same_names(i, STOCK_KEY_HELD, add_held, "pending");
        same_names(i, STOCK_KEY_GONE, add_sold, "paid");
        left += a.left;
        cap += a.cap;
    }
    ck_assert_int_eq(cap, sale_row().total_stock);
    ck_assert_int_eq(left, testing_ctl_number("SELECT available FROM activity_stock"));
}

void sale_command(const char *verb, const char *key, const char *value)
{
    struct slice argv[] = {slice_of(verb), slice_of(key), slice_of(value)};
    struct kv_reply *reply = kv_command(sale_kv, argv, 3, &err);

    ck_assert_ok(reply != NULL, &err);
    kv_reply_free(&reply);
}
