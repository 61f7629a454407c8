/* Thousands of random steps against one shard and, beside it, against a model of a few lines: every answer must be the
 * model's, and the shard must balance after each step. ORDERD_TEST_SEED repeats a run. */
#include "testing_stock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd/backoff.h"

#define ORDERS 400
#define USERS  60
#define CAP    60
#define LIMIT  3
#define STEPS  6000

enum state { UNSEEN, HELD, RETURNED, FORFEITED, REFUSED, SOLD };

static const char *const words[] = {"", "", "returned", "forfeited", "refused", "sold"};

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
static int cap, left, held, sold, forfeited;
static bool paused;
static int64_t expire_at;
static int met[STOCK_SCRIPT_COUNT][32]; /* how often each code came, at code + 16 */
static uint64_t random_state;

static void agree(enum stock_script script, int code, int expected)
{
    ck_assert_msg(code == expected, "%s: code %d, and the model says %d", stock_script(script)->name, code, expected);
    met[script][code + 16]++;
}

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

static int *mark_of(const struct order *o)
{
    return &marks[user_index(o)][o->seq];
}

static bool owns_mark(const struct order *o)
{
    return *mark_of(o) == (int)(o - orders) + 1;
}

/* What adopt's note says. */
static const char *set_mark(const struct order *o)
{
    if (!*mark_of(o))
        *mark_of(o) = (int)(o - orders) + 1;
    return owns_mark(o) ? "" : "mark_taken";
}

static int model_deduct(struct order *o)
{
    if (o->state == HELD)
        return STOCK_DEDUCT_HELD;
    if (o->state != UNSEEN)
        return STOCK_DEDUCT_GONE;
    if (paused)
        return STOCK_DEDUCT_CLOSED;
    if (units_of(user_index(o)) + o->quantity > LIMIT)
        return STOCK_DEDUCT_OVER_LIMIT;
    if (left < o->quantity)
        return STOCK_DEDUCT_SHORT;
    o->state = HELD;
    o->seq = lowest_free(user_index(o));
    *mark_of(o) = (int)(o - orders) + 1;
    left -= o->quantity;
    held += o->quantity;
    return STOCK_DEDUCT_TAKEN;
}

static void step_deduct(struct testing_shard *s, struct order *o)
{
    struct stock_deducted d = testing_take(s, o->order_no, o->user, o->quantity);
    int code = model_deduct(o);

    agree(STOCK_SCRIPT_DEDUCT, d.code, code);
    if (code == STOCK_DEDUCT_TAKEN)
        o->reserved_at = d.reserved_at;
    if (code == STOCK_DEDUCT_TAKEN || code == STOCK_DEDUCT_HELD) {
        ck_assert_int_eq(d.user_seq, o->seq);
        ck_assert_int_eq(d.reserved_at, o->reserved_at);
        ck_assert_int_eq(d.left, left);
    }
    if (code == STOCK_DEDUCT_GONE)
        ck_assert_str_eq(d.note, words[o->state]);
}

static int model_return(struct order *o, int lost, bool free_mark, bool old_epoch)
{
    if (o->state != HELD && o->state != UNSEEN)
        return STOCK_RETURN_ALREADY;
    if (o->state == UNSEEN) {
        o->state = REFUSED;
        return old_epoch ? STOCK_RETURN_ALREADY : STOCK_RETURN_REFUSED;
    }
    o->state = lost ? FORFEITED : RETURNED;
    held -= o->quantity;
    left += o->quantity - lost;
    forfeited += lost;
    if (free_mark && owns_mark(o))
        *mark_of(o) = 0;
    return STOCK_RETURN_GIVEN_BACK;
}

static void step_return(struct testing_shard *s, struct order *o)
{
    struct stock_giveback g = testing_giveback(s, o->order_no, dice(5));
    int lost = dice(4) ? 0 : 1 + dice(o->quantity);
    struct stock_returned r;
    int code;

    g.units_forfeited = lost;
    g.free_mark = dice(30) != 0;
    g.epoch -= dice(10) == 0;
    r = testing_return(s, &g);
    code = model_return(o, lost, g.free_mark, g.epoch < s->plan.epoch);
    agree(STOCK_SCRIPT_RETURN, r.code, code);
    if (code == STOCK_RETURN_GIVEN_BACK) {
        ck_assert_int_eq(r.back, o->quantity - lost);
        ck_assert_int_eq(r.forfeited, lost);
        ck_assert_int_eq(r.left, left);
    }
}

