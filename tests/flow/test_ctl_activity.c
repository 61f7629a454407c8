/* orderctl activity against real servers: created once, approved once, put on sale once, whatever happens in between;
 * and what it shows of a running sale is what is there. */
#include "testing_ctl.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/activity.h"
#include "orderd/activity_store.h"
#include "orderd/clock.h"
#include "orderd/exitcode.h"
#include "orderd/kv.h"
#include "orderd/order_store.h"
#include "orderd/stock.h"

#define TOTAL  1002
#define SHARDS 4

static int64_t id; /* of this test's activity: its keys in Redis are nobody else's */
static char id_text[24];
static struct conf *conf;
static struct kv *kv;
static struct error err;

static void setup(void)
{
    static int64_t n;

    testing_ctl_setup();
    CTL("migrate", "up");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    id = INT64_C(7000000000) + (int64_t)getpid() * 100 + n++;
    snprintf(id_text, sizeof id_text, "%" PRId64, id);
    conf = testing_conf(NULL);
    kv = kv_open(conf, "test_ctl", &err);
    ck_assert_ok(kv != NULL, &err);
}

static void forget_shard(int shard)
{
    struct stock_keys keys;

    stock_keys_of(&keys, id, shard);
    for (int i = 0; i < STOCK_KEY_COUNT; i++) {
        struct slice argv[] = {slice_of("DEL"), slice_of(keys.text[i])};
        struct kv_reply *reply = kv_command(kv, argv, 2, &err);

        ck_assert_ok(reply != NULL, &err);
        kv_reply_free(&reply);
    }
}

static void teardown(void)
{
    for (int i = 0; i < SHARDS; i++)
        forget_shard(i);
    kv_close(&kv);
    conf_destroy(&conf);
    testing_ctl_teardown();
}

#define CREATE(...)                                                                                                    \
    CTL("activity", "create", "--id", id_text, "--sku", "77", "--price", "9900", "--currency", "CNY", "--stock",       \
        "1002", "--shards", "4", "--limit", "3", __VA_ARGS__)

#define USUAL "--title", "O'Neil \\ \"50%\" \u51ac\u5b63", "--starts", "now", "--ends", "+2h"

static json_t *parsed(void)
{
    json_error_t where;
    json_t *json = json_loads(testing_ctl.out, 0, &where);

    ck_assert_msg(json != NULL, "%s: %s", where.text, testing_ctl.out);
    return json;
}

static int64_t member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    ck_assert_msg(json_is_integer(value), "no number %s", name);
    return json_integer_value(value);
}

static void said(int code, const char *fmt, ...) ORDERD_PRINTF(2, 3);

static void said(int code, const char *fmt, ...)
{
    char expected[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(expected, sizeof expected, fmt, ap);
    va_end(ap);
    CTL_SAYS(code, expected);
}

static struct activity there(void)
{
    struct activity a;

    ck_assert_ok(activity_store_get(testing_ctl_db, id, &a, &err), &err);
    return a;
}

static void create(void)
{
    CREATE(USUAL);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
}

static void approve(void)
{
    create();
    CTL("activity", "approve", id_text);
    ck_assert_msg(testing_ctl.code == EXIT_OK, "%s", testing_ctl.err);
}

static struct stock_audit audit(int shard)
{
    struct stock_audit a;

    ck_assert_ok(stock_audit(kv, id, shard, &a, &err), &err);
    return a;
}

/* ---- create ---- */

START_TEST(created)
{
    struct activity a;
    json_t *json;

    CREATE(USUAL, "--dry-run", "--json");
    said(EXIT_OK, "orderctl: nothing was written\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"would_be_created\",\"id\":"));
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity"), 0);

    CREATE(USUAL, "--json");
    said(EXIT_OK, "orderctl: created; `orderctl activity approve %s` freezes it\n", id_text);
    json = parsed();
    ck_assert_str_eq(json_string_value(json_object_get(json, "result")), "created");
    ck_assert_str_eq(json_string_value(json_object_get(json, "title")), "O'Neil \\ \"50%\" \u51ac\u5b63");
    ck_assert_int_eq(member(json, "id"), id);
    json_decref(json);
    a = there();
    ck_assert_str_eq(a.title, "O'Neil \\ \"50%\" \u51ac\u5b63");
    ck_assert_str_eq(a.currency, "CNY");
    ck_assert_int_eq(a.sku_id, 77);
    ck_assert_int_eq(a.unit_price, 9900);
    ck_assert_int_eq(a.total_stock, TOTAL);
    ck_assert_int_eq(a.available, TOTAL);
    ck_assert_int_eq(a.per_user_limit, 3);
    ck_assert_int_eq(a.shards, SHARDS);
    ck_assert_int_eq(a.pay_timeout_ms, 900000);
    ck_assert_int_eq(a.starts_at, a.created_at);
    ck_assert_int_eq(a.ends_at, a.created_at + 7200000);
    ck_assert_int_eq(a.state, ACTIVITY_REVIEW);
    ck_assert_int_eq(a.epoch, 0);
    ck_assert(!a.free_amount && a.rebuy_after_release && a.reservations && !a.preheated);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity_stock WHERE activity_id=%" PRId64
                                        " AND total=1002 AND available=1002 AND takes_orders",
                                        id),
                     1);
}
END_TEST

