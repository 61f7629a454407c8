/* rebuild: a shard comes back from the database after a loss of data; remove: it goes after settlement. */
#include "testing_stock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orderd/clock.h"

static struct kv *kv;
static struct testing_shard s;

static void setup(void)
{
    kv = testing_redis_shared();
}

static void teardown(void)
{
    kv_close(&kv);
}

static void rebuilt(int code, const char *note)
{
    struct stock_rebuilt answer = testing_rebuild(&s);

    ck_assert_msg(answer.code == code, "code %d (%s), not %d", answer.code, answer.note, code);
    ck_assert_str_eq(answer.note, note);
}

static struct stock_audit expect_empty(void)
{
    struct stock_audit a = testing_shard_audit(&s);
    struct error err;

    ck_assert_ok(stock_verify(kv, &s.plan, &err), &err);
    ck_assert_int_eq(a.paused, 1);
    ck_assert_int_eq(a.left, s.plan.cap);
    ck_assert_int_eq(a.held_orders + a.gone_orders + a.buyer_marks, 0);
    return a;
}

START_TEST(rebuild_creates_an_empty_paused_shard)
{
    struct stock_rebuilt answer;

    testing_shard_plan(&s, kv, 10, 5);
    answer = testing_rebuild(&s);
    ck_assert_int_eq(answer.code, STOCK_REBUILD_CREATED);
    ck_assert_int_eq(answer.left, 10);
    ck_assert_int_eq(answer.dropped, 0);
    expect_empty();
    ck_assert_str_eq(testing_take(&s, "a", 42, 1).note, "paused");
}
END_TEST

START_TEST(rebuild_repeats_and_keeps_what_was_adopted)
{
    struct stock_plan first;
    struct stock_audit a;
    struct error err;

    testing_shard_plan(&s, kv, 10, 5);
    rebuilt(STOCK_REBUILD_CREATED, "");
    testing_adopt(&s, "a", 42, 3, STOCK_ADOPT_AS_PENDING);
    testing_adopt(&s, "b", 43, 1, STOCK_ADOPT_AS_PAID);
    first = s.plan;
    s.plan.expire_at += 5000;
    rebuilt(STOCK_REBUILD_ALREADY, "");
    ck_assert_int_eq(testing_shard_audit(&s).expire_at, s.plan.expire_at);
    s.plan = first;
    rebuilt(STOCK_REBUILD_ALREADY, "");
    a = testing_shard_audit(&s);
    ck_assert_int_eq(a.expire_at, s.plan.expire_at + 5000); /* never pulled in */
    ck_assert_ok(stock_verify(kv, &s.plan, &err), &err);    /* and no TTL was either */
    ck_assert_int_eq(a.held, 3);
    ck_assert_int_eq(a.sold, 1);
    testing_pause_shard(&s, false);
    rebuilt(STOCK_REBUILD_ALREADY, ""); /* a crash after the last step: repeated too, and on sale it stays */
    ck_assert_int_eq(testing_take(&s, "c", 44, 1).code, STOCK_DEDUCT_TAKEN);
}
END_TEST

START_TEST(rebuild_replaces_an_older_shard_in_one_step)
{
    struct stock_rebuilt answer;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    testing_take(&s, "b", 43, 1);
    testing_give(&s, "c", 1);
    testing_pause_shard(&s, true);
    s.plan.epoch++;
    answer = testing_rebuild(&s);
    ck_assert_int_eq(answer.code, STOCK_REBUILD_REPLACED);
    ck_assert_int_eq(answer.dropped, 2);
    expect_empty();
}
END_TEST

START_TEST(rebuild_leaves_a_shard_on_sale_alone)
{
    struct strbuf before = STRBUF_INIT;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    testing_shard_dump(&s, &before);
    s.plan.epoch++;
    rebuilt(STOCK_REBUILD_ON_SALE, "");
    ck_assert(testing_shard_is(&s, &before));
    ck_assert_int_eq(testing_pause_shard(&s, true), STOCK_PAUSE_CHANGED); /* by the next epoch */
    rebuilt(STOCK_REBUILD_REPLACED, "");

    testing_shard_meta(&s, "paused", 0);
    testing_shard_meta(&s, "ends_at", clock_wall_ms() - 1); /* over: nothing can be sold from it either */
    s.plan.epoch++;
    rebuilt(STOCK_REBUILD_REPLACED, "");
    strbuf_release(&before);
}
END_TEST