static void step_settle(struct testing_shard *s, struct order *o)
{
    struct stock_settled r = testing_settle(s, o->order_no);
    int code = o->state == HELD     ? STOCK_SETTLE_SETTLED
               : o->state == SOLD   ? STOCK_SETTLE_ALREADY
               : o->state == UNSEEN ? STOCK_SETTLE_NO_RESERVATION
                                    : STOCK_SETTLE_GONE;

    agree(STOCK_SCRIPT_SETTLE, r.code, code);
    ck_assert_int_eq(r.units, o->state == HELD ? o->quantity : 0);
    if (o->state == HELD) {
        o->state = SOLD;
        held -= o->quantity;
        sold += o->quantity;
    } else {
        ck_assert_str_eq(r.note, words[o->state]);
    }
}

static int model_adopt(struct order *o, enum stock_adopt_as as, int *from_forfeited)
{
    bool closed = as == STOCK_ADOPT_AS_CLOSED;

    *from_forfeited = 0;
    if (o->state == HELD)
        return STOCK_ADOPT_HELD;
    if (o->state != UNSEEN && (o->state == SOLD) == closed)
        return STOCK_ADOPT_GONE;
    if (closed)
        return STOCK_ADOPT_MARKED;
    if (o->state == SOLD)
        return STOCK_ADOPT_SOLD;
    if (left + forfeited < o->quantity)
        return STOCK_ADOPT_SHORT;
    *from_forfeited = forfeited < o->quantity ? forfeited : o->quantity;
    forfeited -= *from_forfeited;
    left -= o->quantity - *from_forfeited;
    *(as == STOCK_ADOPT_AS_PAID ? &sold : &held) += o->quantity;
    o->state = as == STOCK_ADOPT_AS_PAID ? SOLD : HELD;
    return STOCK_ADOPT_ADOPTED;
}

static void adopt(struct testing_shard *s, struct order *o, enum stock_adopt_as as)
{
    struct stock_row row = testing_row(s, o->order_no, o->user, o->quantity, as);
    struct stock_adopted r;
    int from_forfeited, code;

    row.user_seq = o->seq;
    row.epoch -= dice(3) == 0;
    r = testing_adopt_row(s, &row);
    code = model_adopt(o, as, &from_forfeited);
    agree(STOCK_SCRIPT_ADOPT, r.code, code);
    ck_assert_int_eq(r.from_forfeited, from_forfeited);
    if (code == STOCK_ADOPT_ADOPTED) {
        o->reserved_at = row.reserved_at;
        ck_assert_int_eq(r.from_left, o->quantity - from_forfeited);
        ck_assert_int_eq(r.left, left);
    }
    if (code > 0)
        ck_assert_str_eq(r.note, set_mark(o));
}

static void step_adopt(struct testing_shard *s, struct order *o)
{
    static const enum stock_adopt_as as[] = {STOCK_ADOPT_AS_PENDING, STOCK_ADOPT_AS_PAID, STOCK_ADOPT_AS_CLOSED};

    if (o->state == UNSEEN)
        o->seq = dice(LIMIT);
    adopt(s, o, as[dice(3)]);
}

static void step_reclaim(struct testing_shard *s)
{
    int seen = forfeited + dice(2), units = seen > 0 ? 1 + dice(seen) : 0;
    struct stock_reclaimed r;

    if (seen == 0)
        return;
    r = testing_reclaim(s, seen, units);
    agree(STOCK_SCRIPT_RECLAIM, r.code, seen == forfeited ? STOCK_RECLAIM_RECLAIMED : STOCK_RECLAIM_CHANGED);
    if (seen == forfeited) {
        forfeited -= units;
        left += units;
    }
    ck_assert_int_eq(r.left, left);
    ck_assert_int_eq(r.forfeited, forfeited);
}