/* The other values of each option arrive too. */
START_TEST(created_otherwise)
{
    struct activity a;

    CREATE("--title", "x", "--starts", "2030-01-02T03:04:05.678Z", "--ends", "2030-01-02T04:00:00Z",
           "--pay-timeout=90s", "--free-amount", "--no-rebuy", "--no-reservations", "-q");
    said(EXIT_OK, "%s", "");
    a = there();
    ck_assert_int_eq(a.starts_at, INT64_C(1893553445678));
    ck_assert_int_eq(a.ends_at, INT64_C(1893556800000));
    ck_assert_int_eq(a.pay_timeout_ms, 90000);
    ck_assert(a.free_amount && !a.rebuy_after_release && !a.reservations);
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "  from          2030-01-02T03:04:05.678Z to 2030-01-02T04:00:00.000Z\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  to be paid in 90s\n"));
}
END_TEST

START_TEST(created_again)
{
    struct activity before;
    char ends[32], was[32];

    create();
    before = there();
    clock_sleep_ms(5); /* relative times count from the creation, not from now */
    CREATE(USUAL);
    said(EXIT_OK, "orderctl: activity %s exists already with these values; nothing was changed\n", id_text);
    ck_assert_int_eq(there().starts_at, before.starts_at);
    CTL("activity", "approve", id_text, "-q");
    CREATE(USUAL, "-q", "--json"); /* whatever became of it */
    said(EXIT_OK, "%s", "");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"exists\","));

    clock_format_iso(was, sizeof was, before.ends_at);
    clock_format_iso(ends, sizeof ends, before.ends_at + 1000);
    CREATE("--title", before.title, "--starts", "now", "--ends", "+7201s");
    said(
        EXIT_BAD_DATA,
        "orderctl: activity create: activity %s exists with end %s instead of %s; choose another number, or the values "
        "that `orderctl activity show %s` shows\n",
        id_text, was, ends, id_text);
    CREATE("--title", "other", "--starts", "now", "--ends", "+2h");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    CREATE(USUAL, "--free-amount");
    said(EXIT_BAD_DATA,
         "orderctl: activity create: activity %s exists with free amounts off instead of on; choose another number, or "
         "the values that `orderctl activity show %s` shows\n",
         id_text, id_text);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity"), 1);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity_stock"), 1);
}
END_TEST

START_TEST(created_twice_at_once)
{
    static struct program runs[4];
    const char *const argv[] = {"orderctl",
                                "-c",
                                testing_ctl_file,
                                "activity",
                                "create",
                                "--id",
                                id_text,
                                "--sku",
                                "1",
                                "--price",
                                "1",
                                "--currency",
                                "EUR",
                                "--stock",
                                "9",
                                "--title",
                                "t",
                                "--starts",
                                "2030-01-01T00:00:00Z",
                                "--ends",
                                "2030-01-02T00:00:00Z",
                                "--json",
                                NULL};
    unsigned made = 0, found = 0;

    for (int i = 0; i < 4; i++)
        program_start(&runs[i], argv);
    for (int i = 0; i < 4; i++) {
        program_wait(&runs[i]);
        ck_assert_msg(runs[i].code == EXIT_OK, "%s", runs[i].err);
        made += strstr(runs[i].out, "\"created\"") != NULL;
        found += strstr(runs[i].out, "\"exists\"") != NULL;
    }
    ck_assert_uint_eq(made, 1);
    ck_assert_uint_eq(found, 3);
    ck_assert_int_eq(testing_ctl_number("SELECT SUM(available) FROM activity_stock"), 9);
}
END_TEST