START_TEST(rebuild_refuses_other_values_and_later_epochs)
{
    static const struct {
        int64_t cap, limit, starts, ends, epoch;
        int code;
        const char *note;
    } rows[] = {
        {1, 0, 0, 0, 0, STOCK_REBUILD_OTHER_VALUES, "cap"},
        {0, 1, 0, 0, 0, STOCK_REBUILD_OTHER_VALUES, "limit"},
        {0, 0, 1, 0, 0, STOCK_REBUILD_OTHER_VALUES, "starts_at"},
        {0, 0, 0, 1, 0, STOCK_REBUILD_OTHER_VALUES, "ends_at"},
        {0, 0, 0, 0, -1, STOCK_REBUILD_NEWER_EPOCH, ""},
    };
    struct strbuf before = STRBUF_INIT;
    struct stock_plan first;

    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    testing_pause_shard(&s, true);
    testing_shard_dump(&s, &before);
    first = s.plan;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        s.plan.cap += rows[i].cap;
        s.plan.limit += rows[i].limit;
        s.plan.starts_at += rows[i].starts;
        s.plan.ends_at += rows[i].ends;
        s.plan.epoch += rows[i].epoch;
        rebuilt(rows[i].code, rows[i].note);
        s.plan = first;
    }
    ck_assert(testing_shard_is(&s, &before));
    strbuf_release(&before);
}
END_TEST

/* What a loss can leave: half a shard, keys of foreign types, no readable epoch. None of it can sell, so all of it can
 * be replaced by the next epoch; by the same one only where nothing shows that it was rebuilt in it. */
static const struct loss {
    int key;
    const char *command, *field, *value;
    int code; /* of a rebuild with the same epoch */
} losses[] = {
    {STOCK_KEY_STOCK, "DEL", NULL, NULL, STOCK_REBUILD_DAMAGED},
    {STOCK_KEY_STOCK, "SET", "ten", NULL, STOCK_REBUILD_DAMAGED},
    {STOCK_KEY_META, "DEL", NULL, NULL, STOCK_REBUILD_REPLACED},
    {STOCK_KEY_META, "HSET", "epoch", "x", STOCK_REBUILD_REPLACED},
    {STOCK_KEY_META, "HDEL", "epoch", NULL, STOCK_REBUILD_REPLACED},
    {STOCK_KEY_META, "HSET", "limit", "", STOCK_REBUILD_DAMAGED},
    {STOCK_KEY_META, "HSET", "held", "1e3", STOCK_REBUILD_DAMAGED},
    {STOCK_KEY_META, "HSET", "paused", "no", STOCK_REBUILD_DAMAGED},
    {STOCK_KEY_META, "HSET", "ends_at", "0x1", STOCK_REBUILD_DAMAGED},
    {STOCK_KEY_META, "HSET", "starts_at", " ", STOCK_REBUILD_DAMAGED},
    {STOCK_KEY_META, "HSET", "expire_at", "5", STOCK_REBUILD_ALREADY}, /* which sets it right */
};

static void make_foreign(int key)
{
    testing_redis_run(kv, "DEL", s.keys.text[key], NULL);
    testing_redis_run(kv, "SADD", s.keys.text[key], "x", NULL);
}

static void suffer(const struct loss *loss, bool foreign)
{
    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    if (foreign)
        make_foreign(loss->key);
    else
        testing_redis_run(kv, loss->command, s.keys.text[loss->key], loss->field, loss->value, NULL);
}