/* Few ids, so that many calls repeat an earlier one. lent, borrowed: units + 1; 0: not tried yet. */
#define TRANSFERS 10

static int lent[TRANSFERS + 1], borrowed[TRANSFERS + 1], out;

static void lend(struct testing_shard *s, int id)
{
    int units = 1 + dice(6);
    bool come = dice(3) == 0 && left >= units; /* debts: test_transfer */
    const struct stock_transfer what = {s->plan.activity, s->plan.shard, id, units, s->plan.epoch, come};
    int expected = lent[id] > 1                               ? STOCK_LEND_ALREADY
                   : !come && (lent[id] == 1 || left < units) ? STOCK_LEND_SHORT
                                                              : STOCK_LEND_LENT;
    struct stock_transferred t;
    struct error err;

    if (lent[id] <= 1 && cap < CAP - 15) /* the cap stays where a restock can reach it */
        return;
    ck_assert_ok(stock_lend(s->kv, &what, &t, &err), &err);
    agree(STOCK_SCRIPT_LEND, t.code, expected);
    if (expected != STOCK_LEND_ALREADY)
        lent[id] = (expected == STOCK_LEND_LENT ? units : 0) + 1;
    if (expected == STOCK_LEND_LENT)
        left -= units, s->plan.cap = cap -= units, out += units;
    ck_assert_int_eq(t.units, lent[id] - 1);
    ck_assert_int_eq(t.left, left);
}

static void borrow_units(struct testing_shard *s, int id, int units)
{
    const struct stock_transfer what = {s->plan.activity, s->plan.shard, id, units, s->plan.epoch, false};
    int expected = borrowed[id] ? STOCK_BORROW_ALREADY : units == 0 ? STOCK_BORROW_NOT_COME : STOCK_BORROW_BORROWED;
    struct stock_transferred t;
    struct error err;

    if (expected == STOCK_BORROW_BORROWED && cap > CAP + 15)
        return;
    ck_assert_ok(stock_borrow(s->kv, &what, &t, &err), &err);
    agree(STOCK_SCRIPT_BORROW, t.code, expected);
    if (expected == STOCK_BORROW_BORROWED) {
        borrowed[id] = units + 1;
        left += units, s->plan.cap = cap += units, out -= units;
    }
    ck_assert_int_eq(t.units, borrowed[id] ? borrowed[id] - 1 : 0);
    ck_assert_int_eq(t.left, left);
}

static void borrow(struct testing_shard *s, int id)
{
    borrow_units(s, id, 0); /* asks */
    borrow_units(s, id, 1 + dice(6));
}

static void step_transfers(struct testing_shard *s)
{
    for (int i = 0; i < 4; i++) { /* each of them at once again */
        int id = 1 + dice(TRANSFERS);
        void (*half)(struct testing_shard * s, int id) = dice(2) ? lend : borrow;

        half(s, id);
        half(s, id);
    }
}

static void step_restock(struct testing_shard *s)
{
    int seen = cap + (dice(4) == 0), wanted = dice(4) ? dice(6) ? CAP - 15 + dice(31) : cap + 1 : cap;
    struct stock_restocked r = testing_restock(s, seen, wanted);
    int floor = held + sold + forfeited;

    agree(STOCK_SCRIPT_RESTOCK, r.code,
          wanted == cap    ? STOCK_RESTOCK_ALREADY
          : seen != cap    ? STOCK_RESTOCK_CHANGED
          : wanted < floor ? STOCK_RESTOCK_TOO_LOW
                           : STOCK_RESTOCK_RESTOCKED);
    if (r.code == STOCK_RESTOCK_RESTOCKED) {
        left += wanted - cap;
        cap = wanted;
        s->plan.cap = cap;
    }
    ck_assert_int_eq(r.floor, floor);
    ck_assert_int_eq(r.cap, cap);
    ck_assert_int_eq(r.left, left);
}