START_TEST(not_created)
{
    CREATE("--title", "x", "--starts", "+2h", "--ends", "+1h");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: activity create: the sale would end at "));
    CREATE("--title", "x", "--starts", "2020-01-01T00:00:00Z", "--ends", "2020-01-02T00:00:00Z");
    said(EXIT_BAD_DATA, "orderctl: activity create: the sale would be over already\n");
    CREATE("--title", "a\nb", "--starts", "now", "--ends", "+1h");
    said(EXIT_BAD_DATA, "orderctl: activity create: the title is not 1 to 200 characters of UTF-8 without control "
                        "characters\n");
    testing_ctl_run_sql("INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",5,5)", id);
    CREATE(USUAL);
    said(EXIT_BAD_DATA,
         "orderctl: activity create: activity_stock has a row for activity %s although there is no such "
         "activity; choose another number or remove that row\n",
         id_text);
    ck_assert_int_eq(testing_ctl_number("SELECT COUNT(*) FROM activity"), 0); /* half of it is none of it */
}
END_TEST

/* ---- approve ---- */

START_TEST(approved)
{
    CTL("activity", "approve", id_text);
    said(EXIT_BAD_DATA, "orderctl: activity approve: there is no activity %s; see `orderctl activity list`\n", id_text);
    create();
    CTL("activity", "approve", id_text, "--dry-run", "--json");
    said(EXIT_OK, "orderctl: it could be approved; nothing was changed\n");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"would_be_approved\","));
    ck_assert_int_eq(there().state, ACTIVITY_REVIEW);
    CTL("activity", "approve", id_text, "--json");
    said(EXIT_OK, "orderctl: approved; `orderctl activity preheat %s` puts its stock into Redis\n", id_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"state\":\"scheduled\",\"epoch\":1,"));
    CTL("activity", "approve", id_text, "--json");
    said(EXIT_OK, "orderctl: activity %s is approved already; nothing was changed\n", id_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "{\"result\":\"approved_before\","));
    ck_assert_int_eq(there().state, ACTIVITY_SCHEDULED);
    ck_assert_int_eq(there().epoch, 1);
}
END_TEST

