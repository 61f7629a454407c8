#include "testing_stock.h"

#include <inttypes.h>
#include <stdio.h>

#include "orderd/backoff.h"
#include "orderd/clock.h"

/* Shards outlive their test by minutes, and process ids come round: random, and over 2^53. */
static int64_t random_activity(void)
{
    return (int64_t)((backoff_seed() >> 2) | (UINT64_C(1) << 61));
}

void testing_shard_plan(struct testing_shard *shard, struct kv *kv, int64_t cap, int64_t limit)
{
    int64_t now = clock_wall_ms();

    shard->kv = kv;
    shard->plan = (struct stock_plan){.activity = random_activity(),
                                      .shard = 3,
                                      .cap = cap,
                                      .epoch = 2,
                                      .limit = limit,
                                      .starts_at = now - 1000,
                                      .ends_at = now + 600000,
                                      .expire_at = now + 900000};
    stock_keys_of(&shard->keys, shard->plan.activity, shard->plan.shard);
}

void testing_shard_create(struct testing_shard *shard, struct kv *kv, int64_t cap, int64_t limit)
{
    struct stock_preheated answer;
    struct error err;

    testing_shard_plan(shard, kv, cap, limit);
    ck_assert_ok(stock_preheat(kv, &shard->plan, &answer, &err), &err);
    ck_assert_int_eq(answer.code, STOCK_PREHEAT_CREATED);
    ck_assert_ok(stock_verify(kv, &shard->plan, &err), &err);
}

struct stock_audit testing_shard_audit(struct testing_shard *shard)
{
    struct stock_audit a;
    struct error err;

    ck_assert_ok(stock_audit(shard->kv, shard->plan.activity, shard->plan.shard, &a, &err), &err);
    ck_assert_int_eq(a.code, STOCK_AUDIT_PRESENT);
    ck_assert_msg(stock_audit_balances(&a), "cap %ld, left %ld, held %ld, sold %ld, forfeited %ld", (long)a.cap,
                  (long)a.left, (long)a.held, (long)a.sold, (long)a.forfeited);
    ck_assert(a.ttl_stock > 0 && a.ttl_meta > 0 && a.ttl_held != -1 && a.ttl_gone != -1 && a.ttl_buyers != -1);
    return a;
}

struct stock_order testing_order(const struct testing_shard *shard, const char *order_no, int64_t user,
                                 int64_t quantity)
{
    return (struct stock_order){.activity = shard->plan.activity,
                                .shard = shard->plan.shard,
                                .order_no = slice_of(order_no),
                                .user = user,
                                .quantity = quantity,
                                .amount = quantity * 9900,
                                .epoch = shard->plan.epoch};
}

struct stock_deducted testing_deduct(struct testing_shard *shard, const struct stock_order *order)
{
    struct stock_deducted answer;
    struct error err;

    ck_assert_ok(stock_deduct(shard->kv, order, &answer, &err), &err);
    return answer;
}

struct stock_returned testing_return(struct testing_shard *shard, const struct stock_giveback *giveback)
{
    struct stock_returned answer;
    struct error err;

    ck_assert_ok(stock_return(shard->kv, giveback, &answer, &err), &err);
    return answer;
}

struct stock_giveback testing_giveback(const struct testing_shard *shard, const char *order_no, int64_t units)
{
    return (struct stock_giveback){.activity = shard->plan.activity,
                                   .shard = shard->plan.shard,
                                   .order_no = slice_of(order_no),
                                   .units_back = units,
                                   .epoch = shard->plan.epoch,
                                   .free_mark = true,
                                   .reservations = true};
}

struct stock_deducted testing_take(struct testing_shard *shard, const char *order_no, int64_t user, int64_t quantity)
{
    struct stock_order order = testing_order(shard, order_no, user, quantity);

    return testing_deduct(shard, &order);
}

struct stock_returned testing_give(struct testing_shard *shard, const char *order_no, int64_t units)
{
    struct stock_giveback giveback = testing_giveback(shard, order_no, units);

    return testing_return(shard, &giveback);
}

void testing_shard_dump(struct testing_shard *shard, struct strbuf *out)
{
    strbuf_reset(out);
    for (int i = 0; i < STOCK_KEY_COUNT; i++) {
        struct kv_reply *reply = testing_redis_do(shard->kv, "DUMP", shard->keys.text[i], NULL);

        strbuf_addf(out, "%zu:", kv_reply_text(reply).len);
        strbuf_add_slice(out, kv_reply_text(reply));
        kv_reply_free(&reply);
    }
}

void testing_shard_hash(struct testing_shard *shard, int key, const char *field, const char *value)
{
    struct kv_reply *reply = testing_redis_do(shard->kv, "HGET", shard->keys.text[key], field, NULL);

    if (value)
        ck_assert_msg(slice_is(kv_reply_text(reply), value), "%s is %.*s", field, (int)kv_reply_text(reply).len,
                      kv_reply_text(reply).ptr);
    else
        ck_assert_int_eq(kv_reply_kind(reply), KV_NIL);
    kv_reply_free(&reply);
}

void testing_shard_meta(struct testing_shard *shard, const char *field, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    testing_redis_run(shard->kv, "HSET", shard->keys.text[STOCK_KEY_META], field, text, NULL);
}