START_TEST(rebuild_replaces_whatever_is_left)
{
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        suffer(&losses[i], false);
        ck_assert_msg(testing_rebuild(&s).code == losses[i].code, "row %zu", i);
        suffer(&losses[i], false);
        s.plan.epoch++;
        ck_assert_msg(testing_rebuild(&s).code == STOCK_REBUILD_REPLACED, "row %zu", i);
        expect_empty();
        suffer(&losses[i], true);
        s.plan.epoch++;
        rebuilt(STOCK_REBUILD_REPLACED, "");
        expect_empty();
    }
    for (int key = STOCK_KEY_HELD; key <= STOCK_KEY_BUYERS; key++)
        make_foreign(key);
    s.plan.epoch++;
    rebuilt(STOCK_REBUILD_REPLACED, "");
    expect_empty();
}
END_TEST

/* ---- the whole way ---- */

#define ORDERS 400

static char names[ORDERS][16];

/* The database's side: half pending, a quarter paid, a quarter closed. */
static struct stock_row row_of(int i)
{
    static const enum stock_adopt_as as[] = {STOCK_ADOPT_AS_PENDING, STOCK_ADOPT_AS_PAID, STOCK_ADOPT_AS_PENDING,
                                             STOCK_ADOPT_AS_CLOSED};
    struct stock_row row = testing_row(&s, names[i], 1000 + i, 1 + i % 2, as[i % 4]);

    row.epoch = 2;
    return row;
}

static void sell_all(void)
{
    for (int i = 0; i < ORDERS; i++) {
        struct stock_row row;

        snprintf(names[i], sizeof names[i], "o%d", i);
        row = row_of(i);
        ck_assert_int_eq(testing_take(&s, names[i], row.user, row.quantity).code, STOCK_DEDUCT_TAKEN);
        if (row.as == STOCK_ADOPT_AS_PAID)
            testing_settle(&s, names[i]);
        if (row.as == STOCK_ADOPT_AS_CLOSED) {
            struct stock_giveback g = testing_giveback(&s, names[i], row.quantity);

            g.free_mark = false;
            testing_return(&s, &g);
        }
    }
}

static void adopt_all(int count)
{
    struct stock_row rows[ORDERS];
    struct stock_adopted out[ORDERS];
    struct error errs[ORDERS], err;

    for (int i = 0; i < count; i++)
        rows[i] = row_of(i);
    ck_assert_ok(stock_adopt_many(kv, rows, (size_t)count, out, errs, &err), &err);
    for (int i = 0; i < count; i++)
        ck_assert_int_gt(out[i].code, 0);
}

START_TEST(a_lost_shard_comes_back_as_it_was)
{
    struct stock_audit was, is;
    struct error err;

    testing_shard_create(&s, kv, 1000, 2);
    sell_all();
    was = testing_shard_audit(&s);
    for (int loss = 0; loss < 3; loss++) {
        if (loss < 2) /* all of it, or the half that was not flushed to disk */
            testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_HELD],
                              s.keys.text[loss ? STOCK_KEY_BUYERS : STOCK_KEY_STOCK],
                              s.keys.text[loss ? STOCK_KEY_GONE : STOCK_KEY_META], NULL);
        s.plan.epoch++;
        if (loss > 0)
            ck_assert_int_eq(testing_pause_shard(&s, true), STOCK_PAUSE_CHANGED);
        ck_assert_int_gt(testing_rebuild(&s).code, 0);
        adopt_all(ORDERS / 3); /* and crashed */
        ck_assert_int_eq(testing_rebuild(&s).code, STOCK_REBUILD_ALREADY);
        adopt_all(ORDERS);
        ck_assert_ok(stock_verify(kv, &s.plan, &err), &err);
        is = testing_shard_audit(&s);
        ck_assert_int_eq(is.left, was.left);
        ck_assert_int_eq(is.held, was.held);
        ck_assert_int_eq(is.sold, was.sold);
        ck_assert_int_eq(is.held_orders, was.held_orders);
        ck_assert_int_eq(is.buyer_marks, was.buyer_marks);
        ck_assert_int_eq(testing_pause_shard(&s, false), STOCK_PAUSE_CHANGED);
    }
    ck_assert_int_eq(testing_take(&s, "again", 1001, 1).code, STOCK_DEDUCT_OVER_LIMIT);
    ck_assert_int_eq(testing_take(&s, "again", 1, 1).code, STOCK_DEDUCT_TAKEN);
    ck_assert_int_eq(testing_give(&s, names[0], 1).back, 1); /* and closes as any other, whatever its epoch */
    testing_shard_audit(&s);
}
END_TEST