START_TEST(not_approved)
{
    create();
    testing_ctl_run_sql("UPDATE activity_stock SET available=1000");
    CTL("activity", "approve", id_text);
    said(
        EXIT_BAD_DATA,
        "orderctl: activity approve: activity %s has 1002 units, but its row of activity_stock says 1000 of 1002; mend "
        "that row or create another\n",
        id_text);
    testing_ctl_run_sql("DELETE FROM activity_stock");
    CTL("activity", "approve", id_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    testing_ctl_run_sql("INSERT INTO activity_stock(activity_id,total,available) VALUES(%" PRId64 ",1002,1002);"
                        "UPDATE activity SET starts_at='2020-01-01',ends_at='2020-01-02'",
                        id);
    CTL("activity", "approve", id_text);
    said(EXIT_BAD_DATA, "orderctl: activity approve: the sale of activity %s is over already; create another\n",
         id_text);
    ck_assert_int_eq(there().epoch, 0);
    testing_ctl_run_sql("UPDATE activity SET state='running',epoch=1");
    CTL("activity", "approve", id_text);
    said(EXIT_BAD_DATA, "orderctl: activity approve: activity %s is running; only one in review can be approved\n",
         id_text);
}
END_TEST

/* ---- preheat ---- */

/* What every shard must be after a preheat: sums, window, and a TTL that ends as planned. */
static void on_sale(void)
{
    struct activity a = there();
    int64_t sum = 0;

    for (int i = 0; i < SHARDS; i++) {
        struct stock_audit s = audit(i);
        int64_t expected = a.ends_at + a.pay_timeout_ms + 7200000;

        ck_assert_int_eq(s.code, STOCK_AUDIT_PRESENT);
        ck_assert_int_eq(s.cap, i < 2 ? 251 : 250);
        ck_assert_int_eq(s.epoch, 1);
        ck_assert_int_eq(s.limit, 3);
        ck_assert_int_eq(s.starts_at, a.starts_at);
        ck_assert_int_eq(s.ends_at, a.ends_at);
        ck_assert_int_eq(s.expire_at, expected);
        ck_assert_int_le(llabs(s.ttl_stock - (expected - s.now)), 1000);
        ck_assert_int_le(llabs(s.ttl_meta - (expected - s.now)), 1000);
        sum += s.cap;
    }
    ck_assert_int_eq(sum, TOTAL);
    ck_assert(a.preheated);
}

START_TEST(preheated)
{
    int64_t first;

    approve();
    CTL("activity", "preheat", id_text, "--dry-run");
    said(EXIT_OK, "orderctl: nothing was changed\n");
    ck_assert_str_eq(testing_ctl.out, "SHARD  CAP  LEFT  STATE\n"
                                      "    0  251     -  missing\n"
                                      "    1  251     -  missing\n"
                                      "    2  250     -  missing\n"
                                      "    3  250     -  missing\n");
    for (int i = 0; i < SHARDS; i++)
        ck_assert_int_eq(audit(i).code, STOCK_AUDIT_NO_SHARD);
    ck_assert(!there().preheated);

    CTL("activity", "preheat", id_text);
    said(EXIT_OK, "orderctl: the stock of activity %s is in Redis and was read back; shards: 4\n", id_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "    3  250   250  created\n"));
    on_sale();
    first = there().preheated_at;
    CTL("activity", "preheat", id_text, "--json");
    said(EXIT_OK, "orderctl: the stock of activity %s is in Redis and was read back; shards: 4\n", id_text);
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "\"shard\":3,\"state\":\"present\",\"cap\":250,\"left\":250,\"epoch\":1,"));
    on_sale();
    ck_assert_int_eq(there().preheated_at, first);
}
END_TEST

START_TEST(preheated_too_early)
{
    CTL("activity", "preheat", id_text);
    said(EXIT_BAD_DATA, "orderctl: activity preheat: there is no activity %s; see `orderctl activity list`\n", id_text);
    create();
    CTL("activity", "preheat", id_text);
    said(EXIT_BAD_DATA,
         "orderctl: activity preheat: activity %s is in review; run `orderctl activity approve %s` first\n", id_text,
         id_text);
    testing_ctl_run_sql("UPDATE activity SET state='ended',epoch=1");
    CTL("activity", "preheat", id_text);
    said(EXIT_BAD_DATA, "orderctl: activity preheat: activity %s is ended; only a scheduled one can be preheated\n",
         id_text);
    testing_ctl_run_sql("UPDATE activity SET state='scheduled',starts_at='2020-01-01',ends_at='2020-01-02'");
    CTL("activity", "preheat", id_text);
    said(EXIT_BAD_DATA, "orderctl: activity preheat: the sale of activity %s is over already\n", id_text);
    for (int i = 0; i < SHARDS; i++)
        ck_assert_int_eq(audit(i).code, STOCK_AUDIT_NO_SHARD);
}
END_TEST

static struct stock_plan plan_of(int shard)
{
    struct activity a = there();
    struct stock_plan plan;

    activity_plan(&a, shard, &plan);
    return plan;
}

static void put_on_sale(const struct stock_plan *plan)
{
    struct stock_preheated answer;

    ck_assert_ok(stock_preheat(kv, plan, &answer, &err), &err);
    ck_assert_int_eq(answer.code, STOCK_PREHEAT_CREATED);
}

