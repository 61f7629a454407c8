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

struct stock_row testing_row(const struct testing_shard *shard, const char *order_no, int64_t user, int64_t quantity,
                             enum stock_adopt_as as)
{
    return (struct stock_row){.activity = shard->plan.activity,
                              .shard = shard->plan.shard,
                              .order_no = slice_of(order_no),
                              .user = user,
                              .quantity = quantity,
                              .amount = quantity * 9900,
                              .epoch = shard->plan.epoch,
                              .reserved_at = shard->plan.starts_at + 1,
                              .as = as};
}

struct stock_adopted testing_adopt_row(struct testing_shard *shard, const struct stock_row *row)
{
    struct stock_adopted answer;
    struct error err;

    ck_assert_ok(stock_adopt(shard->kv, row, &answer, &err), &err);
    return answer;
}

struct stock_adopted testing_adopt(struct testing_shard *shard, const char *order_no, int64_t user, int64_t quantity,
                                   enum stock_adopt_as as)
{
    struct stock_row row = testing_row(shard, order_no, user, quantity, as);

    return testing_adopt_row(shard, &row);
}

struct stock_settled testing_settle(struct testing_shard *shard, const char *order_no)
{
    struct stock_paid order = {shard->plan.activity, shard->plan.shard, slice_of(order_no)};
    struct stock_settled answer;
    struct error err;

    ck_assert_ok(stock_settle(shard->kv, &order, &answer, &err), &err);
    return answer;
}

struct stock_reclaimed testing_reclaim(struct testing_shard *shard, int64_t forfeited_seen, int64_t units)
{
    struct stock_reclaim what = {shard->plan.activity, shard->plan.shard, forfeited_seen, units, shard->plan.epoch};
    struct stock_reclaimed answer;
    struct error err;

    ck_assert_ok(stock_reclaim(shard->kv, &what, &answer, &err), &err);
    return answer;
}

struct stock_restocked testing_restock(struct testing_shard *shard, int64_t cap_seen, int64_t cap)
{
    struct stock_restock what = {shard->plan.activity, shard->plan.shard, cap_seen, cap, shard->plan.epoch};
    struct stock_restocked answer;
    struct error err;

    ck_assert_ok(stock_restock(shard->kv, &what, &answer, &err), &err);
    return answer;
}

struct stock_extended testing_extend(struct testing_shard *shard, int64_t ends_at, int64_t expire_at)
{
    struct stock_extend what = {shard->plan.activity, shard->plan.shard, ends_at, expire_at, shard->plan.epoch, 0};
    struct stock_extended answer;
    struct error err;

    ck_assert_ok(stock_extend(shard->kv, &what, &answer, &err), &err);
    return answer;
}

struct stock_extended testing_window(struct testing_shard *shard, int64_t starts_at, int64_t ends_at)
{
    struct stock_extend what = {.activity = shard->plan.activity,
                                .shard = shard->plan.shard,
                                .starts_at = starts_at,
                                .ends_at = ends_at,
                                .expire_at = shard->plan.expire_at,
                                .epoch = shard->plan.epoch};
    struct stock_extended answer;
    struct error err;

    ck_assert_ok(stock_extend(shard->kv, &what, &answer, &err), &err);
    return answer;
}

int testing_pause_shard(struct testing_shard *shard, bool paused)
{
    struct stock_pause what = {shard->plan.activity, shard->plan.shard, paused, shard->plan.epoch};
    struct stock_paused answer;
    struct error err;

    ck_assert_ok(stock_pause(shard->kv, &what, &answer, &err), &err);
    return answer.code;
}

struct stock_announced testing_announce(struct testing_shard *shard, const char *state, int shards)
{
    struct stock_announcement what = {.activity = shard->plan.activity,
                                      .state = state,
                                      .starts_at = shard->plan.starts_at,
                                      .ends_at = shard->plan.ends_at,
                                      .epoch = shard->plan.epoch,
                                      .shards = shards};
    struct stock_announced answer;
    struct error err;

    ck_assert_ok(stock_announce(shard->kv, &what, &answer, &err), &err);
    return answer;
}

struct stock_rebuilt testing_rebuild(struct testing_shard *shard)
{
    struct stock_rebuilt answer;
    struct error err;

    ck_assert_ok(stock_rebuild(shard->kv, &shard->plan, &answer, &err), &err);
    return answer;
}

struct stock_removed testing_remove(struct testing_shard *shard)
{
    struct stock_remove what = {shard->plan.activity, shard->plan.shard, shard->plan.epoch};
    struct stock_removed answer;
    struct error err;

    ck_assert_ok(stock_remove(shard->kv, &what, &answer, &err), &err);
    return answer;
}

void testing_forfeit(struct testing_shard *shard, const char *order_no, int64_t units)
{
    struct stock_giveback giveback = testing_giveback(shard, order_no, 0);

    giveback.units_forfeited = units;
    ck_assert_int_eq(testing_return(shard, &giveback).forfeited, units);
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

bool testing_shard_is(struct testing_shard *shard, const struct strbuf *dump)
{
    struct strbuf now = STRBUF_INIT;
    bool same;

    testing_shard_dump(shard, &now);
    same = slice_equal((struct slice){now.data, now.len}, (struct slice){dump->data, dump->len});
    strbuf_release(&now);
    return same;
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