/* ---- remove ---- */

static void removed(int code, const char *note)
{
    struct stock_removed answer = testing_remove(&s);

    ck_assert_msg(answer.code == code, "code %d (%s), not %d", answer.code, answer.note, code);
    ck_assert_str_eq(answer.note, note);
}

static int64_t keys_there(void)
{
    struct kv_reply *reply = testing_redis_do(kv, "EXISTS", s.keys.text[0], s.keys.text[1], s.keys.text[2],
                                              s.keys.text[3], s.keys.text[4], NULL);
    int64_t count = kv_reply_integer(reply);

    kv_reply_free(&reply);
    return count;
}

START_TEST(remove_takes_a_settled_shard)
{
    testing_shard_create(&s, kv, 10, 5);
    testing_take(&s, "a", 42, 3);
    testing_settle(&s, "a");
    testing_take(&s, "b", 43, 3);
    testing_give(&s, "b", 3);
    testing_shard_meta(&s, "ends_at", clock_wall_ms() - 1);
    ck_assert_int_eq(keys_there(), 4); /* held is empty */
    removed(STOCK_REMOVE_REMOVED, "");
    ck_assert_int_eq(keys_there(), 0);
    removed(STOCK_REMOVE_ABSENT, "");
    /* What comes late finds nothing, and makes nothing. */
    ck_assert_int_eq(testing_give(&s, "b", 3).code, STOCK_RETURN_NO_SHARD);
    ck_assert_int_eq(testing_settle(&s, "b").code, STOCK_SETTLE_NO_SHARD);
    ck_assert_int_eq(testing_adopt(&s, "b", 43, 3, STOCK_ADOPT_AS_CLOSED).code, STOCK_ADOPT_NO_SHARD);
    ck_assert_int_eq(testing_take(&s, "c", 43, 1).code, STOCK_DEDUCT_NO_SHARD);
    ck_assert_int_eq(testing_pause_shard(&s, true), STOCK_PAUSE_NO_SHARD);
    ck_assert_int_eq(keys_there(), 0);
}
END_TEST

START_TEST(remove_refuses_what_may_still_be_needed)
{
    struct strbuf before = STRBUF_INIT;

    testing_shard_create(&s, kv, 10, 5);
    testing_shard_dump(&s, &before);
    removed(STOCK_REMOVE_ON_SALE, "");
    s.plan.epoch++;
    removed(STOCK_REMOVE_OTHER_EPOCH, "");
    s.plan.epoch -= 2;
    removed(STOCK_REMOVE_OTHER_EPOCH, "");
    s.plan.epoch++;
    ck_assert(testing_shard_is(&s, &before));
    testing_take(&s, "a", 42, 3);
    testing_pause_shard(&s, true);
    testing_shard_dump(&s, &before);
    ck_assert_int_eq(testing_remove(&s).held, 1);
    removed(STOCK_REMOVE_HELD, "");
    ck_assert(testing_shard_is(&s, &before));
    testing_redis_run(kv, "DEL", s.keys.text[STOCK_KEY_HELD], NULL);
    removed(STOCK_REMOVE_HELD, ""); /* the counter says so still */
    testing_shard_meta(&s, "held", 0);
    removed(STOCK_REMOVE_REMOVED, "");
    strbuf_release(&before);
}
END_TEST

static void make_shards(int count)
{
    for (int i = 0; i < count; i++) {
        struct stock_preheated p;
        struct error err;

        s.plan.shard = i;
        stock_keys_of(&s.keys, s.plan.activity, i);
        ck_assert_ok(stock_preheat(kv, &s.plan, &p, &err), &err);
        testing_shard_meta(&s, "paused", 1);
        testing_shard_meta(&s, "ends_at", clock_wall_ms() - 1);
    }
}