/* The last shard is live with other values: the first ones are not touched either. */
START_TEST(live_key)
{
    struct stock_plan plan;

    approve();
    plan = plan_of(3);
    plan.cap = 999;
    put_on_sale(&plan);
    CTL("activity", "preheat", id_text);
    said(EXIT_BAD_DATA,
         "orderctl: activity preheat: shard 3 of activity %s is live with cap 999 instead of 250 (999 left, 0 held, 0 "
         "sold); nothing was changed: it is never overwritten\n",
         id_text);
    CTL("activity", "preheat", id_text, "--dry-run");
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(audit(i).code, STOCK_AUDIT_NO_SHARD);
    ck_assert_int_eq(audit(3).left, 999);
    forget_shard(3);
    plan = plan_of(1);
    plan.epoch = 2;
    put_on_sale(&plan);
    CTL("activity", "preheat", id_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "is live with epoch 2 instead of 1"));
    ck_assert(!there().preheated);
}
END_TEST

static void command(const char *verb, const char *key, const char *value)
{
    struct slice argv[] = {slice_of(verb), slice_of(key), slice_of(value)};
    struct kv_reply *reply = kv_command(kv, argv, 3, &err);

    ck_assert_ok(reply != NULL, &err);
    kv_reply_free(&reply);
}

START_TEST(foreign_key)
{
    struct stock_keys keys;

    approve();
    stock_keys_of(&keys, id, 2);
    command("SET", keys.text[STOCK_KEY_STOCK], "100"); /* somebody's own stock key, without a ledger */
    CTL("activity", "preheat", id_text);
    said(EXIT_BAD_DATA,
         "orderctl: activity preheat: shard 2 of activity %s is damaged, or holds keys that are not ours; nothing was "
         "changed: rebuild it from the database or remove its keys\n",
         id_text);
    ck_assert_int_eq(audit(0).code, STOCK_AUDIT_NO_SHARD);
}
END_TEST

/* A shard whose description is there but not its stock. */
START_TEST(half_a_shard)
{
    struct stock_keys keys;
    struct stock_plan plan;
    struct slice argv[2] = {slice_of("DEL")};
    struct kv_reply *reply;

    approve();
    plan = plan_of(1);
    put_on_sale(&plan);
    stock_keys_of(&keys, id, 1);
    argv[1] = slice_of(keys.text[STOCK_KEY_STOCK]);
    reply = kv_command(kv, argv, 2, &err);
    ck_assert_ok(reply != NULL, &err);
    kv_reply_free(&reply);
    CTL("activity", "preheat", id_text, "--dry-run");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "    1  251     -  half-done\n"));
    CTL("activity", "preheat", id_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "    1  251   251  resumed\n"));
    on_sale();
}
END_TEST

static struct stock_deducted deduct(const char *order_no, int64_t user, int64_t quantity, int shard)
{
    struct stock_order order = {id, shard, slice_of(order_no), user, quantity, 9900 * quantity, 1};
    struct stock_deducted answer;

    ck_assert_ok(stock_deduct(kv, &order, &answer, &err), &err);
    ck_assert_int_eq(answer.code, STOCK_DEDUCT_TAKEN);
    return answer;
}

/* Killed after each number of shards; what was sold meanwhile stays sold. */
START_TEST(resumed)
{
    char fault[64];
    int done = _i;

    approve();
    snprintf(fault, sizeof fault, "preheat.after_shard=kill@%d", done);
    setenv("ORDERD_FAULT", fault, 1);
    CTL("activity", "preheat", id_text);
    unsetenv("ORDERD_FAULT");
    ck_assert_int_eq(testing_ctl.code, 128 + 9);
    for (int i = 0; i < SHARDS; i++)
        ck_assert_int_eq(audit(i).code, i < done ? STOCK_AUDIT_PRESENT : STOCK_AUDIT_NO_SHARD);
    ck_assert(!there().preheated);
    deduct("early_bird", 5, 2, 0);

    CTL("activity", "preheat", id_text, "--dry-run");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "    0  251   249  present\n"));
    CTL("activity", "preheat", id_text);
    said(EXIT_OK, "orderctl: the stock of activity %s is in Redis and was read back; shards: 4\n", id_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "    0  251   249  present\n"));
    on_sale();
    ck_assert_int_eq(audit(0).left, 249);
    ck_assert_int_eq(audit(0).held, 2);
}
END_TEST