static void step_extend(struct testing_shard *s)
{
    int64_t wanted = s->plan.expire_at - 50000 + dice(100) * 1000;

    agree(STOCK_SCRIPT_EXTEND, testing_extend(s, 0, wanted).code,
          wanted > expire_at ? STOCK_EXTEND_EXTENDED : STOCK_EXTEND_ALREADY);
    expire_at = wanted > expire_at ? wanted : expire_at;
}

/* More often on than off. */
static void step_pause(struct testing_shard *s)
{
    bool wanted = dice(4) == 0;

    agree(STOCK_SCRIPT_PAUSE, testing_pause_shard(s, wanted),
          wanted != paused ? STOCK_PAUSE_CHANGED : STOCK_PAUSE_ALREADY);
    paused = wanted;
}

static void step_preheat(struct testing_shard *s)
{
    struct stock_preheated p;
    struct error err;

    ck_assert_ok(stock_preheat(s->kv, &s->plan, &p, &err), &err);
    agree(STOCK_SCRIPT_PREHEAT, p.code, STOCK_PREHEAT_COMPLETE);
    expire_at = s->plan.expire_at > expire_at ? s->plan.expire_at : expire_at;
}

/* From the database, which knows the live orders and nothing of the others that the ledger had let go of. */
static void adopt_the_living(struct testing_shard *s)
{
    for (int i = 0; i < ORDERS; i++) {
        enum state was = orders[i].state;

        orders[i].state = UNSEEN;
        if (was == HELD || was == SOLD)
            adopt(s, &orders[i], was == SOLD ? STOCK_ADOPT_AS_PAID : STOCK_ADOPT_AS_PENDING);
    }
}

static void step_rebuild(struct testing_shard *s)
{
    int in_ledger = 0;
    struct stock_rebuilt r;

    for (int i = 0; i < ORDERS; i++)
        in_ledger += orders[i].state == HELD;
    s->plan.epoch++;
    r = testing_rebuild(s);
    agree(STOCK_SCRIPT_REBUILD, r.code, paused ? STOCK_REBUILD_REPLACED : STOCK_REBUILD_ON_SALE);
    if (!paused) {
        s->plan.epoch--;
        return;
    }
    ck_assert_int_eq(r.dropped, in_ledger);
    left = cap;
    held = sold = forfeited = out = 0;
    memset(lent, 0, sizeof lent);
    memset(borrowed, 0, sizeof borrowed);
    memset(marks, 0, sizeof marks);
    expire_at = s->plan.expire_at;
    adopt_the_living(s);
    agree(STOCK_SCRIPT_REBUILD, testing_rebuild(s).code, STOCK_REBUILD_ALREADY);
}

/* Never empty or paused long enough here to be taken away. */
static void step_remove(struct testing_shard *s)
{
    agree(STOCK_SCRIPT_REMOVE, testing_remove(s).code, held ? STOCK_REMOVE_HELD : STOCK_REMOVE_ON_SALE);
}

static void step_shard(struct testing_shard *s)
{
    switch (dice(12)) {
    case 10:
        step_transfers(s);
        break;
    case 11:
        step_restock(s);
        break;
    case 0:
    case 1:
    case 2:
        step_reclaim(s);
        break;
    case 3:
        step_restock(s);
        break;
    case 4:
        step_extend(s);
        break;
    case 5:
    case 6:
        step_pause(s);
        break;
    case 7:
        step_preheat(s);
        break;
    case 8:
        if (held || !paused)
            step_remove(s);
        break;
    default:
        testing_redis_run(s->kv, "SCRIPT", "FLUSH", NULL);
    }
}

static void step(struct testing_shard *s)
{
    struct order *o = &orders[dice(ORDERS)];
    int what = dice(1000);

    if (what < 450)
        step_deduct(s, o);
    else if (what < 700)
        step_return(s, o);
    else if (what < 800)
        step_settle(s, o);
    else if (what < 870)
        step_adopt(s, o);
    else if (what < 992)
        step_shard(s);
    else
        step_rebuild(s);
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
    ck_assert_int_eq(a.cap, cap);
    ck_assert_int_eq(a.left, left);
    ck_assert_int_eq(a.out, out);
    ck_assert_int_eq(a.held, held);
    ck_assert_int_eq(a.sold, sold);
    ck_assert_int_eq(a.forfeited, forfeited);
    ck_assert_int_eq(a.paused, paused);
    ck_assert_int_eq(a.epoch, s->plan.epoch);
    ck_assert_int_eq(a.expire_at, expire_at);
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
    cap = left = CAP;
}

