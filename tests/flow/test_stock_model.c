/* Thousands of random steps against one shard and, beside it, against a model of a few lines: every answer must be the
 * model's, and the shard must balance after each step. ORDERD_TEST_SEED repeats a run. */
#include "testing_stock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd/backoff.h"

#define ORDERS 1000
#define USERS  60
#define CAP    60
#define LIMIT  3
#define STEPS  4000

enum state { UNSEEN, HELD, RETURNED, FORFEITED, REFUSED };

struct order {
    char order_no[STOCK_ORDER_NO_MAX + 1];
    int64_t user;
    int quantity;
    enum state state;
    int seq;
    int64_t reserved_at;
};

static struct order orders[ORDERS];
static int marks[USERS][LIMIT]; /* index of the order + 1; stays when a giveback keeps the mark */
static int left, held, forfeited;
static int deducted[32], returned[32]; /* how often each code came, at code + 16 */
static uint64_t random_state;

static int dice(int n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int)(random_state % (uint64_t)n);
}

static int user_index(const struct order *o)
{
    return (int)(o->user % USERS);
}

static int units_of(int user)
{
    int units = 0;

    for (int seq = 0; seq < LIMIT; seq++)
        units += marks[user][seq] ? orders[marks[user][seq] - 1].quantity : 0;
    return units;
}

static int lowest_free(int user)
{
    for (int seq = 0; seq < LIMIT; seq++) {
        if (!marks[user][seq])
            return seq;
    }
    return -1;
}

static int model_deduct(struct order *o)
{
    if (o->state == HELD)
        return STOCK_DEDUCT_HELD;
    if (o->state != UNSEEN)
        return STOCK_DEDUCT_GONE;
    if (units_of(user_index(o)) + o->quantity > LIMIT)
        return STOCK_DEDUCT_OVER_LIMIT;
    if (left < o->quantity)
        return STOCK_DEDUCT_SHORT;
    o->state = HELD;
    o->seq = lowest_free(user_index(o));
    marks[user_index(o)][o->seq] = (int)(o - orders) + 1;
    left -= o->quantity;
    held += o->quantity;
    return STOCK_DEDUCT_TAKEN;
}

static void step_deduct(struct testing_shard *s, struct order *o)
{
    struct stock_deducted d = testing_take(s, o->order_no, o->user, o->quantity);
    int code = model_deduct(o);

    ck_assert_int_eq(d.code, code);
    deducted[code + 16]++;
    if (code == STOCK_DEDUCT_TAKEN)
        o->reserved_at = d.reserved_at;
    if (code == STOCK_DEDUCT_TAKEN || code == STOCK_DEDUCT_HELD) {
        ck_assert_int_eq(d.user_seq, o->seq);
        ck_assert_int_eq(d.reserved_at, o->reserved_at);
        ck_assert_int_eq(d.left, left);
    }
    if (code == STOCK_DEDUCT_GONE)
        ck_assert_str_eq(d.note, o->state == RETURNED ? "returned" : o->state == FORFEITED ? "forfeited" : "refused");
}

static int model_return(struct order *o, int lost, bool free_mark)
{
    if (o->state != HELD && o->state != UNSEEN)
        return STOCK_RETURN_ALREADY;
    if (o->state == UNSEEN) {
        o->state = REFUSED;
        return STOCK_RETURN_REFUSED;
    }
    o->state = lost ? FORFEITED : RETURNED;
    held -= o->quantity;
    left += o->quantity - lost;
    forfeited += lost;
    if (free_mark)
        marks[user_index(o)][o->seq] = 0;
    return STOCK_RETURN_GIVEN_BACK;
}

static void step_return(struct testing_shard *s, struct order *o)
{
    struct stock_giveback g = testing_giveback(s, o->order_no, dice(5));
    int lost = dice(8) ? 0 : 1 + dice(o->quantity);
    struct stock_returned r;
    int code;

    g.units_forfeited = lost;
    g.free_mark = dice(30) != 0;
    r = testing_return(s, &g);
    code = model_return(o, lost, g.free_mark);
    ck_assert_int_eq(r.code, code);
    returned[code + 16]++;
    if (code == STOCK_RETURN_GIVEN_BACK) {
        ck_assert_int_eq(r.back, o->quantity - lost);
        ck_assert_int_eq(r.forfeited, lost);
        ck_assert_int_eq(r.left, left);
    }
}

static void step(struct testing_shard *s)
{
    struct order *o = &orders[dice(ORDERS)];
    struct stock_preheated p;
    struct error err;
    int what = dice(100);

    if (what < 55) {
        step_deduct(s, o);
    } else if (what < 95) {
        step_return(s, o);
    } else if (what < 97) {
        ck_assert_ok(stock_preheat(s->kv, &s->plan, &p, &err), &err);
        ck_assert_int_eq(p.code, STOCK_PREHEAT_COMPLETE);
    } else {
        testing_redis_run(s->kv, "SCRIPT", "FLUSH", NULL);
    }
}

static void compare(struct testing_shard *s)
{
    struct stock_audit a = testing_shard_audit(s);
    int64_t in_ledger = 0, gone = 0, marked = 0;

    for (int i = 0; i < ORDERS; i++) {
        in_ledger += orders[i].state == HELD;
        gone += orders[i].state > HELD;
    }
    for (int i = 0; i < USERS * LIMIT; i++)
        marked += marks[i / LIMIT][i % LIMIT] != 0;
    ck_assert_int_eq(a.left, left);
    ck_assert_int_eq(a.held, held);
    ck_assert_int_eq(a.forfeited, forfeited);
    ck_assert_int_eq(a.held_orders, in_ledger);
    ck_assert_int_eq(a.gone_orders, gone);
    ck_assert_int_eq(a.buyer_marks, marked);
}

static void first_orders(void)
{
    for (int i = 0; i < ORDERS; i++) {
        snprintf(orders[i].order_no, sizeof orders[i].order_no, i % 5 ? "9%018d" : "9%018d-r%d", i, 1 + i % 9999);
        orders[i].user = INT64_C(9007199254740992) + dice(USERS);
        orders[i].quantity = 1 + dice(2);
    }
    left = CAP;
}

START_TEST(random_steps_agree_with_the_model)
{
    const char *given = getenv("ORDERD_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : backoff_seed() | 1;
    struct testing_shard s;

    printf("ORDERD_TEST_SEED=%" PRIu64 "\n", seed);
    fflush(stdout);
    random_state = seed;
    first_orders();
    testing_shard_create(&s, testing_redis_shared(), CAP, LIMIT);
    for (int i = 0; i < STEPS; i++) {
        step(&s);
        compare(&s);
    }
    kv_close(&s.kv);
    /* A run that never met one of these would prove little. */
    ck_assert(deducted[STOCK_DEDUCT_TAKEN + 16] && deducted[STOCK_DEDUCT_HELD + 16] &&
              deducted[STOCK_DEDUCT_SHORT + 16]);
    ck_assert(deducted[STOCK_DEDUCT_OVER_LIMIT + 16] && deducted[STOCK_DEDUCT_GONE + 16]);
    ck_assert(returned[STOCK_RETURN_GIVEN_BACK + 16] && returned[STOCK_RETURN_ALREADY + 16]);
    ck_assert(returned[STOCK_RETURN_REFUSED + 16] && forfeited);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock_model");
    TCase *tc = tcase_create("stock_model");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, random_steps_agree_with_the_model, 0, 3);
    suite_add_tcase(suite, tc);
    return testing_main(suite);
}