/* One order row, as the create lane writes it. */
static void insert_order(const char *order_no, int64_t user, int32_t quantity, int32_t shard)
{
    struct order order = {.activity_id = id,
                          .user_id = user,
                          .sku_id = 77,
                          .quantity = quantity,
                          .amount = 9900 * quantity,
                          .shard = shard,
                          .epoch = 1,
                          .reserved_at = clock_wall_ms()};
    const struct order *list = &order;
    int64_t timeout = 900000;
    struct strbuf sql = STRBUF_INIT;

    snprintf(order.order_no, sizeof order.order_no, "%s", order_no);
    order_store_add_create(&sql, &list, &timeout, 1);
    ck_assert_ok(db_run(testing_ctl_db, (struct slice){sql.data, sql.len}, &err), &err);
    strbuf_release(&sql);
}

#define LOST                                                                                                           \
    "orderctl: activity preheat: shard 2 of activity %s is gone from Redis, and orders may hold its units; nothing "   \
    "was "                                                                                                             \
    "changed: it must be rebuilt from the database, not preheated\n"

START_TEST(lost_shard)
{
    approve();
    CTL("activity", "preheat", id_text);
    forget_shard(2);
    CTL("activity", "preheat", id_text);
    said(EXIT_BAD_DATA, LOST, id_text);
    ck_assert_int_eq(audit(2).code, STOCK_AUDIT_NO_SHARD);

    /* Not marked yet, but sold from. An unsold one may be made. */
    testing_ctl_run_sql("UPDATE activity SET preheated_at=NULL");
    insert_order("sold_before", 5, 1, 2);
    CTL("activity", "preheat", id_text);
    said(EXIT_BAD_DATA, LOST, id_text);
    testing_ctl_run_sql("UPDATE orders SET shard=1");
    CTL("activity", "preheat", id_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    on_sale();
}
END_TEST

static void set_policy(const char *policy)
{
    struct slice argv[] = {slice_of("CONFIG"), slice_of("SET"), slice_of("maxmemory-policy"), slice_of(policy)};
    struct kv_reply *reply = kv_command(kv, argv, 4, &err);

    ck_assert_ok(reply != NULL, &err);
    kv_reply_free(&reply);
}

START_TEST(eviction)
{
    approve();
    set_policy("allkeys-lru");
    CTL("activity", "preheat", id_text, "-q");
    set_policy("noeviction");
    said(EXIT_OK,
         "orderctl: warning: Redis has maxmemory-policy allkeys-lru: when its memory is full it deletes stock; "
         "set noeviction\n");
}
END_TEST

START_TEST(redis_is_away)
{
    approve();
    testing_ctl_configure(&(struct testing_ctl_conf){.kv_port = "1"});
    CTL("activity", "preheat", id_text);
    ck_assert_int_eq(testing_ctl.code, EXIT_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "; see that Redis is up and that the group redis of "));
    ck_assert(!there().preheated);
    CTL("activity", "show", id_text, "--json");
    ck_assert_int_eq(testing_ctl.code, EXIT_PARTIAL);
    ck_assert_ptr_nonnull(strstr(testing_ctl.err, "orderctl: warning: Redis is not shown: "));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"redis_read\":false,\"shards\":null,\"balance\":null}\n"));
}
END_TEST

/* ---- show and list ---- */

/* From held to sold, by hand. */
static void settle(const char *order_no, int shard, const char *units, const char *minus_units)
{
    struct stock_keys keys;
    const char *const fields[][2] = {{"sold", units}, {"held", minus_units}};

    stock_keys_of(&keys, id, shard);
    command("HDEL", keys.text[STOCK_KEY_HELD], order_no);
    for (int i = 0; i < 2; i++) {
        struct slice argv[] = {slice_of("HINCRBY"), slice_of(keys.text[STOCK_KEY_META]), slice_of(fields[i][0]),
                               slice_of(fields[i][1])};
        struct kv_reply *reply = kv_command(kv, argv, 4, &err);

        ck_assert_ok(reply != NULL, &err);
        kv_reply_free(&reply);
    }
}

