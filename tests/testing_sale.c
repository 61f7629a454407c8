#include "testing_sale.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

void sale_teardown(void)
{
    char state[STOCK_STATE_KEY_MAX];

    for (int i = 0; i < SALE_SHARDS; i++)
        sale_forget(i);
    stock_state_key(state, sale_id);
    testing_redis_run(sale_kv, "DEL", state, NULL);
    kv_close(&sale_kv);
    conf_destroy(&conf);
    testing_ctl_teardown();
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
    char text[64];

    for (int i = 0; words[i]; i++)
        argv[4 + i] = words[i];
    snprintf(text, sizeof text, "%s", fault);
    setenv("ORDERD_FAULT", text, 1);
    program_start(&testing_ctl, argv);
    program_wait(&testing_ctl);
    unsetenv("ORDERD_FAULT");
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
                          .epoch = 1,
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

void sale_command(const char *verb, const char *key, const char *value)
{
    struct slice argv[] = {slice_of(verb), slice_of(key), slice_of(value)};
    struct kv_reply *reply = kv_command(sale_kv, argv, 3, &err);

    ck_assert_ok(reply != NULL, &err);
    kv_reply_free(&reply);
}