static int64_t keys_with(const char *prefix)
{
    char pattern[80];
    struct kv_reply *reply;
    int64_t count;

    snprintf(pattern, sizeof pattern, "%s*", prefix);
    reply = testing_redis_do(kv, "KEYS", pattern, NULL);
    count = (int64_t)kv_reply_count(reply);
    kv_reply_free(&reply);
    return count;
}

/* A whole activity, with strays of somebody's own, between keys of others that look much the same. */
START_TEST(remove_all_takes_everything_of_one_activity)
{
    struct stock_removal what;
    struct stock_removal_done done;
    struct error err;
    char mine[64], others[64], name[96];

    testing_shard_plan(&s, kv, 10, 5);
    make_shards(12);
    snprintf(mine, sizeof mine, "sk:{%" PRId64 ":", s.plan.activity);
    snprintf(others, sizeof others, "sk:{%" PRId64 "1:", s.plan.activity);
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "%s%d}:stray%d", mine, i % 12, i);
        testing_redis_run(kv, "SET", name, "x", "EX", "60", NULL);
        snprintf(name, sizeof name, "%s%d}:stray%d", others, i % 12, i);
        testing_redis_run(kv, "SET", name, "x", "EX", "60", NULL);
    }
    what = (struct stock_removal){s.plan.activity, 12, s.plan.epoch, 100, 1};
    ck_assert_ok(stock_remove_all(kv, &what, &done, &err), &err);
    ck_assert_int_eq(done.refused, -1);
    ck_assert_int_eq(done.shards, 12);
    ck_assert_int_eq(done.strays, 500);
    ck_assert_int_eq(keys_with(mine), 0);
    ck_assert_int_eq(keys_with(others), 500);
    ck_assert_ok(stock_remove_all(kv, &what, &done, &err), &err);
    ck_assert_int_eq(done.shards, 0);
    ck_assert_int_eq(done.strays, 0);
}
END_TEST

START_TEST(remove_all_ends_at_the_first_refusal)
{
    struct stock_removal what;
    struct stock_removal_done done;
    struct error err;
    char mine[64];

    testing_shard_plan(&s, kv, 10, 5);
    make_shards(5);
    s.plan.shard = 2;
    testing_adopt(&s, "a", 42, 1, STOCK_ADOPT_AS_PENDING);
    what = (struct stock_removal){s.plan.activity, 5, s.plan.epoch, 100, 0};
    ck_assert_ok(stock_remove_all(kv, &what, &done, &err), &err);
    ck_assert_int_eq(done.refused, 2);
    ck_assert_int_eq(done.shards, 2);
    ck_assert_int_eq(done.last.code, STOCK_REMOVE_HELD);
    ck_assert_int_eq(done.last.held, 1);
    snprintf(mine, sizeof mine, "sk:{%" PRId64 ":", s.plan.activity);
    ck_assert_int_eq(keys_with(mine), 3 * 2 + 2); /* stock and meta of three, and what the order added */
    testing_give(&s, "a", 1);
    ck_assert_ok(stock_remove_all(kv, &what, &done, &err), &err);
    ck_assert_int_eq(done.refused, -1);
    ck_assert_int_eq(done.shards, 3);
    ck_assert_int_eq(keys_with(mine), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_rebuild");
    TCase *tc = tcase_create("stock_rebuild");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, rebuild_creates_an_empty_paused_shard);
    tcase_add_test(tc, rebuild_repeats_and_keeps_what_was_adopted);
    tcase_add_test(tc, rebuild_replaces_an_older_shard_in_one_step);
    tcase_add_test(tc, rebuild_leaves_a_shard_on_sale_alone);
    tcase_add_test(tc, rebuild_refuses_other_values_and_later_epochs);
    tcase_add_test(tc, rebuild_replaces_whatever_is_left);
    tcase_add_test(tc, a_lost_shard_comes_back_as_it_was);
    tcase_add_test(tc, remove_takes_a_settled_shard);
    tcase_add_test(tc, remove_refuses_what_may_still_be_needed);
    tcase_add_test(tc, remove_all_takes_everything_of_one_activity);
    tcase_add_test(tc, remove_all_ends_at_the_first_refusal);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