/* One live, one paid, one that has no row yet, and one that was closed, its units not given back yet. */
static void sell(void)
{
    deduct("o_live", 1, 1, 0);
    deduct("o_paid", 2, 3, 1);
    deduct("o_underway", 3, 2, 1);
    deduct("o_closed", 4, 1, 3);
    insert_order("o_live", 1, 1, 0);
    insert_order("o_paid", 2, 3, 1);
    insert_order("o_closed", 4, 1, 3);
    settle("o_paid", 1, "3", "-3");
    testing_ctl_run_sql("UPDATE orders SET status='paid' WHERE order_no='o_paid';"
                        "UPDATE orders SET status='closed' WHERE order_no='o_closed';"
                        "UPDATE activity_stock SET available=available+1");
}

static void check_members(json_t *json)
{
    const json_t *orders = json_object_get(json, "orders"), *shards = json_object_get(json, "shards"),
                 *balance = json_object_get(json, "balance"), *stock = json_object_get(json, "stock");

    ck_assert_int_eq(member(json_object_get(json, "activity"), "id"), id);
    ck_assert_int_eq(member(stock, "total"), TOTAL);
    ck_assert_int_eq(member(stock, "available"), TOTAL - 4);
    ck_assert_int_eq(member(json_object_get(orders, "pending"), "units"), 1);
    ck_assert_int_eq(member(json_object_get(orders, "paid"), "orders"), 1);
    ck_assert_int_eq(member(json_object_get(orders, "paid"), "units"), 3);
    ck_assert_int_eq(member(json_object_get(orders, "closed"), "units"), 1);
    ck_assert_int_eq(member(json_object_get(orders, "rejected"), "orders"), 0);
    ck_assert_uint_eq(json_array_size(shards), SHARDS);
    ck_assert_int_eq(member(json_array_get(shards, 1), "held"), 2);
    ck_assert_int_eq(member(json_array_get(shards, 1), "held_orders"), 1);
    ck_assert_int_eq(member(json_array_get(shards, 1), "left"), 246);
    ck_assert(json_is_true(json_object_get(json_array_get(shards, 1), "balanced")));
    ck_assert_int_eq(member(balance, "held"), 4);
    ck_assert_int_eq(member(balance, "sold"), 3);
    ck_assert_int_eq(member(balance, "live"), 4);
    ck_assert_int_eq(member(balance, "left"), TOTAL - 7);
    ck_assert_int_eq(member(balance, "held_without_live_order"), 3);
    ck_assert_int_eq(member(balance, "live_unknown_to_redis"), 0);
}

static void verdicts(bool shards, bool total, bool database, bool both)
{
    json_t *json, *balance;

    CTL("activity", "show", id_text, "--json");
    ck_assert_int_eq(testing_ctl.code, EXIT_OK);
    json = parsed();
    balance = json_object_get(json, "balance");
    ck_assert_int_eq(json_is_true(json_object_get(balance, "shards_good")), shards);
    ck_assert_int_eq(json_is_true(json_object_get(balance, "total_good")), total);
    ck_assert_int_eq(json_is_true(json_object_get(balance, "database_good")), database);
    ck_assert_int_eq(json_is_true(json_object_get(balance, "both_good")), both);
    json_decref(json);
}

START_TEST(shown)
{
    struct stock_keys keys;
    json_t *json;

    approve();
    CTL("activity", "show", id_text);
    said(EXIT_OK, "orderctl: it is not in Redis yet; `orderctl activity preheat %s` puts it there\n", id_text);
    CTL("activity", "preheat", id_text, "-q");
    sell();
    CTL("activity", "show", id_text, "--json");
    said(EXIT_OK, "%s", "");
    json = parsed();
    check_members(json);
    json_decref(json);
    verdicts(true, true, true, true);
    CTL("activity", "show", id_text);
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  shard 1    251     246       2       3          0  adds up\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out,
                                 "  yes  4 of 4 shards: cap = left + held + sold + forfeited\n"
                                 "  yes  1002 units in all shards, 1002 in the activity\n"
                                 "  yes  MySQL: total 1002 = available 998 + live 4\n"
                                 "  yes  available 998 = left 995 + held without a live order 3 + "
                                 "forfeited 0\n"
                                 "       - live unknown to Redis 0\n"
                                 "       3 units held without a live order: on their way, or to be given "
                                 "back\n"));

    testing_ctl_run_sql("UPDATE activity_stock SET available=available-1");
    verdicts(true, true, false, false);
    testing_ctl_run_sql("UPDATE activity_stock SET available=available+1");
    stock_keys_of(&keys, id, 0);
    command("INCRBY", keys.text[STOCK_KEY_STOCK], "1"); /* one unit from nowhere */
    verdicts(false, true, true, false);
    CTL("activity", "show", id_text);
    ck_assert_ptr_nonnull(
        strstr(testing_ctl.out, "  shard 0    251     251       1       0          0  does not add up\n"));
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "  NO   3 of 4 shards: "));
    forget_shard(0);
    verdicts(false, false, true, false);
}
END_TEST