/* Codes that no step of this test provokes: damage, garbage, a shard that is not there, a mistaken caller, epochs. */
static bool provoked(enum stock_script script, int code)
{
    static const struct {
        enum stock_script script;
        int code;
    } never[] = {{STOCK_SCRIPT_DEDUCT, STOCK_DEDUCT_CONFLICT},      {STOCK_SCRIPT_RETURN, STOCK_RETURN_CUT},
                 {STOCK_SCRIPT_RETURN, STOCK_RETURN_NEWER_EPOCH},   {STOCK_SCRIPT_PREHEAT, STOCK_PREHEAT_CREATED},
                 {STOCK_SCRIPT_PREHEAT, STOCK_PREHEAT_RESUMED},     {STOCK_SCRIPT_PREHEAT, STOCK_PREHEAT_OTHER_VALUES},
                 {STOCK_SCRIPT_PREHEAT, STOCK_PREHEAT_OTHER_EPOCH}, {STOCK_SCRIPT_ADOPT, STOCK_ADOPT_NEWER_EPOCH},
                 {STOCK_SCRIPT_ADOPT, STOCK_ADOPT_CONFLICT},        {STOCK_SCRIPT_RECLAIM, STOCK_RECLAIM_OTHER_EPOCH},
                 {STOCK_SCRIPT_RESTOCK, STOCK_RESTOCK_OTHER_EPOCH}, {STOCK_SCRIPT_EXTEND, STOCK_EXTEND_TOO_EARLY},
                 {STOCK_SCRIPT_EXTEND, STOCK_EXTEND_OTHER_EPOCH},   {STOCK_SCRIPT_PAUSE, STOCK_PAUSE_OTHER_EPOCH},
                 {STOCK_SCRIPT_REBUILD, STOCK_REBUILD_CREATED},     {STOCK_SCRIPT_REBUILD, STOCK_REBUILD_OTHER_VALUES},
                 {STOCK_SCRIPT_REBUILD, STOCK_REBUILD_NEWER_EPOCH}, {STOCK_SCRIPT_REMOVE, STOCK_REMOVE_REMOVED},
                 {STOCK_SCRIPT_REMOVE, STOCK_REMOVE_ABSENT},        {STOCK_SCRIPT_REMOVE, STOCK_REMOVE_ON_SALE},
                 {STOCK_SCRIPT_REMOVE, STOCK_REMOVE_OTHER_EPOCH},   {STOCK_SCRIPT_LEND, STOCK_LEND_OTHER_EPOCH},
                 {STOCK_SCRIPT_BORROW, STOCK_BORROW_OTHER_EPOCH}};

    if (script == STOCK_SCRIPT_AUDIT || script == STOCK_SCRIPT_LOOK || script == STOCK_SCRIPT_ANNOUNCE || code <= -8 ||
        strcmp(stock_code_name(script, code), "no_shard") == 0)
        return false;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        if (never[i].script == script && never[i].code == code)
            return false;
    }
    return true;
}

/* A run that never met one of the others would prove little. */
static void expect_all_met(void)
{
    for (int script = 0; script < STOCK_SCRIPT_COUNT; script++) {
        for (int code = -16; code < 16; code++) {
            if (stock_code_name((enum stock_script)script, code) && provoked((enum stock_script)script, code))
                ck_assert_msg(met[script][code + 16] > 0, "%s never answered %d",
                              stock_script((enum stock_script)script)->name, code);
        }
    }
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
    expire_at = s.plan.expire_at;
    for (int i = 0; i < STEPS; i++) {
        step(&s);
        compare(&s);
    }
    kv_close(&s.kv);
    expect_all_met();
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