/* Redis forgot a live order: the other sign of the difference. */
START_TEST(shown_forgotten)
{
    json_t *json;

    approve();
    CTL("activity", "preheat", id_text, "-q");
    insert_order("o_forgotten", 1, 3, 0);
    CTL("activity", "show", id_text, "--json");
    json = parsed();
    ck_assert_int_eq(member(json_object_get(json, "balance"), "live_unknown_to_redis"), 3);
    ck_assert_int_eq(member(json_object_get(json, "balance"), "held_without_live_order"), 0);
    json_decref(json);
    verdicts(true, true, true, true);
}
END_TEST

START_TEST(listed)
{
    CTL("activity", "list");
    said(EXIT_OK, "orderctl: there is no activity; see `orderctl activity create --help`\n");
    ck_assert_str_eq(testing_ctl.out, "");
    CTL("activity", "list", "--json");
    said(EXIT_OK, "%s", "");
    ck_assert_str_eq(testing_ctl.out, "");
    for (int i = 3; i >= 1; i--) {
        char number[8];

        snprintf(number, sizeof number, "%d", i);
        CTL("activity", "create", "-q", "--id", number, "--sku", "1", "--price", "0", "--currency", "EUR", "--stock",
            "5", "--title", i == 2 ? "\u51ac\033[2J" : "t", "--starts", "2030-01-01T00:00:00Z", "--ends",
            "2030-01-02T00:00:00Z");
        ck_assert_int_eq(testing_ctl.code, i == 2 ? EXIT_BAD_DATA : EXIT_OK);
    }
    /* What another program may have written. */
    testing_ctl_run_sql("UPDATE activity SET title=CONCAT('x',CHAR(27),'[2J') WHERE id=3");
    CTL("activity", "list");
    ck_assert_str_eq(testing_ctl.out, "ID  STATE   STARTS (UTC)      ENDS (UTC)        AVAILABLE  TITLE\n"
                                      " 1  review  2030-01-01 00:00  2030-01-02 00:00        5/5  t\n"
                                      " 3  review  2030-01-01 00:00  2030-01-02 00:00        5/5  x?[2J\n");
    CTL("activity", "list", "--json");
    ck_assert_ptr_nonnull(strstr(testing_ctl.out, "\"title\":\"x\\u001b[2J\""));
    CTL("activity", "show", "99");
    said(EXIT_BAD_DATA, "orderctl: activity show: there is no activity 99; see `orderctl activity list`\n");
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_test(t, created);
    tcase_add_test(t, created_otherwise);
    tcase_add_test(t, created_again);
    tcase_add_test(t, created_twice_at_once);
    tcase_add_test(t, not_created);
    tcase_add_test(t, approved);
    tcase_add_test(t, not_approved);
    tcase_add_test(t, preheated);
    tcase_add_test(t, preheated_too_early);
    tcase_add_test(t, live_key);
    tcase_add_test(t, foreign_key);
    tcase_add_test(t, half_a_shard);
    tcase_add_loop_test(t, resumed, 1, SHARDS + 1);
    tcase_add_test(t, lost_shard);
    tcase_add_test(t, eviction);
    tcase_add_test(t, redis_is_away);
    tcase_add_test(t, shown);
    tcase_add_test(t, shown_forgotten);
    tcase_add_test(t, listed);
}

int main(void)
{
    Suite *s = suite_create("ctl_activity");
    TCase *t = tcase_create("activity");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    add_tests(t);
    suite_add_tcase(s, t);
    return testing_main(s);
}
